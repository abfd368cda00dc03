"""Builds the packages of this system, in the environment that ``packages.sh`` makes.

    python packaging/build.py OUT [--fast]

``OUT`` gets the folder ``program`` (PyInstaller's), ``icons``, ``desktop`` (what a Linux desktop
wants), and in ``dist`` the packages with their bills of materials and ``SHA256SUMS``. ``--fast``
packs as fast as it can, .deb files by zstd: a few seconds in place of minutes, and a fifth larger.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import shutil
import subprocess
import sys
import sysconfig
from pathlib import Path

import bom
import deb
import docstrings
import icu
import linux
import macos
import windows
from definition import Definition, definition, target
from icons import draw_icons

(SPEC,) = (Path(__file__).parent / "pyinstaller").glob("*.spec")
COMPILED = ("studio", "fastjsonschema")
"""Packages whose modules are there as source."""


def build_program(out: Path) -> Path:
    """PyInstaller's folder of the program."""
    about = definition()
    refuse(bom.without_text(about, bom.parts_of(about)))  # before minutes of building
    work = out / "work"
    shutil.copytree(out / "icons", work / SPEC.stem / "icons", dirs_exist_ok=True)
    subprocess.run(
        [
            *(sys.executable, "-m", "PyInstaller", "--noconfirm", "--log-level", "ERROR"),
            *("--distpath", out / "program", "--workpath", work, SPEC),
        ],
        cwd=out,  # where the source is not, else it would be taken in place of the wheel
        check=True,
    )
    finish_program(out / "program" / about.command)
    return out / "program"


def put_papers(about: Definition, out: Path) -> None:
    """The bill of materials and the licences, in the program's folder and in macOS' application."""
    program = out / "program" / about.command
    refuse(bom.write_papers(program, program, origins(out)))
    for application in program.parent.glob("*.app"):
        for name in bom.PAPERS:
            shutil.copyfile(program / name, application / "Contents" / "Resources" / name)
    put_bill(about.command, about.version, program, out / "dist")


def put_bill(name: str, version: str, papers: Path, dist: Path) -> None:
    """A bill of materials among the packages; each system's has a name of its own."""
    shutil.copyfile(papers / bom.BILL, dist / f"{name}-{version}-{target()}.cdx.json")


def refuse(silent: list[str]) -> None:
    """End the build where something has no text of a licence."""
    if silent:
        raise SystemExit(f"No text of a licence, so they cannot ship: {', '.join(silent)}")


def origins(out: Path) -> dict[str, str]:
    """Where PyInstaller took each library from; the spec writes it down."""
    return json.loads((out / "work" / SPEC.stem / "origins.json").read_text("utf-8"))


def finish_program(program: Path) -> None:
    """Compile what is there as source, and leave out what nothing needs."""
    for name in COMPILED:  # whoever starts it may not write there; the files change with it alone
        words = ("-q", "--invalidation-mode", "unchecked-hash", program / "_internal" / name)
        subprocess.run([sys.executable, "-m", "compileall", *words], check=True)
    installed = Path(sysconfig.get_path("purelib"))
    docstrings.drop_docstrings(program / "_internal", installed)
    if sys.platform == "linux":
        for library in program.rglob("libicudata.so.*"):
            if not library.is_symlink():
                icu.trim_icu(library)
        linux.drop_orphans(program)


def build_linux(out: Path, *, fast: bool) -> list[Path]:
    """The two .deb files and the archive."""
    from studio.cli.commands import COMMANDS, build_parser
    from studio.cli.commands.completion import SCRIPTS

    about, dist, work = definition(), out / "dist", out / "packed"
    program = out / "program" / about.command
    shutil.rmtree(work, ignore_errors=True)
    desktop = out / "desktop"
    shutil.rmtree(desktop, ignore_errors=True)
    page = linux.manual(about, build_parser(), COMMANDS)
    linux.desktop_files(about, out / "icons", desktop / "usr", page, SCRIPTS)
    made = [linux.make_archive(about, program, desktop, work, dist, fast=fast)]
    (dist / f"{about.id}.yml").write_text(linux.flatpak_manifest(about, made[0]))
    appdir = linux.make_appdir(about, program, desktop, work / "AppDir")
    if shutil.which("appimagetool"):
        file = dist / f"{about.command}-{about.version}-{target()}.AppImage"
        subprocess.run(["appimagetool", appdir, file], check=True)
        made.append(file)
    for light in (False, True):
        root = work / ("light" if light else "whole")
        shutil.copytree(desktop, root)
        package = deb.package_name(about, light=light)
        papers = root / "usr" / "share" / "doc" / package
        made.append(deb.make_deb(about, program, root, dist, origins(out), light=light, fast=fast))
        if light:  # the whole one's is that of the archive
            put_bill(package, about.version, papers, dist)
    return made


def write_sums(dist: Path) -> None:
    """``SHA256SUMS`` of everything that is there, in the form of ``sha256sum``."""
    lines: list[str] = []
    for file in sorted(one for one in dist.iterdir() if one.name != "SHA256SUMS"):
        with file.open("rb") as opened:
            lines.append(f"{hashlib.file_digest(opened, 'sha256').hexdigest()}  {file.name}\n")
    (dist / "SHA256SUMS").write_text("".join(lines))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("out", type=Path)
    parser.add_argument("--fast", action="store_true")
    parser.add_argument("--keep-program", action="store_true", help="pack what was built before")
    options = parser.parse_args()
    out: Path = options.out.resolve()
    (out / "dist").mkdir(parents=True, exist_ok=True)
    about = definition()
    draw_icons(about.icon, out / "icons", about.command)
    if not options.keep_program:
        build_program(out)
    put_papers(about, out)
    if sys.platform == "linux":
        build_linux(out, fast=options.fast)
    elif sys.platform == "win32":
        program = out / "program" / about.command
        linux.mark(program, "windows")
        windows.make_installer(about, program, out / "icons", out / "dist")
    else:
        macos.build_macos(about, out)
    write_sums(out / "dist")
    for file in sorted((out / "dist").iterdir()):
        print(f"{file.stat().st_size / 1e6:7.1f} MB  {file.name}")


if __name__ == "__main__":
    main()
