"""Choosing: fields for a file or a folder, with a button that opens the system's dialog."""

from __future__ import annotations

from collections.abc import Callable

from PySide6.QtCore import Qt
from PySide6.QtWidgets import QFileDialog, QWidget

from studio.packs.ui import Button, Field, Theme, row_of


class PathField(QWidget):
    """A path that is typed or chosen; ``files`` are endings as ``*.csv``, empty for a folder."""

    def __init__(self, theme: Theme, name: str, files: str) -> None:
        super().__init__()
        self.files = files
        self.field = Field(theme, "Datei" if files else "Ordner", role="code", name=name)
        self.choose = Button(theme, "Datei…" if files else "Ordner…", clicked=self._ask)
        row_of([(self.field, 1), self.choose], spacing=8, on=self)

    def text(self) -> str:
        return self.field.text().strip()

    def _ask(self) -> None:
        choose_path(self, self.field.accessibleName(), self.files, self.field.setText)


def choose_path(
    parent: QWidget, title: str, files: str, then: Callable[[str], object], *, save: str = ""
) -> None:
    """Ask for a file or a folder; ``save`` is the name of a file that is to be written."""
    dialog = QFileDialog(parent.window(), title)
    if save:
        dialog.setAcceptMode(QFileDialog.AcceptMode.AcceptSave)
        dialog.selectFile(save)
    else:
        modes = QFileDialog.FileMode
        dialog.setFileMode(modes.ExistingFile if files else modes.Directory)
    if files:
        dialog.setNameFilter(f"{title} ({files})")
    dialog.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
    dialog.fileSelected.connect(then)
    dialog.open()
