"""Chat.

- ``request``: OpenAI's Chat Completions.
- ``response``: An answer of Chat Completions.
"""
