"""Spans with the GenAI names, at a real receiver of OTLP over HTTP (L-15)."""

from __future__ import annotations

import asyncio
import sys
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest
from opentelemetry.semconv._incubating.attributes import gen_ai_attributes as names

from studio.agent import telemetry, trace_spans
from studio.domain import events as ev
from studio.simulator import Call, Text, Turn, Usage, status
from support.engine_home import EngineHome, engine_home, say
from support.otlp_collector import about, collector
from support.pack_home import install_code
from support.waiting import FOREVER, HANG, until, within

SECRET = "hunter2hunter2"
SCRIPT = [
    Turn(
        Text("Looking."),
        Call("run", {"command": f"echo --token {SECRET}"}),
        usage=Usage(inp=100, out=50),
    ),
    Turn(Text(f"The password: {SECRET}"), usage=Usage(inp=200, out=70)),
]


async def traced(home: EngineHome, url: str, *, content: bool = False, subject: str = "") -> None:
    """One turn that is traced, with everything sent when this returns."""
    values = home.engine.settings.values
    values.trace_endpoint, values.trace_content = url, content
    session = await home.session()
    await session.change(subject=subject)
    with pytest.MonkeyPatch.context() as patch:  # a busy computer takes longer than these
        patch.setattr(telemetry, "SHUTDOWN_SECONDS", HANG)
        patch.setattr(trace_spans, "EXPORT_SECONDS", HANG)
        await say(session, f"Go, my password: {SECRET}", answer="once")
        await home.engine.telemetry.close()


async def test_a_turn_becomes_spans_with_the_conventions_names(tmp_path: Path) -> None:
    """L-15: the agent, each request and each tool, one below the other, with what was used."""
    with collector() as at:
        async with engine_home(tmp_path, "anthropic", SCRIPT) as home:
            await traced(home, at.url)
        assert set(at.paths) == {"/v1/traces"}
        spans = {span.name: span for span in at.spans}
        assert sorted(span.name for span in at.spans) == [
            "chat sim-model", "chat sim-model", "execute_tool run", "invoke_agent Coder",
        ]  # fmt: skip
        turn, tool = spans["invoke_agent Coder"], spans["execute_tool run"]
        chats = sorted(
            (span for span in at.spans if span.name.startswith("chat")),
            key=lambda span: span.start_time_unix_nano,
        )
        assert turn.parent_span_id == b""
        assert all(one.parent_span_id == turn.span_id for one in (tool, *chats))
        assert {one.trace_id for one in at.spans} == {turn.trace_id}
        assert turn.start_time_unix_nano <= chats[0].start_time_unix_nano
        assert chats[0].end_time_unix_nano <= tool.start_time_unix_nano
        assert tool.end_time_unix_nano <= turn.end_time_unix_nano
        assert chats[0].kind == 3 and turn.kind == tool.kind == 1  # CLIENT, INTERNAL

        whole, asked, ran = about(turn), about(chats[0]), about(tool)
        assert whole[names.GEN_AI_OPERATION_NAME] == "invoke_agent"
        assert whole[names.GEN_AI_AGENT_NAME] == "Coder"
        assert whole[names.GEN_AI_PROVIDER_NAME] == "anthropic"
        assert whole[names.GEN_AI_CONVERSATION_ID] == asked[names.GEN_AI_CONVERSATION_ID]
        assert whole["agent_studio.reason"] == "done" and whole["agent_studio.steps"] == 2
        assert asked[names.GEN_AI_OPERATION_NAME] == "chat"
        assert asked[names.GEN_AI_REQUEST_MODEL] == "sim-model"
        assert asked[names.GEN_AI_RESPONSE_FINISH_REASONS] == ["tool_use"]
        used = [about(chat)[names.GEN_AI_USAGE_OUTPUT_TOKENS] for chat in chats]
        assert used == [50, 70] and sum(used) == whole[names.GEN_AI_USAGE_OUTPUT_TOKENS]
        assert asked[names.GEN_AI_USAGE_INPUT_TOKENS] == 100
        assert ran[names.GEN_AI_OPERATION_NAME] == "execute_tool"
        assert ran[names.GEN_AI_TOOL_NAME] == "run" and ran[names.GEN_AI_TOOL_CALL_ID]
        known = {getattr(names, name) for name in dir(names) if name.startswith("GEN_AI_")}
        used_names = {key for span in at.spans for key in about(span)}
        assert {key for key in used_names if key.startswith("gen_ai.")} <= known

        sent = b"".join(at.bodies)
        for words in (SECRET, "Looking", "echo", "password"):
            assert words.encode() not in sent, "content is sent without being asked for"


async def test_content_is_sent_where_it_is_wanted_and_secrets_never(tmp_path: Path) -> None:
    with collector() as at:
        async with engine_home(tmp_path, "anthropic", SCRIPT) as home:
            await traced(home, at.url + "/v1/traces/", content=True)
        assert set(at.paths) == {"/v1/traces"}
        told = [about(span) for span in at.spans]
        texts = " ".join(str(one) for one in told)
        assert "Looking." in texts and "Go, my" in texts and "echo" in texts
        [tool] = [one for one in told if names.GEN_AI_TOOL_NAME in one]
        assert tool[names.GEN_AI_TOOL_CALL_ARGUMENTS] and tool[names.GEN_AI_TOOL_CALL_RESULT]
        assert SECRET.encode() not in b"".join(at.bodies)


