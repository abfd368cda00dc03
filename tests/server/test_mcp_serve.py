"""``agent-studio mcp serve``: the real command, and the official SDK's client at its end (M-25)."""

from __future__ import annotations

import asyncio
import json
import os
import signal
import sys
from asyncio.subprocess import DEVNULL
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import mcp_types as types
import pytest

from studio.agent.studios_above import STUDIOS
from studio.domain.permissions import Question
from studio.server.mcp.calls import OpenCall
from studio.server.mcp.forms import Form, permission_form
from studio.server.mcp.studio_tools import TOO_DEEP
from studio.simulator import Call, Script, Simulator, Text, Turn
from studio.storage.database import Database
from studio.storage.migrations import MIGRATIONS
from studio.storage.paths import Paths
from studio.storage.remote_approvals import RemoteApprovals
from support.command import ROOT, Command, finish
from support.engine_home import is_locked, reply_requests
from support.fork_server import forked_python
from support.mcp_client import ERAS, mcp_client
from support.waiting import until, within

PROVIDER = "ollama"
TOUCH = Turn(Call("run", {"command": "touch ran"}))
HOLD = (
    "import fcntl, time; f = open('child', 'w'); fcntl.flock(f, fcntl.LOCK_EX); "
    "print('up', flush=True); time.sleep(3600)"
)


@asynccontextmanager
async def studio(
    place: Path, script: Script, **settings: object
) -> AsyncIterator[tuple[Command, Simulator]]:
    async with Simulator(script, pace=False) as simulator:
        terminal = Command(place)
        terminal.provider(PROVIDER, simulator.url("ollama"))
        terminal.change(
            default_provider=PROVIDER,
            default_model={PROVIDER: "sim-model"},
            write_titles=False,
            server_folder=str(terminal.folder),
            **settings,
        )
        yield terminal, simulator


def words(result: Any) -> str:
    return "\n".join(one.text for one in result.content)


class Person:
    """The person at the client, who fills in forms."""

    def __init__(self, action: str, **content: str) -> None:
        self.answer = types.ElicitResult(action=action, content=content or None)  # type: ignore[arg-type]
        self.asked: list[types.ElicitRequestFormParams] = []

    async def __call__(self, context: Any, params: Any) -> types.ElicitResult:
        self.asked.append(params)
        return self.answer


@pytest.mark.parametrize("era", ERAS)
async def test_m25_an_agent_answers_and_is_gone_on_with(tmp_path: Path, era: str) -> None:
    """Steps are progress, the answer is a chat of the studio, and limits count."""
    script = [
        Turn(Text("I look."), Call("read", {"path": "a.txt"})),
        Turn(Text("It says one.")),
        Turn(Text("Still one.")),
    ]
    told: list[str | None] = []

    async def heard(progress: float, total: float | None, message: str | None) -> None:
        told.append(message)

    async with studio(tmp_path, script) as (terminal, simulator):
        (terminal.folder / "a.txt").write_text("one\n")
        async with mcp_client(terminal, era=era) as client:
            tools = (await client.list_tools()).tools
            assert [one.name for one in tools] == ["list_agents", "ask_agent", "run_workflow"]
            listed = (await client.call_tool("list_agents", {})).structured_content
            assert "Coder" in [one["name"] for one in listed["agents"]]
            assert "research" in [one["name"] for one in listed["workflows"]]

            asked = {"message": "What is in a.txt?"}
            first = await client.call_tool("ask_agent", asked, progress_callback=heard)
            assert not first.is_error and first.structured_content["answer"] == "It says one."
            assert "Reading a.txt" in told
            chat = first.structured_content["chat"]
            assert chat and chat in words(first)
            again = await client.call_tool("ask_agent", {"message": "Sure?", "chat": chat})
            assert again.structured_content["answer"] == "Still one."
            messages = str(reply_requests(simulator)[-1].json["messages"])
            assert "What is in a.txt?" in messages and "Sure?" in messages

            made = len(reply_requests(simulator))
            terminal.change(day_tokens=1)
            capped = await client.call_tool("ask_agent", {"message": "More"})
            assert capped.is_error and "is reached" in words(capped)
            assert len(reply_requests(simulator)) == made
        listed = json.loads((await terminal("sessions", "list", "--json")).out)
        assert "What is in a.txt?" in json.dumps(listed)
        assert not simulator.violations


