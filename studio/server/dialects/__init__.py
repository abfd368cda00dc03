"""Translates each API's JSON to ``contract.ApiRequest`` and from ``contract.ResponsePart``.

- ``attachments``: Pictures and files that come within a request, as ``data:`` URLs or plain
  base64.
- ``chat``: To be described.
- ``client_tools``: The client's own tools.
- ``fields``: A request's JSON, read field by field.
- ``messages``: To be described.
- ``openai_common``: What OpenAI's two APIs have in common.
- ``responses``: To be described.
"""
