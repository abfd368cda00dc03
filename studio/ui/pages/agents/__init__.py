"""The Agents page: the agents at the left, the file of the chosen one, its properties (T-6).

- ``page``: Shows the chosen agent, saves it, and carries out what the person does with it.
- ``columns``: Places list, text and properties for the room that there is.
- ``agent_rows``: Finds the files of agents, and why some cannot be used.
- ``gallery``: Lists the agents by where they are from.
- ``open_file``: Checks, keeps and saves the file that is open, and follows it on the disk.
- ``document``: Holds the text that is edited, and what it was when it was read; free of Qt.
- ``editor``: The text of the file, with numbers of lines and marked problems.
- ``highlighter``: Colours of frontmatter and markdown.
- ``foot``: Tells the first problem, with its fix, and the place of the caret.
- ``problem_texts``: Puts the problems of a file into the person's language.
- ``notice``: Says what is special about the file, with up to two ways on.
- ``properties``: Shows the values of the file, and has them changed one by one.
- ``preview``: Shows the agent as it will be seen.
- ``try_chat``: A small chat with the agent beside its file.
"""
