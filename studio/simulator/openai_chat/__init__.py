"""The simulator's OpenAI Chat Completions API, and what it shares with Responses.

- ``endpoint``: reads requests, and writes turns as chunks and errors as OpenAI's error bodies.
- ``parameter_checks``: checks parameters and tools, for Responses too.
- ``message_checks``: checks single messages and their parts.
- ``tool_call_checks``: checks calls, and that tool messages answer them.
"""
