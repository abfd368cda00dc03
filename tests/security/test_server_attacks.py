"""What a hostile client, a hostile page or a hostile program sends, on real sockets (S-4)."""

from __future__ import annotations

import asyncio
import base64
import re
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from studio.agent.loop.structured_output import parse_answer
from studio.domain.events import TurnStarted
from studio.domain.messages import File, Message, ToolCall, with_distinct_calls
from studio.domain.tools import ToolSpec
from studio.providers.base import Request
from studio.simulator import Script, Text, Turn
from studio.tools.sdk import argument_check
from studio.tools.sdk.argument_check import violations
from support.running_server import PROVIDER, RunningServer, running_server
from support.waiting import HANG, within

SCRIPT: Script = lambda view: Turn(Text("Hello."))  # noqa: E731
CATASTROPHE = {"pattern": "^(a+)+$"}
"""Thirty letters and one that does not fit keep the whole program busy for an hour."""


async def statuses(server: RunningServer, raw: bytes) -> list[int]:
    """Of every answer to these bytes on one connection, until the server hangs up."""
    reader, writer = await asyncio.open_connection("127.0.0.1", server.port)
    writer.write(raw)
    async with within():
        found = await reader.read()
    writer.close()
    return [int(one) for one in re.findall(rb"HTTP/1\.1 (\d+)", found)]


def get(
    server: RunningServer,
    target: str = "/v1/models",
    host: str | None = "localhost",
    extra: str = "",
) -> bytes:
    named = "" if host is None else f"Host: {host}\r\n"
    token = f"Authorization: Bearer {server.token}\r\nConnection: close\r\n"
    return f"GET {target} HTTP/1.1\r\n{named}{token}{extra}\r\n".encode("latin-1")


# Whose name leads here, and where a request ends


@pytest.mark.parametrize(
    "host",
    [
        "localhost.",
        "127.1",
        "2130706433",
        "0x7f000001",
        "0.0.0.0",
        "[::ffff:127.0.0.1]",
        "::1",
        "127.0.0.1.evil.example",
        "127.0.0.1@evil.example",
        "evil.example#localhost",
        "localhost,evil.example",
        "localhost evil.example",
        "localhost:1:2",
        "loc\u00e4lhost",
        "",
    ],
)
async def test_names_that_only_look_like_this_computer(tmp_path: Path, host: str) -> None:
    """S-4: a name of somebody else may lead here."""
    async with running_server(tmp_path, SCRIPT) as server:
        assert await statuses(server, get(server, host=host)) == [421]


async def test_one_host_and_the_targets_has_to_be_ours_too(tmp_path: Path) -> None:
    async with running_server(tmp_path, SCRIPT) as server:
        assert await statuses(server, get(server, host="LOCALHOST")) == [200]
        for twice in ("localhost", "evil.example"):
            extra = f"Host: {'evil.example' if twice == 'localhost' else 'localhost'}\r\n"
            assert await statuses(server, get(server, host=twice, extra=extra)) == [400]
        assert await statuses(server, get(server, host=None)) == [400]
        whole = "http://localhost/v1/models"
        assert await statuses(server, get(server, whole, host="evil.example")) == [421]
        assert await statuses(server, get(server, whole)) == [200]
        assert await statuses(server, get(server, "http://evil.example/v1/models")) == [421]


async def test_a_request_has_one_origin(tmp_path: Path) -> None:
    """S-4: none hides behind one that is let in."""
    async with running_server(tmp_path, SCRIPT) as server:
        server.house.engine.settings.values.server_origins = ["https://good.example"]
        good, evil = "Origin: https://good.example\r\n", "Origin: https://evil.example\r\n"
        for extra, status in ((good, 200), (evil, 403), (good + evil, 403), (evil + good, 403)):
            assert await statuses(server, get(server, extra=extra)) == [status]


async def test_a_request_has_one_length(tmp_path: Path) -> None:
    """S-4: no request is hidden in another from a proxy that stands before the server."""
    async with running_server(tmp_path, SCRIPT) as server:
        hidden = get(server)
        chunked = b"2\r\n{}\r\n0\r\n\r\n"
        both = server.request(chunked, Content_Length="4", Transfer_Encoding="chunked")
        assert await statuses(server, both + hidden) == [400]
        for name, value in (
            ("Content-Length", "2\r\nContent-Length: 9"),
            ("Content-Length", "+2"),
            ("Content-Length", "0x2"),
            ("Content-Length", "9" * 5000),
            ("Transfer-Encoding", "xchunked"),
            ("Transfer-Encoding", "gzip, chunked"),
        ):
            length = {"Content_Length": "", name.replace("-", "_"): value}
            sent = server.request(b"{}", **length)
            assert (await statuses(server, sent + hidden))[0] == 400, value
        assert (await server.ask()).status_code == 200


# Requests that are hard work


@pytest.mark.parametrize(
    "schema",
    [
        {"properties": {"a": {"$ref": "#/const/x"}}, "const": {"x": CATASTROPHE}},
        {"properties": {"a": {"$ref": "#/default/x"}}, "default": {"x": CATASTROPHE}},
        {
            "properties": {"a": {"$ref": "#/$defs/x/properties"}},
            "$defs": {"x": {"properties": CATASTROPHE}},
        },
    ],
)
def test_no_pattern_of_a_stranger_is_run_wherever_it_is_hidden(schema: Any) -> None:
    text = '{"a": "aaa!"}'
    assert violations({"properties": {"a": CATASTROPHE}}, {"a": "aaa!"})
    if "const" in schema:
        schema["const"]["a"] = "aaa!"
    assert parse_answer(text, schema) == {"a": "aaa!"}


