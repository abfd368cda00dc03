"""What a pack brings in rows with switches, what it wants, and every word of an offer (X-2)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from PySide6.QtCore import QElapsedTimer, QEvent, QObject, Qt
from PySide6.QtGui import QKeySequence, QShortcut, QShowEvent
from PySide6.QtWidgets import QApplication, QLayout, QWidget

from studio.agent.permission.invisible_characters import escape_line
from studio.ui.engine_texts import tr_engine
from studio.ui.forms.text_area import TextArea
from studio.ui.settings.rows import IconTile, RowCard
from studio.ui.theme import Theme, joined
from studio.ui.translation import tr, tr_later, tr_plural
from studio.ui.widgets import Button, IconButton, Label, Mark, Tag, Toggle
from studio.ui.widgets.breakable import ElidedLabel
from studio.ui.widgets.layouts import STRETCH, PlacedPart, column_of, row_of, widget_of

if TYPE_CHECKING:
    from studio.extensions.packs.manifest import PackManifest, Part
    from studio.extensions.packs.origins import Origin

TEXT_LINES = 14
LINE = 500
"""Characters of a stranger's words in a row."""
PARTS = {
    "skills": tr_later("Skills"),
    "commands": tr_later("Commands"),
    "agents": tr_later("Agents"),
    "workflows": tr_later("Workflows"),
    "mcp": tr_later("Servers"),
    "hooks": tr_later("Hooks"),
    "tools": tr_later("Tools"),
    "schema": tr_later("Tables"),
    "pages": tr_later("Pages"),
    "data": tr_later("Data"),
}
SWITCHED = ("skills", "commands", "agents", "workflows", "mcp", "hooks", "tools", "pages")
"""Parts that a person switches; tables and data are used by others."""
_ICONS = {
    "skills": "sparkles",
    "commands": "terminal",
    "agents": "bot",
    "workflows": "workflow",
    "mcp": "blocks",
    "hooks": "hand",
    "tools": "wrench",
    "schema": "database",
    "pages": "app-window",
    "data": "files",
}


def part_title(part: Part) -> str:
    """What a part is, and how many things it has where its files tell."""
    if any(one.suffix == ".py" for one in part.files):  # one may hold many, or none
        return tr(PARTS[part.name])
    count = len(part.files)
    match part.name:
        case "skills":
            return tr_plural("{count} skill", "{count} skills", count)
        case "commands":
            return tr_plural("{count} command", "{count} commands", count)
        case "agents":
            return tr_plural("{count} agent", "{count} agents", count)
        case "workflows":
            return tr_plural("{count} workflow", "{count} workflows", count)
        case "schema":
            return tr_plural("{count} table", "{count} tables", count)
        case "pages":
            return tr_plural("{count} page", "{count} pages", count)
        case _:
            return tr(PARTS[part.name])


class PackContents(QWidget):
    """What a pack brings in rows, each with a switch; what it wants, and what is left out.

    ``off`` are the parts that are switched off. ``switches``: these can be changed.
    ``in_program``: its Python runs in the program.
    """

    def __init__(
        self,
        theme: Theme,
        manifest: PackManifest,
        off: frozenset[str] = frozenset(),
        *,
        switches: bool = True,
        in_program: bool = False,
    ) -> None:
        super().__init__()
        self.theme = theme
        self.parts: dict[str, Toggle] = {}
        self.left: list[Label] = []
        self._before, self._switches, self._in_program = off, switches, in_program
        parts = (self._brings(manifest), self._wants(manifest), self._leaves_out(manifest))
        column_of([one for some in parts for one in some], spacing=10, on=self)

    def switched(self, on: bool) -> set[str]:
        """The parts that the person switched on here, or off."""
        return {
            name
            for name, toggle in self.parts.items()
            if toggle.isChecked() == on and (name in self._before) == on
        }

    def _brings(self, manifest: PackManifest) -> list[QWidget | QLayout]:
        rows: list[QWidget] = []
        for name, part in manifest.parts().items():
            title = part_title(part)
            toggle: Toggle | None = None
            if name in SWITCHED:
                toggle = self.parts[name] = Toggle(self.theme, joined((title, manifest.name)))
                toggle.show_value(name not in self._before)
                toggle.setEnabled(self._switches)
            line, token = _line(part), "text2"
            if name == "tools" and self._in_program:
                line, token = tr("Runs inside the program with your rights."), "warn"
            rows.append(self._row(_ICONS[name], title, line, toggle, token))
        title = Label(self.theme, tr("It brings"), "ui_strong")
        hint = tr("Switch off what you do not want") if self._switches else ""
        beside = Label(self.theme, hint, "small", "text2")
        return [row_of([title, STRETCH, beside], spacing=8), *self._card(rows)] if rows else []

    def _wants(self, manifest: PackManifest) -> list[QWidget | QLayout]:
        wants = manifest.wants
        wanted = [
            *(("folder", tr("Folder {name}"), one) for one in wants.folders),
            *(("globe", tr("Host {name}"), one) for one in wants.hosts),
            *(("key-round", tr("Key {name} of the keychain"), one) for one in wants.keychain),
        ]
        line = tr("That it says so allows none of it.")
        rows = [
            self._row(icon, words.format(name=escape_line(one, LINE)), line)
            for icon, words, one in wanted
        ]
        title = Label(self.theme, tr("It wants"), "ui_strong")
        return [title, *self._card(rows)] if rows else []

    def _leaves_out(self, manifest: PackManifest) -> list[QWidget | QLayout]:
        self.left = [
            Label(self.theme, tr_engine(escape_line(one, LINE)), "small", "text2", wrap=True)
            for one in manifest.problems
        ]
        title = Label(self.theme, tr("Left out, or without effect"), "ui_strong")
        return [title, *self.left] if self.left else []

    def _card(self, rows: list[QWidget]) -> list[QWidget]:
        card = RowCard(self.theme)
        card.set_rows(rows)
        return [card]

    def _row(
        self, icon: str, title: str, line: str, toggle: Toggle | None = None, token: str = "text2"
    ) -> QWidget:
        middle = Qt.AlignmentFlag.AlignVCenter
        row = QWidget()
        words: list[QWidget | QLayout] = [ElidedLabel(self.theme, title, "ui_medium", "text1")]
        if line:
            words.append(ElidedLabel(self.theme, line, "small", token))
        mark = Mark(self.theme, icon, "text2", 16)
        parts = [(mark, middle), (column_of(words, spacing=0), 1)]
        parts += [(toggle, middle)] if toggle is not None else []
        row_of(parts, spacing=10, margins=(0, 5, 0, 5), on=row)
        return row


