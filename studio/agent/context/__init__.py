"""What of a conversation the model gets: how much it is, and what is done when it is too much.

``estimate`` weighs a native history by its parts, ``enclosures`` among them;
``stubs`` and ``summary`` make a conversation shorter, ``room`` says when and
begins the new history.
"""

from .estimate import Estimate, Kind, Part
from .room import Context, Room
from .stubs import WHY as SHORTENED
from .stubs import shortened
from .summary import Means

__all__ = ["SHORTENED", "Context", "Estimate", "Kind", "Means", "Part", "Room", "shortened"]
