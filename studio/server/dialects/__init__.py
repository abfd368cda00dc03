"""Translates each API's JSON to ``contract.ApiRequest`` and from ``contract.ResponsePart``.

- ``attachments``: Reads pictures and files that come within a request.
- ``base``: The base class of a dialect.
- ``chat``: OpenAI's Chat Completions.
- ``client_tools``: Reads the client's own tools and writes calls of them.
- ``fields``: Reads a request's JSON field by field.
- ``messages``: Anthropic's Messages.
- ``openai_common``: What OpenAI's two APIs have in common.
- ``registry``: The registry of dialects.
- ``responses``: OpenAI's Responses.
"""
