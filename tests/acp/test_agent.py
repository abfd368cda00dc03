"""The editors' door: the real command, and the protocol library's own client at its other end."""

from __future__ import annotations

import asyncio
import base64
import json
import sys
from pathlib import Path
from typing import Any, get_args

import pytest
from acp import (
    RequestError,
    embedded_text_resource,
    image_block,
    resource_block,
    resource_link_block,
    text_block,
)
from acp.schema import (
    AgentThoughtChunk,
    ClientCapabilities,
    ElicitationCapabilities,
    ElicitationFormCapabilities,
    SessionInfoUpdate,
    ToolCallProgress,
    ToolCallStart,
    UsageUpdate,
    UserMessageChunk,
)

from studio.acp.updates import STOPS, SessionUpdates
from studio.domain.events import CompletionReason, Routed
from studio.simulator import Call, Think, Turn, Usage, stall, status
from studio.simulator import Text as Words
from studio.storage.paths import Paths
from support.acp_editor import CHAT, editor
from support.command import Command
from support.delegation_home import agent, cast, delegate, repeats, save, says
from support.engine_home import is_locked, reply_requests
from support.model_calls import reading
from support.sample_files import picture
from support.server_home import ListedServer, tool
from support.waiting import until, within

FORMS = ClientCapabilities(elicitation=ElicitationCapabilities(form=ElicitationFormCapabilities()))


async def test_a_whole_conversation(tmp_path: Path) -> None:
    """An agent reads, asks, runs, drafts; the editor shows it and its person decides."""
    script = [
        Turn(Think("hm"), Words("I look."), Call("read", {"path": "a.txt"})),
        Turn(Call("run", {"command": "echo from-the-shell && true"})),
        Turn(Call("write", {"path": "b.txt", "content": "two\n"})),
        Turn(Words("Done.")),
        Turn(Words("Again.")),
    ]

    def choices(call: Any, options: list[str]) -> str:
        return "approve" if "approve" in options else "once"

    async with editor(tmp_path, script, choices) as person:
        (person.folder / "a.txt").write_text("one\n")
        session = await person.agent.new_session(cwd=str(person.folder))
        assert [mode.id for mode in session.modes.available_modes] == ["ask", "auto", "plan"]
        options = {option.id: option.current_value for option in session.config_options}
        assert options == {
            "agent": "Coder",
            "model": f"{CHAT}/sim-model",
            "mode": "ask",
            "effort": "default",
        }
        prompt = [
            text_block("Look at"),
            resource_link_block("a.txt", f"file://{person.folder}/a%20b.txt"),
            resource_block(embedded_text_resource("file:///x/notes.md", "a note")),
            image_block(base64.b64encode(picture()).decode(), "image/png"),
        ]
        end = await person.agent.prompt(session_id=session.session_id, prompt=prompt)
        assert end.stop_reason == "end_turn"
        body = str(reply_requests(person.simulator)[0].json)
        assert f"[a.txt]({person.folder}/a b.txt)" in body and "a note" in body
        assert "data:image/png" in body
        assert "I look." in person.words and person.words.endswith("Done.")
        thoughts = [u.content.text for u in person.updates if isinstance(u, AgentThoughtChunk)]
        assert "hm" in thoughts
        begun = {u.tool_call_id: u for u in person.updates if isinstance(u, ToolCallStart)}
        assert [u.kind for u in begun.values()] == ["read", "execute", "edit"]
        first = next(iter(begun.values()))
        assert first.locations[0].path == str(person.folder / "a.txt")  # type: ignore[index]
        ended = [
            u.tool_call_id
            for u in person.updates
            if isinstance(u, ToolCallProgress) and u.status == "completed"
        ]
        assert ended == list(begun)
        (ran, options), (drafted, decisions) = person.questions
        assert "echo from-the-shell" in ran.title and options[0] == "once" and "deny" in options
        asks = str(ran.content[0].content.text)
        assert asks.endswith("The rules are:\nallow run(echo *)\nallow run(true *)")
        assert decisions == ["approve", "discard"] and drafted.content[0].new_text == "two\n"
        assert (person.folder / "b.txt").read_text() == "two\n"
        titles = [u.title for u in person.updates if isinstance(u, SessionInfoUpdate)]
        assert titles and titles[0].startswith("Look at")  # type: ignore[union-attr]

        listed = await person.agent.list_sessions(cwd=str(person.folder))
        assert [one.session_id for one in listed.sessions] == [session.session_id]
        person.updates.clear()
        await person.agent.load_session(cwd=str(person.folder), session_id=session.session_id)
        said = [u for u in person.updates if isinstance(u, UserMessageChunk)]
        assert said[0].content.text == "Look at" and "Done." in person.words
        end = await person.agent.prompt(
            session_id=session.session_id, prompt=[text_block("And now")]
        )
        assert end.stop_reason == "end_turn" and person.words.endswith("Again.")


