"""PDF: makes one of a Word document by LibreOffice, where it is installed (KZ-33)."""

from __future__ import annotations

import shutil
import subprocess
import tempfile
from pathlib import Path

from studio.packs import ToolFailed

_NAMES = ("soffice", "libreoffice")
_SECONDS = 120


def libreoffice() -> str:
    """Its program; empty where it is not installed."""
    return next((found for name in _NAMES if (found := shutil.which(name))), "")


def by_libreoffice(program: str, name: str, data: bytes) -> bytes:
    """The PDF of a document of this name. Blocks; raises ToolFailed.

    It runs with settings of its own, without a window and without macros.
    """
    with tempfile.TemporaryDirectory() as folder:
        source = Path(folder) / f"dokument{Path(name).suffix}"
        source.write_bytes(data)
        profile = f"-env:UserInstallation={(Path(folder) / 'profil').as_uri()}"
        command = [program, profile, "--headless", "--norestore", "--convert-to", "pdf",
                   "--outdir", folder, str(source)]  # fmt: skip
        try:
            done = subprocess.run(
                command,
                stdin=subprocess.DEVNULL,
                capture_output=True,
                timeout=_SECONDS,
                check=False,
            )
            made = source.with_suffix(".pdf").read_bytes()
        except subprocess.TimeoutExpired as error:
            raise ToolFailed(f"LibreOffice wurde mit {name} in 2 Minuten nicht fertig.") from error
        except OSError as error:
            raise ToolFailed(f"LibreOffice konnte aus {name} kein PDF machen.") from error
    if done.returncode or not made.startswith(b"%PDF-"):
        raise ToolFailed(f"LibreOffice konnte aus {name} kein PDF machen.")
    return made
