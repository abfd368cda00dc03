"""The workspace: reads, finds and searches files in the folder an agent works in.

- ``check_list``: says which commands check which files of a folder (C-11).
- ``editor``: what tools may ask the person's editor, which a door answers.
- ``encodings``: tells a text's encoding, and gives every byte back on writing.
- ``folder``: resolves the paths a model names, and keeps them inside the folder (T-8).
- ``glob_pattern``: matches relative paths with patterns, in linear time.
- ``grammars``: finds symbols in languages other than Python, with tree-sitter (C-18).
- ``grep``: searches files with ripgrep where it is installed, else in plain Python.
- ``images``: rotates, scales and converts pictures for models, and removes their metadata.
- ``line_places``: finds the lines that a model copied, not always exactly.
- ``listing``: names the files and folders of a folder, without those that git ignores.
- ``notebooks``: shows a model the cells of a notebook with their outputs (C-9).
- ``overview``: tells a newcomer a folder's tree, and how it is built and tested.
- ``patch``: reads patches as OpenAI's models write them, and makes their hunks (C-8).
- ``pdf``: extracts the text of PDF files.
- ``symbols``: finds what a source text defines, and where it uses a name (C-18).
- ``text_files``: opens ordinary files only, reads big ones in pieces, and takes the unsaved text
  of an editor instead.
- ``text_replace``: replaces text that a model copied, not always exactly.
"""
