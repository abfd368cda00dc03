"""Openai chat.

- ``output``: OpenAI Chat Completions.
- ``rules``: OpenAI Chat Completions.
- ``shared_models``: What OpenAI's two surfaces refuse alike.
- ``shared_output``: What OpenAI's two surfaces refuse alike about how the answer is to be made.
- ``surface``: OpenAI Chat Completions.
"""
