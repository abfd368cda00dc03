"""Sessions on disk: their events, native histories, and everything derived from them.

- ``audit_log``: records each call of a tool in one row, whoever made it (L-15).
- ``event_log``: the rows of events with their checksums: adds, reads, verifies and copies them.
- ``idempotency``: recognises a repeated request of a client, or a file imported before.
- ``journal``: writes a session's events to the database in small batches.
- ``mending``: makes the chats of a damaged database whole again, and says what they miss.
- ``native_history``: the rows of a provider's own message list, with their hash chain.
- ``projections``: updates the tables of turns, usage, approvals and drafts from events.
- ``prompts``: reads what the person wrote in all chats, the latest first.
- ``search_filters``: reads words such as ``agent:Coder`` that limit a search.
- ``search``: extracts text from events for the full-text index, and searches all chats with it.
- ``session_lock``: lets one program at a time work in a session.
- ``session_rows``: the rows of sessions: adds, reads and lists them.
- ``store``: all that is read and written of saved sessions, by the modules beside it.
- ``unsent``: keeps what is written in a chat and not sent yet.
- ``unspaced_index``: finds text of scripts without spaces by characters and pairs of them.
- ``usage``: reads what requests used and cost, one by one and in sums.
- ``versions``: finds the versions of a chat, and where they differ.
"""
