"""A draft's text, to be changed by hand before it is approved."""

from __future__ import annotations

import asyncio

from PySide6.QtCore import Qt
from PySide6.QtWidgets import QDialog, QHBoxLayout, QPlainTextEdit, QVBoxLayout, QWidget

from studio.domain.tools import Draft
from studio.tools.merging import with_line_ends
from studio.ui.controls import Button
from studio.ui.theme import Theme


async def edit_draft(
    theme: Theme, draft: Draft, parent: QWidget, text: str | None = None
) -> str | None:
    """Show the draft's text, or another one, and wait; None if the person cancelled.

    Nothing is written by this. Lines that stay keep their line ends.
    """
    text = draft.after if text is None else text
    done: asyncio.Future[int] = asyncio.get_running_loop().create_future()
    dialog = QDialog(parent)
    dialog.setWindowTitle(f"Edit draft of {draft.path}")
    dialog.resize(theme.px(760), theme.px(560))
    dialog.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
    editor = QPlainTextEdit(dialog)
    editor.setFont(theme.font("editor"))
    editor.setAccessibleName(draft.path)
    editor.setPlainText(text)
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
    edited: list[str] = []

    def finish(result: int) -> None:
        edited.append(editor.toPlainText())
        if not done.done():
            done.set_result(result)

    dialog.finished.connect(finish)
    dialog.open()
    if await done != QDialog.DialogCode.Accepted:
        return None
    return await asyncio.to_thread(with_line_ends, edited[0], text)
