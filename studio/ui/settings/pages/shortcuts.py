"""The Shortcuts page: the key of each action, recorded in its row."""

from __future__ import annotations

from collections.abc import Callable
from itertools import groupby

from PySide6.QtCore import QEvent, QPointF, QRectF, QSize, Qt, Signal
from PySide6.QtGui import QFocusEvent, QKeyEvent, QKeySequence, QPainter
from PySide6.QtWidgets import QMessageBox, QSizePolicy, QWidget

from studio.ui.app import global_key
from studio.ui.app.shortcut_choice import Shortcut, native, refusal, shortcuts, with_keys
from studio.ui.settings.form import FormCard, SettingsPage
from studio.ui.settings.registry import SettingsServices
from studio.ui.theme import Theme, joined
from studio.ui.translation import tr
from studio.ui.widgets import (
    Button,
    Card,
    Field,
    IconButton,
    Label,
    Mark,
    PaintedButton,
    Segmented,
    message_box,
)
from studio.ui.widgets.layouts import STRETCH, column_of, row_of, widget_of
from studio.ui.widgets.painting import (
    PaintedWidget,
    keycaps_width,
    paint_keycaps,
    paint_rounded,
    paint_text,
)

from .general_desktop import quick_ask_command

QUICK_ASK = "quick_ask"
"""The row of the key of the whole desktop, which is no action of the menus."""
ALL, CHANGED, WITHOUT = range(3)
"""The segments above the list."""
_HELD = (Qt.Key.Key_Control, Qt.Key.Key_Shift, Qt.Key.Key_Alt, Qt.Key.Key_Meta, Qt.Key.Key_AltGr)


def keys_of(event: QKeyEvent) -> str:
    """The key combination of a key press; empty while only Ctrl, Shift or Alt are held."""
    if event.key() in (*_HELD, Qt.Key.Key_unknown):
        return ""
    sequence = QKeySequence(event.keyCombination())
    return sequence.toString(QKeySequence.SequenceFormat.PortableText)


class KeyCaps(PaintedWidget):
    """The keys of an action as caps."""

    def __init__(self, theme: Theme) -> None:
        super().__init__(theme)
        self._keys = ""
        self.setSizePolicy(QSizePolicy.Policy.Fixed, QSizePolicy.Policy.Fixed)

    def show_keys(self, keys: str) -> None:
        self._keys = keys
        self.updateGeometry()
        self.update()

    def sizeHint(self) -> QSize:
        wide = keycaps_width(self.theme, self._keys) if self._keys else 0
        return QSize(wide, self.theme.px(18))

    def paint(self, painter: QPainter, rect: QRectF) -> None:
        if self._keys:
            paint_keycaps(painter, self.theme, QPointF(0, rect.center().y()), self._keys)


