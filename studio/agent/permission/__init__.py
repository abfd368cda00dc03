"""Permission, a wrapper around the tools: no tool knows that it exists (T-6, T-7).

``policy`` decides what may run, is asked about or is refused, by the rules of
a ``rulebook`` and the ``roles`` of agents: a ``decision`` about a ``place``, or
about a command. ``gate`` is where a call waits for the person, ``showing`` what
they are shown of it; ``unreadable`` hides from commands what may not be read.
``words`` and ``shell`` read a command line, ``commands`` takes it apart and
refuses what is computed in ``indices``, ``spellings`` are other ways to write a
part, ``overlap`` says what it may turn out to be, ``suggestions`` which rule would
be of use again. ``rules`` are those that stand, ``project`` those in a folder's
files.
"""
