"""The tasks of ``benchmarks/agent``: each check tells right from wrong, without a model (C-28).

Scripted models show that the checks work. They say nothing about how well an agent works, nor
whether a rule of its prompt helps: that takes a model, see ``benchmarks/agent/README.md``.
"""

from __future__ import annotations

import os
import sys
import tempfile
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from benchmarks.agent.economy import TEN, play, table
from benchmarks.agent.scripted import ScriptedModels, model_name
from benchmarks.agent.task import Attempt, Task, read_task, read_tasks
from benchmarks.agent.trial import Answerer, NoPython, check, require_python, run_trial
from studio.processes.keeper import Keeper
from studio.processes.sandbox import NoSandbox, Sandbox, find_sandbox
from studio.simulator import Simulator
from support.command import KEY_VARIABLES, URL_VARIABLES
from support.engine_home import KEY, PROTOCOLS
from support.fork_server import forkable, start_python
from support.nightly import PROFILE

TASKS = read_tasks()
FAMILIES = list(PROTOCOLS)
AT_NIGHT = os.environ.get("HYPOTHESIS_PROFILE") == PROFILE
BY_NAME = pytest.mark.parametrize("task", TASKS, ids=lambda task: task.name)


def played() -> Iterator[Any]:
    """A task, an attempt (None: the solution) and a family. By day each attempt meets one family."""
    for number, task in enumerate(TASKS):
        for place, wrong in enumerate((None, *range(len(task.wrong)))):
            by_day = [FAMILIES[(number + place) % len(FAMILIES)]]
            for family in FAMILIES if AT_NIGHT else by_day:
                name = f"{model_name(task, wrong)}-{family}"
                yield pytest.param(task, wrong, family, id=name)


@pytest.fixture(scope="module")
def sandbox() -> Iterator[Sandbox]:
    keeper = Keeper()
    found = find_sandbox(keeper)
    yield found
    found.close()
    keeper.close()


def shown(task: Task, attempt: Attempt) -> dict[str, Any]:
    """What a check sees of an attempt that nobody played."""
    replies = task.replies(attempt)
    return {
        "answer": attempt.answer,
        "calls": [
            {"tool": tool, "arguments": given, "result": "", "failed": False, "refused": False}
            for reply in replies
            for tool, given in reply
            if tool != "say"
        ],
        "model": "m",
        "said": ["".join(text for tool, text in reply if tool == "say") for reply in replies],
    }


def laid_out(task: Task, place: Path, attempt: Attempt | None = None) -> Path:
    place.mkdir()
    task.lay_out(place)
    for change in attempt.changes if attempt else ():
        change.apply(place)
    return place


def test_there_are_thirty_tasks_of_seven_kinds_and_each_rule_is_broken_in_one() -> None:
    """C-27, and for each rule of the Coder's prompt, a to l, an attempt that breaks it (C-23)."""
    kinds = Counter(task.kind for task in TASKS)
    assert kinds == {
        "fault": 8,
        "feature": 6,
        "refactoring": 4,
        "terminal": 4,
        "reading": 3,
        "injection": 3,
        "long": 2,
    }
    assert {one.rule for task in TASKS for one in task.wrong} - {""} == set("abcdefghijkl")
    assert all(task.wrong for task in TASKS)
    for task in TASKS:
        if task.kind == "long":
            assert len(task.replies(task.solution)) >= 60 and task.steps > 60 and task.window


@BY_NAME
def test_the_solution_passes_and_nothing_else_does(task: Task, tmp_path: Path) -> None:
    """C-28: also untouched files fail, whatever was said of them, and each wrong attempt."""
    plain = NoSandbox()
    solved = laid_out(task, tmp_path / "solved", task.solution)
    right = shown(task, task.solution)
    assert (verdict := check(task, solved, right, plain)).passed, verdict.said
    untouched = laid_out(task, tmp_path / "untouched")
    if not task.solution.changes:  # the answer is all that is asked for
        right["answer"] = ""
    assert not check(task, untouched, right, plain).passed
    for number, attempt in enumerate(task.wrong):
        folder = laid_out(task, tmp_path / f"wrong{number}", attempt)
        assert not check(task, folder, shown(task, attempt), plain).passed, attempt.title


