"""Commands: what the terminal can do in the office (KZ-50).

They are imported when the terminal asks for them, with what they alone need.

- ``akten``: Akten, their documents and Fristen.
- ``laws``: Laws, decisions and citations.
- ``persons``: Who works here, and signing in.
- ``plans``: Termine and Aufgaben.
- ``records``: Time, notes, contacts, conflicts, bills.
- ``secrecy``: Agreements, masks, the audit, backups and what may go.
- ``terms``: Limitation, notice and interest.

Commands of one room alone stand in it: ``beispiel``, ``intake``, ``suche_verbs``.
"""
