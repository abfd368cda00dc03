"""Office: the records of the office, and who may see and change them.

- ``agreements``: Agreements with providers on secrecy (§ 43e BRAO).
- ``akten``: Akten, found, opened and changed; the one filter of what a person may see.
- ``dokumente``: Files in the folder of their Akte, by version, with their text.
- ``fristen``: Fristen in their states, from computed to done.
- ``frist_kind``: Drafts of Fristen, whose end is computed and never given.
- ``history``: What was changed, by whom, and from which draft.
- ``persons``: Who works here, and in which role.
- ``secrecy``: Which provider may see an Akte.
- ``settings``: What the office sets.
- ``suche``: The search in the documents of all Akten.
- ``suche_verbs``: The command ``suche``.
- ``texts``: The words of a document by page.
"""
