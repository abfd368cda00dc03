"""Drafts.

- ``atomic_files``: Files changed in one step each.
- ``diff``: A draft as the lines of a unified diff, as plain data for whoever paints it.
- ``draft_apply``: Drafts carried out on the disk, and undone (T-5).
- ``draft_make``: Drafts made, and put before the person (T-5).
- ``three_way_merge``: Two changed versions of one text, brought together line by line (T-5).
"""
