"""Items: the units of the canvas, one module for each kind.

- ``base`` is what they share: layout, painting, text and places to click.
- ``buttons`` lays out and paints buttons.
- ``user_item`` shows a message of the person.
- ``text_item`` shows an answer in markdown while it grows.
- ``reasoning_item`` shows the model's thoughts.
- ``tool_item`` shows runs of tool calls.
- ``approval_item`` asks for a permission, or shows the agent's own question.
- ``draft_item`` shows a draft as a diff.
- ``files_item`` shows what a turn changed in the folder, to be undone.
- ``summary_item`` shows where earlier messages were summed up.
- ``turn_items`` show the agent, notices, retries, errors and the end of a turn.
- ``media_tiles`` show pictures and files.
"""