async def test_no_trace_has_the_words_of_a_chat_about_a_thing_of_a_pack(tmp_path: Path) -> None:
    """KZ-7: the pack says who may see them, and no collector is asked about."""
    code = "from studio.packs import Pack\npack = Pack()"
    with collector() as at:
        async with engine_home(tmp_path, "anthropic", SCRIPT) as home:
            install_code(home, tmp_path, code)
            await traced(home, at.url, content=True, subject="guard:file/1")
        assert "invoke_agent Coder" in {span.name for span in at.spans}
        texts = " ".join(str(about(span)) for span in at.spans)
        assert not any(words in texts for words in ("Looking.", "Go, my", "echo"))


async def test_it_is_off_by_default_and_nothing_is_imported(tmp_path: Path) -> None:
    with collector() as at:
        async with engine_home(tmp_path, "anthropic", SCRIPT) as home:
            assert not home.engine.settings.values.trace_endpoint
            assert not home.engine.settings.values.trace_content
            await say(await home.session(), answer="once")
            assert "traces" not in {thread.name for thread in threading.enumerate()}
        assert at.bodies == []
    loaded = "import sys, studio.agent.engine, studio.app; print('opentelemetry' in sys.modules)"
    done = await asyncio.create_subprocess_exec(
        sys.executable, "-c", loaded, stdout=asyncio.subprocess.PIPE
    )
    assert (await done.communicate())[0] == b"False\n"


async def test_a_failed_turn_says_what_kind_of_fault_it_met(tmp_path: Path) -> None:
    with collector() as at:
        async with engine_home(
            tmp_path, "anthropic", [Turn(Text("x"), faults=[status(400)])]
        ) as home:
            await traced(home, at.url)
        spans = {span.name: span for span in at.spans}
        for name in ("invoke_agent Coder", "chat sim-model"):
            assert about(spans[name])["error.type"] == "bad_request"
            assert spans[name].status.code == 2 and spans[name].status.message == ""
        assert SECRET.encode() not in b"".join(at.bodies)


@pytest.mark.parametrize("dead", ["nobody", "refuses", "nonsense"])
async def test_a_dead_collector_is_told_once_and_nothing_waits_for_it(
    tmp_path: Path, dead: str
) -> None:
    """The turn is as quick as without, and there is one notice, without a password."""
    with collector(400) as at:
        url = at.url.replace("//", "//me:hunter2hunter2@") if dead == "refuses" else "nonsense"
        if dead == "nobody":
            server = ThreadingHTTPServer(("127.0.0.1", 0), BaseHTTPRequestHandler)
            server.server_close()
            url = f"http://127.0.0.1:{server.server_port}"
        async with engine_home(tmp_path, "anthropic", SCRIPT * 2) as home:
            values = home.engine.settings.values
            values.trace_endpoint = url
            told: list[str] = []
            heard = asyncio.Event()
            home.engine.on_problem(lambda text: (told.append(text), heard.set()))
            for _ in range(2):
                events = await say(await home.session(), answer="once")
                assert isinstance(events[-1], ev.TurnComplete) and events[-1].reason == "done"
            async with within():
                await heard.wait()
            await home.engine.telemetry.close()
            assert len(told) == 1 and told[0].startswith("Traces could not be sent to ")
            assert SECRET not in told[0]


async def test_without_the_extra_it_says_how_to_get_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "opentelemetry.exporter.otlp.proto.http.trace_exporter", None)
    async with engine_home(tmp_path, "anthropic", SCRIPT) as home:
        told: list[str] = []
        home.engine.on_problem(told.append)
        await traced(home, "http://127.0.0.1:9")
        await asyncio.sleep(0)
        assert len(told) == 1 and "agent-studio[traces]" in told[0]


async def test_a_collector_that_hangs_holds_up_neither_turn_nor_end(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(trace_spans, "EXPORT_SECONDS", FOREVER)
    monkeypatch.setattr(telemetry, "SHUTDOWN_SECONDS", 0.1)
    open_ones: list[asyncio.StreamWriter] = []
    listening = await asyncio.start_server(lambda _, w: open_ones.append(w), "127.0.0.1", 0)
    port = listening.sockets[0].getsockname()[1]
    async with engine_home(tmp_path, "anthropic", SCRIPT) as home:
        await traced(home, f"http://127.0.0.1:{port}")
    for writer in open_ones:  # the threads that wait would try again, beside other tests
        writer.write(b"HTTP/1.1 200 OK\r\nContent-Length: 0\r\nConnection: close\r\n\r\n")
        await writer.drain()
    await until(lambda: not any("Otel" in thread.name for thread in threading.enumerate()))
    listening.close()
    for writer in open_ones:
        writer.close()
        await writer.wait_closed()
