"""Files on the disk: writes them atomically, locks them, and keeps folders private.

- ``atomic_write``: replaces files in one step; a crash leaves the old or the new one.
- ``file_lock``: locks files; the system releases the locks however a program ends.
- ``folders``: makes private folders, finds unused names and deletes old files.
"""