async def test_m25_agents_work_in_the_folder_that_the_command_names(tmp_path: Path) -> None:
    """M-25: before that of the settings; where there is none, nothing is served."""
    script = [Turn(Call("read", {"path": "a.txt"})), Turn(Text("Done."))]
    other = tmp_path / "other"
    other.mkdir()
    (other / "a.txt").write_text("from there\n")
    async with studio(tmp_path, script) as (terminal, simulator):
        async with mcp_client(terminal, "--folder", str(other)) as client:
            await client.call_tool("ask_agent", {"message": "What is in a.txt?"})
        assert "from there" in str(reply_requests(simulator)[-1].json["messages"])
        ended = await terminal("mcp", "serve", "--folder", str(tmp_path / "none"), said=b"")
        assert ended.code and "There is no folder" in ended.err


async def test_m25_what_does_not_fit_says_what_would(tmp_path: Path) -> None:
    async with studio(tmp_path, []) as (terminal, _), mcp_client(terminal) as client:
        for tool, arguments, said in (
            ("ask_agent", {}, "“message” is missing"),
            ("ask_agent", {"message": "x", "agent": "Nobody"}, "Known are Assistant, Coder"),
            ("ask_agent", {"message": "x", "chat": "f" * 64}, "not found"),
            ("ask_agent", {"message": "x", "model": "y"}, "“model” is not known"),
            ("run_workflow", {"workflow": "none"}, "There is no workflow “none”"),
            ("run_workflow", {"workflow": "research", "inputs": []}, "“inputs” is an object"),
        ):
            refused = await client.call_tool(tool, arguments)
            assert refused.is_error and said in words(refused), words(refused)


@pytest.mark.parametrize("era", ERAS)
async def test_m25_the_person_at_the_client_is_asked(tmp_path: Path, era: str) -> None:
    """A form allows one call; a refusal, a client without forms and one that cannot are no yes."""
    ask = Call("ask", {"question": "Which?", "choices": ["red", "blue"]})
    script = [TOUCH, Turn(ask), Turn(Text("Done."))]
    async with studio(tmp_path, script * 3) as (terminal, simulator):
        ran = terminal.folder / "ran"
        for person in (
            Person("accept", answer="allow", answer1="blue"),
            Person("decline"),
            None,
        ):
            more = {"elicitation_callback": person} if person else {}
            async with mcp_client(terminal, era=era, **more) as client:
                result = await client.call_tool("ask_agent", {"message": "Go"})
            assert "Done." in words(result)
            last = str(reply_requests(simulator)[-1].json["messages"][-1])
            allowed = person is not None and person.answer.action == "accept"
            assert ran.exists() == allowed and ("blue" in last) == allowed
            if person is not None:
                permission, question = person.asked
                assert "touch ran" in permission.message
                assert permission.requested_schema["properties"]["answer"]["enum"] == [
                    "allow",
                    "deny",
                ]
                assert "Which?" in question.message
            ran.unlink(missing_ok=True)
        audit = json.loads((await terminal("audit", "--json")).out)
        assert [row["state"] for row in audit if row["tool"] == "run"] == ["done"] + 2 * ["denied"]


def test_m25_nobody_allows_what_they_do_not_see_whole() -> None:
    key = "sk-ant-api03-" + "a1B2" * 20
    asked = Question("1", "2", "run", "Run", f"curl -H 'x-api-key: {key}' example.com")
    assert permission_form(asked) is None