async def test_an_agent_named_first_answers_one_message(tmp_path: Path) -> None:
    """``@agent`` means the same in an editor as in the window."""
    async with editor(tmp_path, lambda _: Turn(Words("Hello."))) as person:
        agents = person.folder / ".agents" / "agents"
        agents.mkdir(parents=True)
        (agents / "poet.md").write_text("---\nname: Poet\n---\nYou rhyme.\n")
        session = await person.agent.new_session(cwd=str(person.folder))
        for words in ("@Poet a line", "and then"):
            prompt = [text_block(words)]
            await person.agent.prompt(session_id=session.session_id, prompt=prompt)
        first, then = (str(one.json["messages"]) for one in reply_requests(person.simulator))
        assert "You rhyme." in first and "software engineer" not in first
        assert "software engineer" in then
        thoughts = [u.content.text for u in person.updates if isinstance(u, AgentThoughtChunk)]
        assert thoughts.count("Poet answers this message.\n\n") == 1


async def test_what_is_changed_elsewhere_holds_for_the_next_turn(tmp_path: Path) -> None:
    """L-14: a cap set in the window stops an editor that was open before."""
    async with editor(tmp_path, lambda _: Turn(Words("Hello."))) as person:
        session = await person.agent.new_session(cwd=str(person.folder))
        words = [text_block("Go")]
        await person.agent.prompt(session_id=session.session_id, prompt=words)
        made = len(reply_requests(person.simulator))
        person.terminal.change(day_tokens=1)
        end = await person.agent.prompt(session_id=session.session_id, prompt=words)
        assert "is reached" in person.words
        assert end.stop_reason != "end_turn" and len(reply_requests(person.simulator)) == made


def test_l14_every_end_but_an_error_has_a_word_of_the_protocol() -> None:
    assert {*STOPS} == {*get_args(CompletionReason)} - {"error"}
    assert STOPS["request_limit"] == "max_turn_requests"


async def test_stop_ends_the_command_too(tmp_path: Path) -> None:
    """L-11."""
    child = (
        "import fcntl, time; f = open('child', 'w'); fcntl.flock(f, fcntl.LOCK_EX); "
        "print('up', flush=True); time.sleep(3600)"
    )
    script = [Turn(Call("run", {"command": f'{sys.executable} -c "{child}"'})), Turn(Words("."))]
    async with editor(tmp_path, script, lambda call, options: options[0]) as person:
        session = await person.agent.new_session(cwd=str(person.folder))
        work = asyncio.create_task(
            person.agent.prompt(session_id=session.session_id, prompt=[text_block("Go")])
        )
        await person.until(
            lambda: any(isinstance(u, ToolCallProgress) and u.content for u in person.updates)
        )
        assert is_locked(person.folder / "child")
        await person.agent.cancel(session_id=session.session_id)
        assert (await work).stop_reason == "cancelled"
        await until(lambda: not is_locked(person.folder / "child"))


async def test_what_nobody_allows_is_not_done(tmp_path: Path) -> None:
    """T-5, T-7: a question that the editor cancels is a no, and a draft then waits."""
    script = [
        Turn(Call("run", {"command": "touch ran"}), Call("write", {"path": "b", "content": "x"})),
        Turn(Words("Not allowed.")),
    ]
    async with editor(tmp_path, script) as person:
        session = await person.agent.new_session(cwd=str(person.folder))
        end = await person.agent.prompt(session_id=session.session_id, prompt=[text_block("Go")])
        assert end.stop_reason == "end_turn"
        assert not (person.folder / "ran").exists() and not (person.folder / "b").exists()
        assert len(person.questions) == 2


async def test_the_agents_own_question(tmp_path: Path) -> None:
    ask = Call("ask", {"question": "Which?", "choices": ["red", "blue"]})
    async with editor(
        tmp_path, [Turn(ask), Turn(Words("."))], lambda call, options: options[1]
    ) as person:
        session = await person.agent.new_session(cwd=str(person.folder))
        await person.agent.prompt(session_id=session.session_id, prompt=[text_block("Go")])
        assert "blue" in str(reply_requests(person.simulator)[-1].json["messages"][-1])


