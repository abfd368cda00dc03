"""A workflow whose program is killed again and again, its model, and what must hold then (W-15)."""

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
from typing import Any

from studio.domain.jsonvalue import Json
from studio.simulator import Call, Pace, RequestView, Returned, Simulator, Text, Turn
from support import killed_run
from support.delegation_home import agent, save
from support.workflow_home import asked_in, workflow, write

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
    """Reads a file, and says what it was asked; keeps what was asked though its step was over."""

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


class KillStory:
    """Runs one after the other in one home, whose program is killed so many times in all."""

    def __init__(self, home: Path) -> None:
        self.home = home
        self.kills: list[dict[str, Any]] = []
        """Of each kill its run, and how far that was."""
        self.faults: list[str] = []
        """What is not as if nothing had been killed."""
        self.ended: dict[int, str] = {}
        """The state of each run at its end, by its number."""

    async def carry_out(self, kills: int, seed: int) -> None:
        folder = self.home / "work"
        folder.mkdir()
        (folder / "x.txt").write_text("x")
        write(folder, "story", STEPS)
        write(folder, "inner", INNER)
        save(self.home / "studio" / "agents", agent("Lead", tools="read"))
        model = Model(self.home)
        async with Simulator(model) as simulator:
            program = await asyncio.create_subprocess_exec(
                *(sys.executable, killed_run.__file__, str(self.home)),
                *(str(simulator.url("anthropic")), str(kills), str(seed)),
                stdout=asyncio.subprocess.PIPE,
                env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)},
            )
            out, _ = await program.communicate()
            lives = [json.loads(line) for line in out.decode().splitlines()]
            self.kills = [one for one in lives if one["life"] == killed_run.KILLED]
            if program.returncode:
                self.faults.append(f"the program ended with {program.returncode}")
            self.faults += [f"the simulator refused {one}" for one in simulator.violations]
        self.faults += [f"a finished step ran again: {one}" for one in model.wrong]
        self._look()

    def _look(self) -> None:
        with closing(sqlite3.connect(self.home / "studio" / "studio.db")) as db:
            ends = db.execute(
                """SELECT r.number, e.body FROM runs r JOIN run_events e ON e.run_id = r.id
                WHERE r.source LIKE '%story.md'
                AND json_extract(e.body, '$.event') = 'run_finished'"""
            ).fetchall()
        for number, body in ends:
            end = json.loads(body)
            if number in self.ended:
                self.faults.append(f"run {number} ended twice")
            self.ended[number] = end["state"]
            if end["state"] != "done":
                self.faults.append(f"run {number} ended as {end}")
                continue
            counter = (self.home / "work" / f"counter-{number}").read_text()
            if counter != "one\n":  # outside the program
                self.faults.append(f"run {number} did its command so often: {counter!r}")
            self._read(number, end["outputs"]["said"])

    def _read(self, number: int, said: Json) -> None:
        """What was heard before a kill stays; this model goes on by saying all of it again."""
        parts = str(said).split(", ")
        whole = [f"Said {what} of {number}." for what in ("item 1", "item 2", "item 3", "deep")]
        if len(parts) != len(whole):
            self.faults.append(f"run {number} said {said}")
            return
        for part, one in zip(parts, whole, strict=True):
            heard = "|".join(re.escape(one[:end]) for end in range(len(one), 0, -1))
            if one not in part or not re.fullmatch(rf"(?:\s*(?:{heard}))+\s*", part):
                self.faults.append(f"run {number} said {part!r}")
