"""Installation: says how this program was installed, and how it is brought up to date."""

from __future__ import annotations

import importlib.metadata
import json
import os
import shutil
import sys
from dataclasses import dataclass
from pathlib import Path

import studio

NAMES = ("agent-studio", "agent-studio-terminal")
"""The Python packages that the program can be."""


@dataclass(frozen=True, slots=True)
class Installation:
    """``kind`` is what a package's maker wrote down: ``deb``, ``pip``, ``pipx`` …"""

    kind: str
    place: Path

    @property
    def title(self) -> str:
        return _KINDS.get(self.kind, (self.kind, ""))[0]

    @property
    def update(self) -> str:
        """How the person gets a newer version."""
        return _KINDS.get(self.kind, ("", ""))[1] or "Install the newer package over this one."

    def __str__(self) -> str:
        return f"{self.title}, in {self.place}"


_KINDS = {
    "deb": ("Debian package", "Install the newer .deb with apt."),
    "archive": ("archive", "Unpack the newer archive in the place of this one."),
    "appimage": ("AppImage", "Put the newer AppImage in the place of this one."),
    "flatpak": ("Flatpak", "Type: flatpak update"),
    "windows": ("Windows installer", "Run the newer installer; it replaces this version."),
    "macos": ("application", "Drag the newer application over this one."),
    "pipx": ("pipx", "Type: pipx upgrade agent-studio"),
    "uv tool": ("uv tool", "Type: uv tool upgrade agent-studio"),
    "uv": ("uv", "Type: uv pip install --upgrade agent-studio"),
    "pip": ("pip", "Type: pip install --upgrade agent-studio"),
    "checkout": ("source folder", "Type: git pull && make run"),
}


def installation() -> Installation:
    """How this program, which runs, was installed. Reads some small files, so it blocks."""
    package = Path(studio.__file__).parent
    if getattr(sys, "frozen", False):
        return Installation(_kind_of_package(), Path(sys.executable).parent)
    found = _distribution()
    if found is None or _is_editable(found):
        return Installation("checkout", package.parent)
    prefix = Path(sys.prefix)
    if (prefix / "uv-receipt.toml").is_file():
        return Installation("uv tool", prefix)
    if (prefix / "pipx_metadata.json").is_file():
        return Installation("pipx", prefix)
    return Installation(_installer(found) or "pip", package.parent)


def start_command() -> list[str]:
    """How this program is started: its command where it is on the path, else Python's.

    An AppImage is itself that: where its files are now they are not at the next login.
    """
    if image := os.environ.get("APPIMAGE"):
        return [image]
    if found := shutil.which("agent-studio"):
        return [str(Path(found).absolute())]  # the path may have folders of here
    return [sys.executable, "-m", "studio"]


def _kind_of_package() -> str:
    """What the package is whose Python this is; the build writes it into ``INSTALLER``."""
    if os.environ.get("APPIMAGE"):
        return "appimage"
    if Path("/.flatpak-info").is_file():
        return "flatpak"
    found = _distribution()
    return (_installer(found) if found is not None else "") or "archive"


def _distribution() -> importlib.metadata.Distribution | None:
    for name in NAMES:
        try:
            return importlib.metadata.distribution(name)
        except importlib.metadata.PackageNotFoundError:
            continue
    return None


def _installer(found: importlib.metadata.Distribution) -> str:
    return (found.read_text("INSTALLER") or "").strip()


def _is_editable(found: importlib.metadata.Distribution) -> bool:
    try:
        told = json.loads(found.read_text("direct_url.json") or "{}")
        return bool(told.get("dir_info", {}).get("editable"))
    except (ValueError, AttributeError):
        return False
