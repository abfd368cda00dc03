"""Text on the canvas: laid out, painted, selected.

- ``leaf`` is the base class of text blocks.
- ``block_types`` are paragraphs, rows of folds and rules, and choose the leaf of a block;
  ``picture_leaf``, ``code_leaf`` (also of what tools print) and ``table_leaf`` have a module each.
- ``text_layout`` breaks a paragraph into lines; paints selection, inline code and search hits.
- ``highlight`` colours code (syntax highlighting), a few lines at a time.
- ``formulas`` keeps drawings of formulas; ``formula_process`` is the process that draws them.
"""
