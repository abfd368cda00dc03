"""Transcript requests: what a person asks for in the transcript, and the pane has to show or open.

What the model does alone, such as answering a question, goes to ``model.actions`` at once.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, assert_never

from PySide6.QtCore import QObject, QRect, QRectF, QTimer, QUrl, Signal
from PySide6.QtGui import QDesktopServices

from studio.domain.pack_addresses import pack_of
from studio.ui.theme import Theme
from studio.ui.transcript.model import RecoveryAction
from studio.ui.transcript.view import TranscriptView
from studio.ui.translation import tr

from .composer import Composer
from .file_viewer import FileViewer
from .model.chat_model import ChatModel
from .option_menus import OptionMenus

if TYPE_CHECKING:
    from studio.agent.session.session import Session
    from studio.domain.messages import File, Image
    from studio.ui.widgets.thumbnails import LocalPicture


class TranscriptRequests(QObject):
    """Listens to the actions of a transcript; the window does what the signals say."""

    open_wanted = Signal(str)
    """The id of a session that the person wants to see."""
    source_wanted = Signal(str)
    """The address of a thing of a pack."""
    link_wanted = Signal(str, int)
    """The id of a session and a block of it, to which a link is copied."""
    settings_wanted = Signal(str, str)
    draft_wanted = Signal(str, str)
    """The ids of a session and of a draft whose conflict is to be shown."""
    trouble = Signal(str)

    def __init__(
        self,
        theme: Theme,
        model: ChatModel,
        view: TranscriptView,
        composer: Composer,
        menus: OptionMenus,
        viewer: FileViewer,
    ) -> None:
        super().__init__(view)
        self._theme, self._model, self._view = theme, model, view
        self._composer, self._menus, self._viewer = composer, menus, viewer
        self._kept_place: tuple[str, float, int | None, bool] | None = None
        """The version that is coming, and where the transcript stays.

        Scroll, focused item, and whether keys brought the focus there.
        """
        wanted, actions = view.item_actions, model.actions
        wanted.permission_answered.connect(actions.answer_permission)
        wanted.reply_given.connect(actions.answer_question)
        wanted.files_action.connect(actions.undo_files)
        wanted.call_action.connect(actions.change_call)
        wanted.pin_wanted.connect(actions.pin)
        wanted.draft_action.connect(self._draft)
        wanted.recovery_wanted.connect(self._recover)
        wanted.turn_action.connect(self._message_action)
        wanted.link_activated.connect(self._open_link)
        wanted.file_opened.connect(lambda part: model.run(self._open_file(part)))
        wanted.drag_wanted.connect(lambda part: model.run(self._drag(part)))
        wanted.child_action.connect(self._child)
        wanted.path_opened.connect(self._open_path)
        wanted.output_opened.connect(self._open_output)
        wanted.summary_action.connect(self._summary)
        wanted.link_wanted.connect(self._copy_link)
        wanted.retry_wanted.connect(self._choose_retry)
        wanted.version_wanted.connect(self._show_version)
        wanted.left.connect(composer.setFocus)
        wanted.typed.connect(composer.editor.go_on)

    def _recover(self, action: RecoveryAction) -> None:
        """Do what a button of an error, a wait or an end stands for."""
        recovery = self._model.recovery
        match action:
            case RecoveryAction.TRY_AGAIN | RecoveryAction.GO_ON:
                recovery.retry()
            case RecoveryAction.GO_ON_BACKGROUND:
                recovery.retry("background")
            case RecoveryAction.CONTINUE:
                self._model.input.send_text("Continue.")
            case RecoveryAction.TRY_NOW:
                recovery.try_now()
            case RecoveryAction.STOP:
                self._model.stop()
            case RecoveryAction.REMOVE_FROM_QUEUE:
                recovery.take_back()
                self._composer.setFocus()
            case RecoveryAction.RAISE_CAP:
                recovery.raise_cap()
            case RecoveryAction.COMPACT:
                recovery.compact()
            case RecoveryAction.NEW_CHAT_FROM_HERE:
                recovery.branch(compact=True)
            case (
                RecoveryAction.CHOOSE_MODEL
                | RecoveryAction.SWITCH_MODEL
                | RecoveryAction.USE_ANOTHER_PROVIDER
            ):
                self._composer.model.open()
            case RecoveryAction.CHOOSE_FOLDER:
                self._menus.choose_folder()
            case RecoveryAction.REPLACE_KEY:
                self.settings_wanted.emit("providers", self._model.options.provider)
            case RecoveryAction.SETTINGS:
                self.settings_wanted.emit("budgets", recovery.limit_setting)
            case _:
                assert_never(action)

    def _message_action(self, turn_id: str, action: str) -> None:
        if action == "branch":
            self._model.recovery.branch_after(turn_id)
        elif self._model.recovery.edit(turn_id):
            self._composer.setFocus()

    def _show_version(self, session_id: str) -> None:
        """Show another version, scrolled to the same message; before it the two are the same."""
        viewport = self._view.canvas_viewport
        index = viewport.focus.index(viewport.canvas)
        by_keys = viewport.focus.keyboard
        self._kept_place = (session_id, viewport.scroller.value, index, by_keys)
        self._model.versions.show(session_id)

    def keep_place(self, session_id: str) -> bool:
        """Whether the chat was shown as another version of what was on screen."""
        place, self._kept_place = self._kept_place, None
        if place is None or place[0] != session_id:
            return False
        _, value, index, by_keys = place
        viewport = self._view.canvas_viewport
        viewport.scroll_to(value)
        if index is not None and index < len(viewport.canvas.items):
            viewport.focus.item = viewport.canvas.items[index]
            viewport.focus.keyboard = by_keys and self._view.hasFocus()
        return True

    def _copy_link(self, block: int) -> None:
        if self._model.session is not None:
            self.link_wanted.emit(self._model.session.info.id, block)

    def _choose_retry(self, turn_id: str, at: QRectF) -> None:
        """Let the person choose the model that answers a message again, beside a place."""
        rect = at.toRect()
        place = QRect(self._view.viewport().mapToGlobal(rect.topLeft()), rect.size())
        self._menus.choose_retry(
            place, lambda *model: self._model.recovery.answer_again(turn_id, *model)
        )

    def _draft(self, draft_id: str, action: str) -> None:
        if self._model.session is None:
            return
        if action == "edit":
            self._model.run(self._edit_draft(self._model.session, draft_id))
        elif action in ("resolve", "show"):
            self.draft_wanted.emit(self._model.session.info.id, draft_id)
        elif action in ("approve", "discard", "undo"):
            self._model.actions.decide_draft(draft_id, action)

    async def _edit_draft(self, session: Session, draft_id: str) -> None:
        from .dialogs import edit_draft

        if (draft := session.drafts.get(draft_id)) is None:
            return
        if (text := await edit_draft(self._theme, draft, self._view)) is not None:
            await session.review.edit(draft_id, text)

    def _summary(self, summary_id: str, action: str) -> None:
        if action == "undo":
            self._model.actions.undo_summary(summary_id)
        elif self._model.session is not None:
            self._model.run(self._edit_summary(self._model.session, summary_id))

    async def _edit_summary(self, session: Session, summary_id: str) -> None:
        from .dialogs import edit_text

        block = self._model.actions.summary(summary_id)
        if block is None:
            return
        text = await edit_text(
            self._theme,
            block.text,
            self._view,
            title=tr("Edit summary"),
            name=tr("Summary"),
            keep=tr("Keep"),
            code=False,
        )
        if text is not None and text != block.text:
            await session.context.edit_summary(summary_id, text)

    async def _open_file(self, part: Image | File | LocalPicture) -> None:
        if not await self._viewer.open(part):
            self.trouble.emit(tr("There is no program to open this file with."))

    async def _drag(self, part: Image | File | LocalPicture) -> None:
        """Make the file that is dragged out of the transcript, and go on with the mouse."""
        if (lent := await self._viewer.lend(part)) is not None:
            # Later: the loop of a drag runs in this one, and no task may wait in it.
            QTimer.singleShot(0, self._view, lambda: self._view.drag(*lent))

    def _open_link(self, url: str) -> None:
        if url.startswith(("https://", "http://", "mailto:")):
            QDesktopServices.openUrl(QUrl(url))
        elif pack_of(url):
            self.source_wanted.emit(url)

    def _open_path(self, path: str) -> None:
        """Have the system show a file of the chat's folder."""
        if self._model.session is not None:
            self._model.run(self._show_path(self._model.session.info.folder, path))

    def _child(self, session_id: str, action: str) -> None:
        """Open the chat of an agent that works for this one, or end it."""
        if action == "open_chat":
            self.open_wanted.emit(session_id)
        else:
            self._model.actions.stop_child(session_id)

    def _open_output(self, name: str) -> None:
        """Have the system show the whole of an output, which is kept beside the chat."""
        if self._model.session is not None and self._model.engine is not None:
            kept = self._model.engine.services.spill(self._model.session.info.id)
            self._model.run(self._show_path(str(kept), name))

    async def _show_path(self, folder: str, path: str) -> None:
        if problem := await self._viewer.show(folder, path):
            self.trouble.emit(problem)
