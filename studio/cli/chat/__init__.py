"""The conversation in the terminal, ``agent-studio chat``.

- ``main``: opens a chat on a screen with a prompt, or line by line.
- ``chat_loop``: turns what is typed into turns of a session, one at a time.
- ``slash_commands``: runs lines that begin with a slash.
- ``screen``: draws the terminal: finished text above, moving parts and the prompt below.
- ``printer``: shows the events of a turn on the screen.
- ``markdown``: cuts streamed markdown into finished blocks and renders them.
- ``completion``: completes commands, their values, and files after @.
- ``mentions``: attaches files that a message names after @.
- ``history``: stores typed messages for the arrow keys.
"""
