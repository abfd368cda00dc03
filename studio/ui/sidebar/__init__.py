"""The sidebar: search, pages and chats.

- ``sidebar``: The widget: search field, New chat, the rows of the pages, the list of chats.
- ``controller``: Fills it from the stored chats; deletes, restores, arranges and exports chats.
- ``chat_list``: The list of chats: choosing, picking several, drag and drop, renaming, keys.
- ``chat_delegate``: Paints the rows of that list: title, age, the spinner of a running turn, the
  mark of what waits or is unread; edits titles in place.
- ``chat_list_model``: The rows of that list, by pinned, group, date and archive, with their states.
- ``chat_menu``: The context menu of a row, or of all that are picked.
- ``undo_bar``: Says what was done with chats, with a button that undoes it.
- ``rail``: The narrow strip that stands for the sidebar in a small window.
"""
