"""Opens the window and runs until it is closed."""

from __future__ import annotations

import asyncio
import gc
import signal
import sys
from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING

from PySide6.QtCore import QRectF, Qt
from PySide6.QtGui import QIcon, QPainter, QPixmap

from studio.domain.errors import StudioError
from studio.storage.config.settings import SettingsFile
from studio.storage.crash_reports import CRASH, CrashReports
from studio.storage.paths import Paths
from studio.ui import translation
from studio.ui.theme import Theme
from studio.ui.theme.look import look_of
from studio.ui.translation import tr

from .application import StudioApplication
from .program import Program
from .qt_loop import StudioLoop
from .second_start import SecondStarts, Start

if TYPE_CHECKING:
    from studio.agent.engine import Engine

START = Start()
"""A start that is for nothing in particular."""
COLLECT_AFTER = 5.0
"""Seconds from the first paint after which garbage is collected, loaded or not."""


def run(
    paths: Paths,
    build: Callable[[Paths, SettingsFile], Awaitable[Engine]],
    start: Start = START,
    crashes: CrashReports | None = None,
    listening: Callable[[], object] = lambda: None,
) -> int:
    """Show the window at once, and build the engine when it is painted.

    ``start`` is what the program was started for; ``listening`` is called when later starts are
    heard. The caller may have turned the garbage collector off, as there is nothing to collect
    during the start; it is on again when the engine is built.
    """
    app = StudioApplication(sys.argv[:1])
    app.setApplicationName("Agent Studio")
    app.setDesktopFileName("agent-studio")
    app.setQuitOnLastWindowClosed(False)
    loop = StudioLoop(app)
    asyncio.set_event_loop(loop)
    with loop:
        settings = SettingsFile(paths.settings)
        try:
            loop.run_until_complete(settings.load())
        except StudioError:
            translation.use("system", app)  # for the words about it
            raise
        translation.use(settings.values.language, app)
        theme = Theme()
        theme.wear(look_of(settings.values))
        theme.apply(app)
        program = Program(theme, settings)
        window = program.open_window()
        for name in (signal.SIGINT, signal.SIGTERM) if sys.platform != "win32" else ():
            loop.add_signal_handler(name, program.end)
        window.show()
        starts = SecondStarts(paths, program.welcome_back)
        building = build(paths, settings)
        work = _run_until_closed(program, starts, building, start, crashes, listening)
        code = loop.run_until_complete(work)
        loop.run_until_complete(_cancel_tasks())
    return code


def _logo(theme: Theme) -> QIcon:
    from studio.ui.widgets.painting import paint_logo

    picture = QPixmap(128, 128)
    picture.fill(Qt.GlobalColor.transparent)
    painter = QPainter(picture)
    paint_logo(painter, theme, QRectF(picture.rect()))
    painter.end()
    return QIcon(picture)


async def _cancel_tasks() -> None:
    """Cancel the tasks that are left, and wait until they have ended."""
    left = asyncio.all_tasks() - {asyncio.current_task()}
    for task in left:
        task.cancel()
    await asyncio.gather(*left, return_exceptions=True)
    await asyncio.get_running_loop().shutdown_asyncgens()


async def _run_until_closed(
    program: Program,
    starts: SecondStarts,
    building: Awaitable[Engine],
    start: Start,
    crashes: CrashReports | None,
    listening: Callable[[], object],
) -> int:
    (window,) = program.windows
    await window.painted
    if not program.ending:
        await starts.listen()
    listening()
    # Loading may wait for the person, as at a dialog of the keychain, or fail.
    late = asyncio.get_running_loop().call_later(COLLECT_AFTER, gc.enable)
    try:
        if crashes is not None and crashes.untold:  # before anything that may crash again
            window.banner.say(_words_about(crashes))
        await program.load(building)
        if start != START:
            program.welcome_back(start)
        if crashes is not None and crashes.untold:
            await asyncio.to_thread(crashes.told)
        window.setWindowIcon(_logo(window.theme))
        late.cancel()
        gc.freeze()  # what exists now stays: full collections skip it
        gc.enable()
        return await program.closed
    except Exception:  # it is told when all that is open has been closed
        program.end()
        await program.closed
        raise
    finally:
        late.cancel()
        await starts.aclose()


def _words_about(crashes: CrashReports) -> str:
    if crashes.untold == CRASH:
        return tr("The program crashed the last time. Settings, About, has a report you can read.")
    return tr(
        "There was an error in the program the last time. "
        "Settings, About, has a report you can read."
    )
