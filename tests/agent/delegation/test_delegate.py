"""Agents that have others do tasks, with real sessions and the simulator as their model (W-32)."""

from __future__ import annotations

import asyncio
import json
import sqlite3
import sys
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from studio.agent.delegation.session_tree import session_tree
from studio.agent.session.session import Session
from studio.domain.blocks import DraftBlock, TextBlock
from studio.domain.events import (
    AwaitingPermission,
    AwaitingReply,
    ChildWorks,
    Event,
    PermissionResolved,
    ToolFinished,
    TurnComplete,
)
from studio.domain.messages import Text
from studio.domain.sessions import Caller
from studio.simulator import Call, RequestView, Turn, Usage
from studio.simulator import Text as Words
from studio.storage.sessions import event_log
from support.delegation_home import agent, cast, delegate, repeats, results, save, says
from support.engine_home import PROTOCOLS, EngineHome, engine_home, say
from support.waiting import until, within
from support.workflow_home import asked_in

LEAD, HELPER = agent("Lead", "agents: [Helper]"), agent("Helper")


def finished(events: list[Event]) -> list[ToolFinished]:
    return [one for one in events if isinstance(one, ToolFinished)]


def ended(events: list[Event]) -> str:
    assert isinstance(events[-1], TurnComplete)
    return events[-1].reason


async def children(home: EngineHome, session: Session) -> list[str]:
    called = await home.engine.store.called_by(Caller("session", session.info.id))
    return [one.id for one in called]


@pytest.mark.parametrize("provider", PROTOCOLS)
async def test_w32_w36_the_answer_of_a_child_reaches_its_caller(
    tmp_path: Path, provider: str
) -> None:
    """PRE-34."""
    seen: list[RequestView] = []

    def help_out(view: RequestView) -> Turn:
        seen.append(view)
        return says("There are 7.")

    script = cast(Lead=[Turn(delegate("Helper", "Count the files")), repeats], Helper=[help_out])
    async with engine_home(tmp_path, provider, script) as home:
        save(home.engine.paths.agents, LEAD, HELPER)
        session = await home.session("Lead")
        events = await say(session, "A secret of the person: how many?")
        done = finished(events)
        assert [one.is_error for one in done] == [False]
        assert done[0].text.startswith("There are 7.\n[Helper (child "), done[0].text
        assert ended(events) == "done"
        works = [one for one in events if isinstance(one, ChildWorks)]
        assert (works[0].reason, works[-1].reason) == ("", "done")
        assert await children(home, session) == [works[-1].session_id]
        assert works[-1].session_id not in [one.id for one in await home.engine.sessions.list()]
        assert "Count the files" in str(seen[0].body) and "secret" not in str(seen[0].body)
        assert "delegate" not in seen[0].tool_names, "it may start nobody"
        used = await home.engine.usage_costs.of_tree(session.info.id)
        assert set(used) == {"Lead", "Helper"}
        tokens = sum(one.usage.total for one in used.values())
        every = (await home.engine.usage_costs.spent("agent")).values()
        assert tokens == sum(one.usage.total for one in every) > 0  # W-39
        assert f"{used['Helper'].usage.total:,} tokens" in done[0].text
        assert not home.simulator.violations


async def test_w32_a_child_is_told_which_files_it_needs(tmp_path: Path) -> None:
    """One that is not there is an error at once, and no child begins."""
    seen: list[RequestView] = []

    def help_out(view: RequestView) -> Turn:
        seen.append(view)
        return says("Done.")

    calls = Turn(
        delegate("Helper", "Look", files=["a.txt", "b/c.txt"]),
        delegate("Helper", "Look", files=["a.txt", "gone.txt"]),
    )
    async with engine_home(
        tmp_path, "anthropic", cast(Lead=[calls, repeats], Helper=[help_out])
    ) as home:
        (home.folder / "b").mkdir()
        for name in ("a.txt", "b/c.txt"):
            (home.folder / name).write_text("x")
        save(home.engine.paths.agents, LEAD, HELPER)
        session = await home.session("Lead")
        done = finished(await say(session))
        assert "gone.txt" in next(one.text for one in done if one.is_error)
        assert sorted(one.is_error for one in done) == [False, True]
        assert len(seen) == 1 and len(await children(home, session)) == 1
        assert "- a.txt\n- b/c.txt" in asked_in(seen[0])


