"""Anthropic.

- ``adapter``: Anthropic's Messages API, through its SDK.
- ``models``: What Claude models take, by their names and by what is known of them.
- ``stream``: Events of Anthropic's Messages stream in, deltas and one assistant message out.
- ``validate``: The order of a history's messages on the wire, and what makes one unacceptable
  (H-5).
"""
