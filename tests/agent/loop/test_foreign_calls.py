"""C-21: calls in the words of other programs' tools are understood, or ours are named."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from studio.agent.loop.foreign_calls import (
    BY_COMMAND,
    COMMANDS,
    OF_ONE_TOOL,
    PARAMETERS,
    TOOLS,
    CallInterpreter,
    counterpart,
    in_our_words,
)
from studio.agent.permission.policy import Policy
from studio.agent.prompts import FOREIGN_CALL
from studio.domain.blocks import PlanBlock
from studio.domain.events import (
    AwaitingPermission,
    Event,
    ToolFinished,
    ToolQueued,
    TurnComplete,
)
from studio.domain.jsonvalue import JsonObject
from studio.domain.messages import Text as Words
from studio.domain.messages import ToolCall
from studio.domain.permissions import Rule
from studio.domain.tools import ToolSpec
from studio.simulator import Call, Text, Turn
from studio.tools.discovery import discover
from support.engine_home import PROTOCOLS, EngineHome, engine_home, say

BUILT_IN = discover(folders=[]).tools
SPECS = {name: tool.spec for name, tool in BUILT_IN.items()}
DONE = Turn(Text("Done."))

UNDERSTOOD: list[tuple[str, JsonObject, str, JsonObject]] = [
    ("bash", {"command": "ls"}, "run", {"command": "ls"}),
    (
        "Bash",
        {"command": "ls", "description": "Lists", "timeout": 120_000, "run_in_background": True},
        "run",
        {"command": "ls", "reason": "Lists", "time_limit": 120.0, "background": True},
    ),
    (
        "shell",
        {"command": ["bash", "-lc", "ls a*"], "workdir": "src", "timeout_ms": 1500},
        "run",
        {"command": "bash -lc 'ls a*'", "folder": "src", "time_limit": 1.5},
    ),
    ("shell", {"command": ["sh", "-c", "ls a*"]}, "run", {"command": "ls a*"}),
    ("shell", {"command": ["cat", "a b"]}, "run", {"command": "cat 'a b'"}),
    ("exec_command", {"cmd": "ls", "tty": True}, "run", {"command": "ls", "terminal": True}),
    (
        "shell_command",
        {"command": "ls", "with_escalated_permissions": False, "justification": "to see"},
        "run",
        {"command": "ls", "reason": "to see"},
    ),
    (
        "run_shell_command",
        {"command": "ls", "dir_path": "src", "is_background": False},
        "run",
        {"command": "ls", "folder": "src", "background": False},
    ),
    ("run", {"cmd": "ls", "cwd": "src"}, "run", {"command": "ls", "folder": "src"}),
    (
        "Read",
        {"file_path": "a.py", "offset": 5, "limit": 9},
        "read",
        {"path": "a.py", "first_line": 5, "lines": 9},
    ),
    (
        "read_file",
        {"target_file": "a.py", "start_line": 3, "end_line": 5},
        "read",
        {"path": "a.py", "first_line": 3, "lines": 3},
    ),
    ("read_file", {"path": "a.py", "end_line": 5}, "read", {"path": "a.py", "lines": 5}),
    ("read", {"filePath": "a.py"}, "read", {"path": "a.py"}),
    ("write_file", {"file_path": "a", "content": "x"}, "write", {"path": "a", "content": "x"}),
    ("create_file", {"filePath": "a", "content": "x"}, "write", {"path": "a", "content": "x"}),
    (
        "Edit",
        {"file_path": "a", "old_string": "x", "new_string": "y", "replace_all": True},
        "edit",
        {"path": "a", "old": "x", "new": "y", "replace_all": True},
    ),
    (
        "edit",
        {"path": "a", "old": "x", "new": "y", "all": True},
        "edit",
        {"path": "a", "old": "x", "new": "y", "replace_all": True},
    ),
    (
        "edit",
        {"filePath": "a", "oldString": "x", "newString": "y"},
        "edit",
        {"path": "a", "old": "x", "new": "y"},
    ),
    (
        "replace",
        {
            "file_path": "a",
            "old_string": "x",
            "new_string": "y",
            "instruction": "Rename",
            "expected_replacements": 1,
        },
        "edit",
        {"path": "a", "old": "x", "new": "y"},
    ),
    (
        "MultiEdit",
        {
            "file_path": "a",
            "edits": [
                {"old_string": "x", "new_string": "y"},
                {"old_string": "z", "new_string": "", "replace_all": True},
            ],
        },
        "edit",
        {"path": "a", "edits": [{"old": "x", "new": "y"}, {"old": "z", "new": "", "all": True}]},
    ),
    (
        "str_replace",
        {"path": "a", "old_str": "x", "new_str": "y"},
        "edit",
        {"path": "a", "old": "x", "new": "y"},
    ),
    (
        "str_replace_based_edit_tool",
        {"command": "str_replace", "path": "a", "old_str": "x", "new_str": "y"},
        "edit",
        {"path": "a", "old": "x", "new": "y"},
    ),
    (
        "str_replace_editor",
        {"command": "view", "path": "a", "view_range": [2, 4]},
        "read",
        {"path": "a", "first_line": 2, "lines": 3},
    ),
    (
        "str_replace_editor",
        {"command": "view", "path": "a", "view_range": [2, -1]},
        "read",
        {"path": "a", "first_line": 2},
    ),
    (
        "str_replace_editor",
        {"command": "create", "path": "a", "file_text": "x"},
        "write",
        {"path": "a", "content": "x"},
    ),
    ("patch", {"patchText": "*** Begin Patch"}, "apply_patch", {"input": "*** Begin Patch"}),
    ("delete_file", {"target_file": "a", "explanation": "Old"}, "delete", {"path": "a"}),
    ("move_file", {"source": "a", "destination": "b"}, "move", {"path": "a", "to": "b"}),
    ("LS", {"path": "src"}, "list", {"path": "src"}),
    ("list_dir", {"dir_path": "src", "depth": 2}, "list", {"path": "src", "depth": 2}),
    ("list_directory", {"dir_path": "src"}, "list", {"path": "src"}),
    ("Glob", {"pattern": "*.py", "path": "src"}, "glob", {"pattern": "*.py", "path": "src"}),
    ("file_search", {"query": "*.py"}, "glob", {"pattern": "*.py"}),
    (
        "Grep",
        {"pattern": "x", "output_mode": "files_with_matches", "-i": True, "glob": "*.py"},
        "search",
        {"pattern": "x", "show": "files", "ignore_case": True, "glob": "*.py"},
    ),
    (
        "grep_search",
        {"query": "x", "isRegexp": False, "includePattern": "*.py", "case_sensitive": False},
        "search",
        {"pattern": "x", "literal": True, "glob": "*.py", "ignore_case": True},
    ),
    (
        "search_files",
        {"path": "src", "regex": "x", "file_pattern": "*.py"},
        "search",
        {"path": "src", "pattern": "x", "glob": "*.py"},
    ),
    (
        "search_file_content",
        {"pattern": "x", "dir_path": "a"},
        "search",
        {"pattern": "x", "path": "a"},
    ),
    ("BashOutput", {"bash_id": "1"}, "job", {"id": "1"}),
    (
        "TodoWrite",
        {
            "todos": [
                {"content": "Look", "status": "completed", "activeForm": "Looking"},
                {"content": "Mend", "status": "in_progress", "id": "2", "priority": "high"},
            ]
        },
        "plan",
        {"items": [{"text": "Look", "status": "done"}, {"text": "Mend", "status": "active"}]},
    ),
    (
        "update_plan",
        {"plan": [{"step": "Look", "status": "pending"}], "explanation": "New"},
        "plan",
        {"items": [{"text": "Look", "status": "pending"}], "why": "New"},
    ),
    (
        "write_todos",
        {"todos": [{"description": "Look", "status": "cancelled"}]},
        "plan",
        {"items": [{"text": "Look", "status": "dropped"}]},
    ),
    ("WebFetch", {"url": "https://example.com"}, "fetch", {"url": "https://example.com"}),
    ("google_web_search", {"query": "x"}, "web_search", {"query": "x"}),
    ("web_search", {"search_term": "x", "explanation": "y"}, "web_search", {"query": "x"}),
]
NOT_UNDERSTOOD: list[tuple[str, JsonObject]] = [
    ("Bash", {"command": "ls", "timeout": 30}),  # of what?
    ("execute_bash", {"command": "ls", "timeout": 30_000}),
    ("Bash", {"description": "Lists"}),
    ("bash", {"restart": True}),
    ("shell", {"command": ["ls", 1]}),
    ("shell", {"command": []}),
    ("shell", {"command": "ls", "with_escalated_permissions": True}),
    ("execute_command", {"command": "ls", "requires_approval": True}),
    ("exec_command", {"cmd": "ls", "command": "rm a"}),
    ("exec_command", {"cmd": "ls", "yield_time_ms": 1000}),
    ("read_file", {"path": "a", "offset": 0}),  # some count from 0, some from 1
    ("Read", {"file_path": "a", "pages": "1-3"}),
    ("Read", {"file_path": "a", "path": "b"}),
    ("Read", {"file_path": "a", "limit": 4, "end_line": 4}),
    ("read_file", {"path": "a", "start_line": 0}),
    ("str_replace_editor", {"command": "view", "path": "a", "view_range": ["x"]}),
    ("str_replace_editor", {"command": "insert", "path": "a", "insert_line": 1, "new_str": "x"}),
    ("str_replace_editor", {"path": "a"}),
    ("edit_file", {"target_file": "a", "instructions": "x", "code_edit": "y"}),
    (
        "replace",
        {"file_path": "a", "old_string": "x", "new_string": "y", "expected_replacements": 2},
    ),
    ("MultiEdit", {"file_path": "a", "edits": [{"old_string": "x", "line": 3}]}),
    ("MultiEdit", {"file_path": "a", "edits": ["x"]}),
    ("write_file", {"path": "a"}),
    ("write_file", {"path": "a", "content": "x", "append": True}),
    ("list_files", {"path": "a", "recursive": True}),
    ("search_files", {"path": "a", "pattern": "*.py"}),  # names of files in one, text in another
    ("Grep", {"pattern": "x", "type": "py"}),
    ("Grep", {"pattern": "x", "output_mode": "other"}),
    ("grep_search", {"query": "x", "isRegexp": "yes"}),
    ("TodoWrite", {"todos": [{"content": "x", "status": "blocked"}]}),
    ("TodoWrite", {"todos": [{"content": "x", "text": "y", "status": "pending"}]}),
    ("todo_write", {"merge": True, "todos": []}),
    ("WebFetch", {"url": "https://example.com", "prompt": "What is new?"}),
    ("AskUserQuestion", {"header": "x"}),
    ("write_stdin", {"session_id": 1, "chars": "x"}),
    ("Task", {"prompt": "x"}),
]


def called(name: str, arguments: JsonObject | None) -> ToolCall:
    return ToolCall("c1", name, arguments, "as it was written")


def in_one_word(value: object) -> str:
    return "-".join(str(value)[:60].split())


@pytest.mark.parametrize(("name", "given", "ours", "arguments"), UNDERSTOOD, ids=in_one_word)
def test_c21_a_complete_call_is_one_of_ours(
    name: str, given: JsonObject, ours: str, arguments: JsonObject
) -> None:
    """C-21: and it passes the tool's own check; our own words are left as they are."""
    call = called(name, given)
    found = in_our_words(call, SPECS)
    assert found == replace(call, name=ours, arguments=arguments)
    BUILT_IN[ours].check(arguments)
    assert in_our_words(replace(call, name=ours, arguments=arguments), SPECS) == found


