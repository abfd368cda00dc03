"""Canvas edits: what a person does to steps in the graph, as changes of the text (W-61).

Each is one step of undo. The same is in the menu of a node, in graph and list, and on keys.
"""

from __future__ import annotations

from collections.abc import Callable

from PySide6.QtCore import QEvent, QObject, QPoint, Qt, Signal
from PySide6.QtGui import QKeyEvent, QKeySequence, QResizeEvent, QShortcut
from PySide6.QtWidgets import QMenu, QWidget

from studio.domain.errors import ConfigurationError
from studio.ui.engine_texts import tr_engine
from studio.ui.graph.pane import GraphPane, fold_item
from studio.ui.theme import Theme
from studio.ui.theme.mirroring import put
from studio.ui.translation import tr
from studio.ui.widgets import Button, Card, Field, Label, MenuItem, fill_menu
from studio.ui.widgets.key_foot import KeyFoot
from studio.ui.widgets.layouts import column_of
from studio.workflows.editing import (
    Path,
    Value,
    add_step,
    connect,
    disconnect,
    free_id,
    remove_step,
    rename,
    set_step,
)

from .nested_graph import top_of


class _NameBox(Card):
    """Asks for the new name of a step, over the graph; Escape leaves it as it is."""

    def __init__(self, theme: Theme, parent: QWidget, done: Callable[[str], None]) -> None:
        super().__init__(theme, "raised", parent=parent)
        self.label = Label(theme, "", "small", "text2")
        self.field = Field(theme, name=tr("New name"))
        self.field.returnPressed.connect(lambda: done(self.field.text().strip()))
        column_of([self.label, self.field], 6, (12, 10, 12, 12), self)
        leave = QShortcut(QKeySequence("Esc"), self, self.close)
        leave.setContext(Qt.ShortcutContext.WidgetWithChildrenShortcut)
        self.hide()

    def ask(self, id: str) -> None:
        self.label.setText(tr("New name of {step}, everywhere").format(step=id))
        self.field.setText(id)
        size = self.sizeHint()
        put(self, 12, 52, max(size.width(), self.theme.px(260)), size.height())
        self.show()
        self.raise_()
        self.field.setFocus()
        self.field.selectAll()


