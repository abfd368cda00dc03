"""What of a conversation the model gets: how much it is, and what is done when it is too much.

``estimate`` weighs a native history by its parts, ``enclosures`` among them;
``stubs`` and ``summary`` make a conversation shorter, ``room`` says when and
begins the new history.
"""

from .estimate import Estimate, PartKind, ContextPart
from .room import ContextUsage, Compactor
from .stubs import WHY as SHORTENED
from .stubs import shorten_results
from .summary import ModelAccess

__all__ = ["SHORTENED", "ContextUsage", "Estimate", "PartKind", "ModelAccess", "ContextPart", "Compactor", "shorten_results"]
