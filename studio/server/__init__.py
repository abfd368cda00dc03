"""The door for other programs: OpenAI's two APIs and Anthropic's, over HTTP (S-1 to S-4).

- ``auth``: Who may ask the server, checked before a body is read (S-4).
- ``client_policy``: What a client of the server may have an agent do at most (S-4).
- ``command``: The command ``agent-studio serve``.
- ``contract``: What a request asks and what answers it, whatever dialect it is spoken in.
- ``conversation_match``: Which session a request belongs to.
- ``dialects``: What clients speak.
- ``errors``: What a client is told of an error.
- ``event_mapper``: What a client is told of a turn.
- ``http_server``: The server while it runs.
- ``idempotency``: A request that is repeated gets the answer of the first, and no tool runs
  twice.
- ``model_names``: Which agent and model a client means by the name it sends.
- ``request_body``: The body of a request.
- ``responder``: Who answers a request.
- ``response_stream``: One answer while it is made, for everybody who waits for it.
- ``routes``: The paths of the server, and which API speaks on which.
- ``session_lookup``: Finds the session that a request is answered in, or makes it.
- ``stored_responses``: Answers that were given before.
- ``token_count``: How long a request is, about, for those who ask before they send it.
"""
