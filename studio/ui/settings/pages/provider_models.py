"""The list of one provider's models: check box, context size and price."""

from __future__ import annotations

from collections.abc import Sequence

from PySide6.QtCore import QAbstractListModel, QPointF, QRectF, QSize, Qt, Signal
from PySide6.QtGui import QFocusEvent, QKeyEvent, QPainter, QPaintEvent, QWheelEvent
from PySide6.QtWidgets import QListView, QStyledItemDelegate, QStyleOptionViewItem, QWidget

from studio.domain.models import ModelInfo
from studio.ui.formatting import context_size, day, price
from studio.ui.theme import Theme, elided, joined
from studio.ui.theme.mirroring import mirrored_row
from studio.ui.translation import tr, tr_in
from studio.ui.widgets import Index, OverlayBar, plain_tip
from studio.ui.widgets.keyboard_list import KeyboardList, paint_row_ring
from studio.ui.widgets.painting import paint_check, paint_rounded, paint_tag, paint_text, tag_width

VISIBLE = 8
"""Rows that are seen without scrolling."""
SKELETON = 3
"""Grey rows while the models are loading."""


def abilities(model: ModelInfo) -> str:
    """The known abilities of a model: reads pictures and PDF, calls tools, thinks."""
    reads = tr("reads pictures") if model.images else ""
    if model.documents:
        reads = tr("reads pictures and PDF") if model.images else tr("reads PDF")
    does = [
        reads,
        tr("calls tools") if model.tools else "",
        tr("thinks") if model.reasoning else "",
    ]
    return ", ".join(word for word in does if word)


def mark(model: ModelInfo) -> str:
    """A tag for the model in a list: Yours, Until 1 Dec 2026, Deprecated; or an empty text."""
    if model.source == "yours":
        return tr("Yours")
    if model.lifecycle not in ("", "deprecated"):
        return ""
    if model.retires:
        return tr("Until {day}").format(day=day(model.retires))
    return tr("Deprecated") if model.lifecycle else ""


class _ModelListModel(QAbstractListModel):
    """The models; ``off`` has the ids of those that are not offered."""

    def __init__(self, parent: QWidget) -> None:
        super().__init__(parent)
        self.models: list[ModelInfo] = []
        self.off: set[str] = set()
        self.default = ""

    def show(self, models: Sequence[ModelInfo], off: set[str], default: str) -> None:
        if [model.id for model in models] != [model.id for model in self.models]:
            self.beginResetModel()
            self.models = list(models)
            self.endResetModel()
        self.models, self.off, self.default = list(models), off, default
        if self.models:
            self.dataChanged.emit(self.index(0), self.index(len(self.models) - 1))

    def rowCount(self, parent: Index | None = None) -> int:
        return len(self.models)

    def data(self, index: Index, role: int = int(Qt.ItemDataRole.DisplayRole)) -> object:
        model = self.models[index.row()]
        if role == Qt.ItemDataRole.UserRole:
            return model
        if role == Qt.ItemDataRole.DisplayRole:
            return model.title
        if role == Qt.ItemDataRole.ToolTipRole:
            known = abilities(model)
            return plain_tip(f"{model.id}\n{known[:1].upper()}{known[1:]}." if known else model.id)
        if role == Qt.ItemDataRole.AccessibleTextRole:
            size = context_size(model.context_window)
            return joined(
                (
                    model.title,
                    tr_in("a model in a list", "default") if model.id == self.default else "",
                    mark(model),
                    tr("not offered") if model.id in self.off else tr("offered"),
                    tr("context {size}").format(size=size) if size else "",
                    price(model.input_price, model.output_price),
                    abilities(model),
                )
            )
        if role == Qt.ItemDataRole.CheckStateRole:
            on = model.id not in self.off
            return Qt.CheckState.Checked if on else Qt.CheckState.Unchecked
        return None

    def flags(self, index: Index) -> Qt.ItemFlag:
        return (
            Qt.ItemFlag.ItemIsEnabled
            | Qt.ItemFlag.ItemIsSelectable
            | Qt.ItemFlag.ItemIsUserCheckable
        )


