"""The transcript: a long conversation on one canvas, laid out only where it is seen.

- ``accessibility``: The transcript for screen readers.
- ``canvas``: The long column of items.
- ``height_index``: Sums of many heights that change one at a time (a Fenwick tree).
- ``input``: To be described.
- ``items``: To be described.
- ``model``: What the transcript shows, as plain values.
- ``paint_style``: What the canvas is painted with.
- ``painting``: Painting the part of the canvas that is seen, and what lies over it.
- ``scroller``: Where in the canvas the window is, and staying there while heights change.
- ``text``: To be described.
- ``view``: The transcript's widget.
- ``viewport``: What is on show.
"""

from .view import TranscriptView

__all__ = ["TranscriptView"]
