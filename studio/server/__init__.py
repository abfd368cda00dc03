"""The server for other programs: OpenAI's two APIs, Anthropic's, and MCP (S-1 to S-4, M-25).

A request passes ``auth`` and finds its dialect in ``routes``. Its body becomes a request of
``contract``, the responder answers it in a session, and the dialect writes the response.

- ``auth``: Decides who may ask, before a body is read.
- ``client_runs``: Runs workflows for clients.
- ``command``: The command ``agent-studio serve``.
- ``contract``: Requests, response parts and errors between the dialects and the responder, and the
  lines of a server-sent event.
- ``conversation_digest``: Recognises a conversation that was answered here before.
- ``dialects``: Translate each API's JSON, and their registry.
- ``errors``: Maps exceptions to the statuses, codes and messages that clients get.
- ``event_mapper``: Turns the events of a turn into the parts of a response.
- ``housekeeping``: Recognises what clients ask for themselves, which is not kept.
- ``http_server``: Opens the sockets, starts and stops.
- ``idempotency``: Gives a repeated request the first one's response.
- ``mcp``: The agents and workflows as tools, for programs that speak MCP (M-25).
- ``model_names``: Resolves the name that a client sends, and lists the names there are.
- ``permission_forwarder``: Brings the questions of a client's turn to the window.
- ``remote_pictures``: Fetches the pictures that a request names by their address.
- ``request_body``: Reads a body within limits and parses strict JSON.
- ``responder``: Has an agent answer a request.
- ``response_stream``: Holds the parts of a response for its readers and sends them over HTTP, as
  the dialect wrote them.
- ``routes``: The paths, and the dialect that is spoken on each.
- ``session_lookup``: Finds or creates the session that a request is answered in.
- ``stored_responses``: Fetches and deletes responses of before.
- ``token_count``: Estimates the tokens of a request.
"""
