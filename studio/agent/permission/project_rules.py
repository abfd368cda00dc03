"""Project rules: reads the permission rules in the ``.agents`` of a folder.

``.agents/permissions.yaml`` has lists under ``allow``, ``ask`` and ``deny``.
"""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from pathlib import Path
from typing import Any, cast

from studio.domain.permissions import Rule

PERMISSIONS = Path(".agents") / "permissions.yaml"
AGENTS = Path(".agents") / "agents"
LARGEST = 200_000
"""Bytes of one file."""


@dataclass(frozen=True, slots=True)
class ProjectRules:
    """``digest`` is of every file that could widen rights; ``empty`` if there is none.

    ``gone``: there is no such folder.
    """

    rules: tuple[Rule, ...]
    digest: str
    empty: bool = False
    problem: str = ""
    gone: bool = False


def read_project(folder: Path) -> ProjectRules:
    """Reads the disk; what is wrong with a file is in ``problem``."""
    path = folder / PERMISSIONS
    data = _bytes(path)
    agents = folder / AGENTS
    files = sorted(agents.glob("*.md")) if agents.is_dir() else []
    found = [(one.name, _bytes(one)) for one in files]
    total = hashlib.sha256()
    for name, content in (("permissions.yaml", data), *found):
        mark = content if content is not None else b""
        head = f"{name}\n{content is not None}\n{len(mark)}\n"
        total.update(head.encode(errors="surrogatepass") + mark)  # any name that a disk has
    try:
        rules = tuple(_rules(data or b""))
    except ValueError as error:
        return ProjectRules((), total.hexdigest(), problem=f"{path}: {error}")
    empty = data is None and not found
    gone = empty and not folder.is_dir()
    return ProjectRules(rules, total.hexdigest(), empty=empty, gone=gone)


def _bytes(path: Path) -> bytes | None:
    """The file's beginning, one byte more than may be; None if it cannot be read."""
    try:
        if not path.is_file():
            return None
        with path.open("rb") as file:
            return file.read(LARGEST + 1)
    except OSError:
        return None


def _rules(data: bytes) -> list[Rule]:
    if not data:
        return []
    import yaml

    if len(data) > LARGEST:
        raise ValueError(f"the file is larger than {LARGEST:,} bytes")
    try:
        loaded: Any = yaml.safe_load(data.decode("utf-8-sig"))
    except (UnicodeDecodeError, yaml.YAMLError, RecursionError) as error:
        raise ValueError("this is not valid YAML") from error
    if loaded is None:
        return []
    if not isinstance(loaded, dict):
        raise ValueError("it has lists under allow, ask and deny")
    rules: list[Rule] = []
    for verdict, patterns in cast("dict[Any, Any]", loaded).items():
        if verdict not in ("allow", "ask", "deny"):
            raise ValueError(f"it has allow, ask and deny, not {verdict!r}")
        items = cast("list[object]", patterns) if isinstance(patterns, list) else [patterns]
        for item in items:
            if not isinstance(item, str):
                raise ValueError(f"{verdict} is a list of texts")
            rules.append(Rule.parse(item, verdict))
    return rules
