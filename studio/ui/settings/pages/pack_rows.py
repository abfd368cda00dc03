"""A row for each pack: what it is, its switch, all it brings, and what an update may newly do."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

from PySide6.QtCore import Qt, Signal
from PySide6.QtWidgets import QLayout, QWidget

from studio.tools.drafts.diff import DiffLine
from studio.ui.formatting import short_path
from studio.ui.settings.rows import IconTile
from studio.ui.settings.servers.changed_tool import DifferenceView
from studio.ui.theme import Theme, joined
from studio.ui.translation import tr, tr_later, tr_plural
from studio.ui.widgets import Button, IconButton, Label, Status, Tag, Toggle
from studio.ui.widgets.breakable import ElidedLabel
from studio.ui.widgets.layouts import STRETCH, column_of, row_of, widget_of

from .pack_offer import PackContents, part_title

if TYPE_CHECKING:
    from studio.extensions.packs.installed import InstalledPack, Offer
    from studio.extensions.packs.rights import RightChange

RIGHTS = {
    "host": tr_later("Host {name}"),
    "folder": tr_later("Folder {name}"),
    "secret": tr_later("Key {name} of the keychain"),
    "package": tr_later("Package {name}"),
    "server": tr_later("Server {name}"),
    "hook": tr_later("Hook {name}"),
    "agent": tr_later("Agent {name}"),
    "code": tr_later("Code {name}"),
}


class PackRow(QWidget):
    """One pack. Its arrow shows what it brings, each with a switch, and what can be done with it.

    ``without_uv``: its tools are off for want of uv.
    """

    opened = Signal(bool)
    part_switched = Signal(str, bool)

    def __init__(
        self, theme: Theme, pack: InstalledPack, offer: Offer | None, *, without_uv: bool
    ) -> None:
        super().__init__()
        self.theme, self.pack = theme, pack
        self.status = Status(theme)
        state = self._state()
        self.toggle = Toggle(theme, tr("Pack {name}").format(name=pack.name))
        self.toggle.show_value(pack.runs)
        self.settings = Button(theme, tr("Settings…"))
        self.look = Button(theme, tr("Every word…"))
        self.update_button = Button(theme, tr("Look for an update"))
        self.remove = Button(theme, tr("Remove…"))
        self.uv = Button(theme, tr("Fetch uv"))
        buttons = (self.settings, self.look, self.update_button, self.remove)
        for button in (*buttons, self.uv):
            button.setAccessibleName(joined((button.text().removesuffix("…"), pack.name)))
        if pack.origin.is_in_place:
            self.update_button.hide()
            self.remove.hide()
        if not without_uv:
            self.uv.hide()
        waits = offer is not None and pack.approved == pack.digest
        if without_uv or waits:  # the row says what there is to know
            self.status.hide()
        self.open = IconButton(theme, "chevron-right", "", 24, 14, clicked=self._open_or_close)
        self.contents: PackContents | None = None
        """All it brings, from the first time that it is shown."""
        self._about = column_of(
            [
                Label(theme, one, "small", "text2", wrap=True)
                for one in (pack.manifest.description, pack.origin.shown)
                if one
            ],
            spacing=2,
        )
        inset = (theme.px(26) + 10, 0, 0, 6)
        rows = [self._about, row_of([*buttons, STRETCH], spacing=8)]
        self._column = column_of(rows, spacing=10, margins=inset)
        self.body = widget_of(self._column)
        self.body.hide()
        self.change = ChangeView(theme, offer) if offer is not None else None
        middle = Qt.AlignmentFlag.AlignVCenter
        head = [
            (IconTile(theme, pack.manifest.icon), middle),
            (self._words(without_uv=without_uv), 1),
        ]
        parts = (self.status, self.uv, self.toggle, self.open)
        head += [(one, middle) for one in parts]
        lines: list[QWidget | QLayout] = [row_of(head, spacing=10)]
        if self.change is not None:
            lines.append(row_of([self.change], margins=inset))
        column_of([*lines, self.body], spacing=8, margins=(0, 8, 0, 8), on=self)
        self.setAccessibleName(joined((pack.name, "" if without_uv else state)))
        self._name_arrow()

    def _state(self) -> str:
        pack = self.pack
        if pack.approved and pack.approved != pack.digest:
            state, look = tr("Changed"), "warn"
        else:
            state, look = (tr("Works"), "ok") if pack.runs else (tr("Off"), "off")
        self.status.set(state, look)
        return state

    def _words(self, *, without_uv: bool) -> QWidget:
        """Its name with its version, and below what it brings or what is wrong."""
        theme, pack = self.theme, self.pack
        manifest, is_folder = pack.manifest, pack.origin.kind == "folder"
        title = row_of([Label(theme, pack.name, "ui_medium")], spacing=8)
        for words in (manifest.version, tr("Folder") if is_folder else ""):
            if words:
                title.addWidget(Tag(theme, words), 0, Qt.AlignmentFlag.AlignVCenter)
        title.addStretch(1)
        if without_uv:
            words = tr("Tools off: they need uv, which is not on this computer. 20 MB from PyPI.")
            line: QWidget = Label(theme, words, "small", "err", wrap=True)
        else:
            brings = ", ".join(map(part_title, manifest.parts().values()))
            whence = short_path(pack.origin.wanted) if is_folder else ""
            if pack.origin.kind == "shipped":
                brings = manifest.description or brings
            line = ElidedLabel(theme, " · ".join(filter(None, (brings, whence))))
        return widget_of(column_of([title, line], spacing=0))

    def show_contents(self) -> None:
        """Show what it brings."""
        if self.contents is None:
            pack, in_program = self.pack, self.pack.origin.is_in_place
            self.contents = PackContents(self.theme, pack.manifest, pack.off, in_program=in_program)
            for part, toggle in self.contents.parts.items():
                toggle.toggled.connect(partial(self.part_switched.emit, part))
            self._column.insertWidget(1, self.contents)
        self.body.show()
        self._name_arrow()

    def _open_or_close(self) -> None:
        opens = self.body.isHidden()
        if opens:
            self.show_contents()
        else:
            self.body.hide()
            self._name_arrow()
        self.opened.emit(opens)

    def _name_arrow(self) -> None:
        is_open = not self.body.isHidden()
        self.open.set_icon("chevron-down" if is_open else "chevron-right")
        words = tr("Close {name}") if is_open else tr("Open {name}")
        self.open.set_tooltip(words.format(name=self.pack.name))


class ChangeView(QWidget):
    """What an update may newly do or not any more, and the choice to take it or stay."""

    def __init__(self, theme: Theme, offer: Offer) -> None:
        super().__init__()
        self.theme, self.offer = theme, offer
        before = offer.before
        assert before is not None
        new = offer.manifest.version or tr("The new version")
        words = tr("{version} changes what it may do") if offer.rights else tr("{version} is there")
        self.title = Label(theme, words.format(version=new), "small", "warn", wrap=True)
        lines = [
            DiffLine("add" if one.came else "del", None, None, _line(one)) for one in offer.rights
        ]
        self.difference = DifferenceView(theme, lines)
        if not lines:
            self.difference.hide()
        self.agree = Button(theme, tr("Update"))
        old = before.manifest.version or tr("the present one")
        self.leave = Button(theme, tr("Stay on {version}").format(version=old))
        self.all = Button(theme, tr("Show all"), "link")
        for button in (self.agree, self.leave, self.all):
            button.setAccessibleName(joined((button.text(), before.name)))
        more = tr_plural("{count} other file changed.", "{count} other files changed.", offer.texts)
        rest = Label(theme, more, "small", "text2")
        if not offer.texts:
            rest.hide()
        middle = Qt.AlignmentFlag.AlignVCenter
        foot = [(one, middle) for one in (self.agree, self.leave)]
        foot += [STRETCH, *((one, middle) for one in (rest, self.all))]
        column_of([self.title, self.difference, row_of(foot, spacing=8)], spacing=8, on=self)


def _line(change: RightChange) -> str:
    words = tr(RIGHTS[change.kind]).format(name=change.name)
    return tr("{what}, changed").format(what=words) if change.changed else words
