"""Desks of a run's steps: what they see, where they meet, and one undo (W-23 to W-26)."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from pathlib import Path

from studio.domain.runs import Run, RunEvent, StepAsked
from studio.simulator import Call, RequestView, Returned, Text, Turn
from studio.workflows.runner import Runner
from support.engine_home import EngineHome, engine_home
from support.workflow_home import asked_in, begin, carry_out, states, workflow

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


def change(path: str, old: str, new: str) -> Call:
    return Call("edit", {"path": path, "old": old, "new": new})


def write(path: str, text: str) -> Call:
    return Call("write", {"path": path, "content": text})


def contents(folder: Path) -> dict[str, str]:
    """What is in the folder, but for the workflow itself."""
    found = (path for path in sorted(folder.rglob("*")) if path.is_file())
    names = ((path.relative_to(folder).as_posix(), path) for path in found)
    return {name: path.read_text() for name, path in names if not name.startswith(".agents")}


def answering(runner: Runner, answer: Callable[[StepAsked], object]) -> Callable[[RunEvent], None]:
    tasks: list[asyncio.Task[None]] = []

    def answered(event: RunEvent) -> None:
        if isinstance(event, StepAsked):
            given = runner.answer(event.question.id, answer(event))  # type: ignore[arg-type]
            tasks.append(asyncio.ensure_future(given))

    return answered


async def drafts_of(home: EngineHome, run: Run) -> dict[str, str]:
    session = await home.engine.sessions.open(run.drafts)
    return {one.path: one.after for one in session.drafts.waiting_files()}


async def test_w23_w26_two_writers_one_file_and_one_undo(tmp_path: Path) -> None:
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
