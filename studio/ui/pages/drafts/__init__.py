"""The Drafts page: the list at the left, the chosen draft at the right (T-5).

- ``page``: Shows the drafts of all chats and carries out what is decided about them.
- ``draft_list``: Lists drafts and keeps which are selected.
- ``detail``: Shows one draft, with the buttons for what can be done about it.
- ``diff_view``: Paints what a draft changes: in one column, in two, or beside the present file.
"""
