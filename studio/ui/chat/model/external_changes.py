"""External changes: the open chat while another program continues it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

from studio.domain.errors import ConfigurationError

from .open_chat import Change, OpenChat

if TYPE_CHECKING:  # all this comes after the first paint
    from studio.domain.permissions import Answer


class ExternalChanges:
    """Notices that another program works in the chat (``state``), and shows what it did."""

    def __init__(self, chat: OpenChat) -> None:
        self._chat = chat
        self.state: Literal["", "working", "went_on"] = ""
        chat.subscribe(self._changed, "chat", "turn")

    def _changed(self, change: Change) -> None:
        self.state = ""

    async def refresh(self) -> None:
        """Show the chat as it is stored now, if another program has changed it."""
        chat, engine, session = self._chat, self._chat.engine, self._chat.session
        if engine is None or session is None or session.running:
            return
        fresh = await engine.sessions.open(session.info.id)
        working = await engine.store.running_elsewhere(session.info.id)
        if chat.session is not session or session.running:
            return
        before = self.state
        if fresh is not session:
            chat.show(fresh, reloaded=True)
        if working:
            self.state = "working"
        elif fresh is not session or before:
            self.state = "went_on"
        chat.notify("status")

    async def ensure_free(self) -> None:
        """Raise ConfigurationError while another program works in the chat."""
        await self.refresh()
        if self.state == "working":
            raise ConfigurationError(
                "Another window or terminal is working in this chat. Wait for it."
            )

    async def answer(self, question_id: str, answer: Answer) -> None:
        """Answer a permission question that another program asks in this chat."""
        engine, session = self._chat.engine, self._chat.session
        if engine is None or session is None:
            return
        for asked in await engine.questions.waiting():
            if asked.session_id == session.info.id and asked.question.id == question_id:
                await engine.questions.answer(asked.id, "deny" if answer == "deny" else "once")