@pytest.mark.parametrize(("task", "wrong", "family"), [*played()])
async def test_scripts_are_played_through_the_real_program(
    task: Task,
    wrong: int | None,
    family: str,
    tmp_path: Path,
    sandbox: Sandbox,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """C-28: over the wire, strict, without a violation; wrong scripts end well and fail."""
    async with Simulator(ScriptedModels([task]), pace=False) as simulator:
        forkable(monkeypatch)
        environment = {
            URL_VARIABLES[family]: simulator.url(PROTOCOLS[family]),  # type: ignore[arg-type]
            KEY_VARIABLES.get(family, "UNUSED"): KEY,
            "RENDER_SECONDS": "1",  # of the long job
        }
        who = Answerer(family, model_name(task, wrong), environment=environment)
        line = await run_trial(task, 1, who, tmp_path, sandbox, start=start_python)
        assert not simulator.violations
    said = (tmp_path / line["run"] / "check.txt").read_text()
    assert line["passed"] == (wrong is None), said
    assert line["end"] == "done" and line["steps"] and line["input"] and line["output"]
    assert bool(line["compactions"]) == (task.kind == "long" and wrong is None)


async def test_economy_counts_what_each_part_of_the_requests_takes(
    tmp_path: Path, sandbox: Sandbox, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The parts are the whole request, but for what no version of the program can change.

    Nothing is asked of the program that the oldest one does not know, such as jobs.
    """
    task = next(task for task in TASKS if task.name == "refactor-rename")
    assert {*TEN} <= {task.name for task in TASKS} and len(TEN) == 10
    forkable(monkeypatch)
    root = Path(__file__).parents[2]
    said: tuple[str, ...] = ()

    async def start(*arguments: str, **named: Any) -> Any:
        nonlocal said
        said = arguments
        return await start_python(*arguments, **named)

    used = await play(task, root, tmp_path, sandbox, start=start)
    assert [said[at + 1] for at, word in enumerate(said) if word == "--allow"] == ["run"]
    assert used["steps"] == len(task.replies(task.solution)) + 1
    parts = used["prompt"] + used["tools"] + used["results"] + used["rest"]
    assert 0.97 < parts / used["sent"] < 1.01 and 0 < used["cached"] < used["sent"]
    assert min(used["prompt"], used["tools"], used["results"], used["rest"]) > 500
    text = table(["one", "two"], [{task.name: used}, {task.name: used}])
    assert f"| refactor-rename | {used['steps']} | {used['steps']} |" in text
    prompt = f"{used['prompt'] / used['steps']:,.0f}"
    assert f"| prompt | {prompt} | {prompt} |" in text


def test_a_python_that_the_sandbox_hides_is_told_before_a_trial(
    sandbox: Sandbox, monkeypatch: pytest.MonkeyPatch
) -> None:
    """C-27: else each trial would fail as if the agent had, and cost money."""
    require_python(TASKS[0], sandbox)
    if sandbox.kind != "bubblewrap":
        pytest.skip("Only bubblewrap hides what is in /tmp.")
    with tempfile.TemporaryDirectory(dir="/tmp") as hidden:
        python = Path(hidden, "python")
        python.symlink_to(sys.executable)
        monkeypatch.setattr(sys, "executable", str(python))
        require_python(TASKS[0], NoSandbox())
        with pytest.raises(NoPython, match=f"hides {python}"):
            require_python(TASKS[0], sandbox)


def test_a_check_that_is_ended_early_is_not_met(tmp_path: Path) -> None:
    """Code of the agent that leaves the process with 0 has passed nothing."""
    task = next(task for task in TASKS if task.name == "fault-last-page")
    folder = laid_out(task, tmp_path / "work")
    (folder / "pages.py").write_text("import os\nos._exit(0)\n")
    verdict = check(task, folder, shown(task, task.solution), NoSandbox())
    assert not verdict.passed and verdict.said == "no word"


@pytest.mark.parametrize(
    ("changed", "told"),
    [
        (("kind: fault", "kind: other"), "kind is one of fault, feature"),
        (("title:", "titel: x\ntitle:"), "unknown: titel"),
        (("## Solution", "## Answer"), "unknown section: Answer"),
        (("### `pages.py`", "### `../pages.py`"), "a heading is a path in backticks"),
        ((">>>>>>>", ">>>>"), "an edit without its end"),
    ],
)
def test_a_mistake_in_a_task_is_told_with_its_file(
    changed: tuple[str, str], told: str, tmp_path: Path
) -> None:
    """C-27."""
    good = Path("benchmarks/agent/tasks/fault-last-page.md")
    text = (Path(__file__).parents[2] / good).read_text()
    (tmp_path / "odd.md").write_text(text.replace(*changed))
    with pytest.raises(ValueError, match=f"odd.md: .*{told}"):
        read_task(tmp_path / "odd.md")
