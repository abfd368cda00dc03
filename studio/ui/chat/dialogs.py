"""Dialogs of the chat: a text is edited by hand, a folder is trusted (T-7)."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence

from PySide6.QtCore import Qt
from PySide6.QtWidgets import QDialog, QMessageBox, QPlainTextEdit, QVBoxLayout, QWidget

from studio.domain.drafts import Draft
from studio.tools.drafts.three_way_merge import with_line_ends
from studio.ui.formatting import short_path
from studio.ui.theme import Theme
from studio.ui.translation import tr
from studio.ui.widgets import Button, message_box
from studio.ui.widgets.layouts import STRETCH, row_of


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
    editor.setObjectName("edited")
    editor.setAccessibleName(name)
    editor.setPlainText(text)
    editor.setTabChangesFocus(True)  # else the keyboard is caught in it
    if code:
        editor.setLineWrapMode(QPlainTextEdit.LineWrapMode.NoWrap)
    accept = Button(theme, keep, "primary", parent=dialog)
    cancel = Button(theme, tr("Cancel"), "ghost", parent=dialog)
    accept.clicked.connect(dialog.accept)
    cancel.clicked.connect(dialog.reject)
    column = QVBoxLayout(dialog)
    column.addWidget(editor, 1)
    column.addLayout(row_of([STRETCH, cancel, accept]))
    edited: list[str] = []

    def finish(result: int) -> None:
        edited.append(editor.toPlainText())
        if not done.done():
            done.set_result(result)

    dialog.finished.connect(finish)
    dialog.open()
    return edited[0] if await done == QDialog.DialogCode.Accepted else None


async def edit_draft(
    theme: Theme, draft: Draft, parent: QWidget, text: str | None = None
) -> str | None:
    """Show the draft's text, or another one, and wait; None if the person cancelled.

    Nothing is written by this. Lines that stay keep their line ends.
    """
    about = draft.describe()
    text = about.after if text is None else text
    edited = await edit_text(
        theme,
        text,
        parent,
        title=tr("Edit draft of {name}").format(name=about.name),
        name=about.name,
        keep=tr("Keep as draft"),
        code=True,
    )
    return None if edited is None else await asyncio.to_thread(with_line_ends, edited, text)


def trust_box(parent: QWidget, folder: str, effects: Sequence[str], prose: str = "") -> QMessageBox:
    """A dialog that says what trust means, and what it brings here; accepted if the person
    trusts the folder. ``prose`` is what agents would follow, to be looked at (K-3)."""
    meaning = tr(
        "Trust says that its files are your own, not the words of strangers: agents follow its "
        "instructions, skills and commands. "
        ".agents/permissions.yaml may then allow calls without asking you, and the agents in "
        ".agents/agents may bring rights of their own, choose a model, and take the place of "
        "yours. Look at these files first. "
        "When rules or agents change, trust ends until you give it again; instructions, skills and "
        "commands may change without that. "
        "All this holds from the next message on."
    )
    more = "\n\n".join([meaning, *effects])
    box = message_box(
        parent, tr("Trust folder"), tr("Trust {folder}?").format(folder=short_path(folder)), more
    )
    if prose:
        box.setDetailedText(prose)
    yes = box.addButton(tr("Trust folder"), QMessageBox.ButtonRole.AcceptRole)
    yes.setObjectName("trust")
    box.setDefaultButton(box.addButton(QMessageBox.StandardButton.Cancel))
    return box
