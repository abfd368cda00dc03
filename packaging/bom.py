"""Collects what ships: a CycloneDX bill of materials, and the licences of all of it.

Run by the Python that the packages are built with. A package of the program's dependencies that is
installed there ships where its files are in the program's folder. Libraries of the system, which
PyInstaller takes along, are named by the system's packages that have them, or belong to Python.
"""

from __future__ import annotations

import hashlib
import importlib.metadata
import json
import platform
import re
import shutil
import subprocess
import sys
import sysconfig
import tomllib
import uuid
from collections.abc import Iterable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any
from urllib.parse import quote

from definition import ROOT, Definition, definition

PAPERS = BILL, LICENCES = "bom.cdx.json", "licences.txt"
"""The papers that every package has."""
INSIDE = "_internal"
"""PyInstaller's folder of all but the program itself."""
LICENCE_FILES = re.compile(r"(licen[cs]e|copying|notice|authors)", re.IGNORECASE)
BESIDE = re.compile(r"(?!.*(licen[cs]e|copying)).*(notice|authors)", re.IGNORECASE)
"""Files that belong to a licence, and are none themselves."""
TRANSLATED = {
    "MIT License": "MIT",
    "BSD License": "BSD-3-Clause",
    "Apache Software License": "Apache-2.0",
    "Python Software Foundation License": "PSF-2.0",
    "Mozilla Public License 2.0 (MPL 2.0)": "MPL-2.0",
    "GNU Lesser General Public License v3 (LGPLv3)": "LGPL-3.0-only",
    "ISC License (ISCL)": "ISC",
    "MIT": "MIT",
    "Apache 2.0": "Apache-2.0",
    "Apache License 2.0": "Apache-2.0",
    "Apache License, Version 2.0": "Apache-2.0",
    "Apache": "Apache-2.0",
    "BSD": "BSD-3-Clause",
    "3-Clause BSD License": "BSD-3-Clause",
    "BSD-3-clause": "BSD-3-Clause",
    "PSF": "PSF-2.0",
}
"""SPDX names of what older packages call their licence."""

HEADS = {
    "Apache License": "Apache-2.0",
    "MIT License": "MIT",
    "This software is provided 'as-is', without any": "Zlib",
}
"""How the text of a licence begins, for packages that say no more."""


def shipped(needs: list[str]) -> list[importlib.metadata.Distribution]:
    """The packages that these needs come to here, with their own needs, in the order of names."""
    from packaging.requirements import Requirement

    found: dict[str, importlib.metadata.Distribution] = {}
    seen: set[tuple[str, frozenset[str]]] = set()

    def take(lines: list[str], extras: frozenset[str]) -> None:
        for need in map(Requirement, lines):
            marker = need.marker
            if marker and not any(marker.evaluate({"extra": one}) for one in ("", *extras)):
                continue
            key = need.name.lower(), frozenset(need.extras)
            if key in seen:
                continue
            seen.add(key)
            try:
                one = importlib.metadata.distribution(need.name)
            except importlib.metadata.PackageNotFoundError:
                continue
            found[one.metadata["Name"].lower()] = one
            take(one.requires or [], key[1])

    take(needs, frozenset())
    return [found[key] for key in sorted(found)]


def licence_of(one: importlib.metadata.Distribution) -> str:
    """The licence by its SPDX name, as far as the package says it; empty if it says nothing."""
    meta = one.metadata
    if expression := meta.get("License-Expression"):
        return expression
    named = [
        text.rpartition(" :: ")[2]
        for text in meta.get_all("Classifier") or []
        if text.startswith("License :: ") and text.count(" :: ") > 1
    ]
    said = (meta.get("License") or "").strip()
    known = [TRANSLATED[name] for name in (*named, said) if name in TRANSLATED]
    if known:
        return " OR ".join(dict.fromkeys(known))
    if named or (said and len(said) < 60):
        return (named or [said])[0]
    heads = " ".join(text[:400] for text in licence_texts(one))
    return next((licence for words, licence in HEADS.items() if words in heads), "")


def licence_texts(one: importlib.metadata.Distribution) -> list[str]:
    """The texts of the licence that came with a package, and who is named beside it."""
    return list(dict.fromkeys(text for _, text in _licence_files(one)))


def has_licence(one: importlib.metadata.Distribution) -> bool:
    """Whether a text of the licence came with it; who wrote the package is none."""
    return any(not BESIDE.match(name) for name, _ in _licence_files(one))


def _licence_files(one: importlib.metadata.Distribution) -> list[tuple[str, str]]:
    found: list[tuple[str, str]] = []
    for file in one.files or []:
        inside = ".dist-info" in str(file) and LICENCE_FILES.search(Path(str(file)).name)
        beside = "licenses" in Path(str(file)).parts and ".dist-info" in str(file)
        if inside or beside:
            path = Path(str(file.locate()))
            if path.is_file():
                found.append((path.name, path.read_text("utf-8", "replace").strip()))
    return found


