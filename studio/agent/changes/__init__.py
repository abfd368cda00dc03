"""Changes of files: drafts that wait for the person, and the undo of turns (T-5).

An approval goes from ``draft_review`` to ``draft_store`` to ``studio.tools.drafts.draft_apply``,
which writes the file.

- ``draft_store``: Holds the drafts of one session; approves, discards and undoes them.
- ``draft_review``: Carries out what the person decides about drafts; resolves conflicts.
- ``folder_tracker``: Records which turn changed which file of a folder.
- ``undo``: Undoes the changes of a turn, and redoes them, from ``studio.storage.snapshots``.
"""
