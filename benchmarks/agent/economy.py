"""What ten recorded tasks cost in tokens and steps, with one version of the program and another.

    git worktree add /tmp/before COMMIT
    python -m benchmarks.agent.economy /tmp/before .

Each task is played through each checkout by the same script, so that only the program's own share
differs: its prompt, the schemas of its tools, its notes and the results of its tools. How many
steps a model takes by itself is not seen here. Tokens are a quarter of the characters on the wire
(Anthropic's), on all sides alike: ratios count.
"""

from __future__ import annotations

import asyncio
import json
import subprocess
import sys
import tempfile
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from studio.processes.keeper import Keeper
from studio.processes.sandbox import Sandbox, find_sandbox
from studio.simulator import Simulator

from .scripted import ScriptedModels, model_name
from .task import Task, read_tasks
from .trial import Answerer, require_python, run_trial

TEN = (
    *("fault-backup-blanks", "fault-csv-quotes", "fault-night-shift", "feature-json-output"),
    *("feature-undo", "refactor-rename", "refactor-split", "terminal-long-job"),
    *("reading-review", "long-migration"),
)
TOLD = ("check.txt", "errors.txt")
"""Files of a trial that say why it failed."""


async def play(
    task: Task, checkout: Path, runs: Path, sandbox: Sandbox, **started: Any
) -> Counter[str]:
    """Play a task's solution with the program of a checkout; what was sent, in tokens.

    ``started``: how a program is started, see ``run_trial``. Raises RuntimeError if the check
    was not met, for then nothing is compared.
    """
    async with Simulator(ScriptedModels([task]), pace=False) as simulator:
        environment = {
            "PYTHONPATH": str(checkout.resolve()),
            "ANTHROPIC_BASE_URL": simulator.url("anthropic"),
            "ANTHROPIC_API_KEY": "sk-of-nobody",
            "RENDER_SECONDS": "1",
        }
        # Older versions know no jobs, and none of the ten types into one.
        allow = ("run",)
        who = Answerer("anthropic", model_name(task), environment=environment, allow=allow)
        line = await run_trial(task, 1, who, runs, sandbox, **started)
        if not line["passed"]:
            kept = runs / line["run"]
            said = [line["end"], *((kept / name).read_text().strip() for name in TOLD)]
            raise RuntimeError("\n".join([f"{checkout}: {task.name} failed.", *filter(None, said)]))
        bodies = [one.json for one in simulator.requests if one.path == "/v1/messages"]
    used = Counter[str](steps=line["steps"], sent=line["input"], cached=line["cached"])
    for body in bodies:
        used += _parts(body)
    return used


def _parts(body: dict[str, Any]) -> Counter[str]:
    """Tokens of one request: prompt, tools, results, and the rest of the conversation."""
    results = [
        block
        for message in body["messages"]
        for block in message["content"]
        if isinstance(block, dict) and block["type"] == "tool_result"
    ]
    found = Counter(
        prompt=_tokens(body.get("system", "")),
        tools=_tokens(body.get("tools", [])),
        results=_tokens(results),
    )
    found["rest"] = _tokens(body["messages"]) - found["results"]
    return found


def _tokens(value: Any) -> int:
    return len(json.dumps(value, ensure_ascii=False, separators=(",", ":"))) // 4


def table(names: Sequence[str], found: Sequence[dict[str, Counter[str]]]) -> str:
    """The figures of each task by checkout, and what all requests are made of."""
    both = [f" {what}, {name} |" for what in ("steps", "sent", "not cached") for name in names]
    lines = ["| Task |" + "".join(both), "| :-- |" + " --: |" * len(both)]
    for task in (*found[0], "all"):
        rows = [sum(own.values(), Counter()) if task == "all" else own[task] for own in found]
        cells = [
            *(f"{row['steps']:,}" for row in rows),
            *(f"{row['sent']:,}" for row in rows),
            *(f"{row['sent'] - row['cached']:,}" for row in rows),
        ]
        lines.append(f"| {task} | " + " | ".join(cells) + " |")
    lines += ["", "| A request on average |" + "".join(f" {name} |" for name in names)]
    lines.append("| :-- |" + " --: |" * len(names))
    for part in ("prompt", "tools", "results", "rest"):
        sums = [sum(own.values(), Counter()) for own in found]
        cells = [f"{row[part] / row['steps']:,.0f}" for row in sums]
        lines.append(f"| {part} | " + " | ".join(cells) + " |")
    return "\n".join(lines)


async def _play_all(checkouts: Sequence[Path]) -> list[dict[str, Counter[str]]]:
    tasks = [task for task in read_tasks() if task.name in TEN]
    keeper = Keeper()
    sandbox = find_sandbox(keeper)
    await asyncio.to_thread(require_python, tasks[0], sandbox)
    found: list[dict[str, Counter[str]]] = []
    with tempfile.TemporaryDirectory() as runs:
        for checkout in checkouts:
            own = {task.name: await play(task, checkout, Path(runs), sandbox) for task in tasks}
            found.append(own)
    sandbox.close()
    keeper.close()
    return found


def main(checkouts: Sequence[Path]) -> None:
    names = [
        subprocess.run(
            ["git", "describe", "--always", "--exclude=*"],
            cwd=checkout,
            capture_output=True,
            text=True,
            check=True,
        ).stdout.strip()
        for checkout in checkouts
    ]
    print(table(names, asyncio.run(_play_all(checkouts))))


if __name__ == "__main__":
    main([Path(word) for word in sys.argv[1:]])
