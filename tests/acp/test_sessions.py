"""The editors' door: sessions opened again, forked, closed, deleted; options; slash commands."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import pytest
from acp import RequestError, text_block
from acp.schema import (
    AgentPlanUpdate,
    AvailableCommandsUpdate,
    ConfigOptionUpdate,
    CurrentModeUpdate,
    ToolCallProgress,
    ToolCallStart,
    UserMessageChunk,
)

from studio.simulator import Call, Turn, stall
from studio.simulator import Text as Words
from studio.storage.paths import Paths
from support.acp_editor import CHAT, Editor, editor
from support.delegation_home import agent, save
from support.engine_home import reply_requests


async def says(person: Editor, session_id: str, text: str) -> Any:
    return await person.agent.prompt(session_id=session_id, prompt=[text_block(text)])


def of(person: Editor, kind: type[Any]) -> list[Any]:
    return [update for update in person.updates if isinstance(update, kind)]


async def test_sessions_are_resumed_forked_closed_and_deleted(tmp_path: Path) -> None:
    never = Turn(Words("Never ends " * 50), faults=[stall(at=3)])
    script = [Turn(Words("Hello Alice.")), Turn(Words("Alice.")), Turn(Words("Alice!")), never]
    async with editor(tmp_path, script) as person:
        offered = person.agent_capabilities.session_capabilities
        assert offered.resume and offered.fork and offered.close and offered.delete
        folder = str(person.folder)
        name = (await person.agent.new_session(cwd=folder)).session_id
        await says(person, name, "My name is Alice.")
        await person.agent.close_session(session_id=name)
        with pytest.raises(RequestError, match="There is no session"):
            await says(person, name, "Go")

        person.updates.clear()
        resumed = await person.agent.resume_session(cwd=folder, session_id=name)
        assert resumed.modes.current_mode_id == "ask" and resumed.config_options
        assert not of(person, UserMessageChunk), "the editor shows it already"
        fork = await person.agent.fork_session(cwd=folder, session_id=name)
        assert fork.session_id != name and fork.config_options
        for session_id in (fork.session_id, name):
            await says(person, session_id, "What is my name?")
            asked = str(reply_requests(person.simulator)[-1].json)
            assert asked.count("My name is Alice.") == 1 and "Hello Alice." in asked
            assert asked.count("What is my name?") == 1, "each goes on by itself"

        lost = asyncio.create_task(says(person, fork.session_id, "Go"))
        await person.until(lambda: "Never" in person.words)
        with pytest.raises(RequestError, match="still working"):
            await person.agent.fork_session(cwd=folder, session_id=fork.session_id)
        await person.agent.close_session(session_id=fork.session_id)
        assert (await lost).stop_reason == "cancelled"
        for _ in range(2):
            listed = await person.agent.list_sessions(cwd=folder)
            assert {name, fork.session_id} == {one.session_id for one in listed.sessions}
        await person.request("session/delete", {"sessionId": fork.session_id})
        listed = await person.agent.list_sessions(cwd=folder)
        assert [one.session_id for one in listed.sessions] == [name]
        for wrong in ({}, {"sessionId": 5}, {"sessionId": fork.session_id}):
            with pytest.raises(RequestError):
                await person.request("session/delete", wrong)


async def test_unknown_methods_are_answered_by_the_protocol(tmp_path: Path) -> None:
    async with editor(tmp_path, []) as person:
        for method in ("session/x", "_mine", "nes/start", "logout"):
            with pytest.raises(RequestError) as raised:
                await person.request(method, {})
            assert raised.value.code == -32601
        await person.notify("$/cancel_request", {"requestId": 1})
        session = await person.agent.new_session(cwd=str(person.folder))
        with pytest.raises(RequestError) as raised:
            await person.request("session/set_mode", {"sessionId": session.session_id})
        assert raised.value.code == -32602


async def test_options_follow_what_is_chosen_in_either_place(tmp_path: Path) -> None:
    """P-5: the effort too; whatever the session runs on is in the request."""
    async with editor(tmp_path, [Turn(Words("Hello."))]) as person:
        session = await person.agent.new_session(cwd=str(person.folder))
        name = session.session_id
        kinds = {one.id: one.category for one in session.config_options}
        assert kinds == {
            "agent": None,
            "model": "model",
            "mode": "mode",
            "effort": "thought_level",
        }

        await person.agent.set_session_mode(session_id=name, mode_id="auto")
        (update,) = of(person, ConfigOptionUpdate)
        assert {one.id: one.current_value for one in update.config_options}["mode"] == "auto"

        for option, value in (("mode", "plan"), ("effort", "high"), ("model", f"{CHAT}/org/mine")):
            changed = await person.agent.set_config_option(
                config_id=option, session_id=name, value=value
            )
            now = {one.id: one.current_value for one in changed.config_options}
            assert now[option] == value
        assert [one.current_mode_id for one in of(person, CurrentModeUpdate)] == ["auto", "plan"]
        for option, value in (("mode", "wild"), ("effort", "wild")):
            with pytest.raises(RequestError, match="no option"):
                await person.agent.set_config_option(config_id=option, session_id=name, value=value)
        await says(person, name, "Go")
        body = reply_requests(person.simulator)[0].json
        assert body["model"] == "org/mine" and body["reasoning_effort"] == "high"


async def test_the_agents_plan_is_the_editors_plan(tmp_path: Path) -> None:
    """C-2: live and when the chat is opened again; it is no call, and a wrong one is no plan."""

    def plan(*states: str) -> Turn:
        items = [{"text": f"step {n}", "status": state} for n, state in enumerate(states, 1)]
        return Turn(Call("plan", {"items": items}))

    script = [
        plan("active", "pending"),
        plan("active", "active"),
        plan("done", "dropped", "active"),
        Turn(Words("Done.")),
        Turn(Words("The rest is yours.")),
    ]
    async with editor(tmp_path, script) as person:
        name = (await person.agent.new_session(cwd=str(person.folder))).session_id
        await says(person, name, "Go")
        shown = [
            [(entry.content, entry.status) for entry in update.entries]
            for update in of(person, AgentPlanUpdate)
        ]
        last = [("step 1", "completed"), ("step 3", "in_progress")]
        assert shown == [[("step 1", "in_progress"), ("step 2", "pending")], last]
        assert not of(person, ToolCallStart) and not of(person, ToolCallProgress)
        results = str(reply_requests(person.simulator)[-1].json["messages"])
        assert "1 of 2 done" in results and "Only one can be" in results
        person.updates.clear()
        await person.agent.load_session(cwd=str(person.folder), session_id=name)
        again = of(person, AgentPlanUpdate)[-1].entries
        assert [(entry.content, entry.status) for entry in again] == last


async def test_slash_commands(tmp_path: Path) -> None:
    """They are offered once the session is known, and no model reads them."""
    script = [
        Turn(Call("write", {"path": "a", "content": "one\n"})),
        Turn(Words("Done.")),
        Turn(Words("Nothing more.")),
        Turn(Words("The file a was drafted, and the person approved it.")),
        Turn(Words("Again.")),
        Turn(Words("That is a path.")),
    ]
    answers = iter(["", "approve"])

    def choices(call: Any, options: list[str]) -> str:
        return next(answers)

    async with editor(tmp_path, script, choices) as person:
        name = (await person.agent.new_session(cwd=str(person.folder))).session_id
        await person.until(lambda: bool(of(person, AvailableCommandsUpdate)))
        (offered,) = of(person, AvailableCommandsUpdate)
        named = [one.name for one in offered.available_commands]
        assert named == ["compact", "undo", "redo", "retry", "drafts", "handoff"]

        async def told(command: str) -> str:
            before = len(person.words)
            assert (await says(person, name, command)).stop_reason == "end_turn"
            return person.words[before:]

        assert await told("/undo") == "No turn of this chat changed a file that can be undone."
        assert await told("/retry") == "There is nothing to try again yet."
        assert await told("/redo") == "Nothing was undone."
        assert "too little" in await told("/compact")
        await told("Go " * 1000)
        file = person.folder / "a"
        assert not file.exists()
        assert await told("/drafts") == "" and file.read_text() == "one\n"
        assert await told("/drafts") == "No draft waits for you."
        assert await told(" /undo\n") == "Undone: a" and not file.exists()
        assert await told("/redo") == "Done again: a" and file.read_text() == "one\n"
        await told("And now?")
        assert await told("/compact") == "Earlier messages are summed up for the model."
        assert await told("/retry") == "Again."
        assert await told("/etc/hosts") == "That is a path."
        said = str([one.json for one in reply_requests(person.simulator)])
        assert "/etc/hosts" in said and "/undo" not in said and "/retry" not in said


HANDOFFS = """handoffs:
  - {label: Build it, agent: Helper, prompt: Do the plan above., send: true, model: MODEL}
  - {label: Look again, agent: Critic, prompt: Look at the plan.}""".replace(
    "MODEL", f"{CHAT}/org/mine"
)


async def test_w1_handoffs_are_offered_in_an_editor(tmp_path: Path) -> None:
    script = [Turn(Words("A plan.")), Turn(Words("Built.")), Turn(Words("Planned."))]
    async with editor(tmp_path, script) as person:
        save(Paths.below(person.terminal.home).agents, agent("Lead", HANDOFFS), agent("Helper"))
        save(Paths.below(person.terminal.home).agents, agent("Critic"))
        name = (await person.agent.new_session(cwd=str(person.folder))).session_id
        await person.agent.set_config_option(config_id="agent", session_id=name, value="Lead")
        await says(person, name, "Plan it")
        assert "1 Build it (Helper), 2 Look again (Critic)" in person.words
        await says(person, name, "/handoff 7")
        assert len(reply_requests(person.simulator)) == 1
        await says(person, name, "/handoff 1")
        asked = str(reply_requests(person.simulator)[-1].json)
        assert "Do the plan above." in asked and "You are Helper" in asked
        assert "'org/mine'" in asked, "its model"
        options = of(person, ConfigOptionUpdate)[-1].config_options
        assert {one.id: one.current_value for one in options}["agent"] == "Helper"
        await person.agent.set_config_option(config_id="agent", session_id=name, value="Lead")
        await says(person, name, "/handoff 2")
        assert "Critic goes on" in person.words and "Look at the plan." in person.words
        assert len(reply_requests(person.simulator)) == 2, "it is not sent"
