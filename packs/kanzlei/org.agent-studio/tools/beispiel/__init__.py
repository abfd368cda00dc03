"""Beispiel: an invented office to try the pack with, the same for the same seed (KZ-52).

- ``masses``: 20,000 Akten with 400,000 documents, to measure by.
- ``names``: Invented people and firms; ``.example`` addresses and test IBANs.
- ``office``: 40 Akten to read, from the stories.
- ``stories``: Reads the stories, one file for each Sachgebiet.
- ``verbs``: The command ``beispiel``.
"""
