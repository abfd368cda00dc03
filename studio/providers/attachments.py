"""Pictures and files as the JSON of several providers needs them."""

from __future__ import annotations

import base64

from studio.domain.messages import File, Image

TEXTUAL = (
    "application/json",
    "application/xml",
    "application/yaml",
    "application/x-yaml",
    "application/toml",
    "application/javascript",
    "application/x-sh",
    "application/sql",
)


def data_url(block: Image | File) -> str:
    """``data:image/png;base64,…``"""
    data = base64.b64encode(block.data).decode("ascii")
    return f"data:{block.media_type};base64,{data}"


def as_text(file: File) -> str | None:
    """A text file's words under its name, or None for a file that is not text."""
    kind = file.media_type.partition(";")[0].strip().lower()
    textual = kind.startswith("text/") or kind in TEXTUAL or kind.endswith(("+json", "+xml"))
    if not textual:
        return None
    try:
        text = file.data.decode("utf-8-sig")
    except UnicodeDecodeError:
        return None
    return f'<file name="{file.name}">\n{text}\n</file>'
