"""Script heads: reads what the files of a pack's tools say that they need, as in PEP 723."""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import lru_cache
from pathlib import Path

from studio.agent.permission.invisible_characters import escape_line
from studio.domain.jsonvalue import as_object

from .manifest import MAX_BYTES, PackManifest

_HEAD = re.compile(r"^# /// script\r?\n((?:#(?: [^\n]*)?\r?\n)+?)# ///\r?$", re.MULTILINE)


def requirements(manifest: PackManifest, digest: str) -> tuple[str, ...]:
    """All that the Python of a pack needs: what its manifest says, and the heads of its files.

    ``digest`` is that of the pack's files: they are read once for each. Blocks.
    """
    return tuple(dict.fromkeys((*manifest.python, *_kept(_tools(manifest), digest))))


def read_heads(manifest: PackManifest) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """All that it needs, and a sentence for each file whose head is wrong. Blocks."""
    found = [(file, text) for file in _tools(manifest) for text in _needs(file)]
    wrong = [
        f"The head of {escape_line(file.name, 200)} (# /// script) is wrong: it was left out."
        for file, text in found
        if not text
    ]
    needs = (*manifest.python, *(text for _, text in found if text))
    return tuple(dict.fromkeys(needs)), tuple(dict.fromkeys(wrong))


def _tools(manifest: PackManifest) -> tuple[Path, ...]:
    part = manifest.found.get("tools")
    return part.files if part is not None else ()


@lru_cache(maxsize=64)
def _kept(files: tuple[Path, ...], _digest: str) -> tuple[str, ...]:
    return tuple(text for file in files for text in _needs(file) if text)


def _needs(file: Path) -> Iterator[str]:
    """What the head of a file says that it needs; an empty text where it is wrong."""
    try:
        with file.open("rb") as opened:
            text = opened.read(MAX_BYTES).decode("utf-8", "replace")
    except OSError:
        return  # who loads it says so
    if (head := _HEAD.search(text)) is None:
        return
    import tomllib  # few files have a head

    lines = (line.removeprefix("#").removeprefix(" ") for line in head[1].splitlines())
    try:
        told = as_object(tomllib.loads("\n".join(lines)))
    except tomllib.TOMLDecodeError:
        yield ""
        return
    found = told.get("dependencies", [])
    for one in found if isinstance(found, list) else [""]:
        words = one.strip() if isinstance(one, str) else ""
        yield "" if words.startswith("-") else words
