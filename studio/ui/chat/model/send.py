"""Sender: takes what is typed to the agent; it is not lost before it is there."""

from __future__ import annotations

from typing import TYPE_CHECKING

from studio.domain.errors import ConfigurationError, StudioError

from .external_changes import ExternalChanges
from .message_input import MessageInput, TypedMessage
from .open_chat import OpenChat
from .session_options import SessionOptions

if TYPE_CHECKING:  # all this comes after the first paint
    from studio.agent.engine import Engine
    from studio.agent.session.session import Session
    from studio.domain.blocks import ToolBlock


class MessageSender:
    """Begins turns; the first one makes the session."""

    def __init__(
        self,
        chat: OpenChat,
        message_input: MessageInput,
        options: SessionOptions,
        external: ExternalChanges,
    ) -> None:
        self._chat, self._input = chat, message_input
        self._options, self._external = options, external

    def say(self, text: str) -> None:
        """Send words, as if typed."""
        self._chat.run(self._send(TypedMessage(text, ())))

    def send(self) -> None:
        """Send what is typed: it answers the agent's open question, or begins a turn."""
        session, text = self._chat.session, self._input.text.strip()
        if session is not None and session.running:
            call = _open_question(session)
            if call is not None and text:
                session.answer_question(call.call_id, text)
                self._input.set_text("")
                return
            for question in session.transcript.questions:
                session.answer_permission(question.id, "deny")
            session.stop()  # a message instead of an answer: no to the question, and a new turn
        editing = self._input.editing
        message = self._input.take()
        self._input.set_state("running")
        self._chat.run(self._send(message, editing))

    async def _send(self, message: TypedMessage, editing: str = "") -> None:
        """Begin a turn; whatever stands in its way, the message is not lost.

        A message that replaces that of the turn ``editing`` goes to a new chat.
        """
        try:
            if editing:
                await self._branch_before(editing)
            await self._begin_turn(message)
        except StudioError as error:
            self._input.put_back(message)
            self._chat.report(str(error))

    async def _branch_before(self, turn_id: str) -> None:
        """Open a new chat with all that came before a turn."""
        engine, session = self._chat.engine, self._chat.session
        if engine is None or session is None:
            raise ConfigurationError("The chat to go on from is not there any more.")
        self._chat.show(await engine.sessions.branch(session.info.id, turn_id))

    async def _begin_turn(self, message: TypedMessage) -> None:
        engine = self._chat.engine
        if engine is None:
            self._input.put_back(message)
            return
        await self._external.ensure_free()
        session = self._chat.session or await self._begin_session(engine)
        self._input.set_state("running")
        self._chat.notify("sent")
        self._chat.runner.start(session, message.parts)
        self._chat.notify("session")

    async def _begin_session(self, engine: Engine) -> Session:
        """Make the session of a new chat; another one, if that was opened meanwhile."""
        options = self._options
        await options.found()
        if self._chat.session is not None:
            return self._chat.session
        session = await engine.sessions.create(
            folder=options.folder,
            agent=options.agent,
            provider=options.provider,
            model=options.model_id,
            permission_mode=options.permission_mode,
            model_chosen=options.model_chosen,
        )
        if options.effort is not None:
            await session.change(effort=options.effort)
        options.move_turn_mode(session.info.id)
        self._chat.show(session)
        await options.remember_folder()
        return session


def _open_question(session: Session) -> ToolBlock | None:
    """The call with which the agent asked something that is not answered yet."""
    from studio.domain.blocks import ToolBlock

    for block in reversed(session.transcript.blocks):
        if isinstance(block, ToolBlock) and block.state == "waiting" and block.asks:
            return block if block.reply is None else None
    return None
