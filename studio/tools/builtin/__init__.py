"""Built-in tools: those that come with the program.

Those that draft a change run ``alone``: of two changes of one file side by side the first would
be lost.

- ``apply_patch``: drafts changes of several files, in the form of OpenAI's models (C-8).
- ``ask``: puts a question to the person.
- ``board``: shares texts, messages and tasks with the agents of the same run or chat (board_read,
  board_write, post, inbox, task_add, task_take, task_done).
- ``delegate``: has other agents do tasks, and looks after those in the background (delegate,
  children, wait, tell_child, stop_child).
- ``delete``: drafts the deletion of a file.
- ``edit``: drafts the replacement of part of a file.
- ``find_files``: lists what is in a folder, and finds files by name (list, glob).
- ``job``: looks after a command that goes on in the background.
- ``move``: drafts a file's move or new name.
- ``memory``: has the notes as files below /memories, as Anthropic's models know them (W-45).
- ``notes``: reads, recalls and proposes what is remembered about a folder between sessions
  (notes_read, notes_detail, recall, remember).
- ``outline``: shows what source files define, and where a name is used (C-18).
- ``plan``: shows the person what the agent is going to do.
- ``read``: reads text of a file, pages of a PDF, a picture.
- ``run``: runs a command in the system's shell.
- ``search``: finds matching lines in all files.
- ``web``: searches the web, and reads a page of it (web_search, fetch).
- ``write``: drafts a whole file.
"""
