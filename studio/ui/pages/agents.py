"""The Agents page: which agents there are, and where their files are."""

from __future__ import annotations

from PySide6.QtCore import QUrl
from PySide6.QtGui import QDesktopServices
from PySide6.QtWidgets import QWidget

from studio.files.folders import private_folder
from studio.ui.chat.model.session_options import ROLE_LIMITS
from studio.ui.widgets import Button, Tile

from .page import ListPage


class AgentsPage(ListPage):
    """A row for each agent, and one for each file that could not be read."""

    def open(self, *target: str) -> None:
        self._run(self._show_agents())

    async def _show_agents(self) -> None:
        found = await self._engine.agents()
        rows: list[QWidget] = [
            self.card(
                agent.name,
                agent.description,
                Tile(self._theme, agent.icon, agent.hue),
                ROLE_LIMITS[agent.role],
            )
            for agent in found.by_name.values()
        ]
        rows += [self.card("This file was skipped", problem) for problem in found.problems]
        folder = self._engine.paths.agents
        button = Button(self._theme, "Open the folder of your agents", icon="folder-open")
        button.clicked.connect(
            lambda: QDesktopServices.openUrl(QUrl.fromLocalFile(str(private_folder(folder))))
        )
        rows.append(button)
        self.show_rows(
            "Agents",
            f"An agent is a markdown file. Yours live in {folder}, a project’s in .agents/agents.",
            rows,
        )
