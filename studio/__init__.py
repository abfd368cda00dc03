"""Agent Studio: a desktop program in which a person works with AI agents.

The floors of the house. A room imports only from floors below its own; rooms
on one floor are strangers and meet in ``app``. ``tests/test_floors.py`` reads
this map and holds every import in the package against it.

    5  app                              puts the pieces together
    4  ui  server  cli  acp             four doors
    3  workflows                        many agents, in markdown
    2  agent                            one agent, its loop
    1  providers  tools  mcp  storage   the outside world
    0  domain                           plain words, standard library only

Only ``ui`` imports Qt. Everything else runs the same under plain asyncio and
under the window's event loop.
"""

__version__ = "0.1.0"
