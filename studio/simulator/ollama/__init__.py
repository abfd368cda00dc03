"""Ollama.

- ``rules``: Ollama /api/chat.
- ``surface``: Ollama /api/chat.
"""
