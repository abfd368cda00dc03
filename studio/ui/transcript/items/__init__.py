"""Items: the units of the canvas, one module for each kind.

- ``base`` is what they share: layout, painting, text, places to click, and buttons.
- ``user_item`` shows a message of the person, with its attachments.
- ``answer_item`` shows the agent's name, and its answer in markdown, parsed while it grows.
- ``reasoning_item`` shows the model's reasoning.
- ``tool_item`` shows runs of tool calls.
- ``approval_item`` asks for a permission.
- ``question_item`` shows the agent's own questions.
- ``draft_item`` shows a draft as a diff.
- ``plan_item`` shows the agent's plan.
- ``files_item`` shows which files a turn changed, with a button to undo that.
- ``summary_item`` shows where earlier messages were summarised.
- ``turn_items`` show notices, retries, errors and the end of a turn.
- ``media_tiles`` show pictures and files.
- ``version_switch`` leads from one version of a message to another.
"""
