"""What stands in the middle of the window: the chat, and pages made when they are first wanted."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine
from typing import TYPE_CHECKING, Any, TypeVar

from PySide6.QtCore import Signal
from PySide6.QtWidgets import QStackedWidget, QWidget

from studio.ui.chat.page import ChatPage
from studio.ui.sidebar.sidebar import Sidebar
from studio.ui.theme import Theme

if TYPE_CHECKING:
    from studio.agent.engine import Engine
    from studio.agent.session.session import Session

_Page = TypeVar("_Page", bound=QWidget)


class PageStack(QStackedWidget):
    """Shows one of them, and marks it in the sidebar; before ``live`` only the chat.

    ``later`` runs a coroutine on the event loop.
    """

    open_wanted = Signal(str)
    """The id of a chat that a page names."""
    keys_wanted = Signal()
    decided = Signal()
    """A draft was decided."""

    def __init__(
        self,
        theme: Theme,
        chat: ChatPage,
        sidebar: Sidebar,
        later: Callable[[Coroutine[Any, Any, Any]], asyncio.Task[Any] | None],
    ) -> None:
        super().__init__()
        self._theme, self._chat, self._sidebar, self._later = theme, chat, sidebar, later
        self._studio: Engine | None = None
        self.addWidget(chat)

    def set_studio(self, studio: Engine) -> None:
        self._studio = studio

    @property
    def shows_chat(self) -> bool:
        return self.currentWidget() is self._chat

    def show_chat(self) -> None:
        """The chat that is open, or the new one."""
        self.setCurrentWidget(self._chat)
        self.mark_chat()

    def mark_chat(self) -> None:
        """Mark the chat in the sidebar, if it is on screen."""
        session = self._chat.session
        if not self.shows_chat:
            return
        if session is None:
            self._sidebar.select_page("new")
        else:
            self._sidebar.select(session.info.id)

    def show_welcome(self, begun: Callable[[], None]) -> None:
        """The first page of all; ``begun`` is called when there is something to begin with."""
        from studio.ui.pages.first_run import FirstRunController

        assert self._studio is not None
        welcome = FirstRunController(self._theme, self._studio, self._chat, self._later)
        welcome.begun.connect(begun)
        welcome.show(self)

    def show_page(self, name: str) -> None:
        """``agents``, ``workflows`` or ``drafts``."""
        from studio.ui.pages.agents import AgentsPage

        if name == "drafts":
            self.show_drafts()
            return
        if (studio := self._studio) is None:
            return
        page = self._page(AgentsPage, lambda: AgentsPage(self._theme, studio))
        self._turn_to(page, name)
        self._later(page.show_place(name))

    def show_drafts(self, session_id: str = "", draft_id: str = "") -> None:
        """The page of drafts, with one of them chosen if it is named."""
        from studio.ui.pages.drafts import DraftsPage

        if (studio := self._studio) is None:
            return

        def make() -> DraftsPage:
            made = DraftsPage(self._theme, studio, self._later)
            made.open_wanted.connect(self.open_wanted)
            made.keys_wanted.connect(self.keys_wanted)
            made.decided.connect(self.decided)
            return made

        page = self._page(DraftsPage, make)
        self._turn_to(page, "drafts")
        page.list.setFocus()
        page.refresh((session_id, draft_id) if draft_id else None)

    async def drafts_changed(self, session: Session) -> None:
        """A draft of ``session`` came or was decided: the page of drafts, if shown, shows it."""
        from studio.ui.pages.drafts import DraftsPage

        page = self.currentWidget()
        if isinstance(page, DraftsPage):
            await session.flush()  # the list is made of what is stored
            page.refresh()

    def show_audit(self) -> None:
        from studio.ui.pages.audit import AuditPage

        if (studio := self._studio) is None:
            return

        def make() -> AuditPage:
            made = AuditPage(self._theme, studio, self._later)
            made.open_wanted.connect(self.open_wanted)
            return made

        page = self._page(AuditPage, make)
        self._turn_to(page, "audit")
        page.field.setFocus()
        page.refresh()

    def _page(self, kind: type[_Page], make: Callable[[], _Page]) -> _Page:
        """The page of a kind, there is one of each."""
        for index in range(self.count()):
            page = self.widget(index)
            if isinstance(page, kind):
                return page
        made = make()
        self.addWidget(made)
        return made

    def _turn_to(self, page: QWidget, name: str) -> None:
        self.setCurrentWidget(page)
        self._sidebar.select_page(name)
