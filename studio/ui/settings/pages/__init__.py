"""Pages of the settings window. Each has a line in ``settings/registry.py``.

- ``general``: Theme, text size, defaults of new chats, limits, routing and traces.
- ``providers``: Keys, addresses and models of each provider.
- ``permissions``: What agents may do without asking, and where (T-7).
- ``web``: Search engine, what may be fetched, and what is masked (T-8, T-9).
- ``server``: The server for other programs: address, token and rules of its clients (S-3, S-4).
"""
