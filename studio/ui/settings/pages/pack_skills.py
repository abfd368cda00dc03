"""A row for the skills of a pack, with one switch for all; its arrow shows each of them (K-4)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from PySide6.QtCore import Qt, Signal
from PySide6.QtWidgets import QWidget

from studio.agent.permission.invisible_characters import escape_line
from studio.ui.formatting import number
from studio.ui.settings.rows import IconTile
from studio.ui.theme import Theme, joined
from studio.ui.translation import tr, tr_plural
from studio.ui.widgets import Hairline, IconButton, Label, Tag, Toggle
from studio.ui.widgets.breakable import ElidedLabel
from studio.ui.widgets.layouts import column_of, row_of, widget_of

if TYPE_CHECKING:
    from studio.extensions.packs.installed import InstalledPack

LINE = 500
"""Characters of the names of a pack's skills."""


class PackSkillsRow(QWidget):
    """The skills of a pack. ``rows`` are those that can be used, none where it or they are off."""

    opened = Signal(bool)
    pack_wanted = Signal()
    """Its arrow, where there is nothing to show here."""

    def __init__(
        self, theme: Theme, pack: InstalledPack, rows: Sequence[QWidget], tokens: int, wants: bool
    ) -> None:
        """``wants``: one of them would like rights that it does not have."""
        super().__init__()
        self._name = pack.name
        middle = Qt.AlignmentFlag.AlignVCenter
        title = row_of([(Label(theme, pack.name, "ui_medium"), middle)], spacing=8)
        if wants:
            title.addWidget(Tag(theme, tr("Wants rights"), "warn"), 0, middle)
        title.addStretch(1)
        files = pack.manifest.parts()["skills"].files
        if pack.runs:
            names = escape_line(", ".join(one.parent.name for one in files), LINE)
            words = tr_plural(
                "{count} skill: {names}", "{count} skills: {names}", len(files), names=names
            )
        else:
            words = tr_plural(
                "{count} skill, off with its pack",
                "{count} skills, off with their pack",
                len(files),
            )
        self.line = ElidedLabel(theme, words, "small", "text2")
        self.tokens = Label(theme, "", "small", "text2", digits=True)
        if rows:
            self.tokens.setText(tr("{number} tokens").format(number=number(tokens)))
        self.toggle = Toggle(theme, joined((pack.name, tr("Skills"))))
        self.toggle.show_value(pack.runs and "skills" not in pack.off)
        self.toggle.setEnabled(pack.runs)
        self.open = IconButton(theme, "chevron-right", "", 24, 14, clicked=self._open_or_close)
        text = column_of([title, self.line], spacing=0)
        parts = [(IconTile(theme, "package"), middle), (text, 1)]
        parts += [(one, middle) for one in (self.tokens, self.toggle, self.open)]
        lines = [one for row in rows for one in (Hairline(theme), row)]
        self.body = widget_of(column_of(lines, spacing=0, margins=(theme.px(26) + 10, 0, 0, 0)))
        self._has_rows = bool(rows)
        self.body.hide()
        column_of([row_of(parts, spacing=10, margins=(0, 8, 0, 8)), self.body], spacing=0, on=self)
        self._name_arrow()

    def show_rows(self, shown: bool) -> None:
        """Show each of its skills below it, or not."""
        self.body.setVisible(shown and self._has_rows)
        self._name_arrow()

    def _open_or_close(self) -> None:
        if not self._has_rows:
            self.pack_wanted.emit()
            return
        self.show_rows(self.body.isHidden())
        self.opened.emit(not self.body.isHidden())

    def _name_arrow(self) -> None:
        is_open = not self.body.isHidden()
        self.open.set_icon("chevron-down" if is_open else "chevron-right")
        words = tr("Close {name}") if is_open else tr("Open {name}")
        self.open.set_tooltip(words.format(name=self._name))
