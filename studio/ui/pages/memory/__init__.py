"""The Memory page: notes, those that wait first, with what each was made from (W-43, W-44).

- ``page``: The page: its three columns, its keys, and what the person does.
- ``note_list``: Lists notes under headings.
- ``note_detail``: Shows one note, what is odd about it, and what it was made from.
- ``note_facts``: Shows who wrote it and when, and has what can be set.
- ``trust_tag``: Says whose words are in a note.
"""
