"""The settings window: a list of pages at the left, the page at the right."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from PySide6.QtCore import (
    QEvent,
    QItemSelectionModel,
    QModelIndex,
    QRectF,
    QSize,
    QSizeF,
    Qt,
    QTimer,
    Signal,
)
from PySide6.QtGui import (
    QAccessible,
    QCloseEvent,
    QPainter,
    QPaintEvent,
    QResizeEvent,
    QShowEvent,
    QStandardItem,
    QStandardItemModel,
)
from PySide6.QtWidgets import (
    QApplication,
    QDialog,
    QListView,
    QStackedWidget,
    QStyle,
    QStyledItemDelegate,
    QStyleOptionViewItem,
    QWidget,
)

from studio.ui.engine_texts import tr_engine
from studio.ui.theme import Theme
from studio.ui.theme.mirroring import mirrored_row
from studio.ui.translation import tr
from studio.ui.widgets import Column, Hairline, Label, OverlayBar, make_transparent
from studio.ui.widgets.keyboard_list import KeyboardList, paint_row_ring
from studio.ui.widgets.layouts import column_of, row_of
from studio.ui.widgets.painting import paint_rounded, paint_text
from studio.ui.widgets.roles import give_role

from . import registry
from .form import SettingsPage
from .registry import PageEntry, SettingsServices

GAP = 1
"""Pixels between two rows."""
_KEY, _ICON = Qt.ItemDataRole.UserRole, Qt.ItemDataRole.UserRole + 1


class _PageRow(QStyledItemDelegate):
    """Paints a page's icon and title, and the focus ring."""

    def __init__(self, theme: Theme, view: PageList) -> None:
        super().__init__(view)
        self._theme, self._view = theme, view

    def sizeHint(self, option: QStyleOptionViewItem, index: QModelIndex) -> QSize:
        return QSize(80, self._theme.height(30) + GAP)

    @mirrored_row
    def paint(self, painter: QPainter, option: QStyleOptionViewItem, index: QModelIndex) -> None:
        t, rect = self._theme, QRectF(option.rect).adjusted(0, 0, 0, -GAP)
        chosen = bool(option.state & QStyle.StateFlag.State_Selected)
        if chosen:
            paint_rounded(painter, rect, 6, t.color("selected"))
        elif option.state & QStyle.StateFlag.State_MouseOver:
            paint_rounded(painter, rect, 6, t.color("hover"))
        painter.save()
        if chosen and self._view.keyboard_focus:
            paint_row_ring(painter, t, rect)
        side = t.px(16)
        mark = QRectF(10, rect.center().y() - side / 2, side, side)
        t.paint_icon(painter, mark, index.data(_ICON), "text1" if chosen else "text2")
        words = rect.adjusted(10 + side + t.px(8), 0, -10, 0)
        role = "ui_medium" if chosen else "ui"
        paint_text(painter, t, words, index.data(), role, room=words.width())
        painter.restore()


