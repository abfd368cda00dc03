"""What is kept: sessions in SQLite, settings in a file, keys in the system's keychain.

``paths`` says where, ``database`` runs reads and writes in threads; ``opening``
opens its file, ``migrations`` give it its shape, ``owners`` are the programs that
have it open, ``claims`` say which of them works in a session. ``sessions`` is
what the rest of the program asks, ``journal`` takes a turn's events as they come,
``transcripts`` and ``native`` read what is stored and say whether it is sound.
``derived`` keeps the tables that are sums of events: ``usage``, ``drafted`` and
``audit`` read them. ``branching`` begins one session from another, ``search`` finds
what was said, ``imports`` knows what came from files, ``rules`` are the person's.
``questions`` are put by one program and answered in another; a ``bell`` tells of
them. ``requests`` and ``server_token`` are the server's.

What turns change: ``snapshots`` look at a folder's ``entries``, ``contents`` keeps
what was there, ``changes`` which turn changed it, ``restoring`` puts it back.

``settings`` (with ``model_entries``) and ``keychain`` stand alone, and so does
``glance``, which opens nothing. ``files`` are written whole or not at all; ``locks``
say which program is at one.
"""
