"""Showing an attached file in the system's own viewer."""

from __future__ import annotations

import asyncio
import re
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING

from PySide6.QtCore import QUrl
from PySide6.QtGui import QDesktopServices

if TYPE_CHECKING:
    from studio.domain.messages import File, Image

_SHOWN = (".txt", ".md", ".csv", ".json", ".log", ".pdf")
"""Ends of names that a viewer belongs to; any other may be one that is run when it is opened."""
_SUFFIXES = {"image/png": ".png", "image/jpeg": ".jpg", "image/webp": ".webp", "image/gif": ".gif"}


class Opening:
    """Copies what is to be seen into a private folder, which ``close`` removes."""

    def __init__(self) -> None:
        self._folder: tempfile.TemporaryDirectory[str] | None = None
        self._count = 0

    async def open(self, part: Image | File) -> bool:
        """Have the system show it; False if it knows no way to."""
        self._count += 1
        path = await asyncio.to_thread(self._write, part, self._count)
        return QDesktopServices.openUrl(QUrl.fromLocalFile(str(path)))

    def close(self) -> None:
        if self._folder is not None:
            self._folder.cleanup()
            self._folder = None

    def _write(self, part: Image | File, number: int) -> Path:
        if self._folder is None:  # only this user may look into it
            self._folder = tempfile.TemporaryDirectory(
                prefix="agent-studio-", ignore_cleanup_errors=True
            )
        own = Path(self._folder.name) / str(number)
        own.mkdir()
        path = own / safe_name(part)
        path.write_bytes(part.data)
        return path


def safe_name(part: Image | File) -> str:
    """A name for the copy that stays in its folder and that nothing would run."""
    from studio.domain.messages import Image

    if isinstance(part, Image):
        return f"picture{_SUFFIXES.get(part.media_type, '.bin')}"
    name = re.sub(r'[\x00-\x1f<>:"/\\|?*]', "_", part.name).strip(" .")[-100:] or "file"
    end = ".pdf" if part.media_type == "application/pdf" else ".txt"
    fits = name.lower().endswith(".pdf") if end == ".pdf" else name.lower().endswith(_SHOWN[:-1])
    return name if fits else name + end
