"""The chat pane: a header, the transcript, the composer; and a new chat.

It shows one session and hears its events; turns run in ``Runs``, so that a
session goes on while another is on screen.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine, Sequence
from dataclasses import replace
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

from PySide6.QtCore import QRect, Qt, QUrl, Signal
from PySide6.QtGui import QDesktopServices, QPainter, QPaintEvent, QResizeEvent
from PySide6.QtWidgets import QFileDialog, QWidget

from studio.domain.errors import StudioError
from studio.ui.controls import Label
from studio.ui.folders import short_path
from studio.ui.theme import Theme

from .composer import Composer
from .header import Header
from .menus import (
    CHOOSE_FOLDER,
    SETTINGS,
    folder_items,
    model_items,
    model_key,
    split_key,
)
from .runs import Runs
from .suggestions import Suggestions

if TYPE_CHECKING:  # all this comes after the first paint, see ``prepare``
    from studio.agent.session import Session
    from studio.agent.studio import Choice, Studio
    from studio.domain.agents import Agent
    from studio.domain.events import Event
    from studio.domain.transcript import ToolBlock
    from studio.ui.transcript import TranscriptView

WIDTH = 716
"""The composer's width; the text column is 680 and hangs its avatars out to the left."""


QUICK = 0.3
"""Seconds a new chat waits for the name of its model before it shows without."""


