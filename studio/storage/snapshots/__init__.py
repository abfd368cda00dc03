"""Snapshots of folders: records what a turn changes in files, and restores it.

- ``blob_store``: keeps what an undo needs: contents of files by their SHA-256, and the last scan of
  each folder.
- ``file_changes``: records which paths a turn changed, with digests of before and after (T-5).
- ``file_restore``: restores paths of a folder, each in one step, safe against crashes.
- ``file_state``: reads what is at a path: a file, a link or a folder, with mode and digest.
- ``folder_snapshot``: scans a folder, and finds what changed since the last scan.
"""
