"""A recorded run is done again without key and network, also from a bundle (W-28, W-29)."""

from __future__ import annotations

import asyncio
import gzip
import json
import socket
from dataclasses import replace
from pathlib import Path

import pytest

from studio.agent.permission.content_filter import parse_kinds
from studio.agent.retry_policy import RetryPolicy
from studio.domain.errors import ConfigurationError
from studio.domain.run_events import ChangedFile, StepChanged, StepFinished
from studio.domain.runs import Run
from studio.simulator import Call, RequestView, Returned, Turn, stall, status
from studio.simulator import Text as Says
from studio.workflows.bundle import RecordedRun, read_bundle, write_bundle
from studio.workflows.live_steps import miss_changes, plan_of_bundle
from studio.workflows.replay import ReplayReport, read_record, replay
from studio.workflows.workflow_runs import WorkflowRuns
from support.engine_home import KEY, PROTOCOLS, EngineHome, engine_home
from support.invoices import invoices
from support.waiting import until
from support.workflow_home import asked_in, begin, by_words, carry_out, states, workflow, write

TEXTS = "{type: object, properties: {parts: {type: array, items: {type: string}}}}"
TEAM = workflow(
    f"""\
  - {{id: plan, agent: Researcher, prompt: "Plan it for ${{{{ inputs.who }}}}.", outputs: {TEXTS}}}
  - id: each
    for_each: steps.plan.outputs.parts
    agent: Writer
    prompt: "Write about ${{{{ item }}}}."
  - {{id: look, agent: Reviewer, needs: plan, prompt: Look into the file.}}
  - {{id: kept, set: {{count: "${{{{ len(steps.each.text) }}}}"}}}}
  - {{id: good, check: steps.kept.outputs.count == 2}}
  - id: sum
    agent: Coder
    needs: [good, look]
    prompt: "Sum up: ${{{{ join(steps.each.text) }}}}"
""",
    "inputs: {who: {type: string, default: you}}\noutputs: {all: '${{ steps.sum.text }}'}\n",
)
MAIL, PLANTED = "ada@example.org", "sk-planted-0123456789"


class Team:
    """Answers each of the four agents; one reads a file, and one is refused once."""

    def __init__(self, said: str = "It says hi.") -> None:
        self.said, self.refused = said, False

    def __call__(self, view: RequestView) -> Turn:
        said = asked_in(view)
        if "Plan it" in said:
            return Turn(Says('{"parts": ["tea", "milk"]}'))
        if "Look into" in said:
            read = any(MAIL in str(item) or "hi there" in str(item) for item in view.items)
            return Turn(Says(self.said)) if read else Turn(Call("read", {"path": "a.txt"}))
        if "Sum up" in said and not self.refused:
            self.refused = True
            return Turn(faults=[status(529)])
        return Turn(Says("Summed up." if "Sum up" in said else "Some words."))


async def recorded(home: EngineHome, **inputs: str) -> tuple[Run, RecordedRun]:
    (home.folder / "a.txt").write_text(f"hi there, key {PLANTED}\n")
    run = await carry_out(await begin(home, TEAM, **inputs))
    assert run.state == "done", (states(run), run.reason)
    return run, await read_record(home.engine, run.id)


def forbid_network(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: object, **__: object) -> None:
        raise AssertionError("a replay opened a connection")

    monkeypatch.setattr(socket.socket, "connect", refuse)
    monkeypatch.setattr(socket.socket, "connect_ex", refuse)
    monkeypatch.setattr(socket, "getaddrinfo", refuse)
    for name in ("ANTHROPIC_API_KEY", "OPENAI_API_KEY", "GEMINI_API_KEY"):
        monkeypatch.delenv(name, raising=False)


def same(report: ReplayReport) -> bool:
    return report.difference is None and report.taken == []


