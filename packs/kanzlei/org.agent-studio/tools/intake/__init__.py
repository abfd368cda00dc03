"""Intake: reads in what the office had elsewhere; first it is told, then done, and can be undone
(KZ-51).

- ``address_files``: Contacts of other programs, of CSV tables and vCards.
- ``akten``: The Akten of a CSV table, with who takes part.
- ``bea``: A message exported from beA, or one of XJustiz with its files.
- ``calendars``: The entries of a calendar file, as Termine and Aufgaben.
- ``cases``: Akten with participants, documents and dates, as a message or a program has them.
- ``contacts``: The contacts of such a file, kept.
- ``folders``: The files of a folder, as documents of an Akte.
- ``jlawyer``: Akten, contacts, documents and dates of j-lawyer.org.
- ``jlawyer_server``: The REST interface of such a server, asked as the person says.
- ``kinds``: How each of these is looked at, kept and told.
- ``tables``: The rows of CSV tables, by columns that are remembered.
- ``verbs``: The commands for that.
"""
