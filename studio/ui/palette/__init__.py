"""The palette (Ctrl+K): finds actions, chats, agents, models, folders, settings and files.

- ``matching`` finds entries by a few of their letters, free of Qt.
- ``entries`` collects what can be chosen from the registries and the engine.
- ``completion`` is the list over the composer, for a word after @ or a command.
- ``palette`` is the box over the window, with its field and its list.
"""
