"""Items whose agents have tools: what they ask comes up as their step's question (W-22, W-53)."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Callable
from pathlib import Path

import pytest

from studio.agent.usage_costs import total
from studio.domain.blocks import ToolBlock
from studio.domain.errors import ConfigurationError
from studio.domain.events import AwaitingPermission, AwaitingReply
from studio.domain.items import SAMPLE
from studio.domain.questions import AskedQuestion, Choice
from studio.domain.run_events import RunEvent, StepAsked
from studio.domain.transcript import Transcript
from studio.simulator import Call, RequestView, Returned, Text, Turn
from studio.storage.run_items import ItemRow, ItemStore
from studio.workflows.items.shift import ASKING
from studio.workflows.replay import read_record, replay
from studio.workflows.run_questions import session_question
from studio.workflows.runner import Runner
from studio.workflows.workflow_runs import WorkflowRuns
from support.delegation_home import Reply, agent, cast, delegate, repeats, save, says
from support.engine_home import EngineHome, engine_home
from support.waiting import until
from support.workflow_home import asked_in, begin, carry_out, go_on, states, workflow

COUNT = 51
ACTS = workflow(
    f"""\
  - id: act
    agent: Worker
    for_each: [{", ".join(map(str, range(COUNT)))}]
    prompt: "Item ${{{{ item }}}}."
"""
)


def prepare(home: EngineHome) -> None:
    agents = home.engine.paths.agent_places[0]
    agents.mkdir(parents=True, exist_ok=True)
    (agents / "worker.md").write_text("---\nname: Worker\ntools: [run]\n---\nWork.\n")


def acts(view: RequestView) -> Turn:
    """Runs a command of its item's own until it has printed its number, and tells it."""
    number = asked_in(view).partition("Item ")[2].split(".")[0]
    ran = any(isinstance(one, Returned) and one.text.strip() == number for one in view.items)
    return Turn(Text(number)) if ran else Turn(Call("run", {"command": f"echo {number}"}))


async def rows(home: EngineHome, run_id: str) -> list[ItemRow]:
    store = ItemStore(home.engine.database)
    queue = await store.queue(run_id, "act")
    assert queue is not None
    return await store.rows(queue)


async def reopened(home: EngineHome, runner: Runner) -> Runner:
    await WorkflowRuns(home.engine).close(runner)
    return await go_on(home, runner.run.id)


def test_w22_a_run_keeps_what_is_said_of_each_choice() -> None:
    asked = AskedQuestion("Which?", (Choice("main", "58 commits"), Choice("release")))
    event = session_question(("act", ""), "s", AwaitingReply.of("c", [asked]), ("Story", "act"))
    assert isinstance(event, StepAsked)
    assert event.question.choices == ("main", "release")
    assert event.question.abouts == ("58 commits", "")


async def test_w22_w53_items_ask_one_after_the_other_hold_no_place_and_ask_again(
    tmp_path: Path,
) -> None:
    async with engine_home(tmp_path, "anthropic", acts) as home:
        prepare(home)
        runner = await begin(home, ACTS)
        lane = home.engine.services.parallelism.lane("anthropic", "sim-model")
        assert (await carry_out(runner)).state == "needs_you"  # nobody is there
        assert lane.busy == 0 and lane.limit < SAMPLE == ASKING
        assert len([one for one in await rows(home, runner.run.id) if one.session_id]) == SAMPLE
        ((_, stale),) = runner.run.questions
        assert (
            stale.kind == "permission"
            and stale.path[:2] == ("Story", "act")
            and stale.path[2].isdecimal()
            and stale.path[3:] == ("Worker",)
        ), stale

        runner = await reopened(home, runner)
        asked, waiting = list[StepAsked](), set[str]()
        home.engine.sessions.events.subscribe(
            lambda one: (
                waiting.add(one.session_id) if isinstance(one.event, AwaitingPermission) else None
            )
        )
        answers: list[asyncio.Task[None]] = []

        def answer(event: RunEvent) -> None:
            if isinstance(event, StepAsked):
                asked.append(event)
                answers.append(asyncio.create_task(reply(len(asked), event)))

        async def reply(number: int, event: StepAsked) -> None:
            if number == 1 and event.question.kind == "permission":
                # all of the sample wait, and only the first is asked about
                await until(lambda: len(waiting) == SAMPLE)
                assert len(asked) == 1 and lane.busy == 0
            given = {1: "once", 2: "run"}.get(number, "keep")
            await runner.answer(event.question.id, given, "me")

        run = await carry_out(runner, answer)
        await asyncio.gather(*answers)
        assert run.end is not None and run.end.state == "stopped", run.end
        kinds = [one.question.kind for one in asked]
        assert kinds == ["permission"] * 2 + ["sample"], "after “for this run” no item asks"
        assert {one.item for one in asked} == {""} and len({one.question.id for one in asked}) == 3
        found = [one for one in await rows(home, run.id) if one.state == "done"]
        assert len(found) == len({one.session_id for one in found}) == SAMPLE
        assert [one.text for one in found] == [str(one.value) for one in found], "each has run"
        assert lane.busy == 0
        assert not home.simulator.violations


