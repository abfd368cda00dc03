"""Storage: keeps sessions in SQLite, settings in a file and keys in the system's keychain.

- ``completion_index``: reads names for shell completion, without opening the database for writing.
- ``config``: what a person has set up, from settings and rules to API keys.
- ``database``: opens one file, writes it in one thread and reads it in a few.
- ``ipc``: locks, notices, approvals.
- ``migrations``: numbered steps that give the program's database its shape.
- ``paths``: says where data, settings, cache and logs are kept on this computer.
- ``sessions``: their events, native histories, and everything derived from them.
- ``snapshots``: record what a turn changes in files, and restore it.
"""