class Recorder(PaintedButton):
    """Takes the next key that is pressed. Esc ends it, Backspace is no key, Tab goes on."""

    pressed_keys = Signal(str)
    """A combination, or an empty text for none."""
    given_up = Signal()

    def __init__(self, theme: Theme) -> None:
        super().__init__(theme)
        self._keys = ""
        self.setFocusPolicy(Qt.FocusPolicy.StrongFocus)
        self.setAccessibleName(tr("Press keys"))
        self.setAccessibleDescription(tr("Backspace for no key, Esc to cancel."))

    def show_keys(self, keys: str) -> None:
        self._keys = keys
        self.setAccessibleName(joined((tr("Press keys"), native(keys))))
        self.update()

    def sizeHint(self) -> QSize:
        return QSize(self.theme.px(196), self.theme.height(30))

    def event(self, event: QEvent) -> bool:
        if event.type() == QEvent.Type.ShortcutOverride:
            event.accept()  # no shortcut of the program takes the key
            return True
        if isinstance(event, QKeyEvent) and event.type() == QEvent.Type.KeyPress:
            tab = event.key() in (Qt.Key.Key_Tab, Qt.Key.Key_Backtab)
            if not (tab and not event.modifiers() & ~Qt.KeyboardModifier.ShiftModifier):
                self._take(event)
                return True
        return super().event(event)

    def _take(self, event: QKeyEvent) -> None:
        plain = event.modifiers() == Qt.KeyboardModifier.NoModifier
        if plain and event.key() == Qt.Key.Key_Escape:
            self.given_up.emit()
        elif plain and event.key() == Qt.Key.Key_Backspace:
            self.pressed_keys.emit("")
        elif keys := keys_of(event):
            self.pressed_keys.emit(keys)

    def focusInEvent(self, event: QFocusEvent) -> None:
        QWidget.focusInEvent(self, event)  # its border shows the focus, not a ring
        self.update()

    def paint(self, painter: QPainter, rect: QRectF) -> None:
        t = self.theme
        edge, width = ("accent_text", 2.0) if self.hasFocus() else ("control", 1.0)
        paint_rounded(painter, rect, 6, t.color("field"), t.color(edge), width)
        if self._keys:
            paint_keycaps(painter, t, QPointF(t.px(8), rect.center().y()), self._keys)
        words = rect.adjusted(0, 0, -t.px(10), 0)
        at_right = Qt.AlignmentFlag.AlignVCenter | Qt.AlignmentFlag.AlignRight
        paint_text(painter, t, words, tr("Press keys"), "small", "text2", at_right)


class ShortcutRow(QWidget):
    """One action. Its key is changed here: ``given`` tells the new one."""

    given = Signal(str, str)
    """The action's name, and its keys."""
    opened = Signal(str)
    """The name of the action whose key is being changed."""

    def __init__(
        self, theme: Theme, shortcut: Shortcut, refusal: Callable[[str], str] = refusal
    ) -> None:
        """``refusal`` says why keys cannot be chosen."""
        super().__init__()
        self.theme, self.shortcut, self._refusal = theme, shortcut, refusal
        self._wanted: str | None = None
        self._others: dict[str, Shortcut] = {}
        self.first = True
        self.caps = KeyCaps(theme)
        self.was = Label(theme, "", "small", "text2")
        self.edit = IconButton(theme, "pencil", "", clicked=self.open)
        self.reset = IconButton(theme, "undo-2", "", clicked=self._reset)
        self._shown = widget_of(row_of([self.was, self.caps, self.reset, self.edit], spacing=8))
        self.recorder = Recorder(theme)
        self.recorder.pressed_keys.connect(self._pressed)
        self.recorder.given_up.connect(self._close)
        self.cancel = Button(theme, tr("Cancel"), "ghost", clicked=self._close)
        self._recording = widget_of(row_of([self.recorder, self.cancel], spacing=6))
        self._recording.hide()
        self.said = Label(theme, "", "small", wrap=True)
        self.replace = Button(theme, tr("Replace"), "primary", clicked=self._give)
        mark = Mark(theme, "triangle-alert", "warn", 14)
        self._below = widget_of(row_of([mark, (self.said, 1), self.replace], spacing=8))
        self._below.hide()
        title = Label(theme, shortcut.text, "ui_medium")
        top = row_of([title, STRETCH, self._shown, self._recording], spacing=12)
        column_of([top, self._below], spacing=4, margins=(0, 4, 0, 4), on=self)
        theme.changed.connect(self._measure)
        self._measure()

    def show_shortcut(self, shortcut: Shortcut, others: dict[str, Shortcut]) -> None:
        """``others`` are all actions by their keys."""
        self.shortcut, self._others = shortcut, others
        self.caps.show_keys(shortcut.keys)
        words = native(shortcut.keys) or tr("no key")
        before = native(shortcut.default) or tr("no key")
        self.was.show_text(tr("was {keys}").format(keys=before) if shortcut.changed else "")
        self.edit.set_tooltip(
            tr("Change the key of “{action}”, now {keys}").format(action=shortcut.text, keys=words)
        )
        self.reset.set_tooltip(
            tr("Back to {keys} for “{action}”").format(action=shortcut.text, keys=before)
        )
        self.reset.setVisible(shortcut.changed)

    def open(self) -> None:
        """Let the person press the new keys."""
        self.opened.emit(self.shortcut.name)
        self._wanted = None
        self.recorder.show_keys(self.shortcut.keys)
        self._shown.hide()
        self._recording.show()
        self.recorder.setFocus(Qt.FocusReason.ShortcutFocusReason)

    def close_recorder(self) -> None:
        """Leave the key as it is."""
        self._recording.hide()
        self._below.hide()
        self._shown.show()

    def _close(self) -> None:
        self.close_recorder()
        self.edit.setFocus(Qt.FocusReason.ShortcutFocusReason)

    def _pressed(self, keys: str) -> None:
        self._wanted = keys
        self.recorder.show_keys(keys)
        other = self._others.get(keys) if keys else None
        why = self._refusal(keys) if keys else ""
        if why:
            self._say(why)
        elif other is not None and other.name != self.shortcut.name:
            words = tr("{keys} is “{action}”. Replacing it leaves “{action}” without a key.")
            self._say(words.format(keys=native(keys), action=other.text), replace=True)
        else:
            self._give()

    def _say(self, text: str, replace: bool = False) -> None:
        self.said.setText(text)
        self.replace.setVisible(replace)
        self._below.show()

    def _give(self) -> None:
        keys = self._wanted or ""
        self._close()
        if keys != self.shortcut.keys:
            self.given.emit(self.shortcut.name, keys)

    def _reset(self) -> None:
        other = self._others.get(self.shortcut.default)
        if self.shortcut.default and other is not None and other.name != self.shortcut.name:
            self.open()
            self._pressed(self.shortcut.default)
            return
        self.edit.setFocus(Qt.FocusReason.OtherFocusReason)
        self.given.emit(self.shortcut.name, self.shortcut.default)

    def _measure(self) -> None:
        self.setMinimumHeight(self.theme.height(38))

    def paintEvent(self, event: object) -> None:
        if not self.first:
            painter = QPainter(self)
            painter.fillRect(0, 0, self.width(), 1, self.theme.color("hair"))
            painter.end()