class OfferView(QWidget):
    """All that a pack brings, and whether the person wants it, in the place of the list of packs.

    ``contents`` are the rows, and ``text`` is every word. What an update changes begins the text,
    and then that comes first.
    """

    def __init__(
        self,
        theme: Theme,
        manifest: PackManifest,
        origin: Origin,
        text: str,
        contents: PackContents,
        *,
        update: bool = False,
    ) -> None:
        super().__init__()
        middle, name = Qt.AlignmentFlag.AlignVCenter, manifest.name
        self.title = ElidedLabel(theme, name, "title", "text1")
        title: list[PlacedPart] = [self.title]
        if manifest.version:
            title.append((Tag(theme, manifest.version), middle))
        whence = ElidedLabel(theme, origin.shown)
        words = column_of([row_of([*title, STRETCH], spacing=8), whence], spacing=0)
        self.agree = Button(theme, tr("Update") if update else tr("Install"), "primary")
        self.leave = Button(theme, tr("Cancel"), "ghost")
        back = IconButton(theme, "chevron-left", tr("Back to the packs"), clicked=self.leave.click)
        tile = IconTile(theme, manifest.icon)
        head: list[PlacedPart] = [(one, middle) for one in (back, tile)]
        head += [(words, 1), (self.leave, middle), (self.agree, middle)]
        self.question = Label(theme, "", "ui_strong", wrap=True)
        self.question.hide()
        line = tr("This is all that it brings. What runs has your rights, as any program does.")
        rights = _note(theme, Mark(theme, "shield-question-mark", "warn", 16), line)
        self.text = TextArea(theme, tr("What it brings"), lines=TEXT_LINES, read_only=True)
        # What stands further in is the pack's own: files, code, words of others.
        lines = (one if one[:1] in ("", " ") else tr_engine(one) for one in text.split("\n"))
        self.text.show_text("\n".join(lines))
        label = Label(theme, tr("Every word"), "ui_strong")
        every = widget_of(column_of([label, self.text], spacing=8))
        self.contents = contents
        below = [every, contents] if update else [contents, every]
        line = tr(
            "Installed exactly as shown. An update says first what changes. "
            "Removing keeps the data."
        )
        foot = _note(theme, Mark(theme, "pin", "text2", 16), line)
        parts: list[PlacedPart] = [row_of(head, spacing=10), self.question, rights, *below]
        if not origin.is_in_place:  # else nobody installed it
            parts.append(foot)
        column_of([*parts, STRETCH], spacing=14, on=self)
        self.setAccessibleName(name)
        for key in ("Escape", "Alt+Left", "Back"):
            shortcut = QShortcut(QKeySequence(key), self, self.leave.click)
            shortcut.setContext(Qt.ShortcutContext.WidgetWithChildrenShortcut)
        self._shown = QElapsedTimer()
        self.agree.installEventFilter(self)

    def showEvent(self, event: QShowEvent) -> None:
        super().showEvent(event)
        self._shown.start()

    def eventFilter(self, watched: QObject, event: QEvent) -> bool:
        """A press that was meant for what stood here before does not agree to anything."""
        pressed = event.type() in (QEvent.Type.MouseButtonPress, QEvent.Type.MouseButtonDblClick)
        if watched is self.agree and pressed:
            return self._shown.elapsed() < QApplication.doubleClickInterval()
        return super().eventFilter(watched, event)


def _note(theme: Theme, mark: Mark, line: str) -> QLayout:
    label = Label(theme, line, "small", "text2", wrap=True)
    return row_of([(mark, Qt.AlignmentFlag.AlignTop), (label, 1)], spacing=8)


def _line(part: Part) -> str:
    """What a part has, or what is done with it."""
    if part.name in ("mcp", "hooks"):
        return tr("Each is off until you switch it on.")
    if part.name == "tools":
        return tr("Run as a process of their own, not in the program.")
    skills = part.name == "skills"
    names = (
        one.parent.name if skills else one.relative_to(part.path).with_suffix("").as_posix()
        for one in part.files
    )
    before = "/" if part.name == "commands" else ""
    return escape_line(", ".join(f"{before}{one}" for one in names), LINE)
