"""Script heads: reads what the files of a pack's tools say that they need, as in PEP 723."""

from __future__ import annotations

from functools import lru_cache
from pathlib import Path

from studio.agent.permission.invisible_characters import escape_line
from studio.domain.records import dataclass
from studio.tools.script_head import LEAST_PYTHON, ScriptHead, python_versions, read_head

from .manifest import PackManifest

WRONG = "The head of {file} (# /// script) is wrong: it was left out."


@dataclass(frozen=True, slots=True)
class PackNeeds:
    """The packages and versions of Python that a pack needs; ``wrong`` are sentences about heads
    that cannot be read."""

    packages: tuple[str, ...] = ()
    python: str = LEAST_PYTHON
    wrong: tuple[str, ...] = ()


def kept_needs(manifest: PackManifest, digest: str) -> PackNeeds:
    """The same as ``read_needs``; ``digest`` is that of the pack's files, which are read once for
    each. Blocks."""
    return _needs(manifest, _kept(_tools(manifest), digest))


def read_needs(manifest: PackManifest) -> PackNeeds:
    """All that the Python of a pack needs: what its manifest says, and the heads of its files.
    Blocks."""
    return _needs(manifest, _heads(_tools(manifest)))


def wrong_head(file: Path) -> str:
    return WRONG.format(file=escape_line(file.name, 200))


def _needs(manifest: PackManifest, heads: dict[Path, ScriptHead]) -> PackNeeds:
    packages = (*manifest.python, *(one for head in heads.values() for one in head.needs))
    wrong = tuple(wrong_head(file) for file, head in heads.items() if head.wrong)
    python = python_versions(tuple(heads.values()))
    return PackNeeds(tuple(dict.fromkeys(packages)), python, wrong)


def _tools(manifest: PackManifest) -> tuple[Path, ...]:
    part = manifest.found.get("tools")
    return part.files if part is not None else ()


@lru_cache(maxsize=64)
def _kept(files: tuple[Path, ...], _digest: str) -> dict[Path, ScriptHead]:
    return _heads(files)


def _heads(files: tuple[Path, ...]) -> dict[Path, ScriptHead]:
    return {file: head for file in files if (head := read_head(file)) is not None}
