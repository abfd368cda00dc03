"""Case list: the cases of an eval with the tries of each variant, of which one cell is chosen."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from PySide6.QtCore import QPointF, QRectF, QSize, Qt, Signal
from PySide6.QtGui import QHelpEvent, QKeyEvent, QMouseEvent, QPainter
from PySide6.QtWidgets import (
    QAbstractItemView,
    QStyle,
    QStyledItemDelegate,
    QStyleOptionViewItem,
    QToolTip,
)

from studio.agent.permission.invisible_characters import escape_line
from studio.domain.evals import Cell
from studio.ui.pages.workflows.runs.letter_list import LetterList
from studio.ui.theme import Theme
from studio.ui.theme.mirroring import mirrored_row
from studio.ui.translation import tr, tr_in
from studio.ui.widgets import Index, plain_tip
from studio.ui.widgets.announcement import announce
from studio.ui.widgets.painting import (
    PaintedWidget,
    centred,
    paint_rounded,
    paint_tag,
    paint_text,
    tag_width,
)
from studio.ui.widgets.row_list import RowModel, paint_row_ground

from .eval_facts import (
    LETTERS,
    CaseRow,
    ListRow,
    MoreRow,
    SectionRow,
    in_sections,
    more_words,
    section_words,
    spoken_case,
    spoken_cell,
)

TRIES = 200
"""Pixels of the tries of one variant."""
CHECKS = 96
"""Pixels of the kinds of checks of a case."""
LONGEST_TIP = 400
"""Characters of a case's title in a tool tip."""
_TOGGLES = (Qt.Key.Key_Return, Qt.Key.Key_Enter, Qt.Key.Key_Space)


@dataclass(frozen=True, slots=True)
class Columns:
    """Case, checks and the tries of each variant, from left to right."""

    title: QRectF
    checks: QRectF
    tries: Sequence[QRectF]


def columns_of(t: Theme, row: QRectF, variants: int) -> Columns:
    """The columns of a row; that of the first variant has no flips, and is narrower."""
    box = row.adjusted(t.px(20), 0, -t.px(8), 0)
    wide = min(t.px(TRIES), box.width() * 0.6 / max(variants, 2))
    widths = [wide * 0.8, *[wide] * (variants - 1)]
    x, tries = box.right() - sum(widths), list[QRectF]()
    left = QRectF(box.x(), box.y(), x - box.x() - t.px(8), box.height())
    for each in widths:
        tries.append(QRectF(x, box.y(), each, box.height()))
        x += each
    kind = min(float(t.px(CHECKS)), left.width() * 0.4)
    checks = QRectF(left.right() - kind, left.y(), kind, left.height())
    return Columns(left.adjusted(0, 0, -kind - t.px(12), 0), checks, tries)


class _Rows(RowModel):
    """Cases below headings; these can be chosen where they hide cases."""

    def flags(self, index: Index) -> Qt.ItemFlag:
        row = index.data(Qt.ItemDataRole.UserRole)
        if isinstance(row, SectionRow) and not row.folds:
            return Qt.ItemFlag.NoItemFlags
        return super().flags(index)


class _Head(PaintedWidget):
    """The names of the columns."""

    def __init__(self, theme: Theme) -> None:
        super().__init__(theme)
        self.variants = 2
        theme.changed.connect(self._follow)
        self._follow()

    def _follow(self) -> None:
        self.setFixedHeight(self.theme.height(28, "small"))

    def paint(self, painter: QPainter, rect: QRectF) -> None:
        places = columns_of(self.theme, rect, self.variants)
        for place, words in (
            (places.title, tr("Case")),
            (places.checks, tr_in("what grades a case", "Check")),
            *zip(places.tries, LETTERS, strict=False),
        ):
            paint_text(painter, self.theme, place, words, "small", "text2", room=place.width())


