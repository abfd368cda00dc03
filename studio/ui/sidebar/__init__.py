"""The sidebar: search, pages and chats.

- ``sidebar``: The sidebar's widget, and the controller that fills it from the stored chats.
- ``rail``: Leads to the sidebar where a small window has no room for it.
- ``chat_list``: Paints the list of chats; titles are edited in it.
- ``chat_list_model``: Holds the rows of the list, grouped by date.
"""
