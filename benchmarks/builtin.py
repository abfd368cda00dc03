"""How many of ten small jobs the built-in model solves, and how many of its answers are made up.

    python benchmarks/builtin.py

Each job is a whole turn of the agent Assistant in a folder of its own, with the real model.
An answer is made up where only one is right (an empty folder, a file that is not there) and
it says something else.
"""

from __future__ import annotations

import asyncio
import sys
import tempfile
import time
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path[:0] = [str(HERE.parent), str(HERE.parent / "tests")]


async def answers(home: Path) -> None:
    from studio.app import build
    from studio.domain.events import TextDelta
    from studio.domain.messages import Text
    from studio.storage.config.settings import SettingsFile
    from studio.storage.paths import Paths
    from support.builtin_jobs import JOBS

    paths = Paths.below(home / "studio")
    settings = SettingsFile(paths.settings)
    await settings.load()
    settings.values.inline_seconds = settings.values.background_seconds = 3600.0
    engine = await build(paths, settings)
    solved = made_up = 0
    try:
        for number, job in enumerate(JOBS):
            folder = home / str(number)
            folder.mkdir()
            job.lay_out(folder)
            session = await engine.sessions.create(
                folder=str(folder), agent="Assistant", provider="builtin", model="smollm2-135m"
            )
            began = time.perf_counter()
            events = [one.event async for one in session.turn([Text(job.ask)])]
            answer = "".join(event.text for event in events if isinstance(event, TextDelta))
            right = job.solved(answer)
            solved += right
            made_up += not right and bool(job.certain)
            mark = "solved" if right else "failed"
            print(f"{mark}  {time.perf_counter() - began:5.1f} s  {job.ask}\n        {answer!r}")
    finally:
        await engine.close()
    print(f"{solved} of {len(JOBS)} solved, {made_up} made up.")


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as place:
        asyncio.run(answers(Path(place)))