def gives_up(view: RequestView) -> Turn:
    """Runs a command of its item's own once, and tells what came of it, whatever that is."""
    number = asked_in(view).partition("Item ")[2].split(".")[0]
    for one in view.items:
        if isinstance(one, Returned):
            return Turn(Text(one.text.strip()))
    return Turn(Call("run", {"command": f"echo {number}"}))


@pytest.mark.parametrize("count", [2, COUNT])
async def test_w15_w17_what_an_item_waited_for_is_asked_again_and_no_model_hears_otherwise(
    tmp_path: Path, count: int
) -> None:
    """Its program ended while it waited: that is no answer that a model could give up at."""
    text = ACTS.replace(str([*range(COUNT)]), str([*range(count)]))
    async with engine_home(tmp_path, "anthropic", gives_up) as home:
        prepare(home)
        runner = await begin(home, text)
        for _ in range(2):  # nobody is there; and once more
            run = await carry_out(runner)
            assert run.end is None and [*run.questions]
            runner = await reopened(home, runner)
        tasks, asked = list[asyncio.Task[None]](), list[StepAsked]()

        def answer(event: RunEvent) -> None:
            if isinstance(event, StepAsked):
                asked.append(event)
                given = "run" if event.question.kind == "permission" else "keep"
                if event.question.kind != "permission" or count == COUNT or len(asked) == 1:
                    tasks.append(asyncio.create_task(runner.answer(event.question.id, given)))

        run = await carry_out(runner, answer)
        await asyncio.gather(*tasks)
        assert run.end is not None and run.end.state == ("done" if count == 2 else "stopped")
        if count == 2:
            told = {one.item: one.last.text for one in run.steps.values() if one.item and one.last}
            assert sorted(told.values()) == ["0", "1"], told
        else:
            found = [one for one in await rows(home, run.id) if one.state == "done"]
            assert [one.text for one in found] == [str(one.value) for one in found], found
            assert len(found) == SAMPLE
        report = await replay(await read_record(home.engine, run.id))
        assert report.difference is None, report.difference
        assert not home.simulator.violations


async def test_w15_w17_a_reply_is_asked_for_again_beside_calls_that_are_done(
    tmp_path: Path,
) -> None:
    """Of one message's calls only what was not answered is made once more."""
    text = workflow('  - {id: act, agent: Asker, prompt: "Go."}\n')

    def asks(view: RequestView) -> Turn:
        found = [one.text for one in view.items if isinstance(one, Returned)]
        if found:
            return Turn(Text(" / ".join(found)))
        return Turn(
            Call("read", {"path": "a.txt"}),
            Call("delete", {"path": "none.txt"}),  # runs alone: what is before it has ended then
            Call("ask", {"question": "Which?"}),
            stop="tool_use",
        )

    async with engine_home(tmp_path, "anthropic", asks) as home:
        agents = home.engine.paths.agent_places[0]
        agents.mkdir(parents=True, exist_ok=True)
        (agents / "asker.md").write_text(
            "---\nname: Asker\ntools: [read, delete, ask]\n---\nWork.\n"
        )
        (home.folder / "a.txt").write_text("first\n")
        runner = await begin(home, text)
        assert (await carry_out(runner)).state == "needs_you"
        (home.folder / "a.txt").write_text("second\n")
        runner = await reopened(home, runner)
        tasks = list[asyncio.Task[None]]()

        def answer(event: RunEvent) -> None:
            if isinstance(event, StepAsked):
                tasks.append(asyncio.create_task(runner.answer(event.question.id, "this one")))

        run = await carry_out(runner, answer)
        await asyncio.gather(*tasks)
        (one,) = run.steps.values()
        assert one.state == "done" and one.last is not None, one
        assert "first" in one.last.text and "second" not in one.last.text, one.last.text
        assert one.last.text.endswith("this one"), one.last.text
        events = await home.engine.store.events(one.session_id)
        transcript = Transcript(events)
        calls = [block for block in transcript.blocks if isinstance(block, ToolBlock)]
        assert [(block.name, block.state) for block in calls] == [
            ("read", "done"),
            ("delete", "error"),
            ("ask", "done"),
        ]
        assert not home.simulator.violations


