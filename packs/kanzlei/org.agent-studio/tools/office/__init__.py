"""Office: the records of the office, and who may see and change them.

- ``access_request``: All that the office has of one person, in one zip.
- ``agreements``: Agreements with providers on secrecy (§ 43e BRAO).
- ``akten``: Akten, found, opened and changed; the one filter of what a person may see.
- ``audit``: Who did what in which Akte, and what was sent to whom, in a chain.
- ``backup``: The whole office in one file, and back again.
- ``dokumente``: Files in the folder of their Akte, by version, with their text.
- ``fristen``: Fristen in their states, from computed to done.
- ``frist_kind``: Drafts of Fristen, whose end is computed and never given.
- ``history``: What was changed, by whom, and from which draft.
- ``persons``: Who works here, and in which role.
- ``retention``: Which Akten may go, what is held, and what goes with an Akte.
- ``secrecy``: Which provider may see an Akte.
- ``settings``: What the office sets.
- ``suche``: The search in the documents of all Akten.
- ``suche_verbs``: The command ``suche``.
- ``texts``: The words of a document by page.
"""
