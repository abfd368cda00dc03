"""Tries the installers for Windows under wine, with a stand-in for the program:
``try_windows.py OUT``.

Each is installed silently, looked at (files, start menu, links, the list of programs), and removed;
what the person keeps stays, and nothing else does.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path

from definition import Definition, definition
from icons import draw_icons
from windows import make_installer, make_msi

WINE = "/usr/lib/wine/wine64"
"""Debian's, of 64 bits; the command ``wine`` wants the one of 32 bits too."""


class Windows:
    """A Windows of wine's in a folder of its own."""

    def __init__(self, place: Path) -> None:
        self.wine = shutil.which("wine64") or WINE
        self.drive = place / "drive_c"
        self._environment = os.environ | {
            "WINEPREFIX": str(place),
            "WINEDEBUG": "-all",
            "WINEDLLOVERRIDES": "mscoree,mshtml=",
            "DISPLAY": "",
        }
        self("wineboot", "--init")

    def __call__(self, *command: str | Path, check: bool = True) -> str:
        done = subprocess.run(
            [self.wine, *command],
            env=self._environment,
            capture_output=True,
            text=True,
            errors="replace",
            check=False,
            timeout=300,
        )
        if check and done.returncode:
            raise SystemExit(f"{command} ended with {done.returncode}:\n{done.stdout}{done.stderr}")
        return done.stdout if not done.returncode else ""

    def value(self, key: str, name: str = "") -> str:
        return self("reg", "query", key, *(("/v", name) if name else ("/ve",)), check=False)

    def files(self) -> set[str]:
        """Everything of the person's, and the list of programs."""
        return {
            str(one.relative_to(self.drive))
            for one in (self.drive / "users").rglob("*")
            if "Temp" not in one.parts and "INetCache" not in str(one)
        }

    def end(self) -> None:
        server = shutil.which("wineserver") or "/usr/lib/wine/wineserver64"
        subprocess.run([server, "-k"], env=self._environment, check=False)


def try_one(
    about: Definition, windows: Windows, install: Callable[[], str], remove: Callable[[], str]
) -> None:
    before = windows.files()
    install()
    (folder,) = windows.drive.glob(f"users/*/AppData/Local/Programs/{about.title}")
    (command,) = folder.glob(f"{about.command}.exe")
    if not (folder / "_internal" / "base" / "library.txt").is_file():
        raise SystemExit("A file of the program is not installed.")
    if not [one for one in windows.files() if one.endswith(f"{about.title}.lnk")]:
        raise SystemExit("There is no entry in the start menu.")
    handler = windows.value(rf"HKCU\Software\Classes\{about.link_scheme}\shell\open\command")
    if command.name not in handler or "%1" not in handler:
        raise SystemExit(f"Links are opened by: {handler!r}")
    own = folder.parents[1] / about.command / "studio.db"
    own.parent.mkdir()
    own.write_text("a person's chats")
    remove()
    left = windows.files() - before - {str(own.relative_to(windows.drive))}
    left -= {
        str(one.relative_to(windows.drive))
        for one in own.parents
        if one != windows.drive.parent and one.is_relative_to(windows.drive)
    }
    left = {one for one in left if not one.endswith(("Programs", "Installer"))}
    if left:
        raise SystemExit(f"Removing leaves {sorted(left)}")
    if own.read_text() != "a person's chats":
        raise SystemExit("What the person keeps is gone.")
    if windows.value(rf"HKCU\Software\Classes\{about.link_scheme}", "URL Protocol"):
        raise SystemExit("The link scheme is left.")
    shutil.rmtree(own.parent)


def main(out: Path) -> None:
    about = definition()
    draw_icons(about.icon, out / "icons", about.command)
    with tempfile.TemporaryDirectory() as place:
        windows = Windows(Path(place) / "wine")
        try:
            payload = Path(place) / "program"
            (payload / "_internal" / "base").mkdir(parents=True)
            (payload / "_internal" / "base" / "library.txt").write_text("library")
            system = windows.drive / "windows" / "system32"
            shutil.copy(system / "hostname.exe", payload / f"{about.command}.exe")
            made = Path(place) / "dist"
            made.mkdir()
            setup = make_installer(about, payload, out / "icons", made)

            def uninstall() -> str:
                (file,) = windows.drive.glob(
                    f"users/*/AppData/Local/Programs/{about.title}/uninstall.exe"
                )
                # It copies itself away and goes on; with _? it stays and can be waited for.
                said = windows(file, "/S", f"_?={to_windows(windows, file.parent)}")
                file.unlink(missing_ok=True)
                if file.parent.is_dir():
                    file.parent.rmdir()  # fails where more than itself was left
                return said

            try_one(about, windows, lambda: windows(setup, "/S"), uninstall)
            print("NSIS: installed and removed")
            msi = make_msi(about, payload, out / "icons", made)
            try_one(
                about,
                windows,
                lambda: windows("msiexec", "/i", to_windows(windows, msi), "/qn"),
                lambda: windows("msiexec", "/x", to_windows(windows, msi), "/qn"),
            )
            print("MSI: installed and removed")
        finally:
            windows.end()


def to_windows(windows: Windows, path: Path) -> str:
    if path.is_relative_to(windows.drive):
        return "C:\\" + str(path.relative_to(windows.drive)).replace("/", "\\")
    return "Z:" + str(path).replace("/", "\\")


if __name__ == "__main__":
    main(Path(sys.argv[1]).resolve())
