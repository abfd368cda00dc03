"""Runs of workflows in the real command, killed in the middle of what they do (W-15, W-16)."""

from __future__ import annotations

import json
import signal
from pathlib import Path
from typing import Any

import pytest

from studio.simulator import Call, Called, RequestView, Text, Turn
from studio.storage.paths import Paths
from support.command import Command, at_provider, screen
from support.delegation_home import agent, delegate, save
from support.waiting import until, within
from support.workflow_home import asked_in, workflow

COUNT = "echo happened >> count.txt; test -e go || sleep 1000"
"""Counts outside the program how often it began; without the file ``go`` it takes for ever."""
AT = ("--provider", "anthropic", "--model", "sim-model")


def counted(terminal: Command) -> int:
    path = terminal.folder / "count.txt"
    return len(path.read_text().splitlines()) if path.exists() else 0


async def killed(
    terminal: Command, *arguments: str, count: int = 1, way: signal.Signals = signal.SIGKILL
) -> None:
    """Begin a command, and end it as soon as the counter has counted so far."""
    process = await terminal.start("workflow", *arguments)
    async with within():
        await until(lambda: counted(terminal) == count, "the counter counts")
        process.send_signal(way)
        await process.wait()
    (terminal.folder / "go").touch()  # the next one would end


async def run_id(terminal: Command) -> str:
    (listed,) = json.loads((await terminal("workflow", "list", "--json")).out)
    found: dict[str, Any] = listed
    return str(found["id"])


async def prepared(terminal: Command, steps: str) -> None:
    path = terminal.folder / ".agents" / "workflows" / "story.md"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(workflow(steps))
    save(
        Paths.below(terminal.home).agents,
        agent("Lead", "agents: [Counter]"),
        agent("Counter", "desk: shared"),
    )
    for rule in ("run(*)", "delegate(Counter)"):
        assert (await terminal("permissions", "add", rule)).code == 0


STEPS = {
    "command": f"  - {{id: act, run: '{COUNT}'}}",
    "agent": "  - {id: act, agent: Coder, prompt: Count once}",
    "child": "  - {id: act, agent: Lead, prompt: Have it counted once}",
    "background child": "  - {id: act, agent: Lead, prompt: Have it counted in the background}",
}


def script(view: RequestView) -> Turn:
    """Counts, and once more where it is told to; then says how often it was told."""
    called = [one.name for one in view.items if isinstance(one, Called)]
    calls = [name for name in called if name != "wait"]
    aside = "in the background" in asked_in(view)
    if not calls or ("Do it again" in view.last_user and len(calls) < 2):
        if "You are Lead." in view.system:
            return Turn(delegate("Counter", "Count once", background=aside))
        return Turn(Call("run", {"command": COUNT}))
    if aside and called[-1] == "delegate":
        return Turn(Call("wait", {"seconds": 600}))
    return Turn(Text("It is done."))


@pytest.mark.parametrize("kind", STEPS)
@pytest.mark.parametrize(
    ("answer", "times", "end"), [("h", 1, "done"), ("a", 2, "done"), ("s", 1, "stopped")]
)
async def test_w16_what_may_have_happened_is_asked_about_and_never_repeated_by_itself(
    tmp_path: Path, kind: str, answer: str, times: int, end: str
) -> None:
    async with at_provider(tmp_path, "anthropic", script) as (terminal, _):
        await prepared(terminal, STEPS[kind])
        await killed(terminal, "run", "story", *AT)
        run = await run_id(terminal)
        for _ in range(2):  # however often nobody is there
            ended = await terminal("workflow", "resume", run)
            assert ended.code == 5 and "This may have happened" in ended.err, ended
            assert counted(terminal) == 1
        async with screen(terminal, "workflow", "resume", run) as shown:
            await shown.until("Story, act: This may have happened")
            if "child" in kind:  # it says who did it
                await shown.until("Counter: echo happened")
            await shown.until("It [h]appened, run it [a]gain, [s]top:")
            shown.type(f"{answer}\n")
            await shown.until(f"Story is {end}")
        assert counted(terminal) == times


@pytest.mark.parametrize("kind", STEPS)
async def test_w16_repeatable_effects_are_repeated_and_told(tmp_path: Path, kind: str) -> None:
    async with at_provider(tmp_path, "anthropic", script) as (terminal, _):
        steps = STEPS[kind].replace("{id: act", "{id: act, effects: repeatable")
        await prepared(terminal, steps)
        await killed(terminal, "run", "story", *AT)
        ended = await terminal("workflow", "resume", await run_id(terminal))
        assert ended.code == 0 and "its effects are repeatable" in ended.err, ended
        assert counted(terminal) == 2


async def test_w16_what_was_not_begun_just_runs(tmp_path: Path) -> None:
    """A step whose command only waited for an answer has done nothing."""
    async with at_provider(tmp_path, "anthropic", []) as (terminal, _):
        await prepared(terminal, STEPS["command"])
        assert (await terminal("permissions", "remove", "1")).code == 0
        (terminal.folder / "go").touch()
        ended = await terminal("workflow", "run", "story", *AT)
        assert ended.code == 4 and not counted(terminal)
        assert (await terminal("permissions", "add", "run(*)")).code == 0
        ended = await terminal("workflow", "resume", await run_id(terminal))
        assert (ended.code, counted(terminal)) == (0, 1)


@pytest.mark.parametrize("kind", ["command", "background child"])
async def test_w16_what_ctrl_c_broke_off_is_asked_about(tmp_path: Path, kind: str) -> None:
    async with at_provider(tmp_path, "anthropic", script) as (terminal, _):
        await prepared(terminal, STEPS[kind])
        await killed(terminal, "run", "story", *AT, way=signal.SIGINT)
        run = await run_id(terminal)
        ended = await terminal("workflow", "resume", run)
        assert ended.code == 5 and "This may have happened" in ended.err, ended
        assert counted(terminal) == 1
        async with screen(terminal, "workflow", "resume", run) as shown:
            await shown.until("It [h]appened, run it [a]gain, [s]top:")
            shown.type("h\n")
            await shown.until("Story is done")
        assert counted(terminal) == 1
