"""Tools of an agent that are workflows (W-2, W-20, W-21, W-34)."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from pathlib import Path

from studio.agent.delegation.session_tree import session_tree
from studio.agent.session.session import Session
from studio.domain.agents import Caps
from studio.domain.events import AwaitingPermission, Event, ToolFinished
from studio.domain.messages import Text as Said
from studio.domain.runs import Run
from studio.simulator import Call, Pace, RequestView, Text, Turn
from studio.workflows.workflow_runs import WorkflowRuns
from support.delegation_home import agent, cast, results, save, says
from support.engine_home import EngineHome, engine_home, say
from support.pack_home import install_code
from support.waiting import until
from support.workflow_home import asked_in, workflow, write

DEFINE = """define:
  - name: release
    description: Writes the notes of a release
    workflow: release
    parameters: {properties: {tag: {type: string}}, required: [tag]}"""
NOTES = workflow(
    """\
  - {id: look, agent: Helper, prompt: "Look at ${{ inputs.tag }}."}
  - {id: put, agent: Helper, prompt: "Put down ${{ steps.look.text }}"}
""",
    "inputs: {tag: {type: string, required: true}}\noutputs: {notes: '${{ steps.put.text }}'}\n",
)
RELEASE = Turn(Call("release", {"tag": "v2"}))


def told(events: list[object]) -> list[str]:
    return [one.text for one in events if isinstance(one, ToolFinished)]


async def runs_of(home: EngineHome) -> list[Run]:
    runs = WorkflowRuns(home.engine)
    return [await runs.read(info.id) for info in await runs.store.list(9)]


def helped(view: RequestView) -> Turn:
    return says("All is new." if "Put down" in asked_in(view) else "Much is new.")


async def test_w2_a_workflow_is_a_tool_of_an_agent(tmp_path: Path) -> None:
    script = cast(Lead=[RELEASE, says("There.")], Helper=[helped])
    async with engine_home(tmp_path, "anthropic", script) as home:
        returns = "\n    returns: {type: object, properties: {notes: {type: string}}}"
        save(home.engine.paths.agents, agent("Lead", DEFINE + returns), agent("Helper"))
        write(home.folder, "release", NOTES)
        session = await home.session("Lead")
        events: list[object] = [*await say(session)]
        (answer,) = told(events)
        assert answer.startswith('{"notes": "All is new."}\n[Story, run 1: done.'), answer
        (run,) = await runs_of(home)
        assert run.state == "done" and run.started is not None
        assert run.started.inputs == {"tag": "v2"}
        used = home.engine.services.budgets.used(session.info.id)
        assert used.tokens >= run.tokens > 0, "what the run used counts for its caller"
        assert "untrusted" in session.transcript.exposed, "the folder's words are a stranger's"
        save(home.folder / ".agents" / "agents", agent("Stranger"))
        untrusted: list[object] = [*await say(await home.session("Lead"))]
        assert "which you do not trust" in told(untrusted)[0]
        await home.engine.rules.trust(home.folder)
        write(home.folder, "release", NOTES.replace("agent: Helper", "agent: Nobody"))
        events = [*await say(await home.session("Lead"))]
        assert "release was not started" in told(events)[0] and "Nobody" in told(events)[0]


async def test_w17_an_open_call_gets_the_result_of_its_run(tmp_path: Path) -> None:
    """The program ended before its caller knew; a run that is not over is told, one stopped not."""
    gate = NOTES.replace("---\n", "  - {id: ok, needs: put, approve: Publish it?}\n---\n", 2)
    gate = gate.removeprefix("  - {id: ok, needs: put, approve: Publish it?}\n")
    script = cast(Lead=[RELEASE, says("There."), RELEASE, says("It waits.")], Helper=[helped])
    async with engine_home(tmp_path, "anthropic", script) as home:
        save(home.engine.paths.agents, agent("Lead", DEFINE), agent("Helper"))

        async def late(text: str) -> tuple[Session, list[Event]]:
            write(home.folder, "release", text)
            session = await home.session("Lead")
            await say(session)
            (call,) = session.transcript.last_calls
            assert call.output.startswith(("All is new.", "It waits for the person"))
            call.state = "cancelled"
            return session, await home.engine.delegation.late_results(session.info.id, [call])

        session, (result,) = await late(NOTES)
        assert isinstance(result, ToolFinished) and not result.is_error
        assert result.text.startswith("All is new.\n[Story, run 1: done.")
        assert "untrusted" in session.transcript.exposed
        again = replace(session.transcript.last_calls[0])  # under its id, and before it had a run
        session.transcript.blocks.append(again)
        assert not await home.engine.delegation.late_results(session.info.id, [again])
        session, (result,) = await late(gate)
        assert isinstance(result, ToolFinished) and result.is_error
        assert "Publish it? Do not start it again." in result.text
        (run,) = [one for one in await runs_of(home) if one.state == "needs_you"]
        await WorkflowRuns(home.engine).stop(run.id)
        calls = session.transcript.last_calls
        assert not await home.engine.delegation.late_results(session.info.id, calls)


async def test_w20_w21_a_run_of_a_tool_may_no_more_than_its_caller(tmp_path: Path) -> None:
    """PRE-15, W-2."""

    def writes(view: RequestView) -> Turn:
        found = results(view)
        return says(found[-1]) if found else Turn(Call("write", {"path": "x", "content": "y"}))

    script = cast(Lead=[RELEASE, says("There.")], Helper=[writes])
    deny = "permissions: {deny: [write]}\n"
    async with engine_home(tmp_path, "anthropic", script) as home:
        save(home.engine.paths.agents, agent("Lead", deny + DEFINE), agent("Helper"))
        write(home.folder, "release", NOTES)
        events: list[object] = [*await say(await home.session("Lead"))]
        assert told(events)[0].startswith("There is no tool called write"), told(events)
        assert not await home.engine.store.drafts()
        capped = await home.session("Lead")
        async for _ in capped.turn([Said("Go")], caps=Caps(tokens=3_000)):
            pass
        assert home.engine.services.budgets.used(capped.info.id).tokens <= 3_000


async def test_w22_w39_what_its_agents_ask_and_cost_is_the_chats(tmp_path: Path) -> None:
    """The chat alone waits for the answer, as long as the call goes on."""

    def asks(view: RequestView) -> Turn:
        return helped(view) if results(view) else Turn(Call("run", {"command": "echo hello"}))

    script = cast(Lead=[RELEASE, says("There.")], Helper=[asks])
    async with engine_home(tmp_path, "anthropic", script) as home:
        save(home.engine.paths.agents, agent("Lead", DEFINE), agent("Helper"))
        write(home.folder, "release", NOTES)
        session, asked = await home.session("Lead"), 0
        store = WorkflowRuns(home.engine).store
        async for envelope in session.turn([Said("Go")]):
            if isinstance(envelope.event, AwaitingPermission):
                asked += 1
                (run,) = await store.list()
                while (await store.list())[0].state != "needs_you":  # noqa: ASYNC110 (of the database)
                    await asyncio.sleep(0)
                assert run.live and await store.waiting() == []
                assert session.info.id in {one.id for one in await home.engine.store.waiting()}
                session.answer_permission(envelope.event.question.id, "once")
        assert asked == 2
        tree = await session_tree(home.engine.store, home.engine.usage_costs, session.info)
        assert [(one.info.agent, one.depth, one.caller) for one in tree] == [
            ("Lead", 0, ""),
            ("Helper", 1, session.info.id),
            ("Helper", 1, session.info.id),
        ]
        used = await home.engine.usage_costs.of_tree(session.info.id)
        assert used["Helper"].usage.total == sum(one.used.usage.total for one in tree[1:]) > 0


async def test_w34_a_workflow_whose_agent_has_it_as_a_tool_comes_to_an_end(tmp_path: Path) -> None:
    again = NOTES.replace("agent: Helper", "agent: Lead")

    def leads(view: RequestView) -> Turn:
        if results(view) or "release" not in view.tool_names:
            return says("No more.")
        return RELEASE

    async with engine_home(tmp_path, "anthropic", cast(Lead=[leads])) as home:
        save(home.engine.paths.agents, agent("Lead", DEFINE))
        write(home.folder, "release", again)
        await say(await home.session("Lead"))
        found = await runs_of(home)
        assert 1 <= len(found) <= 6, "two levels below the chat, and no deeper"
        assert {run.state for run in found} == {"done"}


async def test_w2_a_run_that_needs_the_person_waits_and_a_stop_ends_it(tmp_path: Path) -> None:
    gate = NOTES.replace("---\n", "  - {id: ok, needs: put, approve: Publish it?}\n---\n", 2)
    gate = gate.removeprefix("  - {id: ok, needs: put, approve: Publish it?}\n")
    slow = Turn(Text("Slow."), pace=Pace(600.0, 1.0))

    def helper(view: RequestView) -> Turn:
        return slow if "Look at v3" in asked_in(view) else helped(view)

    def leads(view: RequestView) -> Turn:
        if results(view):
            return says("There.")
        return Turn(Call("release", {"tag": "v3"})) if "Slowly" in asked_in(view) else RELEASE

    async with engine_home(tmp_path, "anthropic", cast(Lead=[leads], Helper=[helper])) as home:
        save(home.engine.paths.agents, agent("Lead", DEFINE), agent("Helper"))
        write(home.folder, "release", gate)
        events: list[object] = [*await say(await home.session("Lead"))]
        assert "It waits for the person" in told(events)[0] and "Publish it?" in told(events)[0]
        (run,) = await runs_of(home)
        assert run.state == "needs_you"
        runner = await WorkflowRuns(home.engine).open(run.id)
        await runner.answer(next(question.id for _, question in run.questions), True)
        assert (await runner.carry_out()).state == "done", "it goes on without its caller"
        await WorkflowRuns(home.engine).close(runner)
        session = await home.session("Lead")
        turn = asyncio.create_task(say(session, "Slowly"))

        async def works() -> bool:
            return any(one.state == "running" and one.busy for one in await runs_of(home))

        await until(lambda: len(home.asked) >= 6, "the slow step")
        assert await works()
        session.stop()
        await turn
        assert [one.state for one in await runs_of(home)] == ["stopped", "done"]


ABOUT = "guard:file/1"
GUARD = f"""
from studio.packs import ALLOWED, Pack, RequestPolicy, Verdict

