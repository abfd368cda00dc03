"""Text.

- ``block_types``: Paragraphs, code and rules as laid out text; the right leaf for a block.
- ``highlight``: Colours of code, a few lines at a time.
- ``line_layout``: One paragraph as lines of equal height.
- ``table``: Rows of a table as laid out text.
- ``text_block``: What every piece of laid out text can do.
"""
