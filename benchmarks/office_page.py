"""What the pages Akten and Kontakte cost with 20,000 rows: first paint, and scrolling (KZ-47).

    QT_QPA_PLATFORM=offscreen python benchmarks/office_page.py [--quick]

Processor time: until the first rows of a new page are painted, and each step of scrolling in the
window's thread. The baseline of the first paint is the same page with ten rows.
"""

from __future__ import annotations

import asyncio
import sys
import tempfile
import time
from collections.abc import Coroutine
from pathlib import Path
from typing import Any

from measure import Row, middle, quick, show
from PySide6.QtWidgets import QApplication

from studio.agent.engine import Engine
from studio.app import build
from studio.extensions.packs.installed import InstalledPacks
from studio.storage.config.settings import SettingsFile
from studio.storage.paths import Paths
from studio.ui.app.qt_loop import StudioLoop
from studio.ui.pages.widget_page import WidgetPage
from studio.ui.theme import Theme

MANY, FEW = 20_000, 10
SIZE = (1120, 820)
STEPS = 1000
"""Of 40 pixels, past some 850 rows."""
PLACES = "WITH RECURSIVE one(at) AS (SELECT ? UNION ALL SELECT at + 1 FROM one WHERE at < ?) "
PAGES = {
    "akten": PLACES + "INSERT INTO akte (id, az, lfd, jahr, rubrum, sachgebiet, gericht, angelegt) "
    "SELECT at + 1, printf('%d/%02d', at % 1000 + 1, at / 1000), at % 1000 + 1, "
    "2000 + at / 1000, printf('Wagner %d ./. Holzbau Süd GmbH', at), 'Werkvertragsrecht', "
    "'LG Freiburg', '2026-01-05T09:00:00Z' FROM one",
    "kontakte": PLACES + "INSERT INTO kontakt (id, art, name, vorname, ort, plz, angelegt) "
    "SELECT at + 1, 'Person', printf('Wagner %d', at), 'Eva', 'Freiburg', '79098', "
    "'2026-01-05T09:00:00Z' FROM one",
}
"""The key of a page, and what makes its rows from one number to another."""


async def opened(engine: Engine, theme: Theme, key: str) -> tuple[WidgetPage, float]:
    """A page, and the processor time until its first rows are painted, in milliseconds."""
    (pack,) = [one for one in engine.services.get(InstalledPacks).list() if one.id == "kanzlei"]
    entry = next(one for one in pack.manifest.pages if one.key == key)
    tasks: list[asyncio.Task[Any]] = []

    def run(work: Coroutine[Any, Any, Any]) -> asyncio.Task[Any]:
        tasks.append(asyncio.ensure_future(work))
        return tasks[-1]

    began = time.process_time()
    page = WidgetPage(theme, engine, run, "kanzlei", pack.manifest.root, entry)
    page.resize(*SIZE)
    page.show()
    page.open()
    while page.shown is None or not page.shown.rows:  # type: ignore[attr-defined]  # noqa: ASYNC110
        await asyncio.sleep(0.001)
    page.repaint()
    spent = (time.process_time() - began) * 1000
    while tasks:  # one begins the next
        await tasks.pop(0)
    return page, spent


async def scrolled(page: WidgetPage) -> list[float]:
    """The processor time of each step of scrolling, in milliseconds, in the window's thread: rows
    that come into sight are made and painted. More are read in another thread."""
    bar = page.shown.body.verticalScrollBar()  # type: ignore[union-attr]
    times: list[float] = []
    await asyncio.sleep(0.05)  # the last rows get their places
    for step in range(STEPS):
        began = time.thread_time()
        bar.setValue(step * 40)
        await asyncio.sleep(0.001)
        await asyncio.sleep(0.001)
        times.append((time.thread_time() - began) * 1000)
    assert bar.value() == (STEPS - 1) * 40, "there were not rows enough"
    return times


async def measured(app: QApplication, rounds: int) -> list[Row]:
    with tempfile.TemporaryDirectory() as made:
        paths = Paths.below(Path(made))
        settings = SettingsFile(paths.settings)
        await settings.load()
        engine = await build(paths, settings)
        theme = Theme("light")
        theme.apply(app)
        try:
            engine.services.get(InstalledPacks).switch("kanzlei", True)
            await engine.refresh_tools()
            rows: list[Row] = []
            for key, sql in PAGES.items():
                rows += await _of_page(engine, theme, key, sql, rounds)
        finally:
            await engine.close()
    return rows


async def _of_page(engine: Engine, theme: Theme, key: str, sql: str, rounds: int) -> list[Row]:
    records = engine.services.packs.homes["kanzlei"].records
    found: dict[int, list[float]] = {}
    steps: list[float] = []
    for first, last in ((0, FEW - 1), (FEW, MANY - 1)):
        await asyncio.to_thread(records.write, sql, first, last)
        page, _ = await opened(engine, theme, key)  # imports, and the caches of fonts
        page.hide()
        for _ in range(rounds):
            page, spent = await opened(engine, theme, key)
            found.setdefault(first, []).append(spent)
            if first:
                steps += await scrolled(page)
            page.hide()
            page.deleteLater()
    few, many = (middle(one) for one in found.values())
    p99 = sorted(steps)[int(len(steps) * 0.99)]
    return [
        Row(f"{key}: {MANY:,}, until painted", many, few, "ms", "< 80 ms", f"{FEW} of them"),
        Row(f"{key}: a step, p99", p99, middle(steps), "ms", "< 8 ms", "the middle one"),
    ]


def main() -> None:
    app = QApplication(sys.argv[:1])
    loop = StudioLoop(app)
    asyncio.set_event_loop(loop)
    show(loop.run_until_complete(measured(app, 2 if quick() else 7)))


if __name__ == "__main__":
    main()
