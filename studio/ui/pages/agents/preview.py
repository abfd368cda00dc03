"""The agent as it will be seen: its tile, what it is for, and its instructions."""

from __future__ import annotations

from PySide6.QtGui import QResizeEvent
from PySide6.QtWidgets import QWidget

from studio.agent.agent_files.parser import AgentText
from studio.domain.blocks import TextBlock
from studio.domain.transcript import Transcript
from studio.ui.theme import Theme
from studio.ui.transcript.view import TranscriptView
from studio.ui.translation import tr
from studio.ui.widgets import Label, Tile
from studio.ui.widgets.layouts import column_of, row_of, widget_of


class Preview(QWidget):
    """Read-only; shows what was given last."""

    def __init__(self, theme: Theme) -> None:
        super().__init__()
        self._theme = theme
        self.tile = Tile(theme, "sparkle", "slate", 36)
        self.name, self.about = (
            Label(theme, "", "title"),
            Label(theme, "", "ui", "text2", wrap=True),
        )
        self.view = TranscriptView(theme)
        self.view.setAccessibleName(tr("Instructions"))
        words = column_of([self.name, self.about], spacing=2)
        self._head = row_of([self.tile, (words, 1)], spacing=12)
        column_of([widget_of(self._head), (self.view, 1)], spacing=0, on=self)

    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        self._align()

    def _align(self) -> None:
        """Put the name above the text, and the tile left of it."""
        column = self.view.canvas_viewport.column_left
        left = int(column - self.tile.sizeHint().width() - self._head.spacing())
        self._head.setContentsMargins(max(8, left), self._theme.px(20), self._theme.px(24), 0)

    def show_agent(self, found: AgentText, name: str) -> None:
        values = found.values
        icon, hue = str(values.get("icon", "sparkle")), str(values.get("hue", "slate"))
        shown = str(values.get("name", name))
        self.tile.set(icon, hue)
        self.name.setText(shown)
        self.about.show_text(str(values.get("description", "")))
        self.view.context.agent = lambda _: (icon, hue)
        made = Transcript()
        if found.prompt:
            made.blocks.append(TextBlock(found.prompt, live=False))
        self.view.set_transcript(made, read_only=True)
        self.view.canvas_viewport.scroll_to(0)
        self._align()
