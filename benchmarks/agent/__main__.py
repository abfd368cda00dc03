"""``python -m benchmarks.agent``: runs trials, adds a line for each, and prints the report."""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import re
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from studio.cli.parser import caps
from studio.domain.agents import NO_CAPS, Caps
from studio.processes.keeper import Keeper
from studio.processes.sandbox import Sandbox, find_sandbox

from .report import counts, report
from .task import Task, read_tasks
from .trial import Answerer, NoAnswer, NoPython, require_python, run_trial, version

KEY = ("task", "try", "provider", "model", "agent", "effort", "version")
"""What makes two trials the same one."""


def main() -> int:
    options = _parser().parse_args()
    tasks = [one for one in read_tasks() if not options.task or one.name in options.task]
    if unknown := set(options.task) - {one.name for one in tasks}:
        print(f"There is no task {', '.join(sorted(unknown))}.", file=sys.stderr)
        return 1
    if options.list:
        for one in tasks:
            print(f"{one.kind:12} {one.name:28} {one.title}")
        return 0
    if not (options.provider and options.model):
        print("Say which model: --provider NAME --model ID", file=sys.stderr)
        return 1
    settings = {"sandbox": False} if options.no_sandbox else {}
    who = Answerer(options.provider, options.model, options.agent, options.effort, settings)
    name = re.sub(r"[^\w.-]+", "-", f"{who.provider}-{who.model}")
    out = options.out or Path("build", "agent", name)
    out.mkdir(parents=True, exist_ok=True)
    keeper = Keeper()
    sandbox = find_sandbox(keeper, wanted=not options.no_sandbox)
    try:
        if sandbox.kind == "none":
            print(
                f"Commands are not sandboxed ({sandbox.reason}) An agent could read the checks, "
                "and change what is yours: measure in a container.",
                file=sys.stderr,
            )
            if not options.no_sandbox:
                return 1
        require_python(tasks[0], sandbox)
        done = asyncio.run(measure(tasks, who, out, options.tries, options.budget, sandbox))
    except NoAnswer as error:
        print(f"No answer came from {who.provider}/{who.model}:\n{error}", file=sys.stderr)
        return 2
    except NoPython as error:
        print(error, file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        print("Stopped. The same command goes on with what is left.", file=sys.stderr)
        return 130
    finally:
        sandbox.close()
        keeper.close()
    lines = read_lines(out / "trials.jsonl")
    (out / "report.md").write_text(report(lines), encoding="utf-8")
    print(report(lines))
    print(f"Raw lines: {out / 'trials.jsonl'}. Runs: {out / 'runs'}.")
    return 0 if done else 3


async def measure(
    tasks: Sequence[Task],
    who: Answerer,
    out: Path,
    tries: int,
    budget: Caps,
    sandbox: Sandbox,
    **started: Any,
) -> bool:
    """Run each trial that has no line yet; False where the budget did not suffice.

    All first tries come before the second ones, so that a budget which is too small still
    measures every task. ``started``: how a program is started, see ``run_trial``.
    """
    place = out / "trials.jsonl"
    lines = read_lines(place)
    known = {tuple(line[name] for name in KEY) for line in lines if counts(line)}
    now = version()
    for number in range(1, tries + 1):
        for task in tasks:
            if (task.name, number, who.provider, who.model, who.agent, who.effort, now) in known:
                continue
            left = _left(budget, lines)
            if left is None:
                print("The budget is used. A larger one goes on from here.", file=sys.stderr)
                return False
            line = await run_trial(task, number, who, out / "runs", sandbox, caps=left, **started)
            lines.append(line)
            _append(place, line)
            if not counts(line):
                print("The budget ended a trial. A larger one repeats it.", file=sys.stderr)
                return False
            mark = "passed" if line["passed"] else "failed"
            cost = "" if line["dollars"] is None else f"  ${line['dollars']:.4f}"
            print(
                f"{mark}  {task.name} {number}  {line['end']}, {line['steps']} steps, "
                f"{line['seconds']:.0f} s{cost}",
                file=sys.stderr,
            )
            if budget.dollars and line["dollars"] is None and line["input"]:
                print(
                    f"What this trial of {who.model} cost is not known, so dollars cannot bound "
                    "the rest. Give a budget in tokens, like 2000000tok.",
                    file=sys.stderr,
                )
                return False
    return True


def read_lines(place: Path) -> list[dict[str, Any]]:
    """The lines of earlier trials; none if there is no such file, and no half line."""
    if not place.exists():
        return []
    found: list[dict[str, Any]] = []
    for line in place.read_text(encoding="utf-8").splitlines():
        try:
            found.append(json.loads(line))
        except ValueError:  # the computer stopped while it was written
            continue
    return found


def _append(place: Path, line: dict[str, Any]) -> None:
    """Add a line, on the disk when this returns; after half a line on one of its own."""
    with place.open("a+b") as file:
        size = file.seek(0, os.SEEK_END)
        file.seek(max(size - 1, 0))
        apart = b"" if file.read() in (b"", b"\n") else b"\n"
        file.write(apart + json.dumps(line).encode() + b"\n")
        file.flush()
        os.fsync(file.fileno())


def _left(budget: Caps, lines: Sequence[dict[str, Any]]) -> Caps | None:
    """What a trial may use; None if nothing is left."""
    dollars = budget.dollars - sum(line["dollars"] or 0.0 for line in lines)
    tokens = budget.tokens - sum(line["input"] + line["output"] for line in lines)
    if (budget.dollars and dollars < 0.0001) or (budget.tokens and tokens < 1):
        return None
    return Caps(max(tokens, 0) if budget.tokens else 0, dollars if budget.dollars else 0.0)


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.agent",
        description="Measure how many of thirty tasks an agent solves with a model.",
    )
    parser.add_argument("--provider", default="", help="as in agent-studio run")
    parser.add_argument("--model", default="", help="its id")
    parser.add_argument("--agent", default="", help="default: each task's, mostly Coder")
    parser.add_argument("--effort", default="", help="how hard to think; default: the model's")
    parser.add_argument("--tries", type=int, default=3, help="trials of each task; default 3")
    parser.add_argument(
        "--budget", type=caps, default=NO_CAPS, help="for all: 20 is dollars, 2000000tok tokens"
    )
    parser.add_argument("--task", action="append", default=[], help="only this; may be repeated")
    parser.add_argument("--list", action="store_true", help="list the tasks")
    parser.add_argument("--out", type=Path, help="default: build/agent/PROVIDER-MODEL")
    parser.add_argument(
        "--no-sandbox", action="store_true", help="in a container that is a sandbox itself"
    )
    return parser


if __name__ == "__main__":
    sys.exit(main())
