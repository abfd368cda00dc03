"""Lists the permission rules; rules are added, changed and removed in it (T-7)."""

from __future__ import annotations

import time
from collections.abc import Awaitable, Callable, Coroutine, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from PySide6.QtCore import QRect, QSize, Qt
from PySide6.QtGui import QKeyEvent, QPainter, QPaintEvent
from PySide6.QtWidgets import QHBoxLayout, QSizePolicy, QVBoxLayout, QWidget

from studio.agent.permission.invisible_characters import escape_invisible
from studio.domain.errors import StudioError
from studio.domain.permissions import Rule, Verdict
from studio.storage.config.permission_rules import StandingRule
from studio.ui.formatting import short_path
from studio.ui.theme import Theme
from studio.ui.widgets import Button, Combo, Field, IconButton, Label, Mark, MenuItem
from studio.ui.widgets.buttons import PaintedButton

from .form import FormCard, Slot
from .tasks import Tasks

if TYPE_CHECKING:
    from studio.agent.engine import Engine
    from studio.agent.permission.rules import SessionRules

_WRAP = int(Qt.TextFlag.TextWrapAnywhere) | int(Qt.AlignmentFlag.AlignVCenter)
LEAST = 24


class RuleButton(PaintedButton):
    """As wide as there is room; what is longer is wrapped, never cut off."""

    def __init__(self, theme: Theme, rule: str, about: str, parent: QWidget | None = None) -> None:
        super().__init__(theme, parent)
        self.setText(rule)
        self.setAccessibleName(f"Change {rule}")
        self.setAccessibleDescription(about)
        self.setToolTip("Change")
        self.setCursor(Qt.CursorShape.PointingHandCursor)
        policy = QSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Minimum)
        policy.setHeightForWidth(True)
        self.setSizePolicy(policy)

    def sizeHint(self) -> QSize:
        width = self.theme.metrics("code").horizontalAdvance(self.text()) + 2
        return QSize(width, self.heightForWidth(width))

    def minimumSizeHint(self) -> QSize:
        return QSize(self.theme.px(120), self.theme.px(LEAST))

    def heightForWidth(self, width: int) -> int:
        room = QRect(0, 0, max(1, width), 100_000)
        words = self.theme.metrics("code").boundingRect(room, _WRAP, self.text())
        return max(self.theme.px(LEAST), words.height())

    def keyPressEvent(self, event: QKeyEvent) -> None:
        if event.key() in (Qt.Key.Key_Return, Qt.Key.Key_Enter):
            self.click()
            return
        super().keyPressEvent(event)

    def paintEvent(self, event: QPaintEvent) -> None:
        painter = QPainter(self)
        font = self.theme.font("code")
        font.setUnderline(self.overlay() is not None)
        painter.setFont(font)
        painter.setPen(self.theme.color("text1"))
        painter.drawText(self.rect(), _WRAP, self.text())
        painter.end()


GROUPS: tuple[tuple[Verdict, str], ...] = (
    ("allow", "Always allowed"),
    ("ask", "Always asked about"),
    ("deny", "Never allowed"),
)
EVERYWHERE = "everywhere"
CHAT = "chat"


@dataclass(frozen=True, slots=True)
class ListedRule:
    """A rule in the list; ``about`` says where it counts, or which file it is from.

    ``where`` is a folder, ``EVERYWHERE`` or ``CHAT``; empty for a rule of a file,
    which is only shown.
    """

    rule: Rule
    about: str
    where: str = ""
    id: int = 0


