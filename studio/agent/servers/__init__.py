"""What an agent has of MCP servers, which ``studio.mcp`` runs and speaks to.

- ``server_tools``: Makes tools of what servers offer, and keeps what the person said of them.
- ``tool_search``: Lets a model find servers' tools where they are too many to tell.
- ``offers``: Offers resources of servers after @, and their prompts after a slash.
- ``questions``: Makes what a server asks safe to show.
- ``sampling``: Has the chat's model answer what a server asks it.
- ``flags``: Finds in the words of a server's tool what a person should look at.
- ``facts``: What a person approves of a server, escaped and without secrets.
- ``advice``: Says what to do where a server does not work.
"""