class _Line(QStyledItemDelegate):
    def __init__(self, theme: Theme, cases: CaseList) -> None:
        super().__init__()
        self._theme, self._cases = theme, cases

    def sizeHint(self, option: QStyleOptionViewItem, index: Index) -> QSize:
        return QSize(100, self._theme.height(32, "ui"))

    @mirrored_row
    def paint(self, painter: QPainter, option: QStyleOptionViewItem, index: Index) -> None:
        t, row = self._theme, index.data(Qt.ItemDataRole.UserRole)
        whole = QRectF(option.rect)
        if isinstance(row, SectionRow):
            self._section(painter, whole, row, option)
            return
        if isinstance(row, MoreRow):
            self._more(painter, whole, row, option)
            return
        places = columns_of(t, whole, len(row.tries))
        right = places.tries[-1].right()
        line = QRectF(places.title.x(), whole.bottom() - 1, right - places.title.x(), 1)
        painter.fillRect(line, t.color("hair"))
        box = whole.adjusted(t.px(8), 0, -t.px(8), 0)
        paint_row_ground(painter, t, option, box, 6)
        title, checks = places.title, places.checks
        paint_text(painter, t, title, row.case.label, "ui", room=title.width())
        paint_text(painter, t, checks, row.checks, "small", "text2", room=checks.width())
        chosen = bool(option.state & QStyle.StateFlag.State_Selected)
        flips = (0, *row.flips)
        for at, (place, cells, flip) in enumerate(zip(places.tries, row.tries, flips, strict=True)):
            cell = place.adjusted(-t.px(6), t.px(3), -t.px(8), -t.px(3))
            if flip:
                paint_rounded(painter, cell, 6, t.color("ok_soft" if flip > 0 else "err_soft"))
            end = self._tries(painter, place, cells, tinted=not flip)
            if flip:
                self._flip(painter, QRectF(QPointF(end, cell.top()), cell.bottomRight()), flip)
            if chosen and at == self._cases.variant:
                paint_rounded(painter, cell, 6, None, t.color("accent_text"), 2)

    def _flip(self, painter: QPainter, place: QRectF, flip: int) -> None:
        """The tag of a flipped case; its arrow alone where there is no room for the word."""
        t, words = self._theme, tr("flip")
        icon, kind = ("arrow-up", "ok") if flip > 0 else ("arrow-down", "err")
        side = t.px(12)
        if tag_width(t, words, icon) <= place.width():
            paint_tag(painter, t, QPointF(place.x(), place.center().y()), words, kind, icon)
        elif side <= place.width():
            mark = QRectF(place.x(), place.center().y() - side / 2, side, side)
            t.paint_icon(painter, mark, icon, kind)

    def helpEvent(
        self, event: QHelpEvent, view: QAbstractItemView, option: QStyleOptionViewItem, index: Index
    ) -> bool:
        row, t = index.data(Qt.ItemDataRole.UserRole), self._theme
        if not isinstance(row, CaseRow):
            return super().helpEvent(event, view, option, index)
        room = columns_of(t, QRectF(option.rect), len(row.tries)).title.width()
        cut = t.metrics("ui").horizontalAdvance(row.case.label) > room
        tip = plain_tip(escape_line(row.case.label, LONGEST_TIP)) if cut else ""
        QToolTip.showText(event.globalPos(), tip, view)
        return True

    def _more(
        self, painter: QPainter, whole: QRectF, row: MoreRow, option: QStyleOptionViewItem
    ) -> None:
        t = self._theme
        paint_row_ground(painter, t, option, whole.adjusted(t.px(8), 0, -t.px(8), 0), 6)
        place = whole.adjusted(t.px(20), 0, -t.px(8), 0)
        paint_text(painter, t, place, more_words(row), "ui", "accent_text", room=place.width())
        painter.fillRect(QRectF(whole.x(), whole.bottom() - 1, whole.width(), 1), t.color("hair"))

    def _section(
        self, painter: QPainter, whole: QRectF, row: SectionRow, option: QStyleOptionViewItem
    ) -> None:
        t = self._theme
        painter.fillRect(whole, t.color("sunken"))
        if row.folds:
            paint_row_ground(painter, t, option, whole.adjusted(t.px(8), 0, -t.px(8), 0), 6)
        painter.fillRect(QRectF(whole.x(), whole.bottom() - 1, whole.width(), 1), t.color("hair"))
        place = whole.adjusted(t.px(20), 0, -t.px(8), 0)
        title, count = section_words(row)
        paint_text(painter, t, place, title, "ui_strong", room=place.width())
        used = t.metrics("ui_strong").horizontalAdvance(title)
        place.setLeft(min(place.left() + used + t.px(8), place.right()))
        paint_text(painter, t, place, count, "small", "text2", room=place.width())

    def _tries(
        self, painter: QPainter, place: QRectF, cells: Sequence[Cell], *, tinted: bool
    ) -> float:
        """A mark for each try, as far as there is room; returns where they end."""
        t, x = self._theme, place.x()
        side, room = t.px(16), place.right() - t.px(8)
        for cell in cells:
            if x + side > room:
                break
            icon, ink = ("check", "ok") if cell.passed else ("x", "err")
            if not cell.graded:
                icon, ink = "minus", "text3"
            mark = QRectF(x, place.center().y() - side / 2, side, side)
            if tinted and cell.graded:
                paint_rounded(painter, mark, 4, t.color(f"{ink}_soft"))
            t.paint_icon(painter, centred(mark, t.px(12)), icon, ink)
            x += side + t.px(4)
        return x


