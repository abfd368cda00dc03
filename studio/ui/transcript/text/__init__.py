"""Text on the canvas: laid out, painted, selected.

- ``text_block`` is the base of all leaves, the smallest pieces of text.
- ``block_types`` are paragraphs, code, rules and tool output.
- ``table`` lays out the rows of a table.
- ``line_layout`` breaks a paragraph into lines of equal height.
- ``highlight`` colours code, a few lines at a time.
"""
