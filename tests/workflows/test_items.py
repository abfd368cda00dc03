"""Steps with more items than events can hold: each row once, whatever happens (W-53 to W-56)."""

from __future__ import annotations

import asyncio
import json
from collections import Counter
from pathlib import Path

from studio.domain.agents import Caps
from studio.domain.run_events import RunEvent, StepAsked
from studio.simulator import Pace, RequestView, Text, Turn, status
from studio.storage.run_items import ItemStore
from studio.workflows.replay import read_record, replay
from studio.workflows.runner import Runner
from studio.workflows.workflow_runs import RunOptions, WorkflowRuns
from support.engine_home import engine_home
from support.invoices import INVOICES, invoices, number_in, number_in_exchange, reads, results
from support.waiting import until, within
from support.workflow_home import begin, carry_out, go_on, states


def yes(runner: Runner, answer: str = "all") -> list[str]:
    """Answer the question after the sample; returns the questions as they come."""
    asked: list[str] = []

    def hear(_: float, event: RunEvent) -> None:
        if isinstance(event, StepAsked):
            asked.append(event.question.text)
            answering.append(asyncio.ensure_future(runner.answer(event.question.id, answer)))

    answering: list[asyncio.Future[None]] = []
    runner.subscribe(hear)
    return asked


async def test_w53_w55_each_row_once_after_a_sample_and_a_yes(tmp_path: Path) -> None:
    async with engine_home(tmp_path, "anthropic", reads) as home:
        invoices(home, 300)
        runner = await begin(home, INVOICES)
        asked = yes(runner)
        sent_before: list[int] = []
        runner.subscribe(
            lambda _, event: (
                sent_before.append(len(home.asked)) if isinstance(event, StepAsked) else None
            )
        )
        run = await carry_out(runner, lambda _: None)
        assert asked == ["20 of 300 items tried. Run the rest?"] and sent_before == [20]
        assert run.end is not None and run.end.state == "done", run.end
        assert run.end.outputs == {"many": 300}
        found = await results(home, run.id)
        failed = {number for number, (state, _) in found.items() if state == "failed"}
        assert failed == {7, 107, 207}
        assert all(
            made == {"total": n * 2} for n, (state, made) in found.items() if state == "done"
        )
        sent = Counter(number_in_exchange(one.json) for one in home.asked)
        assert set(sent) == set(range(300))
        assert {n: many for n, many in sent.items() if many > 1} == {7: 3, 107: 3, 207: 3}
        sessions = await home.engine.database.rows("SELECT count(*) FROM sessions")
        assert sessions == [(0,)], "an item without tools has no session"
        used = await home.engine.usage_costs.spent("session", run.id)
        assert sum(one.usage.total for one in used.values()) == run.tokens > 0
        replayed = await replay(await read_record(home.engine, run.id))  # W-28
        assert replayed.difference is None, "its items have no record, and that is said"
        assert replayed.taken[0] == "read: what came of its items is taken from the record."
        again = await begin(home, INVOICES)  # the same rows: what was done is not done again
        again.yes = True
        before = len(home.asked)
        await carry_out(again, lambda _: None)
        assert again.run.tallies["read"].linked == 297
        assert len(home.asked) == before + 9
        options = RunOptions({}, provider="anthropic", model="sim-model", subject="office:akte/1")
        path = home.folder / ".agents" / "workflows" / "story.md"
        other = await WorkflowRuns(home.engine).start(path, home.folder, options)
        await carry_out(other)  # no pack says who may see it: nothing is sent
        assert other.run.tallies["read"].linked == 0, "results are of what they are about (KZ-42)"
        assert len(home.asked) == before + 9
        store = ItemStore(home.engine.database)
        queue = await store.queue(run.id, "read")
        assert queue is not None
        await home.engine.database.write(
            lambda db: db.execute(
                "UPDATE run_items SET fault = '', reason = 'Über 5 Grenzen' WHERE state = 'failed'"
            )
        )
        for words in ("Über", "GRENZEN"):  # as a kind of failures and a person ask for them
            assert len(await store.newest(queue, 9, "failed", words)) == 3
            assert len(await store.rows(queue, shown="failed", words=words)) == 3
        assert not home.simulator.violations


