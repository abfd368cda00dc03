"""Chat actions: what the menus and commands do with the chat on screen, while it can be done."""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from PySide6.QtCore import QObject
from PySide6.QtWidgets import QFileDialog

from studio.ui.chat.page import ChatPage
from studio.ui.formatting import short_path
from studio.ui.translation import tr, tr_plural

from .actions import Action, WindowActions

if TYPE_CHECKING:
    from studio.agent.engine import Engine


class ChatActions(QObject):
    """Carries the actions out, and offers each only where it does something.

    ``show_chat`` brings the chat to the front, whose menus some of them open.
    """

    def __init__(self, page: ChatPage, show_chat: Callable[[], object]) -> None:
        super().__init__(page)
        self._page, self._model, self._show_chat = page, page.model, show_chat
        self._actions: WindowActions | None = None
        self.dialog: QFileDialog | None = None
        """Where a chat is exported to, while that is being asked."""

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
            Action.EXPORT_CHAT: self._choose_file,
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

    # Export

    def _choose_file(self) -> None:
        session, engine = self._model.session, self._model.engine
        if session is None or engine is None:
            return
        title = re.sub(r"[^\w -]+", " ", session.info.title or tr("New chat")).strip()
        dialog = QFileDialog(self._page.window(), tr("Export"), str(Path.home() / f"{title}.md"))
        dialog.setAcceptMode(QFileDialog.AcceptMode.AcceptSave)
        dialog.setNameFilters(
            [
                tr("Markdown ({pattern})").format(pattern="*.md"),
                tr("JSON ({pattern})").format(pattern="*.json"),
            ]
        )
        dialog.filterSelected.connect(
            lambda chosen: dialog.setDefaultSuffix("json" if "*.json" in chosen else "md")
        )
        dialog.setDefaultSuffix("md")
        dialog.fileSelected.connect(
            lambda path: self._model.run(self._export(engine, session.info.id, Path(path)))
        )
        self.dialog = dialog
        dialog.finished.connect(self._forget_dialog)
        dialog.open()

    def _forget_dialog(self) -> None:
        if self.dialog is not None:
            self.dialog.deleteLater()
            self.dialog = None

    async def _export(self, engine: Engine, session_id: str, path: Path) -> None:
        from studio.agent.chat_files import export_chats

        form = "json" if path.suffix == ".json" else "md"
        await export_chats(engine, [session_id], form, path, lambda _done, _all: None)
        self._page.trouble.emit(
            tr_plural(
                "{count} chat is in {file}",
                "{count} chats are in {file}",
                1,
                file=short_path(str(path)),
            )
        )