@pytest.mark.parametrize(("name", "given"), NOT_UNDERSTOOD, ids=in_one_word)
def test_c21_what_is_not_complete_is_no_call_of_ours(name: str, given: JsonObject) -> None:
    assert in_our_words(called(name, given), SPECS) is None
    assert in_our_words(called(name, None), SPECS) is None


def test_the_table_names_what_there_is() -> None:
    """C-21: our tools and their parameters; each foreign name once, and none of ours."""
    names = [name.lower() for names in TOOLS.values() for name in names]
    assert len(names) == len(set(names)) and not set(SPECS) & {
        name for names in TOOLS.values() for name in names
    }
    assert TOOLS.keys() == PARAMETERS.keys() <= SPECS.keys()
    assert set(COMMANDS.values()) <= TOOLS.keys()
    for ours, known in PARAMETERS.items():
        own: Any = SPECS[ours].schema["properties"]
        assert {one.name for one in known.values()} - {""} <= own.keys(), ours
    for (name, _), one in OF_ONE_TOOL.items():
        own = SPECS[counterpart(name)].schema["properties"]
        assert one.name in {"", *own}, name
    for ours, names_of in TOOLS.items():
        for name in names_of:
            assert counterpart(name) == ours == counterpart(name.upper()), name


VALUES = st.one_of(
    st.none(), st.booleans(), st.integers(-2, 3_000), st.text(max_size=5), st.lists(st.text(max_size=3), max_size=3),
    st.lists(st.dictionaries(st.sampled_from(["old", "old_string", "text", "status", "content"]), st.text(max_size=4), max_size=2), max_size=2),
)  # fmt: skip
FOREIGN = sorted({name for names in TOOLS.values() for name in names} | SPECS.keys())


