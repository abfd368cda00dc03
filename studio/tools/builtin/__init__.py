"""Built-in tools: those that come with the program, one file each.

- ``ask``: puts a question to the person.
- ``delete``: drafts the deletion of a file.
- ``edit``: drafts the replacement of part of a file.
- ``fetch``: reads a page of the web.
- ``glob``: finds files by name.
- ``list_``: lists what is in a folder.
- ``move``: drafts a file's move or new name.
- ``notes``: keeps what an agent remembers about a folder between sessions.
- ``read``: reads text of a file, pages of a PDF, a picture.
- ``run``: runs a command in the system's shell.
- ``search``: finds matching lines in all files.
- ``web_search``: searches the web.
- ``write``: drafts a whole file.
"""
