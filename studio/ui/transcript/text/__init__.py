"""Text on the canvas: laid out, painted, selected.

- ``text_layout`` is the base class of text blocks, and breaks a paragraph into lines.
- ``block_types`` are paragraphs, rows of folds, pictures, code, tables, rules and tool output.
- ``highlight`` colours code, a few lines at a time.
- ``formulas`` keeps drawings of formulas; ``formula_process`` is the process that draws them.
"""
