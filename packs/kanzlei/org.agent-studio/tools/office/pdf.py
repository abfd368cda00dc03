"""PDF: makes one of a Word document by LibreOffice, where it is installed (KZ-33)."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
import tempfile
from contextlib import suppress
from pathlib import Path

from studio.packs import ToolFailed, child_environment

_NAMES = ("soffice", "libreoffice")
_SECONDS = 120
_SECURITY = "/org.openoffice.Office.Common/Security/Scripting"
_SETTINGS = (
    '<?xml version="1.0" encoding="UTF-8"?>\n'
    '<oor:items xmlns:oor="http://openoffice.org/2001/registry">'
    + "".join(
        f'<item oor:path="{_SECURITY}"><prop oor:name="{name}" oor:op="fuse">'
        f"<value>{value}</value></prop></item>"
        for name, value in (
            ("DisableMacrosExecution", "true"),
            ("MacroSecurityLevel", "3"),
            ("BlockUntrustedRefererLinks", "true"),
            ("DisableActiveContent", "true"),
        )
    )
    + "</oor:items>\n"
)


def libreoffice() -> str:
    """Its program; empty where it is not installed."""
    return next((found for name in _NAMES if (found := shutil.which(name))), "")


def by_libreoffice(program: str, name: str, data: bytes) -> bytes:
    """The PDF of a document of this name. Blocks; raises ToolFailed.

    It runs with settings of its own, without a window, macros, keys, or what the document wants
    loaded from elsewhere: whoever wrote it would learn that it was read.
    """
    with tempfile.TemporaryDirectory() as folder:
        source = Path(folder) / f"dokument{Path(name).suffix}"
        source.write_bytes(data)
        profile = f"-env:UserInstallation={(Path(folder) / 'profil').as_uri()}"
        command = [program, profile, "--headless", "--norestore", "--convert-to", "pdf",
                   "--outdir", folder, str(source)]  # fmt: skip
        settings = Path(folder) / "profil" / "user" / "registrymodifications.xcu"
        settings.parent.mkdir(parents=True)
        settings.write_text(_SETTINGS)
        try:
            code = run_to_end(command, _SECONDS)
            made = source.with_suffix(".pdf").read_bytes()
        except subprocess.TimeoutExpired as error:
            raise ToolFailed(f"LibreOffice wurde mit {name} in 2 Minuten nicht fertig.") from error
        except OSError as error:
            raise ToolFailed(f"LibreOffice konnte aus {name} kein PDF machen.") from error
    if code or not made.startswith(b"%PDF-"):
        raise ToolFailed(f"LibreOffice konnte aus {name} kein PDF machen.")
    return made


def run_to_end(command: list[str], seconds: float) -> int:
    """Run a program to its end, which comes at the latest with all that it started; raises
    TimeoutExpired and OSError."""
    with subprocess.Popen(
        command,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        env=child_environment(),
        start_new_session=True,
    ) as process:
        try:
            return process.wait(seconds)
        finally:
            if sys.platform == "win32":
                process.kill()
            else:
                with suppress(ProcessLookupError, PermissionError):  # nothing is left
                    os.killpg(process.pid, signal.SIGKILL)
