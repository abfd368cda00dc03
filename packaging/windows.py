"""Makes the installers for Windows of the program's folder: NSIS and MSI.

Both are made by programs that run on Linux too (makensis, wixl), so that the installers themselves
are tried without Windows; the program in them is built on Windows alone. There build.py makes the
installer of NSIS. Of the folder that is then below ``build/packages/program`` this makes the MSI,
where there is wixl:

    python packaging/windows.py msi FOLDER OUT    # OUT/dist gets the package
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
import uuid
from pathlib import Path
from xml.sax.saxutils import quoteattr

from definition import ROOT, Definition, constant_of, definition, filled

HERE = Path(__file__).parent / "windows"
RUN_VALUE = constant_of(ROOT / "studio" / "workflows" / "at_login.py", "RUN_VALUE")
"""The registry's name for what the program starts when the person logs in."""


def opened(about: Definition, program: str) -> list[tuple[str, str, str]]:
    """What the registry has for links, folders and files: keys below HKCU, names, values.

    The whole ending of a file's name has a dot in it, and Windows goes by what is after the last
    one alone. So these files have an entry in the menu of all that end like that, which is shown
    for their names only; what they are opened with by a double click stays the person's.
    """
    classes, opens = "Software\\Classes", f'"{program}" "%1"'
    link = f"{classes}\\{about.link_scheme}"
    found = [
        (link, "", f"URL:{about.title}"),
        (link, "URL Protocol", ""),
        (f"{link}\\shell\\open\\command", "", opens),
    ]
    entries = [("Directory", "")] if about.folders else []
    for one in about.file_types:
        kind = f"SystemFileAssociations\\.{one.ending.rpartition('.')[2]}"
        entries.append((kind, f'System.FileName:"*{one.ending}"'))
    for kind, only in entries:
        key = f"{classes}\\{kind}\\shell\\{about.command}"
        found += [(key, "", about.title), (key, "Icon", program)]
        found += [(key, "AppliesTo", only)] if only else []
        found += [(f"{key}\\command", "", opens)]
    return found


def roots(about: Definition) -> list[str]:
    """The keys of ``opened`` that are the program's own, with all below them."""
    keys = sorted({key for key, _, _ in opened(about, "")})
    return [one for one in keys if not any(one.startswith(f"{key}\\") for key in keys)]


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
        "run_value": RUN_VALUE,
        "opened": "\n".join(
            f'  WriteRegStr HKCU "{key}" "{name}" \'{value}\''
            for key, name, value in opened(about, rf"$INSTDIR\{about.command}.exe")
        ),
        "opened_removed": "\n".join(f'  DeleteRegKey HKCU "{key}"' for key in roots(about)),
    }
    return filled(HERE / "installer.nsi", about.values() | values)


def make_msi(about: Definition, program: Path, icons: Path, out: Path) -> Path:
    """The MSI, made by wixl, of a version that is numbers alone.

    Windows Installer knows no letters: the final version would be the same to it as its candidate,
    and not replace it.
    """
    if re.search("[a-z]", about.version):
        raise SystemExit(f"There is no MSI of {about.version}: Windows Installer knows no letters.")
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
        "numbers": about.version,
        "run_value": RUN_VALUE,
        "opened": "\n".join(
            f'              <RegistryValue Root="HKCU" Key={quoteattr(key)}'
            + (f" Name={quoteattr(name)}" if name else "")
            + f' Type="string" Value={quoteattr(value)}/>'
            for key, name, value in opened(about, f"[INSTALLDIR]{about.command}.exe")
        ),
    }
    return filled(HERE / "package.wxs", about.values() | values)


def code_of(about: Definition, what: str) -> str:
    """A GUID that is the same in every version."""
    return str(uuid.uuid5(uuid.NAMESPACE_URL, f"{about.id}/{what}"))


def main(arguments: list[str]) -> None:
    match arguments:
        case ["msi", folder, place]:
            from icons import draw_icons

            about, program, out = definition(), Path(folder).resolve(), Path(place).resolve()
            if not (program / f"{about.command}.exe").is_file():
                raise SystemExit(f"There is no {about.command}.exe in {program}.")
            (out / "dist").mkdir(parents=True, exist_ok=True)
            draw_icons(about.icon, out / "icons", about.command)
            print(make_msi(about, program, out / "icons", out / "dist"))
        case _:
            raise SystemExit(__doc__)


if __name__ == "__main__":
    main(sys.argv[1:])