def parts_of(about: Definition) -> list[importlib.metadata.Distribution]:
    """The Python packages of this environment that the program is made of, and the weights."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
    extras = [need for one in about.extras for need in project["optional-dependencies"][one]]
    parts = shipped(project["dependencies"] + extras)
    with suppress(importlib.metadata.PackageNotFoundError):
        parts.append(importlib.metadata.distribution(about.model_package))
    return parts


def without_text(about: Definition, parts: list[importlib.metadata.Distribution]) -> list[str]:
    """The packages that cannot ship: no text of a licence is with them, or in the definition."""
    covered = {name_of(one) for licence in about.licences for one in licence.packages}
    names = (one.metadata["Name"] for one in parts if not has_licence(one))
    return [one for one in names if name_of(one) not in covered]


def name_of(package: str) -> str:
    """A package's name as package URLs have it: the normal form of PEP 503."""
    return re.sub(r"[-_.]+", "-", package).lower()


def is_in(program: Path, part: importlib.metadata.Distribution) -> bool:
    """Whether PyInstaller's folder has a file of this package, as it is or compiled."""
    inside = program / INSIDE
    for file in part.files or []:
        name = str(file)
        if ".dist-info" in name or name.startswith(".."):
            continue
        if (inside / name).is_file() or (inside / name).with_suffix(".pyc").is_file():
            return True
    return False


@dataclass
class Libraries:
    """Libraries that PyInstaller took from the system and from Python, and no Python package has.

    ``packages`` are Debian's, by their names; ``python`` and ``others`` are names of files.
    """

    packages: list[str] = field(default_factory=list)
    python: list[str] = field(default_factory=list)
    others: list[str] = field(default_factory=list)


def libraries(program: Path, origins: Mapping[str, str]) -> Libraries:
    """Whose the libraries are that are there still; ``origins`` says where each is from."""
    installed = {Path(sysconfig.get_path(one)).resolve() for one in ("purelib", "platlib")}
    sources = {
        place: Path(source)
        for place, source in origins.items()
        if Path(source).is_absolute()  # a link names another file beside it
        and (program / INSIDE / place).is_file()
        and not any(one in Path(source).resolve().parents for one in installed)
    }
    owners = debian_owners(sources.values())
    found = Libraries(sorted(set(owners.values())))
    for place, source in sorted(sources.items()):
        if source in owners:
            continue
        if Path(sys.base_prefix).resolve() in source.resolve().parents:
            if not re.search(r"\.(pyd|cpython-.+)$|lib-dynload", place):  # modules are no libraries
                found.python.append(Path(place).name)
        else:
            found.others.append(Path(place).name)
    return found


def debian_owners(files: Iterable[Path]) -> dict[Path, str]:
    """The Debian package of each file that has one, with its architecture."""
    if not shutil.which("dpkg-query"):
        return {}
    names: dict[str, Path] = {}
    for one in files:  # /lib is a link to /usr/lib, and packages name either
        text = str(one)
        names |= {text: one, f"/usr{text}": one, text.removeprefix("/usr"): one}
        names.setdefault(str(one.resolve()), one)
    if not names:
        return {}
    command = ["dpkg-query", "--search", *names]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    found: dict[Path, str] = {}
    for line in done.stdout.splitlines():
        packages, _, file = line.rpartition(": ")
        if file in names and not packages.startswith("diversion by"):
            found[names[file]] = packages.partition(",")[0]
    return found


def debian_component(package: str) -> dict[str, Any]:
    """A package of the system that the program was built on."""
    form = "${Package} ${Version} ${Architecture}"
    command = ["dpkg-query", "--show", "--showformat", form, package]
    told = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    name, version, architecture = told.split()
    system = platform.freedesktop_os_release()
    where = f"{system['ID']}-{system.get('VERSION_ID', '')}".rstrip("-")
    purl = f"pkg:deb/{system['ID']}/{name}@{quote(version)}?arch={architecture}&distro={where}"
    return {
        "type": "library",
        "bom-ref": purl,
        "name": name,
        "version": version,
        "purl": purl,
        "licenses": [{"license": {"name": f"see {name} in {LICENCES}"}}],
    }


def debian_text(package: str) -> str:
    """What Debian says of a package's licences; empty where it says nothing."""
    file = Path("/usr/share/doc", package.partition(":")[0], "copyright")
    return file.read_text("utf-8", "replace").strip() if file.is_file() else ""


def common_texts(texts: Iterable[str]) -> dict[str, str]:
    """Texts of Debian's that others name by their place, which other systems do not have."""
    found: dict[str, str] = {}
    for name in re.findall(r"/usr/share/common-licenses/([\w.-]*\w)", "\n".join(texts)):
        file = Path("/usr/share/common-licenses", name).resolve()
        if file.is_file():
            found[file.name] = file.read_text("utf-8", "replace").strip()
    return found