async def test_w22_an_item_that_asks_is_left_out_and_the_others_go_on(tmp_path: Path) -> None:
    """W-28: the record has no word of it that a replay would miss."""
    text = workflow(
        """\
  - id: act
    agent: Worker
    for_each: [1, 2, 3]
    prompt: "Item ${{ item }}."
  - {id: told, needs: act, set: {all: "${{ join(steps.act.text) }}"}}
"""
    )
    async with engine_home(tmp_path, "anthropic", acts) as home:
        prepare(home)
        runner, tasks = await begin(home, text), list[asyncio.Task[None]]()

        def answer(event: RunEvent) -> None:
            if isinstance(event, StepAsked):
                asked, second = event.question.id, runner.run.items["act"][event.item] == 2
                does = runner.leave_out(asked) if second else runner.answer(asked, "once")
                tasks.append(asyncio.create_task(does))

        run = await carry_out(runner, answer)
        await asyncio.gather(*tasks)
        assert run.state == "done", run.reason
        assert states(run) == {
            "act": "done",
            "act/1": "done",
            "act/3": "done",
            "told": "done",
            "act/2": "skipped",
        }
        (skipped,) = (one for one in run.steps.values() if one.state == "skipped")
        assert skipped.reason == "You left it out." and skipped.tokens > 0, "what it used counts"
        report = await replay(await read_record(home.engine, run.id))
        assert report.difference is None, report.difference
        with pytest.raises(ConfigurationError, match="any more"):
            await runner.leave_out(tasks[0].get_name())


async def test_w22_w53_an_item_of_a_table_that_asks_is_left_out_and_the_others_go_on(
    tmp_path: Path,
) -> None:
    """One that a program left waiting, and one that waits now."""
    async with engine_home(tmp_path, "anthropic", acts) as home:
        prepare(home)
        runner = await begin(home, ACTS)
        assert (await carry_out(runner)).state == "needs_you"
        runner = await reopened(home, runner)
        ((one, stale),) = runner.run.questions
        assert runner.run.is_of_item(one, stale)
        await asyncio.gather(runner.leave_out(stale.id), runner.leave_out(stale.id))  # two clicks
        assert not [*runner.run.questions]
        (left,) = (r for r in await rows(home, runner.run.id) if r.state == "skipped")
        used = await home.engine.usage_costs.spent("session", left.session_id)
        assert left.tokens == total(used.values()).usage.total, "it is counted once"
        assert [one.state for one in await rows(home, runner.run.id)].count("skipped") == 1
        tasks, asked = list[asyncio.Task[None]](), list[StepAsked]()

        def answer(event: RunEvent) -> None:
            if isinstance(event, StepAsked):
                asked.append(event)
                second = len(asked) == 2
                kind, asks = event.question.kind, event.question.id
                given = "keep" if kind == "sample" else "once" if len(asked) == 1 else "run"
                does = runner.leave_out(asks) if second else runner.answer(asks, given)
                tasks.append(asyncio.create_task(does))

        run = await carry_out(runner, answer)
        await asyncio.gather(*tasks)
        found = Counter(one.state for one in await rows(home, run.id))
        assert found == {"done": SAMPLE - 2, "skipped": 2, "pending": COUNT - SAMPLE}, found
        tally = run.tallies["act"]
        assert (tally.done, tally.failed, tally.skipped) == (SAMPLE - 2, 0, 2)
        assert tally.left == COUNT - SAMPLE and tally.paid == SAMPLE
        (skipped, other) = (r for r in await rows(home, run.id) if r.state == "skipped")
        assert skipped.reason == other.reason == "You left it out."
        assert skipped.tokens > 0 and other.tokens > 0, "what they used counts"
        sample = asked[-1].question
        assert sample.kind == "sample" and sample.text.startswith(f"{SAMPLE - 2} of {COUNT} items")
        with pytest.raises(ConfigurationError, match="any more"):
            await runner.leave_out(sample.id)
        assert not home.simulator.violations


