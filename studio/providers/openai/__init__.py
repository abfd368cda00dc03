"""Openai.

- ``adapter``: OpenAI by its Responses API, through the official SDK (P-1).
- ``stream``: OpenAI Responses events in, deltas and output items out.
- ``validate``: What makes a stored list of Responses items one that OpenAI would reject (H-5).
"""
