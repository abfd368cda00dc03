"""Message input: the message that is being written, and its way to the agent.

The state follows the events of the session alone (G-2), except that sending
shows Stop at once. A message that cannot be sent comes back to the input.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Literal, TypeAlias

from studio.domain.errors import ConfigurationError, StudioError
from studio.domain.records import dataclass
from studio.ui.question_form import QuestionForms
from studio.ui.translation import tr

from .attachments import Attachment, AttachmentList
from .open_chat import Change, ExternalChanges, OpenChat
from .session_options import SessionOptions
from .unsent import UnsentBuffer, WrittenMessage, new_chat

if TYPE_CHECKING:  # all this comes after the first paint
    from studio.agent.session.session import Session
    from studio.domain.blocks import ToolBlock, TranscriptBlock
    from studio.domain.events import Event
    from studio.domain.messages import Said

State: TypeAlias = Literal["idle", "running", "waiting"]
Wish: TypeAlias = Literal["", "send", "steer"]


@dataclass(frozen=True, slots=True)
class TypedMessage:
    """A message as it was typed, on its way to the agent."""

    text: str
    attachments: Sequence[Attachment] = ()
    at: str = ""
    """The chat for which it was written; see ``new_chat``."""

    @property
    def parts(self) -> list[Said]:
        """What the agent is sent: the files, then the text."""
        from studio.domain.messages import Text

        files = [item.block for item in self.attachments if item.block is not None]
        return [*files, *([Text(self.text)] if self.text else [])]


class MessageInput:
    """Keeps what is typed and attached, and sends it; the first message makes the session.

    ``state`` says what Send does: ``running`` shows Stop; ``waiting`` shows Send
    again, for a message answers the open question.
    """

    def __init__(
        self,
        chat: OpenChat,
        attachments: AttachmentList,
        options: SessionOptions,
        external: ExternalChanges,
        unsent: UnsentBuffer,
        window: int,
    ) -> None:
        self._chat, self._options, self._external = chat, options, external
        self.attachments = attachments
        self.forms = QuestionForms()
        """What is answered so far of the agents' questions."""
        self.text = ""
        self.caret = 0
        """Where the caret is, in UTF-16 units."""
        self.state: State = "idle"
        self.outgoing: tuple[TranscriptBlock, ...] = ()
        """What was sent in the chat on screen, as it is shown until its turn begins."""
        self.editing = ""
        """The turn whose message is edited here, to be sent anew in a branch."""
        self.wish: Wish = ""
        """How the message goes out once it is whole; empty where nobody asked for that."""
        self._wished_files: list[Attachment] = []
        """The files of the message that is to go out, and those of them that were not read."""
        self._unread_files: list[Attachment] = []
        self._unsent, self._window = unsent, window
        self._showing = False
        self._beneath: tuple[str, int] | None = None
        """What was being written when an earlier message was shown in its place, and its caret."""
        self._named: list[str] = []
        """The attached files that its text names."""
        self._draft: WrittenMessage | None = None
        """What was being written when an earlier message was taken to be edited."""
        self._at = self._key(None)
        """The chat whose message this is: the id of its session, or see ``new_chat``."""
        chat.subscribe(self._changed, "chat", "event")
        chat.subscribe(lambda _: self._note(), "input", "caret", "attachments", "status")
        chat.subscribe(lambda _: self._attached(), "engine")
        unsent.listeners.append(self._kept_elsewhere)

    # What is written

    @property
    def closed(self) -> str:
        """Why nothing can be written; empty where it can."""
        session = self._chat.session
        return tr("This chat can only be read") if session is not None and session.damage else ""

    @property
    def ready(self) -> bool:
        """Whether there is something to send."""
        files = self.attachments
        return bool(self.text.strip() or files.blocks or files.reading) and not self.closed

    @property
    def whole(self) -> bool:
        """Whether all is there that sending needs: the engine, the chat's options, the files."""
        known = self._chat.session is not None or self._options.looked_up
        return self._chat.engine is not None and known and not self.attachments.reading

    def wait(self, wish: Wish) -> None:
        """Let the message go out when it is whole, unless it is changed before; or not any more."""
        if wish == self.wish:
            return
        self.wish = wish
        self._wished_files = list(self.attachments.items)
        self._unread_files = [one for one in self.attachments.items if one.state == "reading"]
        self._chat.notify("input")

    @property
    def wish_stands(self) -> bool:
        """Whether what is to go out is still what the person saw, and its new files are sound."""
        same = self._wished_files == self.attachments.items
        return same and all(file.state in ("reading", "ready") for file in self._unread_files)

    def set_text(self, text: str, caret: int | None = None) -> None:
        """Replace the text; an edited message whose text is deleted is edited no more.

        Without a ``caret`` that goes to the end.
        """
        if text == self.text:
            return
        self.text = text
        self.wish = ""
        self.caret = _units(text) if caret is None else caret
        self.attachments.follow(text)
        if self.editing and not text:
            self.edit("")
        if not text:
            self._bring_back()
        self._chat.notify("input")

    def move_caret(self, caret: int) -> None:
        """Note where the caret is."""
        if caret != self.caret:
            self.caret = caret
            self._chat.notify("caret")

    def edit(self, turn_id: str) -> None:
        """Note that what is typed replaces the message of a turn; of none if it is empty."""
        self.editing = turn_id
        self._chat.notify("status")

    def begin_edit(self, parts: Sequence[Said], text: str, turn_id: str) -> None:
        """Put the message of a turn, to be edited, in the place of what is being written.

        That comes back when the edited message is sent or given up.
        """
        draft, self._draft = self._draft, None
        if draft is None and not self.editing and self._beneath is None:
            self._showing = True  # its files go with it
            files = self.attachments.exchange([])
            self._showing = False
            if self.text or files:
                draft = WrittenMessage(self.text, self.caret, attachments=tuple(files))
        self.fill(parts, text)
        self._draft = draft
        self.edit(turn_id)

    def _bring_back(self) -> None:
        """Show again what an edited message took the place of."""
        if (draft := self._draft) is not None:
            self._show(draft)

    def fill(self, parts: Sequence[Said], text: str | None = None) -> None:
        """Replace everything by a message that was sent or queued before."""
        from studio.domain.messages import File, Text

        attached = [part for part in parts if not isinstance(part, Text)]
        self.attachments.replace(
            [part for part in attached if not (isinstance(part, File) and part.invoked)]
        )
        joined = "\n".join(part.text for part in parts if isinstance(part, Text))
        self.set_text(joined if text is None else text)

    def clear(self) -> None:
        """Remove text and attachments; nothing is edited any more."""
        self.attachments.take()
        self.set_text("")
        if self.editing:
            self.edit("")
        self._bring_back()  # if there was no text

    # Each chat has its own

    def _key(self, session: Session | None) -> str:
        if session is not None:
            return session.info.id
        return new_chat(self._window, self._options.subject)

    def _attached(self) -> None:
        self._unsent.engine = self._chat.engine
        if not self.text:  # else it was typed while the program started
            self._show(self._unsent.kept(self._at))
        self._restore()

    def _kept_elsewhere(self, chat: str) -> None:
        """Another window that shows this chat too changed what is written in it."""
        if chat != self._at:
            return
        message = self._unsent.kept(chat)
        text, _ = self._beneath or (self.text, 0)
        mine = WrittenMessage(
            text, message.caret, self.editing, tuple(self.attachments.items), self._draft
        )
        if mine != message:
            self._show(message)

    def _note(self) -> None:
        """Keep what is written now."""
        if self._showing:
            return
        files = tuple(self.attachments.items)
        text, caret = self._beneath or (self.text, self.caret)
        message = WrittenMessage(text, caret, self.editing, files, self._draft)
        self._unsent.keep(self._at, message)

    def set_aside(self) -> None:
        """Keep what is being written while an earlier message is shown in its place."""
        if self._beneath is None:
            self._beneath = self.text, self.caret
            self._named = [item.mention for item in self.attachments.items if item.mention]

    def take_up(self) -> None:
        """Show again what was set aside."""
        if self._beneath is not None:
            (text, caret), self._beneath = self._beneath, None
            self.set_text(text, caret)
            for name in self._named:  # what was sent meanwhile took them along
                self.attachments.mention(name)

    def _go_to(self, at: str, *, begun: bool) -> None:
        """Show what is written in another chat; a chat that begins keeps what is written."""
        before, self._at = self._at, at
        if at == before:
            return
        self._beneath = None
        if begun:
            self._unsent.keep(before, WrittenMessage())
            self._note()
        else:
            self._show(self._unsent.kept(at))
        self._restore()

    def _show(self, message: WrittenMessage) -> None:
        """Put what is kept into the input."""
        self.editing, self._draft, self.wish = message.replaces, message.beneath, ""
        changed = message.text != self.text
        if changed:
            self.text, self.caret = message.text, message.caret
        self._showing = True  # what is half shown is not to be kept
        self.attachments.exchange(list(message.attachments))
        self._showing = False
        if changed:
            self._chat.notify("input")
        self._chat.notify("status")

    def _restore(self) -> None:
        self._chat.run(self._load(self._at))

    async def _load(self, at: str) -> None:
        """Put what an earlier run stored before what was written since."""
        stored = await self._unsent.load(at)
        if stored is None:
            return
        kept = self._unsent.kept(at)
        text = stored.text + kept.text
        caret = stored.caret if not kept.text else _units(stored.text) + kept.caret
        replaces = kept.replaces or stored.replaces
        message = replace(kept, text=text, caret=caret, replaces=replaces)
        self._unsent.keep(at, message)
        if at == self._at and (stored.text or stored.files):
            self._show(message)
            self.attachments.add_known(stored.files)

    async def finish(self) -> None:
        """Store what is written; raises StorageError."""
        self._unsent.listeners.remove(self._kept_elsewhere)
        await self._unsent.save()

    # What Send does

    def _changed(self, change: Change) -> None:
        session = self._chat.session
        if change.part == "chat" and not change.reloaded:
            self.outgoing = ()
            self._go_to(self._key(session), begun=change.begun)
        if change.event is not None and self.outgoing:
            self._taken(change.event)
        if session is None:
            self.set_state("idle")
        elif (state := state_of(session)) != self.state:
            self.state = state
            self._chat.notify("state")

    def _taken(self, event: Event) -> None:
        """Show what was sent no longer, if its turn has begun: the transcript has it."""
        from studio.domain.events import TurnStarted

        if isinstance(event, TurnStarted):
            self.outgoing = ()

    def _show_outgoing(self, message: TypedMessage, session: Session) -> None:
        """Let what was sent be seen before its turn begins."""
        from studio.domain.blocks import AgentBlock, UserBlock

        agent = self._options.addressed(message.text) or self._options.agent
        answer = AgentBlock("", agent, session.info.provider, session.info.model)
        self.outgoing = (UserBlock("", tuple(message.parts)), answer)

    def set_state(self, state: State) -> None:
        self.state = state
        self._chat.notify("input")

    def send(self) -> None:
        """Send what is typed: it answers the agent's open question, or begins a turn."""
        session, text = self._chat.session, self.text.strip()
        if session is not None and session.running:
            call = open_question(session)
            if call is not None and text:
                self._answer(session, call, text)
                return
            for question in session.transcript.questions:
                session.answer_permission(question.id, "deny")
            session.stop()  # a message instead of an answer: no to the question, and a new turn
        editing = self.editing
        message = self.take()
        if session is not None and not editing:
            self._show_outgoing(message, session)
        self.set_state("running")
        self._chat.run(self._send(message, session, editing))

    def _answer(self, session: Session, call: ToolBlock, text: str) -> None:
        """Answer the open question in words; beside others it goes out with them."""
        form = self.forms.of(call)
        self.set_text("")
        if form.at_once:
            session.answer_question(call.call_id, text)
        else:
            form.write(text)
            self._chat.notify("answers")

    def send_text(self, text: str) -> None:
        """Send a text as if it were typed; what is being written stays."""
        self._chat.run(self._send(TypedMessage(text, at=self._at), self._chat.session))

    def take(self) -> TypedMessage:
        """Return what can be sent and leave the input empty."""
        message = TypedMessage(self.text.strip(), self.attachments.take(), self._at)
        self.set_text("")
        self._bring_back()  # if there was no text
        self.take_up()
        return message

    async def _send(
        self, message: TypedMessage, session: Session | None, editing: str = ""
    ) -> None:
        """Begin a turn in the chat for which the message was written; else it is put back there.

        A message that replaces that of the turn ``editing`` goes to another version of the chat.
        """
        try:
            if session is not None and editing:
                session = await self._branch_before(session, editing)
            await self._begin_turn(message, session)
        except StudioError as error:
            self._put_back(message, session)
            self._chat.report(str(error))
        except Exception:
            self._put_back(message, session)
            raise

    def _put_back(self, message: TypedMessage, session: Session | None) -> None:
        """Restore what ``take`` returned: it could not be sent."""
        at = session.info.id if session is not None else message.at
        if at == self._at:
            self.outgoing = ()
            self.set_state("idle")
            self.set_text(_joined(message.text, self.text))
            self.attachments.put_back(message.attachments)
        else:
            kept = self._unsent.kept(at)
            files = (*message.attachments, *kept.attachments)
            text = _joined(message.text, kept.text)
            back = replace(kept, text=text, caret=_units(text), attachments=files)
            self._unsent.keep(at, back)

    async def _branch_before(self, session: Session, turn_id: str) -> Session:
        """Open another version of the chat, with all that came before a turn."""
        engine = self._chat.engine
        if engine is None:
            raise ConfigurationError(tr("The chat to go on from is not there any more."))
        branch = await engine.sessions.branch(session.info.id, turn_id, version=True)
        self.show_new_version(session, branch)
        return branch

    def show_new_version(self, old: Session, new: Session) -> None:
        """Show a version that was made of a chat, unless another chat is on screen by now.

        What is being written goes along, but an edit stays with the version of its turn.
        """
        message = self._unsent.kept(old.info.id)
        if not message.replaces and message != WrittenMessage():
            self._unsent.keep(old.info.id, WrittenMessage())
            self._unsent.keep(new.info.id, message)
        if _is_same(self._chat.session, old):
            self._chat.show(new)

    async def _begin_turn(self, message: TypedMessage, session: Session | None) -> None:
        engine = self._chat.engine
        if engine is None:
            self._put_back(message, session)
            return
        if _is_same(session, self._chat.session):
            await self._external.ensure_free()
        shown = self._chat.session
        if session is None:
            session = await self._options.begin_session(engine)
        elif shown is not None and _is_same(session, shown):
            session = shown  # as another program left it
        if session is self._chat.session:
            if not self.outgoing and not session.running:
                self._show_outgoing(message, session)
            self.set_state("running")
            self._chat.notify("sent")
        unsaid = partial(self._put_back, message, session)
        self._chat.runner.start(session, message.parts, unsaid=unsaid)
        self._chat.notify("session")


def _joined(sent: str, typed: str) -> str:
    """A text that comes back, before what was typed since."""
    return f"{sent}\n{typed}" if typed else sent


def _units(text: str) -> int:
    """The length in UTF-16 units, in which carets are counted."""
    return len(text.encode("utf-16-le", "surrogatepass")) // 2


def _is_same(one: Session | None, other: Session | None) -> bool:
    return (one and one.info.id) == (other and other.info.id)


def state_of(session: Session) -> State:
    """What Send does in a session."""
    if not session.running:
        return "idle"
    if session.info.state == "waiting":
        return "waiting"
    if session.info.state in ("running", "idle") or session.escalating:
        return "running"
    return "idle"  # complete, the journal is still being flushed


def open_question(session: Session) -> ToolBlock | None:
    """The call with which the agent asked something that is not answered yet."""
    from studio.domain.blocks import ToolBlock

    for block in reversed(session.transcript.blocks):
        if isinstance(block, ToolBlock) and block.state == "waiting" and block.asks:
            return block if block.reply is None else None
    return None
