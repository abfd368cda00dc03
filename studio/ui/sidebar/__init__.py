"""Sidebar.

- ``chat_list``: The list of chats, painted by a delegate.
- ``chat_list_controller``: Keeps the sidebar's list of chats as the chats are.
- ``chat_list_model``: The rows of the list of chats.
- ``sidebar``: The sidebar.
"""
