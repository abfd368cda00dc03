"""Many items in the real command, killed with -9 in the midst of them: each row once (W-53)."""

from __future__ import annotations

import json
import sqlite3
from collections import Counter
from contextlib import closing
from pathlib import Path

from studio.simulator import RequestView, Text, Turn
from support.command import at_provider
from support.waiting import until, within
from support.workflow_home import asked_in, workflow, write

COUNT = 200
KILLS = (10, 60, 130)
"""Items that were asked about when the program is killed: the first kill is in the sample."""
STORY = workflow(
    """\
  - id: read
    agent: Reader
    for_each: ${{ rows("invoices.csv") }}
    max_parallel: 6
    outputs: {type: object, required: [total], properties: {total: {type: number}}}
    prompt: "Invoice ${{ item.number }}"
"""
)


def stored(home: Path) -> list[int]:
    """The places of the items whose results are stored."""
    with closing(sqlite3.connect(home / "studio.db")) as db:
        return [at for (at,) in db.execute("SELECT place FROM run_items WHERE state = 'done'")]


async def test_w53_w15_items_survive_kill_9_with_one_result_and_one_bill_each(
    tmp_path: Path,
) -> None:
    asked = Counter[int]()

    def reads(view: RequestView) -> Turn:
        number = int(asked_in(view).partition("Invoice ")[2].split()[0])
        asked[number] += 1
        return Turn(Text(json.dumps({"total": number * 2})))

    async with at_provider(tmp_path, "anthropic", reads) as (terminal, simulator):
        rows = ["number", *map(str, range(COUNT))]
        (terminal.folder / "invoices.csv").write_text("\n".join(rows))
        agents = terminal.home / "agents"
        agents.mkdir(parents=True)
        (agents / "reader.md").write_text("---\nname: Reader\ntools: []\n---\nRead it.\n")
        write(terminal.folder, "story", STORY)
        at = ("--provider", "anthropic", "--model", "sim-model")
        command = ("batch", "run", "story", "--yes", "--dollars", "5", *at)
        paid: dict[int, int] = {}
        for kill in KILLS:
            process = await terminal.start(*command)
            async with within():
                await until(lambda kill=kill: asked.total() >= kill, "items are asked about")
                process.kill()
                await process.wait()
            paid |= {at: asked[at] for at in stored(terminal.home) if at not in paid}
            (listed,) = json.loads((await terminal("workflow", "list", "--json")).out)
            command = ("workflow", "resume", str(listed["id"]), "--yes", "--dollars", "5")
        ended = await terminal(*command)
        assert ended.code == 0, ended
        exported = await terminal("batch", "export", command[2])
        found = [json.loads(line) for line in exported.out.splitlines()]
        assert [int(one["item"]["number"]) for one in found] == [*range(COUNT)]
        assert all(one["outputs"] == {"total": int(one["item"]["number"]) * 2} for one in found)
        assert set(asked) == set(range(COUNT))
        assert paid and {at: asked[at] for at in paid} == paid, "only what was not stored yet"
        with closing(sqlite3.connect(terminal.home / "studio.db")) as db:
            ((results, queues),) = db.execute(
                "SELECT count(*), count(DISTINCT queue) FROM run_items WHERE state = 'done'"
            ).fetchall()
        assert (results, queues) == (COUNT, 1)
        assert not simulator.violations
