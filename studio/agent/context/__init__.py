"""The model's context: how full it is, and what is done when a conversation does not fit.

- ``token_count``: Counts the tokens of a history by its parts.
- ``compaction``: Decides when a history is shortened, and begins the shorter one.
- ``truncation``: Leaves a line of each old result of a tool, where a history got too long.
- ``summarizer``: Has the model summarise the beginning of a conversation.
- ``cache_ledger``: Compares each request with the one before, to explain broken caches; the mark
  for a cache is set by an adapter in ``studio.providers``.
"""
