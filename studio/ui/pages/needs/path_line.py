"""Path line: who asks, from the run or the chat on; the last one stands out (W-22)."""

from __future__ import annotations

from collections.abc import Sequence

from PySide6.QtCore import QRectF, QSize
from PySide6.QtGui import QPainter
from PySide6.QtWidgets import QSizePolicy

from studio.ui.theme import Theme
from studio.ui.widgets.painting import PaintedWidget, centred, paint_text
from studio.ui.widgets.plain_text import plain_tip


class PathLine(PaintedWidget):
    """Where there is no room, the first ones are left out; the accessible name has all."""

    def __init__(self, theme: Theme) -> None:
        super().__init__(theme)
        self.path: Sequence[str] = ()
        self.setSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Preferred)

    def show_path(self, path: Sequence[str]) -> None:
        self.path = path
        words = " › ".join(path)
        self.setAccessibleName(words)
        self.setToolTip(plain_tip(words))
        self.update()

    def sizeHint(self) -> QSize:
        return QSize(self.theme.px(80), self.theme.metrics("ui").height() + 4)

    def paint(self, painter: QPainter, rect: QRectF) -> None:
        t, gap = self.theme, self.theme.px(26)
        shown = [*self.path]
        fonts = {True: t.metrics("ui_strong"), False: t.metrics("ui")}

        def wide() -> float:
            last = len(shown) - 1
            return gap * last + sum(
                fonts[at == last].horizontalAdvance(one) for at, one in enumerate(shown)
            )

        while len(shown) > 1 and wide() > rect.width():
            shown = ["…", *shown[2 if shown[0] == "…" else 1 :]]
            if shown == ["…", self.path[-1]]:
                break
        x = 0.0
        for at, one in enumerate(shown):
            last = at == len(shown) - 1
            place = QRectF(x, 0, rect.width() - x, rect.height())
            role, ink = ("ui_strong", "text1") if last else ("ui", "text2")
            paint_text(painter, t, place, one, role, ink, room=place.width())
            x += fonts[last].horizontalAdvance(one)
            if not last:
                mark = centred(QRectF(x, 0, gap, rect.height()), t.px(12))
                t.paint_icon(painter, mark, "chevron-right", "text3")
            x += gap
