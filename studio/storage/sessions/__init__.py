"""Sessions on disk: their events, native histories, and everything derived from them.

- ``audit_log``: records each call of a tool in one row, whoever made it (L-15).
- ``branch``: copies the beginning of a session into a new one.
- ``event_rows``: store a transcript, one event a row, with a checksum for each.
- ``idempotency_keys``: recognise a repeated request of a client (``Idempotency-Key``).
- ``import_log``: remembers which files were imported, so that none is imported twice.
- ``journal``: writes a session's events to the database in small batches.
- ``native_history``: stores a provider's own history by epoch, and verifies its hash chain.
- ``projections``: keep the tables of turns, usage, approvals and drafts in step with events.
- ``search``: extracts what can be searched for, and turns words into a full-text query.
- ``session_lock``: lets one program at a time work in a session.
- ``store``: creates, lists, changes, branches and deletes saved sessions.
- ``usage``: read what requests used and cost, one by one and in sums.
"""
