"""What the chat on screen runs on: agent, model, permission mode, folder."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from PySide6.QtCore import QObject, Qt, Signal
from PySide6.QtWidgets import QFileDialog

from studio.domain.errors import StudioError
from studio.ui.formatting import short_path

from .composer import Composer
from .option_menus import (
    CHOOSE_FOLDER,
    EFFORT_WORDS,
    OPEN_SETTINGS,
    effort_items,
    effort_of,
    efforts,
    folder_items,
    is_effort,
    model_items,
    model_key,
    split_key,
    turn_mode_items,
    turn_mode_of,
)

if TYPE_CHECKING:  # all this comes after the first paint
    from studio.agent.engine import Engine, SessionDefaults
    from studio.domain.agents import Agent, Mode
    from studio.domain.models import Effort, ModelInfo
    from studio.domain.sessions import SessionInfo

NAME_WAIT = 0.3
"""Seconds a new chat waits for the name of its model before it shows without."""


class SessionOptions(QObject):
    """Fills the composer's menus; takes what is chosen there and remembers it.

    ``later`` runs a coroutine on the event loop.
    """

    changed = Signal()
    """Something else is chosen or on offer: time to ``show``."""
    kept = Signal(dict)
    """The person chose: the fields of the session's info that this changes."""
    settings_wanted = Signal(str, str)
    trouble = Signal(str)

    def __init__(
        self, composer: Composer, later: Callable[[Coroutine[Any, Any, Any]], asyncio.Task[Any]]
    ) -> None:
        super().__init__(composer)
        self._composer, self._later = composer, later
        self._studio: Engine | None = None
        self._agents: list[Agent] = []
        self._choice: SessionDefaults
        self.mode = "ask"
        self.effort: Effort | None = None
        """How much the model is to think; None leaves it its default."""
        self.modes: dict[str, Mode] = {}
        """Modes of the next turns, by session; shared with what runs them."""
        self._session_id = ""
        """The session on screen; the mode of one that has not begun is kept under no id."""
        self.folder = ""
        self.model_chosen = False
        """Whether the person chose the model of the new chat themselves (L-13)."""
        self._as_set = True
        """Whether nothing else was chosen for it: what it runs on is what the settings say."""
        self._provider = ""
        """The provider that it was begun with, if with any."""
        self._new = True
        """Whether the chat on screen is one that has not begun."""
        self._looking: asyncio.Task[Any] | None = None
        self._dialog: QFileDialog | None = None
        composer.agent_chosen.connect(self._agent_chosen)
        composer.model_chosen.connect(self._model_chosen)
        composer.mode_chosen.connect(self._mode_chosen)
        composer.folder_chosen.connect(self._folder_chosen)
        composer.add_files.connect(self.add_files)
        composer.files_given.connect(self.take_files)

    @property
    def agent(self) -> str:
        return self._choice.agent

    @property
    def provider(self) -> str:
        return self._choice.provider

    @property
    def model_id(self) -> str:
        return self._choice.model

    @property
    def model(self) -> ModelInfo:
        assert self._studio is not None
        return self._studio.model(self.provider, self.model_id)

    @property
    def in_own_folder(self) -> bool:
        """Whether no folder was chosen: the chat works in the program's own."""
        return self._studio is not None and Path(self.folder) == self._studio.paths.data / "chats"

    def agent_icon(self, name: str) -> tuple[str, str]:
        """Icon and hue of an agent, also of one that is no longer there."""
        agent = next((agent for agent in self._agents if agent.name == name), None)
        return (agent.icon, agent.hue) if agent else ("bot", "slate")

    # Which chat it is about

    def live(self, studio: Engine) -> None:
        from studio.agent.engine import SessionDefaults

        self._choice = SessionDefaults("Coder", "", "")
        self._studio = studio
        studio.catalogue.subscribe(lambda _: self.changed.emit())
        self.folder = studio.settings.values.last_folder
        self.mode = studio.settings.values.default_permission_mode

    def begin(self, folder: str = "") -> None:
        """A new chat is on screen; ``find`` says what it runs on."""
        self._new = True
        self._session_id = ""
        self.modes.pop("", None)
        self.model_chosen = False
        self._as_set = True
        if self._studio is not None:
            self.mode = self._studio.settings.values.default_permission_mode
        self.effort = None
        self.folder = folder or self.folder

    def settings_changed(self) -> None:
        """The settings changed: a chat that has not begun, and for which nothing was chosen,
        runs on what they say now."""
        if self._new and self._as_set and self._studio is not None and self._looking is not None:
            self.mode = self._studio.settings.values.default_permission_mode
            self._looking.cancel()
            self._looking = self._later(self._find(self._provider))

    async def find(self, provider: str) -> None:
        """Look for folder, agents and model of the new chat; what is slow goes on after."""
        self._provider = provider
        self._looking = self._later(self._find(provider))
        await asyncio.wait([self._looking], timeout=NAME_WAIT)

    async def found(self) -> None:
        """Wait until all of it is known."""
        if self._looking is not None:
            await asyncio.wait([self._looking])

    async def _find(self, provider: str) -> None:
        assert self._studio is not None
        if not self.folder or not Path(self.folder).is_dir():
            self.folder = str(await asyncio.to_thread(self._studio.own_folder))
        await self._load_agents()
        await self._choose(provider)

    async def _choose(self, provider: str) -> None:
        """What a new chat runs on. Where no model is known yet its provider is asked."""
        from studio.agent.engine import SessionDefaults

        studio = self._studio
        assert studio is not None
        try:
            choice = await studio.choose(provider=provider, folder=Path(self.folder))
        except StudioError as error:
            self.trouble.emit(str(error))
            name = studio.settings.values.default_agent or self._choice.agent
            choice = SessionDefaults(name, provider or await studio.connections.default(), "")
        if self._new:
            self._choice = choice
            self.changed.emit()

    def take(self, info: SessionInfo) -> None:
        """A session is on screen: what it says is chosen."""
        from studio.agent.engine import SessionDefaults

        self._new = False
        self._session_id = info.id
        self.folder = info.folder
        self._choice = SessionDefaults(info.agent, info.provider, info.model)
        self.mode = info.permission_mode
        self.effort = info.effort

    def load_agents(self) -> None:
        """Read again which agents there are in the folder."""
        self._later(self._load_agents())

    async def _load_agents(self) -> None:
        assert self._studio is not None
        found = await self._studio.agents(Path(self.folder))
        self._agents = list(found.by_name.values())
        for problem in found.problems:
            self.trouble.emit(problem)
        self.changed.emit()

    # What is on offer

    def show(self) -> None:
        """Agent, model, mode and folder as chosen, with what else there is."""
        studio, composer = self._studio, self._composer
        assert studio is not None
        mode = self.modes.get(self._session_id, "")
        said = f"{self.agent}, {mode}" if mode else self.agent
        composer.set_agents(self._agents, self.agent, turn_mode_items(mode), said)
        current = model_key(self.provider, self.model_id) if self.model_id else ""
        thinking = effort_items(self.model, self.effort)
        items = model_items(studio, studio.connected, current, thinking)
        face = self.model.title or "Choose a model"
        if self.effort is not None:
            face = f"{face}, {EFFORT_WORDS[self.effort].lower()}"
        composer.set_models(items, current, face)
        composer.set_mode(self.mode)
        recent = studio.settings.values.recent_folders
        composer.set_folders(folder_items(recent), self.folder, self.folder_name)

    @property
    def folder_name(self) -> str:
        """The folder as a person reads it; a chat about no folder has one of the studio's own."""
        return "No folder" if self.in_own_folder else short_path(self.folder)

    # What the person chooses

    def _agent_chosen(self, name: str) -> None:
        if (mode := turn_mode_of(name)) is not None:
            self._mode_of_turns_chosen(mode)
            return
        self._choice = replace(self._choice, agent=name)
        self._keep(agent=name)

    def _mode_of_turns_chosen(self, mode: str) -> None:
        if mode == "inline" or mode == "background":
            self.modes[self._session_id] = mode
        else:
            self.modes.pop(self._session_id, None)
        self.changed.emit()

    def keep_mode(self, session_id: str) -> None:
        """The new chat is this session now."""
        if (mode := self.modes.pop("", None)) is not None:
            self.modes[session_id] = mode

    def _model_chosen(self, key: str) -> None:
        if key == OPEN_SETTINGS:
            self.changed.emit()
            self.settings_wanted.emit("providers", "")
            return
        if is_effort(key):
            self.effort = effort_of(key)
            self._keep(effort=self.effort)
            return
        provider, model = split_key(key)
        if self._looking is not None:
            self._looking.cancel()
        self._choice = replace(self._choice, provider=provider, model=model)
        self.model_chosen = True
        if self.effort not in (None, *efforts(self.model)):
            self.effort = None
        self._keep(provider=provider, model=model, effort=self.effort)
        if self._studio is not None:
            values = self._studio.settings.values
            values.default_provider, values.default_model[provider] = provider, model
            self._later(self._studio.settings.save())

    def _mode_chosen(self, mode: str) -> None:
        self.mode = mode
        self._keep(permission_mode=mode)

    def _keep(self, **fields: str | None) -> None:
        if "folder" not in fields:
            self._as_set = False
        self.kept.emit(fields)
        self.changed.emit()

    def _folder_chosen(self, folder: str) -> None:
        if folder == CHOOSE_FOLDER:
            self.choose_folder()
        else:
            self._set_folder(folder)

    def choose_folder(self) -> None:
        dialog = self._dialog = QFileDialog(self._composer, "Choose a folder", self.folder)
        dialog.setFileMode(QFileDialog.FileMode.Directory)
        dialog.setOption(QFileDialog.Option.ShowDirsOnly)
        dialog.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        dialog.fileSelected.connect(self._set_folder)
        dialog.open()

    def _set_folder(self, folder: str) -> None:
        self.folder = folder
        if self._studio is not None:
            self._studio.settings.values.use_folder(folder)
            self._later(self._studio.settings.save())
        self._keep(folder=folder)
        self.load_agents()

    async def remember_folder(self) -> None:
        """A chat began in this folder: offer it again."""
        assert self._studio is not None
        if not self.in_own_folder:
            self._studio.settings.values.use_folder(self.folder)
            await self._studio.settings.save()

    def add_files(self) -> None:
        """Choose files to go with the message."""
        dialog = self._dialog = QFileDialog(self._composer, "Add files", self.folder)
        dialog.setFileMode(QFileDialog.FileMode.ExistingFiles)
        dialog.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        dialog.filesSelected.connect(self.take_files)
        dialog.open()

    def take_files(self, paths: Sequence[str]) -> None:
        """Attach files; a folder is mentioned in the text, for the agent to look into."""
        found = [Path(path) for path in paths]
        folders = [path for path in found if path.is_dir()]
        self._composer.attachments.add([path for path in found if path not in folders])
        names: list[str] = []
        for folder in folders:
            try:
                names.append(f"@{folder.relative_to(self.folder).as_posix()}/")
            except ValueError:
                self.trouble.emit(f"{folder} is outside the folder of this chat.")
        if names:
            self._composer.editor.insertPlainText(" ".join(names) + " ")
        self._composer.setFocus()
