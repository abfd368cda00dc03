"""No thread defines classes of Qt's while Qt is at work in the window's (G-1).

It can end the program by a segmentation fault. Where a module is imported first is known only in a
new process, so that the whole start is one here; ``on_window_loop`` looks in each other test.
"""

from __future__ import annotations

import ast
import json
import os
import subprocess
import sys
from collections.abc import Iterator
from importlib.util import resolve_name
from pathlib import Path
from threading import Thread

import pytest
from PySide6.QtCore import QObject

import studio.ui
from studio.ui.chat.page import FREE_OF_QT
from support import thread_classes
from support.waiting import HANG

ROOT = Path(studio.ui.__file__).parent
IN_THREADS = {"Thread", "in_daemon_thread", "in_thread", "to_thread"}
"""What does in a thread what it is given."""

START = r"""
import asyncio, json, sys, threading
import studio.app

build, turns = studio.app.build, [[]]

class Imports:
    def find_spec(self, name, path=None, target=None):
        if name.startswith("studio.ui.") and threading.current_thread() is threading.main_thread():
            turns[-1].append(name)

async def watched(*arguments):
    from PySide6.QtWidgets import QApplication
    from support import thread_classes

    thread_classes.watch()
    window = next(w for w in QApplication.topLevelWidgets() if w.isVisible())
    prepare = window.chat.prepare

    async def prepared():
        sys.meta_path.insert(0, Imports())
        work = asyncio.ensure_future(prepare())
        while not work.done():
            turns.append([])
            await asyncio.sleep(0)
        sys.meta_path.pop(0)
        before = {*sys.modules}
        window.chat.view
        missing = [m for m in sys.modules if m.startswith("studio.ui.") and m not in before]
        print(json.dumps([thread_classes.noted, [t for t in turns if t], missing]), flush=True)

    window.chat.prepare = prepared
    window.ready.add_done_callback(lambda _: window.close())
    return await build(*arguments)

studio.app.build = watched
code = studio.app.main(None)
from support import thread_classes
print(json.dumps(thread_classes.noted))
sys.exit(code)
"""


@pytest.mark.parametrize("settings", ["{}", '{"first_run_done": true}'], ids=["first", "later"])
def test_the_start_defines_them_on_the_windows_thread_in_parts(
    tmp_path: Path, settings: str
) -> None:
    (tmp_path / "settings.json").write_text(settings)
    done = subprocess.run(
        [sys.executable, "-c", START],
        env={
            **os.environ,
            "AGENT_STUDIO_HOME": str(tmp_path),
            "PYTHON_KEYRING_BACKEND": "keyring.backends.null.Keyring",
            "PYTHONPATH": os.pathsep.join(sys.path),
            "QT_QPA_PLATFORM": "offscreen",
        },
        stdout=subprocess.PIPE,
        text=True,
        check=True,
        timeout=HANG,
    )
    prepared, whole = map(json.loads, done.stdout.splitlines())
    noted, turns, missing = prepared
    assert noted == whole == []
    assert len(turns) > 6
    assert max(map(len, turns)) <= 10, "the window stands while they are imported"
    assert missing == [], "the first chat waits for them"


def test_what_the_start_imports_in_a_thread_is_free_of_qt() -> None:
    code = f"import sys, {', '.join(FREE_OF_QT)}; print('PySide6' in sys.modules)"
    ran = subprocess.run(
        [sys.executable, "-c", code], stdout=subprocess.PIPE, text=True, check=True, timeout=HANG
    )
    assert ran.stdout.strip() == "False"


def in_threads(tree: ast.Module) -> Iterator[ast.AST]:
    """What a module gives to threads, with its own functions that this calls."""
    functions: dict[str, ast.AST] = {
        node.name: node for node in ast.walk(tree) if isinstance(node, ast.FunctionDef)
    }
    calls = [node for node in ast.walk(tree) if isinstance(node, ast.Call)]
    left: list[ast.AST] = []
    for call in calls:
        if named(call.func) in IN_THREADS:
            left.append(call)
    while left:
        part = left.pop()
        yield part
        for node in ast.walk(part):
            found = functions.pop(named(node), None)
            if found is not None:
                left.append(found)


def named(node: ast.AST) -> str:
    """The last word of a name with dots."""
    if isinstance(node, ast.Attribute):
        return node.attr
    return node.id if isinstance(node, ast.Name) else ""


def imported(part: ast.AST, package: str) -> Iterator[str]:
    for node in ast.walk(part):
        if isinstance(node, ast.Import):
            yield from (name.name for name in node.names)
        elif isinstance(node, ast.ImportFrom):
            yield resolve_name("." * node.level + (node.module or ""), package)
        elif isinstance(node, ast.Call):
            said = [node.func, *node.args]
            if any(named(word) == "import_module" for word in said):
                yield from (str(word.value) for word in said if isinstance(word, ast.Constant))


def of_the_window(source: str, package: str) -> list[str]:
    """The modules of the window and of Qt that a source imports in threads."""
    return [
        name
        for part in in_threads(ast.parse(source))
        for name in imported(part, package)
        if name.partition(".")[0] == "PySide6" or name.startswith("studio.ui.")
    ]


def test_nothing_that_is_given_to_a_thread_imports_a_module_of_the_window() -> None:
    read, found = 0, dict[str, list[str]]()
    for path in sorted(ROOT.rglob("*.py")):
        package = ".".join(path.relative_to(ROOT.parents[1]).parent.parts)
        if names := of_the_window(path.read_text("utf-8"), package):
            found[str(path.relative_to(ROOT))] = names
        read += 1
    assert read > 100
    assert found == {}


@pytest.mark.parametrize(
    "line",
    [
        "to_thread(self._load)",
        "asyncio.to_thread(lambda: self._load())",
        'to_thread(import_module, "studio.ui.a.view")',
        "Thread(target=self._load).start()",
        "in_daemon_thread(partial(_other, 1))",
    ],
)
def test_the_reader_finds_what_a_thread_imports(line: str) -> None:
    source = f"""
async def work(self):
    {line}

def _other():
    return _load()

def _load(self):
    from .view import View
"""
    assert of_the_window(source, "studio.ui.a") == ["studio.ui.a.view"]


def test_a_class_that_a_thread_defines_is_noted() -> None:
    def define() -> None:
        type("Late", (QObject,), {"__module__": "late"})

    thread_classes.watch()
    type("Here", (QObject,), {"__module__": "late"})
    thread = Thread(target=define)
    thread.start()
    thread.join()
    assert thread_classes.noted == ["late.Late"]
    thread_classes.noted.clear()
