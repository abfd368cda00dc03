"""The page of drafts: what waits on the left, what it changes on the right (T-5).

- ``detail``: One draft.
- ``diff_view``: The card of what a draft changes.
- ``draft_list``: The list of drafts.
- ``page``: Drafts of all chats.
"""