@st.composite
def calls(draw: st.DrawFn) -> ToolCall:
    name = draw(st.sampled_from(FOREIGN))
    ours = counterpart(name) or name
    own: Any = SPECS[ours].schema["properties"]
    known = [*PARAMETERS.get(ours, {}), *own, "start_line", "view_range", "offset", "odd"]
    return called(name, draw(st.dictionaries(st.sampled_from(known), VALUES, max_size=5)))


RULES = [
    {},
    {"person": [Rule("allow", name) for name in FOREIGN if name not in SPECS]},
    {"person": [Rule("deny", "run", "ls"), Rule("allow", "run"), Rule("deny", "read", "a*")]},
]


@given(calls(), st.sampled_from(RULES))
def test_c21_no_translation_widens_what_is_allowed(call: ToolCall, rules: Any) -> None:
    """C-21, T-7: what is decided is one of our calls, wholly in our words, decided as that.

    Nothing is made up: each text in it was in the call, but for the words of states and kinds.
    """
    found = in_our_words(call, SPECS)
    if found is None:
        return
    assert found.name == (call.name if call.name in SPECS else found.name)
    spec, arguments = SPECS[found.name], found.arguments
    own: Any = spec.schema["properties"]
    assert arguments is not None and arguments.keys() <= own.keys()
    assert arguments.keys() >= set(spec.schema.get("required", []))  # type: ignore[arg-type]
    assert in_our_words(found, SPECS) == found
    policy = Policy("ask", rules)
    bare = Policy(
        "ask", {**rules, "person": [r for r in rules.get("person", []) if r.tool in SPECS]}
    )
    assert policy.decide(spec, arguments).verdict == bare.decide(spec, arguments).verdict
    if found.name != "run":
        texts = set(map(json.dumps, _texts(call.arguments)))
        made = {"lines", "files", "counts", "pending", "active", "done", "dropped"}
        assert set(map(json.dumps, _texts(arguments))) <= texts | set(map(json.dumps, made))


