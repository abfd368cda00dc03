"""The rules on the Permissions page (T-7).

``RuleList`` lists, adds, changes and removes them. ``RuleTester`` shows what they would decide
about a call that the person types.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Coroutine, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from PySide6.QtCore import QRect, QRectF, QSize, Qt
from PySide6.QtGui import QKeyEvent, QPainter
from PySide6.QtWidgets import QSizePolicy, QVBoxLayout, QWidget

from studio.agent.permission.invisible_characters import escape_invisible
from studio.domain.errors import StudioError, ToolFailed
from studio.domain.permissions import Rule, Verdict
from studio.storage.config.permission_rules import StandingRule
from studio.ui.engine_texts import tr_engine
from studio.ui.formatting import day_of, short_path
from studio.ui.settings.form import FormCard, Slot
from studio.ui.settings.registry import SettingsTasks
from studio.ui.theme import Theme
from studio.ui.theme.mirroring import draw_text
from studio.ui.translation import tr, tr_later
from studio.ui.widgets import (
    Button,
    Card,
    Combo,
    Field,
    IconButton,
    Label,
    Mark,
    MenuItem,
    PaintedButton,
    Tag,
)
from studio.ui.widgets.layouts import column_of, row_of, widget_of

if TYPE_CHECKING:
    from studio.agent.engine import Engine
    from studio.agent.permission.rules import SessionRules
    from studio.agent.session.session import Session

_WRAP = int(Qt.TextFlag.TextWrapAnywhere) | int(Qt.AlignmentFlag.AlignVCenter)
MINIMUM_HEIGHT = 24
RULE_VERDICTS: tuple[tuple[Verdict, str], ...] = (
    ("allow", tr_later("Allow")),
    ("ask", tr_later("Ask")),
    ("deny", tr_later("Never")),
)
EVERYWHERE = "everywhere"
CHAT = "chat"


class RuleButton(PaintedButton):
    """A rule, to be clicked. It takes the width there is; a longer rule is wrapped."""

    def __init__(self, theme: Theme, rule: str, about: str) -> None:
        super().__init__(theme)
        self.setText(rule)
        self.setAccessibleName(tr("Change {rule}").format(rule=rule))
        self.setAccessibleDescription(about)
        self.setToolTip(tr("Change"))
        self.setCursor(Qt.CursorShape.PointingHandCursor)
        policy = QSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Minimum)
        policy.setHeightForWidth(True)
        self.setSizePolicy(policy)

    def sizeHint(self) -> QSize:
        width = self.theme.metrics("code").horizontalAdvance(self.text()) + 2
        return QSize(width, self.heightForWidth(width))

    def minimumSizeHint(self) -> QSize:
        return QSize(self.theme.px(120), self.theme.px(MINIMUM_HEIGHT))

    def heightForWidth(self, width: int) -> int:
        room = QRect(0, 0, max(1, width), 100_000)
        text = self.theme.metrics("code").boundingRect(room, _WRAP, self.text())
        return max(self.theme.px(MINIMUM_HEIGHT), text.height())

    def keyPressEvent(self, event: QKeyEvent) -> None:
        if event.key() in (Qt.Key.Key_Return, Qt.Key.Key_Enter):
            self.click()
            return
        super().keyPressEvent(event)

    def paint(self, painter: QPainter, rect: QRectF) -> None:
        font = self.theme.font("code")
        font.setUnderline(self.overlay() is not None)
        painter.setFont(font)
        painter.setPen(self.theme.color("text1"))
        draw_text(painter, rect, _WRAP, self.text())


GROUPS: tuple[tuple[Verdict, str], ...] = (
    ("allow", tr_later("Always allowed")),
    ("ask", tr_later("Always asked about")),
    ("deny", tr_later("Never allowed")),
)


class VerdictCombo(Combo):
    """Chooses what a rule does: allow, ask or never."""

    def __init__(self, theme: Theme) -> None:
        super().__init__(theme, tr("What the rule does"), width=90)
        self.set_items([MenuItem(key, tr(text)) for key, text in RULE_VERDICTS])
        self.set_current("allow")

    def wide_size(self) -> QSize:
        """With room for each of its words, which are longer in other languages."""
        t, hint = self.theme, super().wide_size()
        words = max(t.metrics("ui").horizontalAdvance(tr(text)) for _, text in RULE_VERDICTS)
        return QSize(max(hint.width(), words + t.px(40)), hint.height())

    @property
    def verdict(self) -> Verdict:
        verdicts: dict[str, Verdict] = {key: key for key, _ in RULE_VERDICTS}
        return verdicts[self.current]


@dataclass(frozen=True, slots=True)
class ListedRule:
    """A rule in the list; ``about`` says where it applies, or which file it is from.

    ``where`` is a folder, ``EVERYWHERE`` or ``CHAT``. It is empty for a rule of a file, which
    cannot be changed here. ``id`` is its key in the store or in the chat.
    """

    rule: Rule
    about: str
    where: str = ""
    id: int = 0


class RuleList(QWidget):
    """Shows the rules that ``fill`` gets; ``reload`` is run after one was added or changed."""

    def __init__(
        self,
        theme: Theme,
        engine: Engine,
        tasks: SettingsTasks,
        reload: Callable[[], Awaitable[None]],
    ) -> None:
        super().__init__()
        self._theme, self._engine, self._tasks, self._reload = theme, engine, tasks, reload
        self._shown: Sequence[ListedRule] | None = None
        self._chat: SessionRules | None = None
        """The rules of the open chat."""
        self._edited: ListedRule | None = None
        """The rule in the editor, None while the editor adds a new one."""
        self.removes: dict[str, IconButton] = {}
        """The remove button of each rule, by the rule's text."""
        self.rules: dict[str, RuleButton] = {}
        self._lists = Slot()
        column_of([self._lists, self._make_editor()], spacing=14, on=self)

    def _make_editor(self) -> QVBoxLayout:
        theme = self._theme
        self.head = Label(theme, tr("Add rule"), "ui_strong")
        self.verdict = VerdictCombo(theme)
        name = tr("Rule: TOOL or TOOL(PATTERN)")
        self.field = Field(theme, "run(git status *)", role="code", name=name)
        self.field.returnPressed.connect(self.save)
        self.field.textChanged.connect(lambda: self._show_problem(""))
        self.where = Combo(theme, tr("Where the rule counts"), width=150)
        self.button = Button(theme, tr("Add rule"), clicked=self.save)
        self.cancel = Button(theme, tr("Cancel"), "ghost", clicked=self._cancel_edit)
        self.cancel.hide()
        self.problem = Label(theme, "", "small", "err", wrap=True)
        self.problem.hide()
        about = tr(
            "A tool, or a tool with a pattern for its command, path or address. * is any text. "
            "Click a rule to change it."
        )
        row = (self.verdict, (self.field, 1), self.where, self.button, self.cancel)
        line = Label(theme, about, "small", "text2", wrap=True)
        return column_of([self.head, row_of(row, spacing=8), self.problem, line], spacing=6)

    def fill(self, shown: Sequence[ListedRule], chat: SessionRules | None) -> None:
        """Show rules; ``chat`` has those with ``where`` equal to ``CHAT``."""
        self._show_scopes(chat is not None)
        if shown == self._shown and chat is self._chat:
            return  # a button that is about to be pressed stays
        gone = self._edited is not None and self._edited not in shown
        if gone or chat is not self._chat:
            self._edit(None)
        self._shown, self._chat = shown, chat
        self.removes, self.rules = {}, {}
        column = column_of(spacing=14)
        for verdict, title in GROUPS:
            rules = [listed for listed in shown if listed.rule.verdict == verdict]
            if rules or verdict == "allow":
                column.addLayout(self._make_group(tr(title), rules))
        self._lists.put(widget_of(column))

    def _show_scopes(self, chat: bool) -> None:
        current = self.where.current or EVERYWHERE
        folders = list(self._engine.settings.values.recent_folders)
        if current not in (EVERYWHERE, CHAT, *folders):
            folders.append(current)
        items = [MenuItem(EVERYWHERE, tr("Everywhere"))]
        if chat:
            items.append(MenuItem(CHAT, tr("This chat")))
        self.where.set_items([*items, *(MenuItem(one, short_path(one)) for one in folders)])
        self.where.set_current(EVERYWHERE if current == CHAT and not chat else current)

    def _make_group(self, title: str, rules: Sequence[ListedRule]) -> QVBoxLayout:
        rows = FormCard(self._theme)
        tools = self._engine.tools()
        for listed in rules:
            tool = tools.get(listed.rule.tool)
            icon = tool.spec.icon if tool else "globe"
            about = Label(self._theme, listed.about, "small", "text2")
            name = escape_invisible(str(listed.rule))
            if not listed.where:
                lock = Mark(self._theme, "lock", "text3", 14)
                margins = (0, 0, 7, 0)  # aligns the lock with the remove buttons
                beside = widget_of(row_of([about, lock], spacing=19, margins=margins))
                rows.add(name, beside, icon=icon, role="code")
                continue
            remove = self.removes[name] = IconButton(
                self._theme, "x", tr("Remove {name}").format(name=name)
            )
            remove.setAccessibleDescription(f"{title}. {listed.about}")
            remove.clicked.connect(lambda _on=False, listed=listed: self._remove(listed))
            beside = row_of([about, (remove, Qt.AlignmentFlag.AlignVCenter)], spacing=12)
            button = self.rules[name] = RuleButton(self._theme, name, f"{title}. {listed.about}")
            button.clicked.connect(lambda _on=False, listed=listed: self._edit(listed))
            rows.add(button, widget_of(beside), icon=icon)
        if not rules:
            rows.add_text(tr("Nothing yet. “Always allow” in a question adds a rule here."))
        return column_of([Label(self._theme, title, "ui_strong"), rows], spacing=6)

    def _edit(self, listed: ListedRule | None) -> None:
        """Put a rule into the editor; with None the editor adds a new one again."""
        self._edited = listed
        self.head.setText(tr("Change rule") if listed else tr("Add rule"))
        self.button.set_text(tr("Save") if listed else tr("Add rule"))
        self.cancel.setVisible(listed is not None)
        if listed is None:
            return
        self.verdict.set_current(listed.rule.verdict)
        self.field.setText(str(listed.rule))
        self.where.set_current(listed.where)
        self._show_scopes(self._chat is not None)
        self.field.setFocus(Qt.FocusReason.OtherFocusReason)

    def _cancel_edit(self) -> None:
        edited = self._edited
        self._edit(None)
        self.field.clear()
        if edited is not None:
            name = escape_invisible(str(edited.rule))
            self.rules[name].setFocus(Qt.FocusReason.OtherFocusReason)

    def keyPressEvent(self, event: QKeyEvent) -> None:
        if event.key() == Qt.Key.Key_Escape and self._edited is not None:
            self._cancel_edit()  # and the window stays open
            return
        super().keyPressEvent(event)

    def _remove(self, listed: ListedRule) -> None:
        self._tasks.start(self._then_reload(self._remove_stored(listed)))

    async def _remove_stored(self, listed: ListedRule) -> None:
        if listed.where != CHAT:
            await self._engine.rules.remove(listed.id)
        elif self._chat is not None:
            await self._chat.remove(listed.id)

    def save(self) -> None:
        """Store the typed rule, in place of the edited one, or show what is wrong with it."""
        from studio.agent.permission.rules import parse_rule

        try:
            rule = parse_rule(self.field.text().strip(), self._engine.tools(), self.verdict.verdict)
        except StudioError as error:
            self._show_problem(tr_engine(str(error)))
            return
        work = self._store(rule, self.where.current, self._edited)
        self._tasks.start(self._then_reload(work))

    async def _store(self, rule: Rule, where: str, old: ListedRule | None) -> None:
        chat = self._chat if where == CHAT else None
        folder = None if where in (EVERYWHERE, CHAT) else Path(where)
        same = old is not None and (old.where == CHAT) == (where == CHAT)
        if old is None or not same:
            await (chat.add(rule) if chat else self._engine.rules.add(rule, folder))
            if old is not None:
                await self._remove_stored(old)
        elif chat is not None:
            await chat.change(old.id, rule)
        else:
            await self._engine.rules.change(old.id, rule, folder)
        if self._edited is old:
            self._edit(None)
            self.field.clear()

    async def _then_reload(self, work: Coroutine[Any, Any, None]) -> None:
        try:
            await work
        finally:
            await self._reload()

    def _show_problem(self, problem: str) -> None:
        self.problem.show_text(problem)
        self.field.set_error(problem)


