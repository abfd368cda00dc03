"""Deadlines: computes the end of a Frist from its kind, event and place (KZ-16 to KZ-20).

- ``calculation``: The end, the steps with their norms, what to look at, the Vorfrist.
- ``free_days``: Saturdays, Sundays and holidays at a place.
- ``kinds``: The kinds of Fristen, from ``data/deadline_kinds.csv``.
- ``lengths``: How long a Frist is, and where it ends before it is moved (BGB §§ 187, 188).
"""
