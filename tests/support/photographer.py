"""Pictures of the window, from real sessions, in both themes and two sizes.

They go to the folder in ``AGENT_STUDIO_SCREENSHOTS``, named like the design's, so that anybody can
lay them side by side. ``make pictures`` takes them from a real screen, in each language.
"""

from __future__ import annotations

import asyncio
import os
import time
from collections.abc import Callable, Generator
from dataclasses import replace
from pathlib import Path
from typing import Literal

import pytest
from PySide6.QtCore import QPoint, QRect, QSize, Qt
from PySide6.QtGui import QColor, QCursor, QFontDatabase, QGuiApplication, QImage, QPainter
from PySide6.QtWidgets import QApplication, QWidget

from studio.agent.engine import Engine
from studio.domain.sessions import SessionInfo
from studio.simulator import Call, Script, Usage
from studio.storage.config.settings import SettingsFile
from studio.ui import translation
from studio.ui.theme import Theme

from .pixels import pixels
from .waiting import until
from .window import Person, at_window

LARGE, SMALL = QSize(1440, 900), QSize(1100, 700)
LEAST, LARGE_TEXT = QSize(1000, 640), 1.6
HOUR, DAY = 3600.0, 86400.0
CHATS = (
    ("Release notes for 2.4", "Writer", 0.5 * HOUR, "running", False),
    ("Compare HTTP client defaults", "Researcher", HOUR, "done", True),
    ("Review: split auth module", "Reviewer", 2 * HOUR, "done", False),
    ("Explain the backoff maths", "Assistant", 4 * HOUR, "done", False),
    ("Move CI to uv", "Coder", DAY, "done", False),
    ("Plan the 3.0 migration guide", "Writer", DAY + HOUR, "done", False),
    ("Draft reply to issue 412", "Writer", DAY + 2 * HOUR, "error", False),
    ("Type stubs for the client", "Coder", 3 * DAY, "done", False),
    ("Summarise user interviews", "Researcher", 4 * DAY, "done", False),
    ("Names for the plugin API", "Assistant", 5 * DAY, "done", False),
)
RETRY = '''"""Waiting as a server asks."""

import email.utils
import math
import time

MOST = 3600.0


def parse(header: str) -> float:
    """Seconds of a Retry-After header: a number, or a date."""
    try:
        return min(MOST, max(0.0, float(header)))
    except ValueError:
        when = email.utils.parsedate_to_datetime(header)
        return min(MOST, max(0.0, when.timestamp() - time.time()))


# The client calls this after each 429.


def wait_for(header: str, clock=time) -> float:
    start = clock.time()
    delay = parse(header)
    clock.sleep(delay)
    return clock.monotonic() - start
'''
PYTEST = """#!/bin/sh
case "$*" in
*--count*)
  echo 'tests/test_retry.py::test_retry_after[7]'
  echo 'E   assert 0.94 >= 1.0'
  echo 'E   elapsed was 60 ms short'
  echo '3 failed, 17 passed in 14.2s'
  exit 1;;
esac
echo 'tests/test_client.py ........................  [ 41%]'
echo 'tests/test_pool.py ..........'
sleep 3600
"""
FINDING = """The test reads `time.time()`, which can step backwards when the clock is adjusted. \
When that happens the wait ends about 60 ms early and the assertion fails.

Two changes fix it:

1. Measure with `time.monotonic()` in `retry.py`.
2. Give the test a fake clock, so it no longer sleeps.
"""
USED = Usage(inp=76_200, cache_read=58_000, out=1_200)


@pytest.fixture
def language() -> Generator[None]:
    """The language and direction that are asked for. What tests look for on screen they look up."""
    app = QApplication.instance()
    assert isinstance(app, QApplication)
    translation.use(os.environ.get("AGENT_STUDIO_LANGUAGE", "en"), app)  # Qt's own texts too
    if os.environ.get("AGENT_STUDIO_DIRECTION") == "rtl":
        QGuiApplication.setLayoutDirection(Qt.LayoutDirection.RightToLeft)
    yield
    translation.use("en", app)
    QGuiApplication.setLayoutDirection(Qt.LayoutDirection.LeftToRight)


