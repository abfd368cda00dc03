"""The simulator's OpenAI Responses API.

- ``batches``: files, and batches over them.
- ``endpoint``: reads requests, and writes turns as numbered events with items.
- ``request_checks``: checks parameters, items and content parts.
- ``tool_call_checks``: checks that calls and outputs pair up, and that reasoning comes back.
"""
