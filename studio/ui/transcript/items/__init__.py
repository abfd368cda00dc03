"""Items: the units of the canvas, one module for each kind.

- ``base`` is what they share: layout, painting, text, places to click, and buttons.
- ``user_item`` shows a message of the person, with its attachments.
- ``answer_item`` shows the agent's name, and its answer in markdown, parsed while it grows.
- ``reasoning_item`` shows the model's reasoning.
- ``tool_item`` shows runs of tool calls, a row for each.
- ``approval_item`` is the card that asks for a permission, and the base of cards that wait for an
  answer; their keys are handled in ``transcript.input``.
- ``question_item`` is the card with the agent's own questions.
- ``draft_item`` is the card of a draft, with its diff.
- ``plan_item`` shows the agent's plan.
- ``files_item`` shows which files a turn changed, with a button to undo that.
- ``summary_item`` shows where earlier messages were summarised.
- ``turn_items`` show notices, retries, errors and the end of a turn.
- ``media_tiles`` show pictures and files.
- ``version_switch`` leads from one version of a message to another.
"""