@pytest.mark.parametrize(
    ("can", "written", "heard"),
    [
        (FORMS, "Green, please", "Green, please"),
        (FORMS, "", "brought no answer"),
        (None, "Green, please", "brought no answer"),
    ],
)
async def test_a_question_without_choices_is_answered_in_a_form(
    tmp_path: Path, can: ClientCapabilities | None, written: str, heard: str
) -> None:
    ask = Call("ask", {"question": "Which colour?"})
    async with editor(tmp_path, [Turn(ask), Turn(Words("."))], can=can) as person:
        asked: list[str] = []

        def answer(question: str) -> str:
            asked.append(question)
            return written

        person.written = answer
        session = await person.agent.new_session(cwd=str(person.folder))
        await person.agent.prompt(session_id=session.session_id, prompt=[text_block("Go")])
        assert asked == (["Which colour?"] if can else [])
        assert heard in str(reply_requests(person.simulator)[-1].json["messages"][-1])


SEVERAL = [
    {"question": "Which branch?", "choices": ["main", {"text": "next", "about": "17 ahead"}]},
    {"question": "Which tests?", "choices": ["unit", "slow", "all"], "several": True},
    {"question": "What name?"},
]


@pytest.mark.parametrize(
    ("can", "written", "heard"),
    [
        (
            FORMS,
            {"answer1": "next", "answer2": ["all", "unit"], "answer2_own": "mine", "answer3": " "},
            [
                "branch?\nAnswer: next",
                "tests?\nAnswer: all; unit; mine",
                "name?\nAnswer: No answer",
            ],
        ),
        (FORMS, {"answer1": "next", "answer1_own": "trunk"}, ["branch?\nAnswer: trunk"]),
        (FORMS, {}, ["brought no answer. Decide yourself, and say what you assumed."]),
        (None, {"answer1": "next"}, ["branch?\nAnswer: main", "tests?\nAnswer: unit"]),
    ],
)
async def test_c24_several_questions_are_one_form(
    tmp_path: Path,
    can: ClientCapabilities | None,
    written: dict[str, object],
    heard: list[str],
) -> None:
    """C-24: with a field for free words; without forms the choices are asked for one by one."""
    ask = Call("ask", {"questions": SEVERAL})
    first = [Turn(ask), Turn(Words("."))]
    async with editor(tmp_path, first, lambda call, options: options[0], can=can) as person:
        person.filled_in = written
        session = await person.agent.new_session(cwd=str(person.folder))
        await person.agent.prompt(session_id=session.session_id, prompt=[text_block("Go")])
        told = str(reply_requests(person.simulator)[-1].json["messages"][-1]).replace("\\n", "\n")
        assert all(words in told for words in heard), told
        assert len(person.questions) == (0 if can else 2)


SHOP_FORM = {
    "type": "object",
    "properties": {
        "size": {"type": "integer", "maximum": 9},
        "color": {"type": "string", "oneOf": [{"const": "b", "title": "Blue"}]},
    },
    "required": ["size"],
}


@pytest.mark.parametrize(
    ("can", "asks", "filled_in", "chosen", "heard"),
    [
        (FORMS, {"schema": SHOP_FORM}, {"size": 4, "color": "b"}, "",
         {"action": "accept", "content": {"size": 4, "color": "b"}}),
        (FORMS, {"schema": SHOP_FORM}, {}, "", {"action": "decline", "content": None}),
        (FORMS, {"schema": SHOP_FORM}, {"size": 10}, "", {"action": "cancel", "content": None}),
        (None, {"schema": SHOP_FORM}, {"size": 4}, "", {"action": "decline", "content": None}),
        (None, {"url": "https://example.com/a"}, {}, "opened",
         {"action": "accept", "content": None}),
        (None, {"url": "https://example.com/a"}, {}, "", {"action": "cancel", "content": None}),
        (None, {"url": "file:///etc/passwd"}, {}, "opened",
         {"action": "decline", "content": None}),
    ],
)  # fmt: skip
async def test_m19_a_server_asks_in_the_editor(
    tmp_path: Path,
    can: ClientCapabilities | None,
    asks: dict[str, Any],
    filled_in: dict[str, object],
    chosen: str,
    heard: dict[str, object],
) -> None:
    """M-19: in its form, which names the server; what it cannot show is declined."""
    shop = ListedServer(tmp_path)
    shop.offer({**tool("order"), "asks": {"message": "Which?", **asks}})
    titles: list[str] = []

    def choices(call: Any, options: list[str]) -> str:
        titles.append(call.title)
        return "once" if "once" in options else chosen

    async with editor(
        tmp_path, [Turn(Call("shop__order", {})), Turn(Words("."))], choices, can=can
    ) as person:
        add = ["--", shop.entry.command, *shop.entry.arguments]
        assert (await person.terminal("mcp", "add", "shop", *add)).code == 0
        assert (await person.terminal("mcp", "on", "shop", "--yes")).code == 0
        assert (await person.terminal("mcp", "test", "shop")).code == 0
        person.filled_in = filled_in
        session = await person.agent.new_session(cwd=str(person.folder))
        await person.agent.prompt(session_id=session.session_id, prompt=[text_block("Go")])
        told = str(reply_requests(person.simulator)[-1].json["messages"][-1])
        assert json.dumps(heard) in told
        if chosen == "opened" and heard["action"] == "accept":
            assert titles[-1] == "The server shop asks: Which?\nhttps://example.com/a"


