"""What the menus do besides starting actions: letters, editing, the open windows, hiding.

The entries of the Edit menu act on the text that has the keyboard. Their keys are those that
every text has by itself, so the menu only shows them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from functools import partial

from PySide6.QtCore import QEvent, QObject, Qt, QTimer
from PySide6.QtGui import QAction, QActionGroup, QGuiApplication, QKeySequence
from PySide6.QtWidgets import (
    QApplication,
    QLineEdit,
    QMainWindow,
    QMenu,
    QMenuBar,
    QPlainTextEdit,
    QTextEdit,
    QWidget,
)
from shiboken6 import isValid

from studio.domain.records import dataclass
from studio.ui.translation import tr, tr_later
from studio.ui.widgets.letters import LetterStyle
from studio.ui.widgets.shadow import cast_shadow

Std = QKeySequence.StandardKey


def with_letters(texts: Iterable[str]) -> list[str]:
    """The lines of a menu, each with a letter that chooses it and that no other line has.

    It is the first letter of a word where that can be. A line is left without where there are
    more lines than letters.
    """
    lines = list(texts)
    wanted = [_letters(text) for text in lines]
    owner: dict[str, int] = {}

    def give(line: int, tried: set[str]) -> bool:
        """Find a letter for a line, if need be by giving another line another one."""
        for free in (True, False):
            for letter in wanted[line]:
                if letter in tried or (free and letter in owner):
                    continue
                tried.add(letter)
                if letter not in owner or give(owner[letter], tried):
                    owner[letter] = line
                    return True
        return False

    for line in range(len(lines)):
        give(line, set())
    for letter, line in owner.items():
        text, at = lines[line], wanted[line][letter]
        lines[line] = f"{text[:at].replace('&', '&&')}&{text[at:].replace('&', '&&')}"
    return lines


def _letters(text: str) -> dict[str, int]:
    """The letters of a text with their places, those first that begin a word."""
    places = [n for n, char in enumerate(text) if char.isalpha()]
    places.sort(key=lambda n: n > 0 and text[n - 1].isalpha())
    found: dict[str, int] = {}
    for n in places:
        found.setdefault(text[n].lower(), n)
    return found


@dataclass(frozen=True, slots=True)
class _Edit:
    """An entry of the Edit menu: whether a text takes it, and what it does there."""

    text: str
    keys: QKeySequence.StandardKey | str
    can: Callable[[QWidget], bool]
    do: Callable[[QWidget], object]


_Long = QPlainTextEdit | QTextEdit


def _writable(target: QWidget) -> bool:
    return isinstance(target, QLineEdit | _Long) and not target.isReadOnly() and target.isEnabled()


def _can_step(target: QWidget, *, back: bool) -> bool:
    if not _writable(target):
        return False
    if isinstance(target, QLineEdit):
        return target.isUndoAvailable() if back else target.isRedoAvailable()
    assert isinstance(target, _Long)
    document = target.document()
    return document.isUndoAvailable() if back else document.isRedoAvailable()


def _has_selection(target: QWidget) -> bool:
    if isinstance(target, QLineEdit):
        return target.hasSelectedText() and target.echoMode() == QLineEdit.EchoMode.Normal
    return isinstance(target, _Long) and target.textCursor().hasSelection()


def _can_copy(target: QWidget) -> bool:
    from studio.ui.transcript.view import TranscriptView

    if isinstance(target, TranscriptView):
        return bool(target.selection) or target.focus.item is not None
    return _has_selection(target)


def _copy(target: QWidget) -> None:
    from studio.ui.transcript.view import TranscriptView

    if isinstance(target, TranscriptView):
        target.item_actions.copy()
    elif isinstance(target, QLineEdit | _Long):
        target.copy()


def _can_paste(target: QWidget) -> bool:
    if isinstance(target, _Long):
        return _writable(target) and target.canPaste()
    return _can_paste_text(target)


def _can_paste_text(target: QWidget) -> bool:
    return _writable(target) and bool(QGuiApplication.clipboard().text())


def _paste_text(target: QWidget) -> None:
    text = QGuiApplication.clipboard().text()
    if isinstance(target, QLineEdit):
        target.insert(text)
    elif isinstance(target, _Long):
        target.insertPlainText(text)


def _can_select(target: QWidget) -> bool:
    from studio.ui.transcript.view import TranscriptView

    if isinstance(target, TranscriptView):
        return bool(target.canvas.items)
    if isinstance(target, QLineEdit):
        return bool(target.text())
    return isinstance(target, _Long) and not target.document().isEmpty()


def _select_all(target: QWidget) -> None:
    from studio.ui.transcript.view import TranscriptView

    if isinstance(target, TranscriptView):
        target.canvas_viewport.select_all()
    elif isinstance(target, QLineEdit | _Long):
        target.selectAll()


def _undo(target: QWidget) -> None:
    if isinstance(target, QLineEdit | _Long):
        target.undo()


def _redo(target: QWidget) -> None:
    if isinstance(target, QLineEdit | _Long):
        target.redo()


def _cut(target: QWidget) -> None:
    if isinstance(target, QLineEdit | _Long):
        target.cut()


def _paste(target: QWidget) -> None:
    if isinstance(target, QLineEdit | _Long):
        target.paste()


EDITS = (
    _Edit(tr_later("Undo"), Std.Undo, lambda one: _can_step(one, back=True), _undo),
    _Edit(tr_later("Redo"), Std.Redo, lambda one: _can_step(one, back=False), _redo),
    _Edit(tr_later("Cut"), Std.Cut, lambda one: _writable(one) and _has_selection(one), _cut),
    _Edit(tr_later("Copy"), Std.Copy, _can_copy, _copy),
    _Edit(tr_later("Paste"), Std.Paste, _can_paste, _paste),
    _Edit(tr_later("Paste without formatting"), "", _can_paste_text, _paste_text),
    _Edit(tr_later("Select all"), Std.SelectAll, _can_select, _select_all),
)


class EditMenu(QObject):
    """The usual entries at the top of the Edit menu; those that cannot act are disabled."""

    def __init__(self, window: QMainWindow, menu: QMenu) -> None:
        super().__init__(window)
        self._window, self._menu = window, menu
        self._target: QWidget | None = None
        self.lines: list[tuple[_Edit, QAction]] = []
        first = menu.actions()[0] if menu.actions() else None
        for edit in EDITS:
            keys = QKeySequence(edit.keys).toString(QKeySequence.SequenceFormat.NativeText)
            line = QAction(f"{tr(edit.text)}\t{keys}" if keys else tr(edit.text), menu)
            line.triggered.connect(lambda _on=False, edit=edit: self._do(edit))
            if first is None:
                menu.addAction(line)
            else:
                menu.insertAction(first, line)
            self.lines.append((edit, line))
        if first is not None:
            menu.insertSeparator(first)
        menu.aboutToShow.connect(self.refresh)
        menu.aboutToHide.connect(self._enable_all)
        app = QApplication.instance()
        assert isinstance(app, QApplication)
        app.focusChanged.connect(self._focus_moved)

    def _focus_moved(self, _old: QWidget | None, now: QWidget | None) -> None:
        """Note what has the keyboard; the menu bar itself may get it for a while."""
        if now is not None and not isinstance(now, QMenuBar | QMenu):
            self._target = now if now.window() is self._window else None

    def refresh(self) -> None:
        """Enable what the text that has the keyboard can do now."""
        target = self._target
        if target is None or not isValid(target):
            target = None
        for edit, line in self.lines:
            line.setEnabled(target is not None and edit.can(target))

    def _enable_all(self) -> None:
        for _, line in self.lines:
            line.setEnabled(True)

    def _do(self, edit: _Edit) -> None:
        target = self._target
        if target is not None and isValid(target) and edit.can(target):
            edit.do(target)


class WindowMenu(QObject):
    """The open windows at the end of the Window menu; each line brings one to the front."""

    def __init__(self, window: QMainWindow, menu: QMenu) -> None:
        super().__init__(window)
        self._window, self._menu = window, menu
        self._group = QActionGroup(self)
        self._lines: list[QAction] = [menu.addSeparator()]
        menu.aboutToShow.connect(self.fill)

    def fill(self) -> None:
        for line in self._lines[1:]:
            self._menu.removeAction(line)
            line.deleteLater()
        del self._lines[1:]
        kind = type(self._window)
        shown = [one for one in QApplication.topLevelWidgets() if isinstance(one, kind)]
        for number, one in enumerate((one for one in shown if one.isVisible()), 1):
            title = one.windowTitle().replace("&", "&&")
            line = self._menu.addAction(f"&{number} {title}" if number < 10 else title)
            line.setCheckable(True)
            line.setChecked(one is self._window)
            line.triggered.connect(lambda _on=False, one=one: _raise(one))
            self._group.addAction(line)
            self._lines.append(line)


def _raise(window: QMainWindow) -> None:
    if isValid(window):
        window.showNormal() if window.isMinimized() else window.show()
        window.raise_()
        window.activateWindow()


class MenuLetters(QObject):
    """Underlines the letters of a window's menus while Alt is held or the keyboard is in them."""

    def __init__(self, bar: QMenuBar) -> None:
        super().__init__(bar)
        self._bar = bar
        self._style = LetterStyle(self)
        bar.setStyle(self._style)
        bar.installEventFilter(self)
        for menu in bar.findChildren(QMenu):
            menu.setStyle(self._style)
            menu.aboutToHide.connect(self.hide)
            menu.aboutToShow.connect(partial(cast_shadow, menu))

    def show(self) -> None:
        """Underline the letters: Alt was pressed."""
        self._underline(True)

    def hide(self, *, released: bool = False) -> None:
        """Underline the letters no longer, once nobody can use them.

        ``released``: Alt was, which X11 still tells as held in the event of its release.
        """
        QTimer.singleShot(0, self, lambda: self._hide(released))  # the bar takes the keyboard now

    def eventFilter(self, watched: QObject, event: QEvent) -> bool:
        if event.type() == QEvent.Type.FocusOut:
            self.hide()
        return False

    def _hide(self, released: bool) -> None:
        held = QGuiApplication.keyboardModifiers() & Qt.KeyboardModifier.AltModifier
        if not (
            (held and not released) or self._bar.hasFocus() or QApplication.activePopupWidget()
        ):
            self._underline(False)

    def _underline(self, shown: bool) -> None:
        if shown != self._style.shown:
            self._style.shown = shown
            self._bar.update()


