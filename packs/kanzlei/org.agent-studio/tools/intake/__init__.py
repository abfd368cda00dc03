"""Intake: reads in what the office had elsewhere; first it is told, then done, and can be undone
(KZ-51).

- ``address_files``: Contacts of other programs, from CSV tables and vCards.
- ``calendars``: The entries of a calendar file, as Termine and Aufgaben.
- ``contacts``: The contacts of such a file, kept.
- ``folders``: The files of a folder, as documents of an Akte.
- ``verbs``: The commands for that.
"""