class CanvasEdits(QObject):
    """Adds, connects, renames and removes steps of the text that ``text`` gives."""

    changed = Signal(str)
    """The text as it is to be."""
    refused = Signal(str)
    """Why a change cannot be made; empty where one was."""
    step_wanted = Signal(str)
    """A step that was added or renamed, to be chosen."""
    stop_wanted = Signal()
    """A breakpoint before the chosen step is set, or cleared."""

    def __init__(self, theme: Theme, pane: GraphPane, text: Callable[[], str]) -> None:
        super().__init__(pane)
        self._theme, self._pane, self._text = theme, pane, text
        words = tr("Add step")
        self.add_button = Button(theme, words, icon="plus", keycap="A", parent=pane.view)
        self.list_button = Button(theme, words, icon="plus", keycap="A")
        for button in (self.add_button, self.list_button):
            button.clicked.connect(lambda: self.add())
        pane.add_above_list(self.list_button)
        self.name = _NameBox(theme, pane, self._named)
        words = tr("With Shift, dragging from a step to another connects them")
        self.hint = KeyFoot(theme, [((tr("Shift"), tr("drag")), tr("connects"))], words)
        self.hint.setParent(pane.view)
        self.hint.setAttribute(Qt.WidgetAttribute.WA_TransparentForMouseEvents)
        pane.view.linked.connect(self.toggle_need)
        pane.menu_wanted.connect(self.show_menu)
        self.keys: dict[str, Callable[[], object]] = {
            "A": lambda: self.add(pane.current),
            "B": self.stop_wanted.emit,
            "F2": lambda: self.ask_name(pane.current),
            "Del": lambda: self.remove(pane.current),
            "N": self.show_needs,
        }
        """What keys do in graph and list, also where the window has another use of them."""
        pane.view.installEventFilter(self)
        pane.list.installEventFilter(self)
        theme.changed.connect(self._place)
        self._place()

    def eventFilter(self, watched: QObject, event: QEvent) -> bool:
        if isinstance(event, QResizeEvent):
            self._place()
        if not isinstance(event, QKeyEvent):
            return False
        does = self.keys.get(QKeySequence(event.keyCombination()).toString())
        if does is None or event.type() == QEvent.Type.KeyRelease:
            return False
        if event.type() == QEvent.Type.ShortcutOverride:
            event.accept()
        else:
            does()
        return True

    def _place(self) -> None:
        size = self.add_button.sizeHint()
        put(self.add_button, 12, 12, size.width(), size.height())
        view, tall = self._pane.view, self.hint.sizeHint().height()
        wide = min(self.hint.wide, view.width() - 12)
        put(self.hint, view.width() - wide, view.height() - tall, wide, tall)

    def allow(self, editable: bool) -> None:
        """Whether the text can be changed."""
        self._pane.view.editable = editable
        self.add_button.setVisible(editable)
        self.list_button.setVisible(editable)
        self.hint.setVisible(editable)
        if not editable:
            self.name.hide()

    @property
    def _allowed(self) -> bool:
        return self._pane.view.editable

    # What can be done

    def add(self, after: str = "") -> None:
        """Add a step of an agent, which needs the step ``after``, if there is one."""
        text = self._text()
        id = free_id(text, "step")
        words = tr("Say what to do")
        lines = ["agent: Researcher", f'prompt: "{words}"']
        if self._make(lambda: add_step(text, id, lines, top_of(after or self._pane.current))):
            self.step_wanted.emit(id)

    def toggle_need(self, first: str, second: str) -> None:
        """Let a step need another, or not any more."""
        text = self._text()
        there = first in self._pane.graph.needs(second)
        change = disconnect if there else connect
        self._make(lambda: change(text, first, second), first, second)

    def set_value(self, id: str, path: Path, value: Value) -> None:
        """Give a key of a step a value; None takes it out."""
        text = self._text()
        self._make(lambda: set_step(text, id, path, value), id)

    def ask_name(self, id: str) -> None:
        if id and self._allowed and not self.refuses_inside(id):
            self.name.ask(id)

    def _named(self, new: str) -> None:
        text, old = self._text(), self._pane.current
        if new == old or self._make(lambda: rename(text, old, new)):
            self.name.hide()
            self.step_wanted.emit(new)

    def remove(self, id: str) -> None:
        text = self._text()
        if id:
            self._make(lambda: remove_step(text, id), id)

    def refuses_inside(self, *ids: str) -> bool:
        """Whether a step is inside of another one, and so in another file; says so."""
        inside = any("/" in id for id in ids)
        if inside:
            self.refused.emit(tr("This step is in a file of its own. Enter opens that one."))
        return inside

    def _make(self, change: Callable[[], str], *ids: str) -> bool:
        """Make a change of these steps; whether it could be made."""
        if not self._allowed or self.refuses_inside(*ids):
            return False
        try:
            made = change()
        except ConfigurationError as error:
            self.refused.emit(tr_engine(str(error)))
            return False
        self.refused.emit("")
        self.changed.emit(made)
        return True

    # The menu of a node

    def show_menu(self, id: str, place: QPoint) -> None:
        """All that can be done with a step."""
        self._pane.choose(id)
        node, here = self._pane.view.node(id), "/" not in id
        can = self._allowed and here
        items = [
            MenuItem("add", tr("Add step after this"), "plus", "A", self._allowed),
            MenuItem("needs", tr("Needs"), items=tuple(self._needs(id)), enabled=can),
            MenuItem("rename", tr("Rename…"), "pencil", "F2", can),
            MenuItem("remove", tr("Delete step"), "trash-2", tr("Del"), can),
            MenuItem("stop", tr("Breakpoint"), "octagon-pause", "B", here),
        ]
        if node is not None and node.fold:
            items.append(fold_item(node))
        self._popup(items, place)

    def show_needs(self) -> None:
        """A menu of the steps that the chosen one may need."""
        id = self._pane.current
        if id and self._allowed and not self.refuses_inside(id):
            self._popup(self._needs(id), self._pane.place_of(id))

    def _needs(self, id: str) -> list[MenuItem]:
        needs = self._pane.graph.needs(id)
        return [
            MenuItem(f"need {node.id}", node.title, checked=node.id in needs)
            for node in self._pane.graph.nodes
            if node.id != id and not node.within
        ]

    def _popup(self, items: list[MenuItem], place: QPoint) -> None:
        menu = QMenu(self._pane)
        menu.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        fill_menu(menu, self._theme, items, self._picked)
        menu.popup(place)

    def _picked(self, key: str) -> None:
        id = self._pane.current
        match key.split():
            case ["add"]:
                self.add(id)
            case ["rename"]:
                self.ask_name(id)
            case ["remove"]:
                self.remove(id)
            case ["stop"]:
                self.stop_wanted.emit()
            case ["fold"]:
                self._pane.ask_fold()
            case ["need", other]:
                self.toggle_need(other, id)
            case _:
                pass
