"""Markdown, read into plain blocks.

- ``parser``: Parses a document into a flat list of blocks with their styles.
- ``stream``: Parses a growing document, again only from its open end on.
- ``spoken``: Says blocks in words for screen readers, without markup.
"""
