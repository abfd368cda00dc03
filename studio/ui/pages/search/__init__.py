"""The Search page: everything that was said in all chats, with filters.

- ``page``: Shows field, filters and what was found, and opens a chat at the hit.
- ``filter_bar``: Shows filters as chips, and offers what may be typed next.
- ``results``: Lists the hits by chat, and paints them.
"""