@pytest.mark.parametrize("provider", PROTOCOLS)
async def test_w28_a_team_is_replayed_without_key_and_network(
    tmp_path: Path, provider: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """PRE-37."""
    patience = RetryPolicy(attempts=3, base=0.0)
    async with engine_home(tmp_path, provider, Team(), patience=patience) as home:
        run, record = await recorded(home)
    forbid_network(monkeypatch)
    report = await replay(record)
    assert same(report), report
    assert report.requests == 7 and report.steps == 7
    bundle = read_bundle(write_bundle(record, [KEY, PLANTED], []))
    assert same(await replay(bundle)), "a bundle comes to the same"
    assert Run(bundle.events).end == run.end


async def test_w28_a_request_that_differs_stops_with_the_diff(tmp_path: Path) -> None:
    async with engine_home(tmp_path, "anthropic", Team(), patience=RetryPolicy(3, 0.0)) as home:
        _, record = await recorded(home)
    one, *others = record.sessions
    epoch = replace(one.epochs[0], system=one.epochs[0].system + " Be brief.")
    other = replace(record, sessions=(replace(one, epochs=(epoch,)), *others))
    found = (await replay(other)).difference
    assert found is not None and (found.step, found.what) == ("plan", "A request differs.")
    assert any(line.startswith("+") and "Be brief." in line for line in found.lines)


async def test_w28_prompts_answers_and_decisions_are_compared(tmp_path: Path) -> None:
    async with engine_home(tmp_path, "openai", Team(), patience=RetryPolicy(3, 0.0)) as home:
        _, record = await recorded(home)

    async def differs(other: RecordedRun) -> tuple[str, str]:
        found = (await replay(other)).difference
        assert found is not None
        return found.step, found.what

    text = record.workflow.replace("Write about", "Speak of")
    assert await differs(replace(record, workflow=text)) == ("each", "The prompt differs.")
    text = record.workflow.replace("count == 2", "count == 3")
    assert await differs(replace(record, workflow=text)) == ("good", "The check differs.")
    text = record.workflow.replace("all: '", "every: '")
    step, what = await differs(replace(record, workflow=text))
    assert (step, what) == ("", "The plan decided something else.")
    bodies = [
        replace(
            one,
            exchanges=tuple(
                replace(
                    part,
                    exchange=replace(
                        part.exchange, body=part.exchange.body.replace(b"Summed", b"Sunned")
                    ),
                )
                for part in one.exchanges
            ),
        )
        for one in record.sessions
    ]
    step, what = await differs(replace(record, sessions=tuple(bodies)))
    assert step == "sum" and what.endswith("differs.")
    events = tuple(
        (at, replace(one, text="Else.") if isinstance(one, StepFinished) and one.text else one)
        for at, one in record.events
    )
    assert (await differs(replace(record, events=events)))[1] == "The text differs."


INNER = workflow(
    """\
  - {id: write, agent: Writer, prompt: "Write ${{ inputs.count }} lines about ${{ inputs.what }}."}
  - {id: long, set: {lines: "${{ inputs.count + 1 }}"}}
""",
    "inputs: {what: {type: string}, count: {type: integer}}\n"
    "outputs: {text: '${{ steps.write.text }}', lines: '${{ steps.long.outputs.lines }}'}\n",
)
MIDDLE = workflow(
    "  - {id: deep, workflow: inner, inputs: {what: '${{ inputs.what }}', count: '2'}}\n",
    "inputs: {what: {type: string}}\noutputs: {text: '${{ steps.deep.outputs.text }}'}\n",
)
NESTED = workflow(
    """\
  - {id: middle, for_each: [tea, milk], workflow: middle, inputs: {what: "${{ item }}"}}
  - {id: sum, agent: Coder, prompt: "Sum up: ${{ join(steps.middle.text) }}"}
""",
)


async def nested(home: EngineHome) -> tuple[Run, RecordedRun]:
    write(home.folder, "inner", INNER)
    write(home.folder, "middle", MIDDLE)
    run = await carry_out(await begin(home, NESTED))
    assert run.state == "done", (states(run), run.reason)
    return run, await read_record(home.engine, run.id)


async def test_w28_w29_runs_below_are_replayed_also_from_a_bundle(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What differs there is told with the way to it; an older bundle has none of them."""

    def script(view: RequestView) -> Turn:
        return Turn(Says("All." if "Sum up" in asked_in(view) else "Some words."))

    async with engine_home(tmp_path, "anthropic", script) as home:
        run, record = await nested(home)
    forbid_network(monkeypatch)
    data = write_bundle(record, [KEY], [])
    for one in (record, read_bundle(data)):
        report = await replay(one)
        assert same(report), report
        assert (report.requests, report.steps) == (3, 9)
    assert Run(read_bundle(data).events).end == run.end

    async def differs(changed: str) -> tuple[str, str]:
        assert changed != gzip.decompress(data).decode()
        found = (await replay(read_bundle(gzip.compress(changed.encode())))).difference
        assert found is not None and found.step == "middle" and found.lines
        return found.item, found.what

    text = gzip.decompress(data).decode()
    item = next(iter(run.items["middle"]))
    what = "deep: write: The prompt differs."
    assert await differs(text.replace("lines about", "words about", 1)) == (item, what)
    what = "deep: What the workflow is given differs."
    assert await differs(text.replace("count: '2'", "count: '3'", 1)) == (item, what)
    (middle, other), ((inner,), _) = record.below, [one.below for one in record.below]
    lost = replace(inner, sessions=tuple(replace(one, exchanges=()) for one in inner.sessions))
    gap = replace(record, below=(replace(middle, below=(lost,)), other))
    why = "deep: write: Nothing of its exchanges is recorded."
    assert (await replay(gap, fill=True)).missing == {("middle", item): why}
    whole = json.loads(text)
    del whole["below"]
    report = await replay(read_bundle(gzip.compress(json.dumps(whole).encode())))
    assert report.difference is None
    assert report.taken == ["middle: what came of it is taken from the record."] * 2


async def test_w28_what_was_read_of_the_folder_for_a_prompt_is_no_difference(
    tmp_path: Path,
) -> None:
    """Files that an expression found are in no record, also where they are its items."""
    steps = """\
  - {id: each, for_each: "${{ files('*.md') }}", agent: Writer, prompt: "Write about ${{ item }}."}
  - id: sum
    agent: Coder
    prompt: "Sum up ${{ join(files('*.md')) }}: ${{ join(steps.each.text) }}"
"""
    script = by_words({"Write about": "Words.", "Sum up a.md, b.md: Words., Words.": "All."})
    async with engine_home(tmp_path, "openai", script) as home:
        for name in ("a.md", "b.md"):
            (home.folder / name).write_text(name)
        run = await carry_out(await begin(home, workflow(steps)))
        assert run.state == "done", (states(run), run.reason)
        report = await replay(await read_record(home.engine, run.id))
    assert report.difference is None, report.difference
    assert (report.requests, report.steps) == (3, 3)
    assert [one.partition(":")[0] for one in report.taken] == ["each", "sum"]


async def test_w29_no_key_and_no_masked_value_is_in_a_bundle(tmp_path: Path) -> None:
    """Also where the model repeats them: its answers stream them in pieces."""
    team = Team(f"Write to {MAIL} with {PLANTED}.")
    async with engine_home(tmp_path, "anthropic", team, patience=RetryPolicy(3, 0.0)) as home:
        _, record = await recorded(home, who=MAIL)
    data = write_bundle(record, [KEY, PLANTED], parse_kinds(["email"]))
    text = gzip.decompress(data).decode()
    for value in (KEY, PLANTED, MAIL):
        assert value not in text
    assert '"sk-' not in text and "example.org" not in text
    report = await replay(read_bundle(data))
    assert report.difference is None, report.difference


async def test_w29_damaged_foreign_and_hostile_bundles_give_clear_errors(tmp_path: Path) -> None:
    async with engine_home(tmp_path, "ollama", Team(), patience=RetryPolicy(3, 0.0)) as home:
        _, record = await recorded(home)
    data = write_bundle(record, [], [])
    bomb = gzip.compress(b" " * 600_000_000, 1)
    whole = json.loads(gzip.decompress(data))
    cases = {
        "damaged: its end is missing": data[:-40],
        "no bundle of a run": b"PK\x03\x04 a zip",
        "more than 512,000,000 bytes": bomb,
        "has no JSON": gzip.compress(b"[[["),
        "This is no bundle": gzip.compress(b'{"format": "x"}'),
        "of version 2": gzip.compress(json.dumps({**whole, "version": 2}).encode()),
        "bundle is damaged": gzip.compress(json.dumps({**whole, "sessions": [{}]}).encode()),
        "is damaged: unknown event": gzip.compress(
            json.dumps({**whole, "events": [{"at": 1, "event": "rm"}]}).encode()
        ),
    }
    for words, bad in cases.items():
        with pytest.raises(ConfigurationError, match=words):
            read_bundle(bad)


async def test_w69_a_run_is_exported_and_replayed_as_a_test(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    async with engine_home(tmp_path, "gemini", Team(), patience=RetryPolicy(3, 0.0)) as home:
        home.engine.settings.values.mask = ["email"]
        run, _ = await recorded(home, who=MAIL)
        file = tmp_path / "story.studio-run"
        assert await home.command("workflow", "export", run.id[:8], "-o", str(file)) == 0
        assert "Story, run 1, is in" in capsys.readouterr().err
        text = gzip.decompress(file.read_bytes()).decode()
        assert MAIL not in text and KEY not in text
        assert await home.command("workflow", "replay", run.id[:8]) == 0
        assert capsys.readouterr().out == "The same: 7 steps, 7 requests.\n"
        assert await home.command("workflow", "replay", "--check", str(file)) == 0
        assert capsys.readouterr().out == ""
        file.write_bytes(gzip.compress(text.replace("Summed up.", "Done.", 1).encode()))
        assert await home.command("workflow", "replay", "--check", str(file)) == 1
        assert "differs." in capsys.readouterr().out
        file.write_bytes(b"nothing")
        assert await home.command("workflow", "replay", "--check", str(file)) == 1
        assert "no bundle of a run" in capsys.readouterr().err


async def test_w28_items_that_are_done_are_not_run_again_to_fill_a_stopped_run(
    tmp_path: Path,
) -> None:
    asked: list[str] = []
    stalls = [1]

    def script(view: RequestView) -> Turn:
        asked.append(asked_in(view).partition("Write about ")[2])
        if stalls and asked[-1] == "1.":
            return Turn(Says("No."), faults=[stall()])
        return Turn(Says("Some words."))

    text = workflow(
        """\
  - id: each
    for_each: ${{ rows("invoices.jsonl") }}
    max_parallel: 1
    agent: Reader
    prompt: "Write about ${{ item.number }}."
  - {id: sum, agent: Reader, needs: each, prompt: Sum up}
"""
    )
    async with engine_home(tmp_path, "anthropic", script) as home:
        invoices(home, 3)
        work = asyncio.create_task(carry_out(runner := await begin(home, text)))
        await until(lambda: any(one.stalled.is_set() for one in home.simulator.requests))
        await runner.stop()
        run = await work
        assert run.state == "stopped", run.reason
        assert asked == ["0.", "1."]
        stalls.clear()
        asked.clear()
        assert await home.command("workflow", "replay", "--fill", run.id[:8]) == 0
        assert asked == ["1.", "2.", ""], "what was not done, and what needs it"


async def test_w28_steps_without_a_record_run_live_and_are_recorded(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    async with engine_home(tmp_path, "anthropic", Team(), patience=RetryPolicy(3, 0.0)) as home:
        run, _ = await recorded(home)
        milk = next(key for key, value in run.items["each"].items() if value == "milk")
        last = run.step("each", milk).last
        assert last is not None
        await home.engine.services.exchanges.delete(last.session_id)
        before = len(home.asked)
        assert await home.command("workflow", "replay", "--fill", run.id[:8]) == 0
        told = capsys.readouterr()
        assert told.out.startswith(f"To run live: each, {milk}: Nothing of its exchanges is")
        assert "each, 1 of its items" in told.err and "Taken over: plan, look" in told.err
        assert len(home.asked) - before == 2, "one item and what needs it were asked, no more"
        listed = await WorkflowRuns(home.engine).store.list(2)
        filled = next(one for one in listed if one.id != run.id)
        assert await home.command("workflow", "replay", filled.id) == 0
        assert "The same:" in capsys.readouterr().out
        before = len(home.asked)
        assert await home.command("workflow", "replay", "--fill", filled.id) == 0
        assert len(home.asked) == before, "a whole record needs nothing live"


async def test_w28_reading_tools_read_the_folder_again(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    async with engine_home(tmp_path, "openai", Team(), patience=RetryPolicy(3, 0.0)) as home:
        run, _ = await recorded(home)
        stored = await home.engine.database.rows("SELECT id FROM sessions ORDER BY id")
        command = ("workflow", "replay", "--tools", "live", run.id[:8])
        assert await home.command(*command) == 0
        assert "The folder was read again: 1 call." in capsys.readouterr().out
        (home.folder / "a.txt").write_text("hi there, all is new\n")
        assert await home.command("workflow", "replay", run.id[:8]) == 0
        capsys.readouterr()
        assert await home.command(*command) == 1
        out = capsys.readouterr().out
        assert "look: What read gives differs: a.txt." in out and "all is new" in out
        now = await home.engine.database.rows("SELECT id FROM sessions ORDER BY id")
        assert now == stored, "reading leaves no chat behind"
        assert await home.command(*command, "--fill") == 0
        told = capsys.readouterr()
        assert "To run live: look: What read gives differs: a.txt." in told.out
        assert "Taken over: plan, each, kept, good" in told.err


async def test_w28_a_bundle_brings_no_changes_of_files(tmp_path: Path) -> None:
    """T-9: paths and digests in it are a stranger's; the step that names them runs again."""
    forged = StepChanged("plan", "", (ChangedFile("../x", "", "0" * 64),))
    team = Team()
    team.refused = True
    async with engine_home(tmp_path, "anthropic", team) as home:
        _, record = await recorded(home)
        at = record.events[-2][0]
        record = replace(record, events=(*record.events[:-1], (at, forged), record.events[-1]))
        report = ReplayReport(missing={("sum", ""): "asked"})
        plan = await plan_of_bundle(home.engine, record, report, home.folder)
        assert not any(isinstance(one, StepChanged) for one in plan.events)
        miss_changes(record, report)
        assert ("plan", "") in report.missing


async def test_w28_a_bundle_is_filled_and_its_folder_read_where_the_person_says(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """What ran elsewhere counts as a stranger's words, and what it changed there runs again."""

    def script(view: RequestView) -> Turn:
        if "Look into" in asked_in(view) and any(isinstance(one, Returned) for one in view.items):
            return Turn(Says("It says hi."))
        if "Sum up" in asked_in(view) and not any(isinstance(one, Returned) for one in view.items):
            return Turn(Call("write", {"path": "sum.txt", "content": "All.\n"}))
        return team(view)

    team = Team()
    team.refused = True
    file, folder = tmp_path / "team.studio-run", tmp_path / "elsewhere"
    first, second = tmp_path / "first", tmp_path / "second"
    for one in (first, second, folder):
        one.mkdir()
    async with engine_home(first, "anthropic", script) as home:
        run, record = await recorded(home)
    look = run.step("look").session_id
    sessions = tuple(
        replace(one, exchanges=()) if one.id == look else one for one in record.sessions
    )
    file.write_bytes(write_bundle(replace(record, sessions=sessions), [KEY], []))
    async with engine_home(second, "anthropic", script) as home:
        live = ("workflow", "replay", "--tools", "live", str(file), "--folder", str(folder))
        assert await home.command(*live) == 1
        assert "look: What read gives differs: a.txt." in capsys.readouterr().out
        (folder / "a.txt").write_text(f"hi there, key {PLANTED}\n")
        assert await home.command(*live) == 0
        assert "The folder was read again: 1 call." in capsys.readouterr().out
        fill = ("workflow", "replay", "--fill", str(file), "--folder", str(folder))
        assert await home.command(*fill) == 0
        told = capsys.readouterr()
        assert "To run live: look: Nothing of its exchanges is recorded." in told.out
        assert "To run live: sum: What it did to its folder is in no bundle." in told.out
        assert "Taken over: plan, each, kept, good" in told.err
        (info,) = await WorkflowRuns(home.engine).store.list()
        filled = await WorkflowRuns(home.engine).read(info.id)
        assert filled.started is not None and filled.started.folder == str(folder)
        assert filled.started.forked_from == run.id and filled.end == run.end
        plan = filled.step("plan").last
        assert plan is not None and "untrusted" in {one.exposure for one in plan.exposed}
        last = await home.engine.sessions.open(filled.step("sum").session_id)
        assert "untrusted" in last.transcript.exposed
        assert await home.command("workflow", "replay", info.id) == 0
        assert await home.command("workflow", "replay", info.id, "--folder", str(folder)) == 1
        assert "--folder is for an exported one" in capsys.readouterr().err
        assert not home.simulator.violations


@pytest.mark.parametrize("provider", PROTOCOLS)
async def test_w28_a_bundle_is_filled_request_by_request(
    tmp_path: Path, provider: str, capsys: pytest.CaptureFixture[str]
) -> None:
    """A step goes on before its first request without a record; the answers before it are not
    asked for again, and the model is told them with their results."""

    views: list[RequestView] = []

    def script(view: RequestView) -> Turn:
        if "Sum up" in asked_in(view):
            return Turn(Says("All."))
        views.append(view)
        found = [str(one) for one in view.items if isinstance(one, Returned)]
        if len(found) == 2:
            return Turn(Says("Both say hi."))
        return Turn(Call("read", {"path": ("a.txt", "b.txt")[len(found)]}))

    steps = """\
  - {id: look, agent: Reviewer, prompt: Look into the files.}
  - {id: sum, agent: Coder, prompt: "Sum up: ${{ steps.look.text }}"}
"""
    file, folder = tmp_path / "story.studio-run", tmp_path / "elsewhere"
    first, second = tmp_path / "first", tmp_path / "second"
    for one in (first, second, folder):
        one.mkdir()
    async with engine_home(first, provider, script) as home:
        for name in ("a.txt", "b.txt"):
            (home.folder / name).write_text(f"hi from {name}\n")
        run = await carry_out(await begin(home, workflow(steps)))
        assert run.state == "done", (states(run), run.reason)
        record = await read_record(home.engine, run.id)
    look = next(one for one in record.sessions if one.id == run.step("look").session_id)
    replies = [one for one in look.exchanges if one.exchange.method == "POST"]
    gone = [one for one in replies if not one.exchange.path.endswith("/api/show")][1]
    gap = replace(look, exchanges=tuple(one for one in look.exchanges if one is not gone))
    sessions = tuple(gap if one is look else one for one in record.sessions)
    file.write_bytes(write_bundle(replace(record, sessions=sessions), [KEY], []))
    async with engine_home(second, provider, script) as home:
        (folder / "b.txt").write_text("hi from b.txt\n")
        views.clear()
        fill = ("workflow", "replay", "--fill", str(file), "--folder", str(folder))
        assert await home.command(*fill) == 0
        told = capsys.readouterr()
        assert "To run live: look: The log differs." in told.out
        assert "look, after 1 answer of the record" in told.err
        assert [sum(isinstance(x, Returned) for x in one.items) for one in views] == [1, 2]
        assert "hi from a.txt" in str(views[0].items), "what it read then"
        (info,) = await WorkflowRuns(home.engine).store.list()
        filled = await WorkflowRuns(home.engine).read(info.id)
        assert filled.end == run.end and filled.step("look").text == "Both say hi."
        session = await home.engine.sessions.open(filled.step("look").session_id)
        assert "untrusted" in session.transcript.exposed
        assert await home.command("workflow", "replay", info.id) == 0
        assert "The same:" in capsys.readouterr().out
        assert not home.simulator.violations


async def test_w28_a_change_before_the_gap_is_made_again(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """A bundle has no changes of files, so the step goes on before its first."""

    def script(view: RequestView) -> Turn:
        found = [str(one) for one in view.items if isinstance(one, Returned)]
        if not found:
            return Turn(Call("read", {"path": "a.txt"}))
        if len(found) == 1:
            return Turn(Call("write", {"path": "b.txt", "content": "Hi.\n"}))
        return Turn(Says("Written."))

    file, folder = tmp_path / "story.studio-run", tmp_path / "elsewhere"
    first, second = tmp_path / "first", tmp_path / "second"
    for one in (first, second, folder):
        one.mkdir()
    async with engine_home(first, "anthropic", script) as home:
        (home.folder / "a.txt").write_text("hi\n")
        text = workflow("  - {id: make, agent: Coder, prompt: Make a file.}\n")
        run = await carry_out(await begin(home, text))
        assert run.state == "done", (states(run), run.reason)
        record = await read_record(home.engine, run.id)
    (made,) = record.sessions
    gap = replace(made, exchanges=made.exchanges[:-1])
    file.write_bytes(write_bundle(replace(record, sessions=(gap,)), [KEY], []))
    async with engine_home(second, "anthropic", script) as home:
        fill = ("workflow", "replay", "--fill", str(file), "--folder", str(folder))
        assert await home.command(*fill) == 0
        assert "make, after 1 answer of the record" in capsys.readouterr().err
        assert len(home.asked) == 2
        (info,) = await WorkflowRuns(home.engine).store.list()
        filled = await WorkflowRuns(home.engine).read(info.id)
        session = await home.engine.sessions.open(filled.step("make").session_id)
        (draft,) = session.transcript.drafts
        assert (session.info.folder, draft.path) == (str(folder), "b.txt")


LOOKS = workflow(
    """\
  - {id: first, agent: Writer, prompt: "Begin with ${{ inputs.what }}."}
  - {id: look, agent: Reviewer, needs: first, prompt: "Look into ${{ inputs.what }}."}
""",
    "inputs: {what: {type: string}}\n"
    "outputs: {text: '${{ steps.first.text }} ${{ steps.look.text }}'}\n",
)
TWICE = workflow(
    "  - {id: deep, workflow: looks, inputs: {what: '${{ inputs.what }}'}}\n",
    "inputs: {what: {type: string}}\noutputs: {text: '${{ steps.deep.outputs.text }}'}\n",
)
DEEP = workflow(
    """\
  - {id: middle, for_each: [tea, milk], workflow: twice, inputs: {what: "${{ item }}"}}
  - {id: alone, workflow: looks, inputs: {what: rice}}
  - {id: sum, agent: Coder, prompt: "Sum up: ${{ join(steps.middle.text) }}"}
""",
)


@pytest.mark.parametrize("provider", PROTOCOLS)
async def test_w28_a_run_below_is_filled_from_its_own_record(
    tmp_path: Path, provider: str, capsys: pytest.CaptureFixture[str]
) -> None:
    """At any depth, of a stored run and of a bundle: no request that is in the record is sent."""
    views: list[RequestView] = []

    def script(view: RequestView) -> Turn:
        views.append(view)
        asked = asked_in(view)
        if "Look into" not in asked:
            return Turn(Says("All." if "Sum up" in asked else "Words."))
        found = [one for one in view.items if isinstance(one, Returned)]
        if len(found) == 2:
            return Turn(Says("Both say hi."))
        return Turn(Call("read", {"path": ("a.txt", "b.txt")[len(found)]}))

    def sent() -> list[tuple[str, int]]:
        """What was asked since, and after how many results."""
        known = ("Look into tea", "Sum up")
        found = [
            (next((words for words in known if words in asked_in(one)), "another"), results)
            for one in views
            for results in [sum(isinstance(part, Returned) for part in one.items)]
        ]
        views.clear()
        return sorted(found)

    first, second = tmp_path / "first", tmp_path / "second"
    for place in (first, second):
        (place / "work").mkdir(parents=True)
        for name in ("a.txt", "b.txt"):
            (place / "work" / name).write_text(f"hi from {name}\n")
    wanted = [("Look into tea", 1), ("Look into tea", 2), ("Sum up", 0)]
    async with engine_home(first, provider, script) as home:
        write(home.folder, "looks", LOOKS)
        write(home.folder, "twice", TWICE)
        run = await carry_out(await begin(home, DEEP))
        assert run.state == "done", (states(run), run.reason)
        record = await read_record(home.engine, run.id)
        assert len(sent()) == 3 * 4 + 1
        tea = next(key for key, value in run.items["middle"].items() if value == "tea")
        below = run.step("middle", tea).run_id
        middle = next(one for one in record.below if Run(one.events).id == below)
        (deep,) = middle.below
        (_, look) = deep.sessions
        replies = [one for one in look.exchanges if one.exchange.method == "POST"]
        gone = [one for one in replies if not one.exchange.path.endswith("/api/show")][1]

        def without(one: RecordedRun) -> RecordedRun:
            """The record without one exchange of the run two below."""
            kept = tuple(part for part in look.exchanges if part is not gone)
            sessions = tuple(
                replace(x, exchanges=kept) if x.id == look.id else x for x in one.sessions
            )
            return replace(one, sessions=sessions, below=tuple(map(without, one.below)))

        bundle = tmp_path / "deep.studio-run"
        bundle.write_bytes(write_bundle(without(record), [KEY], []))
        query = "DELETE FROM exchanges WHERE session_id = ? AND chain = ?"
        chains = [one.chain for one in await home.engine.services.exchanges.of(look.id)]
        assert await home.engine.database.execute(
            query, look.id, chains[look.exchanges.index(gone)]
        )
        assert await home.command("workflow", "replay", "--fill", run.id[:8]) == 0
        told = capsys.readouterr()
        lines = [line.split(", last")[0] for line in told.err.splitlines()]
        assert lines[1:5] == [
            "  middle, 1 of its items",
            "    deep",
            "      look, after 1 answer of the record",
            "  sum",
        ]
        assert sent() == wanted
        (filled, *_) = await WorkflowRuns(home.engine).store.list(1)
        now = await WorkflowRuns(home.engine).read(filled.id)
        assert now.id != run.id and now.end == run.end and now.started is not None
        child = await WorkflowRuns(home.engine).read(now.step("middle", tea).run_id)
        assert child.started is not None and child.started.parent == now.id
        assert child.started.forked_from == below
        assert await home.command("workflow", "replay", now.id) == 0
        assert "The same:" in capsys.readouterr().out
        assert not home.simulator.violations
    async with engine_home(second, provider, script) as home:
        fill = ("workflow", "replay", "--fill", str(bundle), "--folder", str(home.folder))
        assert await home.command(*fill) == 0
        assert sent() == wanted
        (info,) = await WorkflowRuns(home.engine).store.list()
        now = await WorkflowRuns(home.engine).read(info.id)
        assert now.end == run.end
        child = await WorkflowRuns(home.engine).read(now.step("middle", tea).run_id)
        last = child.step("deep").last
        assert last is not None and "untrusted" in {one.exposure for one in last.exposed}


async def test_w28_what_a_run_below_changed_is_kept_or_made_again(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """A stored run has it on its desk; a bundle has no changes, so the step runs again."""
    views: list[RequestView] = []

    def script(view: RequestView) -> Turn:
        views.append(view)
        if "Look into" in asked_in(view):
            return Turn(Says("It says hi."))
        if any(isinstance(one, Returned) for one in view.items):
            return Turn(Says("Written."))
        return Turn(Call("write", {"path": "b.txt", "content": "Hi.\n"}))

    inner = workflow(
        """\
  - {id: make, agent: Coder, desk: own, prompt: Make a file.}
  - {id: look, agent: Coder, needs: make, prompt: Look into it.}
"""
    )
    file, folder = tmp_path / "story.studio-run", tmp_path / "elsewhere"
    folder.mkdir()
    async with engine_home(tmp_path, "anthropic", script) as home:
        write(home.folder, "inner", inner)
        run = await carry_out(await begin(home, workflow("  - {id: part, workflow: inner}\n")))
        assert run.state == "done", (states(run), run.reason)
        record = await read_record(home.engine, run.id)
        (below,) = record.below
        look = Run(below.events).step("look").session_id
        kept = tuple(replace(x, exchanges=()) if x.id == look else x for x in below.sessions)
        gap = replace(record, below=(replace(below, sessions=kept),))
        file.write_bytes(write_bundle(gap, [KEY], []))
        await home.engine.services.exchanges.delete(look)
        views.clear()
        assert await home.command("workflow", "replay", "--fill", run.id[:8]) == 0
        assert ["Look into" in asked_in(one) for one in views] == [True]
        runs = WorkflowRuns(home.engine)
        filled = await runs.read((await runs.store.list(1))[0].id)
        child = await runs.read(filled.step("part").run_id)
        changed = [one.path for found in child.changes.values() for one in found.files]
        assert changed == ["b.txt"], "what the step that did not run again changed"
        views.clear()
        fill = ("workflow", "replay", "--fill", str(file), "--folder", str(folder))
        assert await home.command(*fill) == 0
        assert ["Look into" in asked_in(one) for one in views] == [False, False, True]
        filled = await runs.read((await runs.store.list(1))[0].id)
        child = await runs.read(filled.step("part").run_id)
        assert child.started is not None and child.started.folder == str(folder)