@pytest.mark.parametrize("chosen", ["answer", "no"])
async def test_m20_the_editor_says_whether_a_model_answers(tmp_path: Path, chosen: str) -> None:
    """M-20: as any editor can, with all that the model would read."""
    shop = ListedServer(tmp_path)
    shop.offer({**tool("order"), "asks": {"prompt": "Which is best?"}})
    cards: list[str] = []

    def choices(call: Any, options: list[str]) -> str:
        if "once" in options:
            return "once"
        cards.append(f"{call.title}: {call.content}")
        return chosen

    script = [Turn(Call("shop__order", {})), Turn(Words("The red one.")), Turn(Words("."))]
    async with editor(tmp_path, script, choices) as person:
        add = ["--", shop.entry.command, *shop.entry.arguments]
        assert (await person.terminal("mcp", "add", "shop", *add)).code == 0
        assert (await person.terminal("mcp", "on", "shop", "--yes")).code == 0
        said = await person.terminal("mcp", "on", "shop", "--sampling")
        assert "may ask for answers of a model" in said.out
        session = await person.agent.new_session(cwd=str(person.folder))
        await person.agent.prompt(session_id=session.session_id, prompt=[text_block("Go")])
        (card,) = cards
        assert "shop wants" in card and "Which is best?" in card
        told = str(reply_requests(person.simulator)[-1].json["messages"][-1])
        assert ("The red one." in told) is (chosen == "answer")


async def test_c24_a_choice_can_be_answered_otherwise(tmp_path: Path) -> None:
    """C-24: in a form, where the editor has one."""
    ask = Call("ask", {"question": "Which?", "choices": ["red", "blue"]})
    first = [Turn(ask), Turn(Words("."))]
    async with editor(tmp_path, first, lambda call, options: options[-1], can=FORMS) as person:
        person.written = lambda question: "green"
        session = await person.agent.new_session(cwd=str(person.folder))
        await person.agent.prompt(session_id=session.session_id, prompt=[text_block("Go")])
        assert "green" in str(reply_requests(person.simulator)[-1].json["messages"][-1])


@pytest.mark.parametrize(
    ("chosen", "asked", "end"), [(0, 5, "end_turn"), (1, 4, "max_turn_requests")]
)
async def test_c1_the_editor_asks_ahead_of_a_limit(
    tmp_path: Path, chosen: int, asked: int, end: str
) -> None:
    """C-1: as a call with the answers as buttons, which is over when there is one."""
    begun: list[str] = []

    def choices(call: Any, options: list[str]) -> str:
        begun.extend(u.tool_call_id for u in person.updates if isinstance(u, ToolCallStart))
        return options[chosen]

    async with editor(tmp_path, reading(5, tmp_path / "work"), choices, long_steps=4) as person:
        session = await person.agent.new_session(cwd=str(person.folder))
        ended = await person.agent.prompt(session_id=session.session_id, prompt=[text_block("Go")])
        ((call, options),) = person.questions
        assert call.title == "The agent is at step 3 of 4 in this turn. May it go on?"
        assert options == ["0", "1"] and ended.stop_reason == end
        assert call.tool_call_id in begun
        states = [
            u.status
            for u in person.updates
            if isinstance(u, ToolCallProgress) and u.tool_call_id == call.tool_call_id
        ]
        assert states == ["completed"]
        assert len(reply_requests(person.simulator)) == asked


