"""What a streamed answer costs in the window, from the wire to the pixels.

    python benchmarks/streaming.py [rounds]

The simulator, in a process of its own, streams one answer of about 5,000
tokens at 1,000 a second. The program's own window shows it; the baseline is
the same turn of the same engine without a window. One token is taken as 3.66
characters, CPU is that of the whole process.
"""

from __future__ import annotations

import asyncio
import json
import random
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

from measure import HERE, Row, child, middle, quick, show

if TYPE_CHECKING:
    from studio.simulator import Turn
    from studio.simulator.request_view import RequestView

TOKEN = 3.66
TOKENS = 5_000
RATE = 1_000.0
PROVIDER = "openai-compatible"
KEY = "sk-benchmark"


def words() -> str:
    from transcript import prose

    return prose(random.Random(1), int(TOKENS * TOKEN))


def with_titles(reply: Callable[[RequestView], Turn]) -> Callable[[RequestView], Turn]:
    """Answer as ``reply`` does, but what asks for a chat's title with a short one.

    It is asked for beside the first answers: another long one would be measured with them.
    """
    from studio.agent.prompts import TITLE_SYSTEM
    from studio.simulator import Text, Turn

    def answer(request: RequestView) -> Turn:
        return Turn(Text("Going on")) if request.system == TITLE_SYSTEM else reply(request)

    return answer


async def serve() -> None:
    from studio.simulator import Pace, Simulator, Text, Turn

    text = words()
    reply = with_titles(lambda _: Turn(Text(text), pace=Pace(0.05, RATE)))
    async with Simulator(reply) as server:
        print(json.dumps([server.url("chat"), len(text)]), flush=True)
        await asyncio.to_thread(sys.stdin.read)


def check(event: object) -> None:
    """Raises SystemExit if the turn ended as nobody wants it measured."""
    if getattr(event, "reason", "done") != "done":
        raise SystemExit(f"the turn did not run as planned: {event}")


async def engine() -> None:
    """The turn without a window."""
    from studio.app import build
    from studio.domain.messages import Text
    from studio.storage.config.settings import SettingsFile
    from studio.storage.paths import Paths

    paths = Paths.default()
    settings = SettingsFile(paths.settings)
    await settings.load()
    engine = await build(paths, settings)
    engine.keychain.keep_for_session(PROVIDER, KEY)
    session = await engine.sessions.create(
        folder=str(paths.data), agent="Coder", provider=PROVIDER, model="sim-model"
    )
    cpu: list[float] = []
    for _ in range(2):  # the first one imports and connects
        began = time.process_time()
        async for envelope in session.turn([Text("Go")]):
            event = envelope.event
            check(event)
        cpu.append(time.process_time() - began)
    await engine.close()
    print(json.dumps({"cpu": cpu[-1]}))


def run_window(begin: Callable[[Any], None], found: object) -> None:
    """Run the program, with ``begin`` once its window is ready; prints what was found."""
    import studio.app

    build = studio.app.build

    def start(window: Any) -> None:
        window.engine.keychain.keep_for_session(PROVIDER, KEY)
        begin(window)

    async def measured(*arguments: Any) -> Any:
        from PySide6.QtWidgets import QApplication

        window: Any = next(w for w in QApplication.topLevelWidgets() if w.isVisible())
        window.ready.add_done_callback(lambda _: start(window))
        return await build(*arguments)

    studio.app.build = measured
    code = studio.app.main(None)
    print(json.dumps(found))
    sys.exit(code)


def when_idle(window: Any, do: Callable[[], object]) -> None:
    """Call ``do`` once the turn is stored; a window that is closed before asks what is to be done.

    Send begins another turn already while this one is being stored, so it does not tell.
    """
    from PySide6.QtCore import QTimer

    if not window.chat.model.runner.running:
        do()
    else:
        QTimer.singleShot(100, lambda: when_idle(window, do))


def window() -> None:
    """The turn in the window, as if the words were typed."""
    found: dict[str, float] = {}

    def begin(window: Any) -> None:
        from PySide6.QtCore import QTimer

        from studio.domain.events import TurnComplete

        heart = QTimer(window)
        last = [time.thread_time()]
        turns = [0]
        began = [0.0]
        beats: list[float] = []

        def beat() -> None:
            now = time.thread_time()
            beats.append(now - last[0])
            last[0] = now

        def seen(event: object) -> None:
            check(event)
            if isinstance(event, TurnComplete):
                turns[0] += 1
                if turns[0] == 1:  # it imports and connects
                    QTimer.singleShot(200, lambda: when_idle(window, say))
                    return
                beats.sort()
                found["cpu"] = time.process_time() - began[0]
                found["p99"], found["most"] = beats[int(len(beats) * 0.99)], beats[-1]
                QTimer.singleShot(0, lambda: when_idle(window, window.close))

        def say() -> None:
            began[0] = time.process_time()
            beats.clear()
            last[0] = time.thread_time()
            window.chat.model.input.send_text("Go")

        heart.timeout.connect(beat)
        heart.start(5)
        window.chat.model.subscribe(lambda change: seen(change.event), "event", "text")
        say()

    run_window(begin, found)


def rows(rounds: int) -> list[Row]:
    server = subprocess.Popen(
        [sys.executable, __file__, "--serve"],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    ours: list[dict[str, float]] = []
    bare: list[dict[str, float]] = []
    with server, tempfile.TemporaryDirectory() as folder:
        assert server.stdout is not None
        url, length = json.loads(server.stdout.readline())
        home = Path(folder)
        settings = {
            "first_run_done": True,
            "default_provider": PROVIDER,
            "default_model": {PROVIDER: "sim-model"},
            "base_urls": {PROVIDER: url},
        }
        (home / "settings.json").write_text(json.dumps(settings))
        for _ in range(rounds):
            bare.append(child([HERE / "streaming.py", "--engine"], home))
            ours.append(child([HERE / "streaming.py", "--window"], home))
    part = length / TOKEN / 1000  # thousands of tokens
    with_window = middle(x["cpu"] for x in ours) / part * 1000
    without = middle(x["cpu"] for x in bare) / part * 1000
    p99, most = (middle(x[name] for x in ours) * 1000 for name in ("p99", "most"))
    return [
        Row("1,000 streamed tokens in the window, CPU", with_window, without, "ms", "", "engine"),
        Row("  of it the window's own", with_window - without, None, "ms"),
        Row("  work between two beats of 5 ms, p99", p99, None, "ms"),
        Row("  work between two beats of 5 ms, most", most, None, "ms"),
    ]


def main() -> None:
    if "--serve" in sys.argv:
        asyncio.run(serve())
    elif "--engine" in sys.argv:
        asyncio.run(engine())
    elif "--window" in sys.argv:
        window()
    else:
        counts = [int(x) for x in sys.argv[1:] if x.isdigit()]
        show(rows(counts[0] if counts else 1 if quick() else 3))


if __name__ == "__main__":
    main()
