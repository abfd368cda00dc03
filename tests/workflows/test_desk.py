"""Desks of a run's steps: what they see, where they meet, and one undo (W-23 to W-26)."""

from __future__ import annotations

import asyncio
import json
import os
import random
import sqlite3
import subprocess
import time
from contextlib import closing
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from studio.domain.run_events import MERGE, RunEvent, StepAsked
from studio.domain.runs import Run
from studio.simulator import Call, RequestView, Returned, Text, Turn, stall
from studio.storage.snapshots.blob_store import UNDO_SECONDS, digest_of
from studio.tools.drafts.three_way_merge import three_way
from studio.workflows.change_merge import Clash
from studio.workflows.fork import ForkRequest
from studio.workflows.workflow_runs import WorkflowRuns
from support.engine_home import EngineHome, engine_home, say
from support.waiting import within
from support.workflow_home import asked_in, begin, carry_out, go_on, states, workflow

BASE = "".join(f"line {number}\n" for number in range(1, 21))
TWO = workflow(
    """\
  - {id: a, agent: Coder, prompt: Do A.}
  - {id: b, agent: Coder, prompt: Do B.}
"""
)


class Acting:
    """A script in which who is asked these words makes these calls, one after the other."""

    def __init__(self, calls: dict[str, list[Call]]) -> None:
        self.calls = calls
        self.told: dict[str, str] = {}
        """What tools answered last, by the words."""

    def __call__(self, view: RequestView) -> Turn:
        asked, calls = asked_in(view), self.calls
        words = next(words for words in calls if words in asked)
        returned = [one.text for one in view.items if isinstance(one, Returned)]
        self.told[words] = "\n".join(returned)
        made = len(returned)
        return Turn(calls[words][made]) if made < len(calls[words]) else Turn(Text("Done."))


TIMES = 50 if os.environ.get("HYPOTHESIS_PROFILE") == "nightly" else 5


def change(path: str, old: str, new: str) -> Call:
    return Call("edit", {"path": path, "old": old, "new": new})


def write(path: str, text: str) -> Call:
    return Call("write", {"path": path, "content": text})


def contents(folder: Path) -> dict[str, str]:
    """What is in the folder, but for the workflow itself."""
    found = (path for path in sorted(folder.rglob("*")) if path.is_file())
    names = ((path.relative_to(folder).as_posix(), path) for path in found)
    return {name: path.read_text() for name, path in names if not name.startswith(".agents")}


async def drafts_of(home: EngineHome, run: Run) -> dict[str, str]:
    session = await home.engine.sessions.open(run.drafts)
    return {one.path: one.after for one in session.drafts.waiting_files()}


async def test_w23_w26_two_writers_one_file_and_one_undo(tmp_path: Path) -> None:
    """PRE-17."""
    script = Acting(
        {
            "Do A.": [
                write("a.txt", "by a\n"),
                change("shared.txt", "line 3\n", "three\n"),
                Call("read", {"path": "shared.txt"}),
            ],
            "Do B.": [write("b.txt", "by b\n"), change("shared.txt", "line 18\n", "eighteen\n")],
        }
    )
    async with engine_home(tmp_path, "anthropic", script) as home:
        (home.folder / "shared.txt").write_text(BASE)
        before = contents(home.folder)
        run = await carry_out(await begin(home, TWO))
        assert run.end is not None and run.end.state == "done", (run.end, states(run))
        assert contents(home.folder) == before, "nothing is written before the person approves"
        assert "three" in script.told["Do A."], "a step sees its own changes"
        merged = BASE.replace("line 3\n", "three\n").replace("line 18\n", "eighteen\n")
        assert await drafts_of(home, run) == {
            "a.txt": "by a\n",
            "b.txt": "by b\n",
            "shared.txt": merged,
        }
        assert not list((home.engine.paths.data / "desks").glob("*/folder"))
        assert await home.command("drafts", "approve", "--run", run.id) == 0
        after = contents(home.folder)
        assert after == {"a.txt": "by a\n", "b.txt": "by b\n", "shared.txt": merged}
        session = await home.engine.sessions.open(run.drafts)
        turn = session.transcript.turn_id
        await session.undo_turn(turn)
        assert contents(home.folder) == before, "one undo takes the run back"
        await session.redo_turn(turn)
        assert await home.command("drafts", "undo", "--run", run.id) == 0
        assert contents(home.folder) == before
        assert not home.simulator.violations