def _texts(value: Any) -> list[str]:
    if isinstance(value, str):
        return [value]
    inner = value.values() if isinstance(value, dict) else value if isinstance(value, list) else ()
    return [text for one in inner for text in _texts(one)]


def test_c21_a_tool_that_is_there_wins() -> None:
    """C-21: also one that this agent does not have, and one that the history was begun with."""
    call = called("bash", {"command": "ls"})
    ours = replace(call, name="run")

    def meant(tools: Any, offered: list[ToolSpec], declared: tuple[str, ...] = ()) -> ToolCall:
        known = {spec.name for spec in offered}
        return CallInterpreter(tools, offered, known).understood([call], declared)[0]

    run = SPECS["run"]
    assert meant(BUILT_IN, [run], ("run",)) == ours
    assert meant(BUILT_IN, [run], ("run", "bash")) == call  # of a server that is gone
    assert meant({**BUILT_IN, "bash": BUILT_IN["read"]}, [run]) == call
    assert meant(BUILT_IN, [run, replace(run, name="bash", external=True)]) == call
    assert meant(BUILT_IN, []) == call  # the agent has no commands
    assert meant(BUILT_IN, [replace(run, external=True)]) == call  # the client's run is not ours
    assert meant({"run": replace(BUILT_IN["run"], module="own")}, [run]) == call


