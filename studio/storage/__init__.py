"""What is kept: sessions in SQLite, settings in a file, keys in the system's keychain.

``paths`` says where, ``database`` opens the file and runs reads and writes in
threads, ``sessions`` is what the rest of the program asks, ``journal`` takes a
turn's events as they come, ``transcripts`` and ``native`` read what is stored
and say whether it is sound, ``derived`` keeps the tables that are sums of
events, ``usage`` reads them, ``branching`` begins one session from another,
``search`` finds what was said, ``imports`` knows what came from files. ``questions``
are put by one program and answered in another; a ``bell`` tells of them.
``settings`` and ``keychain`` stand alone, and so does ``glance``, which opens nothing.
"""
