"""Runs whose program is killed at random points end as if it never was (W-15, W-16)."""

from __future__ import annotations

import asyncio
import json
import os
import re
import sqlite3
import sys
from collections import Counter
from contextlib import closing
from pathlib import Path

import pytest

from studio.simulator import Call, Pace, RequestView, Returned, Simulator, Text, Turn
from support import killed_run
from support.delegation_home import agent, save
from support.waiting import within
from support.workflow_home import asked_in, workflow, write

KILLS = 1_000 if os.environ.get("HYPOTHESIS_PROFILE") == "nightly" else 20
SLOW = Pace(0.01, 400)
INNER = workflow(
    "  - {id: deep, agent: Lead, prompt: 'Do deep of ${{ inputs.n }}'}\n",
    "inputs: {n: {type: integer, required: true}}\noutputs: {deep: '${{ steps.deep.text }}'}\n",
)
STEPS = workflow(
    """\
  - {id: a, agent: Lead, prompt: 'Do a of ${{ run.number }}'}
  - id: each
    needs: a
    for_each: [1, 2, 3]
    agent: Lead
    prompt: "Do item ${{ item }} of ${{ run.number }}"
  - {id: below, needs: a, workflow: inner, inputs: {n: '${{ run.number }}'}}
  - {id: act, needs: each, run: 'echo one >> counter-${{ run.number }}'}
  - id: all
    needs: [act, below]
    set: {said: "${{ join(steps.each.text) }}, ${{ steps.below.text }}"}
""",
    "outputs: {said: '${{ steps.all.outputs.said }}'}\n",
)


class Model:
    """Reads a file, and says what it was asked; counts its answers by what was asked."""

    def __init__(self, home: Path) -> None:
        self.answers: Counter[str] = Counter()
        self.wrong: list[str] = []
        self._database = home / "studio" / "studio.db"

    def __call__(self, view: RequestView) -> Turn:
        asked = asked_in(view).rpartition("Do ")[2].splitlines()[0]
        if asked in self._finished():
            self.wrong.append(asked)
        if not any(isinstance(one, Returned) for one in view.items):
            return Turn(Call("read", {"path": "x.txt"}), pace=SLOW)
        self.answers[asked] += 1
        return Turn(Text(f"Said {asked}. " * 3), pace=SLOW)

    def _finished(self) -> set[str]:
        """What steps were asked whose end is on the disk."""
        with closing(sqlite3.connect(self._database)) as db:
            rows = db.execute("SELECT body FROM run_events").fetchall()
        ends = [json.loads(body) for (body,) in rows]
        said = [one["text"] for one in ends if one["event"] == "step_finished" and one.get("text")]
        return {text.removeprefix("Said ").split(". ")[0] for text in said if "Said" in text[:5]}


@pytest.mark.long
@pytest.mark.skipif(sys.platform == "win32", reason="it forks")
async def test_w15_w16_a_killed_run_ends_as_if_it_never_was(tmp_path: Path) -> None:
    """PRE-19."""
    folder = tmp_path / "work"
    folder.mkdir()
    (folder / "x.txt").write_text("x")
    write(folder, "story", STEPS)
    write(folder, "inner", INNER)
    save(tmp_path / "studio" / "agents", agent("Lead", tools="read"))
    model = Model(tmp_path)
    async with Simulator(model) as simulator, within():
        program = await asyncio.create_subprocess_exec(
            *(sys.executable, killed_run.__file__, str(tmp_path)),
            *(str(simulator.url("anthropic")), str(KILLS), "7"),
            stdout=asyncio.subprocess.PIPE,
            env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)},
        )
        out, _ = await program.communicate()
        assert program.returncode == 0, out
        assert out.decode().count(killed_run.KILLED) == KILLS
        assert not simulator.violations
    with closing(sqlite3.connect(tmp_path / "studio" / "studio.db")) as db:
        ends = db.execute(
            """SELECT r.number, e.body FROM runs r JOIN run_events e ON e.run_id = r.id
            WHERE r.source LIKE '%story.md'
            AND json_extract(e.body, '$.event') = 'run_finished'"""
        ).fetchall()
    assert len(ends) > 1
    for number, body in ends:
        end = json.loads(body)
        every = [f"Said {what} of {number}." for what in ("item 1", "item 2", "item 3")]
        deep = f"Said deep of {number}."
        assert end["state"] == "done", end
        for one, said in zip(end["outputs"]["said"].split(", "), (*every, deep), strict=True):
            # What was heard before a kill stays, and this model goes on by saying all of it again.
            heard = "|".join(re.escape(said[:end]) for end in range(len(said), 0, -1))
            assert said in one and re.fullmatch(rf"(?:\s*(?:{heard}))+\s*", one), one
        assert (folder / f"counter-{number}").read_text() == "one\n"  # outside the program
    assert not model.wrong, "no finished step runs again"
