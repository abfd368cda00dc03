"""The runner of ``benchmarks/agent``: isolation, ends, going on, money and the report (C-27)."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from benchmarks.agent.__main__ import measure, read_lines
from benchmarks.agent.report import pass_at_1, report
from benchmarks.agent.scripted import ScriptedModels
from benchmarks.agent.task import TASKS, Task, read_task
from benchmarks.agent.trial import Answerer, NoAnswer, run_trial
from studio.domain.agents import NO_CAPS, Caps
from studio.processes.keeper import Keeper
from studio.processes.sandbox import Sandbox, find_sandbox
from studio.simulator import Call, RequestView, Simulator, Text, Turn, Usage, stall
from support.engine_home import KEY
from support.fork_server import forkable, start_python
from support.waiting import FOREVER, until

TASK = read_task(TASKS / "fault-last-page.md")
OTHER = read_task(TASKS / "reading-find-fact.md")
WHO = Answerer("openai-compatible", "m")
Answer = Callable[[RequestView], Turn]


@pytest.fixture(scope="module")
def sandbox() -> Iterator[Sandbox]:
    keeper = Keeper()
    found = find_sandbox(keeper)
    yield found
    found.close()
    keeper.close()


class _Provider:
    """A simulator whose answer a test sets."""

    answer: Answer

    def __init__(self) -> None:
        self.requests = 0

    def __call__(self, request: RequestView) -> Turn:
        self.requests += 1
        return self.answer(request)


@pytest.fixture
async def provider(monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[_Provider]:
    found = _Provider()
    async with Simulator(found, pace=False) as simulator:
        forkable(monkeypatch)
        monkeypatch.setenv("OPENAI_BASE_URL", simulator.url("chat"))
        monkeypatch.setenv("OPENAI_API_KEY", KEY)
        yield found
        assert not simulator.violations


async def test_an_agent_cannot_read_checks_other_trials_or_the_program_s_data(
    provider: _Provider, sandbox: Sandbox, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """C-27: neither by commands nor by the tools that read.

    The tests' own folders may lie where no command sees anything, so a folder of the system
    stands for that of the tasks.
    """
    if sandbox.kind == "none":
        pytest.skip(f"no sandbox here: {sandbox.reason}")
    monkeypatch.setattr("benchmarks.agent.trial.TASKS", Path("/usr/share"))
    other = tmp_path / "fault-last-page-1"
    other.mkdir()
    (other / "work.txt").write_text("of another trial")
    look = f"cat {other}/work.txt; ls ../home /tmp; true"
    provider.answer = lambda request: (
        Turn(
            Call("run", {"command": "ls /usr/share | wc -l"}),
            Call("run", {"command": look}),
            Call("read", {"path": str(other / "work.txt")}),
            Call("search", {"pattern": "another", "path": str(tmp_path)}),
        )
        if not request.results
        else Turn(Text("Done."))
    )
    line = await run_trial(TASK, 2, WHO, tmp_path, sandbox, start=start_python)
    events = (tmp_path / line["run"] / "events.jsonl").read_text()
    told = [json.loads(row) for row in events.splitlines()]
    results = [event["text"] for event in told if event["event"] == "tool_finished"]
    assert "0" in [text.strip() for text in results], results
    seen = "".join(results)
    assert "of another trial" not in seen and "studio.db" not in seen
    assert line["errors"] >= 2 and not line["passed"]


async def test_a_hung_trial_ends_and_is_told(
    provider: _Provider, sandbox: Sandbox, tmp_path: Path
) -> None:
    """C-27: what it did until then is kept for reading."""
    answered = asyncio.Event()

    def answer(request: RequestView) -> Turn:
        if not request.results:
            return Turn(Text("I look."), Call("read", {"path": "pages.py"}))
        answered.set()
        return Turn(Text("…"), faults=[stall("headers", None)])

    provider.answer = answer

    async def start(*arguments: str, **given: Any) -> asyncio.subprocess.Process:
        process = await start_python(*arguments, **given)
        await answered.wait()  # the time of the trial begins when it hangs
        return process

    task = replace(TASK, seconds=0.2)
    # The program's own limit would end it before its time begins, on a busy computer.
    limits = {f"{mode}_seconds": FOREVER for mode in ("inline", "background", "long")}
    who = replace(WHO, settings=limits)
    line = await run_trial(task, 1, who, tmp_path, sandbox, start=start)
    assert (line["end"], line["passed"]) == ("hung", False)
    assert "pages.py" in (tmp_path / line["run"] / "events.jsonl").read_text()


async def test_what_a_killed_trial_used_counts(
    provider: _Provider, sandbox: Sandbox, tmp_path: Path
) -> None:
    """C-27: with the steps that it told of until then, so that a budget bounds it, too."""
    answered = asyncio.Event()

    def answer(request: RequestView) -> Turn:
        if not request.results:
            return Turn(Call("read", {"path": "pages.py"}), usage=Usage(inp=4_000, out=100))
        answered.set()
        return Turn(Text("…"), faults=[stall("headers", None)])

    provider.answer = answer

    async def start(*arguments: str, **given: Any) -> asyncio.subprocess.Process:
        process = await start_python(*arguments, **given)
        await answered.wait()
        told = given["folder"].parent / "events.jsonl"
        await until(lambda: told.read_text().count('"step_started"') == 2)
        process.kill()
        return process

    line = await run_trial(TASK, 1, WHO, tmp_path, sandbox, start=start)
    assert (line["end"], line["passed"], line["steps"]) == ("no end", False, 2)
    assert (line["input"], line["output"], line["dollars"]) == (4_000, 100, None)


async def test_a_second_start_goes_on_and_a_stopped_trial_leaves_no_line(
    provider: _Provider, sandbox: Sandbox, tmp_path: Path
) -> None:
    """C-27: Ctrl+C cancels what runs; each trial that ended is kept, once."""
    solution = ScriptedModels([TASK, OTHER])
    second = asyncio.Event()

    def answer(request: RequestView) -> Turn:
        name = TASK.name if "last page" in str(request.items) else OTHER.name
        if name == OTHER.name and not second.is_set():
            second.set()
            return Turn(Text("…"), faults=[stall("headers", None)])
        return solution(replace(request, model=name))

    provider.answer = answer
    settings = (WHO, tmp_path, 2, NO_CAPS, sandbox)
    run = asyncio.create_task(measure([TASK, OTHER], *settings, start=start_python))
    await second.wait()
    run.cancel()
    with pytest.raises(asyncio.CancelledError):
        await run
    place = tmp_path / "trials.jsonl"
    assert [line["task"] for line in read_lines(place)] == [TASK.name]
    with place.open("a") as file:
        file.write('{"task": "half a li')  # the computer stopped, too
    assert await measure([TASK, OTHER], *settings, start=start_python)
    lines = read_lines(place)
    assert [(line["task"], line["try"], line["passed"]) for line in lines] == [
        (TASK.name, 1, True),
        (OTHER.name, 1, True),
        (TASK.name, 2, True),
        (OTHER.name, 2, True),
    ]
    before = provider.requests
    assert await measure([TASK, OTHER], *settings, start=start_python)
    assert provider.requests == before and len(read_lines(place)) == 4


async def test_the_budget_bounds_all_trials_together(
    provider: _Provider, sandbox: Sandbox, tmp_path: Path
) -> None:
    """C-27: each gets what is left, and none begins without."""
    provider.answer = lambda _: Turn(Text("21 days"), usage=Usage(inp=12_000, out=100))
    used = Caps(tokens=25_000)
    assert not await measure([OTHER], WHO, tmp_path, 5, used, sandbox, start=start_python)
    lines = read_lines(tmp_path / "trials.jsonl")
    assert [line["end"] for line in lines] == ["done", "done", "token_limit"]
    assert sum(line["input"] + line["output"] for line in lines) <= 25_000
    assert "2 trials, at most 2 a task" in report(lines)  # the third is not the model's failure
    assert not await measure([OTHER], WHO, tmp_path, 3, Caps(tokens=24_200), sandbox)
    more = Caps(tokens=90_000)
    assert await measure([OTHER], WHO, tmp_path, 3, more, sandbox, start=start_python)
    assert [line["try"] for line in read_lines(tmp_path / "trials.jsonl")] == [1, 2, 3, 3]


async def test_an_unknown_price_ends_a_run_that_dollars_were_to_bound(
    provider: _Provider, sandbox: Sandbox, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """C-27."""
    provider.answer = lambda _: Turn(Text("21 days"))
    caps = Caps(dollars=1.0)
    assert not await measure([OTHER], WHO, tmp_path, 3, caps, sandbox, start=start_python)
    assert "Give a budget in tokens" in capsys.readouterr().err
    assert len(read_lines(tmp_path / "trials.jsonl")) == 1


async def test_a_missing_key_is_no_failed_trial(
    provider: _Provider, sandbox: Sandbox, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """C-27: nothing was measured, so nothing is written down."""
    monkeypatch.delenv("OPENAI_API_KEY")
    with pytest.raises(NoAnswer, match="API key"):
        await measure([OTHER], WHO, tmp_path, 1, NO_CAPS, sandbox, start=start_python)
    assert not read_lines(tmp_path / "trials.jsonl")


def line(task: Task, number: int, passed: bool, **more: Any) -> dict[str, Any]:
    return {
        "task": task.name, "kind": task.kind, "try": number, "passed": passed, "steps": 4,
        "input": 1000, "cached": 800, "output": 100, "dollars": 0.01, "refused_edits": 0,
        "errors": 0, "compactions": 0, "end": "done", "seconds": 2.0, "provider": "p",
        "model": "m", "agent": "Coder", "effort": "", "version": "1", "sandboxed": True,
        "date": "2026-11-23T10:00:00+00:00", "run": f"{task.name}-{number}", **more,
    }  # fmt: skip


def test_the_share_is_averaged_over_tasks_and_its_interval_counts_tasks() -> None:
    """C-27: two of three tries and one of one are not three of four."""
    lines = [line(TASK, n, n != 2) for n in (1, 2, 3)] + [line(OTHER, 1, True)]
    share, low, high = pass_at_1(lines)
    assert share == pytest.approx((2 / 3 + 1) / 2)
    assert 0.1 < low < share < high <= 1.0
    assert pass_at_1([line(TASK, 1, True)] * 3)[1] < 0.3  # one task says little, however often
    wilson = [line(replace(TASK, name=str(n)), 1, n < 20) for n in range(30)]
    assert pass_at_1(wilson) == pytest.approx((0.6667, 0.4878, 0.8077), abs=1e-3)


def test_no_figure_stands_without_what_it_is_of() -> None:
    """C-30: model, version, tries and cost; and two models never in one figure."""
    lines = [line(TASK, 1, True), line(OTHER, 1, False, end="step_limit")]
    text = report([*lines, line(TASK, 1, True, model="other", dollars=None)])
    first, second = text.split("**p/other**")
    for part in (
        "**p/m**",
        "Agent Studio 1",
        "2026-11-23",
        "2 trials",
        "at most 1 a task",
        "$0.02",
    ):
        assert part in first
    assert "pass@1 50%" in first and "95 % interval" in first
    assert f"`{OTHER.name}-1`: step_limit" in first
    assert "price unknown" in second
