"""Evals in the window: up to three variants side by side (W-58).

- ``eval_facts``: The figures and cases of an eval that ran, in words; free of Qt.
- ``eval_view``: Runs evals, shows one that ran, and exports it; places what follows.
- ``eval_form``: Asks which variants and cases run, how often and within what limit.
- ``variant_card``: A variant: its rate with the interval, what it costs, and the verdict.
- ``case_list``: The cases with the tries of each variant; those that flipped come first.
- ``eval_inspector``: The chosen cell with its answers, the whole in figures, those that ran.
"""
