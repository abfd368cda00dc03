"""Responses.

- ``request``: OpenAI's Responses API, and the open specification made from it.
- ``response``: An answer of the Responses API.
"""