class MenuBarSwitch(QObject):
    """Shows the menu bar as the settings say; where it is hidden, Alt alone shows it for once."""

    def __init__(self, window: QMainWindow) -> None:
        super().__init__(window)
        self._bar = window.menuBar()
        self.wanted = True
        self._armed = False
        """Whether Alt is held, and nothing else came since."""
        self._before: QWidget | None = None
        """What had the keyboard when Alt was pressed."""
        for line in self._bar.actions():
            menu = line.menu()
            if isinstance(menu, QMenu):
                menu.aboutToHide.connect(lambda: QTimer.singleShot(0, self, self._hide_again))

    def show(self, wanted: bool) -> None:
        """Show the menu bar from now on, or hide it."""
        self.wanted = wanted
        if not self._bar.isNativeMenuBar():
            self._bar.setVisible(wanted)

    def arm(self, alt: bool) -> None:
        """A key was pressed, or an action was begun; ``alt`` if it was Alt alone."""
        self._armed = alt and not self.wanted and not self._bar.isNativeMenuBar()

    def alt_released(self) -> None:
        if self._armed:
            self._armed = False
            self._before = QApplication.focusWidget()
            self._bar.setVisible(True)
            self._bar.setFocus()
            self._bar.setActiveAction(self._bar.actions()[0])

    def _hide_again(self) -> None:
        if not self.wanted and QApplication.activePopupWidget() is None:
            before, self._before = self._before, None
            has_keys = self._bar.window().focusWidget() in (self._bar, None)
            if has_keys and before is not None and isValid(before):
                before.setFocus(Qt.FocusReason.MenuBarFocusReason)
            self._bar.setVisible(False)
