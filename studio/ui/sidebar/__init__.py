"""The sidebar: search, pages and chats.

- ``sidebar``: The sidebar's widget.
- ``controller``: Fills it from the stored chats, and carries out what is done with them.
- ``rail``: Leads to the sidebar where a small window has no room for it.
- ``chat_list``: The list of chats; they are chosen, dragged and put away in it.
- ``chat_delegate``: Paints its rows, and lets titles be edited in them.
- ``chat_list_model``: Holds the rows of the list: pinned chats, groups, dates, the archive.
- ``chat_menu``: Makes the menu of a row, or of all that are picked.
- ``undo_bar``: Says what was done with chats, and takes it back.
"""
