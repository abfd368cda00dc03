"""Agent Studio: a desktop program in which a person works with AI agents.

The floors of the house. A room imports only from floors below its own; rooms
on one floor are strangers and meet in ``app``. ``tests/test_floors.py`` reads
this map and holds every import in the package against it.

    7  app  packs                              puts the pieces together; all that packs import
    6  ui  server  cli  acp                    the doors
    5  extensions                              what others bring: skills, hooks, packs
    4  workflows                               many agents, in markdown
    3  agent                                   one agent, its loop
    2  providers  tools  mcp  storage  simulator    the outside world
    1  processes  files                        child processes; files on the disk
    0  domain                                  plain words, standard library only

Only ``ui`` imports Qt. Everything else runs the same under plain asyncio and
under the window's event loop.
"""

__version__ = "0.1.0"
