"""Intake: reads in what the office had elsewhere; first it is told, then done, and can be undone
(KZ-51).

- ``address_files``: Contacts of other programs, of CSV tables and vCards.
- ``akten``: The Akten of a CSV table, with who takes part.
- ``calendars``: The entries of a calendar file, as Termine and Aufgaben.
- ``contacts``: The contacts of such a file, kept.
- ``folders``: The files of a folder, as documents of an Akte.
- ``kinds``: How each of these is looked at, kept and told.
- ``tables``: The rows of CSV tables, by columns that are remembered.
- ``verbs``: The commands for that.
"""
