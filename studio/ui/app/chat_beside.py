"""Chat beside: the window's chat at the right of a page that it is about, or led to."""

from __future__ import annotations

from PySide6.QtCore import Qt, Signal
from PySide6.QtGui import QResizeEvent
from PySide6.QtWidgets import QSplitter, QWidget

from studio.ui.chat.page import ChatPage
from studio.ui.pages.page import Page
from studio.ui.theme import Theme
from studio.ui.widgets import Label

from .page_stack import PageStack

CHAT_WIDTH = 420
LEAST_CHAT, LEAST_PAGE = 360, 600
"""Pixels at normal text: in a window without room for both, the page stands alone."""


class ChatBeside(QSplitter):
    """Holds the pages, and beside a page with a subject the chat about it (KZ-47).

    The window has one chat: alone it is one of the pages, else it stands here. Which chat that is
    changes when another page or subject comes on screen, not while the person looks at one. A chat
    whose source led to a page stands beside it, whatever they are about (KZ-48).
    """

    alone_wanted = Signal()
    """The person wants the chat in place of the page."""
    about_wanted = Signal(str, str)
    """The chat about a subject is to stand here: its address, and the agent of a new one."""
    about_alone_wanted = Signal(str, str)
    """The same in place of the page, beside which there is no room for it."""

    def __init__(self, theme: Theme, pages: PageStack, chat: ChatPage, parent: QWidget) -> None:
        super().__init__(Qt.Orientation.Horizontal, parent)
        self._theme, self._pages, self._chat = theme, pages, chat
        self.wanted = True
        """Whether the person wants the chat beside pages; they can close it."""
        self.chat_width = CHAT_WIDTH
        """As the person dragged it, at normal text."""
        self._subject = ""
        """What the chat that stands here was wanted to be about; empty for one that was kept."""
        self.setHandleWidth(1)
        self.setChildrenCollapsible(False)
        self.addWidget(pages)
        self.setStretchFactor(0, 1)
        self.splitterMoved.connect(self._dragged)
        pages.currentChanged.connect(self.follow)
        pages.subject_shown.connect(self.follow)
        pages.chat_beside_wanted.connect(self._show_wanted)
        theme.changed.connect(self.follow)
        chat.header.close_chat.clicked.connect(self._close)
        chat.header.alone.clicked.connect(self.alone_wanted)
        chat.composer.editor.escaped.connect(self._escape)

    @property
    def shown(self) -> bool:
        """Whether the chat stands beside a page."""
        return self._chat.beside

    @property
    def roomy(self) -> bool:
        return self.width() >= self._theme.px(LEAST_CHAT) + self._theme.px(LEAST_PAGE)

    @property
    def _page(self) -> Page | None:
        """The page on screen; None for the chat alone."""
        page = self._pages.currentWidget()
        return page if isinstance(page, Page) else None

    def follow(self) -> None:
        """Show or hide the chat, as the page on screen, the room and the person want it."""
        page = self._page
        goes = page is not None and (bool(page.subject) or page.keeps_chat)
        shown = goes and self.wanted and self.roomy
        if shown != self.shown:
            self._place(shown)
        if shown:
            self._arrange()
        about = page.subject if page is not None and shown and not page.keeps_chat else ""
        before, self._subject = self._subject, about
        if page is None:
            return
        page.chat_shown(shown)
        if about and about != before:
            self.about_wanted.emit(about, page.agent)

    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        self.follow()

    def _place(self, shown: bool) -> None:
        chat = self._chat
        chat.setMinimumWidth(self._theme.px(LEAST_CHAT) if shown else 0)
        chat.set_beside(shown)
        if shown:
            self.addWidget(chat)
            chat.show()
        else:
            self._pages.take_chat()
        for label in chat.findChildren(Label):
            label.dress()

    def _arrange(self) -> None:
        most = self.width() - self._theme.px(LEAST_PAGE)
        wide = min(self._theme.px(self.chat_width), most)
        self.setSizes([self.width() - wide - self.handleWidth(), wide])

    def _dragged(self, position: int, index: int) -> None:
        if self.shown:
            self.chat_width = round(self._chat.width() / self._theme.scale)

    def _close(self) -> None:
        """Leave the page alone, until the person wants the chat beside it again."""
        self.wanted = False
        self.follow()
        self._focus_page()

    def _show_wanted(self) -> None:
        """Show the chat about the page on screen, and give it the keyboard."""
        page = self._page
        if page is None or not page.subject:
            return
        self.wanted, page.keeps_chat = True, False
        self.follow()
        if self.shown:
            self._chat.composer.setFocus()
        else:
            self.about_alone_wanted.emit(page.subject, page.agent)

    def _escape(self) -> None:
        """Escape in the message, where no turn is to be stopped: back to the page."""
        if self.shown and self._chat.model.input.state not in ("running", "waiting"):
            self._focus_page()

    def _focus_page(self) -> None:
        if (page := self._page) is not None:
            (page.focusWidget() or page).setFocus(Qt.FocusReason.OtherFocusReason)
