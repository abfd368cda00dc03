"""Lists the permission rules for clients of the server, to add and remove (S-4, T-7)."""

from __future__ import annotations

from collections.abc import Callable, Collection
from functools import partial

from PySide6.QtCore import Qt, Signal
from PySide6.QtWidgets import QHBoxLayout, QVBoxLayout, QWidget

from studio.domain.errors import StudioError
from studio.domain.permissions import Verdict
from studio.storage.config.settings import Settings
from studio.ui.theme import Theme
from studio.ui.widgets import Button, Combo, Field, IconButton, Label, MenuItem

from .form import FormCard, Slot

WORDS: tuple[tuple[Verdict, str], ...] = (("allow", "Allow"), ("ask", "Ask"), ("deny", "Never"))
USUAL = (
    "Clients may have agents read in this folder. Everything else is asked in this window, "
    "or refused when it is closed."
)


class ClientRules(QWidget):
    """Shows ``server_rules`` and lets them be changed; ``changed`` comes after each."""

    changed = Signal()

    def __init__(
        self, theme: Theme, settings: Settings, tools: Callable[[], Collection[str]]
    ) -> None:
        super().__init__()
        self._theme, self._settings, self._tools = theme, settings, tools
        self.removes: dict[str, IconButton] = {}
        """The button of each rule, by how it is written."""
        self._listed = Slot()
        column = QVBoxLayout(self)
        column.setContentsMargins(0, 0, 0, 0)
        column.setSpacing(8)
        column.addWidget(self._listed)
        row = QHBoxLayout()
        row.setSpacing(8)
        self.verdict = Combo(theme, "What the rule does", width=90)
        self.verdict.set_items([MenuItem(key, text) for key, text in WORDS])
        self.verdict.set_current("allow")
        self.field = Field(theme, "run(pytest *)", role="code")
        self.field.setAccessibleName("Rule for clients: TOOL or TOOL(PATTERN)")
        self.field.returnPressed.connect(self.add)
        self.field.textChanged.connect(lambda: self._say(""))
        self.button = Button(theme, "Add rule")
        self.button.clicked.connect(self.add)
        row.addWidget(self.verdict)
        row.addWidget(self.field, 1)
        row.addWidget(self.button)
        column.addLayout(row)
        self.problem = Label(theme, "", "small", "err", wrap=True)
        self.problem.hide()
        column.addWidget(self.problem)

    def show_rules(self) -> None:
        """Show the rules as the settings have them."""
        rows = FormCard(self._theme)
        rows.add_text(USUAL)
        self.removes = {}
        for verdict, words in WORDS:
            for text in self._settings.server_rules.get(verdict, ()):
                beside = QWidget()
                row = QHBoxLayout(beside)
                row.setContentsMargins(0, 0, 0, 0)
                row.setSpacing(12)
                row.addWidget(Label(self._theme, words, "small", "text2"))
                remove = IconButton(self._theme, "x", f"Remove {words.lower()} {text}")
                remove.clicked.connect(partial(self._remove, verdict, text))
                row.addWidget(remove, 0, Qt.AlignmentFlag.AlignVCenter)
                rows.add(text, beside, role="code")
                self.removes[f"{verdict} {text}"] = remove
        self._listed.put(rows)

    def add(self) -> None:
        """Keep the rule that was typed, or say what is wrong with it."""
        from studio.agent.permission.rules import parse_rule

        verdicts: dict[str, Verdict] = {key: key for key, _ in WORDS}
        verdict = verdicts[self.verdict.current]
        try:
            rule = str(parse_rule(self.field.text().strip(), self._tools(), verdict))
        except StudioError as error:
            self._say(str(error))
            return
        kept = self._settings.server_rules
        if rule not in kept.get(verdict, []):
            kept[verdict] = [*kept.get(verdict, []), rule]
        self.field.clear()
        self.show_rules()
        self.changed.emit()

    def _remove(self, verdict: Verdict, text: str, _checked: bool = False) -> None:
        kept = self._settings.server_rules
        kept[verdict] = [one for one in kept.get(verdict, []) if one != text]
        self.show_rules()
        self.changed.emit()

    def _say(self, problem: str) -> None:
        self.problem.setText(problem)
        self.problem.setVisible(bool(problem))
        self.field.set_error(problem)
