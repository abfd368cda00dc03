"""One agent and its loop.

``turn`` is the loop: ask the model, run its tools, until it answers. ``asking``
makes one request until it is answered, with the ``patience`` that takes;
``execution`` runs the tools of one reply, ``structured`` holds an answer to its
schema. What keeps it in bounds: ``permission`` decides what needs a question and
puts it, ``risk`` objects where data could leave, ``incoming`` filters strangers'
words, ``confinement`` is the sandbox of commands, ``budget``, ``purse`` and
``clock`` hold it to what it may use, ``stall`` notices circles, ``reads``
remembers what was read. ``failing`` and ``endings`` say in words how it ended.

``session`` holds a saved conversation around it: its native ``history``
(``switching`` says what a new one leaves out, ``context`` makes it fit, ``memory``
is what the person has kept of it), its transcript and ``titles``, its ``drafts`` and
their ``review``, ``undo`` of what turns changed (``watching`` knows; ``unbroken``
work survives a close), and what the model has not heard yet: ``unheard`` of the
conversation, ``standing`` of the world around it. ``preparing`` makes its turns, on
the ``ground`` they stand on, ``routing`` chooses mode and model by ``complexity``,
``equipping`` gives them their tools and rights, ``chat_rules`` among these;
``ledger`` compares each request with the one before.

``sessions`` are all of them. ``library`` reads agents from markdown and
``beginning`` begins a file of one, ``connections`` makes providers from settings
and keys, ``input`` makes blocks of what a person attaches. ``transfer`` writes
conversations for files and reads them, ``foreign`` those of other programs.
``spending`` adds up costs for the ``books`` and ``accounts``, ``auditing`` tells
who allowed what, ``tracing`` sends spans. ``assembly`` puts it all into a
``studio``, which the doors hold.
"""
