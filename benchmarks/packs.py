"""What a pack costs that is on and not opened (KZ-9).

    python benchmarks/packs.py [rounds]

The engine is built with the pack of the tests beside one without it, each in a process of its own,
in turn: processor time until it is built, and the memory then; after that, what the first use
costs, which runs the pack's code. The pack has tools, a kind of drafts, a verb, settings and two
pages, and runs in the program. The same with the office that ships, which has 26 tools, 80 verbs
and six pages.
"""

from __future__ import annotations

import asyncio
import json
import shutil
import sys
import tempfile
import time
from pathlib import Path

from measure import HERE, Row, child, middle, quick, show

PACK = HERE.parent / "tests" / "support" / "packs" / "notes"


async def build_engine(place: Path) -> None:
    from studio.app import build
    from studio.extensions.packs.installed import InstalledPacks
    from studio.storage.config.settings import SettingsFile
    from studio.storage.paths import Paths

    paths = Paths.below(place / "home")
    settings = SettingsFile(paths.settings)
    await settings.load()
    began = time.process_time()
    engine = await build(paths, settings)
    spent = (time.process_time() - began) * 1000
    status = Path("/proc/self/smaps_rollup").read_text()
    kept = next(int(line.split()[1]) for line in status.splitlines() if line.startswith("Pss:"))
    began = time.process_time()
    on = "draft_note" in engine.tools()
    first = (time.process_time() - began) * 1000
    packs = engine.services.get(InstalledPacks)
    if "--approve" in sys.argv:
        packs.approve("notes", packs.get("notes").digest)
    if "--office" in sys.argv:
        packs.switch("kanzlei", on=True)
    office = "read_akte" in engine.tools()
    await engine.close()
    print(json.dumps({"ms": spent, "first": first, "mb": kept / 1024, "on": on or office}))


def distribution(place: Path) -> Path:
    """The pack as a distribution, in a folder for ``sys.path``."""
    site = place / "site"
    shutil.copytree(PACK, site / "notes_pack")
    info = site / "notes_pack-1.0.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: notes-pack\nVersion: 1.0\n")
    (info / "entry_points.txt").write_text("[agent_studio.packs]\nnotes = notes_pack\n")
    return site


def main() -> None:
    rounds = 3 if quick() else 9
    with tempfile.TemporaryDirectory() as made:
        place = Path(made)
        site = distribution(place)
        run = [HERE / "packs.py", "--engine", place]
        child([*run, site, "--approve"])
        child(run)
        office = [HERE / "packs.py", "--engine", place / "office"]
        child([*office, "--office"])
        ways = {"a pack": [*run, site], "the office": office, "": run}
        found: dict[str, list[dict[str, float]]] = {name: [] for name in ways}
        for _ in range(rounds):
            for name, way in ways.items():
                figures = child(way)
                assert figures["on"] is bool(name)
                found[name].append(figures)
    rows: list[Row] = []
    for name in ("a pack", "the office"):
        for what, key, unit, goal in (
            (f"engine built, {name} on", "ms", "ms", "< 30 ms more"),
            ("memory then", "mb", "MB", "< 5 MB more"),
            ("its code run with its first use", "first", "ms", ""),
        ):
            here, base = (middle(one[key] for one in found[way]) for way in (name, ""))
            rows.append(Row(what, here, base, unit, goal, "without the pack"))
    show(rows)


if __name__ == "__main__":
    if "--engine" in sys.argv:
        at = sys.argv.index("--engine")
        if len(sys.argv) > at + 2 and not sys.argv[at + 2].startswith("--"):
            sys.path.insert(0, sys.argv[at + 2])
        asyncio.run(build_engine(Path(sys.argv[at + 1])))
    else:
        main()
