"""Markdown files with a frontmatter, to edit: what the pages of agents and workflows share.

- ``page``: The base of both pages: the list, the editor, and new, save, duplicate, delete.
- ``gallery``: The list of files, by where they are from. ``row`` is one of its rows; free of Qt.
- ``open_file``: Checks and saves the open file, keeps its unsaved text, and watches the disk.
- ``document``: The text that is edited, and the file as it was read; free of Qt.
- ``editor``: The text editor, with numbers of lines and marked problems.
- ``completion``: Finds what may be written at the caret; free of Qt. ``completion_list`` offers it.
- ``highlighter``: Syntax colours of frontmatter and markdown.
- ``title``: The name of the file, and whether it is unsaved or cannot be changed.
- ``notice``: A strip above the editor with a remark on the file, and up to two buttons.
- ``foot``: A strip below the editor: the first problem with its fix, and the place of the caret.
- ``problem_texts``: The problems of agent files in the person's language.
- ``model_items``: The models that a file can name, as lines of a menu.
"""
