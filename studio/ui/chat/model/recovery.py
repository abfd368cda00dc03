"""Recovery actions: retry, raise a limit, compact or branch where a chat cannot simply go on."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from studio.ui.formatting import cap_words

from .message_input import MessageInput
from .open_chat import OpenChat

if TYPE_CHECKING:  # all this comes after the first paint
    from studio.agent.session.session import Session
    from studio.domain.agents import Caps, Mode
    from studio.domain.blocks import EndBlock, UserBlock
    from studio.domain.messages import Said


class RecoveryActions:
    """Does what the buttons of errors, waits, ends and of the status strip say."""

    def __init__(self, chat: OpenChat, message_input: MessageInput) -> None:
        self._chat, self._input = chat, message_input

    def retry(self, mode: Mode | None = None) -> None:
        """Try the last message again, or go on from where the last turn ended."""
        session = self._chat.session
        if session is not None and not session.running:
            self._input.set_state("running")
            self._chat.runner.start(session, [], mode)

    def try_now(self) -> None:
        """Send a request that waits for its next attempt, or got no reply, at once."""
        if self._chat.session is not None:
            self._chat.session.try_now()

    def take_back(self) -> None:
        """Send the message that waits for the network no more; put it into an empty input."""
        session = self._chat.session
        if session is not None:
            self._chat.runner.stop(session.info.id)
            if not self._input.text and not self._input.attachments.blocks:
                self.recall()

    # Limits

    @property
    def limit_setting(self) -> str:
        """The setting of the limit that the last turn reached: ``turn_dollars``; empty if none."""
        session = self._chat.session
        last = session.transcript.last_end if session is not None else None
        if last is None or not last.cap:
            return ""
        if last.cap == "hour":
            return "requests_per_hour"
        if last.cap == "turn" and last.mode == "long" and last.reason == "money_limit":
            return "long_dollars"
        return f"{last.cap}_{'dollars' if last.reason == 'money_limit' else 'tokens'}"

    def raised_cap(self, end: EndBlock) -> str:
        """What the chat's limit is raised to after a turn that ended so: “$4.00”."""
        session, engine = self._chat.session, self._chat.engine
        if session is None or engine is None:
            return ""
        offered = engine.budgets.twice_the_cap(session.info, end)
        return cap_words(offered, end.reason) if offered is not None else ""

    def raise_cap(self) -> None:
        """Let the chat use twice as much, then go on."""
        session, engine = self._chat.session, self._chat.engine
        end = session.transcript.last_end if session is not None else None
        if session is None or engine is None or end is None:
            return
        if (offered := engine.budgets.twice_the_cap(session.info, end)) is not None:
            self._chat.run(self._raise_cap(session, offered))

    async def go_on_elsewhere(self, session_id: str, offered: Caps | None = None) -> None:
        """Go on with a chat that may not be on screen.

        With ``offered`` it may use that from now on; it stays at rest where that is not offered
        any more.
        """
        assert self._chat.engine is not None
        session = await self._chat.engine.sessions.open(session_id)
        if offered is not None:
            await self._raise_cap(session, offered)
        else:
            self._go_on(session)

    async def _raise_cap(self, session: Session, offered: Caps) -> None:
        if await session.raise_cap(offered):
            self._go_on(session)
        elif session is self._chat.session:  # with what is offered now
            self._chat.show(session, reloaded=True)

    def _go_on(self, session: Session) -> None:
        if session is self._chat.session:
            self.retry()
        elif not session.running:
            self._chat.runner.start(session, [])

    # Compact and branch

    def compact(self) -> None:
        """Shorten what the model gets, then go on."""
        if self._chat.session is not None:
            self._chat.run(self._compact(self._chat.session))

    async def _compact(self, session: Session) -> None:
        self._input.set_state("running")
        try:
            await session.context.compact()
        except BaseException:
            self._input.set_state("idle")
            raise
        self.retry()

    def branch(self, before: str = "", *, compact: bool = False) -> None:
        """Open a new chat that goes on from the end, or from before a turn."""
        if self._chat.session is not None:
            self._chat.run(self._branch(self._chat.session, before, compact))

    async def _branch(self, session: Session, before: str, compact: bool) -> None:
        assert self._chat.engine is not None
        branch = await self._chat.engine.sessions.branch(session.info.id, before)
        self._chat.show(branch)
        self._chat.notify("session")
        if compact:
            await branch.context.compact()

    # Earlier messages

    def branch_after(self, turn_id: str) -> None:
        """Open a new chat that goes on after a turn."""
        turns = [message.turn_id for message in self._messages]
        if turn_id in turns:
            following = turns[turns.index(turn_id) + 1 :]
            self.branch(following[0] if following else "")

    def answer_again(self, turn_id: str, provider: str, model: str) -> None:
        """Have a model answer the message of a turn once more, in another version of the chat."""
        session = self._chat.session
        if session is not None and not session.running:
            messages = (one for one in self._messages if one.turn_id == turn_id and not one.steered)
            message = next(messages, None)
            said = message.said if message is not None else ()
            self._chat.run(self._answer_again(session, turn_id, said, provider, model))

    async def _answer_again(
        self, session: Session, turn_id: str, said: Sequence[Said], provider: str, model: str
    ) -> None:
        assert self._chat.engine is not None
        version = await self._chat.engine.sessions.branch(session.info.id, turn_id, version=True)
        await version.change(provider=provider, model=model)
        self._input.show_new_version(session, version)
        if self._chat.session is version:
            self._input.set_state("running")
            self._chat.notify("sent")
        self._chat.runner.start(version, said)
        self._chat.notify("session")

    def edit(self, turn_id: str) -> bool:
        """Put the message of a turn into the input; False if that cannot be."""
        found = (message for message in self._messages if message.turn_id == turn_id)
        return self._edit(next(found, None))

    def recall(self) -> bool:
        """Put the last message into the input; False if that cannot be.

        Files that are attached stay: those of the last message would take their place.
        """
        if self._input.attachments.items:
            return False
        return self._edit(self._messages[-1] if self._messages else None)

    def _edit(self, message: UserBlock | None) -> bool:
        session = self._chat.session
        if session is None or session.damage or message is None:
            return False
        turn_id = "" if session.running else message.turn_id
        self._input.begin_edit(message.said, message.text, turn_id)
        return True

    @property
    def _messages(self) -> list[UserBlock]:
        """What the person said in the open chat."""
        from studio.domain.blocks import UserBlock

        session = self._chat.session
        blocks = session.transcript.blocks if session is not None else ()
        return [block for block in blocks if isinstance(block, UserBlock)]
