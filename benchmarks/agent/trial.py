"""Trials: gives a task to ``agent-studio run`` and checks what came of it.

Each trial has a folder and a data folder of its own below the system's temporary folder, where
a command in the sandbox sees no other trial. The check is written down when the agent has
ended, runs in a copy, and in the sandbox: it imports what the agent wrote.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
import secrets
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from asyncio.subprocess import DEVNULL, Process
from collections import Counter
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from studio.domain.agents import NO_CAPS, Caps
from studio.processes.sandbox import Sandbox
from studio.processes.sandbox_mounts import Launch

from .task import TASKS, Task, copy_folder

ROOT = Path(__file__).parents[2]
NO_END = "no end"
"""How a program ended that did not say so: it was killed, or could not begin."""
CHECK_SECONDS = 60.0
END_SECONDS = 20.0
"""How long a trial that ran out of time has to end by itself."""
SHOWN = ("answer", "calls", "said", "model")
"""What a check sees of the run: the last words, the calls, what earlier replies said, and whose."""
EDITS = {"edit", "write", "move", "delete", "apply_patch"}

_BEFORE = """\
import json as _json, pathlib as _pathlib
_trial = _json.loads(_pathlib.Path("trial.json").read_text())
_pathlib.Path("trial.json").unlink()
answer, calls, said, model = (_trial[name] for name in ("answer", "calls", "said", "model"))
del _json, _pathlib, _trial
"""

Start = Callable[..., Awaitable[Process]]
"""Starts Python with arguments, as ``start_python`` does."""


@dataclass(frozen=True, slots=True)
class Answerer:
    """Who is measured; without ``agent`` each task's own.

    ``settings`` and ``environment`` are the program's, beside those that a trial has anyway;
    ``allow`` are the tools that nobody is asked about.
    """

    provider: str
    model: str
    agent: str = ""
    effort: str = ""
    settings: Mapping[str, Any] = field(default_factory=dict[str, Any])
    environment: Mapping[str, str] = field(default_factory=dict[str, str])
    allow: tuple[str, ...] = ("run", "job")


class NoAnswer(Exception):
    """The model answered nothing at all: a key is missing, or a name is wrong."""


class NoPython(Exception):
    """Checks cannot run, for the sandbox hides this Python: every trial would fail."""


@dataclass(frozen=True, slots=True)
class Verdict:
    """Whether a check was met, and what it said."""

    passed: bool
    said: str


async def start_python(
    *arguments: str, environment: Mapping[str, str], folder: Path, stdout: int, stderr: int
) -> Process:
    """Start Python in a session of its own: Ctrl+C is for whoever measures."""
    return await asyncio.create_subprocess_exec(
        sys.executable,
        *arguments,
        env=environment,
        cwd=folder,
        stdin=DEVNULL,
        stdout=stdout,
        stderr=stderr,
        start_new_session=True,
    )


async def run_trial(
    task: Task,
    number: int,
    who: Answerer,
    runs: Path,
    sandbox: Sandbox,
    *,
    caps: Caps = NO_CAPS,
    start: Start = start_python,
) -> dict[str, Any]:
    """One trial: the line that is told of it. What was done is kept in ``runs``.

    Raises NoAnswer, with what the program said: that says nothing about the model.
    """
    place = Path(tempfile.mkdtemp(prefix="trial-"))
    try:
        folder, home = place / "work", place / "home"
        folder.mkdir()
        home.mkdir()
        await asyncio.to_thread(task.lay_out, folder)
        _write_settings(task, who, home)
        began = time.monotonic()
        events, hung = await _run(task, who, place, caps, start)
        seconds = time.monotonic() - began
        told = {**_told(events), "model": who.model}
        answered = any(event.get("event") == "step_ended" for event in events)
        if not (hung or answered) and told["end"] in ("error", NO_END):
            said = [event["title"] for event in events if event.get("event") == "failed"]
            errors = (place / "errors.txt").read_text("utf-8", "replace").strip()
            raise NoAnswer("\n".join([*said, errors]).strip() or "The program said nothing.")
        verdict = await asyncio.to_thread(
            check, task, folder, {name: told.pop(name) for name in SHOWN}, sandbox
        )
        (place / "check.txt").write_text(verdict.said, encoding="utf-8")
        (place / "message.txt").write_text(task.text, encoding="utf-8")
        kept = runs / f"{task.name}-{number}"
        await asyncio.to_thread(shutil.rmtree, kept, True)
        await asyncio.to_thread(shutil.move, place, kept)
    except BaseException:
        shutil.rmtree(place, ignore_errors=True)
        raise
    return {
        "task": task.name,
        "kind": task.kind,
        "try": number,
        "passed": verdict.passed and not hung,
        **told,
        "end": "hung" if hung else told["end"],
        "seconds": round(seconds, 2),
        "provider": who.provider,
        "model": who.model,
        "agent": who.agent,
        "effort": who.effort,
        "version": version(),
        "date": datetime.now(UTC).isoformat(timespec="seconds"),
        "sandboxed": sandbox.kind != "none",
        "run": kept.name,
    }


def version() -> str:
    """The program's version, and the commit where there is one."""
    import studio

    done = subprocess.run(
        ["git", "describe", "--always", "--dirty", "--exclude=*"],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
    )
    return f"{studio.__version__}+{done.stdout.strip()}" if done.stdout else studio.__version__


