"""Evals in the window: two variants side by side (W-58).

- ``eval_facts``: The figures and cases of an eval that ran, in words; free of Qt.
- ``eval_view``: Shows rates with intervals, the cases with those that flipped, and both answers.
"""