class RuleList(QWidget):
    """``fill`` shows rules; ``look`` is run after one came, changed or went."""

    def __init__(
        self, theme: Theme, engine: Engine, tasks: Tasks, look: Callable[[], Awaitable[None]]
    ) -> None:
        super().__init__()
        self._theme, self._engine, self._tasks, self._look = theme, engine, tasks, look
        self._shown: Sequence[ListedRule] | None = None
        self._chat: SessionRules | None = None
        """The rules of the chat that is open."""
        self._changing: ListedRule | None = None
        """The rule that stands in the line to be changed."""
        self.removes: dict[str, IconButton] = {}
        """The button of each rule, by how it is written."""
        self.rules: dict[str, RuleButton] = {}
        column = QVBoxLayout(self)
        column.setContentsMargins(0, 0, 0, 0)
        column.setSpacing(14)
        self._lists = Slot()
        column.addWidget(self._lists)
        column.addLayout(self._adding())

    def _adding(self) -> QVBoxLayout:
        theme = self._theme
        made = QVBoxLayout()
        made.setSpacing(6)
        self.head = Label(theme, "Add rule", "ui_strong")
        made.addWidget(self.head)
        row = QHBoxLayout()
        row.setSpacing(8)
        self.verdict = Combo(theme, "What the rule does", width=90)
        words = (("allow", "Allow"), ("ask", "Ask"), ("deny", "Never"))
        self.verdict.set_items([MenuItem(key, text) for key, text in words])
        self.verdict.set_current("allow")
        self.field = Field(theme, "run(git status *)", role="code")
        self.field.setAccessibleName("Rule: TOOL or TOOL(PATTERN)")
        self.field.returnPressed.connect(self.save)
        self.field.textChanged.connect(lambda: self._say(""))
        self.where = Combo(theme, "Where the rule counts", width=150)
        self.button = Button(theme, "Add rule")
        self.button.clicked.connect(self.save)
        self.cancel = Button(theme, "Cancel", "ghost")
        self.cancel.clicked.connect(self._leave)
        self.cancel.hide()
        row.addWidget(self.verdict)
        row.addWidget(self.field, 1)
        row.addWidget(self.where)
        row.addWidget(self.button)
        row.addWidget(self.cancel)
        made.addLayout(row)
        self.problem = Label(theme, "", "small", "err", wrap=True)
        self.problem.hide()
        made.addWidget(self.problem)
        about = (
            "A tool, or a tool with a pattern for its command, path or address. * is any text. "
            "Click a rule to change it."
        )
        made.addWidget(Label(theme, about, "small", "text2", wrap=True))
        return made

    def fill(self, shown: Sequence[ListedRule], chat: SessionRules | None) -> None:
        """Show rules; those in ``CHAT`` are of ``chat``."""
        self._offer_places(chat is not None)
        if shown == self._shown and chat is self._chat:
            return  # whoever is about to press a button there still finds it
        gone = self._changing is not None and self._changing not in shown
        if gone or chat is not self._chat:
            self._change(None)
        self._shown, self._chat = shown, chat
        self.removes, self.rules = {}, {}
        groups = QWidget()
        column = QVBoxLayout(groups)
        column.setContentsMargins(0, 0, 0, 0)
        column.setSpacing(14)
        for verdict, title in GROUPS:
            rules = [one for one in shown if one.rule.verdict == verdict]
            if rules or verdict == "allow":
                column.addLayout(self._list(title, rules))
        self._lists.put(groups)

    def _offer_places(self, chat: bool) -> None:
        current = self.where.current or EVERYWHERE
        folders = list(self._engine.settings.values.recent_folders)
        if current not in (EVERYWHERE, CHAT, *folders):
            folders.append(current)
        items = [MenuItem(EVERYWHERE, "Everywhere")]
        if chat:
            items.append(MenuItem(CHAT, "This chat"))
        self.where.set_items([*items, *(MenuItem(one, short_path(one)) for one in folders)])
        self.where.set_current(EVERYWHERE if current == CHAT and not chat else current)

    def _list(self, title: str, rules: Sequence[ListedRule]) -> QVBoxLayout:
        column = QVBoxLayout()
        column.setSpacing(6)
        column.addWidget(Label(self._theme, title, "ui_strong"))
        rows = FormCard(self._theme)
        tools = self._engine.tools()
        for one in rules:
            tool = tools.get(one.rule.tool)
            icon = tool.spec.icon if tool else "globe"
            beside = QWidget()
            row = QHBoxLayout(beside)
            row.setContentsMargins(0, 0, 0, 0)
            row.setSpacing(12)
            row.addWidget(Label(self._theme, one.about, "small", "text2"))
            name = escape_invisible(str(one.rule))
            if not one.where:
                row.setContentsMargins(0, 0, 7, 0)  # its icon is below those of the buttons
                row.setSpacing(19)
                row.addWidget(Mark(self._theme, "lock", "text3", 14))
                rows.add(name, beside, icon=icon, role="code")
                continue
            remove = self.removes[name] = IconButton(self._theme, "x", f"Remove {name}")
            remove.setAccessibleDescription(f"{title}. {one.about}")
            remove.clicked.connect(lambda _on=False, one=one: self._remove(one))
            row.addWidget(remove, 0, Qt.AlignmentFlag.AlignVCenter)
            button = self.rules[name] = RuleButton(self._theme, name, f"{title}. {one.about}")
            button.clicked.connect(lambda _on=False, one=one: self._change(one))
            rows.add(button, beside, icon=icon)
        if not rules:
            rows.add_text("Nothing yet. “Always allow” in a question adds a rule here.")
        column.addWidget(rows)
        return column

    def _change(self, one: ListedRule | None) -> None:
        """Have a rule stand in the line to be changed; with None the line adds one again."""
        self._changing = one
        self.head.setText("Change rule" if one else "Add rule")
        self.button.set_text("Save" if one else "Add rule")
        self.cancel.setVisible(one is not None)
        if one is None:
            return
        self.verdict.set_current(one.rule.verdict)
        self.field.setText(str(one.rule))
        self.where.set_current(one.where)
        self._offer_places(self._chat is not None)
        self.field.setFocus(Qt.FocusReason.OtherFocusReason)

    def _leave(self) -> None:
        """Leave the rule that was to be changed as it is."""
        one = self._changing
        self._change(None)
        self.field.clear()
        if one is not None:
            self.rules[escape_invisible(str(one.rule))].setFocus(Qt.FocusReason.OtherFocusReason)

    def keyPressEvent(self, event: QKeyEvent) -> None:
        if event.key() == Qt.Key.Key_Escape and self._changing is not None:
            self._leave()  # the window stays
            return
        super().keyPressEvent(event)

    def _remove(self, one: ListedRule) -> None:
        self._tasks.start(self._work(self._removed(one)))

    async def _removed(self, one: ListedRule) -> None:
        if one.where != CHAT:
            await self._engine.rules.remove(one.id)
        elif self._chat is not None:
            await self._chat.remove(one.id)

    def save(self) -> None:
        """Keep the rule that was typed, in place of the one it was, or say what is wrong."""
        from studio.agent.permission.rules import parse_rule

        verdicts: dict[str, Verdict] = {key: key for key, _ in GROUPS}
        verdict = verdicts[self.verdict.current]
        try:
            rule = parse_rule(self.field.text().strip(), self._engine.tools(), verdict)
        except StudioError as error:
            self._say(str(error))
            return
        self._tasks.start(self._work(self._kept(rule, self.where.current, self._changing)))

    async def _kept(self, rule: Rule, where: str, old: ListedRule | None) -> None:
        chat = self._chat if where == CHAT else None
        folder = None if where in (EVERYWHERE, CHAT) else Path(where)
        same = old is not None and (old.where == CHAT) == (where == CHAT)
        if old is None or not same:
            await (chat.add(rule) if chat else self._engine.rules.add(rule, folder))
            if old is not None:
                await self._removed(old)
        elif chat is not None:
            await chat.change(old.id, rule)
        else:
            await self._engine.rules.change(old.id, rule, folder)
        if self._changing is old:
            self._change(None)
            self.field.clear()

    async def _work(self, work: Coroutine[Any, Any, None]) -> None:
        try:
            await work
        finally:
            await self._look()

    def _say(self, problem: str) -> None:
        self.problem.setText(problem)
        self.problem.setVisible(bool(problem))
        self.field.set_error(problem)


def scope_text(one: StandingRule) -> str:
    """Where a rule counts, and since when."""
    where = f"In {short_path(one.folder)}" if one.folder else "Everywhere"
    if not one.added:
        return where
    day, today = time.localtime(one.added), time.localtime()
    year = f" {day.tm_year}" if day.tm_year != today.tm_year else ""
    return f"{where}, since {day.tm_mday} {time.strftime('%b', day)}{year}"
