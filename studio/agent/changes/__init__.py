"""Changes.

- ``draft_review``: What the person decides about drafts, and what the model hears of it (T-5).
- ``draft_store``: The drafts of one session.
- ``folder_tracker``: Whose change it was.
- ``undo``: A turn's changes of files, undone and done again (T-5).
"""
