"""Brought packs: finds packs that ship with the program, and those of distributions (X-4).

A distribution is found by its metadata alone: nothing of it is imported before the person
approved what it is now.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from functools import lru_cache
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
    for folder, words in _distributed(tuple(map(_state, _paths(tuple(sys.path))))):
        if (folder / MANIFEST).is_file():
            yield Brought(Origin("distribution", words), folder)


@lru_cache(maxsize=1)
def _distributed(places: object) -> tuple[tuple[Path, str], ...]:
    """The packages that distributions name as packs, read anew when one of ``places`` changed.

    To read them takes milliseconds, and a turn asks many times.
    """
    found: dict[Path, str] = {}
    for one in distributions():
        for folder in _folders(one):
            found.setdefault(folder, f"{one.metadata['Name']} {one.version}")
    return tuple(found.items())


@lru_cache(maxsize=1)
def _paths(places: tuple[str, ...]) -> tuple[Path, ...]:
    """To parse them takes longer than to look at them."""
    return tuple(map(Path, places))


def _state(place: Path) -> tuple[Path, int]:
    """What tells that a distribution came to a place or left it: each has a folder there."""
    try:
        return place, place.stat().st_mtime_ns
    except OSError:
        return place, 0


def _folders(one: Distribution) -> Iterator[Path]:
    """The packages that a distribution names as packs; its code is not run."""
    for entry in one.entry_points:
        if entry.group == ENTRY_POINTS:
            package = entry.value.partition(":")[0].strip()
            yield Path(str(one.locate_file(package.replace(".", "/"))))


def code_places(installed: InstalledPacks) -> Iterator[CodePlace]:
    """Where the Python is that runs in the program: of packs that are on and approved; blocks."""
    for pack in installed.on():
        if pack.origin.kind in IN_PROGRAM and pack.part("tools") is not None:
            records = NoRecords if pack.part("schema") is None else pack.open_records
            root = pack.manifest.root
            ships = pack.origin.kind == "shipped"
            known = f"reading {pack.reading}" if ships else pack.digest
            yield CodePlace(pack.id, root, known, records, pack.home, pack.name, ships)