def _key(row: ListRow | None) -> object:
    """What tells a row from the others of an eval."""
    if isinstance(row, CaseRow):
        return row.case.id
    return row and (type(row), row.flip)


class CaseList(LetterList):
    """Up and down choose a case, left and right a variant: these are a cell.

    On the heading of a section, or on what stands for its other cases, Enter unfolds or folds it,
    as right and left do.
    """

    cell_chosen = Signal()

    def __init__(self, theme: Theme) -> None:
        super().__init__(theme, tr("Cases"))
        self._theme = theme
        self.variant = 1
        """The place among the variants that are shown of the one that is chosen."""
        self._rows: Sequence[CaseRow] = ()
        self._folds = False
        self._unfolded: set[int] = set()
        """The sections of which the person wants to see all cases."""
        self._model = _Rows(spoken_case, _key)
        self.head = _Head(theme)
        self.setUniformItemSizes(True)
        self.setModel(self._model)
        self.setItemDelegate(_Line(theme, self))
        self.selectionModel().currentChanged.connect(lambda *_: self.cell_chosen.emit())

    @property
    def cases(self) -> Sequence[CaseRow]:
        """The cases that are listed."""
        return [row for row in self._model.rows if isinstance(row, CaseRow)]

    @property
    def row(self) -> CaseRow | None:
        """The case that is chosen."""
        row = self.currentIndex().data(Qt.ItemDataRole.UserRole)
        return row if isinstance(row, CaseRow) else None

    def show_cases(self, rows: Sequence[CaseRow], variants: int, *, folds: bool = False) -> None:
        """Show cases; with ``folds`` those that did not flip are folded at first."""
        self.head.variants = variants
        self.head.update()
        self.variant = min(self.variant, variants - 1)
        self._rows, self._folds = rows, folds
        self._fill()

    def fold_all(self) -> None:
        """Fold what was unfolded, before another eval is shown."""
        self._unfolded.clear()
        self._fill()

    def _fill(self) -> None:
        """List the cases; what was chosen stays chosen if it is still listed."""
        chosen = _key(self.currentIndex().data(Qt.ItemDataRole.UserRole))
        rows = in_sections(self._rows, self._unfolded, folds=self._folds)
        self._model.show(rows)
        keys = [*map(_key, rows)]
        if chosen in keys:
            self._choose(keys.index(chosen))
        elif cases := self.cases:
            self._choose(rows.index(cases[0]))

    def _choose(self, at: int) -> None:
        if at != self.currentIndex().row():
            self.setCurrentIndex(self._model.index(at))

    def _toggle(self, row: SectionRow | MoreRow, unfold: bool | None = None) -> None:
        """Unfold the section of a row, or fold it; from “11 more” on to the first of these."""
        at = self._model.rows.index(row)
        self._unfolded ^= {row.flip} if unfold is not (row.flip in self._unfolded) else set()
        self._fill()
        self._choose(at)
        if isinstance(row, SectionRow):
            announce(self, spoken_case(self._model.rows[at]))

    def choose_variant(self, at: int) -> None:
        if self.row is not None and 0 <= at < len(self.row.tries) and at != self.variant:
            self.variant = at
            self.viewport().update()
            announce(self, spoken_cell(self.row, at))
            self.cell_chosen.emit()

    def keyPressEvent(self, event: QKeyEvent) -> None:
        row = self.currentIndex().data(Qt.ItemDataRole.UserRole)
        if isinstance(row, SectionRow | MoreRow) and event.key() in _TOGGLES:
            self._toggle(row)
            return
        step = {Qt.Key.Key_Left: -1, Qt.Key.Key_Right: 1}.get(Qt.Key(event.key()), 0)
        if self.isRightToLeft():
            step = -step
        if step and isinstance(row, SectionRow | MoreRow):
            self._toggle(row, step > 0)
        elif step and not event.modifiers() & ~Qt.KeyboardModifier.KeypadModifier:
            self.choose_variant(self.variant + step)
        else:
            super().keyPressEvent(event)

    def mousePressEvent(self, event: QMouseEvent) -> None:
        super().mousePressEvent(event)
        index = self.indexAt(event.position().toPoint())
        pressed = index.data(Qt.ItemDataRole.UserRole)
        left = event.button() == Qt.MouseButton.LeftButton
        if left and (isinstance(pressed, MoreRow) or getattr(pressed, "folds", False)):
            self._toggle(pressed)
            return
        if self.row is None or index != self.currentIndex():
            return
        line, x = QRectF(self.visualRect(index)), event.position().x()
        if self.isRightToLeft():
            x = line.left() + line.right() - x
        places = columns_of(self._theme, line, len(self.row.tries)).tries
        for at, place in enumerate(places):
            if place.left() <= x < place.right():
                self.choose_variant(at)
