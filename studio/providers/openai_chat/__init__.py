"""Openai chat.

- ``adapter``: Chat Completions, for OpenAI-compatible servers of any make (P-1).
- ``errors``: What OpenAI's error objects mean; compatible servers use the same words (L-12).
- ``models``: Which of OpenAI's models think, and how hard each can be asked to.
- ``request_options``: How OpenAI's two APIs are told whether to call tools, and what form an
  answer has.
- ``stream``: Chat Completions chunks in, deltas and one assistant message out.
- ``validate``: What makes a stored history of Chat Completions or Ollama messages one to be
  rejected (H-5).
"""
