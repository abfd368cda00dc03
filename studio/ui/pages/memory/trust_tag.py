"""Trust tag: whose words are in a note, as an icon and a word."""

from __future__ import annotations

from PySide6.QtCore import QPointF, QRectF, QSize, Qt
from PySide6.QtGui import QPainter
from PySide6.QtWidgets import QSizePolicy

from studio.tools.memory.note import Kind, Trust
from studio.ui.theme import Theme
from studio.ui.translation import tr, tr_in, tr_later
from studio.ui.widgets.painting import TAGS, PaintedWidget, paint_rounded, paint_text

TRUSTS: dict[Trust, tuple[str, str]] = {
    "yours": ("user", "ok"),
    "agent": ("bot", "neutral"),
    "strangers": ("globe", "warn"),
}
"""The icon and kind of tag of each trust."""
KINDS: dict[Kind, tuple[str, str]] = {
    "fact": (tr_later("Fact"), "bookmark"),
    "procedure": (tr_later("Procedure"), "list-ordered"),
    "mistake": (tr_later("Mistake"), "triangle-alert"),
    "preference": (tr_later("Preference"), "heart"),
    "observation": (tr_later("Observation"), "eye"),
}
"""The word and icon of each kind of note."""


def trust_word(trust: Trust) -> str:
    """Whose words are in a note."""
    words: dict[Trust, str] = {
        "yours": tr_in("whose note", "yours"),
        "agent": tr("agent"),
        "strangers": tr("from strangers"),
    }
    return words[trust]


def trust_width(theme: Theme, trust: Trust) -> int:
    return theme.metrics("tag").horizontalAdvance(trust_word(trust)) + theme.px(12 + 12 + 4)


def paint_trust(painter: QPainter, theme: Theme, at: QPointF, trust: Trust) -> None:
    """A tag with its left end and middle at ``at``."""
    icon, kind = TRUSTS[trust]
    fill, ink = TAGS[kind]
    width, height, side = trust_width(theme, trust), theme.px(18), theme.px(12)
    box = QRectF(at.x(), round(at.y() - height / 2), width, height)
    paint_rounded(painter, box, 5, theme.color(fill))
    mark = QRectF(box.x() + theme.px(6), round(at.y() - side / 2), side, side)
    theme.paint_icon(painter, mark, icon, ink)
    words = box.adjusted(theme.px(6 + 12 + 4), 0, 0, 0)
    paint_text(painter, theme, words, trust_word(trust), "tag", ink, Qt.AlignmentFlag.AlignVCenter)


class TrustTag(PaintedWidget):
    """The tag as a widget, which a screen reader reads."""

    def __init__(self, theme: Theme, trust: Trust = "yours") -> None:
        super().__init__(theme)
        self.setSizePolicy(QSizePolicy.Policy.Fixed, QSizePolicy.Policy.Fixed)
        self._trust: Trust = trust
        self.set(trust)

    def set(self, trust: Trust) -> None:
        self._trust = trust
        self.setAccessibleName(trust_word(trust))
        self.updateGeometry()
        self.update()

    def sizeHint(self) -> QSize:
        return QSize(trust_width(self.theme, self._trust), self.theme.px(18))

    def paint(self, painter: QPainter, rect: QRectF) -> None:
        paint_trust(painter, self.theme, QPointF(0, self.height() / 2), self._trust)
