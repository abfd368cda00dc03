"""Chat.

- ``chat_loop``: Between a screen and a session.
- ``completion``: Completion of what is typed in a chat.
- ``history``: What the person typed in chats, kept so that the arrow keys bring it back.
- ``main``: ``agent-studio chat``.
- ``markdown``: Markdown on a terminal, while it is still being written.
- ``mentions``: Files that a message names after @.
- ``printer``: The events of a turn in a chat.
- ``screen``: The terminal of a chat.
- ``slash_commands``: What a chat does when a line begins with a slash.
"""
