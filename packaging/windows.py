"""Makes the installers for Windows of the program's folder: NSIS and MSI.

Both are made by programs that run on Linux too (makensis, wixl), so that the installers themselves
are tried without Windows; the program in them is built on Windows alone.
"""

from __future__ import annotations

import os
import subprocess
import uuid
from pathlib import Path
from xml.sax.saxutils import quoteattr

from definition import Definition, filled

HERE = Path(__file__).parent / "windows"


def make_installer(about: Definition, program: Path, icons: Path, out: Path) -> Path:
    """The installer of NSIS, for one person."""
    file = out / f"{about.command}-{about.version}-setup.exe"
    script = out.parent / "installer.nsi"
    script.write_text(installer_script(about, program, icons, file), "utf-8")
    subprocess.run(["makensis", "-V2", "-INPUTCHARSET", "UTF8", script], check=True)
    return file


def installer_script(about: Definition, program: Path, icons: Path, file: Path) -> str:
    size = sum(one.stat().st_size for one in program.rglob("*") if one.is_file()) // 1024
    values = {
        "out": str(file),
        "icon": str(icons / f"{about.command}.ico"),
        "program": str(program),
        "kilobytes": str(size),
    }
    return filled(HERE / "installer.nsi", about.values() | values)


def make_msi(about: Definition, program: Path, icons: Path, out: Path) -> Path:
    """The MSI, made by wixl."""
    file = out / f"{about.command}-{about.version}.msi"
    source = out.parent / "package.wxs"
    source.write_text(msi_source(about, program, icons, source.parent), "utf-8")
    subprocess.run(
        ["wixl", "--arch", "x64", "--output", file, source.name], cwd=source.parent, check=True
    )
    return file


def msi_source(about: Definition, program: Path, icons: Path, place: Path) -> str:
    """A component for each file, with an id that the next version keeps.

    wixl wants the names of files from ``place``, where its source is.
    """
    lines: list[str] = []
    references: list[str] = []

    def add(folder: Path, deep: int) -> None:
        room = "  " * deep
        for one in sorted(folder.iterdir()):
            code = code_of(about, one.relative_to(program).as_posix())
            key, name = f"i{code.replace('-', '')}", quoteattr(one.name)
            if one.is_dir():
                lines.append(f'{room}<Directory Id="d{key}" Name={name}>')
                add(one, deep + 1)
                lines.append(f"{room}</Directory>")
                continue
            source = quoteattr(os.path.relpath(one, place))
            lines.append(
                f'{room}<Component Id="c{key}" Guid="{code}">'
                f'<File Id="f{key}" KeyPath="yes" Source={source} Name={name}/></Component>'
            )
            references.append(f'      <ComponentRef Id="c{key}"/>')

    add(program, 6)
    values = {
        "icon": os.path.relpath(icons / f"{about.command}.ico", place),
        "files": "\n".join(lines),
        "references": "\n".join(references),
        "upgrade_code": code_of(about, "upgrade"),
        "entries_code": code_of(about, "entries"),
    }
    return filled(HERE / "package.wxs", about.values() | values)


def code_of(about: Definition, what: str) -> str:
    """A GUID that is the same in every version."""
    return str(uuid.uuid5(uuid.NAMESPACE_URL, f"{about.id}/{what}"))
