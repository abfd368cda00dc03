"""Shows what the rules would decide about a call that is typed, and why (T-7)."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

from PySide6.QtCore import Qt
from PySide6.QtWidgets import QHBoxLayout, QVBoxLayout

from studio.domain.errors import StudioError, ToolFailed
from studio.ui.formatting import short_path
from studio.ui.theme import Theme
from studio.ui.widgets import Card, Combo, Field, Label, MenuItem, Tag

from .tasks import Tasks

if TYPE_CHECKING:
    from studio.agent.engine import Engine
    from studio.agent.session.session import Session

NONE = "none"
CHAT = "chat"
WORDS = {"allow": ("Allowed", "ok"), "ask": ("Asks you", "warn"), "deny": ("Refused", "err")}


class RuleTester(Card):
    """Nothing is run. The latest that was typed is what is shown."""

    def __init__(
        self,
        theme: Theme,
        engine: Engine,
        tasks: Tasks,
        chat: Callable[[], Session | None],
    ) -> None:
        super().__init__(theme, "surface", "hair")
        self._engine, self._tasks, self._chat = engine, tasks, chat
        self._asked = 0
        column = QVBoxLayout(self)
        column.setContentsMargins(14, 12, 14, 12)
        column.setSpacing(8)
        row = QHBoxLayout()
        row.setSpacing(8)
        self.field = Field(theme, "run(git push)", role="code")
        self.field.setAccessibleName("A call: TOOL or TOOL(TARGET)")
        self.field.textChanged.connect(self.try_again)
        self.where = Combo(theme, "Chat or folder of the call", width=170)
        self.where.chosen.connect(self.try_again)
        row.addWidget(self.field, 1)
        row.addWidget(self.where)
        column.addLayout(row)
        said = QHBoxLayout()
        said.setSpacing(10)
        self.verdict = Tag(theme, "")
        self.why = Label(theme, "", "ui", "text2", wrap=True)
        said.addWidget(self.verdict, 0, Qt.AlignmentFlag.AlignTop)
        said.addWidget(self.why, 1)
        column.addLayout(said)

    def try_again(self) -> None:
        """Decide anew about what stands in the field."""
        folders = self._engine.settings.values.recent_folders
        items = [MenuItem(CHAT, "This chat")] if self._chat() else []
        items += [MenuItem(folder, short_path(folder)) for folder in folders]
        self.where.set_items(items or [MenuItem(NONE, "No folder")])
        keys = [item.key for item in items] or [NONE]
        if self.where.current not in keys:
            self.where.set_current(keys[0])
        self._asked += 1
        self._tasks.start(self._try(self._asked, self.field.text().strip()))

    async def _try(self, number: int, text: str) -> None:
        from studio.agent.permission.rules import parse_rule

        if not text:
            self._show("", "neutral", "Type a call to see what would become of it. Nothing is run.")
            return
        try:
            call = parse_rule(text, self._engine.tools())
            target = "" if call.pattern == "*" else call.pattern
            chosen = self.where.current
            chat = self._chat() if chosen == CHAT else None
            folder = self._engine.own_folder() if chosen in (NONE, CHAT) else Path(chosen)
            found = await self._engine.explain(call.tool, target, chat.info if chat else folder)
            words, kind = WORDS[found.verdict]
            spec = self._engine.tools()[call.tool].spec
            if spec.effect == "draft" and found.verdict != "deny" and not found.insists:
                words = "Draft first" if found.verdict == "ask" else "Written at once"
            why = found.why
        except (StudioError, ToolFailed) as error:
            words, kind, why = "", "neutral", str(error)
        if number == self._asked:
            self._show(words, kind, why)

    def _show(self, words: str, kind: str, why: str) -> None:
        self.verdict.set(words, kind)
        self.verdict.setVisible(bool(words))
        self.why.setText(why)
