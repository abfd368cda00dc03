"""Markdown.

- ``parser``: Markdown to plain blocks, whole or as it streams in.
- ``stream``: Markdown that grows at its end.
"""
