"""What a hook costs beside its own time.

    python benchmarks/hooks.py [rounds]

A hook that is told of a call and says yes, run as a turn runs it: its files compared with what was
approved, the sandbox, its input, both of its streams, its answer read. The baseline is the same
command line in the same sandbox, started bare with its input, in turn with it.
"""

from __future__ import annotations

import asyncio
import os
import subprocess
import sys
import tempfile
import time
from dataclasses import replace
from pathlib import Path

from measure import Row, middle, quick, show

from studio.agent.hooks.claude_calls import View
from studio.agent.hooks.content import files_of, sum_of
from studio.agent.hooks.running import HookGround, HookRunner
from studio.domain.hooks import Hook, Hooks
from studio.processes.environment import child_environment
from studio.processes.keeper import Keeper
from studio.processes.sandbox import NoSandbox, Sandbox, find_sandbox
from studio.processes.sandbox_mounts import Launch
from studio.tools import Workspace

GOAL = "< 5 ms more"
CALL = View("Bash", {"command": "git status"}, frozenset(("Bash",)))
SCRIPT = "read -r given; sleep 0.02; exit 0\n"


def bare(sandbox: Sandbox, launch: Launch) -> float:
    argv = sandbox.argv(launch)
    rules = sandbox.rules()
    began = time.perf_counter()
    try:
        subprocess.run(
            argv,
            input=b"{}",
            cwd=launch.folder,
            env=dict(launch.environment),
            capture_output=True,
            check=True,
        )
        return (time.perf_counter() - began) * 1000
    finally:
        if rules is not None:
            os.close(rules)
        sandbox.left()


async def ours(runner: HookRunner) -> float:
    began = time.perf_counter()
    ((answer, _),) = await runner.ask("PreToolUse", [CALL], {})
    assert not answer.fault, answer.fault
    return (time.perf_counter() - began) * 1000


async def measured(keeper: Keeper, sandbox: Sandbox, rounds: int) -> Row:
    with tempfile.TemporaryDirectory() as made:
        folder = Path(made)
        (folder / "hook.sh").write_text(SCRIPT)
        command = "sh hook.sh"
        hook = Hook("PreToolUse", command, "own", "hooks.json", "Bash", state="on")
        hook = replace(hook, files=files_of(command, folder, folder))
        hook = replace(hook, digest=sum_of(hook, folder))
        environment = child_environment()
        ground = HookGround(Workspace(folder), sandbox, keeper, child_environment, {})
        runner = HookRunner(Hooks((hook,)), ground)
        launch = Launch(command, folder, environment)
        here: list[float] = []
        base: list[float] = []
        for number in range(rounds + 1):
            found = await ours(runner), await asyncio.to_thread(bare, sandbox, launch)
            if number:  # the first of each starts what stays
                here.append(found[0])
                base.append(found[1])
    where = "without a sandbox" if sandbox.kind == "none" else "in the sandbox"
    what = f"a hook of 20 ms {where}"
    return Row(what, middle(here), middle(base), "ms", GOAL, "the command alone")


async def main() -> None:
    numbers = [int(one) for one in sys.argv[1:] if one.isdigit()]
    rounds = numbers[0] if numbers else 10 if quick() else 40
    keeper = Keeper()
    try:
        sandboxes: list[Sandbox] = [NoSandbox()]
        found = find_sandbox(keeper)
        if found.kind != "none":
            sandboxes.append(found)
        show([await measured(keeper, one, rounds) for one in sandboxes])
        found.close()
    finally:
        keeper.close()


if __name__ == "__main__":
    asyncio.run(main())
