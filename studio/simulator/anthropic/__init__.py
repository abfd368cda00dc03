"""Anthropic.

- ``content``: Anthropic Messages.
- ``output``: Anthropic Messages.
- ``parameters``: Anthropic Messages.
- ``rules``: Anthropic Messages.
- ``surface``: Anthropic Messages.
"""