GATED = workflow(
    """\
  - {id: a, agent: Coder, prompt: Do A.}
  - {id: b, agent: Coder, prompt: Do B.}
  - {id: ok, needs: [a, b], approve: Go on?}
  - {id: c, needs: ok, agent: Coder, prompt: Do C.}
"""
)


@pytest.mark.parametrize(("edited", "talks"), [(False, False), (True, False), (False, True)])
async def test_w26_drafts_are_approved_at_a_gate_and_one_undo_takes_all_back(
    tmp_path: Path, edited: bool, talks: bool
) -> None:
    """What comes after the gate is drafted on what was approved there, and in the same turn, also
    where the person said something there meanwhile."""
    script = Acting(
        {
            "Do A.": [change("f.txt", "line 3\n", "by a\n"), write("a.txt", "by a\n")],
            "Do B.": [write("b.txt", "by b\n")],
            "Do C.": [change("f.txt", "line 9\n", "by c\n"), write("c.txt", "by c\n")],
            "Thanks": [],
        }
    )
    async with engine_home(tmp_path, "anthropic", script) as home:
        (home.folder / "f.txt").write_text(BASE)
        before = contents(home.folder)
        runner = await begin(home, GATED)
        run = await carry_out(runner)
        assert run.state == "needs_you" and contents(home.folder) == before
        by_a = BASE.replace("line 3\n", "by a\n")
        first = {"a.txt": "by a\n", "b.txt": "by b\n", "f.txt": by_a}
        assert await drafts_of(home, run) == first, "they wait while the run waits"
        assert await home.command("drafts", "approve", "--run", run.id, "--step", "a") == 0
        now = {"a.txt": "by a\n", "f.txt": by_a}
        assert contents(home.folder) == now
        if edited:
            (home.folder / "a.txt").write_text("the person's\n")
            now["a.txt"] = "the person's\n"
        if talks:
            session = await home.engine.sessions.open(run.drafts)
            await session.change(agent="Coder")
            await say(session, "Thanks")
        question = run.step("ok").question
        assert question is not None
        await WorkflowRuns(home.engine).close(runner)
        runner = await go_on(home, run.id)
        await runner.answer(question.id, True)
        run = await carry_out(runner)
        assert run.end is not None and run.end.state == "done", (run.end, states(run))
        assert contents(home.folder) == now, "what was approved is not written again"
        both = by_a.replace("line 9\n", "by c\n")
        last = {"b.txt": "by b\n", "c.txt": "by c\n", "f.txt": both}
        assert await drafts_of(home, run) == last
        assert await home.command("drafts", "approve", "--run", run.id) == 0
        assert contents(home.folder) == {**now, **last}
        session = await home.engine.sessions.open(run.drafts)
        if edited:
            await session.undo_turn(session.transcript.turn_id)
            assert contents(home.folder) == {**before, "a.txt": "the person's\n"}
            return
        await session.undo_turn(session.transcript.turn_id)
        assert contents(home.folder) == before, "one undo takes the run back"
        await session.redo_turn(session.transcript.turn_id)
        assert await home.command("drafts", "undo", "--run", run.id) == 0
        assert contents(home.folder) == before
        assert not home.simulator.violations


@pytest.mark.parametrize("approved", [False, True])
async def test_w26_what_is_changed_back_after_a_gate_is_wanted_no_more(
    tmp_path: Path, approved: bool
) -> None:
    """A draft that still waits goes; what was approved at the gate is drafted back."""
    back = [change("f.txt", "by a\n", "line 3\n"), Call("delete", {"path": "a.txt"})]
    script = Acting(
        {
            "Do A.": [change("f.txt", "line 3\n", "by a\n"), write("a.txt", "by a\n")],
            "Do B.": [write("b.txt", "by b\n")],
            "Do C.": back,
        }
    )
    async with engine_home(tmp_path, "anthropic", script) as home:
        (home.folder / "f.txt").write_text(BASE)
        before = contents(home.folder)
        runner = await begin(home, GATED)
        run = await carry_out(runner)
        assert set(await drafts_of(home, run)) == {"a.txt", "b.txt", "f.txt"}
        if approved:
            assert await home.command("drafts", "approve", "--run", run.id, "--step", "a") == 0
        question = run.step("ok").question
        assert question is not None
        await runner.answer(question.id, True)
        run = await carry_out(runner)
        assert run.end is not None and run.end.state == "done", (run.end, states(run))
        taken_back = {"a.txt": "", "f.txt": BASE} if approved else {}
        assert await drafts_of(home, run) == {"b.txt": "by b\n", **taken_back}
        assert await home.command("drafts", "approve", "--run", run.id) == 0
        assert contents(home.folder) == {**before, "b.txt": "by b\n"}
        session = await home.engine.sessions.open(run.drafts)
        await session.undo_turn(session.transcript.turn_id)
        assert contents(home.folder) == before, "one undo takes the run back"
        assert not home.simulator.violations