async def test_w53_w20_what_was_left_goes_on_after_a_restart_and_a_raised_cap(
    tmp_path: Path,
) -> None:
    async with engine_home(tmp_path, "anthropic", reads) as home:
        invoices(home, 200)
        runner = await begin(home, INVOICES)
        yes(runner)
        carrying = asyncio.create_task(runner.carry_out())
        async with within():
            await home.simulator.wait_requests(90)
        carrying.cancel()  # as a kill: what was on its way is lost
        await asyncio.wait([carrying])
        run_id = runner.run.id
        await home.engine.database.execute("UPDATE runs SET owner = '' WHERE id = ?", run_id)
    async with engine_home(tmp_path, "anthropic", reads) as home:
        runner = await go_on(home, run_id)
        done = len([one for one in (await results(home, run_id)).values() if one[0] != "pending"])
        assert 20 <= done < 200
        await runner.raise_cap(Caps(tokens=runner.run.tokens + 3_000))
        run = await carry_out(runner)
        assert run.paused is not None and "tokens for this run is reached" in run.paused, run.end
        await runner.raise_cap(Caps())
        await runner.resume()
        run = await carry_out(runner)
        assert run.end is not None and run.end.outputs == {"many": 200}, (
            states(run),
            run.questions,
        )
        found = await results(home, run_id)
        assert Counter(state for state, _ in found.values()) == {"done": 198, "failed": 2}
        twice = [
            n
            for n, many in Counter(number_in_exchange(one.json) for one in home.asked).items()
            if many > 1
        ]
        assert set(twice) <= {7, 107}
        used = await home.engine.usage_costs.spent("session", run.id)
        assert sum(one.usage.total for one in used.values()) == run.tokens
        assert not home.simulator.violations


async def test_w56_w54_a_hidden_limit_and_failed_items_tried_again(tmp_path: Path) -> None:
    mended = False

    def script(view: RequestView) -> Turn:
        number = number_in(view)
        turn = reads(view) if not mended else Turn(Text(json.dumps({"total": number * 2})))
        return Turn(*turn.parts, pace=Pace(0.005, 10_000))

    async def sleep(seconds: float) -> None:
        """After the sample and until one is refused, all that may be on their way are it first."""
        lane = home.engine.services.parallelism.lane("anthropic", "sim-model")
        asked = home.simulator.requests

        def held() -> bool:
            at_once = sum(not one.done.is_set() for one in asked)
            return len(asked) > 40 and not lane.found and at_once < lane.limit

        await until(lambda: not held())
        await asyncio.sleep(seconds)

    simulated = {"pace": True, "at_a_time": 6, "sleep": sleep}
    async with engine_home(tmp_path, "anthropic", script, **simulated) as home:
        invoices(home, 300)
        runner = await begin(home, INVOICES)
        runner.yes = True
        run = await carry_out(runner)
        assert Counter(state for state, _ in (await results(home, run.id)).values()) == {
            "done": 297,
            "failed": 3,
        }
        statuses = Counter(one.status for one in home.asked)
        assert 1 <= statuses[429] <= 0.02 * statuses.total()
        assert home.engine.services.parallelism.lane("anthropic", "sim-model").found >= 6
        assert run.tallies["read"].tried_again == {"rate_limited": statuses[429]}
        mended, before = True, len(home.asked)
        again = await WorkflowRuns(home.engine).retry(run.id)  # the run is over: another one
        again.yes = True
        await carry_out(again)
        assert len(home.asked) == before + 3
        assert {state for state, _ in (await results(home, again.run.id)).values()} == {"done"}


async def test_w53_w20_an_answer_before_an_error_is_counted(tmp_path: Path) -> None:
    """The correction of an answer is refused once: what the answer used is paid."""
    refused: list[int] = []

    def script(view: RequestView) -> Turn:
        number = number_in(view)
        if number == 7 and len(view.items) > 1 and not refused:
            refused.append(number)
            return Turn(faults=[status(429)])
        return reads(view)

    async with engine_home(tmp_path, "anthropic", script) as home:
        invoices(home, 60)
        runner = await begin(home, INVOICES)
        runner.yes = True
        run = await carry_out(runner)
        assert run.end is not None and run.end.state == "done" and refused
        answered = [one for one in home.asked if one.status == 200]
        rows = await home.engine.database.rows("SELECT count(*) FROM usage")
        assert rows == [(len(answered),)] == [(60 + 2 + 1,)]
        used = await home.engine.usage_costs.spent("session", run.id)
        assert sum(one.usage.total for one in used.values()) == run.tokens
        assert (await results(home, run.id))[7][0] == "failed"