async def test_w39_what_agents_and_the_tree_cost_is_what_usage_says(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """To the cent, with a price for each of two models."""
    calls = Turn(
        *(delegate("Helper", f"Part {n}") for n in range(3)), usage=Usage(inp=40_000, out=900)
    )
    help_out = Turn(Words("Done."), usage=Usage(inp=70_000, out=3_000))
    script = cast(
        Lead=[calls, Turn(Words("All."), usage=Usage(inp=41_000, out=50))], Helper=[help_out]
    )
    async with engine_home(tmp_path, "openai-compatible", script) as home:
        for model, price in (("sim-model", 3.0), ("other-model", 0.7)):
            home.engine.settings.values.models[f"openai-compatible/{model}"] = {
                "input_price": price,
                "output_price": 5 * price,
            }
        model = "model: openai-compatible/other-model"
        save(home.engine.paths.agents, LEAD, agent("Helper", model))
        session = await home.session("Lead")
        assert ended(await say(session)) == "done"
        lead, helper = 81_000 * 3.0 + 950 * 15.0, 3 * (70_000 * 0.7 + 3_000 * 3.5)
        used = await home.engine.usage_costs.of_tree(session.info.id)
        costs = {name: round(one.cost, 2) for name, one in used.items()}
        assert costs == {"Lead": round(lead / 1e6, 2), "Helper": round(helper / 1e6, 2)}
        tree = await session_tree(home.engine.store, home.engine.usage_costs, session.info)
        assert len(tree) == 4
        capsys.readouterr()
        assert await home.command("usage", "--by", "agent", "--json") == 0
        told = {one["agent"]: one["cost"] for one in json.loads(capsys.readouterr().out)}
        assert {name: round(cost, 2) for name, cost in told.items()} == costs
        assert round(sum(one.used.cost for one in tree), 2) == round(sum(told.values()), 2)


async def test_w33_an_unknown_agent_gets_the_list(tmp_path: Path) -> None:
    """PRE-14."""
    offered: list[str] = []

    def lead(view: RequestView) -> Turn:
        offered.extend(t.description for t in view.tools if t.name == "delegate")
        return Turn(delegate("Nobody", "x"), delegate("Other", "x"))

    hidden = agent("Hidden", "disable-model-invocation: true")
    async with engine_home(tmp_path, "anthropic", cast(Lead=[lead, says(".")])) as home:
        save(home.engine.paths.agents, agent("Lead", "agents: [Helper, Hidden]"))
        save(home.engine.paths.agents, HELPER, hidden, agent("Other"))
        events = await say(await home.session("Lead"))
        assert [one.is_error for one in finished(events)] == [True, True]
        for one in finished(events):
            assert "- Helper: Is Helper" in one.text
            assert "Hidden" not in one.text and "- Other" not in one.text
        assert "- Helper: Is Helper" in offered[0] and "Other" not in offered[0]


async def test_w32_w34_several_work_side_by_side_and_no_more_than_allowed(tmp_path: Path) -> None:
    """Three of which two may work at a time: the third begins when one has ended. PRE-40."""
    calls = Turn(*(delegate("Helper", f"Task {n}") for n in range(3)))
    ask = Turn(Call("ask", {"question": "May I?"}))
    script = cast(Lead=[calls, repeats], Helper=[ask, says("Done.")])
    async with engine_home(tmp_path, "anthropic", script) as home:
        save(home.engine.paths.agents, agent("Lead", "agents: [Helper]\nchildren: 2"), HELPER)
        session = await home.session("Lead")
        running = home.engine.delegation.running
        events: list[Event] = []
        at_work: list[int] = []
        async with within():
            async for envelope in session.turn([Text("Go")]):
                events.append(envelope.event)
                if isinstance(envelope.event, AwaitingReply):
                    if not any(isinstance(one, AwaitingReply) for one in events[:-1]):
                        await until(lambda: len(running(session.info.id)) == 2)
                    session.answer_question(envelope.event.call_id, "Yes")
                at_work.append(len(running(session.info.id)))
        assert [one.text[:5] for one in finished(events)] == ["Done."] * 3
        assert max(at_work) == 2


async def test_w34_a_child_at_the_lowest_level_is_offered_nobody(tmp_path: Path) -> None:
    names: dict[str, list[str]] = {}

    def reply(view: RequestView) -> Turn:
        level = view.last_user
        names[level] = view.tool_names
        if results(view):
            return says("Up.")
        return Turn(delegate("Lead", level + "x")) if "delegate" in view.tool_names else says("Up.")

    async with engine_home(tmp_path, "anthropic", cast(Lead=[reply])) as home:
        save(home.engine.paths.agents, agent("Lead", 'agents: ["*"]'))
        await say(await home.session("Lead"), "x")
        assert sorted(names) == ["x", "xx", "xxx"]
        assert ["delegate" in names[one] for one in sorted(names)] == [True, True, False]


async def test_runaway_an_agent_that_starts_itself_for_ever(tmp_path: Path) -> None:
    """PRE-12, W-34, W-35: at most 32 children and $1.00, and the turn ends by itself."""

    def reply(view: RequestView) -> Turn:
        n = len(results(view))
        return Turn(*(delegate("Lead", f"{view.last_user}.{n}{i}") for i in range(4)))

    async with engine_home(tmp_path, "anthropic", cast(Lead=[reply])) as home:
        save(home.engine.paths.agents, agent("Lead", "agents: [Lead]\ndepth: 5\ndollars: 1.00"))
        session = await home.session("Lead", "claude-opus-4-5")
        async with within():
            events = await say(session, "Go")
        assert isinstance(events[-1], TurnComplete)
        begun = await home.engine.store.descendants((session.info.id,))
        assert 0 < len(begun) <= 32
        spent = await home.engine.usage_costs.of_tree(session.info.id)
        assert 0 < sum(one.cost for one in spent.values()) <= 1.0


async def test_w33_the_coder_may_start_who_finds_out_and_who_tests(tmp_path: Path) -> None:
    """It is offered them with what they do."""
    async with engine_home(tmp_path, "anthropic", [says("Fine.")]) as home:
        await say(await home.session("Coder"))
        sent: Any = home.asked[0].json
        (tool,) = (one for one in sent["tools"] if one["name"] == "delegate")
        agents = (await home.engine.agents(home.folder)).by_name
        for name in ("Researcher", "Tester"):
            assert agents[name].description in tool["description"] + str(tool["input_schema"])


@pytest.mark.parametrize("dollars", [0.0, 0.5])
async def test_w35_no_child_without_a_cap(tmp_path: Path, dollars: float) -> None:
    more = {"dollars": dollars} if dollars else {}
    script = cast(Lead=[Turn(delegate("Helper", "x", **more)), says(".")], Helper=[says("y")])
    async with engine_home(tmp_path, "anthropic", script) as home:
        save(home.engine.paths.agents, agent("Lead", "agents: [Helper]\ndollars: 8"), HELPER)
        home.engine.settings.values.turn_dollars = 0.0
        session = await home.session("Lead")
        await say(session)
        child = home.engine.delegation.of(session.info.id)[0]
        assert child.caps.dollars == pytest.approx(dollars or 2.0, rel=0.01)


async def test_w22_questions_of_any_depth_reach_the_person_once_with_their_path(
    tmp_path: Path,
) -> None:
    """Asked in the chat alone; “for this chat” counts for the next child, too."""
    ask, run = Call("ask", {"question": "Which?"}), Call("run", {"command": "touch made"})
    script = cast(
        Lead=[
            Turn(delegate("Middle", "one")),
            Turn(delegate("Helper", "two")),
            repeats,
        ],
        Middle=[Turn(delegate("Helper", "three")), repeats],
        Helper=[Turn(run), Turn(ask), repeats],
    )
    async with engine_home(tmp_path, "anthropic", script) as home:
        save(home.engine.paths.agents, HELPER, agent("Middle", "agents: [Helper]"))
        save(home.engine.paths.agents, agent("Lead", "agents: [Middle, Helper]"))
        session = await home.session("Lead")
        titles: list[str] = []
        asked: list[str] = []
        async with within():
            async for envelope in session.turn([Text("Go")]):
                match envelope.event:
                    case AwaitingPermission(question):
                        titles.append(question.title)
                        session.answer_permission(question.id, "session")
                    case AwaitingReply(call_id, text):
                        asked.append(text)
                        session.answer_question(call_id, "this one")
                    case ChildWorks() | _:
                        pass
        assert titles == ["Lead, Middle, Helper wants to run a command"]
        assert asked == ["Middle: Helper: Which?", "Helper: Which?"]
        answers = [one.text for one in session.transcript.blocks if isinstance(one, TextBlock)]
        assert "this one" in answers[-1]
        assert (home.folder / "made").exists()
        assert not session.transcript.questions


async def test_w21_a_child_may_do_no_more_than_its_caller(tmp_path: Path) -> None:
    """What the caller's role and rules forbid is refused to its children."""
    write = Call("write", {"path": "b.txt", "content": "x"})
    script = cast(
        Lead=[Turn(delegate("Helper", "x")), repeats],
        Helper=[
            Turn(Call("read", {"path": "a.txt"}), Call("run", {"command": "ls"}), write),
            repeats,
        ],
    )
    keys = 'agents: [Helper]\nrole: edits\npermissions: {deny: ["read(a.txt)"]}'
    lead = agent("Lead", keys, "read")
    async with engine_home(tmp_path, "anthropic", script) as home:
        (home.folder / "a.txt").write_text("hidden")
        save(home.engine.paths.agents, lead, agent("Helper", 'permissions: {allow: ["read"]}'))
        session = await home.session("Lead")
        events = await say(session, answer="once")
        assert "hidden" not in finished(events)[0].text
        assert not [one for one in events if isinstance(one, AwaitingPermission)]
        child = await home.engine.sessions.open((await children(home, session))[0])
        states = [one.state for one in child.transcript.last_calls]
        assert states == ["error", "error", "done"]


async def test_drafts_of_a_child_are_its_callers(tmp_path: Path) -> None:
    """The caller reads what the child wrote, and the person approves it in one chat (T-5)."""
    write = Call("write", {"path": "a.txt", "content": "by the child\n"})
    edit = Call("edit", {"path": "a.txt", "old": "child", "new": "two"})
    script = cast(
        Lead=[
            Turn(delegate("Helper", "write")),
            Turn(Call("read", {"path": "a.txt"})),
            Turn(edit),
            says("Done."),
        ],
        Helper=[Turn(write), says("Written.")],
    )
    async with engine_home(tmp_path, "anthropic", script) as home:
        save(home.engine.paths.agents, LEAD, HELPER)
        session = await home.session("Lead")
        events = await say(session)
        texts = [one.text for one in finished(events)]
        assert "Drafts: a.txt." in texts[0] and "by the child" in texts[1], texts
        assert not [one.is_error for one in finished(events) if one.is_error], texts
        waiting = session.drafts.waiting()
        assert [one.describe().name for one in waiting] == ["a.txt"]
        assert {one.session_id for one in await home.engine.store.drafts()} == {session.info.id}
        await session.review.decide(waiting[0].id, "approve")
        assert (home.folder / "a.txt").read_text() == "by the two\n"
        await session.undo_turn(session.transcript.turn_id)
        assert not (home.folder / "a.txt").exists()


async def test_two_children_that_change_one_file_lose_nothing(tmp_path: Path) -> None:
    def change(view: RequestView) -> Turn:
        old, seen = view.last_user, results(view)
        if len(seen) > 1 and len(seen) % 2 == 0 and "changed" not in seen[-1]:
            return says("Done.")
        if len(seen) % 2:
            return Turn(Call("edit", {"path": "a.txt", "old": old, "new": old.upper()}))
        return Turn(Call("read", {"path": "a.txt"}))

    calls = Turn(delegate("Helper", "one"), delegate("Helper", "two"))
    async with engine_home(
        tmp_path, "anthropic", cast(Lead=[calls, says(".")], Helper=[change])
    ) as home:
        (home.folder / "a.txt").write_text("one\ntwo\n")
        save(home.engine.paths.agents, LEAD, HELPER)
        session = await home.session("Lead")
        await say(session)
        drafts = [b.draft for b in session.transcript.blocks if isinstance(b, DraftBlock)]
        assert drafts[-1].describe().after == "ONE\nTWO\n"


async def test_w37_a_long_answer_is_kept_whole_and_a_schema_is_kept_to(tmp_path: Path) -> None:
    schema = {"type": "object", "properties": {"n": {"type": "integer"}}, "required": ["n"]}
    script = cast(
        Lead=[
            Turn(
                delegate("Helper", "long"),
                delegate("Maths", "fits", schema=schema),
                delegate("Liar", "does not fit", schema=schema),
            ),
            says("."),
        ],
        Helper=[says("word " * 20_000)],
        Maths=[says('{"n": 7}')],
        Liar=[says("seven")],
    )
    async with engine_home(tmp_path, "anthropic", script) as home:
        save(home.engine.paths.agents, agent("Lead", 'agents: ["*"]'), HELPER)
        save(home.engine.paths.agents, agent("Maths"), agent("Liar"))
        session = await home.session("Lead")
        await say(session)
        long, fits, liar = session.transcript.last_calls
        answer, _, tail = long.output.rpartition("\n[Helper (child ")
        assert len(answer) <= 8_000 and tail
        path = answer.split("The whole text is in ")[1].split(" …]")[0]
        assert Path(path).read_text() == ("word " * 20_000).strip()
        assert fits.output.startswith('{"n": 7}\n[') and fits.state == "done"
        assert liar.state == "error" and "does not fit the schema" in liar.output


async def test_w19_stop_ends_the_whole_tree(tmp_path: Path) -> None:
    """PRE-9."""
    run = Call("run", {"command": "sleep 3600"})
    script = cast(
        Lead=[Turn(delegate("Middle", "x"))],
        Middle=[Turn(delegate("Helper", "y"))],
        Helper=[Turn(run)],
    )
    async with engine_home(tmp_path, "anthropic", script) as home:
        save(home.engine.paths.agents, HELPER, agent("Middle", "agents: [Helper]"))
        save(home.engine.paths.agents, agent("Lead", "agents: [Middle]"))
        home.engine.settings.values.default_permission_mode = "auto"
        session = await home.session("Lead")
        events: list[Event] = []
        async with within():
            async for envelope in session.turn([Text("Go")]):
                events.append(envelope.event)
                if isinstance(envelope.event, AwaitingPermission):
                    session.answer_permission(envelope.event.question.id, "once")
                if isinstance(envelope.event, PermissionResolved):
                    asyncio.get_running_loop().call_later(0.2, session.stop)
        assert ended(events) == "cancelled"
        for one in await home.engine.store.descendants((session.info.id,)):
            child = await home.engine.sessions.open(one)
            ended_with = [call.output for call in child.transcript.last_calls]
            assert not child.running and child.info.state == "cancelled", ended_with


LOOK = """\
import contextlib, sqlite3, sys
with contextlib.closing(sqlite3.connect(f"file:{sys.argv[1]}?mode=ro", uri=True)) as db:
    print("rows", db.execute("SELECT state, count(*) FROM audit WHERE tool = 'run'").fetchone())
"""


async def test_l15_the_audit_has_the_call_of_a_child_before_it_acts(tmp_path: Path) -> None:
    """Whatever kills the program then: a child's call is in the child's own chat."""
    script = cast(
        Lead=[Turn(delegate("Helper", "look")), repeats],
        Helper=[Turn(Call("run", {"command": f"{sys.executable} look.py"})), repeats],
    )
    async with engine_home(tmp_path, "anthropic", script) as home:
        home.engine.settings.values.sandbox = False  # which would hide the database
        look = home.folder / "look.py"
        look.write_text(LOOK.replace("sys.argv[1]", repr(str(home.engine.paths.database))))
        save(home.engine.paths.agents, HELPER, LEAD)
        events = await say(await home.session("Lead"), answer="once")
        assert "rows ('running', 1)" in finished(events)[-1].text


async def test_w38_the_end_of_a_child_in_the_background_reaches_its_caller(tmp_path: Path) -> None:
    """PRE-34, W-35: the person is asked before it starts, with name, task, model and cap."""
    done = asyncio.Event()
    told: list[str] = []

    def lead(view: RequestView) -> Turn:
        told.append(str(view.body))
        return Turn(Call("wait", {"seconds": 600}))

    script = cast(
        Lead=[Turn(delegate("Helper", "look", background=True)), lead, repeats],
        Helper=[Turn(Call("write", {"path": "b.txt", "content": "x"})), says("It is so.")],
    )
    async with engine_home(tmp_path, "anthropic", script) as home:
        save(home.engine.paths.agents, LEAD, HELPER)
        session = await home.session("Lead")
        events: list[Event] = []
        async with within():
            async for envelope in session.turn([Text("Go")]):
                events.append(envelope.event)
                if isinstance(envelope.event, AwaitingPermission):
                    session.answer_permission(envelope.event.question.id, "once")
        question = next(one.question for one in events if isinstance(one, AwaitingPermission))
        assert question.title == "Lead wants to start Helper in the background"
        assert question.detail == "look"
        assert dict(question.facts)["model"] == "anthropic/sim-model"
        assert dict(question.facts)["limit"] == "At most $1.25"
        start, waited = finished(events)
        assert "works in the background now, with at most $1.25" in start.text
        assert "It is so." in waited.text and "They wait in its own chat" in waited.text
        entry = (await home.engine.store.drafts())[0]
        assert [entry.session_id] == await children(home, session), "where the person finds it"
        done.set()


async def test_w16_the_disk_names_a_child_before_it_can_act(tmp_path: Path) -> None:
    """Or nobody could tell, were the program killed then, whose action may have happened."""
    named: list[list[str]] = []

    def help_out(view: RequestView) -> Turn:
        with closing(sqlite3.connect(tmp_path / "studio" / "studio.db")) as db:
            stored = event_log.events(db, session.info.id)
        named.append([one.agent for one in stored if isinstance(one, ChildWorks)])
        return says("It is so.")

    script = cast(Lead=[Turn(delegate("Helper", "look")), says("There.")], Helper=[help_out])
    async with engine_home(tmp_path, "anthropic", script) as home:
        save(home.engine.paths.agents, LEAD, HELPER)
        session = await home.session("Lead")
        assert ended(await say(session)) == "done"
    assert len(named) == 1 and named[0][:1] == ["Helper"], named


async def test_w38_after_the_turn_the_chat_says_so_and_the_next_request_tells(
    tmp_path: Path,
) -> None:
    told: list[str] = []

    def lead(view: RequestView) -> Turn:
        told.append(str(view.body))
        return says("I see.")

    hold = Call("ask", {"question": "May I?"})
    script = cast(
        Lead=[Turn(delegate("Helper", "look", background=True)), says("Later."), lead],
        Helper=[Turn(hold), says("It is so.")],
    )
    async with engine_home(tmp_path, "anthropic", script) as home:
        save(
            home.engine.paths.agents,
            agent("Lead", "agents: [Helper]\npermissions: {allow: [delegate]}"),
        )
        save(home.engine.paths.agents, HELPER)
        session = await home.session("Lead")
        events = await say(session)
        assert ended(events) == "done"
        child = home.engine.delegation.of(session.info.id)[0]
        await until(lambda: child.session.info.state == "waiting")
        call = child.session.transcript.last_calls[-1]
        child.session.answer_question(call.call_id, "Yes")
        await until(
            lambda: any(
                "in the background" in getattr(b, "text", "") for b in session.transcript.blocks
            )
        )
        events = await say(session, "And?")
        assert "which you started, is done" in told[0]