def python_text() -> str:
    """The text of Python's licence, which is in its own folder or among Debian's papers."""
    number = f"python{sys.version_info.major}.{sys.version_info.minor}"
    folder = Path(sysconfig.get_path("stdlib"))
    for file in (
        folder / "LICENSE.txt",
        Path(sys.base_prefix, "LICENSE.txt"),  # on Windows
        Path("/usr/share/doc", number, "copyright"),
    ):
        if file.is_file():
            return file.read_text("utf-8", "replace").strip()
    return ""


def bill(
    about: Definition, parts: list[importlib.metadata.Distribution], natives: Libraries
) -> dict[str, Any]:
    """A CycloneDX 1.6 document."""
    components: list[dict[str, Any]] = []
    for one in parts:
        name, version = one.metadata["Name"], one.version
        purl = f"pkg:pypi/{name_of(name)}@{version}"
        component: dict[str, Any] = {
            "type": "library",
            "bom-ref": purl,
            "name": name,
            "version": version,
            "purl": purl,
        }
        if licence := licence_of(one):
            component["licenses"] = [_licence(licence)]
        components.append(component)
    for one in about.licences:
        if one.packages:  # the text of packages that are named above
            continue
        text = (ROOT / one.file).read_bytes()
        components.append(
            {
                "type": "data",
                "bom-ref": f"file:{one.file}",
                "name": one.name,
                "licenses": [_licence(one.licence)],
                "hashes": [{"alg": "SHA-256", "content": hashlib.sha256(text).hexdigest()}],
            }
        )
    components += map(debian_component, natives.packages)
    components += [
        {"type": "library", "bom-ref": f"library:{name}", "name": name} for name in natives.others
    ]
    python: dict[str, Any] = {
        "type": "platform",
        "bom-ref": "python",
        "name": "Python",
        "version": platform.python_version(),
        "licenses": [_licence("PSF-2.0")],
    }
    if natives.python:  # they came with it
        python["components"] = [
            {"type": "library", "bom-ref": f"python:{name}", "name": name}
            for name in natives.python
        ]
    components.append(python)
    told = json.dumps(components, sort_keys=True)
    return {
        "$schema": "http://cyclonedx.org/schema/bom-1.6.schema.json",
        "bomFormat": "CycloneDX",
        "specVersion": "1.6",
        "serialNumber": f"urn:uuid:{uuid.uuid5(uuid.NAMESPACE_URL, about.id + told)}",
        "version": 1,
        "metadata": {
            "component": {
                "type": "application",
                "bom-ref": about.command,
                "name": about.title,
                "version": about.version,
                "licenses": [_licence(about.licence)],
            }
        },
        "components": components,
        "dependencies": [
            {"ref": about.command, "dependsOn": [one["bom-ref"] for one in components]}
        ],
    }


def _licence(name: str) -> dict[str, Any]:
    if re.search(r" (AND|OR|WITH) ", name):
        return {"expression": name}
    return {"license": {"id": name} if re.fullmatch(r"[\w.+-]+", name) else {"name": name}}


def write_papers(program: Path, folder: Path, origins: Mapping[str, str]) -> list[str]:
    """Write both papers of what is in PyInstaller's folder; returns what has no text of a licence.

    ``origins`` says where PyInstaller took each library from.
    """
    about = definition()
    parts = [one for one in parts_of(about) if is_in(program, one)]
    names = {name_of(one.metadata["Name"]) for one in parts}
    about = replace(
        about,
        licences=tuple(
            one
            for one in about.licences
            if names & set(map(name_of, one.packages))
            or (not one.packages and (program / INSIDE / one.folder).is_dir())
        ),
    )
    natives = libraries(program, origins)
    silent = without_text(about, parts)
    rule = "=" * 78
    lines = [f"{about.title} {about.version}: {about.licence}", ""]
    lines += [(ROOT / "LICENSE").read_text("utf-8").strip(), ""]
    for one in about.licences:
        lines += [rule, f"{one.name}: {one.licence}", ""]
        lines += [(ROOT / one.file).read_text("utf-8").strip(), ""]
    for one in parts:
        texts = licence_texts(one)
        if not has_licence(one):
            name = name_of(one.metadata["Name"])
            above = [each.name for each in about.licences if name in map(name_of, each.packages)]
            texts.insert(0, f"The text is above: {', '.join(above)}.")
        licence = licence_of(one) or "see below"
        lines += [rule, f"{one.metadata['Name']} {one.version}: {licence}", ""]
        lines += [line for text in texts for line in (text, "")]
    texts = {f"Python {platform.python_version()}: PSF-2.0": python_text()}
    texts |= {one.partition(":")[0]: debian_text(one) for one in natives.packages}
    silent += [name for name, text in texts.items() if not text]
    if sys.platform == "linux":  # elsewhere they are the system's own, as the C library of Windows
        silent += natives.others
    texts |= common_texts(texts.values())
    for name, text in texts.items():
        lines += [rule, name, "", text, ""]
    folder.mkdir(parents=True, exist_ok=True)
    told = json.dumps(bill(about, parts, natives), indent=1)
    (folder / BILL).write_text(told + "\n", "utf-8")
    (folder / LICENCES).write_text("\n".join(lines), "utf-8")
    return silent
