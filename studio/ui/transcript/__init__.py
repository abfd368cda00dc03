"""The transcript: a long conversation on one canvas, laid out only where it is seen.

- ``model`` says which items there are and their words, free of Qt.
- ``canvas`` is the column of items: it lays out what is near the window.
- ``height_index`` sums many heights that change one at a time (a Fenwick tree).
- ``viewport`` is the window onto the canvas, with selection and focus.
- ``scroller`` keeps the scroll position; the scroll bar and what lies over the canvas.
- ``view`` is the widget: it takes changes and shows them a frame at a time.
- ``painting`` paints what is seen.
- ``paint_style`` keeps the theme's fonts and colours at hand and paints small shapes.
- ``items`` are the units of the canvas: messages, answers, tool calls, cards.
- ``text`` lays out paragraphs, code and tables.
- ``input`` takes keys and the mouse.
- ``accessibility`` describes the transcript to screen readers.
"""
