"""What is kept: sessions in SQLite, settings in a file, keys in the system's keychain.

- ``completion_index``: A look at what is stored, without opening any of it.
- ``config``: To be described.
- ``database``: One SQLite file, written by one thread and read by a few.
- ``files``: Small files that are replaced whole, or set aside, and never half written.
- ``ipc``: To be described.
- ``migrations``: The database's shape, one numbered step after the other.
- ``paths``: Where things are kept on this computer.
- ``sessions``: To be described.
- ``snapshots``: To be described.
"""
