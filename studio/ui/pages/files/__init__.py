"""Markdown files with a frontmatter, to edit: what the pages of agents and workflows share.

- ``page``: The list, the text and what is done with files; the base of both pages.
- ``row``: A row of a gallery; free of Qt.
- ``gallery``: Lists files by where they are from.
- ``open_file``: Checks, keeps and saves the file that is open, and follows it on the disk.
- ``document``: Holds the text that is edited, and what it was when it was read; free of Qt.
- ``editor``: The text of the file, with numbers of lines and marked problems.
- ``highlighter``: Colours of frontmatter and markdown.
- ``title``: The name of the file and what is special about it.
- ``foot``: Tells the first problem, with its fix, and the place of the caret.
- ``problem_texts``: Puts the problems of a file into the person's language.
- ``model_items``: The models that a file can name, as lines of a menu.
- ``notice``: Says what is special about the file, with up to two ways on.
"""
