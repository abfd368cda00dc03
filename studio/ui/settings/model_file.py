"""The built-in model's file."""

from __future__ import annotations

from pathlib import Path

from PySide6.QtCore import Signal
from PySide6.QtWidgets import QFileDialog, QHBoxLayout, QWidget

from studio.storage.settings import Settings
from studio.ui.controls import Button, Field
from studio.ui.theme import Theme


class ModelFileRow(QWidget):
    """Shows the file, lets the person choose another GGUF file or the one that ships."""

    changed = Signal()

    def __init__(self, theme: Theme, settings: Settings) -> None:
        super().__init__()
        self._settings = settings
        self._chooser: QFileDialog | None = None
        row = QHBoxLayout(self)
        row.setContentsMargins(0, 0, 0, 0)
        row.setSpacing(10)
        self.path = Field(theme)
        self.path.setReadOnly(True)
        self.path.setAccessibleName("Model file")
        self.choose = Button(theme, "Choose another…")
        self.choose.clicked.connect(self._choose)
        self.restore = Button(theme, "Use the one that ships")
        self.restore.clicked.connect(lambda: self._set(""))
        row.addWidget(self.path, 1)
        row.addWidget(self.restore)
        row.addWidget(self.choose)
        self.refresh()

    def refresh(self) -> None:
        """Show the file that is set."""
        path = self._settings.builtin_model
        self.path.setText(Path(path).name if path else "The one that ships")
        self.path.setToolTip(path)
        self.restore.setVisible(bool(path))

    def _choose(self) -> None:
        chooser = QFileDialog(self.window(), "Choose a model file", filter="GGUF files (*.gguf)")
        chooser.setFileMode(QFileDialog.FileMode.ExistingFile)
        chooser.fileSelected.connect(self._set)
        chooser.finished.connect(chooser.deleteLater)
        self._chooser = chooser
        chooser.open()

    def _set(self, path: str) -> None:
        if path != self._settings.builtin_model:
            self._settings.builtin_model = path
            self.refresh()
            self.changed.emit()
