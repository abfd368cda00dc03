"""The users of an agent: the workflows and agents whose files name it, each a row to open it."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

from PySide6.QtCore import QRectF, QSize
from PySide6.QtGui import QPainter
from PySide6.QtWidgets import QSizePolicy

from studio.agent.permission.invisible_characters import escape_line
from studio.domain.agents import Agent
from studio.ui.theme import Theme
from studio.ui.widgets import PaintedButton
from studio.ui.widgets.painting import paint_text
from studio.workflows.workflow_files import WorkflowFile


@dataclass(frozen=True, slots=True)
class AgentUser:
    """A workflow or an agent that names another agent; ``page`` is where its file is shown."""

    name: str
    page: str
    file: str
    icon: str


def users_of(
    name: str, agents: Iterable[Agent], workflows: Sequence[WorkflowFile]
) -> list[AgentUser]:
    """Who starts the agent of this name, or hands over to it; not who may start any."""
    found: list[AgentUser] = []
    for file in workflows:
        flow = file.workflow
        if flow is not None and any(s.kind == "agent" and s.target == name for s in flow.steps):
            found.append(AgentUser(flow.name, "workflows", file.path.name, "workflow"))
    for agent in agents:
        named = {
            *agent.agents,
            *(one.agent for one in agent.handoffs),
            *(one.agent for one in agent.define),
        }
        if agent.name != name and name in named:
            found.append(AgentUser(agent.name, "agents", Path(agent.source).name, agent.icon))
    return found


class UserRow(PaintedButton):
    """The file of one user."""

    def __init__(self, theme: Theme, user: AgentUser) -> None:
        super().__init__(theme)
        self.user = user
        self.setText(escape_line(user.file, 80))
        self.setAccessibleName(self.text())
        self.setSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Fixed)

    def sizeHint(self) -> QSize:
        return QSize(self.theme.px(120), self.theme.height(24))

    def paint(self, painter: QPainter, rect: QRectF) -> None:
        t = self.theme
        self.paint_overlay(painter, rect)
        side, pad = t.px(16), t.px(6)
        box = QRectF(pad, (rect.height() - side) / 2, side, side)
        t.paint_icon(painter, box, self.user.icon, "text2")
        left = box.right() + t.px(8)
        place = QRectF(left, 0, rect.width() - pad - left, rect.height())
        paint_text(painter, t, place, self.text(), "ui", room=place.width())
