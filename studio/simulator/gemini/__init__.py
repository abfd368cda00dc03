"""The simulator's Gemini generateContent API.

- ``surface`` reads requests and writes turns as chunks, each a whole response.
- ``rules`` checks turns, pairs of calls and responses, and thought signatures.
- ``content`` checks parameters and single parts.
- ``output`` checks what a request says of the answer: function calling, stop texts, format.
"""