class ChatPage(QWidget):
    """One chat, or the place where a new one begins."""

    session_changed = Signal()
    """A chat began, or the one on screen has another title, state or model."""
    event_seen = Signal(object)
    """An event of the session on screen, after the transcript took it."""
    settings_wanted = Signal(str, str)
    """A page of the settings, and a provider on it."""
    trouble = Signal(str)
    open_wanted = Signal(str)

    def __init__(self, theme: Theme, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.theme = theme
        self.session: Session | None = None
        self._studio: Studio | None = None
        self._runs: Runs | None = None
        self._agents: list[Agent] = []
        self._choice: Choice
        self._mode = "ask"
        self._folder = ""
        self._unsubscribe: Callable[[], None] | None = None
        self._tasks: set[asyncio.Task[Any]] = set()
        self._choosing: asyncio.Task[Any] | None = None
        self._dialog: QFileDialog | None = None

        self.header = Header(theme, self)
        self.heading = Label(theme, "What are we working on?", "display", parent=self)
        self.heading.setAlignment(Qt.AlignmentFlag.AlignCenter)
        self.composer = Composer(theme, self)
        self.suggestions = Suggestions(theme, self)

        self.header.folder_clicked.connect(self.choose_folder)
        self.composer.resized.connect(self._place)
        self.composer.sent.connect(self._sent)
        self.composer.stopped.connect(self.stop)
        self.composer.recalled.connect(self._recall)
        self.composer.add_files.connect(self.add_files)
        self.composer.agent_chosen.connect(self._agent_chosen)
        self.composer.model_chosen.connect(self._model_chosen)
        self.composer.mode_chosen.connect(self._mode_chosen)
        self.composer.folder_chosen.connect(self._folder_chosen)
        self.composer.menus_opening.connect(self.show_choices)
        self.suggestions.open_wanted.connect(self.open_wanted)
        self.suggestions.text_wanted.connect(self.composer.set_text)
        theme.changed.connect(self.update)
        self._arrange()

    @staticmethod
    def prepare() -> None:
        """Import what the page needs to come alive; takes a while, so call it in a thread."""
        import studio.agent.studio
        import studio.ui.transcript  # noqa: F401 (the imports are what is wanted)

    @cached_property
    def view(self) -> TranscriptView:
        """The transcript; made when it is first needed, the window is shown without it."""
        from studio.ui.transcript import TranscriptView

        view = TranscriptView(self.theme, self)
        view.setVisible(self.session is not None)
        view.stackUnder(self.heading)
        QWidget.setTabOrder(self.header.inspector, view)
        view.permission_answered.connect(self._answered)
        view.reply_given.connect(self._replied)
        view.draft_action.connect(self._draft)
        view.failure_action.connect(self._failure)
        view.continue_requested.connect(lambda: self.say("Continue."))
        view.link_activated.connect(_open_link)
        view.left.connect(self.composer.setFocus)
        view.set_agents(self._look)
        view.set_models(self._model_title)
        return view

    # What it shows

    def live(self, studio: Studio, runs: Runs) -> None:
        """The pieces are there: from now on a person can send."""
        from studio.agent.studio import Choice

        self._choice = Choice("Coder", "", "")
        self._studio, self._runs = studio, runs
        studio.catalogue.subscribe(lambda _: self.show_choices())
        values = studio.settings.values
        self._folder = values.last_folder
        self._mode = values.default_permission_mode

    def begin(
        self, *, provider: str = "", text: str = "", folder: str = ""
    ) -> Coroutine[Any, Any, None]:
        """Show an empty chat at once; nothing is saved before the first message.

        What is returned finds out what it runs on.
        """
        from studio.domain.transcript import Transcript

        assert self._studio is not None
        self._leave()
        self.session = None
        self._folder = folder or self._folder
        self.view.set_transcript(Transcript())
        self.composer.set_state("idle")
        if text:
            self.composer.set_text(text)
        self._arrange()
        self.composer.setFocus()
        return self._found(provider)

    async def _found(self, provider: str) -> None:
        self._choosing = self._later(self._prepare(provider))
        await asyncio.wait([self._choosing], timeout=QUICK)

    async def _prepare(self, provider: str) -> None:
        """Folder, agents and model of a new chat."""
        assert self._studio is not None
        if not self._folder or not Path(self._folder).is_dir():
            self._folder = str(await asyncio.to_thread(self._studio.own_folder))
        await self._load_agents()
        await self._choose(provider)

    async def _choose(self, provider: str) -> None:
        """What a new chat runs on. Where no model is known yet its provider is asked."""
        from studio.agent.studio import Choice

        studio = self._studio
        assert studio is not None
        try:
            choice = await studio.choose(provider=provider, folder=Path(self._folder))
        except StudioError as error:
            self.trouble.emit(str(error))
            name = studio.settings.values.default_agent or self._choice.agent
            choice = Choice(name, provider or await studio.connections.default(), "")
        if self.session is None:
            self._choice = choice
            self.show_choices()

    def open(self, session: Session) -> None:
        """Show a session."""
        from studio.agent.studio import Choice

        self._leave()
        self.session = session
        info = session.info
        self._folder = info.folder
        self._choice = Choice(info.agent, info.provider, info.model)
        self._mode = info.permission_mode
        self._unsubscribe = session.subscribe(self._heard)
        self.view.set_transcript(session.transcript)
        self._arrange()
        self.composer.setFocus()
        self._state()
        self.show_choices()
        if self.composer.state == "waiting" and not self.composer.text:
            self.view.focus_prompt()
        self._later(self._load_agents())

    def _look(self, name: str) -> tuple[str, str]:
        """Icon and hue of an agent, also of one that is no longer there."""
        agent = next((agent for agent in self._agents if agent.name == name), None)
        return (agent.icon, agent.hue) if agent else ("bot", "slate")

    def _model_title(self, provider: str, model: str) -> str:
        return self._studio.model(provider, model).title if self._studio and model else model

    async def _load_agents(self) -> None:
        assert self._studio is not None
        found = await self._studio.agents(Path(self._folder))
        self._agents = list(found.by_name.values())
        for problem in found.problems:
            self.trouble.emit(problem)
        self.show_choices()

    def offer(self, last: tuple[str, str] | None) -> None:
        """Ways to begin a new chat; ``last`` is the id and title of the chat used last."""
        self.suggestions.offer(last, short_path(self._folder))

    def show_choices(self) -> None:
        """Agent, model, mode and folder as chosen, with what else there is."""
        if self._studio is None:
            return
        composer, choice = self.composer, self._choice
        composer.set_agents(self._agents, choice.agent)
        current = model_key(choice.provider, choice.model) if choice.model else ""
        model = self._studio.model(choice.provider, choice.model)
        items = model_items(self._studio, self._studio.connected, current)
        composer.set_models(items, current, model.title or "Choose a model")
        composer.set_mode(self._mode)
        recent = self._studio.settings.values.recent_folders
        own = self._folder == str(self._studio.paths.data / "chats")
        title = "No folder" if own else short_path(self._folder)
        composer.set_folders(folder_items(recent), self._folder, title)
        waiting = composer.state == "waiting"
        started = self.session is not None
        composer.set_placeholder(
            f"Answer above, or tell {choice.agent} what to do instead"
            if waiting
            else "Add a follow-up"
            if started
            else "Ask, or describe a task"
        )
        self._show_context()
        if self.session is not None:
            self.header.show_session(self.session.info, choice.provider == "simulator")

    def _show_context(self) -> None:
        part = None
        tooltip = ""
        if self.session is not None and self._studio is not None:
            used = self.session.transcript.last_usage.total
            window = self._studio.model(self._choice.provider, self._choice.model).context_window
            if used and window:
                part = min(1.0, used / window)
                tooltip = f"{used:,} of {window:,} tokens of context"
        self.composer.context.set_part(part, tooltip)

    # What a person does

    def say(self, text: str) -> None:
        """Send words, as if typed."""
        self._later(self._send(text))

    def _sent(self, text: str) -> None:
        session = self.session
        if session is not None and session.running:
            asking = self._asking()
            if asking is not None:
                session.reply(asking.call_id, text)
                self.composer.clear()
                return
            for question in session.transcript.questions:
                session.answer(question.id, "deny")
            session.stop()  # words instead of an answer: no to the question, and a new turn
        self.composer.clear()
        self.composer.set_state("running")
        self._later(self._send(text))

    async def _send(self, text: str) -> None:
        """Begin a turn; whatever stands in its way, the words are not lost."""
        try:
            await self._begin_turn(text)
        except StudioError as error:
            self.composer.set_state("idle")
            self.composer.set_text(text)
            self.trouble.emit(str(error))

    async def _begin_turn(self, text: str) -> None:
        from studio.domain.messages import Text

        studio, runs = self._studio, self._runs
        if studio is None or runs is None:
            self.composer.set_text(text)
            self.composer.set_state("idle")
            return
        if self.session is None and self._choosing is not None:
            await asyncio.wait([self._choosing])
        session = self.session
        if session is None:
            session = await studio.sessions.create(
                folder=self._folder,
                agent=self._choice.agent,
                provider=self._choice.provider,
                model=self._choice.model,
                permission_mode=self._mode,
            )
            self.open(session)
            if Path(self._folder) != studio.paths.data / "chats":
                studio.settings.values.use_folder(self._folder)
                await studio.settings.save()
        self.composer.set_state("running")
        self.view.scroll_to_end()
        runs.start(session, [Text(text)])
        self.session_changed.emit()

    def stop(self) -> None:
        if self.session is not None:
            self.session.stop()

    def _recall(self) -> None:
        """The last thing said, to be edited and sent again."""
        from studio.domain.transcript import UserBlock

        if self.session is not None:
            said = [b.text for b in self.session.transcript.blocks if isinstance(b, UserBlock)]
            if said:
                self.composer.set_text(said[-1])

    def _answered(self, question_id: str, answer: str) -> None:
        if self.session is not None and answer in ("once", "session", "deny"):
            self.session.answer(question_id, answer)

    def _replied(self, call_id: str, text: str) -> None:
        if self.session is not None:
            self.session.reply(call_id, text)

    def _draft(self, draft_id: str, action: str) -> None:
        if self.session is None:
            return
        if action == "edit":
            self._later(self._edit(draft_id))
        elif action in ("approve", "discard", "undo"):
            self._later(self.session.decide(draft_id, action))

    async def _edit(self, draft_id: str) -> None:
        from .draft_editor import edit_draft

        assert self.session is not None
        draft = self.session.drafts.get(draft_id)
        if draft is not None and (text := await edit_draft(self.theme, draft, self)) is not None:
            await self.session.edit_draft(draft_id, text)

    def _failure(self, name: str) -> None:
        """``name`` as the transcript's failure cards call it."""
        if name == "try_again":
            self._retry()
        elif name in ("use_another_provider", "choose_model"):
            self.composer.model.open()
        elif name == "new_chat":
            self._later(self.begin())
        else:
            self.settings_wanted.emit("providers", self._choice.provider)

    def _retry(self) -> None:
        session = self.session
        if session is not None and self._runs is not None and not session.running:
            self.composer.set_state("running")
            self._runs.start(session, [])

    def _agent_chosen(self, name: str) -> None:
        self._choice = replace(self._choice, agent=name)
        self._keep(agent=name)

    def _model_chosen(self, key: str) -> None:
        if key == SETTINGS:
            self.show_choices()
            self.settings_wanted.emit("providers", "")
            return
        provider, model = split_key(key)
        if self._choosing is not None:
            self._choosing.cancel()
        self._choice = replace(self._choice, provider=provider, model=model)
        self._keep(provider=provider, model=model)
        if self._studio is not None:
            values = self._studio.settings.values
            values.default_provider, values.default_model[provider] = provider, model
            self._later(self._studio.settings.save())

    def _mode_chosen(self, mode: str) -> None:
        self._mode = mode
        self._keep(permission_mode=mode)

    def _keep(self, **fields: str) -> None:
        if self.session is not None:
            self._later(self.session.change(**fields))
            self.session_changed.emit()
        self.show_choices()

    def _folder_chosen(self, folder: str) -> None:
        if folder == CHOOSE_FOLDER:
            self.choose_folder()
        else:
            self._set_folder(folder)

    def choose_folder(self) -> None:
        dialog = self._dialog = QFileDialog(self, "Choose a folder", self._folder)
        dialog.setFileMode(QFileDialog.FileMode.Directory)
        dialog.setOption(QFileDialog.Option.ShowDirsOnly)
        dialog.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        dialog.fileSelected.connect(self._set_folder)
        dialog.open()

    def _set_folder(self, folder: str) -> None:
        self._folder = folder
        if self._studio is not None:
            self._studio.settings.values.use_folder(folder)
            self._later(self._studio.settings.save())
        self._keep(folder=folder)
        self._later(self._load_agents())

    def add_files(self) -> None:
        dialog = self._dialog = QFileDialog(self, "Add files", self._folder)
        dialog.setFileMode(QFileDialog.FileMode.ExistingFiles)
        dialog.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        dialog.filesSelected.connect(self._mention)
        dialog.open()

    def _mention(self, files: Sequence[str]) -> None:
        names: list[str] = []
        for file in files:
            try:
                names.append(Path(file).relative_to(self._folder).as_posix())
            except ValueError:
                self.trouble.emit(f"{file} is outside the folder of this chat.")
        self.composer.editor.insertPlainText(" ".join(f"`{name}`" for name in names))
        self.composer.setFocus()

    async def finish(self) -> None:
        """Wait for what was begun; what waits for the person is given up."""
        self._leave()
        if self._tasks:
            await asyncio.wait(self._tasks, timeout=1)
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)

    # What happens in the session

    def _heard(self, event: Event, index: int | None) -> None:
        from studio.domain.events import TurnComplete, TurnStarted
        from studio.ui.transcript.model import outcome

        if index is not None:
            self.view.changed(index)
        self.view.announce(outcome(event, self._choice.agent))
        self._state()
        if isinstance(event, TurnStarted | TurnComplete):
            self.show_choices()
        self.event_seen.emit(event)

    def _state(self) -> None:
        session = self.session
        if session is None:
            return
        state = "running" if session.running else "idle"
        if session.running and session.info.state == "waiting":
            state = "waiting"
        if session.running and session.info.state not in ("running", "waiting", "idle"):
            state = "idle"  # complete, the journal is still being flushed
        if state != self.composer.state:
            answered = self.composer.state == "waiting" and state == "running"
            self.composer.set_state(state)
            self.show_choices()
            if state == "waiting" and not self.composer.text:
                self.view.focus_prompt()
            elif state == "idle" or (answered and self.view.hasFocus()):
                self.composer.setFocus()
            self.session_changed.emit()

    def _asking(self) -> ToolBlock | None:
        from studio.domain.transcript import ToolBlock

        assert self.session is not None
        for block in reversed(self.session.transcript.blocks):
            if isinstance(block, ToolBlock) and block.state == "waiting" and block.asks:
                return block if block.reply is None else None
        return None

    def _leave(self) -> None:
        """Hear no more of the session on screen."""
        if self._unsubscribe is not None:
            self._unsubscribe()
            self._unsubscribe = None

    def _later(self, work: Coroutine[Any, Any, Any]) -> asyncio.Task[Any]:
        task = asyncio.get_running_loop().create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._finished)
        return task

    def _finished(self, task: asyncio.Task[Any]) -> None:
        self._tasks.discard(task)
        if not task.cancelled() and (error := task.exception()) is not None:
            self.trouble.emit(str(error) or type(error).__name__)

    # Where things are

    def _arrange(self) -> None:
        new = self.session is None
        self.header.setVisible(not new)
        if not new or "view" in self.__dict__:
            self.view.setVisible(not new)
        self.heading.setVisible(new)
        self.suggestions.setVisible(new)
        self.composer.set_spacious(new)
        self._place()

    def resizeEvent(self, event: QResizeEvent) -> None:
        self._place()

    def _place(self) -> None:
        px, width, height = self.theme.px, self.width(), self.height()
        new = self.session is None
        room = width - 2 * px(24)
        box = min(px(680 if new else WIDTH), room)
        tall = self.composer.sizeHint().height()
        if new:
            top = max(px(24), int(height * 0.2285))
            self.heading.setGeometry(0, top, width, px(34))
            left = (width - box) // 2
            self.composer.setGeometry(left, top + px(52), box, tall)
            self.suggestions.setGeometry(left, top + px(52) + tall + px(15), box, px(120))
            return
        head = self.header.sizeHint().height()
        self.header.setGeometry(0, 0, width, head)
        # Avatar and text edges: the box hangs 36 px out to the left of the 680 px column.
        column = min(px(680), room - px(36)) if room < px(WIDTH) else px(680)
        left = (width - column - px(36)) // 2 if room >= px(WIDTH) else px(24)
        bottom = height - tall - px(18)
        self.view.setGeometry(QRect(0, head, width, max(0, bottom - head - px(4))))
        self.composer.setGeometry(left, bottom, box, tall)

    def paintEvent(self, event: QPaintEvent) -> None:
        painter = QPainter(self)
        painter.fillRect(self.rect(), self.theme.color("surface"))
        painter.end()


def _open_link(url: str) -> None:
    if url.startswith(("https://", "http://", "mailto:")):
        QDesktopServices.openUrl(QUrl(url))
