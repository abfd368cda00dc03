"""Sessions.

- ``audit_log``: The audit trail.
- ``branch``: A new session from the beginning of another.
- ``event_rows``: A transcript's rows on disk.
- ``idempotency_keys``: Requests of the server's clients, known again when they are repeated
  (``Idempotency-Key``).
- ``import_log``: Which conversations came from files, so that none comes twice.
- ``journal``: A session's events on their way to the disk.
- ``native_history``: A provider's own history on disk.
- ``projections``: The tables that are sums and lists of events.
- ``search``: What can be searched for, and how a person's words become a query.
- ``session_lock``: Which program works in a session.
- ``store``: Saved sessions.
- ``usage``: What requests used and cost.
"""