CANARY = """\
echo changed > {folder}/canary.txt; echo changed > link.txt; echo changed > sub/../canary.txt
cp canary.txt seen.txt; echo new > {folder}/made.txt; printf '\\0\\1' > data.bin
git -C {folder} config user.name nobody; git -C {folder} commit -qam changed
rm {folder}/gone.txt; pwd; cat a.txt; true"""


async def test_w30_a_fork_has_what_the_steps_before_it_changed(tmp_path: Path) -> None:
    """The step that runs again sees it, and the drafts of the fork are those of all its steps."""
    script = Acting(
        {
            "Do A.": [write("a.txt", "by a\n")],
            "Do B.": [Call("read", {"path": "a.txt"}), write("b.txt", "by b\n")],
        }
    )
    after = TWO.replace("id: b,", "id: b, needs: a,")
    async with engine_home(tmp_path, "openai", script) as home:
        run = await carry_out(await begin(home, after))
        assert run.state == "done" and "by a" in script.told["Do B."]
        both = {"a.txt": "by a\n", "b.txt": "by b\n"}
        assert await drafts_of(home, run) == both
        script.told.clear()
        runs = WorkflowRuns(home.engine)
        fork = await carry_out(await runs.fork(await runs.plan_fork(ForkRequest(run.id, "b"))))
        assert fork.state == "done", (fork.end, states(fork))
        assert "Do A." not in script.told and "by a" in script.told["Do B."]
        assert await drafts_of(home, fork) == both
        assert await home.command("drafts", "approve", "--run", run.id) == 0
        approved = await carry_out(await runs.fork(await runs.plan_fork(ForkRequest(run.id, "b"))))
        assert approved.state == "done", (approved.end, states(approved))
        assert contents(home.folder) == both
        assert not home.simulator.violations


@pytest.mark.parametrize("number", range(TIMES))
async def test_w23_nothing_on_a_desk_touches_the_folder(tmp_path: Path, number: int) -> None:
    folder = tmp_path / "work"
    run_it = Call("run", {"command": CANARY.format(folder=folder)})
    calls = [write("a.txt", "by a\n"), run_it, Call("read", {"path": f"{folder}/seen.txt"})]
    calls += [write(f"{folder}/absolute.txt", "in\n"), write("out.txt", "leaves the folder\n")]
    script = Acting({"Do A.": calls, "Do B.": [run_it]})
    async with engine_home(tmp_path, "anthropic", script) as home:
        if not (await home.engine.sandbox()).desks:
            pytest.skip("no sandbox here shows a desk")
        home.engine.settings.values.default_permission_mode = "auto"
        outside = tmp_path / "outside.txt"
        (folder / "sub").mkdir()
        for name in ("canary.txt", "gone.txt"):
            (folder / name).write_text("as it was\n")
        outside.write_text("as it was\n")
        (folder / "link.txt").symlink_to(folder / "canary.txt")
        (folder / "out.txt").symlink_to(outside)
        await asyncio.to_thread(subprocess.run, ["git", "init", "-q", str(folder)], check=True)
        before = contents(folder)
        runner = await begin(home, TWO)
        answers: list[asyncio.Task[None]] = []

        def allow(event: RunEvent) -> None:
            if isinstance(event, StepAsked):
                answers.append(asyncio.create_task(runner.answer(event.question.id, "once")))

        run = await carry_out(runner, allow)
        assert run.end is not None and run.end.state == "done", (run.end, states(run))
        assert contents(folder) == before and outside.read_text() == "as it was\n"
        told = script.told["Do A."]
        assert "by a" in told and str(folder) in told and "changed" in told, told
        assert "outside the folder" in told, "no link leads a file tool out of the desk"
        drafts = await drafts_of(home, run)
        assert set(drafts) == {
            *("a.txt", "absolute.txt", "canary.txt", "data.bin", "gone.txt", "made.txt"),
            "seen.txt",
        }
        assert await home.command("drafts", "approve", "--run", run.id) == 0
        assert (folder / "data.bin").read_bytes() == b"\0\1" and not (folder / "gone.txt").exists()
        assert await home.command("drafts", "undo", "--run", run.id) == 0
        assert contents(folder) == before