@pytest.fixture
def atlas(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A small project in a home of its own, with a test runner that fails as told."""
    monkeypatch.setenv("HOME", str(tmp_path))
    tools = tmp_path / "bin"
    tools.mkdir()
    (tools / "pytest").write_text(PYTEST)
    (tools / "pytest").chmod(0o755)
    monkeypatch.setenv("PATH", f"{tools}{os.pathsep}{os.environ['PATH']}")
    folder = tmp_path / "code" / "atlas"
    (folder / "src" / "atlas").mkdir(parents=True)
    (folder / "tests").mkdir()
    (folder / "src/atlas/retry.py").write_text(RETRY)
    (folder / "src/atlas/client.py").write_text("from .retry import wait_for\n" * 40)
    (folder / "src/atlas/pool.py").write_text("retry_after = None\n")
    (folder / "tests/test_retry.py").write_text("def test_retry_after(): ...\n" * 142)
    (folder / "tests/test_pool.py").write_text("def test_pool(): ...\n")
    return folder


def fonts() -> tuple[str, str] | None:
    """Those of the design, where they are installed."""
    here = set(QFontDatabase.families())
    return ("Inter", "JetBrains Mono") if {"Inter", "JetBrains Mono"} <= here else None


async def earlier_chats(engine: Engine) -> None:
    now = time.time()
    for number, (title, agent, ago, state, unread) in enumerate(CHATS):
        info = SessionInfo(
            id=f"chat{number}",
            title=title,
            folder="/code",
            agent=agent,
            provider="anthropic",
            model="claude-sonnet-5-5",
            permission_mode="ask",
            created=now - ago,
            updated=now - ago,
        )
        await engine.store.create(replace(info, state=state, unread=unread))


def at_atlas(
    tmp_path: Path,
    atlas: Path,
    script: Script,
    also: Callable[[SettingsFile], None] = lambda file: None,
):
    """The window at the project; ``also`` changes more settings."""

    def setup(file: SettingsFile) -> None:
        file.values.default_model["anthropic"] = "claude-sonnet-5-5"
        also(file)

    return at_window(
        tmp_path,
        "anthropic",
        script,
        folder=atlas,
        setup=setup,
        prepare=earlier_chats,
        fonts=fonts(),
        key="sk-ant-0123456789abcdef7Q4A",
    )


def read(path: str) -> Call:
    return Call("read", {"path": path})


def explore() -> tuple[Call, ...]:
    files = ("src/atlas/retry.py", "tests/test_retry.py", "src/atlas/client.py")
    more = ("src/atlas/pool.py", "tests/test_pool.py")
    return (
        *map(read, files),
        Call("search", {"pattern": "retry_after"}),
        *map(read, more),
        Call("search", {"pattern": "time\\.time"}),
    )


def runs(command: str) -> Call:
    return Call("run", {"command": command})


async def allow(person: Person) -> None:
    """Answer the question that is open."""
    question = await until(
        lambda: person.window.chat.session and person.session.transcript.questions
    )
    person.session.answer_permission(question[0].id, "once")
    await until(lambda: question[0] not in person.session.transcript.questions)


class Photographer:
    """Takes the pictures, looks at them, and keeps them where somebody wants them."""

    def __init__(self, person: Person) -> None:
        self.person = person
        self.folder = os.environ.get("AGENT_STUDIO_SCREENSHOTS")
        if self.folder:
            screen = person.window.screen().geometry()
            QCursor.setPos(screen.bottomRight())  # nothing is under the mouse
            Path(self.folder).mkdir(parents=True, exist_ok=True)

    async def take(self, name: str, sizes: tuple[QSize, ...] = (LARGE,)) -> dict[str, QImage]:
        """One picture for each theme and size, by ``light-1440`` and so on.

        The other theme stays, and the first size: to dress every widget takes longest of all.
        """
        window, taken = self.person.window, {}
        there = "dark" if window.theme.dark else "light"
        other = "light" if window.theme.dark else "dark"
        for theme, order in ((there, sizes), (other, sizes[::-1])):
            window.theme.set(theme)  # type: ignore[arg-type]
            for size in order:
                window.resize(size)
                await until(lambda size=size: window.size() == size)
                await settled()
                image = self._grab()
                key = f"{theme}-{size.width()}"
                if self.folder:
                    assert image.save(f"{self.folder}/{name}-{key}.png")
                self.check(image, size)
                taken[key] = image
        await self._show_large(name)
        return taken

    async def show(self, name: str, sizes: tuple[QSize, ...] = (LARGE,)) -> None:
        """Both themes of a state that ``make pictures`` shows; one elsewhere, for its colours."""
        window = self.person.window
        there, other = ("dark", "light") if window.theme.dark else ("light", "dark")
        for theme in (there, other) if self.folder else (there,):
            window.theme.set(theme)  # type: ignore[arg-type]
            for size in sizes if self.folder else sizes[:1]:
                window.resize(size)
                await until(lambda size=size: window.size() == size)
                await settled()
                image = self._grab()
                assert len(set(pixels(image.scaled(240, 150)))) > 40, name
                if self.folder:
                    assert image.save(f"{self.folder}/{name}-{theme}-{size.width()}.png")
        await self._show_large(name)

    async def _show_large(self, name: str) -> None:
        """The same with the largest text in a small window, where somebody wants the pictures."""
        if not self.folder:
            return
        window, dialog = self.person.window, self.person.window.preferences.dialog
        size, inner = window.size(), dialog.geometry() if dialog is not None else None
        window.theme.set(scale=LARGE_TEXT)
        window.resize(LEAST)
        await until(lambda: window.size() == LEAST)
        await settled()
        theme = "dark" if window.theme.dark else "light"
        assert self._grab(whole=True).save(f"{self.folder}/{name}-{theme}160-{LEAST.width()}.png")
        window.theme.set(scale=1.0)
        window.resize(size)
        await until(lambda: window.size() == size)
        await settled()
        if dialog is not None and inner is not None:
            dialog.setGeometry(inner)  # a window manager moves what grew over the screen's edge
            await settled()

    async def frame(self) -> QImage:
        await settled()
        return self._grab()

    def keep(self, name: str, frames: list[QImage]) -> None:
        """A row of pictures as one."""
        if not self.folder:
            return
        small = [
            frame.scaledToWidth(720, Qt.TransformationMode.SmoothTransformation) for frame in frames
        ]
        film = QImage(732 * len(small), small[0].height(), QImage.Format.Format_RGB32)
        film.fill(Qt.GlobalColor.gray)
        painter = QPainter(film)
        for number, image in enumerate(small):
            painter.drawImage(732 * number, 0, image)
        painter.end()
        assert film.save(f"{self.folder}/{name}-light-{film.width()}.png")

    def _grab(self, *, whole: bool = False) -> QImage:
        """What the screen shows; the offscreen one shows no two windows, so they are put together.

        With ``whole`` also what a dialog covers beside the window.
        """
        window, dialog = self.person.window, self.person.window.preferences.dialog
        place = window.geometry()
        if whole and dialog is not None and dialog.isVisible():
            place = place.united(dialog.frameGeometry()) & window.screen().geometry()
        if QGuiApplication.platformName() == "xcb":
            QGuiApplication.sync()
            taken = window.screen().grabWindow(0, *place.getRect())
            return taken.toImage().convertToFormat(QImage.Format.Format_ARGB32)
        image = window.grab().toImage()
        if dialog is not None and dialog.isVisible():
            painter = QPainter(image)
            inner = QRect(QPoint(0, 0), dialog.size())
            inner.moveCenter(image.rect().center())
            painter.drawPixmap(inner.topLeft(), dialog.grab())
            painter.end()
        return image

    def check(self, image: QImage, size: QSize) -> None:
        """The right size, many colours, and the grounds where they belong."""
        theme = self.person.window.theme
        assert image.size() == size * image.devicePixelRatio()
        assert len(set(pixels(image.scaled(120, 75)))) > 40
        assert at(image, 4, size.height() - 4) == theme.color("window")
        surface = self.person.window.chat.mapTo(self.person.window, QPoint(6, 400))
        assert at(image, surface.x(), surface.y()) == theme.color("surface")


def colour(name: str, theme: Literal["light", "dark"] = "light") -> QColor:
    return Theme(theme).color(name)


def at(image: QImage, x: int, y: int) -> QColor:
    return image.pixelColor(x, y)


def has_colour(image: QImage, place: QRect, colour: QColor) -> bool:
    """Whether a colour is somewhere in a part of a picture."""
    return colour.rgba() in pixels(image.copy(place & image.rect()))


def place_in_window(person: Person, widget: QWidget) -> QRect:
    return QRect(widget.mapTo(person.window, QPoint(0, 0)), widget.size())


async def settled() -> None:
    """Layout, painting and what comes in later has come."""
    app = QApplication.instance()
    assert app is not None
    for _ in range(3):
        await asyncio.sleep(0.02)
        app.sendPostedEvents()