def _write_settings(task: Task, who: Answerer, home: Path) -> None:
    settings: dict[str, Any] = {
        "write_titles": False,  # a request of its own, which is no work on the task
        **{f"{mode}_seconds": task.seconds for mode in ("inline", "background", "long")},
        # No cap in dollars but the trial's own.
        **{f"{what}_dollars": 0.0 for what in ("turn", "long", "day")},
        **who.settings,
    }
    if task.window:
        facts = {"context_window": task.window}
        settings["models"] = {f"{who.provider}/{who.model}": facts}
    (home / "settings.json").write_text(json.dumps(settings), encoding="utf-8")


async def _run(
    task: Task, who: Answerer, place: Path, caps: Caps, start: Start
) -> tuple[list[dict[str, Any]], bool]:
    """Run the turn; its events, and whether it had to be ended."""
    arguments = [
        *("-m", "studio", "run", "--json", "--folder", str(place / "work")),
        *("--provider", who.provider, "--model", who.model, "--agent", who.agent or task.agent),
        *("--permission", "auto"),
        *(word for tool in who.allow for word in ("--allow", tool)),
        *("--max-steps", str(task.steps)),
        *("--deny", f"read({TASKS})"),  # hidden from commands, too
        *(word for rule in task.deny for word in ("--deny", rule)),
        *(("--effort", who.effort) if who.effort else ()),
        *(("--budget", f"{caps.dollars:.4f}") if caps.dollars else ()),
        *(("--budget", f"{caps.tokens}tok") if caps.tokens else ()),
        *("--", task.text),
    ]
    python = str(Path(sys.executable).parent)
    environment = {
        **os.environ,
        "AGENT_STUDIO_HOME": str(place / "home"),
        "PATH": os.pathsep.join((python, os.environ.get("PATH", os.defpath))),
        "PYTHONPATH": str(ROOT),
        **who.environment,
    }
    hung = False
    with (place / "events.jsonl").open("wb") as out, (place / "errors.txt").open("wb") as err:
        process = await start(
            *arguments,
            environment=environment,
            folder=place / "work",
            stdout=out.fileno(),
            stderr=err.fileno(),
        )
        try:
            async with asyncio.timeout(task.seconds):
                await process.wait()
        except TimeoutError:
            hung = True
        finally:
            await _end(process)
    lines = await asyncio.to_thread((place / "events.jsonl").read_text, "utf-8", "replace")
    found: list[dict[str, Any]] = []
    for line in lines.splitlines():
        with contextlib.suppress(ValueError):  # the last one of a program that was killed
            found.append(json.loads(line))
    return found, hung


