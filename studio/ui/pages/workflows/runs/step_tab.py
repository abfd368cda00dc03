"""The Step tab: one step or item of a run, and the next request where the run is stopped (W-65)."""

from __future__ import annotations

from PySide6.QtCore import QModelIndex, QRectF, QSize, Qt, Signal
from PySide6.QtGui import QPainter
from PySide6.QtWidgets import QStyledItemDelegate, QStyleOptionViewItem, QWidget

from studio.ui.graph.nodes import STATES
from studio.ui.inspector.fact_list import FactList
from studio.ui.theme import Theme, joined
from studio.ui.theme.mirroring import mirrored_row
from studio.ui.translation import tr
from studio.ui.widgets import (
    Button,
    Index,
    Label,
    Mark,
    Tile,
)
from studio.ui.widgets.code_box import CodeBox
from studio.ui.widgets.layouts import STRETCH, WrappingRow, column_of, row_of, widget_of
from studio.ui.widgets.painting import paint_spinner, paint_text
from studio.ui.widgets.row_list import RowModel, paint_row_ground

from .letter_list import LetterList
from .step_facts import ItemRow, StepFacts


def spoken_item(row: ItemRow) -> str:
    return joined((row.words, tr(STATES[row.state][0]) if row.state else "", row.about))


class _ItemLine(QStyledItemDelegate):
    def __init__(self, theme: Theme, canvas: QWidget) -> None:
        super().__init__()
        self._theme, self._canvas = theme, canvas

    def sizeHint(self, option: QStyleOptionViewItem, index: Index) -> QSize:
        return QSize(100, self._theme.height(28, "small"))

    @mirrored_row
    def paint(self, painter: QPainter, option: QStyleOptionViewItem, index: Index) -> None:
        t, row = self._theme, index.data(Qt.ItemDataRole.UserRole)
        box = QRectF(option.rect).adjusted(t.px(8), 0, -t.px(8), 0)
        paint_row_ground(painter, t, option, box, 6)
        side, right = t.px(15), box.right() - t.px(8)
        if row.state:
            _, icon, ink = STATES[row.state]
            mark = QRectF(right - side, box.center().y() - side / 2, side, side)
            if icon:
                t.paint_icon(painter, mark, icon, ink)
            else:
                paint_spinner(painter, t, self._canvas, mark, ink)
            right = mark.x() - t.px(8)
        words = QRectF(box.x() + t.px(8), box.y(), 0, box.height())
        words.setRight(right)
        paint_text(painter, t, words, row.words, "small", room=words.width())


