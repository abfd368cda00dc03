"""A draft's text, to be changed by hand before it is approved."""

from __future__ import annotations

import asyncio

from PySide6.QtWidgets import QWidget

from studio.domain.tools import Draft
from studio.tools.merging import with_line_ends
from studio.ui.theme import Theme

from .text_editor import edit_text


async def edit_draft(
    theme: Theme, draft: Draft, parent: QWidget, text: str | None = None
) -> str | None:
    """Show the draft's text, or another one, and wait; None if the person cancelled.

    Nothing is written by this. Lines that stay keep their line ends.
    """
    text = draft.after if text is None else text
    edited = await edit_text(
        theme,
        text,
        parent,
        title=f"Edit draft of {draft.path}",
        name=draft.path,
        keep="Keep as draft",
        code=True,
    )
    return None if edited is None else await asyncio.to_thread(with_line_ends, edited, text)
