"""Items.

- ``approval_item``: Cards that wait for the person.
- ``base``: Items of the canvas.
- ``buttons``: Buttons painted on the canvas.
- ``draft_item``: The card of a draft.
- ``files_item``: What a turn changed in the folder.
- ``media_tiles``: Pictures and files in the transcript.
- ``reasoning_item``: What the model thought, closed until it is asked for.
- ``summary_item``: Where earlier messages were summed up for the model.
- ``text_item``: An answer in markdown, as it grows.
- ``tool_item``: Tool rows.
- ``turn_items``: Simple items.
- ``user_item``: What the person said, in a bubble.
"""
