"""Office: the records of the office, and who may see and change them.

- ``access_request``: All that the office has of one person, in one zip.
- ``agreements``: Agreements with providers on secrecy (§ 43e BRAO).
- ``akten``: Akten, found, opened and changed; the one filter of what a person may see.
- ``audit``: Who did what in which Akte, and what was sent to whom, in a chain.
- ``backup``: The whole office in one file, and back again.
- ``dokument_kind``: Drafts of letters, whose file a person alone writes.
- ``dokumente``: Files in the folder of their Akte, by version, with their text.
- ``entwuerfe``: What was drafted for an Akte, and what became of it.
- ``forms``: The text of a draft as heads and a body.
- ``frist_kind``: Drafts of Fristen, whose end is computed and never given.
- ``fristen``: Fristen in their states, from computed to done.
- ``history``: What was changed, by whom, and from which draft.
- ``index_kind``: Drafts of reading documents anew.
- ``kalender``: Fristen as a file for calendars.
- ``letters``: Word documents of plain text.
- ``notiz_kind``: Drafts of notes and alerts.
- ``notizen``: Notes, and alerts that call a person on a day.
- ``persons``: Who works here, and in which role.
- ``retention``: Which Akten may go, what is held, and what goes with an Akte.
- ``secrecy``: Which provider may see an Akte.
- ``settings``: What the office sets.
- ``suche_verbs``: The command ``suche``.
- ``suche``: The search in the documents of all Akten.
- ``sign_in``: Persons with roles and passwords, and to what they are admitted.
- ``texts``: The words of a document by page.
- ``zeit_kind``: Drafts of time.
- ``zeiten``: What was worked, by whom and how long.
"""
