"""Contacts: who an Akte is about, and whether somebody among them is a conflict.

- ``kontakte``: Persons, firms and courts, and how they take part in an Akte.
- ``konflikte``: Whether somebody stands on the other side already (§ 43a IV BRAO).
- ``likeness``: How alike two names are.
- ``names``: Names as they are written and as they sound.
"""