class Policy(RequestPolicy):
    def ask(self, request, home):
        return ALLOWED if request.subject == "{ABOUT}" else Verdict("Nobody knows what it is about.")

pack = Pack(policy=Policy())
"""


async def test_w2_the_steps_are_about_what_the_chat_is_about(tmp_path: Path) -> None:
    """KZ-7, KZ-42: a pack is asked about them as about the chat, also once the person goes on."""
    gate = NOTES.replace("id: put,", "id: put, needs: ok,")
    gate = gate.replace("  - {id: put", "  - {id: ok, approve: Go on?}\n  - {id: put")
    script = cast(Lead=[RELEASE, says("There.")], Helper=[helped])
    async with engine_home(tmp_path, "anthropic", script) as home:
        install_code(home, tmp_path, GUARD)
        save(home.engine.paths.agents, agent("Lead", DEFINE), agent("Helper"))
        write(home.folder, "release", gate)
        session = await home.session("Lead")
        await session.change(subject=ABOUT)
        await say(session)
        (run,) = await runs_of(home)
        assert run.state == "needs_you" and run.step("look").state == "done", run.reason
        runner = await WorkflowRuns(home.engine).open(run.id)
        await runner.answer(next(question.id for _, question in run.questions), True)
        assert (await runner.carry_out()).state == "done"
        await WorkflowRuns(home.engine).close(runner)