def test_the_rest_of_a_schema_with_a_pattern_still_holds() -> None:
    with pytest.raises(ValueError, match="shorter"):
        parse_answer('{"a": "aaa!"}', {"properties": {"a": {**CATASTROPHE, "maxLength": 3}}})


def test_a_schema_that_doubles_at_each_reference_is_given_up(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Forty lines of it would take longer than there is time."""
    monkeypatch.setattr(argument_check, "PATIENCE", 0.2)
    twice: dict[str, Any] = {
        f"a{n}": {"allOf": [{"$ref": f"#/$defs/a{n + 1}"}] * 2} for n in range(40)
    }
    schema: dict[str, Any] = {"$ref": "#/$defs/a0", "$defs": {**twice, "a40": {"type": "integer"}}}
    profile = sys.getprofile()
    assert parse_answer("5", schema) == 5
    assert sys.getprofile() is profile
    monkeypatch.setattr(argument_check, "PATIENCE", HANG)
    with pytest.raises(ValueError, match="whole number"):
        parse_answer('"x"', {"$ref": "#/$defs/a40", "$defs": {"a40": {"type": "integer"}}})


@pytest.mark.parametrize("schema", [{"$ref": "#"}, {"multipleOf": 0}])
async def test_a_schema_that_cannot_be_held_against_anything(tmp_path: Path, schema: Any) -> None:
    """It is the client's own loss, and no fault of the program."""
    form = {"type": "json_schema", "json_schema": {"name": "x", "schema": schema}}
    async with running_server(tmp_path, lambda view: Turn(Text("5"))) as server:
        answer = await server.ask(response_format=form)
        assert answer.status_code == 200, answer.text
        assert answer.json()["choices"][0]["message"]["content"] == "5"


async def test_thousands_of_calls_with_one_id_do_not_stop_the_others(tmp_path: Path) -> None:
    function = {"name": "f", "arguments": "{}"}
    calls = [{"id": "a", "type": "function", "function": function}] * 4_000
    results = [{"role": "tool", "tool_call_id": "a", "content": "x"}] * 4_000
    messages = [{"role": "assistant", "tool_calls": calls}, *results]
    async with running_server(tmp_path, SCRIPT) as server, within():
        body = server.chat(messages=[{"role": "user", "content": "Go"}, *messages])
        answer = await server.client.post("/v1/chat/completions", json=body)
        assert answer.status_code == 200, answer.text[:300]


def test_thousands_of_tools_are_gone_through_once() -> None:
    """S-4: a small request with ten thousand of a client's tools stops nobody else."""

    class Seen(tuple[ToolSpec, ...]):
        times = 0

        def __iter__(self) -> Iterator[ToolSpec]:
            Seen.times += 1
            return super().__iter__()

    tools = Seen(ToolSpec(f"t{number}", "", {}, "read") for number in range(10))
    for only, names in (("", [one.name for one in tuple(tools)]), ("t3", ["t3"])):
        Seen.times = 0
        request = Request("m", [], tools=tools, only=only)
        assert [one.name for one in request.callable] == names
        assert 1 <= Seen.times <= 2


def test_an_imported_file_with_thousands_of_calls_with_one_id() -> None:
    calls = tuple(ToolCall("a", "f", {}) for _ in range(20_000))
    (told,) = with_distinct_calls([Message("assistant", calls)])
    ids = [block.id for block in told.blocks if isinstance(block, ToolCall)]
    assert len(set(ids)) == len(ids) and ids[:3] == ["a", "a-2", "a-3"]


# Names that a client gives, which the window shows


@pytest.mark.parametrize("name", ["x" * 1_000_000, "a\nb", "\u202egpt", "\x1b[2Jgpt"])
async def test_a_models_name_that_cannot_be_shown(tmp_path: Path, name: str) -> None:
    async with running_server(tmp_path, SCRIPT) as server:
        answer = await server.ask(model=f"{PROVIDER}/{name}")
        assert answer.status_code == 404 and len(answer.text) < 1_000
        assert not await server.house.engine.sessions.list()


async def test_a_files_name_is_one_line_and_no_path(tmp_path: Path) -> None:
    name = f"/etc/..\\{'x' * 100_000}\u202e\x00\n.txt"
    file = {"filename": name, "file_data": base64.b64encode(b"Some words").decode()}
    said = [{"type": "text", "text": "Read it"}, {"type": "file", "file": file}]
    async with running_server(tmp_path, SCRIPT) as server:
        answer = await server.ask(messages=[{"role": "user", "content": said}])
        assert answer.status_code == 200, answer.text
        [info] = await server.house.engine.sessions.list()
        events = await server.house.engine.sessions.store.events(info.id)
        blocks = [
            block for event in events if isinstance(event, TurnStarted) for block in event.said
        ]
        [found] = [block.name for block in blocks if isinstance(block, File)]
        assert found == f"{'x' * 196}.txt"
