"""Which step passed with all that a run leaves as drafts (W-26, picture 34)."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import pytest

from studio.domain.permissions import Rule
from studio.simulator import Call, RequestView, Returned, Text, Turn
from studio.workflows.passed_drafts import PassedDrafts, changed_since, passed_drafts
from studio.workflows.run_changes import changes_by_step
from support.engine_home import engine_home
from support.waiting import within
from support.workflow_home import (
    asked_in,
    begin,
    carry_out,
    go_on,
    killed,
    put_back,
    workflow,
)

SCHEMA = "{type: object, properties: {passed: {type: boolean}}, required: [passed]}"
WRITES = """\
  - {id: a, agent: Coder, prompt: Write a.txt}
  - {id: b, agent: Coder, prompt: Write b.txt}
"""
TESTS = "  - {id: test, title: Tests, needs: [a, b], run: 'cat a.txt b.txt'}\n"
SAYS = f"  - {{id: test, needs: [a, b], agent: Tester, prompt: Look, outputs: {SCHEMA}}}\n"


def script(view: RequestView) -> Turn:
    asked = asked_in(view)
    done = any(isinstance(one, Returned) for one in view.items)
    if "Write" in asked and not done:
        name = asked.split("Write ")[1].split()[0]
        return Turn(Call("write", {"path": name, "content": f"This is {name}.\n"}))
    return Turn(Text('{"passed": true}' if "Look" in asked else "Done."))


@pytest.mark.parametrize(
    ("steps", "found"),
    [
        (WRITES + TESTS, ("Tests", "", 2, True)),
        (WRITES + SAYS, ("test", "Tester", 2, True)),
        (WRITES + SAYS.replace("passed", "fine"), None),
        (WRITES + TESTS.replace("cat a", "rm nothing; cat a"), ("Tests", "", 2, True)),
        (WRITES + TESTS.replace("[a, b], run: 'cat a.txt b.txt'", "a, run: cat a.txt"), None),
        (WRITES + TESTS.replace("cat a", "echo x > new.txt; cat a"), ("Tests", "", 2, False)),
        (WRITES + TESTS.replace("cat a", "echo x > a.txt; cat a"), None),
        (WRITES + TESTS.replace("cat a", "cat no.txt; cat a").replace("}", ", on_error: skip}")
         .replace("b.txt'", "b.txt; false'"), None),
        (WRITES + TESTS + "  - {id: c, agent: Coder, needs: test, prompt: Write c.txt}\n", None),
    ],
    ids=["command", "agent", "no flag", "files left", "not all", "own", "changed", "failed", "later"],
)  # fmt: skip
async def test_w26_a_step_that_saw_all_that_waits_is_named(
    tmp_path: Path, steps: str, found: tuple[str, str, int, bool] | None
) -> None:
    """Right or absent: a step that saw less, or other contents, says nothing of all that waits."""
    async with engine_home(tmp_path, "anthropic", script) as home:
        await home.engine.services.rules.add(Rule.parse("run(*)"), None)
        runner = await begin(home, workflow(steps))
        run = await carry_out(runner)
        assert run.end is not None and run.drafts, run.end
        told = await passed_drafts(home.engine, run, runner.plan.workflow)
        assert (told and (told.label, told.agent, told.count, told.all)) == found


async def test_w26_a_command_whose_end_nobody_knows_did_not_pass(tmp_path: Path) -> None:
    """It was killed with the program: that it happened does not say how it ended."""
    copy, wait = tmp_path / "killed.db", TESTS.replace("cat a.txt b.txt", "touch began; sleep 600")
    async with engine_home(tmp_path, "anthropic", script) as home:
        database = home.engine.paths.database
        await home.engine.services.rules.add(Rule.parse("run(*)"), None)
        runner = await begin(home, workflow(WRITES + wait))
        desks = home.engine.paths.data / "desks"
        await killed(home, runner, "test", lambda: any(desks.rglob("began")), copy)
    put_back(copy, database)
    async with engine_home(tmp_path, "anthropic", script) as home:
        runner = await go_on(home, runner.run.id)
        ((_, question),) = (await carry_out(runner)).questions
        assert question.kind == "unsure"
        await runner.answer(question.id, "happened")
        run = await carry_out(runner)
        assert (run.state, run.step("test").outputs) == ("done", {"exit_code": None})
        assert ("test", "") in run.changes and await changes_by_step(home.engine, run)
        assert await passed_drafts(home.engine, run, runner.plan.workflow) is None


async def test_w26_what_was_tested_is_told_as_long_as_it_is_what_waits(tmp_path: Path) -> None:
    """Not of drafts that the person edited or decided; and what the folder became is told."""
    async with engine_home(tmp_path, "anthropic", script) as home:
        await home.engine.services.rules.add(Rule.parse("run(*)"), None)
        runner = await begin(home, workflow(WRITES + TESTS))
        run, of = await carry_out(runner), runner.plan.workflow
        told = await passed_drafts(home.engine, run, of)
        assert told is not None and await changed_since(told) == 0
        for count, name in enumerate(("a.txt", "b.txt"), 1):
            (home.folder / name).write_text("New meanwhile.\n")
            assert await changed_since(told) == count
        session = await home.engine.sessions.open(run.drafts)
        first, second = session.drafts.waiting_files()
        edited = await session.review.edit(first.id, "By the person.\n")
        assert await passed_drafts(home.engine, run, of) is None
        await session.review.edit(edited.id, first.after)  # who looked has not closed it
        assert await passed_drafts(home.engine, run, of) is not None
        await session.review.decide(second.id, "discard")
        assert await passed_drafts(home.engine, run, of) is None
        assert await changes_by_step(home.engine, run), "they stand there all the same"


@pytest.mark.skipif(sys.platform == "win32", reason="a pipe has no name in a folder there")
async def test_w26_a_pipe_where_the_file_was_is_a_change(tmp_path: Path) -> None:
    """Nothing is read from it: that would never end."""
    pipe = tmp_path / "a.txt"
    os.mkfifo(pipe)
    tested = PassedDrafts("Tests", "", 1, True, str(tmp_path), (("a.txt", ""),))
    try:
        async with within():
            assert await changed_since(tested) == 1
    finally:  # whoever reads it comes to its end
        os.close(os.open(pipe, os.O_RDWR | os.O_NONBLOCK))


async def test_w26_a_file_where_the_folder_of_a_new_one_was_is_a_change(tmp_path: Path) -> None:
    """The draft cannot be approved so; that its folder is not there yet is no change."""
    tested = PassedDrafts("Tests", "", 1, True, str(tmp_path), (("new/deep/a.txt", ""),))
    assert await changed_since(tested) == 0
    (tmp_path / "new").write_text("A file now.\n")
    assert await changed_since(tested) == 1
