"""The server for programs that speak the Model Context Protocol: agents and workflows as tools.

- ``calls``: The calls of clients: their progress, questions and ends.
- ``forms``: What a call asks the person at its client's end.
- ``http``: The path ``/mcp`` of the server.
- ``stdio``: The command ``agent-studio mcp serve``.
- ``studio_tools``: The three tools, and what they do.

``calls`` and ``stdio`` import the official SDK, which takes most of a second.
"""
