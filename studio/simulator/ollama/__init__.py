"""The simulator's Ollama API.

- ``surface`` reads requests and writes turns as lines of JSON.
- ``rules`` checks the little that Ollama refuses, and pairs calls with results in strict mode.
"""
