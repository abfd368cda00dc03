"""The demo needs no key, uses only offered tools and says true things about real files."""

from __future__ import annotations

import asyncio
import json
import sys
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import httpx2
import pytest

from studio.agent.prompts import ANSWER_IN_WORDS, ANSWER_SCHEMA
from studio.simulator import Said, Simulator, demo_script, every, serve
from studio.simulator.demo import LOOKED_AT, read_turn
from support.waiting import HANG

Body = dict[str, Any]
ARGUMENTS = {
    "list": ["path"],
    "glob": ["pattern"],
    "read": ["path"],
    "search": ["pattern"],
    "write": ["path", "content"],
    "edit": ["path", "old", "new"],
    "run": ["command"],
    "ask": ["question"],
}


@pytest.fixture
async def http() -> AsyncIterator[httpx2.AsyncClient]:
    async with httpx2.AsyncClient(trust_env=False, verify=False) as client:
        yield client


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "README.md").write_text("# Owls\n\nNight birds.\n", "utf-8")
    (tmp_path / "main.py").write_text("def hoot():\n    return 'hoo'\n", "utf-8")
    (tmp_path / "photo.png").write_bytes(b"\x89PNG")
    (tmp_path / "src").mkdir()
    return tmp_path


def offered(*names: str) -> list[Body]:
    return [
        {
            "type": "function",
            "function": {
                "name": name,
                "parameters": {
                    "type": "object",
                    "properties": {key: {"type": "string"} for key in ARGUMENTS[name]},
                },
            },
        }
        for name in names
    ]


def work(folder: Path, name: str, arguments: Body) -> str:
    """The tools, as far as the demo needs them here."""
    assert set(arguments) <= set(ARGUMENTS[name])
    match name:
        case "list":
            rows = sorted(folder.iterdir())
            return "\n".join(f"{p.name}/" if p.is_dir() else f"{p.name}  12 B" for p in rows)
        case "read":
            text = (folder / arguments["path"]).read_text("utf-8")
            return f"[{arguments['path']}, all {len(text.splitlines())} lines]\n{text}"
        case "run":
            return f"ran {arguments['command']}"
        case _:
            return "A draft was made; the person will see it."


async def lead(
    http: httpx2.AsyncClient,
    sim: Simulator,
    folder: Path,
    words: str,
    *names: str,
    model: str = "demo-tools",
    form: tuple[str, ...] = (),
) -> tuple[str, list[tuple[str, Body]], list[Body]]:
    """A whole turn; the answer, the calls, the history. ``form`` is said after the words."""
    messages: list[Body] = [{"role": "user", "content": one} for one in [words, *form]]
    made: list[tuple[str, Body]] = []
    for _ in range(5):
        body = {"model": model, "messages": messages, "tools": offered(*names)}
        response = await http.post(
            f"{sim.url('chat')}/chat/completions",
            json=body if names else {**body, "tools": None},
            headers={"authorization": "Bearer demo"},
        )
        assert response.status_code == 200, response.text
        message = response.json()["choices"][0]["message"]
        messages.append(message)
        calls = message.get("tool_calls")
        if not calls:
            return message["content"], made, messages
        for call in calls:
            function = call["function"]
            arguments = json.loads(function["arguments"])
            made.append((function["name"], arguments))
            result = work(folder, function["name"], arguments)
            messages.append({"role": "tool", "tool_call_id": call["id"], "content": result})
    raise AssertionError("the demo came to no end")


ALL = tuple(ARGUMENTS)


async def test_looks_around_and_reads_in_parallel(http: httpx2.AsyncClient, folder: Path) -> None:
    async with Simulator(demo_script, strict="beyond", pace=False) as sim:
        text, calls, _ = await lead(http, sim, folder, "What is in this folder?", *ALL)
        assert calls == [
            ("list", {"path": "."}),
            ("read", {"path": "README.md"}),
            ("read", {"path": "main.py"}),
        ]
        assert "Simulated" in text
        assert "**3 files** and **1 folder**" in text
        assert "| `README.md` | 3 | # Owls |" in text
        assert "`hoot`" in text
        assert len(sim.requests) == 3
        assert sim.violations == []


async def test_writes_a_draft_when_asked(http: httpx2.AsyncClient, folder: Path) -> None:
    async with Simulator(demo_script, strict="beyond", pace=False) as sim:
        text, calls, _ = await lead(http, sim, folder, "Write a note to owls.md", *ALL)
        assert [name for name, _ in calls] == ["list", "write"]
        assert calls[1][1]["path"] == "owls.md"
        assert "`main.py`" in calls[1][1]["content"]
        assert "A draft was made" in text


async def test_a_long_message_takes_no_longer_than_a_short_one(
    http: httpx2.AsyncClient, folder: Path
) -> None:
    """It runs inside the window: a file that was pasted, without a blank, took hours."""
    words = f"Look at this {'a' * 2_000_000}"
    assert len(read_turn([Said("user", words)]).words) == LOOKED_AT
    async with Simulator(demo_script, pace=False) as sim:
        answer, calls, _ = await lead(http, sim, folder, words, *ALL)
        assert calls and "Simulated" in answer


async def test_runs_a_command_when_asked(http: httpx2.AsyncClient, folder: Path) -> None:
    async with Simulator(demo_script, strict="beyond", pace=False) as sim:
        text, calls, _ = await lead(http, sim, folder, "Run `git status`", *ALL)
        assert calls == [("run", {"command": "git status"})]
        assert "ran git status" in text


