"""Evals in the window: two variants side by side (W-58).

- ``eval_facts``: What the view says of an eval that ran; free of Qt.
- ``eval_view``: Rates with intervals, the cases with those that flipped, and both answers.
"""
