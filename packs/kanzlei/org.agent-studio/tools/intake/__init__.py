"""Intake: reads in what the office had elsewhere; first it is told, then done, and can be undone
(KZ-51).

- ``folders``: The files of a folder, as documents of an Akte.
- ``verbs``: The commands for that.
"""
