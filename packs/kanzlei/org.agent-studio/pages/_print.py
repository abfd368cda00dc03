"""Print: writes pages for paper as a PDF file, with what Qt brings (KZ-21, KZ-33)."""

from __future__ import annotations

import html
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path

from PySide6.QtCore import QEventLoop, QMarginsF
from PySide6.QtGui import QPageLayout, QPageSize, QPdfWriter, QTextCursor, QTextDocument

from studio.packs import ToolFailed

from ..tools.office.audit import private

MOST_LINES = 100
"""Lines or rows that are laid out at once: no other thread goes on meanwhile."""
_STYLE = """
body { font-family: sans-serif; font-size: 10pt; color: black; }
h1 { font-size: 15pt; } h2 { font-size: 12pt; }
td { padding: 3px 12px 3px 0; } th { text-align: left; padding: 3px 12px 3px 0; }
"""


def table(title: str, heads: Sequence[str], rows: Sequence[Sequence[str]]) -> list[str]:
    """A heading and a table under it, for ``write_pdf``; a long one has its heads again."""
    head = "".join(f"<th>{html.escape(one)}</th>" for one in heads)
    lines = [
        "<tr>" + "".join(f"<td>{html.escape(one)}</td>" for one in row) + "</tr>" for row in rows
    ]
    parts = [f"<h1>{html.escape(title)}</h1>"]
    for at in range(0, max(len(lines), 1), MOST_LINES):
        body = "".join(lines[at : at + MOST_LINES])
        parts.append(f"<table width='100%'><tr>{head}</tr>{body}</table>")
    return parts


def text(words: str) -> list[str]:
    """Words with their lines, for ``write_pdf``."""
    lines = [html.escape(one) or "&nbsp;" for one in words.split("\n")]
    return [
        "".join(f"<p style='margin: 0'>{one}</p>" for one in lines[at : at + MOST_LINES])
        for at in range(0, len(lines), MOST_LINES)
    ]


def write_pdf(path: Path, title: str, parts: Sequence[str]) -> None:
    """Write a file of A4 pages; raises ToolFailed. Blocks: call it in a thread."""
    if not path.parent.is_dir():
        raise ToolFailed(f"{path.parent} gibt es nicht.")
    with suppress(OSError), open(path, "ab", opener=private):
        pass  # a new one is its owner's alone
    timers = QEventLoop()  # which a document wants in its thread
    writer = QPdfWriter(str(path))
    writer.setTitle(title)
    writer.setCreator("Agent Studio")
    writer.setPageSize(QPageSize(QPageSize.PageSizeId.A4))
    writer.setPageMargins(QMarginsF(20, 18, 15, 18), QPageLayout.Unit.Millimeter)
    document = QTextDocument()
    document.setDefaultStyleSheet(_STYLE)
    cursor = QTextCursor(document)
    for number, part in enumerate(parts):
        if number:
            cursor.insertBlock()
        cursor.insertHtml(part)
        cursor.movePosition(QTextCursor.MoveOperation.End)
    document.print_(writer)
    del cursor, document, timers, writer  # which closes the file
    try:
        with path.open("rb") as file:
            whole = file.read(5) == b"%PDF-"
    except OSError as error:
        raise ToolFailed(f"{path} kann nicht geschrieben werden: {error.strerror}.") from error
    if not whole:
        raise ToolFailed(f"{path} kann nicht geschrieben werden.")
