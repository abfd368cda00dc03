"""The Agents page: the agents at the left, the file of the chosen one, its properties (T-6).

- ``page``: Shows the chosen agent, saves it, and carries out what the person does with it.
- ``gallery``: Lists the agents by where they are from.
- ``document``: Holds the text that is edited, and what it was when it was read; free of Qt.
- ``editor``: The text of the file, with numbers of lines and marked problems.
- ``highlighter``: Colours of frontmatter and markdown.
- ``foot``: Tells the first problem, with its fix, and the place of the caret.
- ``notice``: Says what is special about the file, with up to two ways on.
- ``properties``: Shows the values of the file, and has them changed one by one.
- ``preview``: Shows the agent as it will be seen.
- ``try_chat``: A small chat with the agent beside its file.
"""
