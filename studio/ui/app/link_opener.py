"""Link opener: goes to what a link to the program leads to, and copies links to messages."""

from __future__ import annotations

from typing import TYPE_CHECKING

from PySide6.QtGui import QGuiApplication
from PySide6.QtWidgets import QMessageBox

from studio.domain.pack_addresses import pack_of
from studio.processes.daemon_thread import in_daemon_thread
from studio.ui.chat.page import ChatPage
from studio.ui.translation import tr
from studio.ui.widgets import message_box

from .banner import Banner
from .navigation import Navigation
from .page_stack import PageStack
from .settings_controller import SettingsController

if TYPE_CHECKING:
    from .links import ChatLink

SHOWN_TEXT = 600
"""Characters that are shown of a text that a link brings."""


class LinkOpener:
    """Says in ``banner`` where a link leads nowhere."""

    def __init__(
        self,
        chat: ChatPage,
        pages: PageStack,
        navigation: Navigation,
        preferences: SettingsController,
        banner: Banner,
    ) -> None:
        self._chat, self._pages, self._navigation = chat, pages, navigation
        self._preferences, self._banner = preferences, banner

    async def follow(self, text: str) -> None:
        """Show what a link leads to."""
        from studio.ui.settings.registry import PAGES

        from .links import ChatLink, NewChatLink, SettingsLink, SourceLink, read_link

        match read_link(text):
            case ChatLink() as link:
                await self._follow_to_chat(link)
            case NewChatLink(given):
                self._offer_text(given)
            case SourceLink(address):
                await self.open_source(address)
            case SettingsLink(page) if any(entry.key == page for entry in PAGES):
                self._preferences.open(page)
            case _:
                self._banner.say(tr("This link leads nowhere in Agent Studio."))

    async def open_source(self, address: str, *, from_chat: bool = False) -> None:
        """Show the page of a pack with what an address leads to (KZ-8).

        ``from_chat``: it stands in the chat on screen, which may stay beside the page.
        """
        assert self._navigation.engine is not None
        packs = self._navigation.engine.services.packs
        found = (await in_daemon_thread(lambda: packs.resolve([address]))).get(address)
        if found is None:
            self._banner.say(tr("{address} leads nowhere now.").format(address=address))
        elif found.page:
            show = self._pages.show_source if from_chat else self._pages.show_page
            show(f"pack:{pack_of(address)}/{found.page}", *found.target)

    def copy(self, session_id: str, block: int) -> None:
        """Copy a link to a block of a chat."""
        from .links import ChatLink

        QGuiApplication.clipboard().setText(str(ChatLink(session_id, block)))

    async def _follow_to_chat(self, link: ChatLink) -> None:
        assert self._navigation.engine is not None
        if await self._navigation.engine.store.get(link.chat) is None:
            words = tr("The chat of this link is not here. It may have been deleted.")
            self._banner.say(words)
            return
        await self._navigation.open_now(link.chat)
        if link.block is not None and not self._chat.show_block(link.block):
            self._banner.say(tr("The message of this link is not in the chat."))

    def _offer_text(self, text: str) -> None:
        """Begin a new chat, with a stranger's text only if the person wants it there."""
        self._navigation.new_chat()
        if not text:
            return
        box = message_box(
            self._chat,
            tr("Text of a link"),
            tr("A link brings this text for a new chat. It is not sent."),
            text if len(text) <= SHOWN_TEXT else f"{text[:SHOWN_TEXT]}…",
        )
        take = box.addButton(tr("Use the text"), QMessageBox.ButtonRole.AcceptRole)
        box.setDefaultButton(box.addButton(QMessageBox.StandardButton.Cancel))
        take.clicked.connect(lambda: self._chat.composer.set_text(self._joined(text)))
        box.open()

    def _joined(self, text: str) -> str:
        """What is written already, and then a text."""
        written = self._chat.composer.text
        return f"{written}\n{text}" if written else text
