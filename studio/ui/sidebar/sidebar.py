"""The sidebar: search, pages, and the list of chats."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import cached_property
from typing import TYPE_CHECKING, TypeAlias

from PySide6.QtCore import QEvent, QObject, QPoint, QRectF, QSize, Qt, Signal
from PySide6.QtGui import QKeyEvent, QPainter
from PySide6.QtWidgets import QSizePolicy, QWidget

from studio.ui.engine_texts import tr_engine
from studio.ui.formatting import dollars
from studio.ui.pages import registry
from studio.ui.theme import Theme, joined
from studio.ui.translation import tr
from studio.ui.widgets import Field, IconButton, Label, PaintedButton, plain_tip
from studio.ui.widgets.layouts import STRETCH, column_of, row_of
from studio.ui.widgets.painting import PaintedWidget, paint_rounded, paint_text

from .chat_list import ChatList
from .chat_menu import row_menu
from .undo_bar import UndoBar

if TYPE_CHECKING:
    from studio.domain.sessions import SearchHit, SessionInfo


PackRows: TypeAlias = "tuple[str, tuple[tuple[str, str, str], ...]]"
"""A pack's name, and the key, title and icon of each of its pages."""


class NavRow(PaintedButton):
    """A place to go; ``hint`` is a shortcut, ``count`` what waits there."""

    def __init__(self, theme: Theme, text: str, icon: str, parent: QWidget | None = None) -> None:
        super().__init__(theme, parent)
        self.setText(text)
        self.setSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Fixed)
        self._icon = icon
        self._chosen = False
        self._hint = ""
        self._count = 0
        self._urgent = False
        self._name()

    @property
    def chosen(self) -> bool:
        return self._chosen

    def set_chosen(self, chosen: bool) -> None:
        self._chosen = chosen
        self._name()

    def set_hint(self, hint: str) -> None:
        self._hint = hint
        self.update()

    def set_count(self, count: int, *, urgent: bool = False) -> None:
        self._count, self._urgent = count, urgent
        self._name()

    def _name(self) -> None:
        waiting = tr("{count} waiting").format(count=self._count) if self._count else ""
        self.setAccessibleName(
            joined((self.text(), waiting, tr("selected") if self._chosen else ""))
        )
        self.update()

    def sizeHint(self) -> QSize:
        return QSize(self.theme.px(160), self.theme.height(30))

    def _theme_changed(self) -> None:
        self.__dict__.pop("whole_width", None)
        super()._theme_changed()

    @cached_property
    def whole_width(self) -> int:
        """The width in which no word is cut, beside a count of two digits."""
        t = self.theme
        words = t.metrics("ui_medium").horizontalAdvance(self.text())
        count = max(t.px(18), t.metrics("label").horizontalAdvance("99") + t.px(10))
        return 10 + t.px(16) + t.px(8) + words + 8 + count + 8

    def minimumSizeHint(self) -> QSize:
        return QSize(80, self.sizeHint().height())  # words are cut rather than the sidebar widened

    def paint(self, painter: QPainter, rect: QRectF) -> None:
        t = self.theme
        if self._chosen:
            paint_rounded(painter, rect, 6, t.color("selected"))
        self.paint_overlay(painter, rect)
        side = t.px(16)
        mark = QRectF(10, (rect.height() - side) / 2, side, side)
        t.paint_icon(painter, mark, self._icon, "text1" if self._chosen else "text2")
        x, right = mark.right() + t.px(8), rect.width() - 10
        if self._count:
            right = self._paint_count(painter, rect)
        elif self._hint and self._hint_fits(x, right):
            width = t.metrics("small").horizontalAdvance(self._hint)
            right -= width
            place = QRectF(right, 0, width + 2, rect.height())
            paint_text(painter, t, place, self._hint, "small", "text3")
        role = "ui_medium" if self._chosen else "ui"
        room = right - 6 - x
        place = QRectF(x, 0, room + 2, rect.height())
        paint_text(painter, t, place, self.text(), role, room=room)

    def _hint_fits(self, left: float, right: float) -> bool:
        t = self.theme
        words = t.metrics("ui").horizontalAdvance(self.text())
        return left + words + 12 + t.metrics("small").horizontalAdvance(self._hint) <= right

    def _paint_count(self, painter: QPainter, rect: QRectF) -> float:
        t, text = self.theme, str(self._count) if self._count < 100 else "99+"
        high = t.px(18)
        width = max(high, t.metrics("label").horizontalAdvance(text) + t.px(10))
        box = QRectF(rect.width() - 8 - width, (rect.height() - high) / 2, width, high)
        fill, ink = ("warn_soft", "warn") if self._urgent else ("track", "text1")
        paint_rounded(painter, box, high / 2, t.color(fill))
        paint_text(painter, t, box, text, "label", ink, Qt.AlignmentFlag.AlignCenter)
        return box.x()


