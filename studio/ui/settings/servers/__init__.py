"""The parts of the settings' page about MCP servers.

- ``servers_model``: What the page knows of the servers; switches, signs in, changes, removes.
- ``server_facts``: How one server is, what is wrong with it, and what mends it.
- ``mending``: The button that mends a server, and the form for what is typed then.
- ``rows``: A row for each server in the list.
- ``adding``: Adds a server from pasted text, or from another program's file.
- ``approval``: Shows what a server runs, before it is switched on.
- ``server_view``: One server: its tools, resources, prompts, log, and what is known of it.
- ``tool_list``: A server's tools with their permissions.
- ``changed_tool``: Shows how a tool changed since it was allowed.
- ``trial``: Calls a tool with arguments that the person gives.
- ``offers``: A server's resources and prompts, each to be looked at.
- ``client_form``: Takes an OAuth client ID where the program has to be registered by hand.
"""
