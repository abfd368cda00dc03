"""The program where Qt is not installed, as in a container: everything but the window (C-29)."""

from __future__ import annotations

import asyncio
import importlib.util
import re
import sys
import tomllib
from asyncio.subprocess import DEVNULL, PIPE
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from studio.simulator import Call, Text, Turn
from support.command import Command, Ended, at_provider, finish

ROOT = Path(__file__).parents[2]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())
WINDOW: list[str] = PROJECT["tool"]["agent-studio"]["window"]
MODULES = {"PySide6-Essentials": ("PySide6", "shiboken6")}
"""What a package is imported as, where that is another name."""

MISSING = f"""
import importlib, pkgutil, runpy, sys
BLOCKED = {[*(name for one in WINDOW for name in MODULES.get(one, (one,)))]}
class NotInstalled:
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] in BLOCKED:
            raise ModuleNotFoundError(f"No module named {{name!r}}", name=name)
sys.meta_path.insert(0, NotInstalled())
importlib.util.find_spec = lambda name, package=None, found=importlib.util.find_spec: (
    None if name in BLOCKED else found(name, package)
)
"""
RUN = "sys.argv[0] = 'studio'; runpy.run_module('studio', run_name='__main__', alter_sys=True)"
IMPORT_ALL = """
import studio
for module in pkgutil.walk_packages(studio.__path__, "studio."):
    window = module.name.startswith(("studio.ui", "studio.packs.ui"))
    if not window and not module.name.endswith("__main__"):
        importlib.import_module(module.name)
        print(module.name)
"""


async def _python(terminal: Command, code: str, *arguments: str) -> Ended:
    """A new interpreter: in a forked one everything is imported already."""
    process = await asyncio.create_subprocess_exec(
        *(sys.executable, "-c", MISSING + code, *arguments),
        env={"PYTHONPATH": str(ROOT), **terminal.environment},
        cwd=terminal.folder,
        stdin=DEVNULL,
        stdout=PIPE,
        stderr=PIPE,
    )
    return await finish(process)


async def test_no_door_but_the_window_needs_what_the_window_needs(tmp_path: Path) -> None:
    """C-29: terminal, server and editors' door are imported whole."""
    ended = await _python(Command(tmp_path), IMPORT_ALL)
    assert ended.code == 0, ended.err
    for door in ("studio.cli.chat.screen", "studio.server.http_server", "studio.acp.agent"):
        assert door in ended.out.split()


async def test_a_turn_runs_without_qt_and_the_window_says_what_is_missing(tmp_path: Path) -> None:
    script = [Turn(Call("list", {})), Turn(Text("One file."))]
    async with at_provider(tmp_path, "openai-compatible", script) as (terminal, _):
        base = ("run", "--provider", "openai-compatible", "-m", "m")
        ended = await _python(terminal, RUN, *base, "--json", "What is here?")
        assert ended.code == 0 and ended.events[-1]["reason"] == "done", ended
        window = await _python(terminal, RUN)
        assert window.code == 1 and window.out == ""
        assert window.err.startswith("The window is not installed: pip install agent-studio.")


def test_the_package_for_terminals_has_all_but_the_window(monkeypatch: pytest.MonkeyPatch) -> None:
    """C-29: each name of the window is one of the program's, and all others are kept."""
    interface = ModuleType("hatchling.metadata.plugin.interface")
    interface.MetadataHookInterface = object  # type: ignore[attr-defined]  (only at a build)
    monkeypatch.setitem(sys.modules, interface.__name__, interface)
    place = ROOT / "packaging" / "terminal"
    spec = importlib.util.spec_from_file_location("hook", place / "hatch_build.py")
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    hook, metadata = module.WithoutWindow(), dict[str, Any]()
    hook.root = str(place)
    hook.update(metadata)
    left_out = [
        one for one in PROJECT["project"]["dependencies"] if one not in metadata["dependencies"]
    ]
    names = [re.match(r"[\w.-]+", one)[0] for one in left_out]  # type: ignore[index]
    assert sorted({*names}) == sorted(WINDOW)
    assert {"keyring", "httpx2", "prompt_toolkit"} <= {
        re.match(r"[\w.-]+", one)[0]
        for one in metadata["dependencies"]  # type: ignore[index]
    }
    assert metadata["scripts"] == PROJECT["project"]["scripts"]
