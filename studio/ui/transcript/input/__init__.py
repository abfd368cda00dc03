"""Input in the transcript.

- ``actions`` does what buttons, rows and links say, or passes it on by signals.
- ``keyboard`` takes keys: moves the focus and presses buttons.
- ``mouse`` takes the mouse: hovers, clicks, selects and drags the scroll bar.
"""
