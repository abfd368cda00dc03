"""What is kept: sessions in SQLite, settings in a file, keys in the system's keychain.

``paths`` says where, ``database`` opens the file and runs reads and writes in
threads, ``sessions`` is what the rest of the program asks, ``journal`` takes a
turn's events as they come, ``search`` finds what was said. ``settings`` and
``keychain`` stand alone.
"""