async def test_the_editor_sees_how_full_the_context_is_and_what_it_cost(tmp_path: Path) -> None:
    """P-5, L-14: after each turn, and when a chat is opened again."""
    script = [Turn(Words("."), usage=Usage(inp=900 * n, out=100)) for n in (1, 2)]
    facts = {"context_window": 50_000, "input_price": 1.0, "output_price": 2.0}
    async with editor(tmp_path, script, models={f"{CHAT}/sim-model": facts}) as person:

        def told() -> list[tuple[int, int, float]]:
            found = [one for one in person.updates if isinstance(one, UsageUpdate)]
            return [(one.used, one.size, round(one.cost.amount * 1e6)) for one in found]  # type: ignore[union-attr]

        session = await person.agent.new_session(cwd=str(person.folder))
        for _ in script:
            await person.agent.prompt(session_id=session.session_id, prompt=[text_block("Go")])
        assert [cost for _, _, cost in told()] == [1_100, 3_100]
        (first, size, _), (second, _, _) = told()
        assert 900 <= first < second < size == 50_000
        await person.agent.close_session(session_id=session.session_id)
        await person.agent.load_session(
            cwd=str(person.folder), session_id=session.session_id, mcp_servers=[]
        )
        await person.until(lambda: len(told()) == 3)
        assert told()[2][2] == 3_100


async def test_mode_agent_and_model_are_chosen_in_the_editor(tmp_path: Path) -> None:
    script = [Turn(Call("write", {"path": "b", "content": "x"})), Turn(Words("."))]
    async with editor(tmp_path, script) as person:
        session = await person.agent.new_session(cwd=str(person.folder))
        name = session.session_id
        await person.agent.set_session_mode(session_id=name, mode_id="auto")
        changed = await person.agent.set_config_option(
            config_id="agent", session_id=name, value="Writer"
        )
        assert changed.config_options[0].current_value == "Writer"
        await person.agent.prompt(session_id=name, prompt=[text_block("Go")])
        assert (person.folder / "b").read_text() == "x" and not person.questions
        (models,) = (one for one in changed.config_options if one.id == "model")
        assert f"{CHAT}/org/mine" in {one.value for one in models.options}
        for option, value in (
            ("agent", "Nobody"),
            ("x", "y"),
            ("model", "sim-model"),
            ("model", "nobody/sim-model"),
            ("model", f"{CHAT}/"),
        ):
            with pytest.raises(RequestError):
                await person.agent.set_config_option(config_id=option, session_id=name, value=value)
        with pytest.raises(RequestError):
            await person.agent.set_session_mode(session_id=name, mode_id="wild")


async def test_errors_are_the_editors_to_show(tmp_path: Path) -> None:
    refusal = status(401)
    script = [Turn(faults=[refusal]), Turn(Words("Never ends " * 50), faults=[stall(at=3)])]
    async with editor(tmp_path, script) as person:
        with pytest.raises(RequestError, match="is not there"):
            await person.agent.new_session(cwd="/no/such/folder")
        with pytest.raises(RequestError):
            await person.agent.prompt(session_id="none", prompt=[text_block("Go")])
        session = await person.agent.new_session(cwd=str(person.folder))
        name = session.session_id
        with pytest.raises(RequestError, match="key"):
            await person.agent.prompt(session_id=name, prompt=[text_block("Go")])
        first = asyncio.create_task(person.agent.prompt(session_id=name, prompt=[text_block("Go")]))
        await person.until(lambda: bool(person.words))
        with pytest.raises(RequestError, match="still working"):
            await person.agent.prompt(session_id=name, prompt=[text_block("You too")])
        await person.agent.cancel(session_id=name)
        assert (await first).stop_reason == "cancelled"


