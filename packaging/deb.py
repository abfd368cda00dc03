"""Makes the .deb files of the program's folder: the whole one, and the light one."""

from __future__ import annotations

import re
import shutil
import subprocess
import textwrap
from collections.abc import Mapping
from email.utils import format_datetime
from pathlib import Path

import bom
from definition import ROOT, Definition, filled
from linux import (
    HERE,
    binaries,
    copy_program,
    mark,
    moment,
    open_to_all,
    output_of,
    write,
    write_gzip,
)

KEPT_PACKAGES = {"libc6", "libgl1", "libegl1", "libx11-6", "libxkbcommon0", "libfontconfig1"}
"""What belongs to the system and its graphics card, or brings keyboards and fonts with it."""
COMMON = {"Apache-2.0": "Apache-2.0", "LGPL-3.0-only": "LGPL-3", "GPL-3.0-only": "GPL-3"}
"""Licences whose text every Debian has, by the names of its files: packages name these alone."""


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
        *_licence_lines(about.licence, (ROOT / "LICENSE").read_text("utf-8")),
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
    version, machine = debian_version(about.version), output_of("dpkg", "--print-architecture")
    place = root / "usr" / "lib" / about.command
    copy_program(program, place, light=light)
    mark(place, "deb")
    link = root / "usr" / "bin" / about.command
    link.parent.mkdir(parents=True, exist_ok=True)
    link.symlink_to(f"../lib/{about.command}/{about.command}")
    docs = root / "usr" / "share" / "doc" / package
    write(docs / "copyright", copyright_file(about))
    write_gzip(docs / "CHANGELOG.md.gz", (ROOT / "CHANGELOG.md").read_text("utf-8"))
    write_gzip(docs / "changelog.gz", debian_changelog(about, package))
    for name in bom.PAPERS:  # of the whole program
        (place / name).unlink()
    bom.write_papers(place, docs, origins)
    overrides = filled(HERE / "lintian-overrides", {"package": package})
    write(root / "usr" / "share" / "lintian" / "overrides" / package, overrides)
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
    write(root / "DEBIAN" / "control", "\n".join((*control, "")))
    write(root / "DEBIAN" / "md5sums", _sums(root))
    open_to_all(root)
    file = out / f"{package}_{version}_{machine}.deb"
    packed = ["-Zzstd", "-z3"] if fast else ["-Zxz", "-z9"]
    subprocess.run(
        ["dpkg-deb", "--root-owner-group", *packed, "--build", root, file],
        check=True,
        stdout=subprocess.DEVNULL,
    )
    return file


def needed_packages(place: Path) -> str:
    """The Debian packages of all libraries that the program needs and does not bring."""
    debian = place.parents[2] / "debian"
    debian.mkdir()
    (debian / "control").write_text("Source: program\n\nPackage: program\nArchitecture: any\n")
    brought = binaries(place)
    folders = sorted({str(one.parent) for one in brought})
    done = subprocess.run(
        [
            "dpkg-shlibdeps",
            "-O",
            "--ignore-missing-info",
            *(f"-x{one}" for one in _owners(brought)),
            *(f"-l{one}" for one in folders),
            *(f"-e{one}" for one in brought),
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


def _owners(brought: list[Path]) -> list[str]:
    """The Debian packages here of libraries that the program brings: nobody needs to have them."""
    names = sorted({f"*/{one.name}" for one in brought if one.name.startswith("lib")})
    done = subprocess.run(["dpkg", "-S", *names], capture_output=True, text=True, check=False)
    packages = {line.partition(":")[0] for line in done.stdout.splitlines()}
    return sorted(packages - KEPT_PACKAGES)


def _sums(root: Path) -> str:
    files = sorted(one for one in (root / "usr").rglob("*") if one.is_file())
    names = [str(one.relative_to(root)) for one in files if not one.is_symlink()]
    done = subprocess.run(["md5sum", *names], cwd=root, capture_output=True, text=True, check=True)
    return done.stdout
