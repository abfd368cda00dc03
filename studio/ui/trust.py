"""Trusting a folder: what it means, asked before it is done (T-7)."""

from __future__ import annotations

from PySide6.QtCore import Qt
from PySide6.QtWidgets import QMessageBox, QWidget

from studio.ui.folders import short_path


def trust_box(parent: QWidget, folder: str) -> QMessageBox:
    """Asks whether to trust a folder, and says what that means; accepted if so."""
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
