"""Sdk.

- ``argument_check``: Arguments of a call against the tool's schema (L-5).
- ``context``: What a tool is given for one call (T-2).
- ``definition``: ``@tool``.
- ``result``: What a tool returns, as the text a model gets (L-4).
- ``tool_template``: A tool file to begin with, for people who write their own (T-1).
"""
