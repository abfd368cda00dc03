"""Snapshots.

- ``blob_store``: Contents of files by their SHA-256, and how folders were seen last; one SQLite
  file.
- ``file_changes``: What each turn changed in its folder.
- ``file_restore``: Puts paths of a folder back to what they were.
- ``file_state``: What is at one place of a disk.
- ``folder_snapshot``: What is in a folder, looked at again and again.
"""
