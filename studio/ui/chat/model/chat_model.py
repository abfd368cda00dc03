"""Chat model: what the chat pane shows and what a person can do in it, free of Qt."""

from __future__ import annotations

import time
from collections.abc import Callable, Coroutine, Sequence
from contextlib import suppress
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

from studio.domain.errors import StudioError
from studio.ui.formatting import number
from studio.ui.translation import tr

from .attachments import AttachmentList
from .folder_trust import FolderTrust
from .message_input import MessageInput
from .message_queue import MessageQueue
from .open_chat import Change, ExternalChanges, Listener, OpenChat, Part
from .prompt_history import PromptHistory
from .recent_chats import RecentChats
from .recovery import RecoveryActions
from .session_options import SessionOptions
from .transcript_actions import TranscriptActions
from .turn_runner import TurnRunner
from .unsent import UnsentBuffer
from .versions import MessageVersions

if TYPE_CHECKING:  # all this comes after the first paint
    from studio.agent.engine import Engine
    from studio.agent.session.session import Session
    from studio.domain.agents import Handoff
    from studio.domain.sessions import SessionInfo
    from studio.tools.packs.persons_act import ActDesk, Acts


class Status(NamedTuple):
    """What is out of the ordinary with the chat on screen; one thing at a time.

    ``detail`` says what is damaged, or the provider that is ``silent``; ``since`` is
    when the silence began, by ``time.monotonic``. ``drafts`` is how many of them wait.
    """

    kind: Literal[
        "damaged", "silent", "working", "went_on", "editing", "drafts", "trust", "trust_again"
    ]
    detail: str = ""
    since: float = 0.0
    drafts: int = 0


