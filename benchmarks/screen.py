"""What a streamed answer costs on an X11 screen with a window manager, painted by software.

    python benchmarks/screen.py [rounds]

Needs Xvfb; openbox manages the window where it is installed. The simulator, in a process of its
own, streams one answer at 200 and at 2,000 tokens a second into the program's own window of
1432×860. The baseline is a bare widget that draws a line of text 50 times a second for as long;
beside it the same, while it reads such an answer with the same HTTP client and `json` alone.
One token is taken as 3.66 characters, CPU is that of the whole process. An update is what the
window sends to the screen at once; its pixels are those of the regions that were painted.
"""

from __future__ import annotations

import asyncio
import json
import os
import random
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Any

from measure import HERE, Row, child, middle, quick, show
from streaming import KEY, PROVIDER, TOKEN, check, run_window, when_idle, with_titles

if TYPE_CHECKING:
    from studio.simulator import Turn
    from studio.simulator.request_view import RequestView

SIZE = (1432, 860)
STREAMS = {200: 1_000, 2_000: 6_000}
"""Tokens of an answer by its tokens a second."""
UPDATES = 50


async def serve(reply: Callable[[RequestView], Turn]) -> None:
    """Stand in for the provider until standard input ends; prints the address."""
    from studio.simulator import Simulator

    async with Simulator(with_titles(reply)) as server:
        print(json.dumps(server.url("chat")), flush=True)
        await asyncio.to_thread(sys.stdin.read)


def answers() -> Callable[[RequestView], Turn]:
    """Answer at the speed that is asked for."""
    from transcript import prose

    from studio.simulator import Pace, Text, Turn

    texts = {rate: prose(random.Random(1), int(tokens * TOKEN)) for rate, tokens in STREAMS.items()}

    def answer(request: RequestView) -> Turn:
        rate = next(rate for rate in STREAMS if f"at {rate}." in str(request.items[-1]))
        return Turn(Text(texts[rate]), pace=Pace(0.05, float(rate)))

    return answer


@contextmanager
def screen() -> Iterator[str]:
    """An X11 screen of its own; gives its DISPLAY."""
    with tempfile.TemporaryFile() as errors:
        read, write = os.pipe()
        server = subprocess.Popen(
            ["Xvfb", "-displayfd", str(write), "-screen", "0", "1600x1000x24", "-nolisten", "tcp"],
            pass_fds=[write],
            stderr=errors,
        )
        os.close(write)
        with os.fdopen(read) as told:
            display = f":{told.readline().strip()}"
        manager = None
        if shutil.which("openbox"):
            manager = subprocess.Popen(
                ["openbox"], env={**os.environ, "DISPLAY": display}, stderr=subprocess.DEVNULL
            )
        try:
            yield display
        finally:
            for one in (manager, server):
                if one is not None:
                    one.terminate()
                    one.wait()


