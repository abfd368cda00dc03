"""The simulator's Gemini generateContent API.

- ``batches``: batches, inline or over files.
- ``endpoint``: reads requests, and writes turns as chunks, each a whole response.
- ``request_checks``: checks parameters, contents and parts.
- ``tool_call_checks``: checks that calls and responses pair up, and their thought signatures.
"""
