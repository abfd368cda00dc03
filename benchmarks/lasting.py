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
import os
import random
import sys
import time
from collections.abc import Callable
from itertools import count
from pathlib import Path
from typing import TYPE_CHECKING, Any

from measure import HERE, Row, child, quick, show
from screen import SIZE, serve, studio_home
from streaming import TOKEN, check, run_window, when_idle

if TYPE_CHECKING:
    from studio.simulator import Turn
    from studio.simulator.request_view import RequestView

ANSWERS, TOKENS, RATE, IN_A_CHAT = 30, 24_000, 8_000.0, 2


def answers() -> Callable[[RequestView], Turn]:
    """Give a long answer each time, always another one."""
    from transcript import prose

    from studio.simulator import Pace, Text, Turn

    seeds = count(1)

    def answer(request: RequestView) -> Turn:
        text = prose(random.Random(next(seeds)), int(TOKENS * TOKEN))
        return Turn(Text(text), pace=Pace(0.05, RATE))

    return answer


def memory() -> float:
    """What this process has in memory, in MB."""
    pages = int(Path("/proc/self/statm").read_text().split()[1])
    return pages * os.sysconf("SC_PAGE_SIZE") / 1e6


def window(turns: int) -> None:
    """Answers in the window, one after the other, as if the words were typed."""
    memories: list[float] = []
    used: list[float] = []

    def begin(window: Any) -> None:
        from PySide6.QtCore import QTimer

        from studio.domain.events import TurnComplete

        done = [0]

        def say() -> None:
            used.append(time.process_time())
            window.chat.model.input.send_text("Go on.")

        def seen(event: object) -> None:
            check(event)
            if isinstance(event, TurnComplete):
                used[-1] = time.process_time() - used[-1]
                done[0] += 1
                QTimer.singleShot(500, lambda: when_idle(window, next_))

        def next_() -> None:
            if done[0] % IN_A_CHAT == 0:
                memories.append(memory())
                print(f"{memories[-1]:.0f} MB after {done[0]} answers", file=sys.stderr, flush=True)
                window.new_chat()
            after = say if done[0] < turns else window.close
            QTimer.singleShot(500, lambda: when_idle(window, after))

        window.resize(*SIZE)
        window.chat.model.subscribe(lambda change: seen(change.event), "event", "text")
        QTimer.singleShot(300, say)

    run_window(begin, {"memories": memories, "used": used})


def rows(turns: int) -> list[Row]:
    with studio_home(Path(__file__)) as (home, _):
        found = child([HERE / "lasting.py", "--window", str(turns)], home, 3600)
    memories, used = found["memories"], found["used"]
    early, late = memories[len(memories) // 3], memories[-1]
    tokens = turns * TOKENS
    part = tokens * len(memories) // 3 // len(memories)
    cpu = sum(used) / tokens * 1e6
    return [
        Row(f"memory after {tokens:,} tokens", late, early, "MB", "flat", f"after {part:,}"),
        Row("  1,000 of them, CPU", cpu, None, "ms"),
    ]


def main() -> None:
    counts = [int(x) for x in sys.argv[1:] if x.isdigit()]
    if "--serve" in sys.argv:
        asyncio.run(serve(answers()))
    elif "--window" in sys.argv:
        window(counts[0])
    else:
        show(rows(counts[0] if counts else 6 if quick() else ANSWERS))


if __name__ == "__main__":
    main()