async def test_m25_an_open_window_is_asked_before_the_client(tmp_path: Path) -> None:
    person = Person("accept", answer="allow")
    async with studio(tmp_path, [TOUCH, Turn(Text("Done."))]) as (terminal, _):
        async with mcp_client(terminal, elicitation_callback=person) as client:
            paths = Paths.below(terminal.home)
            database = Database(paths.database, MIGRATIONS)
            await database.open()
            questions = RemoteApprovals(database, paths.data / "bells")
            await questions.register()
            call = asyncio.ensure_future(client.call_tool("ask_agent", {"message": "Go"}))
            async with within():
                while not (waiting := await questions.waiting()):  # noqa: ASYNC110
                    await asyncio.sleep(0.01)
            await questions.answer(waiting[0].id, "deny")
            await call
            await database.close()
        assert not person.asked and not (terminal.folder / "ran").exists()


async def test_m25_a_cancelled_call_stops_what_it_began(tmp_path: Path) -> None:
    command = f'{sys.executable} -c "{HOLD}"'
    script = [Turn(Call("run", {"command": command})), Turn(Text("."))]
    async with (
        studio(tmp_path, script, server_rules={"allow": ["run"]}) as (terminal, simulator),
        mcp_client(terminal) as client,
    ):
        child = terminal.folder / "child"
        call = asyncio.ensure_future(client.call_tool("ask_agent", {"message": "Go"}))
        await until(lambda: child.exists() and is_locked(child))
        call.cancel()
        await asyncio.wait([call])
        await until(lambda: not is_locked(child))
        assert len(reply_requests(simulator)) == 1  # it did not end by itself
        assert not (await client.call_tool("list_agents", {})).is_error


async def test_m25_a_killed_client_leaves_nothing(tmp_path: Path) -> None:
    """The client's process is killed during a call: the server and its command end."""
    command = f'{sys.executable} -c "{HOLD}"'
    script = [Turn(Call("run", {"command": command})), Turn(Text("."))]
    rules = {"allow": ["run"]}
    async with studio(tmp_path, script, server_rules=rules) as (terminal, simulator):
        child = terminal.folder / "child"
        environment = {
            **terminal.environment,
            "PYTHONPATH": f"{ROOT}{os.pathsep}{ROOT / 'tests'}",
            "SERVED": json.dumps(terminal.environment),
        }
        script_file = ROOT / "tests" / "support" / "mcp_client.py"
        client = await asyncio.create_subprocess_exec(
            *(sys.executable, str(script_file), str(terminal.folder), "Go"),
            env=environment,
            stdout=DEVNULL,
        )
        await until(lambda: child.exists() and is_locked(child))
        server = [int(one.name) for one in Path("/proc").glob("[0-9]*") if _serves(one, terminal)]
        assert len(server) == 1
        client.send_signal(signal.SIGKILL)
        await client.wait()
        await until(lambda: not is_locked(child))
        await until(lambda: not Path(f"/proc/{server[0]}/cmdline").exists())
        assert len(reply_requests(simulator)) == 1  # it did not end by itself


def _serves(process: Path, terminal: Command) -> bool:
    try:
        line = (process / "cmdline").read_bytes()
    except OSError:
        return False
    return b"\0mcp\0serve\0" in line and str(terminal.folder).encode() in line


