"""Drafts: makes, compares, applies and undoes changes that wait for the person (T-5).

- ``atomic_files``: change each file in one step; a crash leaves the old or the new one (T-5).
- ``diff``: compares two texts line by line, as plain data for whoever paints it.
- ``draft_apply``: applies and undoes them (T-5). Everything here blocks.
- ``draft_conflict``: compare a draft with its file as it is now, and remake it on top of that.
- ``draft_make``: make file drafts, and propose drafts of any kind to the person (T-5).
- ``records``: propose changes of records, and carry them out in their record store.
- ``targets``: apply and undo a draft of any kind, in its folder or its record store.
- ``three_way_merge``: brings two changed versions of one text together, line by line (T-5).
"""
