"""How smooth the window stays while clients stream through the server.

    python benchmarks/beside.py [clients ...]

The window shows an answer that grows, and paints 60 times a second. Meanwhile
clients stream through the server: inside the window's process, on its loop, or
beside it, as the program does. The simulator and the clients are processes of
their own. A gap is the time between two paints, work the CPU that the window's
thread took in it: what other programs on the computer cannot make longer.
"""

from __future__ import annotations

import asyncio
import contextlib
import itertools
import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any

from measure import Row, quick, show

if TYPE_CHECKING:
    from studio.ui.app.main_window import MainWindow

PROVIDER = "ollama"
RATE = 40.0
"""Tokens a second of each answer, a large model's pace."""
SECONDS = 5.0
"""How long is measured."""
WORDS = "The window has to stay smooth while others ask. " * 400


async def simulate() -> None:
    from studio.simulator import Pace, Simulator, Text, Turn

    async with Simulator(lambda _: Turn(Text(WORDS), pace=Pace(0.05, RATE))) as server:
        print(json.dumps(server.url("ollama")), flush=True)
        await asyncio.to_thread(sys.stdin.read)


async def ask(address: str, token: str, begun: asyncio.Semaphore, counts: list[int]) -> None:
    """One client: streams answers, one after the other."""
    host, _, port = address.removeprefix("http://").rpartition(":")
    message = {"role": "user", "content": "Go"}
    asked = {"model": f"{PROVIDER}/sim-model", "messages": [message], "stream": True}
    body = json.dumps(asked).encode()
    head = (
        f"POST /v1/chat/completions HTTP/1.1\r\nHost: {host}:{port}\r\n"
        f"Authorization: Bearer {token}\r\nContent-Type: application/json\r\n"
        f"Content-Length: {len(body)}\r\nConnection: close\r\n\r\n"
    )
    first = True
    while True:
        reader, writer = await asyncio.open_connection(host, int(port))
        writer.write(head.encode() + body)
        status = await reader.readline()
        if b" 200 " not in status:
            raise SystemExit(f"the server did not answer: {status!r}")
        while line := await reader.readline():
            if line.startswith(b"data: "):
                counts[0] += 1
                if first:
                    first = False
                    begun.release()
        writer.close()


async def clients(address: str, token: str, count: int) -> None:
    """Stream until standard input closes; says when every client has its first piece."""
    begun, counts = asyncio.Semaphore(0), [0]
    async with asyncio.TaskGroup() as group:
        tasks = [group.create_task(ask(address, token, begun, counts)) for _ in range(count)]
        for _ in range(count):
            await begun.acquire()
        counts[0], since = 0, time.monotonic()
        print("streaming", flush=True)
        await asyncio.to_thread(sys.stdin.read)
        print(json.dumps(counts[0] / (time.monotonic() - since)), flush=True)
        for task in tasks:
            task.cancel()


def window(mode: str) -> None:
    """The window, with the server where ``mode`` says; prints its gaps at the end."""
    import studio.app

    build = studio.app.build

    async def measured(*arguments: Any) -> Any:
        from PySide6.QtWidgets import QApplication

        from studio.ui.app.main_window import MainWindow

        window = next(w for w in QApplication.topLevelWidgets() if isinstance(w, MainWindow))
        tasks.append(asyncio.ensure_future(run(window, mode)))
        return await build(*arguments)

    tasks: list[asyncio.Future[None]] = []
    studio.app.build = measured
    sys.exit(studio.app.main(None))


async def run(window: MainWindow, mode: str) -> None:
    await window.ready
    assert window.engine is not None
    serving: Any = None
    address = token = ""
    if mode == "beside":
        await true(lambda: window.shared.server.process.state == "running")
        address, token = window.shared.server.process.address, window.shared.server.process.token
    elif mode == "inside":
        from studio.server.http_server import HttpServer

        folder = window.engine.own_folder()
        serving = HttpServer(window.engine, host="127.0.0.1", port=0, folder=folder)
        await serving.start()
        address, token = serving.address, await serving.token.get()
    window.chat.model.input.send_text("Go")
    await true(lambda: window.chat.session and len(window.chat.session.transcript.blocks) > 2)
    print(json.dumps([address, token]), flush=True)
    await asyncio.to_thread(sys.stdin.readline)
    gaps = await paints(window.chat.view.viewport())
    print(json.dumps(gaps), flush=True)
    window.chat.model.stop()
    if serving is not None:
        await serving.stop()
    await true(lambda: window.chat.model.input.state == "idle")  # else it asks what is to be done
    window.close()


async def true(condition: Callable[[], object]) -> None:
    while not condition():  # noqa: ASYNC110 (a few times, before anything is measured)
        await asyncio.sleep(0.05)