async def test_what_is_no_message_is_answered_and_the_rest_goes_on(tmp_path: Path) -> None:
    terminal = Command(tmp_path)
    process = await terminal.start("acp", stdin=asyncio.subprocess.PIPE)
    assert process.stdin is not None and process.stdout is not None

    async def said(line: bytes) -> Any:
        assert process.stdin is not None and process.stdout is not None
        process.stdin.write(line + b"\n")
        async with within():
            return json.loads(await process.stdout.readline())

    ask = b'{"jsonrpc":"2.0","id":1,"method":"session/list","params":%s}'
    for line, code in (
        (b"{", -32700),
        (b"\xff\xfe", -32700),
        (b"[" * 100_000, -32700),
        (b"[]", -32600),
        (b"null", -32600),
        (b"[{},{}]", -32600),
        (b'{"jsonrpc":"2.0","id":{"a":1},"result":{}}', -32600),
        (b'{"jsonrpc":"2.0","id":1,"error":"x"}', -32600),
        (b'{"jsonrpc":"2.0","id":1,"method":5}', -32600),
        (ask % b"[]", -32600),
        (ask % b'{"cursor":"-5"}', -32602),
        (ask % b'{"cursor":"x"}', -32602),
        (ask.replace(b"list", b"new") % b'{"cwd":".","mcpServers":[]}', -32602),
        (ask.replace(b"list", b"new") % (b'{"cwd":"/%s","mcpServers":[]}' % (b"a" * 5000)), -32602),
    ):
        assert (await said(line))["error"]["code"] == code, line[:60]
    assert (await said(ask % b"{}"))["result"] == {"sessions": []}
    process.stdin.close()
    async with within():
        assert await process.wait() == 0


async def test_a_command_hides_no_part_of_itself_from_the_editor(tmp_path: Path) -> None:
    """T-7"""
    script = [
        Turn(Call("run", {"command": "echo a #\u202e\x1b[2Jb"})),
        Turn(Call("write", {"path": "a\u202etxt.py", "content": "x"})),
        Turn(Words("Done.")),
    ]
    async with editor(tmp_path, script, lambda call, options: "deny") as person:
        session = await person.agent.new_session(cwd=str(person.folder))
        await person.agent.prompt(session_id=session.session_id, prompt=[text_block("Go")])
        (call, _), (draft, _) = person.questions
        assert draft.title == "Write a\\u202etxt.py"
        assert call.title.endswith("echo a #\\u202e\\x1b[2Jb")


def test_l13_what_the_program_chose_is_told() -> None:
    (told,) = SessionUpdates("/work").for_event(
        Routed("inline", CHAT, "tiny", "This looks like a question.")
    )
    assert told.content.text == "This looks like a question.\n\n"


async def test_the_files_of_a_patch_are_one_question(tmp_path: Path) -> None:
    """C-8: with all changes in it, decided once."""
    patch = "*** Begin Patch\n*** Add File: a.txt\n+one\n*** Add File: b.txt\n+two\n*** End Patch"
    script = [Turn(Call("apply_patch", {"input": patch})), Turn(Words("Done."))]

    def choices(call: Any, options: list[str]) -> str:
        return "approve"

    async with editor(tmp_path, script, choices) as person:
        session = await person.agent.new_session(cwd=str(person.folder))
        await person.agent.prompt(session_id=session.session_id, prompt=[text_block("Go")])
        ((call, _),) = person.questions
        assert call.title == "Change a.txt, b.txt"
        assert [one.new_text for one in call.content] == ["one\n", "two\n"]
        assert (person.folder / "a.txt").read_text() + (person.folder / "b.txt").read_text() == (
            "one\ntwo\n"
        )


async def test_w32_an_editor_sees_what_children_do_and_is_asked_for_them(tmp_path: Path) -> None:
    """W-22: a row with the child's doing, and its question with the path of who asks."""
    run = Call("run", {"command": "touch made"})
    script = cast(
        Lead=[Turn(delegate("Helper", "Make it")), repeats],
        Helper=[Turn(run), says("Made.")],
    )
    async with editor(tmp_path, script, lambda call, options: "once") as person:
        save(Paths.below(person.terminal.home).agents, agent("Lead", "agents: [Helper]"))
        save(Paths.below(person.terminal.home).agents, agent("Helper"))
        session = await person.agent.new_session(cwd=str(person.folder))
        await person.agent.set_config_option(
            session_id=session.session_id, config_id="agent", value="Lead"
        )
        end = await person.agent.prompt(session_id=session.session_id, prompt=[text_block("Go")])
        assert end.stop_reason == "end_turn" and (person.folder / "made").exists()
        ((call, _),) = person.questions
        assert "Lead, Helper wants to run a command" in str(call)
        updates = [one for one in person.updates if isinstance(one, ToolCallProgress)]
        texts = str(updates)
        assert "Helper: Waits for you" in texts and "Helper: Running touch made" in texts
        assert updates[-1].status == "completed" and "Made." in str(updates[-1].content)
