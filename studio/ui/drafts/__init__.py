"""The page of drafts: what waits on the left, what it changes on the right (T-5)."""

from .page import DraftsPage

__all__ = ["DraftsPage"]