async def paints(widget: Any) -> list[tuple[float, float]]:
    """Gap and work, in seconds, between two paints of a widget that is painted at 60 Hz."""
    from PySide6.QtCore import QEvent, QObject, Qt, QTimer

    times: list[tuple[float, float]] = []

    class Watch(QObject):
        def eventFilter(self, watched: QObject, event: QEvent) -> bool:
            if event.type() == QEvent.Type.Paint:
                times.append((time.perf_counter(), time.thread_time()))
            return False

    watch, frame = Watch(), QTimer()
    widget.installEventFilter(watch)
    frame.setTimerType(Qt.TimerType.PreciseTimer)
    frame.timeout.connect(widget.update)
    frame.start(16)
    await asyncio.sleep(SECONDS)
    frame.stop()
    widget.removeEventFilter(watch)
    return [(b[0] - a[0], b[1] - a[1]) for a, b in itertools.pairwise(times)]


@contextlib.contextmanager
def started(*arguments: str, home: Path | None = None) -> Iterator[subprocess.Popen[str]]:
    """This script in a process of its own; it ends with its standard input, or is killed."""
    environment = {"QT_QPA_PLATFORM": "offscreen", **os.environ}
    environment["PYTHON_KEYRING_BACKEND"] = "keyring.backends.fail.Keyring"
    if home is not None:
        environment["AGENT_STUDIO_HOME"] = str(home)
    process = subprocess.Popen(
        [sys.executable, __file__, *arguments],
        env=environment,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    try:
        yield process
    finally:
        with contextlib.suppress(OSError):
            process.communicate(timeout=15)
        process.kill()


def line(process: subprocess.Popen[str]) -> Any:
    output: IO[str] | None = process.stdout
    assert output is not None
    told = output.readline()
    if not told:
        raise SystemExit("a process ended before it was measured")
    return json.loads(told) if told.startswith(("[", '"', "{")) or told[0].isdigit() else told


def measure(mode: str, count: int, url: str) -> tuple[list[tuple[float, float]], float]:
    """Gaps and work of the window, and the pieces a second that clients got."""
    with tempfile.TemporaryDirectory() as folder:
        home = Path(folder)
        settings = {
            "first_run_done": True,
            "default_provider": PROVIDER,
            "default_model": {PROVIDER: "sim-model"},
            "base_urls": {PROVIDER: url},
            "day_dollars": 0.0,
            "turn_dollars": 0.0,
            "server_on": mode == "beside",
            "server_port": 0,
            "server_keep": False,
        }
        (home / "settings.json").write_text(json.dumps(settings))
        with started("--window", mode, home=home) as shown:
            address, token = line(shown)
            with contextlib.ExitStack() as stack:
                asking = None
                if mode != "alone":
                    arguments = ("--clients", address, token, str(count))
                    asking = stack.enter_context(started(*arguments))
                    line(asking)
                assert shown.stdin is not None
                shown.stdin.write("go\n")
                shown.stdin.flush()
                gaps = line(shown)
                pieces = 0.0
                if asking is not None:
                    assert asking.stdin is not None
                    asking.stdin.close()
                    asking.stdin = None
                    pieces = float(line(asking))
    return gaps, pieces


def rows(counts: list[int]) -> list[Row]:
    found: list[Row] = []
    with started("--simulate") as server:
        url = line(server)
        alone, _ = measure("alone", 0, url)
        for count in counts:
            inside, through_inside = measure("inside", count, url)
            beside, through_beside = measure("beside", count, url)
            who = f"{count} clients stream: "
            for what, pick in PICKED.items():
                here, there = pick(beside) * 1000, pick(inside) * 1000
                found.append(Row(f"{who}{what}", here, there, "ms", "", "inside the window"))
                who = "  "
            pieces = Row("  pieces a second", through_beside, through_inside, "", "", "inside")
            found.append(pieces)
    who = "the window alone: "
    for what, pick in PICKED.items():
        found.append(Row(f"{who}{what}", pick(alone) * 1000, None, "ms"))
        who = "  "
    return found


def p99(values: Sequence[float]) -> float:
    return sorted(values)[int(len(values) * 0.99)]


PICKED: dict[str, Callable[[list[tuple[float, float]]], float]] = {
    "longest gap": lambda found: max(gap for gap, _ in found),
    "gap, p99": lambda found: p99([gap for gap, _ in found]),
    "work, most": lambda found: max(work for _, work in found),
    "work, p99": lambda found: p99([work for _, work in found]),
}


def main() -> None:
    if "--simulate" in sys.argv:
        asyncio.run(simulate())
    elif "--clients" in sys.argv:
        address, token, count = sys.argv[2:5]
        asyncio.run(clients(address, token, int(count)))
    elif "--window" in sys.argv:
        window(sys.argv[2])
    else:
        counts = [int(x) for x in sys.argv[1:] if x.isdigit()]
        show(rows(counts or ([20] if quick() else [20, 50])))


if __name__ == "__main__":
    main()
