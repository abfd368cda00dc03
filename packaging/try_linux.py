"""Tries the packages that ``build.py`` made for Linux: ``try_linux.py OUT``.

Both .deb files are looked at by the validators and lintian that are installed here. The archive and
the .deb are unpacked, started on a screen of their own, and take a turn (``--smoke``). As root the
.deb is installed, started and removed, where no other one is. What is missing here is named; with
``STRICT=1`` it is an error, and so is a package that is larger than its goal.
"""

from __future__ import annotations

import hashlib
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from definition import Definition, definition

ASKED = ("run", "--provider", "builtin", "--agent", "Plain", "Hello")
GOALS = {"": 165, "-light": 52}
"""Megabytes that a .deb with xz is to have at most, by the end of its name."""


def run(*command: str | Path, where: Path | None = None, **environment: str) -> str:
    """What a command prints; it ends everything where it fails."""
    done = subprocess.run(
        command,
        cwd=where,
        env=clean_environment() | environment,
        capture_output=True,
        text=True,
        check=False,
    )
    if done.returncode:
        words = " ".join(map(str, command))
        raise SystemExit(f"{words} ended with {done.returncode}:\n{done.stdout}{done.stderr}")
    return done.stdout + done.stderr


def clean_environment() -> dict[str, str]:
    """Nothing of Python's, and no file of certificates, as in a person's own desktop."""
    kept = ("PATH", "HOME", "LANG", "DISPLAY", "XDG_RUNTIME_DIR")
    return {name: os.environ[name] for name in kept if name in os.environ}


def is_strict() -> bool:
    """Whether everything must be tried and as it is to be, as for a release."""
    return os.environ.get("STRICT") == "1"


def not_tried(why: str) -> None:
    """Say what is left out here, or end where nothing may be."""
    if is_strict():
        raise SystemExit(f"Not tried, and STRICT=1 asks for it: {why}")
    print(f"  not tried, {why}")


def is_here(program: str) -> bool:
    if shutil.which(program):
        return True
    not_tried(f"{program} is not installed")
    return False


def digests(folder: Path) -> dict[str, str]:
    """What each file below a folder has in it, as its SHA-256."""
    return {
        str(one.relative_to(folder)): hashlib.sha256(one.read_bytes()).hexdigest()
        for one in sorted(folder.rglob("*"))
        if one.is_file()
    }


def check_kept(before: dict[str, str], folder: Path) -> None:
    """End where the person's own data, chats among them, are not what they were."""
    after = digests(folder)
    changed = sorted(name for name in before | after if before.get(name) != after.get(name))
    if "studio.db" not in {Path(name).name for name in before} or changed:
        raise SystemExit(f"Of the person's own data these are not as they were: {changed[:5]}")


def look_at_files(about: Definition, out: Path, dist: Path) -> None:
    share = out / "desktop" / "usr" / "share"
    if is_here("desktop-file-validate"):
        run("desktop-file-validate", share / "applications" / f"{about.command}.desktop")
    if is_here("appstreamcli"):
        file = share / "metainfo" / f"{about.id}.metainfo.xml"
        run("appstreamcli", "validate", "--no-net", "--pedantic", file)
    if is_here("flatpak-builder"):  # reads the manifest; the runtime would come from the network
        run("flatpak-builder", "--show-manifest", dist / f"{about.id}.yml", where=out)


def look_at_deb(deb: Path) -> None:
    if "xz" not in run("ar", "t", deb):  # by --fast
        not_tried(f"{deb.name} is not by xz: its size says nothing, and lintian refuses it")
        return
    size = deb.stat().st_size / 1e6
    goal = GOALS["-light" if "-light_" in deb.name else ""]
    if size > goal:
        words = f"{deb.name} has {size:.1f} MB, and is to have {goal} at most."
        if is_strict():
            raise SystemExit(words)
        print(words)
    if is_here("lintian"):
        # Not a package of Debian's own: what the overrides do not explain must not be an error.
        run("lintian", "--tag-display-limit", "0", "--fail-on", "error", "--allow-root", deb)