def scope_text(stored: StandingRule) -> str:
    """Where a stored rule applies, and since when."""
    where = tr("Everywhere")
    if stored.folder:
        where = tr("In {folder}").format(folder=short_path(stored.folder))
    if not stored.added:
        return where
    return tr("{where}, since {day}").format(where=where, day=day_of(stored.added))


NO_FOLDER = "none"
DECISIONS = {
    "allow": (tr_later("Allowed"), "ok"),
    "ask": (tr_later("Asks you"), "warn"),
    "deny": (tr_later("Refused"), "err"),
}
"""The text of a decision and the colour of its tag."""


class RuleTester(Card):
    """Decides about the call in its field, and shows the decision. Nothing is run."""

    def __init__(
        self,
        theme: Theme,
        engine: Engine,
        tasks: SettingsTasks,
        chat: Callable[[], Session | None],
    ) -> None:
        super().__init__(theme, "surface", "hair")
        self._engine, self._tasks, self._chat = engine, tasks, chat
        self._attempts = 0
        name = tr("A call: TOOL or TOOL(TARGET)")
        self.field = Field(theme, "run(git push)", role="code", name=name)
        self.field.textChanged.connect(self.try_again)
        self.where = Combo(
            theme, tr("Chat or folder of the call"), width=170, chosen=self.try_again
        )
        self.verdict = Tag(theme, "")
        self.why = Label(theme, "", "ui", "text2", wrap=True)
        call = row_of([(self.field, 1), self.where], spacing=8)
        answer = row_of([(self.verdict, Qt.AlignmentFlag.AlignTop), (self.why, 1)], spacing=10)
        column_of([call, answer], spacing=8, margins=(14, 12, 14, 12), on=self)

    def try_again(self) -> None:
        """Decide about the call in the field."""
        folders = self._engine.settings.values.recent_folders
        items = [MenuItem(CHAT, tr("This chat"))] if self._chat() else []
        items += [MenuItem(folder, short_path(folder)) for folder in folders]
        self.where.set_items(items or [MenuItem(NO_FOLDER, tr("No folder"))])
        keys = [item.key for item in items] or [NO_FOLDER]
        if self.where.current not in keys:
            self.where.set_current(keys[0])
        self._attempts += 1
        self._tasks.start(self._try(self._attempts, self.field.text().strip()))

    async def _try(self, attempt: int, text: str) -> None:
        from studio.agent.permission.rules import parse_rule

        if not text:
            self._show(
                "", "neutral", tr("Type a call to see what would become of it. Nothing is run.")
            )
            return
        try:
            call = parse_rule(text, self._engine.tools())
            target = "" if call.pattern == "*" else call.pattern
            chosen = self.where.current
            chat = self._chat() if chosen == CHAT else None
            folder = self._engine.own_folder() if chosen in (NO_FOLDER, CHAT) else Path(chosen)
            found = await self._engine.explain(call.tool, target, chat.info if chat else folder)
            words, kind = DECISIONS[found.verdict]
            decision = tr(words)
            tool = self._engine.tools().get(call.tool)  # None for one of a server
            drafts = tool is not None and tool.spec.effect == "draft"
            if drafts and found.verdict != "deny" and not found.insists:
                decision = tr("Draft first") if found.verdict == "ask" else tr("Written at once")
            why = tr_engine(found.why)
        except (StudioError, ToolFailed) as error:
            decision, kind, why = "", "neutral", tr_engine(str(error))
        if attempt == self._attempts:  # nothing was typed meanwhile
            self._show(decision, kind, why)

    def _show(self, decision: str, kind: str, why: str) -> None:
        self.verdict.set(decision, kind)
        self.verdict.setVisible(bool(decision))
        self.why.setText(why)
