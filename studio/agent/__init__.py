"""One agent and its loop.

``turn`` is the loop: ask the model, run its tools, until it answers. ``asking``
makes one request until it is answered, with the ``patience`` that takes;
``execution`` runs the tools of one reply, ``permission`` decides what needs a
question and puts it.

``session`` holds a saved conversation around it: its native ``history``
(``switching`` and ``context`` say what a new one leaves out), its
transcript, its ``drafts``, and what the model has not heard yet: ``unheard``
of the conversation, ``standing`` of the world around it. ``ground`` is what a
turn stands on, ``ledger`` compares each request with the one before.

``sessions`` are all of them. ``library`` reads agents from markdown,
``connections`` makes providers from settings and keys, ``input`` makes blocks
of what a person attaches, ``spending`` adds up costs. ``assembly`` puts it all
into a ``studio``, which the doors hold.
"""
