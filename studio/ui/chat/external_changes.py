"""The chat on screen while another program goes on with it."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Literal, Protocol

from studio.domain.errors import ConfigurationError

if TYPE_CHECKING:  # all this comes after the first paint
    from studio.agent.engine import Engine
    from studio.agent.session.session import Session
    from studio.domain.permissions import Answer


class Page(Protocol):
    """What following needs of the chat page."""

    session: Session | None

    def show_again(self, session: Session) -> None: ...


class ExternalChanges:
    """``state`` says whether another program works in the chat, or has gone on with it.

    ``looked`` is called each time that is known anew.
    """

    def __init__(self, page: Page, looked: Callable[[], None]) -> None:
        self._page, self._looked = page, looked
        self._studio: Engine | None = None
        self.state: Literal["", "working", "went_on"] = ""

    def live(self, studio: Engine) -> None:
        self._studio = studio

    def leave(self) -> None:
        """Another chat comes on screen, or this one goes on here."""
        self.state = ""

    async def refresh(self) -> None:
        """Show the chat as it is stored now, if another program has changed it."""
        page, studio, session = self._page, self._studio, self._page.session
        if studio is None or session is None or session.running:
            return
        fresh = await studio.sessions.open(session.info.id)
        working = await studio.store.running_elsewhere(session.info.id)
        if page.session is not session or session.running:
            return
        before = self.state
        if fresh is not session:
            page.show_again(fresh)
        if working:
            self.state = "working"
        elif fresh is not session or before:
            self.state = "went_on"
        self._looked()

    async def ensure_free(self) -> None:
        """See to it that a turn can begin here; raises ConfigurationError while none can."""
        await self.refresh()
        if self.state == "working":
            raise ConfigurationError(
                "Another window or terminal is working in this chat. Wait for it."
            )

    async def answer(self, question_id: str, answer: Answer) -> None:
        """Answer a question of another program that stands in this chat."""
        studio, session = self._studio, self._page.session
        if studio is None or session is None:
            return
        for asked in await studio.questions.waiting():
            if asked.session_id == session.info.id and asked.question.id == question_id:
                await studio.questions.answer(asked.id, "deny" if answer == "deny" else "once")