async def _end(process: Process) -> None:
    """End the program, and with it all that it started; if need be by force."""
    for number in (signal.SIGTERM, signal.SIGKILL):
        if process.returncode is not None:
            return
        with contextlib.suppress(ProcessLookupError):
            process.send_signal(number)
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(END_SECONDS):
                await process.wait()


def _told(events: list[dict[str, Any]]) -> dict[str, Any]:
    """What the events tell: the calls, the last words, what was used and how it ended."""
    calls: dict[str, dict[str, Any]] = {}
    end: dict[str, Any] = {}
    used = Counter[str]()
    texts, failures, compactions = list[str](), 0, 0
    for event in events:
        match event.get("event"):
            case "step_started":
                texts.append("")
            case "text_delta" if texts:
                texts[-1] += event["text"]
            case "tool_queued":
                calls[event["call_id"]] = {
                    "tool": event["name"],
                    "arguments": event["arguments"],
                    "result": "",
                    "failed": True,
                    "refused": False,
                }
            case "tool_finished" if event["call_id"] in calls:
                calls[event["call_id"]] |= {
                    "result": event["text"],
                    "failed": event["is_error"],
                    "refused": bool(event.get("refused_by")),
                }
            case "step_ended":
                used.update(event["usage"])
            case "summarised":
                compactions += 1
            case "failed":
                failures += 1
            case "turn_complete":
                end = event
            case _:
                pass
    usage = end.get("usage", used)  # of a program that was killed what it said of its steps
    failed = [call for call in calls.values() if call["failed"]]
    return {
        "answer": texts[-1] if texts else "",
        "calls": list(calls.values()),
        "said": texts[:-1],
        "steps": end.get("steps", len(texts)),
        "input": usage.get("input", 0),
        "cached": usage.get("cache_read", 0),
        "output": usage.get("output", 0),
        "dollars": end.get("dollars"),
        "refused_edits": sum(call["tool"] in EDITS for call in failed),
        "errors": failures + len(failed),
        "compactions": compactions,
        "end": end.get("reason", NO_END),
    }


def require_python(task: Task, sandbox: Sandbox) -> None:
    """Raises NoPython where a check that is always met is not. Blocks."""
    with tempfile.TemporaryDirectory(prefix="check-") as folder:
        verdict = check(replace(task, check=""), Path(folder), dict.fromkeys(SHOWN), sandbox)
    if not verdict.passed:
        raise NoPython(
            f"Checks cannot run in the sandbox, as it hides {sys.executable}. Have the checkout "
            f"and its Python outside of {tempfile.gettempdir()}. It said: {verdict.said}"
        )


def check(task: Task, folder: Path, shown: Mapping[str, Any], sandbox: Sandbox) -> Verdict:
    """Run the hidden check on a copy of the folder, with what it is ``SHOWN`` of the run. Blocks.

    It is met where its last line prints a word that only this run knows, so that code of the
    agent which ends the process early is no pass.
    """
    word = secrets.token_hex(8)
    with tempfile.TemporaryDirectory(prefix="check-", ignore_cleanup_errors=True) as made:
        copy = Path(made).resolve() / "work"
        copy_folder(folder, copy)
        script = copy / "check_trial.py"
        script.write_text(f"{_BEFORE}\n{task.check}\nprint({word!r})\n", encoding="utf-8")
        (copy / "trial.json").write_text(json.dumps(shown))
        python = f'"{sys.executable}" -B check_trial.py'
        environment = {"PATH": os.environ.get("PATH", os.defpath), "PYTHONHASHSEED": "0"}
        argv = sandbox.argv(Launch(python, copy, environment))
        try:
            done = subprocess.run(
                argv,
                cwd=copy,
                env=environment,
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=subprocess.STDOUT,
                timeout=CHECK_SECONDS,
                check=False,
            )
        except subprocess.TimeoutExpired:
            return Verdict(False, f"The check took more than {CHECK_SECONDS:g} s.")
        finally:
            sandbox.left()
    said = done.stdout.decode("utf-8", "replace").strip()
    passed = done.returncode == 0 and said.splitlines()[-1:] == [word]
    return Verdict(passed, said.removesuffix(word).strip() or ("met" if passed else "no word"))
