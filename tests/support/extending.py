"""Follows a page of ``docs/extending``: writes its module, adds its line to the registry."""

from __future__ import annotations

import importlib
import re
import sys
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType

import pytest

import studio

ROOT = Path(studio.__file__).parents[1]
STEP = re.compile(
    r"^(Write|Add)[^\n]*?`(studio/[\w/]+\.py)`:\n\n```(?:python|text)\n(.*?)^```", re.M | re.S
)


@dataclass(frozen=True, slots=True)
class Step:
    """``Write`` makes a new file, ``Add`` puts lines at the end of the list ``PAGES`` of a file."""

    kind: str
    path: str
    code: str


def steps(page: str) -> list[Step]:
    """What a page of ``docs/extending`` tells its reader to do, in order."""
    text = (ROOT / "docs" / "extending" / page).read_text("utf-8")
    return [Step(kind, path, code) for kind, path, code in STEP.findall(text)]


def follow(page: str, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Do as the page says, without touching the program's own files.

    A new module is found beside the others of its package. The file with the
    registry is read with the new line in it, and its list takes the place of the
    registry's.
    """
    for step in steps(page):
        if step.kind == "Write":
            assert not (ROOT / step.path).exists(), step.path
            _write(step, folder, monkeypatch)
        else:
            _add(step, monkeypatch)


def _write(step: Step, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file = folder / step.path
    file.parent.mkdir(parents=True)
    file.write_text(step.code, "utf-8")
    package = importlib.import_module(_module(step.path).rpartition(".")[0])
    monkeypatch.setattr(package, "__path__", [*package.__path__, str(file.parent)])
    monkeypatch.delitem(sys.modules, _module(step.path), raising=False)


def _add(step: Step, monkeypatch: pytest.MonkeyPatch) -> None:
    assert len(step.code.splitlines()) == 1, "one line"
    source = (ROOT / step.path).read_text("utf-8")
    changed, count = re.subn(r"(^PAGES: .*?)(^\)$)", rf"\1{step.code}\2", source, flags=re.M | re.S)
    assert count == 1, step.path
    registry = importlib.import_module(_module(step.path))
    again = ModuleType(registry.__name__)
    again.__dict__["__package__"] = registry.__package__
    monkeypatch.setitem(sys.modules, registry.__name__, again)
    exec(compile(changed, step.path, "exec"), again.__dict__)
    monkeypatch.setitem(sys.modules, registry.__name__, registry)
    monkeypatch.setattr(registry, "PAGES", again.__dict__["PAGES"])


def _module(path: str) -> str:
    return path.removesuffix(".py").replace("/", ".")