async def test_m25_a_workflow_runs_and_its_questions_are_asked(tmp_path: Path) -> None:
    """Its steps are progress; without anybody who answers it waits for the person."""
    text = (
        "---\nname: Greet\ninputs:\n  whom: {type: string, required: true}\nsteps:\n"
        "  - {id: say, title: Say it, agent: Writer}\n"
        '  - {id: sure, title: Sure, needs: say, approve: "Send it?"}\n'
        '  - {id: run, title: Run it, needs: sure, run: "echo it-ran"}\n'
        'outputs: {said: "${{ steps.say.text }} ${{ steps.run.text }}"}\n'
        "---\n## say\nGreet ${{ inputs.whom }}.\n"
    )
    told: list[str | None] = []

    async def heard(progress: float, total: float | None, message: str | None) -> None:
        told.append(message)

    async with studio(tmp_path, lambda _: Turn(Text("Hello, Ada."))) as (terminal, _):
        file = terminal.folder / ".agents" / "workflows" / "greet.md"
        file.parent.mkdir(parents=True)
        file.write_text(text)
        asked = {"workflow": "greet", "inputs": {"whom": "Ada"}}
        person = Person("accept", answer="allow")
        async with mcp_client(terminal, elicitation_callback=person) as client:
            result = await client.call_tool("run_workflow", asked, progress_callback=heard)
            assert words(result).strip() == "Hello, Ada. it-ran" and not result.is_error
            assert {"Say it", "✓ Run it"} <= {*told}
            assert "Send it?" in person.asked[0].message
            assert "echo it-ran" in person.asked[1].message
        async with mcp_client(terminal) as client:
            result = await client.call_tool("run_workflow", asked)
            assert result.is_error and "waits for the person" in words(result)
            assert "workflow resume" in words(result)
        person = Person("cancel")
        async with mcp_client(terminal, elicitation_callback=person) as client:
            result = await client.call_tool("run_workflow", asked)
            assert len(person.asked) == 1 and "waits for the person" in words(result)


async def test_m25_studios_ask_each_other_two_deep(tmp_path: Path) -> None:
    """A studio's servers learn how many studios are above; the third refuses."""

    def script(view: Any) -> Turn:
        said = str(view.items)
        if "From within" in said or "as deep as it goes" in said:
            return Turn(Text("I was told."))
        if "Zwiebel" in said:
            return Turn(Text("From within."))
        return Turn(Call("inner__ask_agent", {"message": "Zwiebel"}))

    rules = {"allow": ["inner__*"]}
    async with studio(tmp_path, script, server_rules=rules) as (terminal, simulator):
        environment = terminal.environment
        inner = forked_python("-m", "studio", "mcp", "serve")
        added = [f"--env={name}={environment[name]}" for name in environment if name != "PATH"]
        ended = await terminal("mcp", "add", *added, "inner", "--", *inner)
        assert ended.code == 0, ended
        ended = await terminal("mcp", "on", "inner", "--yes")
        assert ended.code == 0, ended
        for above, heard in ((0, "From within."), (1, TOO_DEEP)):
            terminal.environment = {**environment, STUDIOS: str(above)}
            async with mcp_client(terminal) as client:
                result = await client.call_tool("ask_agent", {"message": "Outer"})
            assert result.structured_content["answer"] == "I was told.", result
            assert heard in str(reply_requests(simulator)[-1].json["messages"][-1])
        terminal.environment = {**environment, STUDIOS: "2"}
        async with mcp_client(terminal) as client:
            refused = await client.call_tool("run_workflow", {"workflow": "research"})
            assert refused.is_error and words(refused) == TOO_DEEP


async def test_m25_a_person_who_types_the_command_is_told_who_starts_it(tmp_path: Path) -> None:
    """M-25: at a terminal there is no program that speaks; nothing waits for one."""
    terminal, (ours, theirs) = Command(tmp_path), os.openpty()
    try:
        process = await terminal.start("mcp", "serve", stdin=theirs)
        os.close(theirs)
        ended = await finish(process)
    finally:
        os.close(ours)
    assert ended.code and "Another program starts this command" in ended.err, ended


async def test_m25_a_client_that_left_with_its_question_leaves_no_work(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """M-25: without the handshake nothing else says that it has gone; nobody would hear the end."""
    monkeypatch.setattr("studio.server.mcp.calls.PATIENCE", 0.01)
    for given in (True, False):
        call = OpenCall("ask_agent", forms=True)
        call.work = asyncio.ensure_future(asyncio.Event().wait())  # type: ignore[assignment]
        asking = asyncio.ensure_future(call.ask(Form("May it?", {})))
        asked: Any = await call.news.get()
        call.asked = asked if given else None
        assert (await asking).action == "cancel"
        assert bool(call.work.cancelling()) is given
        call.work.cancel()
        await asyncio.wait([call.work])
