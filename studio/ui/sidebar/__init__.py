"""The sidebar: search, pages and chats.

- ``sidebar``: The sidebar's widget.
- ``chat_list``: Paints the list of chats; titles are edited in it.
- ``chat_list_model``: Holds the rows of the list, grouped by date.
- ``chat_list_controller``: Keeps the list up to date with the stored chats.
"""
