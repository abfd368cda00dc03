"""The transcript: a long conversation on one canvas, laid out only where it is visible.

- ``model`` says which items there are and their text, free of Qt.
- ``canvas`` is the column of items: it lays out those near the window.
- ``height_index`` sums many heights that change one at a time (a Fenwick tree).
- ``viewport`` is the visible part of the canvas, with selection and focus.
- ``scroller`` keeps the scroll position, and has the scroll bar and the buttons over the canvas.
- ``find`` looks for words in the blocks, free of Qt.
- ``finder`` marks what was found on the canvas and goes from hit to hit.
- ``view`` is the widget: it takes changes and shows them a frame at a time.
- ``message_row`` has the actions below a message that has the mouse or the focus.
- ``painting`` paints the visible part.
- ``paint_style`` caches the theme's fonts and colours and paints small shapes.
- ``items`` are the units of the canvas: messages, answers, tool calls, cards.
- ``text`` lays out paragraphs, code and tables.
- ``input`` handles keys and the mouse.
- ``actions`` carries out what buttons, rows and links do, or emits a signal.
- ``accessibility`` describes the transcript to screen readers: its blocks, rows and buttons.
- ``accessible_text`` is what a block shows in words, and where each letter is.
"""
