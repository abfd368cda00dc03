"""A small chat with one agent, beside its file. It is a chat like any other, and is kept."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from PySide6.QtCore import QRectF, Signal
from PySide6.QtGui import QPainter, QTextCursor
from PySide6.QtWidgets import QSizePolicy, QWidget

from studio.domain.events import AwaitingPermission
from studio.domain.messages import Text
from studio.ui.chat.composer import Editor, SendButton
from studio.ui.chat.model.chat_model import ChatModel
from studio.ui.chat.model.message_input import open_question, state_of
from studio.ui.chat.model.open_chat import Change, ExternalChanges, OpenChat
from studio.ui.chat.model.transcript_actions import TranscriptActions
from studio.ui.pages.page import Run
from studio.ui.theme import Theme
from studio.ui.transcript.view import TranscriptView
from studio.ui.translation import tr
from studio.ui.widgets import Hairline, IconButton, Label, make_transparent
from studio.ui.widgets.layouts import STRETCH, column_of, row_of, widget_of
from studio.ui.widgets.painting import PaintedWidget, paint_rounded

if TYPE_CHECKING:
    from studio.agent.engine import Engine
    from studio.agent.session.session import Session
    from studio.domain.blocks import ToolBlock


class _Box(PaintedWidget):
    """The raised box where the person types."""

    def paint(self, painter: QPainter, rect: QRectF) -> None:
        t = self.theme
        paint_rounded(painter, rect, t.px(12), t.color("raised"), t.color("control"))


class TryChat(PaintedWidget):
    """Begins a chat with the first message; ``chat`` is the chat pane, whose turns it shares."""

    ground = "surface"
    closed = Signal()
    open_wanted = Signal(str)
    """The id of the chat, to be shown as a chat of its own."""
    said = Signal(str)
    """What the person says, and is not an answer."""

    def __init__(
        self,
        theme: Theme,
        engine: Engine,
        chat: ChatModel,
        run: Run,
        *more: QWidget,
        title: QWidget | None = None,
    ) -> None:
        """``more`` are further buttons of the head, ``title`` stands in place of its words."""
        super().__init__(theme)
        self.reads_only = False
        """Whether a chat that begins now may change nothing: another one works beside it."""
        self._engine, self._chat, self._run = engine, chat, run
        self._open = OpenChat(chat.runner, chat.report)
        self._open.desk = chat.desk
        self._open.engine = engine
        self._agent, self._look = "", ("sparkle", "slate")
        self._beginning = False
        self.title = Label(theme, "", "heading")
        self.title.setSizePolicy(QSizePolicy.Policy.Ignored, QSizePolicy.Policy.Preferred)
        self.whole = IconButton(theme, "message-square", tr("Open as a chat"), clicked=self._leave)
        close = IconButton(theme, "x", tr("Close"), clicked=self.closed.emit)
        parts = [(self.title if title is None else title, 1), *more, self.whole, close]
        head = widget_of(row_of(parts, margins=(16, 0, 10, 0)))
        head.setFixedHeight(theme.px(48))
        theme.changed.connect(lambda: head.setFixedHeight(theme.px(48)))
        self.view = TranscriptView(theme)
        self.editor = Editor(theme, self)
        self.editor.setAccessibleName(tr("Message"))
        self.send = SendButton(theme, self)
        self.box = _Box(theme)
        column_of([self.editor, row_of([STRETCH, self.send])], 8, (14, 12, 8, 8), on=self.box)
        below = widget_of(column_of([self.box], margins=(14, 4, 14, 14)))
        column_of([head, Hairline(theme), (self.view, 1), below], spacing=0, on=self)
        make_transparent(self.editor)
        self.setFocusProxy(self.editor)
        self.editor.submitted.connect(self._submit)
        self.editor.submitted_now.connect(self._submit)
        self.editor.escaped.connect(self._escape)
        self.editor.textChanged.connect(self._show_state)
        self.send.clicked.connect(lambda: self._stop() if self.send.stops else self._submit())
        actions = TranscriptActions(self._open, ExternalChanges(self._open))
        acts = self.view.item_actions
        acts.permission_answered.connect(actions.answer_permission)
        acts.reply_given.connect(actions.answer_question)
        acts.draft_action.connect(
            lambda draft, what: (
                what in ("approve", "discard", "undo") and actions.decide_draft(draft, what)
            )
        )
        acts.files_action.connect(actions.undo_files)
        acts.left.connect(self.editor.setFocus)
        acts.typed.connect(self.editor.go_on)
        self.view.context.agent = lambda _: self._look
        self.view.context.model = chat.model_title
        self._open.subscribe(self._changed, "event", "text", "chat")
        self.begin("", ("sparkle", "slate"))

    @property
    def session(self) -> Session | None:
        """None before the first message."""
        return self._open.session

    @property
    def running(self) -> bool:
        return self.session is not None and state_of(self.session) != "idle"

    @property
    def _question(self) -> ToolBlock | None:
        """What the agent asks, while it waits for the answer."""
        return open_question(self.session) if self.session is not None and self.running else None

    @property
    def agent(self) -> str:
        return self._agent

    @property
    def look(self) -> tuple[str, str]:
        """The icon and the hue of the agent."""
        return self._look

    def begin(self, agent: str, look: tuple[str, str], *, anew: bool = False) -> None:
        """Try this agent, in a chat of its own; ``look`` is its icon and hue.

        With ``anew`` in another chat than before.
        """
        self._look = look
        if agent == self._agent and agent and not anew:
            self.view.viewport().update()
            return
        self._agent = agent
        words = tr("Try {name}").format(name=agent)
        self.title.setText(words)
        self.editor.setPlaceholderText(tr("Ask {name} something").format(name=agent))
        self._open.show(None)

    async def finish(self) -> None:
        await self._open.finish()

    def _changed(self, change: Change) -> None:
        from studio.domain.transcript import Transcript

        if change.part == "chat":
            session = self.session
            self.view.set_transcript(session.transcript if session else Transcript())
        else:
            if change.block is not None:
                self.view.changed(change.block)
            if isinstance(change.event, AwaitingPermission) and not self.editor.toPlainText():
                self.view.flush()
                self.view.focus_prompt()
            self.view.turned()
        self._show_state()

    def _show_state(self) -> None:
        written = bool(self.editor.toPlainText().strip())
        stops = self.running and not (written and self._question)
        self.send.show_state(stops=stops, ready=written and not self._beginning)
        self.whole.setEnabled(self.session is not None)

    def _submit(self) -> None:
        text = self.editor.toPlainText().strip()
        if text and self.session is not None and (call := self._question) is not None:
            form = self.view.context.forms.of(call)
            if form.at_once:
                self.session.answer_question(call.call_id, text)
            else:
                form.write(text)
                self.view.show_answers()
            self.editor.clear()
        elif text and self.say(text):
            self.editor.clear()
            self.said.emit(text)

    def say(self, text: str) -> bool:
        """Say something to the agent; False while it works."""
        if self.running or self._beginning:
            return False
        self._beginning = True
        self._run(self._begin_turn(text))
        return True

    async def _begin_turn(self, text: str) -> None:
        """A text that cannot be sent comes back, before what was typed meanwhile."""
        agent = self._agent
        try:
            session = self.session
            if session is None:
                try:
                    session = await self._begin_session()
                except BaseException:
                    self._put_back(text)
                    raise
                if agent != self._agent:  # another one is tried by now
                    self._put_back(text)
                    return
                self._open.show(session)
            self._chat.runner.start(session, [Text(text)])
            self.view.canvas_viewport.scroll_to_end()
        finally:
            self._beginning = False
            self._show_state()

    def _put_back(self, text: str) -> None:
        typed = self.editor.toPlainText()
        self.editor.setPlainText(f"{text}\n{typed}" if typed else text)
        self.editor.moveCursor(QTextCursor.MoveOperation.End)

    async def _begin_session(self) -> Session:
        folder = self._chat.options.folder or str(self._engine.own_folder())
        chosen = await self._engine.choose(agent=self._agent, folder=Path(folder))
        return await self._engine.sessions.create(
            folder=folder,
            agent=chosen.agent,
            provider=chosen.provider,
            model=chosen.model,
            title=tr("Try {name}").format(name=self._agent),
            permission_mode="plan" if self.reads_only else None,
        )

    def _escape(self) -> None:
        if self.session is not None and self.session.running:
            self.session.interrupt()
        elif not self.editor.toPlainText():
            self.closed.emit()

    def _stop(self) -> None:
        if self.session is not None:
            self.session.stop()

    def _leave(self) -> None:
        if self.session is not None:
            self.open_wanted.emit(self.session.info.id)
