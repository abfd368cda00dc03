"""Tries an agent, and another one beside it with the same words (W-60)."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from PySide6.QtCore import Signal

from studio.ui.chat.model.chat_model import ChatModel
from studio.ui.pages.page import Run
from studio.ui.theme import Theme
from studio.ui.translation import tr
from studio.ui.widgets import Combo, Hairline, IconButton, MenuItem
from studio.ui.widgets.layouts import row_of
from studio.ui.widgets.painting import PaintedWidget

from .try_chat import TryChat

if TYPE_CHECKING:
    from studio.agent.engine import Engine
    from studio.domain.agents import Agent


class TryPair(PaintedWidget):
    """A chat with one agent, and on wish a second one, which is told the same.

    Side by side they only read: what both would change could not be told apart.
    """

    ground = "surface"
    resized = Signal()
    """There is one chat more, or less."""

    def __init__(self, theme: Theme, engine: Engine, chat: ChatModel, run: Run) -> None:
        super().__init__(theme)
        self._agents: dict[str, Agent] = {}
        self._make: Callable[..., TryChat] = lambda *more, **words: TryChat(
            *(theme, engine, chat, run, *more), **words
        )
        self.beside = IconButton(
            theme, "git-compare-arrows", tr("Another agent beside it"), clicked=self.open_second
        )
        self.first = self._make(self.beside)
        self.choice = Combo(theme, tr("Agent"), chosen=self._choose)
        self.second = self._make(title=self.choice)
        self._edge = Hairline(theme, upright=True)
        row_of([(self.first, 1), self._edge, (self.second, 1)], spacing=0, on=self)
        self.first.said.connect(self._pass_on)
        self.second.closed.connect(self.close_second)
        self.second.hide()
        self._edge.hide()
        self.setFocusProxy(self.first)

    @property
    def is_pair(self) -> bool:
        return not self.second.isHidden()

    def show_agents(self, agents: Sequence[Agent]) -> None:
        """The agents that can stand beside the first one."""
        self._agents = {one.name: one for one in agents}
        self.choice.set_items([MenuItem(name, name) for name in self._agents])

    def open_second(self) -> None:
        """Begin both anew, beside each other."""
        if self.is_pair or not self._agents:
            return
        names = [name for name in self._agents if name != self.first.agent]
        known = self.second.agent in names
        self._choose(self.second.agent if known else next(iter(names), self.first.agent))
        self._set_pair(True)
        self.first.setFocus()

    def close_second(self) -> None:
        if self.is_pair:
            self._set_pair(False)
            self.first.setFocus()

    def _set_pair(self, wanted: bool) -> None:
        self.first.reads_only = self.second.reads_only = wanted
        self.first.begin(self.first.agent, self.first.look, anew=True)
        self.second.setVisible(wanted)
        self._edge.setVisible(wanted)
        self.beside.setVisible(not wanted)
        self.resized.emit()

    def _choose(self, name: str) -> None:
        agent = self._agents[name]
        self.choice.set_current(name)
        self.second.begin(name, (agent.icon, agent.hue), anew=True)

    def _pass_on(self, text: str) -> None:
        if self.is_pair:
            self.second.say(text)

    async def finish(self) -> None:
        for one in (self.first, self.second):
            await one.finish()
