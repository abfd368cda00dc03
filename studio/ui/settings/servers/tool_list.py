"""A server's tools with their rights. A click on a right, or Space, offers to change it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from PySide6.QtCore import QModelIndex, QPoint, QPointF, QRect, QRectF, QSize, Qt, Signal
from PySide6.QtGui import (
    QContextMenuEvent,
    QKeyEvent,
    QMouseEvent,
    QPainter,
    QStandardItem,
    QStandardItemModel,
)
from PySide6.QtWidgets import (
    QListView,
    QMenu,
    QStyle,
    QStyledItemDelegate,
    QStyleOptionViewItem,
)

from studio.domain.permissions import Verdict
from studio.mcp.lists import ServerTool
from studio.ui.engine_texts import tr_engine
from studio.ui.theme import Theme, joined
from studio.ui.theme.mirroring import mirrored_row
from studio.ui.translation import tr, tr_later
from studio.ui.widgets import MenuItem, OverlayBar, fill_menu, make_transparent, plain_tip
from studio.ui.widgets.keyboard_list import KeyboardList, paint_row_ring
from studio.ui.widgets.painting import paint_tag, paint_text, tag_width

TOOL = Qt.ItemDataRole.UserRole
LONG_TIP = 600
"""Characters of a description in a tool tip."""
RIGHTS: dict[str, tuple[str, str]] = {
    "ask": (tr_later("Ask"), "warn"),
    "allow": (tr_later("Allow"), "neutral"),
    "deny": (tr_later("Never"), "err"),
}
CLAIMS = {
    "readOnlyHint": tr_later("says that it only reads"),
    "destructiveHint": tr_later("says that it may destroy"),
    "idempotentHint": tr_later("says that twice is like once"),
    "openWorldHint": tr_later("says that it reaches the outside"),
}


@dataclass(frozen=True, slots=True)
class ToolFacts:
    """A tool and what is decided about it. ``left_out`` says why no agent gets it."""

    tool: ServerTool
    right: Verdict = "ask"
    reads: bool = False
    off: bool = False
    changed: bool = False
    left_out: str = ""
    warnings: tuple[str, ...] = ()

    @property
    def line(self) -> str:
        """What stands below its name."""
        if self.changed:
            return tr("Changed, waits for you")
        if self.left_out:
            return tr("Left out: {reason}").format(reason=tr_engine(self.left_out))
        if self.warnings:
            return tr_engine(self.warnings[0])
        if self.off:
            return tr("Switched off")
        if self.reads:
            return tr("Marked as reading by you")
        first = self.tool.title or self.tool.description.strip().partition("\n")[0]
        return first or tr("No description")

    @property
    def look(self) -> tuple[str, str, str]:
        """Its icon, and the colours of icon and line."""
        if self.changed:
            return "git-compare-arrows", "warn", "warn"
        if self.left_out or self.off:
            return "circle-slash", "text2", "text2"
        if self.warnings:
            return "triangle-alert", "warn", "warn"
        return "wrench", "text2", "text2"

    @property
    def fixed(self) -> bool:
        """Whether there is no right to be changed."""
        return self.changed or bool(self.left_out) or self.off

    @property
    def tip(self) -> str:
        """Its description, and what it claims of itself, which decides nothing."""
        claims = [tr(words) for key, words in CLAIMS.items() if self.tool.annotations.get(key)]
        return "\n\n".join(filter(None, (self.tool.description[:LONG_TIP], joined(claims))))


class ToolList(KeyboardList):
    """``chosen`` gets the tool whose row is current, ``picked`` a choice of a row's menu."""

    chosen = Signal(object)
    picked = Signal(str, str)
    """A tool's name and what is wanted: ``allow``, ``ask``, ``deny``, ``reads``, ``off``."""

    def __init__(self, theme: Theme) -> None:
        super().__init__()
        self.theme = theme
        self._rows = QStandardItemModel(self)
        self._menu: QMenu | None = None
        self.setModel(self._rows)
        self.setItemDelegate(_ToolRow(theme, self))
        self.setAccessibleName(tr("Tools"))
        self.setEditTriggers(QListView.EditTrigger.NoEditTriggers)
        self.setUniformItemSizes(True)
        self.setVerticalScrollMode(QListView.ScrollMode.ScrollPerPixel)
        self.setMouseTracking(True)
        make_transparent(self)
        OverlayBar(self)
        theme.changed.connect(self.doItemsLayout)

    def show_tools(self, tools: Sequence[ToolFacts]) -> None:
        """Show these tools; the current one stays, where it is still there."""
        before = self.current
        if self._rows.rowCount() != len(tools):
            self._rows.clear()
            for _ in tools:
                self._rows.appendRow(QStandardItem())
        for number, facts in enumerate(tools):
            item = self._rows.item(number)
            item.setText(facts.tool.name)
            item.setData(facts, TOOL)
            item.setToolTip(plain_tip(facts.tip))
            tag = tr(RIGHTS[facts.right][0]) if not facts.fixed else ""
            words = joined((facts.tool.name, facts.line, tag))
            item.setData(words, Qt.ItemDataRole.AccessibleTextRole)
        names = [facts.tool.name for facts in tools]
        at = names.index(before.tool.name) if before and before.tool.name in names else 0
        index = self._rows.index(at, 0)
        if index != self.currentIndex():
            self.setCurrentIndex(index)
        elif tools:
            self.chosen.emit(tools[at])
        self.viewport().update()

    @property
    def current(self) -> ToolFacts | None:
        found: ToolFacts | None = self.currentIndex().data(TOOL)
        return found

    def choose(self, name: str) -> None:
        for number in range(self._rows.rowCount()):
            if self._rows.item(number).text() == name:
                self.setCurrentIndex(self._rows.index(number, 0))

    def currentChanged(self, current: QModelIndex, previous: QModelIndex) -> None:
        super().currentChanged(current, previous)
        if current.isValid():
            self.chosen.emit(current.data(TOOL))

    def open_menu(self, place: QPoint | None = None) -> None:
        """Offer what can be decided about the current tool."""
        facts = self.current
        if facts is None or facts.changed or facts.left_out:
            return
        items = [
            MenuItem("ask", tr("Ask each time"), checked=facts.right == "ask"),
            MenuItem("allow", tr("Allow without asking"), checked=facts.right == "allow"),
            MenuItem("deny", tr("Never"), checked=facts.right == "deny"),
            MenuItem("", ""),
            MenuItem("reads", tr("It only reads"), checked=facts.reads),
            MenuItem("off", tr("Switch on") if facts.off else tr("Switch off")),
        ]
        if facts.off:
            items = items[-1:]
        menu = self._menu = QMenu(self)
        menu.setFont(self.theme.font("ui"))
        menu.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        name = facts.tool.name
        fill_menu(menu, self.theme, items, lambda key: self.picked.emit(name, key))
        rect = self.visualRect(self.currentIndex())
        menu.popup(place or self.viewport().mapToGlobal(rect.bottomLeft() + QPoint(40, -8)))

    def tag_rect(self, row: QRect, facts: ToolFacts) -> QRect:
        """Where a right stands in its row."""
        wide = tag_width(self.theme, tr(RIGHTS[facts.right][0]))
        x = row.left() + 12 if self.isRightToLeft() else row.right() - 12 - wide
        return QRect(x, row.top(), wide, row.height())

    def mouseReleaseEvent(self, event: QMouseEvent) -> None:
        super().mouseReleaseEvent(event)
        index = self.indexAt(event.pos())
        if not index.isValid() or event.button() != Qt.MouseButton.LeftButton:
            return
        facts: ToolFacts = index.data(TOOL)
        place = self.tag_rect(self.visualRect(index), facts).adjusted(-6, 0, 6, 0)
        if place.contains(event.pos()):
            self.open_menu(self.viewport().mapToGlobal(QPoint(place.left(), place.bottom() - 8)))

    def contextMenuEvent(self, event: QContextMenuEvent) -> None:
        self.open_menu(event.globalPos())

    def keyPressEvent(self, event: QKeyEvent) -> None:
        self._show_ring(True)
        if event.key() in (Qt.Key.Key_Space, Qt.Key.Key_Return, Qt.Key.Key_Enter):
            self.open_menu()
            return
        super().keyPressEvent(event)


