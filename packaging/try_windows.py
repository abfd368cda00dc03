"""Tries the installers for Windows under wine, with a stand-in for the program:
``try_windows.py OUT``.

Each is installed silently over an older version, looked at (files, start menu, registry, list of
programs), and removed; what the person keeps stays, and nothing else does. While the program runs,
and where the other installer was used, each refuses and changes nothing.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

from definition import Definition, definition
from icons import draw_icons
from windows import RUN_VALUE, make_installer, make_msi, opened, roots

WINE = "/usr/lib/wine/wine64"
"""Debian's, of 64 bits; the command ``wine`` wants the one of 32 bits too."""
RUN = r"HKCU\Software\Microsoft\Windows\CurrentVersion\Run"


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

    def __call__(self, *command: str | Path) -> None:
        """Run a program there; raises SystemExit if that fails."""
        done = self._run(*command)
        if done.returncode:
            raise SystemExit(f"{command} ended with {done.returncode}:\n{done.stdout}{done.stderr}")

    def refuses(self, *command: str | Path) -> bool:
        """Whether a program there ends with an error, and nothing was changed."""
        before = self.content()
        return bool(self._run(*command).returncode) and self.content() == before

    def _run(self, *command: str | Path) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [self.wine, *command],
            env=self._environment,
            capture_output=True,
            text=True,
            errors="replace",
            check=False,
            timeout=300,
        )

    def running(self, *command: str | Path) -> subprocess.Popen[bytes]:
        """Begin a program that goes on until its input ends."""
        return subprocess.Popen(
            [self.wine, *command],
            env=self._environment,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
        )

    def has(self, key: str, name: str = "") -> str | None:
        """What the registry has at a key with all below it, or at a value; None for nothing."""
        done = self._run("reg", "query", key, *(("/v", name) if name else ("/s",)))
        if not done.returncode:
            return done.stdout
        if done.returncode == 1 and "unable to find" in (done.stdout + done.stderr).lower():
            return None
        raise SystemExit(f"The registry cannot be read: {done.stdout}{done.stderr}")

    def content(self) -> dict[str, bytes]:
        """All files of the person's, with what is in them."""
        found = {one: self.drive / one for one in self.files()}
        return {name: one.read_bytes() for name, one in found.items() if one.is_file()}

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


def removal_key(about: Definition) -> str:
    return rf"HKCU\Software\Microsoft\Windows\CurrentVersion\Uninstall\{about.id}"


def keys_of(about: Definition) -> list[str]:
    """What is in the registry while the program is installed, and then not any more."""
    return [*(f"HKCU\\{one}" for one in roots(about)), rf"HKCU\Software\{about.command}"]


def folder_of(about: Definition, windows: Windows) -> Path:
    (folder,) = windows.drive.glob(f"users/*/AppData/Local/Programs/{about.title}")
    return folder


def try_one(
    about: Definition,
    windows: Windows,
    older: Callable[[], None],
    install: Callable[[], None],
    remove: Callable[[], None],
    keys: list[str],
) -> None:
    for key in keys:
        if windows.has(key) is not None:
            raise SystemExit(f"Before anything is installed there is {key}")
    before = windows.files()
    older()
    folder = folder_of(about, windows)
    if not (folder / "_internal" / "base" / "gone.txt").is_file():
        raise SystemExit("A file of the older version is not installed.")
    # What the program itself writes where a person wants it to begin at login; others' stay.
    windows("reg", "add", RUN, "/v", RUN_VALUE, "/d", "agent-studio", "/f")
    windows("reg", "add", RUN, "/v", "Another program", "/d", "another", "/f")
    install()
    if not (folder / f"{about.command}.exe").is_file():
        raise SystemExit("The program is not installed.")
    parts = {one.name for one in folder.rglob("*") if one.parent != folder}
    if parts != {"base", "library.txt"}:
        raise SystemExit(f"Beside the program there is {sorted(parts)}")
    if not [one for one in windows.files() if one.endswith(f"{about.title}.lnk")]:
        raise SystemExit("There is no entry in the start menu.")
    for key in keys:
        if windows.has(key) is None:
            raise SystemExit(f"There is no {key}")
    for key, name, value in opened(about, f"{to_windows(windows, folder)}\\{about.command}.exe"):
        if value not in (
            windows.has(f"HKCU\\{key}", name) if name else windows.has(f"HKCU\\{key}")
        ):
            raise SystemExit(f"{key} {name} is not {value}")
    if windows.has(RUN, RUN_VALUE) is None:
        raise SystemExit("After the update nothing begins at login any more.")
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
    for key in keys:
        if windows.has(key) is not None:
            raise SystemExit(f"Removing leaves {key}")
    if windows.has(RUN, RUN_VALUE) is not None:
        raise SystemExit("What is gone is to begin at login.")
    if windows.has(RUN, "Another program") is None:
        raise SystemExit("Another program begins no more at login.")
    shutil.rmtree(own.parent)


