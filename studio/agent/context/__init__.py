"""The model's context: how full it is, and what is done when a conversation does not fit.

- ``token_count``: Counts the tokens of a history by its parts.
- ``compaction``: Decides when a history is shortened, and begins the shorter one.
- ``truncation``: Shortens old results of tools.
- ``summarizer``: Has the model summarise the beginning of a conversation.
- ``cache_ledger``: Compares each request with the one before, to explain broken caches.
"""

from .compaction import Compactor, ContextUsage
from .summarizer import ModelAccess
from .token_count import ContextPart, Estimate, PartKind
from .truncation import WHY as SHORTENED
from .truncation import shorten_results

__all__ = [
    "SHORTENED",
    "Compactor",
    "ContextPart",
    "ContextUsage",
    "Estimate",
    "ModelAccess",
    "PartKind",
    "shorten_results",
]
