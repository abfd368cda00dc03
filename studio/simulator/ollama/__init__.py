"""The simulator's Ollama API.

- ``endpoint``: reads requests, and writes turns as lines of JSON.
- ``request_checks``: checks the little that Ollama refuses; in strict mode also that calls and
  results pair up.
"""
