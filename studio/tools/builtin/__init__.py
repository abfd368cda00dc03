"""The tools that come with the program, one file each.

- ``ask``: A question to the person.
- ``delete``: A draft that deletes a file.
- ``edit``: A draft that replaces part of a file.
- ``fetch``: A page of the web, read.
- ``glob``: Files by name.
- ``list_``: What is in a folder.
- ``move``: A draft that moves or renames a file.
- ``notes``: What an agent remembers about a folder, from one chat to the next.
- ``read``: Text of a file, pages of a PDF, a picture.
- ``run``: A command in the system's shell.
- ``search``: Lines that match, in all files.
- ``web_search``: A search in the web.
- ``write``: A draft of a whole file.
"""