class PageList(KeyboardList):
    """The list of pages: one Tab stop with arrow keys. One row is always chosen.

    ``chosen`` gives the key of the page that the person chose.
    """

    chosen = Signal(str)

    def __init__(self, theme: Theme, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._rows = QStandardItemModel(self)
        self.setModel(self._rows)
        self.setItemDelegate(_PageRow(theme, self))
        self.setAccessibleName(tr("Settings pages"))
        self.setEditTriggers(QListView.EditTrigger.NoEditTriggers)
        self.setUniformItemSizes(True)
        self.setFocusPolicy(Qt.FocusPolicy.TabFocus)
        self.setMouseTracking(True)
        make_transparent(self)
        OverlayBar(self)
        theme.changed.connect(self.doItemsLayout)

    def add(self, key: str, title: str, icon: str) -> None:
        row = QStandardItem(title)
        row.setData(key, _KEY)
        row.setData(icon, _ICON)
        self._rows.appendRow(row)

    def choose(self, key: str) -> None:
        """Select the row of a page; the dialog then shows the page."""
        found = self._rows.match(self._rows.index(0, 0), _KEY, key)
        if found:
            self.setCurrentIndex(found[0])

    def currentChanged(self, current: QModelIndex, previous: QModelIndex) -> None:
        super().currentChanged(current, previous)
        if current.isValid():
            self.chosen.emit(current.data(_KEY))

    def selectionCommand(
        self, index: QModelIndex, event: QEvent | None = None
    ) -> QItemSelectionModel.SelectionFlag:
        """Keep a row selected, also on a click with Ctrl."""
        if not index.isValid():
            return QItemSelectionModel.SelectionFlag.NoUpdate
        return QItemSelectionModel.SelectionFlag.ClearAndSelect


LIST_WIDTH = 196
LEAST = QSize(720, 420)


class _Pages(dict[str, "SettingsPage"]):
    """Pages by their keys; each is made when it is first asked for: all at once would take
    as long as the start of the program."""

    def __init__(self, make: Callable[[str], SettingsPage]) -> None:
        super().__init__()
        self._make = make

    def __missing__(self, key: str) -> SettingsPage:
        page = self[key] = self._make(key)
        return page


class SettingsDialog(QDialog):
    """Shows the pages; is not modal. Changes apply at once and are saved.

    ``pages`` are those of the registry unless given.
    """

    changed = Signal()
    """A setting was changed."""
    server_changed = Signal()
    """A setting of the server was changed and saved."""

    def __init__(
        self,
        theme: Theme,
        services: SettingsServices,
        parent: QWidget | None = None,
        *,
        pages: Sequence[PageEntry] | None = None,
    ) -> None:
        super().__init__(parent)
        self.theme = theme
        self._file, self._tasks = services.file, services.tasks
        self._tasks.on_problem = self._show_problem
        self.setWindowTitle(tr("Settings"))
        self.setModal(False)
        give_role(self, QAccessible.Role.Window)  # of a dialog readers say every word at once
        self.setMinimumSize(LEAST)
        self._scale = theme.scale
        self._usual_size, self._adjusting = QSizeF(880, 620), False
        """The size at the usual text size, as the person made it: no screen or page bounds it."""
        self.resize((self._usual_size * theme.scale).toSize().boundedTo(self._largest_size))

        left = Column(theme, LIST_WIDTH)
        self.list = PageList(theme)
        self.list.chosen.connect(self._show_page)
        column_of([self.list], margins=(10, 8, 9, 8), on=left)
        self._stack = QStackedWidget()
        give_role(self._stack, QAccessible.Role.Client)
        self._message = Label(theme, "", "small", "err", wrap=True)
        self._message.setContentsMargins(24, 0, 24, 10)
        self._message.hide()
        right = column_of([(self._stack, 1), self._message], spacing=0)
        row_of([left, Hairline(theme, upright=True), (right, 1)], spacing=0, on=self)

        entries = registry.PAGES if pages is None else pages
        self._entries = {entry.key: entry for entry in entries}
        self._services = services
        self.pages: dict[str, SettingsPage] = _Pages(self._make)
        """By their keys: those that were shown, and any other that is asked for."""
        for entry in entries:
            self.list.add(entry.key, tr(entry.title), entry.icon)
        theme.changed.connect(self._theme_changed)
        app = QApplication.instance()
        assert isinstance(app, QApplication)
        app.focusChanged.connect(self._focus_moved)

    @property
    def _largest_size(self) -> QSize:
        """Nearly the size of the screen."""
        return self.screen().availableSize() * 0.95

    def _theme_changed(self) -> None:
        if self._scale != self.theme.scale:
            self._scale, self._adjusting = self.theme.scale, True
            self.setMinimumWidth(LEAST.width())
            grown = (self._usual_size * self._scale).toSize()
            self.resize(grown.boundedTo(self._largest_size))
            self._adjusting = False
            # Later: the pages have measured themselves by then.
            QTimer.singleShot(0, self, self._update_minimum_width)
        self.update()

    def _update_minimum_width(self) -> None:
        """Keep the window as wide as the widest page, where the screen is that wide."""
        widest = max(page.inner.minimumSizeHint().width() for page in self.pages.values())
        least = max(LEAST.width(), self.theme.px(LIST_WIDTH) + 1 + widest)
        self._adjusting = True
        self.setMinimumWidth(min(least, self._largest_size.width()))
        self._adjusting = False

    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        if not self._adjusting:
            self._usual_size = QSizeF(self.size()) / self.theme.scale

    def showEvent(self, event: QShowEvent) -> None:
        super().showEvent(event)
        self._update_minimum_width()

    def _make(self, key: str) -> SettingsPage:
        page = self._entries[key].load()(self.theme, self._services)
        page.changed.connect(lambda: self._changed(page))
        page.page_wanted.connect(self.list.choose)
        self._stack.addWidget(page)
        return page

    def _show_page(self, key: str) -> None:
        self._stack.setCurrentWidget(self.pages[key])
        if self.isVisible():
            self._update_minimum_width()

    def _focus_moved(self, _old: QWidget | None, now: QWidget | None) -> None:
        page = self._stack.currentWidget()
        if isinstance(page, SettingsPage) and now is not None and page.isAncestorOf(now):
            page.reveal(now)

    @property
    def page(self) -> str:
        """The key of the page that is shown."""
        key: str = self.list.currentIndex().data(_KEY)
        return key

    def open_page(self, key: str = "general", at: str = "") -> None:
        """Show the window at a page; ``at`` names a part of it, see ``SettingsPage.show_at``."""
        self.list.choose(key)
        self.pages[key].show_at(at)
        self.show()
        self.raise_()
        self.activateWindow()

    def refresh(self) -> None:
        """Show the current settings; a hidden page does so when it is shown."""
        page = self._stack.currentWidget()
        if isinstance(page, SettingsPage) and page.isVisible():
            page.refresh()

    async def aclose(self) -> None:
        """Close, and wait until everything is saved."""
        self.close()
        await self._tasks.aclose()

    def _changed(self, page: SettingsPage) -> None:
        self._message.hide()
        self._tasks.start(self._save(page))
        if not page.affects_server:
            self.changed.emit()

    async def _save(self, page: SettingsPage) -> None:
        await self._file.save()
        if page.affects_server:
            self.server_changed.emit()

    def _show_problem(self, text: str) -> None:
        self._message.show_text(tr_engine(text))

    def closeEvent(self, event: QCloseEvent) -> None:
        focused = self.focusWidget()
        if focused is not None:
            focused.clearFocus()  # ends the editing of a field, so that its text is saved
        super().closeEvent(event)

    def paintEvent(self, event: QPaintEvent) -> None:
        painter = QPainter(self)
        painter.fillRect(self.rect(), self.theme.color("surface"))
        wide = self.theme.px(LIST_WIDTH)
        side = QRectF(self.width() - wide if self.isRightToLeft() else 0, 0, wide, self.height())
        painter.fillRect(side, self.theme.color("window"))
        painter.end()
