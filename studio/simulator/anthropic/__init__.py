"""The simulator's Anthropic Messages API.

- ``surface`` reads requests and writes turns as server-sent events with indexed blocks.
- ``rules`` checks pairs of calls and results, the end of the history, and thinking blocks.
- ``content`` checks single messages and blocks.
- ``parameters`` checks a request's parameters and tools, and reads its blocks in order.
- ``output`` checks what a request says of the answer: tool choice, stop sequences, format.
"""
