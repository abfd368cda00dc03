"""MCP: speaks to servers that other people wrote, and remembers what they offer.

- ``entries``: Reads and writes which servers there are, and what the person said of each.
- ``jsonc``: Reads JSON with comments, and changes one member of it.
"""
