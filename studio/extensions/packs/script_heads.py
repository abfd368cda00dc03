"""Script heads: reads what the files of a pack's tools say that they need, as in PEP 723."""

from __future__ import annotations

from collections.abc import Iterator
from functools import lru_cache
from pathlib import Path

from studio.agent.permission.invisible_characters import escape_line
from studio.domain.jsonvalue import as_object

from .manifest import MAX_BYTES, PackManifest

_BEGIN, _END = "# /// script", "# ///"
_LONGEST = 300
"""Characters of one requirement: whoever approves them reads all."""


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
    if _BEGIN not in text or not (heads := list(_heads(text))):
        return
    import tomllib  # few files have a head

    try:
        if len(heads) > 1:
            raise ValueError("a file has one head")
        told = as_object(tomllib.loads(heads[0]))
    except ValueError:
        yield ""
        return
    found = told.get("dependencies", [])
    for one in found if isinstance(found, list) else [""]:
        words = one.strip() if isinstance(one, str) else ""
        yield "" if words.startswith("-") or len(words) > _LONGEST else words


def _heads(text: str) -> Iterator[str]:
    """What stands between the lines of each head: its last line ends it, among comments."""
    lines: list[str] | None = None
    ended = 0
    for line in (*text.replace("\r\n", "\n").split("\n"), ""):
        if lines is None:
            if line == _BEGIN:
                lines, ended = list[str](), 0
        elif line == "#" or line.startswith("# "):
            ended = len(lines) if line == _END else ended
            lines.append(line[2:])
        else:
            if ended:
                yield "\n".join(lines[:ended])
            lines = None
