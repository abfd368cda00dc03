"""The transcript: a long conversation on one canvas, laid out only where it is visible.

- ``view`` is the widget: it takes changes, shows them a frame at a time, and gets Qt's events.
- ``model`` says which items there are and their text, free of Qt.
- ``items`` are the units of the canvas: messages, answers, tool calls, cards.
- ``text`` lays out paragraphs, code and tables.
- ``canvas`` is the column of items: it lays out those near the window.
- ``height_index`` sums many heights that change one at a time (a Fenwick tree).
- ``viewport`` is the visible part of the canvas, with selection and focus.
- ``scroller`` keeps the scroll position: follows the end while an answer streams in, else stays in
  place; has the scroll bar.
- ``input`` handles keys and the mouse, also the keys of permission cards, questions and drafts.
- ``actions`` carries out a pressed button, row or link, or emits the signal for it.
- ``message_row`` has the buttons below a message, such as Copy, Edit and Branch.
- ``find`` looks for words in the blocks, free of Qt.
- ``finder`` marks what was found on the canvas, and goes from hit to hit.
- ``painting`` paints the visible part.
- ``paint_style`` caches the theme's fonts and colours and paints small shapes.
- ``accessibility`` describes the transcript to screen readers: its blocks, rows and buttons.
- ``accessible_text`` is the text of a block for screen readers, and where each letter is.
"""
