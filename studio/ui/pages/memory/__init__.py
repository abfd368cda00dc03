"""The Memory page: notes, those that wait first, with what each was made from (W-43, W-44).

- ``page``: Places the columns; keeps, drops, edits and merges notes by keys and buttons.
- ``note_list``: Lists notes under headings.
- ``note_detail``: Shows one note, what is odd about it, and what it was made from.
- ``note_facts``: The column at the right: who wrote it and when, and what can be set.
- ``board_pane``: What agents of a chat or a run share on their boards (W-40).
- ``trust_tag``: The tag that says whose words are in a note.
"""
