"""Shows a chat's native history as the provider gets it: the newest, or an earlier one."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass

from PySide6.QtCore import Qt, Signal
from PySide6.QtGui import QGuiApplication
from PySide6.QtWidgets import QFrame, QPlainTextEdit, QWidget

from studio.domain.jsonvalue import Json, JsonObject
from studio.providers.registry import PROVIDER_TITLES
from studio.ui.engine_texts import tr_engine
from studio.ui.theme import Theme
from studio.ui.translation import tr, tr_plural
from studio.ui.widgets import Button, Combo, FocusRing, Label, MenuItem
from studio.ui.widgets.layouts import column_of, row_of

LONG = 4_000
"""Characters of one string that are shown; pictures are base64 of megabytes."""


@dataclass(frozen=True, slots=True)
class HistoryFacts:
    """One epoch of a history. ``remark`` says why it began, or what is wrong with it.

    ``others`` are all epochs to choose from: number, words, detail.
    """

    provider: str = ""
    items: Sequence[JsonObject] = ()
    number: int = 1
    remark: str = ""
    others: Sequence[tuple[int, str, str]] = ()


class HistoryPage(QWidget):
    """The provider's own items as JSON, made when the page is looked at."""

    wanted = Signal(int)
    """The number of an epoch to be shown."""

    def __init__(self, theme: Theme) -> None:
        super().__init__()
        self.theme = theme
        self._items: Sequence[JsonObject] = ()
        self._stale = False
        self.epochs = Combo(theme, tr("History"), chosen=lambda key: self.wanted.emit(int(key)))
        self.epochs.hide()
        self.remark = Label(theme, "", "small", "text2", wrap=True)
        self.remark.hide()
        self.label = Label(theme, "", "small", "text2")
        self.copy = Button(theme, tr("Copy"), "ghost", icon="copy", clicked=self._copy)
        self.text = QPlainTextEdit()
        self.text.setLayoutDirection(Qt.LayoutDirection.LeftToRight)  # it is code
        self.text.setReadOnly(True)
        self.text.setFrameShape(QFrame.Shape.NoFrame)
        self.text.setLineWrapMode(QPlainTextEdit.LineWrapMode.NoWrap)
        self.text.setAccessibleName(tr("History as the provider gets it"))
        self.text.setTabChangesFocus(True)
        self.text.viewport().setAutoFillBackground(False)
        FocusRing.of(theme).follow(self.text)
        chooser = row_of([self.epochs], margins=(0, 0, 8, 0))
        head = row_of([(self.label, 1), self.copy])
        parts = (chooser, self.remark, head, (self.text, 1))
        column_of(parts, margins=(16, 10, 8, 0), on=self)
        self._follow()
        theme.changed.connect(self._follow)

    def set(self, facts: HistoryFacts) -> None:
        """Show a history; its items are read when the page is looked at."""
        self._items = facts.items
        self._stale = True
        count = len(facts.items)
        items = tr_plural("{count} item", "{count} items", count)
        provider = PROVIDER_TITLES.get(facts.provider, facts.provider)
        self.label.setText(f"{provider}, {items}" if provider else tr("Nothing was sent yet"))
        self.copy.setEnabled(bool(facts.items))
        self.remark.show_text(tr_engine(facts.remark))
        self.epochs.setVisible(len(facts.others) > 1)
        self.epochs.set_items([MenuItem(str(n), words, detail=d) for n, words, d in facts.others])
        self.epochs.set_current(str(facts.number))
        current = next((words for n, words, _ in facts.others if n == facts.number), "")
        self.epochs.set_face(current)
        if self.isVisible():
            self.show_now()

    def show_now(self) -> None:
        """Make the text, if it is not there yet."""
        if self._stale:
            self._stale = False
            shortened = [_short(item) for item in self._items]
            text = json.dumps(shortened, indent=2, ensure_ascii=False) if shortened else ""
            self.text.setPlainText(text)

    def _copy(self) -> None:
        whole = json.dumps(list(self._items), indent=2, ensure_ascii=False)
        QGuiApplication.clipboard().setText(whole)

    def _follow(self) -> None:
        self.text.setFont(self.theme.font("code"))


def _short(value: Json) -> Json:
    if isinstance(value, str) and len(value) > LONG:
        return value[:LONG] + tr_plural(
            "… ({count} more character)", "… ({count} more characters)", len(value) - LONG
        )
    if isinstance(value, list):
        return [_short(part) for part in value]
    if isinstance(value, dict):
        return {name: _short(part) for name, part in value.items()}
    return value
