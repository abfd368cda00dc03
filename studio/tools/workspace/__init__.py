"""The workspace: reads, finds and searches files in the folder an agent works in.

- ``folder``: resolves the paths a model names, and keeps them inside the folder (T-8).
- ``glob_pattern``: translate patterns over relative paths into regular expressions.
- ``grep``: searches files with ripgrep where it is installed, else in plain Python.
- ``images``: turn, shrink and convert pictures for models, without a camera's notes.
- ``notes``: keep what agents note about a folder, as markdown files.
- ``pdf``: extracts the text of PDF files.
- ``text_files``: detect encodings, and read big files in pieces.
"""
