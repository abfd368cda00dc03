"""Each requirement that code or tests name is explained in ``docs/requirements.md``."""

from __future__ import annotations

import re
from pathlib import Path

ROOT = Path(__file__).parents[2]
NAME = re.compile(r"(?<![\w-])(?:[HLTPSGUCWMKXI]|KZ)-[1-9]\d?(?![\w-])")
EXPLAINED = re.compile(rf"^\| ({NAME.pattern}) \| .{{20,}} \|$", re.M)


def named() -> dict[str, Path]:
    found: dict[str, Path] = {}
    for folder in ("studio", "tests", "benchmarks"):
        for path in (ROOT / folder).rglob("*.py"):
            found.update(dict.fromkeys(NAME.findall(path.read_text("utf-8")), path))
    return found


def test_every_requirement_that_is_named_is_explained() -> None:
    explained = set(EXPLAINED.findall((ROOT / "docs" / "requirements.md").read_text("utf-8")))
    places = named()
    assert "H-5" in places
    assert not {name: str(path) for name, path in places.items() if name not in explained}
