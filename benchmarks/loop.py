"""The window's event loop against the loop it repairs: StudioLoop and plain qasync.

    python benchmarks/loop.py [rounds]

One child process a loop and round, interleaved. CPU of the whole process, in
microseconds a call.
"""

from __future__ import annotations

import asyncio
import json
import sys
import threading
import time
from collections.abc import Awaitable, Callable

from measure import Row, child, middle, quick, show

MANY = 20_000
TIMERS = 10_000


async def chained() -> None:
    """Each callback asks for the next."""
    loop = asyncio.get_running_loop()
    done = loop.create_future()
    left = MANY

    def step() -> None:
        nonlocal left
        left -= 1
        if left:
            loop.call_soon(step)
        else:
            done.set_result(None)

    loop.call_soon(step)
    await done


async def bulk() -> None:
    """All callbacks are asked for at once."""
    loop = asyncio.get_running_loop()
    done = loop.create_future()
    for _ in range(MANY - 1):
        loop.call_soon(int)
    loop.call_soon(done.set_result, None)
    await done


async def threadsafe() -> None:
    """Another thread asks for them."""
    loop = asyncio.get_running_loop()
    done = loop.create_future()

    def work() -> None:
        for _ in range(MANY - 1):
            loop.call_soon_threadsafe(int)
        loop.call_soon_threadsafe(done.set_result, None)

    thread = threading.Thread(target=work)
    thread.start()
    await done
    thread.join()


async def cancelled() -> None:
    """Time limits that never come, as every network read sets one."""
    loop = asyncio.get_running_loop()
    for index in range(TIMERS):
        loop.call_later(600, int).cancel()
        if index % 100 == 0:
            await asyncio.sleep(0)


async def after() -> None:
    """Plain steps, with the cancelled time limits behind them."""
    for _ in range(TIMERS):
        await asyncio.sleep(0)


WORK: dict[str, tuple[Callable[[], Awaitable[None]], int, str]] = {
    "chained": (chained, MANY, "call_soon, one after another"),
    "bulk": (bulk, MANY, "call_soon, 20,000 at once"),
    "threadsafe": (threadsafe, MANY, "call_soon_threadsafe, 20,000"),
    "cancelled": (cancelled, TIMERS, "call_later and cancel, 10,000"),
    "after": (after, TIMERS, "sleep(0) after those"),
}


def one(name: str) -> None:
    from PySide6.QtWidgets import QApplication

    app = QApplication(sys.argv[:1])
    if name == "studio":
        from studio.ui.app.qt_loop import StudioLoop

        loop = StudioLoop(app)
    else:
        import qasync

        loop = qasync.QEventLoop(app)
    asyncio.set_event_loop(loop)
    found: dict[str, float] = {}

    async def measure() -> None:
        for key, (work, count, _) in WORK.items():
            cpu = time.process_time()
            await work()
            found[key] = (time.process_time() - cpu) / count * 1e6

    with loop:
        loop.run_until_complete(measure())
    print(json.dumps(found))


def rows(rounds: int) -> list[Row]:
    ours: list[dict[str, float]] = []
    plain: list[dict[str, float]] = []
    for _ in range(rounds):
        ours.append(child([__file__, "--one", "studio"]))
        plain.append(child([__file__, "--one", "qasync"]))
    return [
        Row(what, middle(x[key] for x in ours), middle(x[key] for x in plain), "µs", "", "qasync")
        for key, (_, _, what) in WORK.items()
    ]


def main() -> None:
    if "--one" in sys.argv:
        one(sys.argv[2])
        return
    counts = [int(x) for x in sys.argv[1:] if x.isdigit()]
    show(rows(counts[0] if counts else 3 if quick() else 7))


if __name__ == "__main__":
    main()