class StepTab(QWidget):
    """Shows one step; what can be done with it is a button with its key."""

    chat_wanted = Signal(str)
    run_wanted = Signal(str)
    """The id of the session that the step works in."""
    item_chosen = Signal(str, str)
    continued = Signal()
    stepped = Signal()
    again_wanted = Signal(str, str, object)
    """The person wants to run from a step or item on again; with another prompt, or None."""
    prompt_given = Signal(str, str)
    """A step, and what its agent is told from now on."""
    hold_wanted = Signal()
    """The person wants the step to pause, or to go on."""
    result_given = Signal(str, str, str)
    """A step, its item, and what should count as its answer."""

    def __init__(self, theme: Theme) -> None:
        super().__init__()
        self.shown = StepFacts("")
        self.tile = Tile(theme, "workflow", "slate")
        self.title = Label(theme, "", "heading")
        self.state = Label(theme, "", "small", "text2")
        self.about = Label(theme, "", "small", "text2", wrap=True)
        self.nothing = Label(theme, tr("Choose a step to see it here."), "ui", "text2", wrap=True)
        self.go_on = Button(theme, tr("Continue"), "primary", "play", "C")
        self.go_on.clicked.connect(self.continued)
        self.one = Button(theme, tr("Step"), icon="step-forward", keycap=".")
        self.one.clicked.connect(self.stepped)
        held_words = tr("Nothing is sent until you go on. The rest of the run waits.")
        self.held_title = Label(theme, "", "heading", wrap=True)
        self._held = widget_of(
            column_of(
                [
                    row_of([Mark(theme, "octagon-pause", "text1"), (self.held_title, 1)], 8),
                    Label(theme, held_words, "small", "text2", wrap=True),
                    WrappingRow([self.go_on, self.one]),
                ],
                8,
                (0, 0, 0, 12),
            )
        )
        self.chat = Button(theme, tr("Open chat"))
        self.chat.clicked.connect(lambda: self.chat_wanted.emit(self.shown.session_id))
        self.below = Button(theme, tr("Open its run"))
        self.below.clicked.connect(lambda: self.run_wanted.emit(self.shown.run_id))
        self.again = Button(theme, tr("Run again from here"), keycap="R")
        self.again.clicked.connect(self.run_again)
        self.hold = Button(theme, tr("Pause this step"), icon="pause", keycap="H")
        self.hold.clicked.connect(self.hold_wanted)
        self.fork_words = Label(theme, "", "small", "text2", wrap=True)
        self.fork_words.hide()
        self.facts = FactList(theme)
        self._items = RowModel(spoken_item, lambda row: row.key)
        self.items = LetterList(theme, tr("Items"))
        self.items.setUniformItemSizes(True)
        self.items.setModel(self._items)
        self.items.setItemDelegate(_ItemLine(theme, self.items.viewport()))
        self.items.selectionModel().currentChanged.connect(self._item_changed)
        self._silent = False
        self.text = CodeBox(theme, tr("What came of it"), 10)
        self._text_head = Label(theme, tr("What came of it"), "small_strong")
        self.edit = Button(theme, tr("Change…"), "link", clicked=self._edit)
        self.prompt = CodeBox(theme, tr("What it is told"), 8)
        self._prompt_head = Label(theme, tr("What it is told"), "small_strong")
        self._head = widget_of(row_of([self.tile, (self.title, 1), self.state], 8))
        self._buttons = WrappingRow([self.chat, self.below, self.again, self.hold])
        upper = column_of(
            [
                *(self.nothing, self._held, self._head, self.about),
                *(self._buttons, self.fork_words),
            ],
            8,
            (16, 0, 16, 6),
        )
        text_head = widget_of(row_of([(self._text_head, 1), self.edit]))
        self._text = widget_of(column_of([text_head, self.text], 2, (16, 10, 16, 0)))
        self.change = Button(theme, tr("Change…"), "link", clicked=self._change_prompt)
        prompt_head = widget_of(row_of([(self._prompt_head, 1), self.change]))
        self._prompt = widget_of(column_of([prompt_head, self.prompt], 2, (16, 10, 16, 0)))
        parts = [upper, self.facts, self.items, self._text, self._prompt, STRETCH]
        column_of(parts, 0, (0, 12, 0, 12), on=self)
        self._theme = theme
        self.show_step(StepFacts(""))

    def show_step(self, facts: StepFacts) -> None:
        """Show a step; a text that is being changed stays while it is the same step."""
        same = (facts.step, facts.item) == (self.shown.step, self.shown.item)
        self.shown = facts
        there = bool(facts.step)
        self.nothing.setVisible(not there)
        for part in (self._head, self._buttons, self.facts):
            part.setVisible(there)
        self.tile.set(facts.icon, facts.hue)
        self.title.setText(facts.title)
        self.state.setText(tr(STATES[facts.state][0]) if facts.state else "")
        self.about.show_text(facts.about)
        self._held.setVisible(bool(facts.held))
        self.held_title.setText(facts.held)
        self.chat.setVisible(bool(facts.session_id))
        self.below.setVisible(bool(facts.run_id))
        self.again.setVisible(facts.can_run_again)
        self.hold.setVisible(facts.can_hold)
        self.hold.set_text(tr("Let this step go on") if facts.paused else tr("Pause this step"))
        self.hold.set_icon("play" if facts.paused else "pause")
        shown = bool(facts.session_id) or facts.can_run_again or facts.can_hold
        self._buttons.setVisible(there and shown)
        self.facts.show_facts(facts.facts)
        self._show_items(facts)
        self._text.setVisible(bool(facts.text) or (facts.editable and there))
        if not same or self.text.edit.isReadOnly() or not facts.editable:
            self._end_edit()
            self.text.show_text(facts.text)
        self.edit.setVisible(facts.editable)
        self._prompt.setVisible(bool(facts.prompt or facts.template))
        self.change.setVisible(bool(facts.template))
        if not same or not facts.template:
            self._end_change()
            self.show_fork("")
        if self.prompt.edit.isReadOnly():
            self.prompt.show_text(facts.prompt)

    def _show_items(self, facts: StepFacts) -> None:
        self.items.setVisible(bool(facts.items))
        self._silent = True
        self._items.show(facts.items)
        keys = [row.key for row in facts.items]
        at = keys.index(facts.item) if facts.item in keys else -1
        self.items.setCurrentIndex(self._items.index(at))
        self._silent = False
        row = self._theme.height(28, "small")
        self.items.setFixedHeight(min(len(keys), 8) * row + 2)

    def _item_changed(self, index: QModelIndex) -> None:
        row: ItemRow | None = index.data(Qt.ItemDataRole.UserRole)
        if row is not None and not self._silent:
            self.item_chosen.emit(self.shown.step, row.key)

    def _edit(self) -> None:
        """Let the person type what came of the step; the same button takes it."""
        box = self.text.edit
        if box.isReadOnly():
            box.setReadOnly(False)
            box.setFocus()
            self.edit.set_text(tr("Take this"))
            return
        self._end_edit()
        self.result_given.emit(self.shown.step, self.shown.item, box.toPlainText())

    def _change_prompt(self) -> None:
        """Let the person type another prompt; the same button takes it, or undoes it."""
        box, facts = self.prompt.edit, self.shown
        if box.isReadOnly():
            box.setReadOnly(False)
            self.prompt.show_text(facts.template)
            box.setFocus()
            self.change.set_text(tr("Undo change") if facts.can_run_again else tr("Take this"))
            return
        text = box.toPlainText()
        self._end_change()
        if not facts.can_run_again and text != facts.template:
            self.prompt_given.emit(facts.step, text)

    def _end_change(self) -> None:
        self.prompt.edit.setReadOnly(True)
        self.change.set_text(tr("Change…"))
        self.prompt.show_text(self.shown.prompt)

    def run_again(self) -> None:
        """Run from here again, with the prompt that is being typed, if one is."""
        facts, box = self.shown, self.prompt.edit
        if facts.can_run_again:
            typed = box.toPlainText()
            other = None if box.isReadOnly() or typed == facts.template else typed
            self.again_wanted.emit(facts.step, facts.item, other)

    def show_fork(self, words: str) -> None:
        """Say what would run again; the button then begins it."""
        self.fork_words.show_text(words)
        self.again.set_text(tr("Start") if words else tr("Run again from here"))

    def _end_edit(self) -> None:
        self.text.edit.setReadOnly(True)
        self.edit.set_text(tr("Change…"))
