"""Drafts: makes, compares, applies and undoes changes that wait for the person (T-5).

- ``draft_write``: changes a file only if it is as it was read, in one step (T-5).
- ``diff``: compares two texts line by line, as plain data for the views.
- ``draft_apply``: applies and undoes a draft of any kind, unless its file or record changed since
  (T-5).
- ``draft_conflict``: shows the sides of a conflict, and remakes the draft on top of the file as it
  is now.
- ``draft_desk``: lets a command see the drafts of its turn, and makes drafts of what it writes.
- ``draft_make``: makes file drafts, and proposes drafts of any kind to the person (T-5).
- ``edit_checks``: finds what is wrong with a file since it was changed (C-11).
- ``record_store``: makes drafts of records, and carries them out in their record store.
- ``seen_files``: remembers what a model was shown of files, and guards what came later (C-7).
- ``three_way_merge``: merges two changed versions of one text, line by line (T-5).
"""