class _ToolRow(QStyledItemDelegate):
    """Paints a tool: icon, name, a line, and its right as a tag."""

    def __init__(self, theme: Theme, view: ToolList) -> None:
        super().__init__(view)
        self._theme, self._view = theme, view

    def sizeHint(self, option: QStyleOptionViewItem, index: QModelIndex) -> QSize:
        t = self._theme
        lines = t.metrics("code").height() + t.metrics("small").height()
        return QSize(120, max(t.px(44), lines + 10))

    @mirrored_row
    def paint(self, painter: QPainter, option: QStyleOptionViewItem, index: QModelIndex) -> None:
        t, rect = self._theme, QRectF(option.rect)
        facts: ToolFacts = index.data(TOOL)
        chosen = bool(option.state & QStyle.StateFlag.State_Selected)
        if chosen:
            painter.fillRect(rect, t.color("selected"))
        elif option.state & QStyle.StateFlag.State_MouseOver:
            painter.fillRect(rect, t.color("hover"))
        if chosen and self._view.keyboard_focus:
            paint_row_ring(painter, t, rect.adjusted(1, 1, -1, -1))
        line = QRectF(rect.left() + t.px(12), rect.bottom() - 1, rect.width() - t.px(24), 1)
        if index.row() < index.model().rowCount() - 1:
            painter.fillRect(line, t.color("hair"))
        icon, mark, ink = facts.look
        side = t.px(16)
        box = QRectF(rect.left() + t.px(12), rect.center().y() - side / 2, side, side)
        t.paint_icon(painter, box, icon, mark)
        left = box.right() + t.px(10)
        right = rect.right() - 12
        if not facts.fixed:
            text, kind = RIGHTS[facts.right]
            wide = tag_width(t, tr(text))
            paint_tag(painter, t, QPointF(right - wide, rect.center().y()), tr(text), kind)
            right -= wide + 8
        room = right - left
        tall, small = t.metrics("code").height(), t.metrics("small").height()
        top = rect.center().y() - (tall + small) / 2
        name_ink = "text2" if facts.off or facts.left_out else "text1"
        paint_text(
            painter, t, QRectF(left, top, room, tall), facts.tool.name, "code", name_ink, room=room
        )
        place = QRectF(left, top + tall, room, small)
        paint_text(painter, t, place, facts.line, "small", ink, room=room)