def queued(events: list[Event]) -> list[ToolQueued]:
    return [event for event in events if isinstance(event, ToolQueued)]


def finished(events: list[Event]) -> list[ToolFinished]:
    return [event for event in events if isinstance(event, ToolFinished)]


SENT: dict[str, Any] = {"file_path": "a.txt", "old_string": "one", "new_string": "ONE"}


def call_and_result(home: EngineHome, request: int) -> tuple[str, JsonObject, str, str]:
    """Name and arguments of the one call in a request, the name at its result, and the result."""
    body: Any = home.asked[request].json
    match PROTOCOLS[home.provider]:
        case "anthropic":
            blocks = [b for m in body["messages"] for b in m["content"] if isinstance(b, dict)]
            call = next(b for b in blocks if b["type"] == "tool_use")
            result = next(b for b in blocks if b.get("tool_use_id") == call["id"])
            return call["name"], call["input"], call["name"], json.dumps(result)
        case "responses":
            call = next(i for i in body["input"] if i.get("type") == "function_call")
            result = next(
                i
                for i in body["input"]
                if i.get("type") == "function_call_output" and i["call_id"] == call["call_id"]
            )
            return call["name"], json.loads(call["arguments"]), call["name"], json.dumps(result)
        case "chat":
            call = next(c for m in body["messages"] for c in m.get("tool_calls") or ())
            result = next(m for m in body["messages"] if m.get("tool_call_id") == call["id"])
            made = call["function"]
            return made["name"], json.loads(made["arguments"]), made["name"], json.dumps(result)
        case "gemini":
            parts = [p for c in body["contents"] for p in c["parts"]]
            call = next(p["functionCall"] for p in parts if "functionCall" in p)
            result = next(p["functionResponse"] for p in parts if "functionResponse" in p)
            return call["name"], call["args"], result["name"], json.dumps(result)
        case _:
            call = next(c for m in body["messages"] for c in m.get("tool_calls") or ())
            result = next(m for m in body["messages"] if m["role"] == "tool")
            made = call["function"]
            return made["name"], made["arguments"], result["tool_name"], json.dumps(result)


@pytest.mark.parametrize("provider", PROTOCOLS)
async def test_c21_the_history_keeps_the_call_as_it_was_made(tmp_path: Path, provider: str) -> None:
    """C-21, H-1, H-3: its own name and arguments go back, the result under it; also later on."""
    script = [Turn(Call("Edit", SENT)), DONE]
    async with engine_home(tmp_path, provider, script) as home:
        (home.folder / "a.txt").write_text("one\ntwo\n")
        session = await home.session()
        events = await say(session)
        (row,) = queued(events)
        expected = {"path": "a.txt", "old": "one", "new": "ONE"}
        assert (row.name, row.target, row.arguments) == ("edit", "a.txt", expected)
        (done,) = finished(events)
        assert not done.is_error and session.drafts.waiting()
        tools = json.dumps(home.asked[0].json.get("tools"))
        assert "old_string" not in tools and "file_path" not in tools
        name, arguments, answered, result = call_and_result(home, 1)
        assert (name, arguments, answered) == ("Edit", SENT, "Edit")
        assert "Draft" in result
        assert not home.simulator.violations
        kept = session.info.id
    async with engine_home(tmp_path, provider, [DONE], seed=1) as home:
        await say(await home.engine.sessions.open(kept), "And now?")
        assert call_and_result(home, 0)[:3] == ("Edit", SENT, "Edit")
        assert not home.simulator.violations


