"""The simulator's OpenAI Chat Completions API, and what it shares with Responses.

- ``surface`` reads requests, and writes turns as chunks and errors as OpenAI's error bodies.
- ``rules`` checks messages, pairs of calls and results, and parameters.
- ``output`` checks what a request says of the answer: tool choice, stop texts, format.
- ``shared`` holds the checks that are the same in both of OpenAI's APIs.
"""
