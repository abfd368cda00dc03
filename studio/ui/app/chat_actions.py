"""Chat actions: what the menus and commands do with the chat on screen, while it can be done."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

from PySide6.QtCore import QObject

from studio.ui.chat.page import ChatPage
from studio.ui.sidebar.controller import ChatListController

from .actions import Action, WindowActions


class ChatActions(QObject):
    """Carries the actions out, and offers each only where it does something.

    ``show_chat`` brings the chat to the front, whose menus some of them open.
    """

    def __init__(
        self, page: ChatPage, chats: ChatListController, show_chat: Callable[[], object]
    ) -> None:
        super().__init__(page)
        self._page, self._chats, self._model = page, chats, page.model
        self._show_chat = show_chat
        self._actions: WindowActions | None = None

    def handlers(self) -> dict[Action, Callable[[], object]]:
        """What each action does."""
        composer, model = self._page.composer, self._model
        menus = {
            Action.CHOOSE_AGENT: composer.agent,
            Action.CHOOSE_MODEL: composer.model,
            Action.CHOOSE_EFFORT: composer.effort,
            Action.CHOOSE_MODE: composer.mode,
        }
        return {
            **{action: partial(self._open_menu, button.open) for action, button in menus.items()},
            Action.REMOVE_FILES: model.attachments.take,
            Action.BRANCH_CHAT: model.recovery.branch,
            Action.SUMMARISE_CHAT: model.actions.summarise,
            Action.EXPORT_CHAT: self._export,
        }

    def watch(self, actions: WindowActions) -> None:
        """Keep the actions enabled while they can be carried out."""
        self._actions = actions
        self._model.subscribe(
            lambda _: self._enable(),
            "engine", "chat", "state", "turn", "attachments", "options", "summary",
        )  # fmt: skip
        self._enable()

    def _enable(self) -> None:
        assert self._actions is not None
        model, session = self._model, self._model.session
        writes = model.engine is not None and not model.input.closed
        rests = session is not None and not session.transcript.running
        sound = session is not None and rests and not session.damage
        summing = session is not None and model.actions.summarising(session)
        able = {
            Action.REMOVE_FILES: bool(model.attachments.items),
            Action.CHOOSE_AGENT: writes,
            Action.CHOOSE_MODEL: writes,
            Action.CHOOSE_EFFORT: writes and not self._page.composer.effort.isHidden(),
            Action.CHOOSE_MODE: writes,
            Action.BRANCH_CHAT: sound,
            Action.SUMMARISE_CHAT: sound and not summing,
            Action.EXPORT_CHAT: rests,
            Action.FIND: session is not None,
        }
        for action, can in able.items():
            self._actions.by_action[action].setEnabled(can)

    def _open_menu(self, show: Callable[[], object]) -> None:
        self._show_chat()
        show()

    def _export(self) -> None:
        if (session := self._model.session) is not None:
            self._chats.export([session.info.id], "md", session.info.title)
