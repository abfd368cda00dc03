"""The command palette (Ctrl+K): finds actions, chats, agents, models, folders, settings and files.

- ``palette`` is the box over the window, with its field and its list.
- ``entries`` collects what can be chosen from the registries and the engine.
- ``matching`` finds and ranks entries by a few of their letters (fuzzy search), free of Qt.
- ``completion`` is the list over the composer, for a word after @ or a command after /.
"""
