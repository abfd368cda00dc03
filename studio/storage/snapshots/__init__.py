"""Snapshots of folders: record what a turn changes in files, and restore it.

- ``blob_store``: keeps contents of files by their SHA-256, and how folders looked last.
- ``file_changes``: record each path that a turn changed, before and after (T-5).
- ``file_restore``: puts paths of a folder back, each in one step, safe against crashes.
- ``file_state``: reads what is at a path: a file, a link or a folder, with mode and digest.
- ``folder_snapshot``: scans a folder, and says what changed since the last scan.
"""