async def test_c21_rules_and_questions_have_our_names(tmp_path: Path) -> None:
    """C-21, T-7: a rule about the foreign name allows nothing, one about ours refuses."""
    for number, (rule, asked, refused) in enumerate(
        [
            (Rule("allow", "Bash"), True, True),
            (Rule("allow", "run"), False, False),
            (Rule("deny", "run", "echo *"), False, True),
        ]
    ):
        place = tmp_path / str(number)
        place.mkdir()
        script = [Turn(Call("Bash", {"command": "echo there", "description": "Says it"})), DONE]
        async with engine_home(place, "anthropic", script) as home:
            events = await say(await home.session(), rules=(rule,), answer="deny")
            questions = [e.question for e in events if isinstance(e, AwaitingPermission)]
            assert [one.tool for one in questions] == (["run"] if asked else [])
            (done,) = finished(events)
            assert done.is_error == refused and ("there" in done.text or refused)
            assert {entry.tool for entry in await home.engine.store.audit()} == {"run"}


async def test_c21_a_plan_by_another_name_is_a_plan(tmp_path: Path) -> None:
    """C-21, C-2: the card, and no stall however often it is shown."""
    todos = [{"content": "Look", "status": "in_progress", "activeForm": "Looking"}]
    script = [*[Turn(Call("TodoWrite", {"todos": todos}))] * 5, DONE, DONE]
    async with engine_home(tmp_path, "anthropic", script) as home:
        session = await home.session()
        events = await say(session)
        assert isinstance(events[-1], TurnComplete) and events[-1].reason == "done"
        (card,) = [block for block in session.transcript.blocks if isinstance(block, PlanBlock)]
        assert card.plan.lines == ["[>] Look"]
        assert not any(event.is_error for event in finished(events))


async def test_c21_going_round_in_circles_is_noticed_in_other_words(tmp_path: Path) -> None:
    """C-21, L-8: the same call under two names is the same call."""
    names = ["Read", "read_file", "view"]
    script = [Turn(Call(names[n % 3], {"file_path": "a.txt"})) for n in range(6)]
    async with engine_home(tmp_path, "anthropic", script) as home:
        (home.folder / "a.txt").write_text("one\n")
        events = await say(await home.session())
        assert isinstance(events[-1], TurnComplete) and events[-1].reason == "stalled"


async def test_c21_what_is_not_understood_names_our_tool(tmp_path: Path) -> None:
    """C-21: with its parameters; nothing runs, and the row has the name that was called."""
    script = [Turn(Call("Bash", {"command": "ls", "timeout": 5}), Call("Task", {})), DONE]
    async with engine_home(tmp_path, "gemini", script) as home:
        events = await say(await home.session(), rules=(Rule("allow", "run"),))
        bash, task = sorted(event.text for event in finished(events))
        taken = "command, folder?, background?, terminal?, time_limit?, network?, reason?"
        assert bash == FOREIGN_CALL.format(name="Bash", tool="run", parameters=taken)
        assert task.startswith("There is no tool called Task. The tools are: ")
        assert [row.name for row in queued(events)] == ["Bash", "Task"]
        assert not home.simulator.violations


async def test_c21_a_clients_tool_of_that_name_is_the_clients(tmp_path: Path) -> None:
    """C-21, S-1: nothing of it runs here."""
    theirs = ToolSpec("Bash", "Runs", {"type": "object", "properties": {}}, external=True)
    async with engine_home(tmp_path, "anthropic", [Turn(Call("Bash", {"command": "ls"}))]) as home:
        session = await home.session()
        stream = session.turn([Words("Go")], tools=[theirs])
        events = [envelope.event async for envelope in stream]
        (row,) = queued(events)
        assert (row.name, row.external) == ("Bash", True) and not finished(events)


def test_tools_for_several_purposes_are_told_apart_by_their_command() -> None:
    assert {counterpart(name) for name in BY_COMMAND} == {"edit"}
