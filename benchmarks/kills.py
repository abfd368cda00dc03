"""Whether a run whose program is killed at random moments ends as if nothing had been (W-15).

    python benchmarks/kills.py [kills] [seed] [file]

Each life of the program goes on with the run that the one before it left, and is ended with
``kill -9`` at a random moment. The file gets a line of JSON for each kill: when it came, at which
run, how many events were on the disk, and how that run ended. Then one with all that is wrong.
"""

from __future__ import annotations

import asyncio
import json
import sys
import tempfile
from pathlib import Path

from measure import HERE

sys.path.append(str(HERE.parent / "tests"))

from support.kill_story import KillStory  # pyright: ignore[reportMissingImports]


def main(kills: int, seed: int, file: Path) -> None:
    with tempfile.TemporaryDirectory() as home:
        story = KillStory(Path(home))
        asyncio.run(story.carry_out(kills, seed))
    lines = [{**kill, "ended": story.ended.get(kill["run"], "")} for kill in story.kills]
    last = {"kills": len(lines), "runs": len(story.ended), "faults": story.faults}
    file.write_text("".join(json.dumps(one) + "\n" for one in [*lines, last]))
    print(json.dumps(last))
    if story.faults:
        raise SystemExit(1)


if __name__ == "__main__":
    given = sys.argv[1:]
    main(
        int(given[0]) if given else 150,
        int(given[1]) if len(given) > 1 else 7,
        Path(given[2] if len(given) > 2 else "kills.jsonl"),
    )
