"""Folder trust: the question whether a folder is to be trusted (T-7)."""

from __future__ import annotations

from PySide6.QtCore import Qt
from PySide6.QtWidgets import QMessageBox, QWidget

from studio.ui.formatting import short_path


def trust_box(parent: QWidget, folder: str) -> QMessageBox:
    """A dialog that says what trust means; accepted if the person trusts the folder."""
    box = QMessageBox(parent.window())
    box.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
    box.setIcon(QMessageBox.Icon.Question)
    box.setWindowTitle("Trust folder")
    box.setText(f"Trust {short_path(folder)}?")
    box.setInformativeText(
        "Trust says that its files are your own, not the words of strangers. "
        ".agents/permissions.yaml may then allow calls without asking you, and the agents in "
        ".agents/agents may bring rights of their own. Look at these files first. "
        "When one of them changes, trust ends until you give it again."
    )
    yes = box.addButton("Trust folder", QMessageBox.ButtonRole.AcceptRole)
    yes.setObjectName("trust")
    box.setDefaultButton(box.addButton(QMessageBox.StandardButton.Cancel))
    return box
