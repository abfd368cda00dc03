"""Openai.

- ``content``: OpenAI Responses.
- ``rules``: OpenAI Responses.
- ``surface``: OpenAI Responses.
"""
