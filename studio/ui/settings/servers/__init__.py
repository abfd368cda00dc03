"""The parts of the settings' page about MCP servers.

- ``servers_model``: What the page knows of the servers, and what it does with them.
- ``rows``: A row for each server.
- ``approval``: Shows what a server runs, before it is switched on.
- ``adding``: Adds a server from what is pasted, or from another program's file.
- ``server_view``: One server: its tools, resources, prompts, log, and what is known of it.
- ``offers``: A server's resources and prompts, each to be looked at.
- ``client_form``: Takes the client ID of this program, where it has to be registered by hand.
- ``tool_list``: A server's tools with their rights.
- ``changed_tool``: Shows how a tool changed since it was allowed.
- ``trial``: Calls a tool with arguments that the person gives.
"""