class SearchField(Field):
    """Takes words, or the keys of a shortcut as they are pressed."""

    def event(self, event: QEvent) -> bool:
        if isinstance(event, QKeyEvent) and (keys := keys_of(event)) and not refusal(keys):
            if event.type() == QEvent.Type.ShortcutOverride:
                event.accept()
                return True
            if event.type() == QEvent.Type.KeyPress:
                self.setText(native(keys))
                return True
        return super().event(event)


class ShortcutsPage(SettingsPage):
    """All actions with their keys, by menu."""

    def __init__(self, theme: Theme, services: SettingsServices) -> None:
        super().__init__(theme, tr("Shortcuts"), "")
        self._settings = services.values
        self.search = SearchField(theme, tr("Search by name, or press keys"), icon="search")
        self.search.textChanged.connect(self._filter)
        names = (tr("All"), tr("Changed"), tr("Without key"))
        self.which = Segmented(theme, names, name=tr("Shortcuts"))
        self.which.chosen.connect(self._filter)
        self.reset = Button(theme, tr("Reset all…"), clicked=self._ask_to_reset)
        self.head.addWidget(self.reset, 0, Qt.AlignmentFlag.AlignTop)
        self.column.addLayout(row_of([(self.search, 1), self.which], spacing=8))
        self.rows: dict[str, ShortcutRow] = {}
        self._groups: list[tuple[QWidget, list[ShortcutRow]]] = []
        for group, found in groupby(shortcuts({}), lambda one: one.group):
            self._add_group(group, list(found))
        self._add_everywhere()
        self.nothing = Label(theme, tr("No action is called so, and none has these keys."))
        self.column.addWidget(self.nothing)
        self.column.addStretch(1)

    def _add_everywhere(self) -> None:
        """The key of the whole desktop, or what to do where a program can have none."""
        title = tr("In every program")
        if global_key.way():
            self._add_group(title, [self._quick_ask()], global_key.refusal)
            return
        rows = FormCard(self.theme)
        words = tr(
            "This system gives programs no key. Give this command one in its settings: {command}"
        )
        rows.add(tr("Quick question"), QWidget(), words.format(command=quick_ask_command()))
        self.add_group(title, rows)

    def _quick_ask(self) -> Shortcut:
        keys = self._settings.quick_ask_key
        return Shortcut(QUICK_ASK, "", tr("Quick question"), "", keys)

    def _add_group(
        self, title: str, found: list[Shortcut], refusal: Callable[[str], str] = refusal
    ) -> None:
        card = Card(self.theme, "surface", "hair")
        rows: list[ShortcutRow] = []
        for shortcut in found:
            row = self.rows[shortcut.name] = ShortcutRow(self.theme, shortcut, refusal)
            row.given.connect(self._give)
            row.opened.connect(self._close_others)
            rows.append(row)
        column_of(rows, spacing=0, margins=(14, 0, 14, 0), on=card)
        head = Label(self.theme, title, "ui_strong")
        group = widget_of(column_of([head, card], spacing=6))
        self.column.addWidget(group)
        self._groups.append((group, rows))

    def refresh(self) -> None:
        found = shortcuts(self._settings.shortcuts)
        if QUICK_ASK in self.rows:
            found.append(self._quick_ask())
        by_keys = {one.keys: one for one in found if one.keys}
        for one in found:
            self.rows[one.name].show_shortcut(one, by_keys)
        keys = next(one.keys for one in found if one.name == "all_keys")
        words = tr("{keys} shows them all at any time.").format(keys=native(keys))
        self.line.show_text(words if keys else "")
        for at, name, count in (
            (CHANGED, tr("Changed"), sum(one.changed for one in found)),
            (WITHOUT, tr("Without key"), sum(not one.keys for one in found)),
        ):
            segment = self.which.segment(at)
            segment.setText(f"{name} {count}")
            segment.updateGeometry()
        self.reset.setEnabled(any(one.changed for one in found))
        self._filter()

    def _filter(self, *_: object) -> None:
        text, which = self.search.text().strip().casefold(), self.which.current
        some = False
        for group, rows in self._groups:
            first = True
            for row in rows:
                one = row.shortcut
                fits = which == ALL or (one.changed if which == CHANGED else not one.keys)
                shown = fits and (
                    text in one.text.casefold() or text in native(one.keys).casefold()
                )
                row.setVisible(shown)
                row.first, first = first and shown, first and not shown
                row.update()
            group.setVisible(not first)
            some = some or not first
        self.nothing.setVisible(not some)

    def _close_others(self, name: str) -> None:
        for other, row in self.rows.items():
            if other != name:
                row.close_recorder()

    def _give(self, name: str, keys: str) -> None:
        values = self._settings
        if name == QUICK_ASK:
            chosen = values.shortcuts
            for other in shortcuts(chosen):
                if keys and other.keys == keys:
                    chosen = with_keys(chosen, other.name, "")
            values.quick_ask_key = keys
        else:
            chosen = with_keys(values.shortcuts, name, keys)
            if values.quick_ask_key == keys:
                values.quick_ask_key = ""
        self._store(chosen)

    def _reset_all(self) -> None:
        self._settings.quick_ask_key = ""
        self._store({})

    def _ask_to_reset(self) -> None:
        box = message_box(
            self,
            tr("Shortcuts"),
            tr("Give all actions their first keys back?"),
            tr("Your own keys are forgotten."),
        )
        reset = box.addButton(tr("Reset all"), QMessageBox.ButtonRole.AcceptRole)
        box.addButton(tr("Cancel"), QMessageBox.ButtonRole.RejectRole)
        reset.clicked.connect(self._reset_all)
        box.open()

    def _store(self, chosen: dict[str, str]) -> None:
        self._settings.shortcuts = chosen
        self.refresh()
        self.changed.emit()
