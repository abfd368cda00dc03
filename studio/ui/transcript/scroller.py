"""Where in the canvas the window is, and staying there while heights change."""

from __future__ import annotations

from .canvas import Anchor, Canvas
from .overlay import ScrollBar

STICK = 40
"""Within so many pixels of the end, the view follows it."""


class Scroller:
    """The scroll position, in whole pixels from the canvas's top."""

    def __init__(self, canvas: Canvas) -> None:
        self.canvas = canvas
        self.value = 0.0
        self.height = 0.0
        """Of the window onto the canvas."""
        self.width = 0.0
        self.following = True
        """Whether the end is kept in view."""
        self.bar = ScrollBar()

    @property
    def most(self) -> float:
        return max(0.0, self.canvas.total - self.height)

    @property
    def below(self) -> float:
        """Pixels of canvas below the window."""
        return self.canvas.total - self.value - self.height

    def anchor(self) -> Anchor | None:
        """What to stay at, to be taken before something changes; None follows the end."""
        return None if self.following else self.canvas.anchor(self.value)

    def settle(self, anchor: Anchor | None = None) -> None:
        """Lay out what is seen, and stay at the end or at the anchor."""
        canvas = self.canvas
        for _ in range(8):
            if self.following:
                self.value = self.most
            elif anchor is not None:
                place = canvas.anchored(anchor)
                self.value = self.value if place is None else place
            self.value = float(round(max(0.0, min(self.value, self.most))))
            if not canvas.show(self.value, self.value + self.height):
                break
        self._place_bar()

    def to(self, value: float) -> None:
        """Scroll to a place; the line that is at the top there stays at the top."""
        canvas = self.canvas
        value = float(round(max(0.0, min(value, self.most))))
        self.value = value
        canvas.show(value, value + self.height)
        anchor = canvas.anchor(value)
        for _ in range(4):
            if not canvas.show(self.value, self.value + self.height):
                break
            place = canvas.anchored(anchor)
            if place is not None:
                self.value = float(round(max(0.0, place)))
        self.value = min(self.value, self.most)
        self.following = self.below <= STICK
        self._place_bar()
        self.drop_far()

    def by(self, pixels: float) -> None:
        """Scroll by some pixels of what is really there, not of guesses."""
        canvas = self.canvas
        anchor = canvas.anchor(self.value)
        low = self.value + min(0.0, pixels)
        canvas.show(low, self.value + max(0.0, pixels) + self.height)
        place = canvas.anchored(anchor)
        self.to((self.value if place is None else place) + pixels)

    def reveal(self, index: int, above: float, below: float) -> None:
        """Scroll so far that an item is seen, with some room around it."""
        for _ in range(3):
            top = self.canvas.top(index)
            bottom = top + self.canvas.items[index].height
            if top < self.value + above or bottom - top > self.height - above - below:
                self.to(top - 2 * above)
            elif bottom > self.value + self.height - below:
                self.to(bottom - self.height + below)

    def drop_far(self) -> None:
        self.canvas.drop_far(self.value, self.value + self.height)

    def _place_bar(self) -> None:
        bar = self.bar
        bar.height, bar.total, bar.value = self.height, self.canvas.total, self.value
        bar.right = self.width
