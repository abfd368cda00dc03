"""Follows a page of ``docs/extending``: in a copy of the program, and in the running one."""

from __future__ import annotations

import importlib
import re
import shutil
import sys
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType

import pytest

import studio
from support.room_map import unnamed_modules

ROOT = Path(studio.__file__).parents[1]
STEP = re.compile(
    r"^(Write|Add)([^\n`]*)(?:`(\w+)` in )?`(studio/[\w/]+\.py)`:\n\n"
    r"```(?:python|text)\n(.*?)^```",
    re.M | re.S,
)
MAP = re.compile(r"(?:^- ``.*\n(?:^  .*\n)*)+", re.M)
"""The first list of a docstring, which names the modules of the package."""


@dataclass(frozen=True, slots=True)
class Step:
    """``Write`` makes a new file, ``Add`` puts lines into one that is there.

    They go to the end of the list in its ``docstring``; to the end of the tuple or dictionary
    with a ``name``, or the beginning of the class; or else to the end of the file.
    """

    kind: str
    docstring: bool
    name: str
    path: str
    code: str


def steps(page: str) -> list[Step]:
    """What a page of ``docs/extending`` tells its reader to do, in order."""
    text = (ROOT / "docs" / "extending" / page).read_text("utf-8")
    return [
        Step(kind, "docstring" in words, name, path, code)
        for kind, words, name, path, code in STEP.findall(text)
    ]


def copy_with(page: str, place: Path) -> Path:
    """A copy of the program with all that the page tells its reader to do, and nothing else.

    Every package in it still names its modules, as ``test_floors`` demands.
    """
    copy = place / "program"
    skipped = shutil.ignore_patterns("__pycache__")
    shutil.copytree(ROOT / "studio", copy / "studio", ignore=skipped)
    (copy / "resources").symlink_to(ROOT / "resources")
    for step in steps(page):
        _take(step, copy / step.path)
    for room in (copy / "studio").glob("*/**/__init__.py"):
        assert not unnamed_modules(room.parent), f"{page} gives no line for the map in {room}"
    return copy


def _take(step: Step, file: Path) -> None:
    if step.kind == "Write":
        assert not file.exists(), f"{step.path} is there already"
        file.parent.mkdir(exist_ok=True)
        file.write_text(step.code, "utf-8")
        return
    text = file.read_text("utf-8")
    if step.docstring:
        found = MAP.search(text)
    elif step.name:
        found = re.search(
            rf'^class {step.name}:\n    """.*?"""\n|^{step.name}\b[^\n]*[({{]\n.*?(?=^[)}}])',
            text,
            re.M | re.S,
        )
    else:
        found = re.search(r"\Z", text)
    assert found is not None, f"{step.path} has nothing to add to"
    code = step.code if step.docstring or step.name else f"\n\n{step.code}"
    file.write_text(text[: found.end()] + code + text[found.end() :], "utf-8")


def follow(page: str, place: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Bring what the page adds into this process, without touching the program's own files.

    A new module of the copy is found beside the others of its package. The copy's registry
    is read, and its ``PAGES`` take the place of the registry's.
    """
    copy = copy_with(page, place)
    for step in steps(page):
        name = step.path.removesuffix(".py").replace("/", ".")
        if step.kind == "Write":
            package = importlib.import_module(name.rpartition(".")[0])
            path = [*package.__path__, str((copy / step.path).parent)]
            monkeypatch.setattr(package, "__path__", path)
            monkeypatch.delitem(sys.modules, name, raising=False)
        elif step.name == "PAGES":
            registry = importlib.import_module(name)
            again = ModuleType(name)
            again.__dict__["__package__"] = registry.__package__
            monkeypatch.setitem(sys.modules, name, again)
            changed = (copy / step.path).read_text("utf-8")
            exec(compile(changed, step.path, "exec"), again.__dict__)
            monkeypatch.setitem(sys.modules, name, registry)
            monkeypatch.setattr(registry, "PAGES", again.__dict__["PAGES"])
