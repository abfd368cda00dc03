"""Item figures: how far many items are, what is to go, and what of them failed (W-54)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from PySide6.QtCore import QRectF, QSize
from PySide6.QtGui import QPainter, QPainterPath
from PySide6.QtWidgets import QSizePolicy

from studio.domain.items import ItemTally
from studio.ui.formatting import decimal, dollars, number, rough_span
from studio.ui.theme import Theme, joined
from studio.ui.translation import tr, tr_plural
from studio.ui.widgets.painting import PaintedWidget, paint_rounded, paint_text


class Figure(NamedTuple):
    """A figure with its name above and what it is of below."""

    name: str
    value: str
    aside: str = ""


def figures(tally: ItemTally, *, running: bool) -> list[Figure]:
    """How many are done, the time and the money to go, how many are worked on at a time."""
    over = number(tally.over)
    found = [Figure(tr("Done"), over, tr("of {count} items").format(count=number(tally.count)))]
    about = tr("about {amount}")
    if running and tally.left and tally.seconds_left:
        pace = tr("at {rate} items a second").format(rate=decimal(tally.rate))
        span = about.format(amount=rough_span(tally.seconds_left))
        found.append(Figure(tr("Time to go"), span, pace))
    if tally.left and tally.dollars_left:
        whole = tally.dollars + tally.dollars_left
        aside = tr("{spent} so far, {whole} in all")
        aside = aside.format(spent=dollars(tally.dollars), whole=dollars(whole))
        cost = about.format(amount=dollars(tally.dollars_left))
        found.append(Figure(tr("Money to go"), cost, aside))
    elif tally.dollars:
        each = tally.dollars / tally.paid if tally.paid > 0 else 0.0
        aside = tr("{cost} an item").format(cost=dollars(each, 4))
        found.append(Figure(tr("Cost"), dollars(tally.dollars), aside))
    if running and tally.at_a_time:
        limit = tr("limit found at {count}").format(count=number(tally.found))
        found.append(Figure(tr("At a time"), number(tally.at_a_time), limit if tally.found else ""))
    if tally.sent:
        found.append(Figure(tr("In batches"), number(tally.sent), tr("answered within a day")))
    return found


def legend(tally: ItemTally) -> list[tuple[str, str]]:
    """What the parts of the bar are, each with its colour."""
    parts = [("accent_text", tr("{count} passed").format(count=number(tally.done)))]
    if tally.failed:
        parts.append(("err", tr("{count} failed").format(count=number(tally.failed))))
    if tally.skipped:
        parts.append(("strong", tr("{count} left out").format(count=number(tally.skipped))))
    if tally.left:
        parts.append(("text2", tr("{count} to go").format(count=number(tally.left))))
    return parts


class ItemFigures(PaintedWidget):
    """Paints the figures, the bar and its legend; its name says them."""

    def __init__(self, theme: Theme) -> None:
        super().__init__(theme)
        self._figures: Sequence[Figure] = ()
        self._tally = ItemTally()
        self.setSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Fixed)
        theme.changed.connect(self.updateGeometry)

    def show_tally(self, tally: ItemTally, *, running: bool) -> None:
        self._figures, self._tally = figures(tally, running=running), tally
        words = [" ".join(filter(None, one)) for one in self._figures]
        self.setAccessibleName(joined([*words, *(text for _, text in legend(tally))]))
        self.update()

    def _heights(self) -> tuple[int, int, int]:
        t = self.theme
        return t.metrics("small").height(), t.metrics("title").height(), t.px(8)

    def sizeHint(self) -> QSize:
        small, large, bar = self._heights()
        gap = self.theme.px(4)
        return QSize(300, small + large + small + 2 * gap + bar + 2 * gap + small)

    def minimumSizeHint(self) -> QSize:
        return QSize(100, self.sizeHint().height())

    def paint(self, painter: QPainter, rect: QRectF) -> None:
        t, (small, large, bar) = self.theme, self._heights()
        gap = t.px(4)
        wide = rect.width() / max(len(self._figures), 4)
        for at, figure in enumerate(self._figures):
            room = wide - t.px(12)
            line = QRectF(rect.x() + at * wide, rect.y(), room, small)
            paint_text(painter, t, line, figure.name, "small", "text2", room=room)
            line = QRectF(line.x(), line.bottom(), room, large)
            paint_text(painter, t, line, figure.value, "title digits", room=room)
            line = QRectF(line.x(), line.bottom(), room, small)
            paint_text(painter, t, line, figure.aside, "small digits", "text2", room=room)
        y = rect.y() + small + large + small + 2 * gap
        self._paint_bar(painter, QRectF(rect.x(), y, rect.width(), bar))
        self._paint_legend(painter, QRectF(rect.x(), y + bar + 2 * gap, rect.width(), small))

    def _paint_bar(self, painter: QPainter, bar: QRectF) -> None:
        t, tally = self.theme, self._tally
        paint_rounded(painter, bar, 4, t.color("track"))
        outline = QPainterPath()
        outline.addRoundedRect(bar, 4, 4)
        painter.save()
        painter.setClipPath(outline)
        x = bar.x()
        for count, ink in (
            (tally.done, "accent_text"),
            (tally.failed, "err"),
            (tally.skipped, "strong"),
        ):
            wide = bar.width() * count / max(tally.count, 1)
            if count:  # a few among thousands are still seen
                wide = max(wide, float(t.px(3)))
                painter.fillRect(QRectF(x, bar.y(), wide, bar.height()), t.color(ink))
            x += wide
        painter.restore()

    def _paint_legend(self, painter: QPainter, line: QRectF) -> None:
        t = self.theme
        metrics, side, x = t.metrics("small digits"), t.px(7), line.x()
        for ink, words in legend(self._tally):
            dot = QRectF(x, line.center().y() - side / 2, side, side)
            paint_rounded(painter, dot, side / 2, t.color(ink))
            wide = metrics.horizontalAdvance(words)
            place = QRectF(dot.right() + t.px(6), line.y(), wide + 4, line.height())
            paint_text(painter, t, place, words, "small digits", "text2")
            x = place.right() + t.px(12)
        if linked := self._tally.linked:
            words = tr_plural("{count} done before", "{count} done before", linked)
            wide = min(metrics.horizontalAdvance(words) + 4, line.right() - x)
            place = QRectF(line.right() - wide, line.y(), wide, line.height())
            paint_text(painter, t, place, words, "small digits", "text2", room=wide)
