"""Markdown, parsed into plain blocks.

- ``parser``: Parses a document into a flat list of blocks with their styles.
- ``stream``: Parses a document that grows, again only from its open end on.
- ``blocks``: The classes of blocks, and their text.
- ``addresses``: Finds bare web addresses in a text, and makes links of them.
- ``formula_marks``: Finds where formulas begin and end in the source.
- ``spoken``: The words of blocks for screen readers, without markup.
"""