MEETING = workflow(
    """\
  - {id: a, agent: Coder, prompt: Do A.}
  - {id: b, agent: Coder, prompt: Do B.}
  - {id: c, needs: [a, b], agent: Coder, prompt: Do C.}
""",
    "on_conflict: HOW\n",
)
CLASH = {
    "Do A.": [change("f.txt", "line 3\n", "by a\n"), write("only-a.txt", "a\n")],
    "Do B.": [change("f.txt", "line 3\n", "by b\n")],
    "Do C.": [Call("read", {"path": "f.txt"}), change("f.txt", "line 9\n", "by c\n")],
}


@pytest.mark.parametrize("choice", [0, 1, 2, "all of it\nline 9\n"])
async def test_w25_the_person_decides_where_writers_meet(tmp_path: Path, choice: int | str) -> None:
    script = Acting(CLASH)
    async with engine_home(tmp_path, "anthropic", script) as home:
        (home.folder / "f.txt").write_text(BASE)
        runner = await begin(home, MEETING.replace("HOW", "ask"))
        asked: list[StepAsked] = []

        def answer(event: StepAsked) -> str:
            asked.append(event)
            return event.question.choices[choice] if isinstance(choice, int) else choice

        waited = await carry_out(runner)
        assert waited.state == "needs_you" and waited.step("c").question is not None
        question = waited.step("c").question
        assert question is not None and "by a" in question.detail and "by b" in question.detail
        await WorkflowRuns(home.engine).close(runner)
        runner = await go_on(home, runner.run.id)  # it waits on the disk, too
        await runner.answer(question.id, answer(StepAsked("c", "", question)))
        run = await carry_out(runner)
        assert run.end is not None and run.end.state == "done", (run.end, states(run))
        assert len(asked) == 1, "what is answered is not asked again at the end"
        told, drafts = script.told["Do C."], await drafts_of(home, run)
        assert ("by a" in told, "by b" in told) == {
            0: (True, False),
            1: (False, True),
            2: (True, True),
        }.get(choice, (False, False))  # type: ignore[arg-type]
        assert "by c" in drafts["f.txt"] and drafts["only-a.txt"] == "a\n"
        assert contents(home.folder) == {"f.txt": BASE}
        assert await home.command("drafts", "approve", "--run", run.id, "--step", "b") == 0
        assert set(contents(home.folder)) == {"f.txt"}, "b had no part in the other file"
        assert "by c" in contents(home.folder)["f.txt"]


async def test_w25_an_agent_merges_or_the_run_stops(tmp_path: Path) -> None:
    script = Acting(CLASH)
    merged = json.dumps({"text": "merged\nline 9\n"})

    def answers(view: RequestView) -> Turn:
        return Turn(Text(merged)) if "Merge them" in asked_in(view) else script(view)

    async with engine_home(tmp_path, "anthropic", answers) as home:
        (home.folder / "f.txt").write_text(BASE)
        run = await carry_out(await begin(home, MEETING.replace("HOW", "Reviewer")))
        assert run.end is not None and run.end.state == "done", (run.end, states(run))
        assert (await drafts_of(home, run))["f.txt"] == "merged\nby c\n"
        assert sum(one.tokens for one in run.steps.values() if one.step == MERGE) > 0
        run = await carry_out(await begin(home, MEETING.replace("HOW", "stop")))
        assert run.end is not None and run.end.state == "failed"
        assert run.step("c").reason == "a and b changed f.txt differently."
        shown = (await drafts_of(home, run))["f.txt"]
        assert "by a" in shown and "by b" in shown, "nothing is lost"
        assert contents(home.folder) == {"f.txt": BASE}


async def test_w24_who_gets_a_desk(tmp_path: Path) -> None:
    steps = """\
  - {id: plan, agent: Researcher, prompt: Do R.}
  - {id: a, needs: plan, agent: Coder, prompt: Do A.}
  - {id: b, needs: plan, agent: Coder, prompt: Do B., desk: shared}
  - {id: look, needs: a, agent: Reviewer, prompt: Do L.}
  - {id: alone, needs: [look, b], agent: Coder, prompt: Do S., desk: own}
"""
    script = Acting({f"Do {word}.": [] for word in "RABLS"})
    async with engine_home(tmp_path, "anthropic", script) as home:
        home.engine.settings.values.default_permission_mode = "auto"
        run = await carry_out(await begin(home, workflow(steps)))
        assert {step for step, _ in run.changes} == {"a", "look", "alone"}
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr("studio.processes.desk.MOST_FILES", 0)
            run = await carry_out(await begin(home, workflow(steps)))
        assert run.end is not None and run.end.state == "done", (run.end, states(run))
        assert not run.changes and "0 files" in run.step("a").in_turns


