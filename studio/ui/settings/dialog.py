"""The settings window: a list of pages at the left, the page at the right."""

from __future__ import annotations

from collections.abc import Sequence

from PySide6.QtCore import QRectF, QSize, QTimer, Signal
from PySide6.QtGui import QCloseEvent, QPainter, QPaintEvent, QShowEvent
from PySide6.QtWidgets import (
    QApplication,
    QDialog,
    QHBoxLayout,
    QStackedWidget,
    QVBoxLayout,
    QWidget,
)

from studio.ui.theme import Theme
from studio.ui.widgets import Column, Hairline, Label

from . import registry
from .form import SettingsPage
from .page_list import PageList
from .registry import PageEntry, SettingsServices

LIST_WIDTH = 196
LEAST = QSize(720, 420)


class SettingsDialog(QDialog):
    """Not modal; changes apply at once and are saved.

    ``pages`` are those of the registry, or else some of them.
    """

    changed = Signal()
    """A setting is another one now."""
    server_changed = Signal()
    """A setting of the server is another one now, and is saved."""

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
        self.setWindowTitle("Settings")
        self.setModal(False)
        self.setMinimumSize(LEAST)
        self._scale = theme.scale
        self.resize(QSize(theme.px(880), theme.px(620)).boundedTo(self._room))
        row = QHBoxLayout(self)
        row.setContentsMargins(0, 0, 0, 0)
        row.setSpacing(0)

        left = Column(theme, LIST_WIDTH)
        listed = QVBoxLayout(left)
        listed.setContentsMargins(10, 8, 9, 8)
        self.list = PageList(theme)
        self.list.chosen.connect(self._show_page)
        listed.addWidget(self.list)
        row.addWidget(left)
        row.addWidget(Hairline(theme, upright=True))
        right = QVBoxLayout()
        right.setSpacing(0)
        row.addLayout(right, 1)
        self._stack = QStackedWidget()
        right.addWidget(self._stack, 1)
        self._message = Label(theme, "", "small", "err", wrap=True)
        self._message.setContentsMargins(24, 0, 24, 10)
        self._message.hide()
        right.addWidget(self._message)

        self.pages: dict[str, SettingsPage] = {}
        for entry in registry.PAGES if pages is None else pages:
            self._add(entry, services)
        self.list.choose("general")
        theme.changed.connect(self._follow)
        app = QApplication.instance()
        assert isinstance(app, QApplication)
        app.focusChanged.connect(self._focus_moved)

    @property
    def _room(self) -> QSize:
        """What there is of the screen."""
        return self.screen().availableSize() * 0.95

    def _follow(self) -> None:
        if self._scale != self.theme.scale:
            grown = self.size() * (self.theme.scale / self._scale)
            self._scale = self.theme.scale
            self.resize(grown.boundedTo(self._room))
            QTimer.singleShot(0, self, self._fit)  # when the pages have measured themselves
        self.update()

    def _fit(self) -> None:
        """Never narrower than the widest page, where the screen is not."""
        widest = max(page.inner.minimumSizeHint().width() for page in self.pages.values())
        least = max(LEAST.width(), self.theme.px(LIST_WIDTH) + 1 + widest)
        self.setMinimumWidth(min(least, self._room.width()))

    def showEvent(self, event: QShowEvent) -> None:
        super().showEvent(event)
        self._fit()

    def _add(self, entry: PageEntry, services: SettingsServices) -> None:
        page = self.pages[entry.key] = entry.load()(self.theme, services)
        page.changed.connect(lambda: self._changed(page))
        page.page_wanted.connect(self.list.choose)
        self._stack.addWidget(page)
        self.list.add(entry.key, page.title, entry.icon)

    def _show_page(self, key: str) -> None:
        self._stack.setCurrentWidget(self.pages[key])

    def _focus_moved(self, _old: QWidget | None, now: QWidget | None) -> None:
        page = self._stack.currentWidget()
        if isinstance(page, SettingsPage) and now is not None and page.isAncestorOf(now):
            page.reveal(now)

    def open_page(self, key: str = "general", at: str = "") -> None:
        """Show the window at a page; ``at`` names what on it is wanted."""
        self.list.choose(key)
        self.pages[key].show_at(at)
        self.show()
        self.raise_()
        self.activateWindow()

    def refresh(self) -> None:
        """Show the settings as they are now; a page that is hidden does when it is shown."""
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
        self._message.setText(text)
        self._message.show()

    def closeEvent(self, event: QCloseEvent) -> None:
        focused = self.focusWidget()
        if focused is not None:
            focused.clearFocus()  # a field that is being edited says so
        super().closeEvent(event)

    def paintEvent(self, event: QPaintEvent) -> None:
        painter = QPainter(self)
        painter.fillRect(self.rect(), self.theme.color("surface"))
        left = QRectF(0, 0, self.theme.px(LIST_WIDTH), self.height())
        painter.fillRect(left, self.theme.color("window"))
        painter.end()
