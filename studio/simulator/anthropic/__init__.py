"""The simulator's Anthropic Messages API.

- ``batches``: Message Batches.
- ``endpoint``: reads requests, and writes turns as server-sent events with indexed blocks.
- ``parameter_checks``: checks parameters, tools, and what the answer is to be like.
- ``message_checks``: reads a request as blocks, and checks single messages and blocks.
- ``tool_call_checks``: checks that calls and results pair up, and how the history ends.
- ``thinking_checks``: checks that thinking comes back unchanged and in its place.
"""
