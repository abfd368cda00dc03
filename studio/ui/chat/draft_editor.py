"""A draft's text, to be changed by hand before it is approved."""

from __future__ import annotations

import asyncio

from PySide6.QtCore import Qt
from PySide6.QtWidgets import QDialog, QHBoxLayout, QPlainTextEdit, QVBoxLayout, QWidget

from studio.domain.tools import Draft
from studio.ui.controls import Button
from studio.ui.theme import Theme


async def edit_draft(theme: Theme, draft: Draft, parent: QWidget) -> str | None:
    """Show the text and wait; None if the person cancelled. Nothing is written by this."""
    done: asyncio.Future[int] = asyncio.get_running_loop().create_future()
    dialog = QDialog(parent)
    dialog.setWindowTitle(f"Edit draft of {draft.path}")
    dialog.resize(theme.px(760), theme.px(560))
    dialog.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
    editor = QPlainTextEdit(dialog)
    editor.setFont(theme.font("editor"))
    editor.setAccessibleName(draft.path)
    crlf = "\r\n" in draft.after
    editor.setPlainText(draft.after)
    editor.setLineWrapMode(QPlainTextEdit.LineWrapMode.NoWrap)
    keep = Button(theme, "Keep as draft", "primary", parent=dialog)
    cancel = Button(theme, "Cancel", "ghost", parent=dialog)
    keep.clicked.connect(dialog.accept)
    cancel.clicked.connect(dialog.reject)
    row = QHBoxLayout()
    row.addStretch(1)
    row.addWidget(cancel)
    row.addWidget(keep)
    column = QVBoxLayout(dialog)
    column.addWidget(editor, 1)
    column.addLayout(row)
    text: list[str] = []

    def finish(result: int) -> None:
        text.append(editor.toPlainText())
        if not done.done():
            done.set_result(result)

    dialog.finished.connect(finish)
    dialog.open()
    if await done != QDialog.DialogCode.Accepted:
        return None
    return text[0].replace("\n", "\r\n") if crlf else text[0]
