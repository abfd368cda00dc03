"""OCR: the words of pictures and scanned pages, by Tesseract where it is installed (KZ-12)."""

from __future__ import annotations

import shutil
import subprocess
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path

from studio.packs import ToolFailed

from .pdf import run_to_end

PICTURES = frozenset({"png", "jpg", "jpeg", "tif", "tiff", "bmp", "webp"})
READ = "Aus Bildern gelesen (Tesseract): Fehler sind möglich."
_BEGINNINGS = (b"\x89PNG\r\n\x1a\n", b"\xff\xd8\xff", b"II*\0", b"MM\0*", b"BM")
_LANGUAGE = "deu"
_PAGE_SECONDS = 60
_SECONDS = 300.0
"""What one document has; a page takes one to three."""


def tesseract() -> str:
    """Its program; empty where it is not installed."""
    return shutil.which("tesseract") or ""


def read_pictures(program: str, pictures: Sequence[tuple[str, bytes]]) -> list[str]:
    """The words of pictures, each given by the ending of its file; fewer than there are pictures
    where there was no more time. Blocks; raises ToolFailed."""
    end = time.monotonic() + _SECONDS
    found: list[str] = []
    with tempfile.TemporaryDirectory() as folder:
        for ending, data in pictures:
            if time.monotonic() > end:
                break
            if not _is_picture(data):
                raise ToolFailed("Das ist kein Bild.")
            picture = Path(folder) / f"bild.{ending}"
            picture.write_bytes(data)
            found.append(_words(program, picture))
    return found


def _is_picture(data: bytes) -> bool:
    """Tesseract takes a text for a list of other pictures of this computer, and reads those."""
    return data.startswith(_BEGINNINGS) or (data[:4] == b"RIFF" and data[8:12] == b"WEBP")


def _words(program: str, picture: Path) -> str:
    """The words of one picture, in German where Tesseract knows it."""
    out = picture.with_name("text")
    try:
        for language in (["-l", _LANGUAGE], []):
            if run_to_end([program, str(picture), str(out), *language], _PAGE_SECONDS) == 0:
                return out.with_suffix(".txt").read_text("utf-8", "replace").strip("\f\n ")
    except subprocess.TimeoutExpired as error:
        raise ToolFailed("Tesseract wurde in einer Minute mit einer Seite nicht fertig.") from error
    except OSError as error:
        raise ToolFailed(f"Tesseract läuft nicht: {error.strerror}.") from error
    raise ToolFailed("Tesseract konnte das Bild nicht lesen.")