@contextmanager
def screen() -> Iterator[str]:
    """The name of a screen of Xvfb's, which says itself which number it takes."""
    reading, writing = os.pipe()
    server = subprocess.Popen(
        ["Xvfb", "-displayfd", str(writing), "-screen", "0", "1400x900x24", "-nolisten", "tcp"],
        pass_fds=[writing],
        stderr=subprocess.DEVNULL,
    )
    os.close(writing)
    try:
        with os.fdopen(reading) as told:
            number = told.readline().strip()
        yield f":{number}"
    finally:
        server.terminate()
        server.wait()


def smoke(program: Path, picture: Path) -> None:
    with screen() as number:
        told = run(program, "--smoke", picture, DISPLAY=number)
    print(told, end="")
    check_smoke(told, str(program))


def check_smoke(told: str, program: str) -> None:
    """End where ``--smoke`` does not say that it took a turn and can encrypt."""
    for words in ("smoke: turn: ", "smoke: encryption: SQLCipher"):
        if words not in told:
            raise SystemExit(f"{program} does not say “{words}”:\n{told}")


def see_no_qt(program: Path) -> None:
    """Commands do without Qt: to load it takes longer than the rest of a short one."""
    if "libQt6Core" in run(program, "--version", LD_DEBUG="files"):
        raise SystemExit(f"{program} loads Qt before it knows whether a window is wanted")


def try_unpacked(about: Definition, dist: Path, pictures: Path) -> None:
    with tempfile.TemporaryDirectory() as place:
        (archive,) = dist.glob("*.tar.xz")
        run("tar", "xJf", archive, "-C", place)
        (folder,) = Path(place).iterdir()
        smoke(folder / about.command, pictures / "archive.png")
        see_no_qt(folder / about.command)
        smoke(dist.parent / "packed" / "AppDir" / "AppRun", pictures / "appdir.png")
        told = run(folder / about.command, "doctor", "--offline", AGENT_STUDIO_HOME=place)
        if "archive, in " not in told:
            raise SystemExit(f"The doctor does not know the archive:\n{told}")
    for name in (about.command, f"{about.command}-light"):
        with tempfile.TemporaryDirectory() as place:
            (deb,) = dist.glob(f"{name}_*.deb")
            run("dpkg-deb", "-x", deb, place)
            smoke(Path(place) / "usr" / "bin" / about.command, pictures / f"{name}.png")


def try_installed(about: Definition, dist: Path, pictures: Path) -> None:
    """Install, start as the person would, remove; nothing of the system's is left."""
    if os.geteuid() != 0 or not shutil.which("dpkg") or Path("/usr/lib", about.command).exists():
        not_tried(f"installing needs root and no other {about.command}")
        return
    (deb,) = dist.glob(f"{about.command}_*.deb")
    files = listed(deb)
    with tempfile.TemporaryDirectory() as home:
        try:
            run("dpkg", "--install", deb)
            smoke(Path("/usr/bin", about.command), pictures / "installed.png")
            told = run(about.command, "doctor", "--offline", AGENT_STUDIO_HOME=home)
            if "Debian package, in /usr/lib/" not in told:
                raise SystemExit(f"The doctor does not know the .deb:\n{told}")
            run(about.command, *ASKED, AGENT_STUDIO_HOME=home)
            kept = digests(Path(home))
        finally:
            run("dpkg", "--purge", about.command)
        left = [one for one in files if one.exists() and not one.is_dir()]
        if left:
            raise SystemExit(f"Removing leaves {left[:5]}")
        check_kept(kept, Path(home))


def listed(deb: Path) -> list[Path]:
    lines = run("dpkg-deb", "--contents", deb).splitlines()
    return [Path(line.split(maxsplit=5)[5].partition(" -> ")[0][1:]) for line in lines]


def main(out: Path) -> None:
    about, dist, pictures = definition(), out / "dist", out / "pictures"
    pictures.mkdir(exist_ok=True)
    look_at_files(about, out, dist)
    for deb in sorted(dist.glob("*.deb")):
        look_at_deb(deb)
    run("sha256sum", "--check", "SHA256SUMS", where=dist)
    if is_here("Xvfb"):
        try_unpacked(about, dist, pictures)
        try_installed(about, dist, pictures)
    print(f"The packages work; look at {pictures}")


if __name__ == "__main__":
    main(Path(sys.argv[1]).resolve())
