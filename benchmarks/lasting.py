"""What stays in memory after as many tokens as an hour of streaming has, in a real X11 window.

    python benchmarks/lasting.py [answers]

Needs Xvfb, and is not part of ``make bench``: it takes a few minutes. An hour at 200 tokens a
second has 720,000: 30 answers of 24,000, which the simulator streams at 8,000 a second into the
program's own window, two to a chat. Each chat is left for a new one. What was shown is on the disk
then, so the memory at the end of a chat is to stay what it was. One token is taken as 3.66
characters.
"""

from __future__ import annotations

import asyncio
import json
import os
import random
import subprocess
import sys
import tempfile
import time
from contextlib import suppress
from pathlib import Path
from typing import Any

from measure import HERE, Row, child, quick, show
from screen import SIZE, screen
from streaming import KEY, PROVIDER, TOKEN, check

ANSWERS, TOKENS, RATE, IN_A_CHAT = 30, 24_000, 8_000.0, 2


async def serve() -> None:
    from transcript import prose

    from studio.agent.prompts import TITLE_SYSTEM
    from studio.simulator import Pace, Simulator, Text, Turn
    from studio.simulator.request_view import RequestView

    made = 0

    def answer(request: RequestView) -> Turn:
        nonlocal made
        if request.system == TITLE_SYSTEM:
            return Turn(Text("Going on"))
        made += 1
        return Turn(Text(prose(random.Random(made), int(TOKENS * TOKEN))), pace=Pace(0.05, RATE))

    async with Simulator(answer) as server:
        print(json.dumps(server.url("chat")), flush=True)
        await asyncio.to_thread(sys.stdin.read)


def memory() -> float:
    """What this process has in memory, in MB."""
    pages = int(Path("/proc/self/statm").read_text().split()[1])
    return pages * os.sysconf("SC_PAGE_SIZE") / 1e6


def window(answers: int) -> None:
    """Answers in the window, one after the other, as if the words were typed."""
    import studio.app

    memories: list[float] = []
    used: list[float] = []
    build = studio.app.build

    def begin(window: Any) -> None:
        from PySide6.QtCore import QTimer

        from studio.domain.events import TurnComplete

        done = [0]

        def say() -> None:
            if window.chat.model.input.state != "idle":  # the turn before is still being stored
                QTimer.singleShot(100, say)
                return
            used.append(time.process_time())
            window.chat.model.input.send_text("Go on.")

        def seen(event: object) -> None:
            check(event)
            if isinstance(event, TurnComplete):
                used[-1] = time.process_time() - used[-1]
                done[0] += 1
                QTimer.singleShot(500, next_)

        def next_() -> None:
            if done[0] % IN_A_CHAT == 0:
                memories.append(memory())
                window.new_chat()
            QTimer.singleShot(500, say if done[0] < answers else window.close)

        window.resize(*SIZE)
        window.engine.keychain.keep_for_session(PROVIDER, KEY)
        window.chat.event_seen.connect(seen)
        QTimer.singleShot(300, say)

    async def measured(*arguments: Any) -> Any:
        from PySide6.QtWidgets import QApplication

        window: Any = next(w for w in QApplication.topLevelWidgets() if w.isVisible())
        window.ready.add_done_callback(lambda _: begin(window))
        return await build(*arguments)

    studio.app.build = measured
    code = studio.app.main(None)
    print(json.dumps({"memories": memories, "used": used}))
    sys.exit(code)


def rows(answers: int) -> list[Row]:
    server = subprocess.Popen(
        [sys.executable, __file__, "--serve"],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    with server, tempfile.TemporaryDirectory() as folder, screen() as display:
        os.environ.update(DISPLAY=display, QT_QPA_PLATFORM="xcb")
        assert server.stdout is not None and server.stdin is not None
        settings = {
            "first_run_done": True,
            "default_provider": PROVIDER,
            "default_model": {PROVIDER: "sim-model"},
            "base_urls": {PROVIDER: json.loads(server.stdout.readline())},
        }
        home = Path(folder)
        (home / "settings.json").write_text(json.dumps(settings))
        found = child([HERE / "lasting.py", "--window", str(answers)], home, 3600)
        with suppress(OSError):
            server.stdin.close()
    memories, used = found["memories"], found["used"]
    print("MB after each chat:", *(f"{mb:.0f}" for mb in memories), file=sys.stderr)
    early, late = memories[len(memories) // 3], memories[-1]
    tokens = answers * TOKENS
    part = tokens * len(memories) // 3 // len(memories)
    cpu = sum(used) / tokens * 1e6
    return [
        Row(f"memory after {tokens:,} tokens", late, early, "MB", "flat", f"after {part:,}"),
        Row("  1,000 of them, CPU", cpu, None, "ms"),
    ]


def main() -> None:
    counts = [int(x) for x in sys.argv[1:] if x.isdigit()]
    if "--serve" in sys.argv:
        asyncio.run(serve())
    elif "--window" in sys.argv:
        window(counts[0])
    else:
        show(rows(counts[0] if counts else 6 if quick() else ANSWERS))


if __name__ == "__main__":
    main()
