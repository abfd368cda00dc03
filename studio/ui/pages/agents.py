"""Agents and workflows, as lists: where they are and what they are."""

from __future__ import annotations

from collections.abc import Sequence

from PySide6.QtCore import Qt, QUrl
from PySide6.QtGui import QDesktopServices, QPainter, QPaintEvent
from PySide6.QtWidgets import QFrame, QHBoxLayout, QScrollArea, QVBoxLayout, QWidget

from studio.agent.engine import Engine
from studio.storage.paths import private_folder
from studio.ui.chat.composer import ROLE_LIMITS
from studio.ui.theme import Theme
from studio.ui.widgets import Button, Card, Label, Tag, Tile


class AgentsPage(QWidget):
    """One page; ``show_place`` fills it anew."""

    def __init__(self, theme: Theme, studio: Engine) -> None:
        super().__init__()
        self._theme = theme
        self._studio = studio
        self._area = QScrollArea(self)
        self._area.setWidgetResizable(True)
        self._area.setFrameShape(QFrame.Shape.NoFrame)
        self._area.viewport().setAutoFillBackground(False)
        column = QVBoxLayout(self)
        column.setContentsMargins(0, 0, 0, 0)
        column.addWidget(self._area)
        theme.changed.connect(self.update)

    async def show_place(self, name: str) -> None:
        """``agents`` or ``workflows``."""
        if name == "agents":
            await self._show_agents()
        else:
            self._fill("Workflows", "Many agents on one task. They come with a later version.", [])

    async def _show_agents(self) -> None:
        found = await self._studio.agents()
        rows: list[QWidget] = []
        for agent in found.by_name.values():
            rows.append(
                self._row(
                    agent.name,
                    agent.description,
                    Tile(self._theme, agent.icon, agent.hue),
                    ROLE_LIMITS[agent.role],
                )
            )
        for problem in found.problems:
            rows.append(self._row("This file was skipped", problem, None))
        folder = self._studio.paths.agents
        own = Button(self._theme, "Open the folder of your agents", icon="folder-open")
        own.clicked.connect(
            lambda: QDesktopServices.openUrl(QUrl.fromLocalFile(str(private_folder(folder))))
        )
        rows.append(own)
        self._fill(
            "Agents",
            f"An agent is a markdown file. Yours live in {folder}, a project’s in .agents/agents.",
            rows,
        )

    def _row(self, title: str, text: str, tile: QWidget | None, tag: str = "") -> QWidget:
        card = Card(self._theme)
        row = QHBoxLayout(card)
        row.setContentsMargins(14, 10, 14, 10)
        row.setSpacing(12)
        if tile is not None:
            row.addWidget(tile)
        words = QVBoxLayout()
        words.setSpacing(2)
        words.addWidget(Label(self._theme, title, "heading", "text1"))
        about = Label(self._theme, text, "ui", "text2")
        about.setWordWrap(True)
        words.addWidget(about)
        row.addLayout(words, 1)
        if tag:
            row.addWidget(Tag(self._theme, tag), 0, Qt.AlignmentFlag.AlignVCenter)
        return card

    def _fill(self, title: str, text: str, rows: Sequence[QWidget]) -> None:
        inner = QWidget()
        column = QVBoxLayout(inner)
        column.setContentsMargins(24, 24, 24, 24)
        column.setSpacing(8)
        column.addWidget(Label(self._theme, title, "title", "text1"))
        about = Label(self._theme, text, "ui", "text2")
        about.setWordWrap(True)
        column.addWidget(about)
        column.addSpacing(8)
        for row in rows:
            column.addWidget(row)
        column.addStretch(1)
        inner.setMaximumWidth(self._theme.px(720))
        self._area.setWidget(inner)

    def paintEvent(self, event: QPaintEvent) -> None:
        painter = QPainter(self)
        painter.fillRect(self.rect(), self._theme.color("surface"))
        painter.end()
