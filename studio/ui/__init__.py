"""

- ``app``: To be described.
- ``chat``: The chat pane.
- ``formatting``: Folders as a person reads them.
- ``inspector``: To be described.
- ``markdown``: To be described.
- ``pages``: To be described.
- ``remote_approvals``: To be described.
- ``settings``: The settings window.
- ``sidebar``: To be described.
- ``theme``: The look of the window.
- ``transcript``: The transcript.
- ``widgets``: Controls every page is made of, painted from the theme.
"""

""""""