@pytest.mark.parametrize("names", [(), ("read",), ("list",), ("write",), ("search", "ask")])
@pytest.mark.parametrize("words", ["What is here?", "Write a note", "Run it", "hello", ""])
async def test_uses_only_what_is_offered(
    http: httpx2.AsyncClient, folder: Path, names: tuple[str, ...], words: str
) -> None:
    async with Simulator(demo_script, strict="beyond", pace=False) as sim:
        text, calls, _ = await lead(http, sim, folder, words, *names)
        assert {name for name, _ in calls} <= set(names)
        assert "Simulated" in text


async def test_a_second_question_starts_afresh(http: httpx2.AsyncClient, folder: Path) -> None:
    async with Simulator(demo_script, strict="beyond", pace=False) as sim:
        _, _, messages = await lead(http, sim, folder, "What is here?", *ALL)
        messages.append({"role": "user", "content": "And now?"})
        response = await http.post(
            f"{sim.url('chat')}/chat/completions",
            json={"model": "demo-fast", "messages": messages, "tools": offered(*ALL)},
            headers={"authorization": "Bearer demo"},
        )
        calls = response.json()["choices"][0]["message"]["tool_calls"]
        assert calls[0]["function"]["name"] == "list"


async def test_answers_when_told_to_wrap_up(http: httpx2.AsyncClient, folder: Path) -> None:
    """H-6: a text of the engine after the results ends the looking around."""
    async with Simulator(demo_script, pace=False) as sim:
        _, _, messages = await lead(http, sim, folder, "What is here?", *ALL)
        cut = [*messages[:3], {"role": "user", "content": "Answer now with what you have."}]
        response = await http.post(
            f"{sim.url('chat')}/chat/completions",
            json={"model": "demo-fast", "messages": cut, "tools": offered(*ALL)},
            headers={"authorization": "Bearer demo"},
        )
        message = response.json()["choices"][0]["message"]
        assert "tool_calls" not in message
        assert "**3 files**" in message["content"]


async def test_the_thinker_thinks_first(http: httpx2.AsyncClient, folder: Path) -> None:
    async with Simulator(demo_script, chunking=every(7), pace=False) as sim:
        _, _, messages = await lead(http, sim, folder, "What is here?", *ALL, model="demo-thinker")
        assert all(m["reasoning_content"] for m in messages if m["role"] == "assistant")


async def test_the_pace_is_that_of_a_model(http: httpx2.AsyncClient, folder: Path) -> None:
    """About 60 tokens a second, on a clock of our own."""
    waits: list[float] = []

    async def sleep(seconds: float) -> None:
        waits.append(seconds)

    async with Simulator(demo_script, sleep=sleep) as sim:
        body = {"model": "demo-fast", "messages": [{"role": "user", "content": "hello"}]}
        await http.post(
            f"{sim.url('chat')}/chat/completions",
            json={**body, "stream": True},
            headers={"authorization": "Bearer demo"},
        )
    assert waits[0] == 0.3
    assert len(waits) > 40
    assert set(waits[1:]) == {1 / 60}


async def test_serves_until_stopped(http: httpx2.AsyncClient) -> None:
    lines: list[str] = []
    shown = asyncio.Event()

    def show(line: str) -> None:
        lines.append(line)
        if "Any key" in line:
            shown.set()

    task = asyncio.ensure_future(serve(0, show=show, pace=False))
    await asyncio.wait_for(shown.wait(), HANG)
    base = next(line.split()[-1] for line in lines if line.startswith("Ollama"))
    assert len(lines) == 6
    response = await http.get(f"{base}/api/tags")
    assert response.status_code == 200
    task.cancel()
    await asyncio.gather(task, return_exceptions=True)
    with pytest.raises(httpx2.ConnectError):
        await http.get(f"{base}/api/tags")


async def test_needs_only_the_standard_library() -> None:
    """The demo starts at once, without any SDK."""
    code = (
        "import sys, studio.simulator\n"
        "print([n for n in sys.modules if n.split('.')[0] in "
        "('anthropic', 'openai', 'google', 'httpx2', 'pydantic', 'PySide6')])"
    )
    process = await asyncio.create_subprocess_exec(
        sys.executable, "-c", code, stdout=asyncio.subprocess.PIPE
    )
    out, _ = await process.communicate()
    assert out.decode().strip() == "[]"


async def test_w72_outputs_are_filled_in_from_what_was_read(
    http: httpx2.AsyncClient, folder: Path
) -> None:
    """A text that names a file is sound; no other one is."""
    schema = {
        "type": "object",
        "properties": {
            "facts": {"type": "array", "items": {"type": "string"}, "minItems": 4, "maxItems": 9},
            "kind": {"enum": ["bird", "fish"]},
            "count": {"type": "integer", "minimum": 1},
            "verdict": {
                "type": "object",
                "properties": {"sound": {"type": "boolean"}, "why": {"type": "string"}},
            },
        },
    }
    form = ANSWER_SCHEMA.format(schema=json.dumps(schema))
    async with Simulator(demo_script, pace=False) as sim:
        for words, sound in (("Is this right?", False), ("Is README.md right?", True)):
            text, _, _ = await lead(http, sim, folder, words, *ALL, form=(form,))
            found = json.loads(text)
            assert "Night birds." in found["facts"] and len(found["facts"]) == 4
            assert (found["kind"], found["count"]) == ("bird", 1)
            assert found["verdict"]["sound"] is sound and "README.md" in found["verdict"]["why"]
        text, _, _ = await lead(http, sim, folder, form, form=(ANSWER_IN_WORDS,))
        assert text.startswith("*Simulated:*")
