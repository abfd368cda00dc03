"""Markdown, read into plain blocks.

- ``parser``: Parses a document into a flat list of blocks with their styles.
- ``blocks``: The parts that a document becomes, and their text.
- ``addresses``: Makes links of the addresses that stand in a text as they are.
- ``formula_marks``: Finds where formulas begin and end in the source.
- ``stream``: Parses a growing document, again only from its open end on.
- ``spoken``: Says blocks in words for screen readers, without markup.
"""
