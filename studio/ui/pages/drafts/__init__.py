"""The Drafts page: the list at the left, the chosen draft at the right (T-5).

- ``page``: Shows the drafts of all chats; approves, discards and edits them by keys and buttons.
- ``draft_list``: Lists drafts and keeps which are marked for one decision.
- ``detail``: Shows one draft, with the buttons for what can be done about it.
- ``diff_view``: Paints a diff: in one column, in two, or in three with the present file.
"""
