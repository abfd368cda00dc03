"""What of a conversation the model gets: how much it is, and what is done when it is too much.

- ``cache_ledger``: What a provider's cache should have known of each request, and what it did.
- ``compaction``: Making room.
- ``summarizer``: The second stage.
- ``token_count``: Tokens of a native history, by its parts.
- ``truncation``: A conversation made to take less room.
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
