"""Memory: what agents and the person keep for later chats, and what they recall of it (W-41).

Markdown files are the truth. The index beside them can be rebuilt at any time.

- ``memory_folder``: serves Anthropic's memory tool from the notes (W-45).
- ``note``: one note, its file's head, and how far it is to be trusted (W-43).
- ``note_store``: keeps notes and proposals in files, drops and restores them.
- ``note_index``: finds notes by words and pieces of words, in German and English (W-41).
- ``nearness``: has a child process find notes by their meaning, where that is installed (W-41).
- ``nearness_process``: that process, with the vectors of all notes.
- ``order_marks``: finds words in a note that order, or that nobody sees (W-44).
- ``notes``: what one chat's agent may read of the notes and propose.
"""
