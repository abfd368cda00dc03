"""Brought packs: finds packs that ship with the program, and those of distributions (X-4).

A distribution is found by its metadata alone: nothing of it is imported before the person
approved what it is now.
"""

from __future__ import annotations

from collections.abc import Iterator
from importlib.metadata import Distribution, distributions
from pathlib import Path

from studio.tools.packs.home import NoRecords

from .installed import InstalledPacks
from .loading import CodePlace
from .manifest import MANIFEST
from .origins import Brought, Origin

ENTRY_POINTS = "agent_studio.packs"
IN_PROGRAM = ("shipped", "distribution")
"""Origins of packs whose Python runs in the program; that of others runs in a process of its own
(X-3)."""


def brought_packs(shipped: Path) -> Iterator[Brought]:
    """The packs in the folder of those that ship, and of all distributions; blocks."""
    try:
        found = sorted(shipped.iterdir())
    except OSError:
        found = []
    for folder in found:
        if (folder / MANIFEST).is_file():
            yield Brought(Origin("shipped", folder.name), folder)
    seen: set[Path] = set()
    for one in distributions():
        for folder in _folders(one):
            if folder not in seen and (folder / MANIFEST).is_file():
                seen.add(folder)
                words = f"{one.metadata['Name']} {one.version}"
                yield Brought(Origin("distribution", words), folder)


def _folders(one: Distribution) -> Iterator[Path]:
    """The packages that a distribution names as packs; its code is not run."""
    for entry in one.entry_points:
        if entry.group == ENTRY_POINTS:
            package = entry.value.partition(":")[0].strip()
            yield Path(str(one.locate_file(package.replace(".", "/"))))


def code_places(installed: InstalledPacks) -> Iterator[CodePlace]:
    """Where the Python is that runs in the program: of packs that are on and approved; blocks."""
    for pack in installed.list():
        if pack.origin.kind in IN_PROGRAM and pack.part("tools") is not None:
            records = NoRecords if pack.part("schema") is None else pack.open_records
            yield CodePlace(pack.id, pack.manifest.root, pack.digest, records)
