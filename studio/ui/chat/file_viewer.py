"""File viewer: shows files of a chat in the system's own program, or hands them to others."""

from __future__ import annotations

import asyncio
import re
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING

from PySide6.QtCore import QUrl
from PySide6.QtGui import QDesktopServices, QImage

from studio.ui.translation import tr
from studio.ui.widgets.thumbnails import LocalPicture, as_png, thumbnail

if TYPE_CHECKING:
    from studio.domain.messages import File, Image

DRAGGED_SIDE = 120
"""Pixels of the picture that hangs on the mouse."""
_SHOWN = (".txt", ".md", ".csv", ".json", ".log", ".pdf")
"""Suffixes of files that are shown when they are opened; any other file may be run."""
_SEEN = (*_SHOWN, ".png", ".jpg", ".jpeg", ".webp", ".gif")
_SUFFIXES = {"image/png": ".png", "image/jpeg": ".jpg", "image/webp": ".webp", "image/gif": ".gif"}


class FileViewer:
    """Copies attached files into a private folder, which ``close`` removes, and opens them."""

    def __init__(self) -> None:
        self._folder: tempfile.TemporaryDirectory[str] | None = None
        self._count = 0

    async def open(self, part: Image | File | LocalPicture) -> bool:
        """Have the system show a file; False if it has no program for it."""
        if isinstance(part, LocalPicture):
            found = await asyncio.to_thread(part.image)
            if found is None:
                return False
            part = found
        self._count += 1
        path = await asyncio.to_thread(self._write, part, self._count)
        return QDesktopServices.openUrl(QUrl.fromLocalFile(str(path)))

    async def lend(self, part: Image | File | LocalPicture) -> tuple[Path, bytes, QImage] | None:
        """A file that other programs may take, its picture as PNG, and a small one.

        Both are empty for what is no picture, the PNG also for a large one of another format.
        None if the file cannot be had.
        """
        self._count += 1
        return await asyncio.to_thread(self._lend, part, self._count)

    def _lend(
        self, part: Image | File | LocalPicture, number: int
    ) -> tuple[Path, bytes, QImage] | None:
        from studio.domain.messages import File

        if isinstance(part, File):
            return self._write(part, number), b"", QImage()
        held = part.image() if isinstance(part, LocalPicture) else part
        if held is None:
            return None
        path = part.path() if isinstance(part, LocalPicture) else None
        return path or self._write(held, number), as_png(held), thumbnail(held.data, DRAGGED_SIDE)

    async def show(self, folder: str, path: str) -> str:
        """Have the system show a file of a folder.

        Where opening the file could run it, its own folder is shown instead. Returns what
        is wrong; empty if it worked.
        """
        shown = await asyncio.to_thread(_shown, Path(folder), path)
        if shown is None:
            return tr("{path} is no longer there.").format(path=path)
        if QDesktopServices.openUrl(QUrl.fromLocalFile(str(shown))):
            return ""
        return tr("There is no program to show {path} with.").format(path=path)

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


def _shown(folder: Path, path: str) -> Path | None:
    """What can be opened to see a file; None if it is gone, or lies outside the folder."""
    root = folder.resolve()
    place = (root / path).resolve()
    if not place.is_relative_to(root) or not place.exists():
        return None
    if place.is_file() and place.suffix.lower() in _SEEN:
        return place
    if not place.is_dir():
        place = place.parent
    while place != root and place.suffix:  # a bundle is a folder that is run when it is opened
        place = place.parent
    return place


def safe_name(part: Image | File) -> str:
    """A name for the copy that stays in its folder and that nothing would run."""
    from studio.domain.messages import Image

    if isinstance(part, Image):
        return f"picture{_SUFFIXES.get(part.media_type, '.bin')}"
    name = re.sub(r'[\x00-\x1f<>:"/\\|?*]', "_", part.name).strip(" .")[-100:] or "file"
    end = ".pdf" if part.media_type == "application/pdf" else ".txt"
    fits = name.lower().endswith(".pdf") if end == ".pdf" else name.lower().endswith(_SHOWN[:-1])
    return name if fits else name + end
