"""What an agent has of MCP servers, which ``studio.mcp`` runs and speaks to.

- ``server_tools``: Tells which servers and tools there are, and keeps what the person said of them.
- ``server_calls``: Makes tools of what a server lists, and calls the server when they run.
- ``tool_search``: Lets a model find servers' tools where they are too many to tell.
- ``offers``: Offers resources of servers after @, and their prompts after a slash.
- ``address_templates``: Fills in the variables in addresses of resources (RFC 6570).
- ``prompt_arguments``: Reads what is typed after the name of a server's prompt.
- ``questions``: Makes what a server asks safe to show.
- ``sampling``: Has the chat's model answer what a server asks it.
- ``flags``: Finds in the words of a server's tool what a person should look at.
- ``facts``: What a person approves of a server, escaped and without secrets.
- ``advice``: Says what to do where a server does not work.
"""