def stand_in(about: Definition, windows: Windows, place: Path, *files: str) -> Path:
    """A folder as of the program's; what is in it goes on until its input ends."""
    (place / "_internal" / "base").mkdir(parents=True)
    for name in files:
        (place / "_internal" / "base" / name).write_text(name)
    shutil.copy(windows.drive / "windows" / "system32" / "cmd.exe", place / f"{about.command}.exe")
    return place


def main(out: Path) -> None:
    about = replace(definition(), version="0.0.2")  # a candidate has an installer of NSIS alone
    before = replace(about, version="0.0.1")
    icons = out / "icons"
    draw_icons(about.icon, icons, about.command)
    with tempfile.TemporaryDirectory() as place:
        windows = Windows(Path(place) / "wine")
        try:
            payload = stand_in(about, windows, Path(place) / "new", "library.txt")
            old = stand_in(about, windows, Path(place) / "old", "library.txt", "gone.txt")
            made = Path(place) / "dist"
            made.mkdir()
            setup = make_installer(about, payload, icons, made)
            older_setup = make_installer(before, old, icons, made)
            msi = to_windows(windows, make_msi(about, payload, icons, made))
            older_msi = to_windows(windows, make_msi(before, old, icons, made))

            def uninstaller() -> list[str | Path]:
                """It copies itself away and goes on; with _? it stays and can be waited for.

                That is the rest of the line as it is: wine would put a word with a space in quotes.
                """
                folder = folder_of(about, windows)
                return [
                    folder / "uninstall.exe",
                    "/S",
                    *f"_?={to_windows(windows, folder)}".split(),
                ]

            def uninstall() -> None:
                windows(*uninstaller())
                folder = folder_of(about, windows)
                (folder / "uninstall.exe").unlink()
                folder.rmdir()  # fails where more than itself was left

            def update_while_it_runs() -> None:
                program = folder_of(about, windows) / f"{about.command}.exe"
                with windows.running(program, "/k", "echo begun") as process:
                    assert process.stdin and process.stdout
                    while b"begun" not in (line := process.stdout.readline()):
                        if not line:
                            raise SystemExit("The stand-in does not run.")
                    if not windows.refuses(setup, "/S"):
                        raise SystemExit("A program that runs is updated halfway.")
                    if not windows.refuses(*uninstaller()):
                        raise SystemExit("A program that runs is removed halfway.")
                    process.stdin.close()
                if not windows.refuses("msiexec", "/i", msi, "/qn"):
                    raise SystemExit("An MSI is installed over the other installer's program.")
                windows(setup, "/S")

            def update_by_msi() -> None:
                if not windows.refuses(setup, "/S"):
                    raise SystemExit("The installer of NSIS writes over the MSI's program.")
                windows("msiexec", "/i", msi, "/qn")
                # wine does not tell the older version that it goes for a newer one, so what begins
                # at login went too; Windows sets UPGRADINGPRODUCTCODE.
                windows("reg", "add", RUN, "/v", RUN_VALUE, "/d", "agent-studio", "/f")

            try_one(
                about,
                windows,
                lambda: windows(older_setup, "/S"),
                update_while_it_runs,
                uninstall,
                [*keys_of(about), removal_key(about)],
            )
            print("NSIS: installed, updated and removed")
            try_one(
                about,
                windows,
                lambda: windows("msiexec", "/i", older_msi, "/qn"),
                update_by_msi,
                lambda: windows("msiexec", "/x", msi, "/qn"),
                keys_of(about),
            )
            print("MSI: installed, updated and removed")
        finally:
            windows.end()


def to_windows(windows: Windows, path: Path) -> str:
    if path.is_relative_to(windows.drive):
        return "C:\\" + str(path.relative_to(windows.drive)).replace("/", "\\")
    return "Z:" + str(path).replace("/", "\\")


if __name__ == "__main__":
    main(Path(sys.argv[1]).resolve())
