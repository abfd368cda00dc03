"""Input.

- ``actions``: What the canvas's buttons, rows and links do.
- ``keyboard``: The keyboard in the transcript.
- ``mouse``: The mouse over the canvas.
"""