class _ModelDelegate(QStyledItemDelegate):
    def __init__(self, theme: Theme, view: ModelList) -> None:
        super().__init__(view)
        self.theme = theme
        self.view = view

    def editorEvent(self, *args: object) -> bool:
        return False  # the whole row is the check box, see ModelList

    def sizeHint(self, option: QStyleOptionViewItem, index: Index) -> QSize:
        return QSize(100, self.theme.height(30))

    @mirrored_row
    def paint(self, painter: QPainter, option: QStyleOptionViewItem, index: Index) -> None:
        t, model = self.theme, index.data(Qt.ItemDataRole.UserRole)
        shown = self.view.shown
        rect = QRectF(option.rect)
        at_right = Qt.AlignmentFlag.AlignVCenter | Qt.AlignmentFlag.AlignRight
        painter.save()
        if self.view.keyboard_focus and index == self.view.currentIndex():
            paint_row_ring(painter, t, rect.adjusted(3, 1, -3, -1))
        side = t.px(16)
        box = QRectF(rect.x() + 12, rect.y() + (rect.height() - side) / 2, side, side)
        paint_check(painter, t, box, model.id not in shown.off)
        cost = price(model.input_price, model.output_price)
        right = rect.right() - 14
        column = QRectF(right - t.px(130), rect.y(), t.px(130), rect.height())
        paint_text(painter, t, column, cost, "small digits", "text2", at_right)
        context = right - t.px(136)
        if rect.width() > t.px(380):
            column = QRectF(context - t.px(70), rect.y(), t.px(70), rect.height())
            size = context_size(model.context_window)
            paint_text(painter, t, column, size, "small digits", "text2", at_right)
            end = context - t.px(56)
        else:  # a narrow window has room for the name and the price
            end = right - t.metrics("small").horizontalAdvance(cost) - t.px(10)
        x = box.right() + t.px(10)
        tags = [(tr("Default"), "accent")] if model.id == shown.default else []
        if word := mark(model):
            tags.append((word, "neutral" if model.source == "yours" else "warn"))
        # The name needs room first; the default model is also named above the list.
        least = x + min(t.px(90), t.metrics("ui").horizontalAdvance(model.title))
        choices = (tags, tags[1:], tags[:1])
        tags = next((some for some in choices if least + _tags_width(t, some) <= end), [])
        room = end - x - _tags_width(t, tags)
        title = elided(t.metrics("ui"), model.title, room)
        paint_text(painter, t, QRectF(x, rect.y(), room + 4, rect.height()), title)
        at = x + t.metrics("ui").horizontalAdvance(title) + 9
        for word, kind in tags:
            at += 6 + paint_tag(painter, t, QPointF(at, rect.center().y() + 0.5), word, kind)
        painter.restore()


def _tags_width(theme: Theme, tags: Sequence[tuple[str, str]]) -> float:
    return sum(tag_width(theme, word) + 10 for word, _ in tags)


class ModelList(KeyboardList):
    """``toggled`` gives a model's id and whether it is offered from now on."""

    toggled = Signal(str, bool)

    def __init__(self, theme: Theme, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.theme = theme
        self._skeleton = False
        self.shown = _ModelListModel(self)
        self.setModel(self.shown)
        self.setItemDelegate(_ModelDelegate(theme, self))
        self.setAccessibleName(tr("Models"))
        self.setUniformItemSizes(True)
        self.setSelectionMode(QListView.SelectionMode.NoSelection)
        self.setVerticalScrollMode(QListView.ScrollMode.ScrollPerPixel)
        self.setFocusPolicy(Qt.FocusPolicy.TabFocus)
        self.viewport().setAutoFillBackground(False)
        OverlayBar(self)
        self.clicked.connect(self._toggle)
        theme.changed.connect(self._set_height)
        self._set_height()

    def set_models(self, models: Sequence[ModelInfo], off: set[str], default: str) -> None:
        """Show models; ``off`` has the ids that are not offered."""
        self._skeleton = False
        self.shown.show(models, off, default)
        self._set_height()

    def set_skeleton(self) -> None:
        """Show grey rows while the models are loading."""
        self._skeleton = True
        self.shown.show([], set(), "")
        self._set_height()

    def _set_height(self) -> None:
        count = SKELETON if self._skeleton else min(VISIBLE, len(self.shown.models))
        self.setFixedHeight(max(1, count) * self.theme.height(30))
        self.scheduleDelayedItemsLayout()
        self.viewport().update()
        self.update()

    def _toggle(self, index: Index) -> None:
        model = index.data(Qt.ItemDataRole.UserRole)
        if model is not None:
            self.toggled.emit(model.id, model.id in self.shown.off)

    def keyPressEvent(self, event: QKeyEvent) -> None:
        keys = (Qt.Key.Key_Space, Qt.Key.Key_Return, Qt.Key.Key_Enter)
        if event.key() in keys and self.currentIndex().isValid():
            self._toggle(self.currentIndex())
            return
        super().keyPressEvent(event)

    def focusInEvent(self, event: QFocusEvent) -> None:
        super().focusInEvent(event)
        if self.keyboard_focus and not self.currentIndex().isValid():
            self.setCurrentIndex(self.shown.index(0))

    def wheelEvent(self, event: QWheelEvent) -> None:
        if self.verticalScrollBar().maximum() == 0:
            event.ignore()  # the page scrolls
            return
        super().wheelEvent(event)

    def paintEvent(self, event: QPaintEvent) -> None:
        t = self.theme
        painter = QPainter(self.viewport())
        whole = QRectF(self.viewport().rect())
        if self._skeleton:
            self._paint_skeleton(painter)
        elif not self.shown.models:
            middle = Qt.AlignmentFlag.AlignCenter
            paint_text(painter, t, whole, tr("No models."), "small", "text3", middle)
        painter.end()
        super().paintEvent(event)

    def _paint_skeleton(self, painter: QPainter) -> None:
        t, row = self.theme, self.theme.height(30)
        grey, right = t.color("track"), self.viewport().width() - 14
        for at, part in enumerate((0.33, 0.26, 0.3)):
            middle = at * row + row / 2
            side, bar = t.px(16), t.px(10)
            paint_rounded(painter, QRectF(12, middle - side / 2, side, side), 4, grey)
            wide = self.viewport().width() * part
            place = QRectF(12 + side + 10, middle - bar / 2, wide, bar)
            paint_rounded(painter, place, bar / 2, grey)
            end = QRectF(right - t.px(40), middle - bar / 2, t.px(40), bar)
            paint_rounded(painter, end, bar / 2, grey)