class PackName(PaintedWidget):
    """The name of a pack, above its pages."""

    def __init__(self, theme: Theme, name: str) -> None:
        super().__init__(theme)
        self._words = name
        self.setAccessibleName(name)
        self.setToolTip(plain_tip(name))
        self.setSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Fixed)

    def sizeHint(self) -> QSize:
        return QSize(self.theme.px(80), self.theme.height(26))

    def minimumSizeHint(self) -> QSize:
        return QSize(40, self.sizeHint().height())

    def paint(self, painter: QPainter, rect: QRectF) -> None:
        t = self.theme
        place = rect.adjusted(10, t.px(4), -6, 0)
        paint_text(painter, t, place, self._words, "label", "text3", room=place.width())


class Sidebar(PaintedWidget):
    """Search, New chat, the pages, chats by date, settings.

    One thing in it is selected: a page (``select_page``) or a chat (``select``).
    """

    ground = "window"

    new_chat = Signal()
    open_session = Signal(str)
    open_found = Signal(str, str, str)
    """The id of a chat that was searched for, the words and the line that has them."""
    left = Signal()
    """The person is done with the search, and has opened nothing."""
    search = Signal(str)
    settings = Signal()
    server_wanted = Signal()
    """The settings of the server."""
    page = Signal(str)
    """The key of a page in the registry."""
    rename = Signal(str, str)
    delete = Signal(list)
    """The ids of chats."""
    stop = Signal(str)
    """The id of a chat whose turn is to end."""

    def __init__(
        self, theme: Theme, clock: Callable[[], float] = time.time, parent: QWidget | None = None
    ) -> None:
        super().__init__(theme, parent)
        self.setAccessibleName(tr("Sidebar"))
        self._theme = theme
        self._of_packs: list[PackRows] = []
        self._pack_names: list[PackName] = []

        self.field = Field(theme, tr("Search chats"), icon="search")
        self.field.textChanged.connect(self._typed)
        self._rows: dict[str, NavRow] = {}
        places = [
            ("new", tr("New chat"), "square-pen"),
            ("needs", tr("Needs you"), "shield-question-mark"),
        ]
        places += [(one.key, tr(one.title), one.icon) for one in registry.PAGES if one.in_sidebar]
        for name, text, icon in places:
            row = self._rows[name] = NavRow(theme, text, icon)
            row.clicked.connect(lambda _on=False, name=name: self._go(name))

        self._rows["needs"].hide()
        self.chats = ChatList(theme, clock)
        self.chats.opened.connect(self.open_session)
        self.chats.found_opened.connect(self.open_found)
        self.field.installEventFilter(self)
        self.chats.stopping.connect(self.stop)
        self.chats.removing.connect(self.delete)
        self.chats.menu_wanted.connect(self._show_menu)
        self.undo = UndoBar(theme)
        self.chats.chats.renamed.connect(self.rename)

        gear = IconButton(theme, "settings", tr("Settings"))
        gear.clicked.connect(self.settings)
        self._cost = Label(theme, "", "small", "text2", digits=True)
        self._cost.hide()
        self.server = IconButton(theme, "server", tr("Server"))
        self.server.clicked.connect(self.server_wanted)
        self.server.hide()
        parts = (self.field, 8, *self._rows.values())
        top = self._top = column_of(parts, spacing=0, margins=(10, 0, 9, 0))
        foot = row_of([gear, self.server, STRETCH, self._cost], margins=(10, 6, 16, 0))
        bar = column_of([self.undo], spacing=0, margins=(10, 0, 9, 0))
        column_of([top, (self.chats, 1), bar, foot], spacing=0, margins=(0, 12, 1, 8), on=self)

    def sizeHint(self) -> QSize:
        """As wide as the names of the pages need; those of packs may be of any length."""
        widest = max(row.whole_width for row in self._rows.values())
        return QSize(widest + 20, super().sizeHint().height())

    # What it shows

    def set_new_chat_keys(self, keys: str) -> None:
        self._rows["new"].set_hint(keys)

    def set_sessions(
        self,
        sessions: Iterable[SessionInfo],
        agents: Mapping[str, tuple[str, str]],
        archived: int = 0,
    ) -> None:
        """The chats to list; ``agents`` maps an agent's name to its icon and hue.

        ``archived`` is how many chats are in the archive, listed or not.
        """
        self.chats.set_sessions(sessions, agents, archived)

    def set_hits(self, hits: Sequence[SearchHit] | None, found: Iterable[SessionInfo] = ()) -> None:
        """What the search found, and in which chats; None while it is still looking."""
        if self.field.text().strip():
            self.chats.set_hits(hits, found)

    def select(self, session_id: str | None, family: str = "") -> None:
        """Mark the open chat, by its id and the family of its versions."""
        self._mark("")
        self.chats.select(session_id or "", family)

    def select_page(self, name: str | None) -> None:
        """Mark ``new`` or a page by its key; any other name marks none."""
        self.chats.select("")
        self._mark(name or "")

    def set_cost(self, spent: float) -> None:
        """Today's cost, “$0.84 today”; hidden when nothing is known to cost anything."""
        self._cost.show_text(tr("{amount} today").format(amount=dollars(spent)) if spent else "")

    def show_server(self, state: str, about: str) -> None:
        """Show an icon in the foot while the server is on; it opens the server's settings."""
        words = {
            "running": tr("The server runs at {address}").format(address=about),
            "starting": tr("The server starts"),
        }
        self.server.set_icon("circle-alert" if state == "failed" else "server")
        self.server.set_tooltip(
            words.get(state, tr("The server does not run. {why}").format(why=tr_engine(about)))
        )
        self.server.setVisible(state != "off")

    def set_drafts(self, waiting: int) -> None:
        self._rows["drafts"].set_count(waiting)

    def set_notes(self, waiting: int) -> None:
        self._rows["memory"].set_count(waiting)

    def set_pack_pages(self, packs: list[PackRows]) -> None:
        """Show the pages of packs below the packs' names: the key, title and icon of each."""
        if packs == self._of_packs:
            return
        chosen = next((key for key, row in self._rows.items() if row.chosen), "")
        gone: list[QWidget] = [*self._pack_names]
        gone += [self._rows.pop(key) for _, pages in self._of_packs for key, _, _ in pages]
        for row in gone:
            self._top.removeWidget(row)
            row.hide()
            row.deleteLater()
        self._of_packs, self._pack_names = packs, []
        for name, pages in packs:
            heading = PackName(self._theme, name)
            self._pack_names.append(heading)
            self._top.addWidget(heading)
            for key, title, icon in pages:
                row = self._rows[key] = NavRow(self._theme, title, icon)
                row.setAccessibleDescription(name)
                row.clicked.connect(lambda _on=False, key=key: self._go(key))
                self._top.addWidget(row)
        self._mark(chosen)

    def set_needs(self, waiting: int) -> None:
        """Show how much waits for the person; nothing hides the row."""
        self._rows["needs"].set_count(waiting, urgent=True)
        self._rows["needs"].setVisible(waiting > 0)

    def neighbour(self, step: int) -> str:
        """The chat ``step`` places below the open one (above, if negative), or nothing."""
        ids = self.chats.ids()
        if not ids:
            return ""
        if self.chats.open_id not in ids:
            return ids[0]
        at = ids.index(self.chats.open_id) + step
        return ids[at] if 0 <= at < len(ids) else ""

    def clear_search(self) -> None:
        """Show all chats again."""
        self.field.clear()

    def edit_title(self) -> None:
        """Rename the open chat in its row, or where the keyboard is in the list the row there."""
        index = self.chats.chats.index_of(self.chats.open_id)
        if self.chats.hasFocus() and self.chats.currentIndex().isValid():
            index = self.chats.currentIndex()
        if index.isValid():
            self.chats.edit(index)

    def _mark(self, name: str) -> None:
        for key, row in self._rows.items():
            row.set_chosen(key == name)

    # What the person does

    def _go(self, name: str) -> None:
        if name == "new":
            self.new_chat.emit()
        else:
            self.page.emit(name)

    def _typed(self, text: str) -> None:
        self.chats.set_query(text.strip())
        self.search.emit(text.strip())

    def eventFilter(self, watched: QObject, event: QEvent) -> bool:
        """Step through the chats and open one from the search field."""
        if watched is self.field:
            if event.type() == QEvent.Type.FocusOut:
                self.chats.forget_step()
            elif isinstance(event, QKeyEvent) and event.type() == QEvent.Type.KeyPress:
                return self._searching(event)
        return super().eventFilter(watched, event)

    def _searching(self, event: QKeyEvent) -> bool:
        """Whether a key in the search field is for the list below."""
        match event.key():
            case Qt.Key.Key_Down:
                self.chats.step(1)
            case Qt.Key.Key_Up:
                self.chats.step(-1)
            case Qt.Key.Key_Return | Qt.Key.Key_Enter:
                self.chats.open_chosen()
            case Qt.Key.Key_Escape if self.field.text():
                self.clear_search()
            case Qt.Key.Key_Escape:
                self.left.emit()
            case _:
                self.chats.forget_step()
                return False
        return True

    def _show_menu(self, place: QPoint) -> None:
        if menu := row_menu(self.chats):
            menu.popup(place)

    def paint(self, painter: QPainter, rect: QRectF) -> None:
        painter.fillRect(self.width() - 1, 0, 1, self.height(), self.theme.color("hair"))
