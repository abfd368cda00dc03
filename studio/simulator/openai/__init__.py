"""The simulator's OpenAI Responses API.

- ``surface`` reads requests and writes turns as numbered events with items and encrypted reasoning.
- ``rules`` checks pairs of calls and outputs, and reasoning items.
- ``content`` checks parameters, single items and content parts.
"""