@contextmanager
def studio_home(script: Path) -> Iterator[tuple[Path, str]]:
    """A screen, a home whose provider is what ``script --serve`` simulates, and its address."""
    server = subprocess.Popen(
        [sys.executable, script, "--serve"],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    with server, tempfile.TemporaryDirectory() as folder, screen() as display:
        os.environ.update(DISPLAY=display, QT_QPA_PLATFORM="xcb")
        assert server.stdout is not None and server.stdin is not None
        url = json.loads(server.stdout.readline())
        settings = {
            "first_run_done": True,
            "default_provider": PROVIDER,
            "default_model": {PROVIDER: "sim-model"},
            "base_urls": {PROVIDER: url},
        }
        home = Path(folder)
        (home / "settings.json").write_text(json.dumps(settings))
        yield home, url
        with suppress(OSError):
            server.stdin.close()


def window(rate: int, counting: bool) -> None:
    """A turn in the window, as if the words were typed; the first one warms it up.

    Pixels are those of ``counting``: to look at every event costs a tenth of the CPU.
    """
    found: dict[str, float] = {}

    def begin(window: Any) -> None:
        from PySide6.QtCore import QEvent, QObject, QTimer
        from PySide6.QtWidgets import QApplication

        from studio.domain.events import TextDelta, TurnComplete

        class Eye(QObject):
            """Notes each update of the window, and what was painted in it."""

            def eventFilter(self, watched: QObject, event: QEvent) -> bool:
                if event.type() == QEvent.Type.UpdateRequest and watched is window:
                    updates.append(time.monotonic())
                elif event.type() == QEvent.Type.Paint and watched.isWidgetType():
                    pixels.append(
                        sum(box.width() * box.height() for box in event.region())  # type: ignore[attr-defined]
                    )
                return False

        updates: list[float] = []
        pixels: list[int] = []
        turns = [0]
        began = [0.0]
        words: list[float] = []
        eye = Eye(window)

        def say() -> None:
            began[0] = time.process_time()
            for one in (updates, pixels, words):
                one.clear()
            window.chat.model.input.send_text(f"Go on at {rate}.")

        def seen(event: object) -> None:
            check(event)
            if isinstance(event, TextDelta):
                words.append(time.monotonic())
            elif isinstance(event, TurnComplete):
                turns[0] += 1
                if turns[0] == 1:
                    QTimer.singleShot(500, lambda: when_idle(window, say))
                    return
                live = [at for at in updates if words[0] <= at <= words[-1]]
                gaps = [after - before for before, after in pairwise(live)]
                found["cpu"] = time.process_time() - began[0]
                found["wall"] = words[-1] - words[0]
                found["updates"] = len(live) / found["wall"]
                found["gap"] = max(gaps)
                found["pixels"] = sum(pixels) / max(1, len(updates))
                QTimer.singleShot(0, lambda: when_idle(window, window.close))

        window.resize(*SIZE)
        app = QApplication.instance()
        assert app is not None
        (app if counting else window).installEventFilter(eye)
        window.chat.model.subscribe(lambda change: seen(change.event), "event", "text")
        QTimer.singleShot(300, say)

    run_window(begin, found)


async def read_alone(rate: int, url: str) -> dict[str, float]:
    """What it takes to read an answer and parse each event; nothing is done with them."""
    from studio.providers.http import Http

    http = Http()
    client = await http.client()
    said = [{"role": "user", "content": f"Go on at {rate}."}]
    body = {"model": "sim-model", "stream": True, "messages": said}
    headers = {"authorization": f"Bearer {KEY}"}
    began, since = time.process_time(), time.monotonic()
    async with client.stream(
        "POST", f"{url}/chat/completions", json=body, headers=headers
    ) as answer:
        answer.raise_for_status()
        async for line in answer.aiter_lines():
            if line.startswith("data: {"):
                json.loads(line[6:])
    used = {"cpu": time.process_time() - began, "wall": time.monotonic() - since}
    await http.aclose()
    return used


def bare(seconds: float, rate: int, url: str) -> None:
    """A widget that draws one line of text ``UPDATES`` times a second.

    For as long as it takes to read an answer from ``url``, if there is one.
    """
    from PySide6.QtCore import QRect, QTimer
    from PySide6.QtGui import QPainter
    from PySide6.QtWidgets import QApplication, QWidget

    class Line(QWidget):
        text = ""

        def paintEvent(self, event: object) -> None:
            painter = QPainter(self)
            painter.drawText(8, 20, self.text[-100:])
            painter.end()

    app = QApplication([])
    line = Line()
    line.resize(*SIZE)
    line.show()
    timer = QTimer(line)

    def draw() -> None:
        line.text += "word "
        line.update(QRect(0, 0, 716, 24))

    timer.timeout.connect(draw)
    timer.start(1000 // UPDATES)
    if url:
        from studio.ui.app.qt_loop import StudioLoop

        loop = StudioLoop(app)
        asyncio.set_event_loop(loop)
        print(json.dumps(loop.run_until_complete(read_alone(rate, url))))
        return
    began: list[float] = []
    QTimer.singleShot(500, lambda: began.append(time.process_time()))
    QTimer.singleShot(500 + int(seconds * 1000), app.quit)
    app.exec()
    print(json.dumps({"cpu": time.process_time() - began[0]}))


def rows(rounds: int) -> list[Row]:
    out: list[Row] = []
    with studio_home(Path(__file__)) as (home, url):
        for rate, tokens in STREAMS.items():
            ours = [child([HERE / "screen.py", "--window", str(rate)], home) for _ in range(rounds)]
            seen = child([HERE / "screen.py", "--count", str(rate)], home)
            seconds = middle(one["wall"] for one in ours)
            lone = [HERE / "screen.py", "--bare", str(seconds), str(rate)]
            base = [child(lone) for _ in range(rounds)]
            read = [child([*lone, url]) for _ in range(rounds)]

            def of(name: str, ours: list[dict[str, float]] = ours) -> float:
                return middle(one[name] for one in ours)

            plain = middle(one["cpu"] for one in base)
            name = f"{tokens:,} tokens at {rate:,} a second on a screen"
            if rate == 200:
                goal = "< 0.4 s"
                out.append(Row(f"{name}, CPU", of("cpu"), plain, "s", goal, "bare widget"))
                reads = middle(one["cpu"] for one in read)
                out.append(Row("  a bare widget that reads it beside", reads, None, "s"))
            else:
                share, floor = 100 * of("cpu") / seconds, 100 * plain / seconds
                out.append(Row(f"{name}, of a core", share, floor, "%", "< 25 %", "bare widget"))
                reads = middle(100 * one["cpu"] / one["wall"] for one in read)
                out.append(Row("  a bare widget that reads it beside", reads, None, "%"))
            out += [
                Row("  updates", of("updates"), None, "a second", "≥ 50"),
                Row("  longest between two", of("gap") * 1000, None, "ms", "≤ 25"),
                Row("  painted in one", seen["pixels"] / 1000, None, "thousand pixels"),
            ]
    return out


def main() -> None:
    if "--serve" in sys.argv:
        asyncio.run(serve(answers()))
    elif "--window" in sys.argv or "--count" in sys.argv:
        window(int(sys.argv[-1]), "--count" in sys.argv)
    elif "--bare" in sys.argv:
        seconds, rate, *url = sys.argv[2:]
        bare(float(seconds), int(rate), *url or [""])
    elif not shutil.which("Xvfb"):
        print("Xvfb is not installed.", file=sys.stderr)
        show([])
    else:
        counts = [int(x) for x in sys.argv[1:] if x.isdigit()]
        show(rows(counts[0] if counts else 1 if quick() else 3))


if __name__ == "__main__":
    main()
