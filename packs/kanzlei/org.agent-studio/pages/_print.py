"""Print: writes pages for paper as a PDF file, with what Qt brings (KZ-21, KZ-33)."""

from __future__ import annotations

import html
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path

from PySide6.QtCore import QMarginsF
from PySide6.QtGui import QPageLayout, QPageSize, QPdfWriter, QTextDocument

from studio.packs import ToolFailed

from ..tools.office.audit import private

_STYLE = """
body { font-family: sans-serif; font-size: 10pt; color: black; }
h1 { font-size: 15pt; } h2 { font-size: 12pt; }
td { padding: 3px 12px 3px 0; } th { text-align: left; padding: 3px 12px 3px 0; }
"""


def table(title: str, heads: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """A heading and a table under it, for ``write_pdf``."""
    head = "".join(f"<th>{html.escape(one)}</th>" for one in heads)
    body = "".join(
        "<tr>" + "".join(f"<td>{html.escape(one)}</td>" for one in row) + "</tr>" for row in rows
    )
    return f"<h1>{html.escape(title)}</h1><table width='100%'><tr>{head}</tr>{body}</table>"


def text(words: str) -> str:
    """Words with their lines, for ``write_pdf``."""
    lines = (html.escape(one) or "&nbsp;" for one in words.split("\n"))
    return "".join(f"<p style='margin: 0'>{one}</p>" for one in lines)


def write_pdf(path: Path, title: str, body: str) -> None:
    """Write a file of A4 pages; raises ToolFailed. On the window's thread."""
    if not path.parent.is_dir():
        raise ToolFailed(f"{path.parent} gibt es nicht.")
    with suppress(OSError), open(path, "ab", opener=private):
        pass  # a new one is its owner's alone
    writer = QPdfWriter(str(path))
    writer.setTitle(title)
    writer.setCreator("Agent Studio")
    writer.setPageSize(QPageSize(QPageSize.PageSizeId.A4))
    writer.setPageMargins(QMarginsF(20, 18, 15, 18), QPageLayout.Unit.Millimeter)
    document = QTextDocument()
    document.setDefaultStyleSheet(_STYLE)
    document.setHtml(f"<body>{body}</body>")
    document.print_(writer)
    del writer  # closes the file
    try:
        with path.open("rb") as file:
            whole = file.read(5) == b"%PDF-"
    except OSError as error:
        raise ToolFailed(f"{path} kann nicht geschrieben werden: {error.strerror}.") from error
    if not whole:
        raise ToolFailed(f"{path} kann nicht geschrieben werden.")
