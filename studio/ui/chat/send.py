"""What the person typed, on its way to the agent; it is not lost before it is there."""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine, Sequence
from typing import TYPE_CHECKING, Any, Protocol

from PySide6.QtCore import SignalInstance

from studio.domain.errors import StudioError

from .composer import Composer
from .external_changes import ExternalChanges
from .recovery import RecoveryActions
from .session_options import SessionOptions
from .turn_runner import TurnRunner

if TYPE_CHECKING:  # all this comes after the first paint
    from studio.agent.engine import Engine
    from studio.agent.session.session import Session
    from studio.domain.blocks import ToolBlock
    from studio.ui.transcript import TranscriptView

    from .attachment_chip import Attachment


class Page(Protocol):
    """What sending needs of the chat page."""

    session: Session | None
    composer: Composer
    choices: SessionOptions
    ways: RecoveryActions
    following: ExternalChanges

    def open(self, session: Session) -> None: ...
    def later(self, work: Coroutine[Any, Any, Any]) -> asyncio.Task[Any]: ...
    @property
    def view(self) -> TranscriptView: ...
    @property
    def session_changed(self) -> SignalInstance: ...
    @property
    def trouble(self) -> SignalInstance: ...


class MessageSender:
    """Begins turns; the first one makes the session."""

    def __init__(self, page: Page) -> None:
        self._page = page
        self._studio: Engine | None = None
        self._runs: TurnRunner | None = None

    def live(self, studio: Engine, runs: TurnRunner) -> None:
        self._studio, self._runs = studio, runs

    def say(self, text: str) -> None:
        """Send words, as if typed."""
        self._page.later(self._send(text))

    def sent(self, text: str) -> None:
        """The person sent what is in the composer."""
        page, session = self._page, self._page.session
        if session is not None and session.running:
            asking = _asking(session)
            if asking is not None and text:
                session.answer_question(asking.call_id, text)
                page.composer.clear()
                return
            for question in session.transcript.questions:
                session.answer_permission(question.id, "deny")
            session.stop()  # words instead of an answer: no to the question, and a new turn
        editing, attached = page.ways.editing, page.composer.attachments.take()
        page.composer.clear()
        page.composer.set_state("running")
        page.later(self._send(text, editing, attached))

    async def _send(
        self, text: str, editing: str = "", attached: Sequence[Attachment] = ()
    ) -> None:
        """Begin a turn; whatever stands in its way, the words and files are not lost.

        Words that replace those of the turn ``editing`` go to a new chat.
        """
        try:
            if editing:
                await self._page.ways.edited(editing)
            await self._begin_turn(text, attached)
        except StudioError as error:
            self._give_back(text, attached)
            self._page.trouble.emit(str(error))

    async def _begin_turn(self, text: str, attached: Sequence[Attachment]) -> None:
        from studio.domain.messages import Text

        page, studio, runs = self._page, self._studio, self._runs
        if studio is None or runs is None:
            self._give_back(text, attached)
            return
        await page.following.ensure_free()
        session = page.session or await self._begin_session(studio)
        page.composer.set_state("running")
        page.view.scroll_to_end()
        words = [Text(text)] if text else []
        runs.start(session, [*(one.block for one in attached), *words])
        page.session_changed.emit()

    async def _begin_session(self, studio: Engine) -> Session:
        """The session of a new chat, on screen; another one if that was opened meanwhile."""
        page, choices = self._page, self._page.choices
        await choices.found()
        if page.session is not None:
            return page.session
        session = await studio.sessions.create(
            folder=choices.folder,
            agent=choices.agent,
            provider=choices.provider,
            model=choices.model_id,
            permission_mode=choices.mode,
            model_chosen=choices.model_chosen,
        )
        if choices.effort is not None:
            await session.change(effort=choices.effort)
        choices.keep_mode(session.info.id)
        page.open(session)
        await choices.remember_folder()
        return session

    def _give_back(self, text: str, attached: Sequence[Attachment]) -> None:
        composer = self._page.composer
        composer.set_state("idle")
        composer.set_text(text)
        composer.attachments.put_back(attached)


def _asking(session: Session) -> ToolBlock | None:
    """The call that waits for the person's words, if one does."""
    from studio.domain.blocks import ToolBlock

    for block in reversed(session.transcript.blocks):
        if isinstance(block, ToolBlock) and block.state == "waiting" and block.asks:
            return block if block.reply is None else None
    return None
