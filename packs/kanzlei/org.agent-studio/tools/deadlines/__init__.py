"""Deadlines: computes the end of a Frist from its kind, event and place (KZ-16 to KZ-20).

- ``calculation``: The end, moved to a working day, the steps with their norms, what to look
  at, the Vorfrist.
- ``free_days``: Saturdays, Sundays and holidays at a place, and the next working day.
- ``kinds``: The kinds of Fristen, from ``data/deadline_kinds.csv``.
- ``lengths``: How long a Frist is, and where it ends before it is moved (BGB §§ 187, 188).
- ``limitation``: When a claim is barred, and when employment ends; no Fristen of a procedure.
"""
