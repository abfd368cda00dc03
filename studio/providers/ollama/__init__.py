"""Ollama.

- ``adapter``: Ollama by its own API, ``/api/chat``, so that the context size is real (P-1).
- ``models``: What Ollama tells of one model, and how large a context of it this computer can
  hold.
- ``stream``: Lines of Ollama's ``/api/chat`` in, deltas and one assistant message out.
"""