class ChatModel:
    """The state of the chat pane and its one signal.

    ``subscribe`` takes a listener for each ``Change`` of the parts that it names.
    The parts are public: widgets read them and call their methods. ``report``
    takes a problem in words for the person. ``unsent`` is the same in all windows, ``window``
    the number of this one.
    """

    def __init__(
        self,
        runner: TurnRunner,
        report: Callable[[str], None],
        unsent: UnsentBuffer,
        window: int = 0,
    ) -> None:
        self.report, self._unsent = report, unsent
        chat = self._chat = OpenChat(runner, report)
        self.options = SessionOptions(chat)
        self.attachments = AttachmentList(chat, self.options)
        self.external = ExternalChanges(chat)
        self.input = MessageInput(
            chat, self.attachments, self.options, self.external, unsent, window
        )
        self.trust = FolderTrust(chat, self.options)
        self.queue = MessageQueue(chat, self.input)
        self.recovery = RecoveryActions(chat, self.input)
        self.prompts = PromptHistory(chat, self.input)
        self.actions = TranscriptActions(chat, self.external)
        self.versions = MessageVersions(chat)
        self._recent = RecentChats(chat)
        self._titles: dict[tuple[str, str], str] = {}
        """Of models, until a list of models or the settings change: each frame may ask."""
        self.parent: SessionInfo | None = None
        """The chat from which this one was branched, if it is still there."""
        chat.subscribe(self._changed, "chat", "state", "event", "turn")
        chat.subscribe(lambda _: self._titles.clear(), "engine", "options")
        chat.subscribe(lambda _: self._send_wished(), "engine", "options", "attachments")

    def subscribe(self, listener: Listener, *parts: Part) -> Callable[[], None]:
        """See ``OpenChat.subscribe``."""
        return self._chat.subscribe(listener, *parts)

    @property
    def engine(self) -> Engine | None:
        return self._chat.engine

    @property
    def runner(self) -> TurnRunner:
        return self._chat.runner

    @property
    def desk(self) -> ActDesk | None:
        """Proves what the person clicks on for drafts of packs (KZ-5)."""
        return self._chat.desk

    @desk.setter
    def desk(self, desk: ActDesk | None) -> None:
        self._chat.desk = desk

    def decided(self, decision: str, session: Session, draft_ids: Sequence[str]) -> Acts:
        """The proof of what the person clicked on just now."""
        return self._chat.decided(decision, session, draft_ids)

    @property
    def session(self) -> Session | None:
        """The session on screen; None for a chat that has not begun."""
        return self._chat.session

    # Chats

    def attach(self, engine: Engine) -> None:
        """Give the model its engine: from now on a message can be sent."""
        self._chat.engine = engine
        self._chat.runner.reachable = engine.providers.reachable
        self._chat.runner.offline_listeners.append(self._offline_changed)
        self._chat.notify("engine")

    def start_new(
        self,
        provider: str = "",
        text: str = "",
        folder: str = "",
        subject: str = "",
        agent: str = "",
    ) -> Coroutine[Any, Any, None]:
        """Show an empty chat at once; nothing is saved before the first message.

        ``subject`` is what it is about, as a pack writes it; ``agent`` is that of the settings
        unless given.

        The coroutine that is returned looks up what the chat runs on.
        """
        self.options.reset(folder, subject, agent)
        self._chat.show(None)
        if text:
            self.input.set_text(text)
        return self.options.find(provider)

    def open(self, session: Session) -> None:
        """Show a session."""
        self._chat.show(session)

    def options_changed(self) -> None:
        """Tell the listeners that agents, models or the choice between them may have changed."""
        self._chat.notify("options")

    async def finish(self) -> None:
        """Wait a second for what was begun; what waits for the person is cancelled."""
        with suppress(StudioError):  # the disk is full: nothing more can be done about it now
            await self.input.finish()
        if self.engine is not None:
            self._chat.runner.offline_listeners.remove(self._offline_changed)
        await self._chat.finish()
        with suppress(StudioError):
            await self._unsent.save()  # files that were still being read

    def run(self, work: Coroutine[Any, Any, Any]) -> None:
        """Run a coroutine in the background; a failure is reported to the person."""
        self._chat.run(work)

    def _changed(self, change: Change) -> None:
        if change.part == "chat":
            self.parent = None
            self._chat.notify("options")
            if self.session is not None:
                self.options.load_agents()
                self._chat.run(self._find_parent(self.session))
        elif change.part == "state":
            self._chat.notify("options")
            self._chat.notify("session")
        elif change.part == "event":
            from studio.domain.events import TurnComplete, TurnStarted

            if isinstance(change.event, TurnStarted):
                if self.session is not None:  # the model may have been routed
                    self.options.use_session(self.session.info)
                self._chat.notify("turn")
            elif isinstance(change.event, TurnComplete):
                self._chat.notify("turn")
        elif change.part == "turn":
            self._chat.notify("options")

    def _offline_changed(self, session_id: str) -> None:
        if self.session is not None and self.session.info.id == session_id:
            self._chat.notify("offline")

    async def _find_parent(self, session: Session) -> None:
        caller = session.info.caller
        parent = caller.id if caller and caller.kind == "session" else session.info.parent
        engine = self.engine
        found = await engine.store.get(parent) if engine is not None and parent else None
        if session is self.session:
            self.parent = found
            self._chat.notify("parent")

    # What is shown

    @property
    def status(self) -> Status | None:
        """What is out of the ordinary; None if all is well."""
        session, external = self.session, self.external.state
        if session is not None and session.damage:
            return Status("damaged", session.damage)
        if session is not None and session.running and session.transcript.silent:
            from studio.providers.registry import PROVIDER_TITLES

            since = self.waiting_since
            if since is None:
                since = time.monotonic() - session.transcript.silent
            provider = PROVIDER_TITLES.get(session.info.provider, session.info.provider)
            return Status("silent", provider, since)
        if external:
            return Status(external)
        if self.input.editing:
            return Status("editing")
        if session is not None and len(waiting := session.drafts.waiting()) > 1:
            return Status("drafts", drafts=len(waiting))
        question = self.trust.question
        if question == "nothing":
            return None
        return Status("trust_again" if question == "changed" else "trust")

    @property
    def waiting_since(self) -> float | None:
        """When the running turn's last wait or silence began, by ``time.monotonic``."""
        session = self.session
        if session is None or not session.running:
            return None
        return self._chat.runner.waiting_since(session.info.id)

    @property
    def quiet_since(self) -> float | None:
        """When the running turn last showed something, by ``time.monotonic``."""
        return self.session and self._chat.runner.quiet_since(self.session.info.id)

    @property
    def offline(self) -> bool:
        """Whether the message of this chat waits until its provider can be reached."""
        return self.session is not None and self._chat.runner.is_offline(self.session.info.id)

    @property
    def placeholder(self) -> str:
        """What stands in the empty input."""
        if self.input.closed:
            return self.input.closed
        if self.input.state == "waiting":
            return tr("Answer above, or tell {agent} what to do instead").format(
                agent=self.options.agent
            )
        return tr("Ask, or describe a task") if self.session is None else tr("Add a follow-up")

    @property
    def context_use(self) -> tuple[float, str] | None:
        """How much of the model's context is used, as a part and in words."""
        if self.session is None or self.engine is None:
            return None
        used = self.session.transcript.last_usage.total
        window = self.options.model.context_window
        if not used or not window:
            return None
        words = tr("{used} of {window} tokens of context").format(
            used=number(used), window=number(window)
        )
        return min(1.0, used / window), words

    def model_title(self, provider: str, model: str) -> str:
        if self.engine is None or not model:
            return model
        if (provider, model) not in self._titles:
            self._titles[provider, model] = self.engine.model(provider, model).title
        return self._titles[provider, model]

    @property
    def handoffs(self) -> Sequence[Handoff]:
        """What the agent's file offers after its answer, to agents that are there (W-1).

        Nothing while something runs, waits or is being written, or before an answer.
        """
        session, written = self.session, self.input
        if session is None or session.damage or written.state != "idle" or written.ready:
            return ()
        if written.editing or self.external.state or not session.transcript.turn_id:
            return ()
        return self.options.handoffs

    def hand_over(self, handoff: Handoff) -> None:
        """Give the chat to another agent, with what it is to do in the input, or sent (W-1)."""
        self.options.choose_agent(handoff.agent)
        if handoff.prompt:
            self.input.set_text(handoff.prompt)
        self._chat.run(self._hand_over(handoff))

    async def _hand_over(self, handoff: Handoff) -> None:
        """Choose the handoff's model, if it can be reached, and send the prompt, if that is so."""
        session, engine = self.session, self.engine
        if handoff.model and engine is not None:
            found = await engine.model_names.reachable(handoff.model)
            if self.session is not session or self.options.agent != handoff.agent:
                return  # the person went on to something else meanwhile
            if found is not None:
                self.options.choose_model(found.provider, found.model)
        if handoff.prompt and handoff.send and self.input.text == handoff.prompt:
            self.submit()

    # The message

    def submit(self, *, now: bool = False) -> None:
        """Send what is typed; while a turn runs, queue it, to join its next step if ``now``.

        What is not whole yet waits until it is.
        """
        if self.input.ready and not self.input.whole:
            self.input.wait("steer" if now else "send")
        elif self.input.ready and (self.input.state == "running" or self.offline):
            self.queue.add(now=now and not self.offline)
        elif self.input.ready:
            self.input.send()

    def _send_wished(self) -> None:
        """Send what waited to be whole; what is not as the person saw it stays."""
        wish = self.input.wish
        if wish and not self.input.wish_stands:
            self.input.wait("")
        elif wish and self.input.whole:
            self.input.wait("")
            self.submit(now=wish == "steer")

    def interrupt(self) -> None:
        """Stop the tools that work, or else the turn, see ``Session.interrupt``."""
        if self.session is not None:
            self.session.interrupt()

    def stop(self) -> None:
        if self.session is not None:
            self.session.stop()
