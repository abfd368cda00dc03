"""The transcript: a long conversation on one canvas, laid out only where it is seen."""

from .view import TranscriptView

__all__ = ["TranscriptView"]
