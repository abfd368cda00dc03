"""The Search page: everything that was said in all chats, with filters.

- ``page``: The search field with its keys; searches, and opens a chat at the hit.
- ``filter_bar``: Shows filters as chips, and offers what may be typed next.
- ``results``: Lists the hits by chat, and paints them.
"""
