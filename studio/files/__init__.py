"""Files on the disk: writes them atomically, locks and unpacks them, and keeps folders private.

- ``atomic_write``: replaces a file in one step; a crash leaves the old or the new one, whole.
- ``file_lock``: locks a file; the system releases the lock however the program ends.
- ``sealed_file``: writes and reads a file that nobody reads or changes without its key.
- ``unpacking``: takes the files out of a zip file of a stranger, within bounds.
- ``folders``: makes private folders, finds unused names and deletes old files.
"""
