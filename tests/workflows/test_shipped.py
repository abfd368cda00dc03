"""The workflows that come along run to their end, as people would run them (W-60)."""

from __future__ import annotations

import asyncio
from pathlib import Path

from studio.domain.jsonvalue import Json
from studio.domain.run_events import RunEvent, StepAsked
from studio.simulator import Call, RequestView, Returned, Text, Turn
from studio.tools.memory.note_store import NoteStore, place_of
from studio.tools.memory.notes import Notes
from studio.workflows.runner import Runner
from studio.workflows.workflow_runs import RunOptions, WorkflowRuns
from support.engine_home import EngineHome, engine_home
from support.workflow_home import asked_in, by_words, carry_out, states


async def start(home: EngineHome, name: str, **inputs: Json) -> Runner:
    """A run of a workflow by the name of its file, which the terminal takes, too."""
    runs = WorkflowRuns(home.engine)
    path = await runs.files.locate(name, home.folder)
    assert path.parent == home.engine.paths.resources / "workflows"
    options = RunOptions(inputs, provider=home.provider, model="sim-model")
    return await runs.start(path, home.folder, options)


async def test_w60_research(tmp_path: Path) -> None:
    """The parts side by side, and a report that is written again until it is sound. PRE-38."""
    checks = iter(['{"sound": false, "why": "No source."}', '{"sound": true, "why": "All have."}'])
    reports: list[str] = []

    def script(view: RequestView) -> Turn:
        if "Check this report" in asked_in(view):
            return Turn(Text(next(checks)))
        if "Answer the question" in asked_in(view):
            reports.append(asked_in(view))
        return by_words(
            {
                "Split this question": '{"parts": ["when", "where"]}',
                "Answer this part of a larger question, with sources: when": "In May (a.md:1).",
                "Answer this part of a larger question, with sources: where": "Here (b.md:2).",
                "Answer the question “When?”": "In May, here.",
            }
        )(view)

    async with engine_home(tmp_path, "anthropic", script) as home:
        run = await carry_out(await start(home, "research", question="When?"))
        assert run.end is not None and run.end.state == "done", (run.end, states(run))
        assert run.end.outputs == {"report": "In May, here."}, "and not what its check said"
        assert len(run.step("report").tries) == 2 and run.redone == {"check": 1}
        assert "No source." not in reports[0]
        assert "“Check” sent it back" in reports[1] and "No source." in reports[1]
        assert "Your result was:\nIn May, here." in reports[1]
        assert "In May (a.md:1)." in "".join(map(asked_in_body, home.asked))
        assert not home.simulator.violations


def asked_in_body(asked: object) -> str:
    return str(getattr(asked, "json", ""))


async def test_w60_review(tmp_path: Path) -> None:
    script = by_words(
        {
            "Look for wrong results": "a.py:3 divides by zero.",
            "Look for names": "a.py:1 says nothing.",
            "Put these findings into one": "One fault, one name.",
        }
    )
    async with engine_home(tmp_path, "openai", script) as home:
        run = await carry_out(await start(home, "review"))
        assert run.end is not None and run.end.state == "done", (run.end, states(run))
        assert run.step("report").text == "One fault, one name."
        assert not home.simulator.violations


async def test_w60_release_notes_wait_for_a_yes(tmp_path: Path) -> None:
    """Nothing goes into the file before; then it is a draft, as all that agents write."""

    def script(view: RequestView) -> Turn:
        if "Put these notes at the top" in asked_in(view):
            if any(isinstance(item, Returned) for item in view.items):
                return Turn(Text("Saved."))
            return Turn(Call("write", {"path": "NEWS.md", "content": "You can now wait.\n"}))
        return by_words(
            {
                "Find what changed": '{"changes": [{"what": "waits", "where": "a.py"}]}',
                "Write the notes": "You can now wait.",
                "Check these notes": '{"sound": true, "why": "It is there."}',
            }
        )(view)

    async with engine_home(tmp_path, "gemini", script) as home:
        runner = await start(home, "release-notes", file="NEWS.md")
        asked: list[str] = []

        def answer(event: RunEvent) -> None:
            if isinstance(event, StepAsked):
                asked.append(event.question.text)
                assert runner.run.step("save").state == "waiting"
                answers.append(asyncio.create_task(runner.answer(event.question.id, True)))

        answers: list[asyncio.Task[None]] = []
        run = await carry_out(runner, answer)
        await asyncio.gather(*answers)
        assert run.end is not None and run.end.state == "done", (run.end, states(run))
        assert asked == ["Put these notes into NEWS.md?\n\nYou can now wait."]
        assert not home.simulator.violations


async def test_w60_batch_summary(tmp_path: Path) -> None:
    """A row for each file, also for one that could not be summed up."""
    script = by_words(
        {
            "Read the file a.md.": '{"about": "A", "points": ["one"]}',
            "Read the file b.md.": "No JSON",
            "Write a table into sums.md": "Two rows.",
        }
    )
    async with engine_home(tmp_path, "ollama", script) as home:
        for name in ("a.md", "b.md"):
            (home.folder / name).write_text(f"About {name}\n")
        run = await carry_out(await start(home, "batch-summary", file="sums.md"))
        assert run.end is not None and run.end.state == "done", (run.end, states(run))
        found = states(run)
        assert (found["each/a.md"], found["each/b.md"]) == ("done", "failed")
        assert run.step("table").text == "Two rows."
        assert not home.simulator.violations


async def test_w46_tidy_notes_proposes_and_changes_nothing(tmp_path: Path) -> None:
    """What one note says of another, and that one is forgotten, waits for the person."""
    calls = iter(
        [
            Call("notes_read", {}),
            Call("remember", {"name": "build", "text": "Build with make; it needs 3.11."}),
            Call("remember", {"name": "old-build", "text": ""}),
        ]
    )

    listed: list[str] = []

    def script(view: RequestView) -> Turn:
        call = next(calls, None)
        listed.extend(one.text for one in view.items if isinstance(one, Returned) and not listed)
        return Turn(call) if call is not None else Turn(Text("Two notes say how to build."))

    async with engine_home(tmp_path, "anthropic", script) as home:
        notes = Notes(home.engine.services.notes, home.folder)
        for name, text in (("old-build", "It needs 3.11."), ("build", "Build with make.")):
            notes.remember(name, text)
        run = await carry_out(await start(home, "tidy-notes"))
        assert run.end is not None and run.end.state == "done", (run.end, states(run))
        assert listed[0].index("Build with make.") < listed[0].index("It needs 3.11."), listed
        assert {one.name: one.text for one in notes.all()} == {
            "build": "Build with make.",
            "old-build": "It needs 3.11.",
        }
        store, place = NoteStore(home.engine.services.notes), place_of(home.folder)
        waiting = {one.name: (one.text, one.forgets) for one in store.all(place, "proposed")}
        assert waiting["build"] == ("Build with make; it needs 3.11.", False)
        assert waiting["old-build"][1] and store.waiting() == 2
        assert run.started is not None and run.caps[""].dollars == 0.5
        assert not home.simulator.violations
