"""The tool SDK: turns a function into a tool, checks its arguments, renders its result.

- ``argument_check``: validates a call's arguments against the tool's schema (L-5).
- ``context``: holds everything that a tool gets for one call (T-2).
- ``definition``: ``@tool`` makes a function a tool that a model can call (T-1).
- ``result``: renders what a tool returns as the text that a model gets, and cuts a long one (L-4).
- ``tool_template``: creates a first tool file, for people who write their own (T-1).
"""
