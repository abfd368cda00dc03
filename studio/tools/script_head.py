"""Script head: what a Python file says that it needs, as in PEP 723.

A file with such a head is run in an environment that ``uv`` makes, and never in the program (X-3).
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterator, Sequence
from functools import lru_cache
from pathlib import Path

from studio.domain.jsonvalue import as_object
from studio.domain.records import dataclass

MOST_BYTES = 1_000_000
LEAST_PYTHON = ">=3.11"
"""What the studio itself needs, beside what a file says."""
_BEGIN, _END = "# /// script", "# ///"
_LONGEST = 300
"""Characters of one requirement: whoever approves them reads all."""
_VERSION = re.compile(r"\s*(?:~=|===?|!=|[<>]=?)\s*\d[\w.]*(?:\.\*)?\s*")


@dataclass(frozen=True, slots=True)
class ScriptHead:
    """The packages that a file needs, and the versions of Python; ``wrong``: some cannot be read.

    ``digest`` is that of the whole file.
    """

    needs: tuple[str, ...] = ()
    python: tuple[str, ...] = ()
    wrong: bool = False
    digest: str = ""


def read_head(file: Path) -> ScriptHead | None:
    """The head of a file; None where it has none. Read again when the file changes. Blocks."""
    try:
        state = file.stat()
        return _read(file, state.st_mtime_ns, state.st_size)
    except OSError:
        return None  # who loads it says so


@lru_cache(maxsize=256)
def _read(file: Path, _time: int, _size: int) -> ScriptHead | None:
    with file.open("rb") as opened:
        data = opened.read(MOST_BYTES)
    text, digest = data.decode("utf-8", "replace"), hashlib.sha256(data).hexdigest()
    heads = [*_heads(text)] if _BEGIN in text else []
    return _parsed(heads, digest) if heads else None


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


def _parsed(heads: Sequence[str], digest: str) -> ScriptHead:
    import tomllib  # few files have a head

    try:
        if len(heads) > 1:
            raise ValueError("a file has one head")
        told = as_object(tomllib.loads(heads[0]))
    except ValueError:
        return ScriptHead(wrong=True, digest=digest)
    listed, wanted = told.get("dependencies", []), told.get("requires-python", "")
    texts = listed if isinstance(listed, list) else [None]
    words = [one.strip() if isinstance(one, str) else "" for one in texts]
    needs = tuple(one for one in words if _is_requirement(one))
    versions = wanted.split(",") if isinstance(wanted, str) and wanted.strip() else []
    python = tuple("".join(one.split()) for one in versions if _VERSION.fullmatch(one))
    whole = isinstance(wanted, str) and len(python) == len(versions)
    return ScriptHead(needs, python, not whole or len(needs) < len(words), digest)


def _is_requirement(words: str) -> bool:
    return bool(words) and not words.startswith("-") and len(words) <= _LONGEST  # no option of uv


def python_versions(heads: tuple[ScriptHead, ...]) -> str:
    """The versions of Python that all of these take, as ``uv`` reads them."""
    return ",".join(dict.fromkeys((LEAST_PYTHON, *(one for head in heads for one in head.python))))
