"""Registers this program with the desktop as the one that opens its links.

On Linux that is a desktop entry and a line in ``mimeapps.list``, on Windows a key of this
person's registry. On macOS the program's bundle says it, and nothing is to be done here.
"""

from __future__ import annotations

import os
import sys
from pathlib import Path

from studio.files.atomic_write import write_atomically
from studio.storage.installation import start_command

from .links import SCHEME

ENTRY = "agent-studio-links.desktop"
HANDLED = f"x-scheme-handler/{SCHEME}"
_SECTION = "[Default Applications]"


def can_register() -> bool:
    """Whether there is something to be done on this system."""
    return sys.platform != "darwin"


def register() -> None:
    """Have the desktop open links with this program; raises OSError. Blocks for a moment."""
    if sys.platform == "win32":
        _register_in_registry()
    elif sys.platform != "darwin":
        _write_entry(_folder("XDG_DATA_HOME", ".local/share") / "applications" / ENTRY)
        _make_default(_folder("XDG_CONFIG_HOME", ".config") / "mimeapps.list")


def _folder(variable: str, below_home: str) -> Path:
    given = Path(os.environ.get(variable, ""))
    return given if given.is_absolute() else Path.home() / below_home


def _write_entry(path: Path) -> None:
    lines = (
        "[Desktop Entry]",
        "Type=Application",
        "Name=Agent Studio",
        f"Exec={' '.join(map(_quoted, start_command()))} %u",
        "Icon=agent-studio",
        "NoDisplay=true",
        f"MimeType={HANDLED};",
    )
    path.parent.mkdir(parents=True, exist_ok=True)
    write_atomically(path, "\n".join((*lines, "")).encode())


def _quoted(word: str) -> str:
    """A word of a command as a desktop entry has it."""
    for sign in '\\"`$':
        word = word.replace(sign, f"\\{sign}")
    return f'"{word}"'.replace("\\", "\\\\").replace("%", "%%")


def _make_default(path: Path) -> None:
    """Name the entry in the person's list; their other lines stay as they are."""
    try:
        lines = path.read_text(encoding="utf-8", errors="surrogateescape").splitlines()
    except FileNotFoundError:
        lines = []
    if _SECTION not in lines:
        lines += [_SECTION]
    first = lines.index(_SECTION) + 1
    ends = (n for n in range(first, len(lines)) if lines[n].startswith("["))
    last = next(ends, len(lines))
    kept = [one for one in lines[first:last] if one.partition("=")[0].strip() != HANDLED]
    lines[first:last] = [f"{HANDLED}={ENTRY}", *kept]
    path.parent.mkdir(parents=True, exist_ok=True)
    write_atomically(path, "\n".join((*lines, "")).encode(errors="surrogateescape"))


def _register_in_registry() -> None:
    if sys.platform != "win32":
        return
    import subprocess
    import winreg

    root = rf"Software\Classes\{SCHEME}"
    with winreg.CreateKey(winreg.HKEY_CURRENT_USER, root) as key:
        winreg.SetValueEx(key, "", 0, winreg.REG_SZ, "URL:Agent Studio")
        winreg.SetValueEx(key, "URL Protocol", 0, winreg.REG_SZ, "")
    with winreg.CreateKey(winreg.HKEY_CURRENT_USER, rf"{root}\shell\open\command") as key:
        line = f'{subprocess.list2cmdline(start_command())} "%1"'
        winreg.SetValueEx(key, "", 0, winreg.REG_SZ, line)
