"""Shows the small message boxes of the window."""

from __future__ import annotations

from collections.abc import Callable

from PySide6.QtWidgets import QMessageBox, QWidget

from studio import __version__

from .actions import menu_entries


class Dialogs:
    """Opens boxes over ``window``; none of them waits."""

    def __init__(self, window: QWidget) -> None:
        self._window = window
        self._open: list[QMessageBox] = []

    def show_keys(self) -> None:
        lines = [f"{spec.keys:<16}{spec.text}" for spec in menu_entries() if spec.keys]
        text = "\n".join(line.replace("…", "") for line in lines)
        self._show(QMessageBox.Icon.NoIcon, "All keys", "All keys", text)

    def show_about(self) -> None:
        title = f"Agent Studio {__version__}"
        text = "Work with AI agents. Apache-2.0."
        self._show(QMessageBox.Icon.NoIcon, title, title, text)

    def show_fatal_error(self, why: str, then: Callable[[], object]) -> None:
        """Nothing can be done without what is saved; ``then`` follows the box."""
        more = "Nothing was changed. The window closes now."
        box = self._show(QMessageBox.Icon.Critical, "Agent Studio", why, more)
        box.finished.connect(then)

    def _show(self, icon: QMessageBox.Icon, title: str, text: str, more: str) -> QMessageBox:
        box = QMessageBox(icon, title, text, parent=self._window)
        box.setInformativeText(more)
        self._open.append(box)
        box.open()
        return box