async def test_w23_a_step_goes_on_at_its_desk_after_the_program_ended(tmp_path: Path) -> None:
    calls = {"Do A.": [write("a.txt", "by a\n")], "Do B.": []}
    script, stuck = Acting(calls), asyncio.Event()

    def stops(view: RequestView) -> Turn:
        if any(isinstance(one, Returned) for one in view.items) and not stuck.is_set():
            stuck.set()
            return Turn(Text("Never."), faults=(stall(),))
        return script(view)

    async with engine_home(tmp_path, "anthropic", stops) as home:
        runner = await begin(home, TWO)
        work = asyncio.ensure_future(runner.carry_out())
        async with within():
            await stuck.wait()
        work.cancel()
        await asyncio.wait([work])
        run_id = runner.run.id
    async with engine_home(tmp_path, "anthropic", script) as home:
        run = await carry_out(await go_on(home, run_id))
        assert run.end is not None and run.end.state == "done", (run.end, states(run))
        assert await drafts_of(home, run) == {"a.txt": "by a\n"}
        assert contents(home.folder) == {}


@given(data=st.data())
@settings(max_examples=200)
def test_w25_no_line_of_either_is_lost_unshown(data: st.DataObject) -> None:
    lines = st.lists(st.sampled_from("abcdefgh"), max_size=12)
    base = [f"{one}\n" for one in data.draw(lines)]
    sides = [changed(base, data.draw(st.integers(0, 2**32)), name) for name in ("left", "right")]
    texts = "".join(base), "".join(sides[0]), "".join(sides[1])
    clash = Clash("f", ("1", "2"), ("A", "B"), "id", three_way(*texts), texts)
    assert clash.merge is not None
    shown = clash.marked
    if clash.merge.conflicts:
        assert "<<<<<<< A" in clash.question.detail and ">>>>>>> B" in clash.question.detail
    for side in sides:
        for line in side:
            assert line in base or line in shown, "what one side wrote is in the result, or shown"
    if sides[0] == base or sides[1] == base:
        assert shown == texts[2 if sides[0] == base else 1], "one side alone is taken as it is"


def changed(base: list[str], seed: int, name: str) -> list[str]:
    """The lines with some taken away and others put in."""
    chance, found = random.Random(seed), list[str]()
    for number, line in enumerate(base):
        if chance.random() < 0.2:
            found.append(f"{name} {number}\n")
        if chance.random() < 0.8:
            found.append(line)
    return found


async def test_w30_contents_of_desks_go_thirty_days_after_their_runs(tmp_path: Path) -> None:
    """Those of a run that waits stay, however old it is."""
    script = Acting({f"Do {one}.": [write(f"{one}.txt", f"by {one}\n")] for one in "ABCDE"})
    ended = workflow("  - {id: a, desk: own, agent: Coder, prompt: Do A.}\n")
    waits = workflow(
        "  - {id: b, desk: own, agent: Coder, prompt: Do B.}\n  - {id: ok, needs: b, approve: Go?}\n"
    )
    async with engine_home(tmp_path, "anthropic", script) as home:
        await carry_out(await begin(home, ended))
        run = await carry_out(await begin(home, waits))
        assert run.state == "needs_you"
        store = home.engine.services.desk_contents
        old = time.time() - UNDO_SECONDS - 1
        await home.engine.database.execute("UPDATE runs SET updated = ?", old)
        with closing(sqlite3.connect(store.path)) as db, db:
            db.execute("UPDATE content SET at = ?", (old,))
            db.execute("DELETE FROM collected")
            db.execute("INSERT INTO collected VALUES (?)", (old,))
        await carry_out(await begin(home, ended.replace("Do A.", "Do C.")))
        kept = [store.get(digest_of(f"by {one}\n".encode())) is not None for one in "ABC"]
        assert kept == [False, True, True]
    opened = [os.path.realpath(one) for one in Path("/proc/self/fd").glob("*")]
    assert str(store.path.resolve()) not in opened, "it is closed with the program"
