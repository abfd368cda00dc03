"""A text that is changed by hand, in a window of its own."""

from __future__ import annotations

import asyncio

from PySide6.QtCore import Qt
from PySide6.QtWidgets import QDialog, QHBoxLayout, QPlainTextEdit, QVBoxLayout, QWidget

from studio.ui.controls import Button
from studio.ui.theme import Theme


async def edit_text(
    theme: Theme, text: str, parent: QWidget, *, title: str, name: str, keep: str, code: bool
) -> str | None:
    """Show a text and wait; None if the person cancelled.

    ``name`` is what a screen reader says of it, ``keep`` the words of the
    button. Lines of ``code`` are not wrapped.
    """
    done: asyncio.Future[int] = asyncio.get_running_loop().create_future()
    dialog = QDialog(parent)
    dialog.setWindowTitle(title)
    dialog.resize(theme.px(760), theme.px(560))
    dialog.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
    editor = QPlainTextEdit(dialog)
    editor.setFont(theme.font("editor" if code else "body"))
    editor.setAccessibleName(name)
    editor.setPlainText(text)
    if code:
        editor.setLineWrapMode(QPlainTextEdit.LineWrapMode.NoWrap)
    accept = Button(theme, keep, "primary", parent=dialog)
    cancel = Button(theme, "Cancel", "ghost", parent=dialog)
    accept.clicked.connect(dialog.accept)
    cancel.clicked.connect(dialog.reject)
    row = QHBoxLayout()
    row.addStretch(1)
    row.addWidget(cancel)
    row.addWidget(accept)
    column = QVBoxLayout(dialog)
    column.addWidget(editor, 1)
    column.addLayout(row)
    edited: list[str] = []

    def finish(result: int) -> None:
        edited.append(editor.toPlainText())
        if not done.done():
            done.set_result(result)

    dialog.finished.connect(finish)
    dialog.open()
    return edited[0] if await done == QDialog.DialogCode.Accepted else None