async def test_w22_an_answer_for_the_run_reaches_all_while_items_end(tmp_path: Path) -> None:
    """While its rules are stored for one session after the other, none waits for ever."""
    text = workflow(
        f"""\
  - id: act
    agent: Worker
    for_each: [{", ".join(map(str, range(12)))}]
    prompt: "Item ${{{{ item }}}}."
"""
    )
    async with engine_home(tmp_path, "anthropic", acts) as home:
        prepare(home)
        runner = await begin(home, text)
        working = asyncio.create_task(carry_out(runner, lambda _: None))
        await until(lambda: len([*runner.run.questions]) == 12)
        ids = [asked.id for _, asked in runner.run.questions]
        left = (runner.leave_out(one) for one in ids[:3])
        await asyncio.gather(runner.answer(ids[-1], "run"), *left)
        run = await working
        assert run.state == "done", run.reason


def answering(
    runner: Runner, asked: list[StepAsked], tasks: list[asyncio.Task[None]]
) -> Callable[[RunEvent], None]:
    """Keeps what a run asks, and answers it."""

    def answer(event: RunEvent) -> None:
        if isinstance(event, StepAsked):
            asked.append(event)
            given = "once" if event.question.kind == "permission" else "this one"
            tasks.append(asyncio.create_task(runner.answer(event.question.id, given)))

    return answer


@pytest.mark.parametrize("depth", [1, 2])
@pytest.mark.parametrize(
    "call", [Call("ask", {"question": "Which?"}), Call("run", {"command": "echo this one"})]
)
async def test_w17_w32_what_a_child_waited_for_is_asked_again_and_no_caller_hears_otherwise(
    tmp_path: Path, depth: int, call: Call
) -> None:
    """The same children go on; none that is done, and no call that is, is made again."""
    asked, sessions = list[StepAsked](), set[str]()
    parts: dict[str, list[Reply]] = {
        "Helper": [Turn(Call("read", {"path": "a.txt"})), Turn(call), repeats],
        "Quick": [says("Quick is done."), says("Quick was asked twice.")],
        "Lead": [Turn(delegate("Quick", "q"), delegate("Helper", "x"), stop="tool_use"), repeats],
        "Boss": [Turn(delegate("Lead", "lead")), repeats],
    }
    first = ("Lead", "Boss")[depth - 1]
    script = cast(**parts)
    text = workflow(f'  - {{id: act, agent: {first}, prompt: "Go."}}\n')

    async def session_ids(home: EngineHome) -> set[str]:
        return {row[0] for row in await home.engine.database.rows("SELECT id FROM sessions")}

    run_id = ""
    for again in range(3):  # once more, and then somebody answers
        async with engine_home(tmp_path, "anthropic", script) as home:
            if not again:
                save(
                    home.engine.paths.agents,
                    agent("Boss", "agents: [Lead]"),
                    agent("Lead", "agents: [Quick, Helper]"),
                    agent("Quick"),
                    agent("Helper"),
                )
                (home.folder / "a.txt").write_text("first\n")
            runner = await go_on(home, run_id) if again else await begin(home, text)
            run_id, tasks = runner.run.id, list[asyncio.Task[None]]()
            if again < 2:
                run = await carry_out(runner)
                ((_, question),) = run.questions
                assert question.path == ("Story", "act", first), question.path
                sessions = sessions or await session_ids(home)
                assert await session_ids(home) == sessions
                (home.folder / "a.txt").write_text("second\n")
                await WorkflowRuns(home.engine).close(runner)
                continue

            run = await carry_out(runner, answering(runner, asked, tasks))
            await asyncio.gather(*tasks)
            (one,) = run.steps.values()
            assert run.state == "done" and one.last is not None, run.reason
            assert one.last.text.count("Quick is done.") == 1, one.last.text
            assert "first" in one.last.text and "second" not in one.last.text, one.last.text
            assert "this one" in one.last.text and "twice" not in one.last.text
            assert len(asked) == 1 and await session_ids(home) == sessions
            report = await replay(await read_record(home.engine, run.id))
            assert report.difference is None, report.difference
            assert not home.simulator.violations
