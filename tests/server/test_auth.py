"""Who is let in, and what: the token, Host, Origin, content types, sizes (S-4)."""

from __future__ import annotations

import asyncio
import contextlib
import json
import logging
from pathlib import Path
from typing import Any

import httpx2
import pytest
from hypothesis import given
from hypothesis import strategies as st

from studio.domain.errors import ConfigurationError
from studio.server.contract import BadRequest
from studio.server.http_server import HttpServer
from studio.server.request_body import BRACKETS, DEEPEST, MOST, parse
from studio.simulator import Script, Text, Turn, stall
from support.running_server import RunningServer, running_server
from support.waiting import FOREVER, until, within

SCRIPT: Script = lambda view: Turn(Text("Hello."))  # noqa: E731


async def status(
    server: RunningServer, method: str = "GET", path: str = "/v1/models", **headers: str
) -> int:
    """Of a request with these headers alone."""
    async with httpx2.AsyncClient(
        base_url=server.serving.address, verify=False, trust_env=False
    ) as client:
        named = {name.replace("_", "-"): value for name, value in headers.items()}
        answer = await client.request(method, path, headers=named)
        return answer.status_code


async def test_the_token_is_needed_in_either_way_of_showing_it(tmp_path: Path) -> None:
    """S-4"""
    async with running_server(tmp_path, SCRIPT) as server:
        right = server.token
        assert right.startswith("as-") and len(right) > 40
        assert await status(server, authorization=f"Bearer {right}") == 200
        assert await status(server, authorization=f"bearer  {right}") == 200
        assert await status(server, x_api_key=right) == 200
        assert await status(server, x_api_key=right, authorization="Bearer x") == 200
        for wrong in (
            "",
            f"Basic {right}",
            right,
            "Bearer",
            f"Bearer {right}x",
            f"Bearer {right[:-1]}",
        ):
            assert await status(server, authorization=wrong) == 401, wrong
        odd = await server.client.get("/v1/models", headers={b"authorization": b"Bearer \xe4\xff"})
        assert odd.status_code == 401
        assert await status(server) == 401
        assert await status(server, path="/v1/nowhere") == 401  # a stranger learns nothing
        assert await status(server, path="/health") == 200
        refused = await server.client.get("/v1/models", headers={"authorization": "Bearer x"})
        assert refused.json()["error"]["code"] == "invalid_api_key"
        assert refused.headers["www-authenticate"] == "Bearer"


async def test_the_token_is_nowhere_but_in_the_keychain(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    """S-4: not in files, not in logs."""
    caplog.set_level(logging.DEBUG)
    async with running_server(tmp_path, SCRIPT) as server:
        await server.ask()
        await server.house.engine.settings.save()
        token = server.token
        assert token in server.house.engine.keychain.known()
    assert token not in caplog.text
    for file in (path for path in tmp_path.rglob("*") if path.is_file()):
        assert token.encode() not in file.read_bytes(), file


async def test_a_renewed_token_ends_the_old_one(tmp_path: Path) -> None:
    async with running_server(tmp_path, SCRIPT) as server:
        new = await server.serving.token.renew()
        assert new != server.token
        assert await status(server, x_api_key=server.token) == 401
        assert await status(server, x_api_key=new) == 200


async def test_no_token_is_needed_where_the_person_wants_none_and_nobody_else_comes(
    tmp_path: Path,
) -> None:
    """S-4: only on this computer."""
    async with running_server(tmp_path, SCRIPT) as server:
        server.house.engine.settings.values.server_token = False
        assert await status(server) == 200
    async with running_server(tmp_path, SCRIPT, host="0.0.0.0") as server:
        server.house.engine.settings.values.server_token = False
        assert server.serving.needs_token and not server.serving.local
        assert await status(server) == 401


@pytest.mark.parametrize(
    ("host", "right"),
    [
        ("localhost", True),
        ("localhost:8765", True),
        ("LOCALHOST", True),
        ("127.0.0.1", True),
        ("[::1]:80", True),
        ("studio.lan:8765", True),
        ("evil.example", False),
        ("evil.example:8765", False),
        ("localhost.evil.example", False),
        ("127.0.0.1.evil.example", False),
        ("evil@localhost", False),
        ("localhost:evil", False),
        ("localhost, evil.example", False),
        ("127.0.0.2", False),
        ("0.0.0.0", False),
        ("", False),
    ],
)
async def test_only_its_own_names_lead_to_it(tmp_path: Path, host: str, right: bool) -> None:
    """S-4: a page whose name was rebound to this computer is refused."""
    async with running_server(tmp_path, SCRIPT) as server:
        server.house.engine.settings.values.server_hosts = ["Studio.lan"]
        found = await status(server, host=host, x_api_key=server.token)
        assert (found == 200) is right
        assert found in (200, 421)
        assert (await status(server, path="/health", host=host) == 200) is right


@pytest.mark.parametrize(
    ("target", "code"),
    [
        ("http://{here}/v1/models", 200),
        ("HTTP://LocalHost/v1/models?limit=2", 200),
        ("http://{here}/v1/models/agent%2FCoder", 200),
        ("http://{here}", 404),
        ("http://{here}?x", 404),
        ("http://{here}//v1/models", 404),
        ("http://evil.example/v1/models", 421),
        ("http://evil.example/health", 421),
        ("http://evil.example%2f@{here}/v1/models", 421),
        ("http://{here}%2f.evil.example/v1/models", 421),
        ("http:///v1/models", 421),
        ("https://{here}/v1/models", 404),
        ("/http://{here}/v1/models", 404),
        ("*", 404),
    ],
)
async def test_a_target_may_be_a_whole_address(tmp_path: Path, target: str, code: int) -> None:
    """As clients behind a proxy send it; the name in it has to be one of the server's too."""
    async with running_server(tmp_path, SCRIPT) as server:
        here = f"127.0.0.1:{server.port}"
        for shown, host, wanted in (
            (server.token, here, code),
            ("wrong", here, 421 if code == 421 else 401),
            (server.token, "evil.example", 421),
        ):
            reader, writer = await asyncio.open_connection("127.0.0.1", server.port)
            lines = (
                f"GET {target.format(here=here)} HTTP/1.1",
                f"Host: {host}",
                f"Authorization: Bearer {shown}",
                "Connection: close",
            )
            writer.write("".join(f"{line}\r\n" for line in (*lines, "")).encode())
            async with within():
                answer = await reader.read()
            writer.close()
            assert answer.startswith(f"HTTP/1.1 {wanted} ".encode()), answer[:200]


async def test_pages_are_refused_and_those_that_the_person_lets_in_are_not(tmp_path: Path) -> None:
    """S-4"""
    async with running_server(tmp_path, SCRIPT) as server:
        mine = "https://chat.example"
        server.house.engine.settings.values.server_origins = [mine]
        for origin in (
            "null",
            "http://localhost",
            "https://chat.example.evil",
            "https://CHAT.example",
        ):
            assert await status(server, origin=origin, x_api_key=server.token) == 403
            asked = {"origin": origin, "access-control-request-method": "POST"}
            refused = await server.client.options("/v1/chat/completions", headers=asked)
            assert refused.status_code == 403
            assert "access-control-allow-origin" not in refused.headers
        answer = await server.client.get("/v1/models", headers={"origin": mine})
        assert answer.status_code == 200
        assert answer.headers["access-control-allow-origin"] == mine
        assert answer.headers["vary"] == "origin"
        no_token = await server.client.get(
            "/v1/models", headers={"origin": mine, "authorization": ""}
        )
        assert no_token.status_code == 401  # and the page may read why
        assert no_token.headers["access-control-allow-origin"] == mine
        before = await server.client.options(
            "/v1/chat/completions",
            headers={
                "origin": mine,
                "authorization": "",
                "access-control-request-method": "POST",
                "access-control-request-headers": "authorization,content-type",
            },
        )
        assert before.status_code == 204
        assert before.headers["access-control-allow-origin"] == mine
        assert before.headers["access-control-allow-headers"] == "authorization,content-type"
        assert "POST" in before.headers["access-control-allow-methods"]
        plain = await server.client.get("/v1/models")
        assert "access-control-allow-origin" not in plain.headers


@pytest.mark.parametrize(
    "kind",
    [
        "text/plain",
        "",
        "application/x-www-form-urlencoded",
        "multipart/form-data; boundary=x",
        "text/plain; application/json",
        "application/json, text/plain",
        "application/json; charset=utf-16",
        "application/json; foo=bar; Charset = utf-16",
        "application/json; foo=bar, text/plain",
        "text/plain; foo=application/json",
        "text/plain;, application/json",
        "text/plain\t;application/json;application/json",
        "application/json+x",
        "application/json-seq",
        "application/json text/plain",
    ],
)
async def test_what_a_form_could_send_is_no_request(tmp_path: Path, kind: str) -> None:
    """S-4: ``text/plain`` is refused."""
    async with running_server(tmp_path, SCRIPT) as server:
        data = json.dumps(server.chat())
        answer = await server.client.post(
            "/v1/chat/completions", content=data, headers={"content-type": kind}
        )
        assert answer.status_code == 415
        assert answer.json()["error"]["type"] == "invalid_request_error"
        for right in (
            "Application/JSON; charset=UTF-8",
            'application/json;charset="utf-8"',
            "application/json; foo=bar",
            'application/json ;profile="https://a.b/c"; charset=utf-8;',
        ):
            answer = await server.client.post(
                "/v1/chat/completions", content=data, headers={"content-type": right}
            )
            assert answer.status_code == 200, right
        twice = [("content-type", "application/json"), ("content-type", "text/plain")]
        for headers in (twice, twice[::-1]):
            answer = await server.client.post("/v1/chat/completions", content=data, headers=headers)
            assert answer.status_code == 415
        packed = {"content-type": "application/json", "content-encoding": "gzip"}
        answer = await server.client.post("/v1/chat/completions", content=data, headers=packed)
        assert answer.status_code == 415


async def test_a_body_is_limited_however_it_comes(tmp_path: Path) -> None:
    """S-4"""
    async with running_server(tmp_path, SCRIPT) as server:
        server.house.engine.settings.values.server_body_limit = 10_000
        assert (await server.ask("x" * 9_000)).status_code == 200
        told = await server.ask("x" * 11_000)
        assert told.status_code == 413
        assert told.json()["error"]["code"] == "request_too_large"

        async def chunks() -> Any:
            for _ in range(100):
                yield b" " * 1_000

        answer = await server.client.post(
            "/v1/messages", content=chunks(), headers={"content-type": "application/json"}
        )
        assert answer.status_code == 413
        assert answer.json()["error"]["type"] == "request_too_large"
        reader, writer = await server.raw(b"", Content_Length="9" * 20)
        assert b" 413 " in await reader.readline()
        writer.close()


@pytest.mark.parametrize(
    "body",
    [
        b"",
        b"{",
        b"[]",
        b'"text"',
        b"null",
        b'{"model": NaN}',
        b'{"temperature": 1e999}',
        b'{"temperature": -Infinity}',
        b'{"n": ' + b"1" * 5_000 + b"}",
        b'{"model": "\\ud800"}',
        b'{"\\udfff": 1}',
        b'{"a": ["\\ud83d"]}',
        b'{"model": "\xff"}',
        b'{"model": "\xed\xa0\x80"}',
        b"\xef\xbb\xbf{}",
        b"{} {}",
        b"[" * 100_000,
        b'{"a":' * 100_000,
        b'{"a":' * (DEEPEST + 2) + b"1" + b"}" * (DEEPEST + 2),
        b'{"a": ' + b"[" * 3_000 + b"]" * 3_000 + b"}",
    ],
    ids=lambda body: repr(body[:20]),
)
def test_broken_json_is_the_clients_mistake(body: bytes) -> None:
    with pytest.raises(BadRequest) as raised:
        parse(body)
    assert raised.value.status == 400
    assert len(str(raised.value)) < 200


VALUES = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(), inner, max_size=4),
    max_leaves=20,
)


@given(st.dictionaries(st.text(), VALUES, max_size=4), st.booleans())
def test_json_is_read_as_it_is(value: dict[str, Any], ascii_only: bool) -> None:
    assert parse(json.dumps(value, ensure_ascii=ascii_only).encode()) == value


@given(st.binary(max_size=60))
def test_any_bytes_are_an_object_or_a_mistake(data: bytes) -> None:
    try:
        assert isinstance(parse(data), dict)
    except BadRequest as error:
        assert error.status == 400


async def test_broken_json_is_said_in_each_apis_shape(tmp_path: Path) -> None:
    async with running_server(tmp_path, SCRIPT) as server:
        for path, kind in (
            ("/v1/chat/completions", "invalid_request_error"),
            ("/v1/responses", "invalid_request_error"),
            ("/v1/messages", "invalid_request_error"),
            ("/v1/messages/count_tokens", "invalid_request_error"),
        ):
            answer = await server.client.post(
                path, content=b"{", headers={"content-type": "application/json"}
            )
            assert answer.status_code == 400
            assert answer.json()["error"]["type"] == kind
            assert ("type" in answer.json()) is path.startswith("/v1/messages")


async def test_more_than_can_be_answered_at_once_are_asked_to_wait(tmp_path: Path) -> None:
    async with running_server(
        tmp_path, lambda view: Turn(Text("Slow."), faults=[stall()])
    ) as server:
        server.house.engine.settings.values.server_at_once = 2
        held = [await server.raw(server.chat(f"{n}")) for n in range(2)]
        await until(lambda: len(server.house.asked) == 2)
        answer = await server.ask()
        assert answer.status_code == 503
        assert (answer.headers["retry-after"], answer.headers["x-should-retry"]) == ("1", "true")
        anthropic = await server.client.post("/v1/messages", json={})
        assert anthropic.status_code == 529
        assert anthropic.json()["error"]["type"] == "overloaded_error"
        assert (await server.client.get("/health")).status_code == 200
        for _, writer in held:
            writer.close()
        await until(lambda: all(one.gone.is_set() for one in server.house.asked))
        assert (await server.client.get("/v1/models")).status_code == 200


async def test_a_flood_of_headers_ends_the_connection(tmp_path: Path) -> None:
    async with running_server(tmp_path, SCRIPT) as server:
        _, writer = await asyncio.open_connection("127.0.0.1", server.port)
        writer.write(b"GET /health HTTP/1.1\r\nHost: localhost\r\n")
        with pytest.raises(ConnectionError):
            for n in range(100_000):
                writer.write(f"X-{n}: {'x' * 100}\r\n".encode())
                await writer.drain()
        writer.close()
        assert (await server.ask()).status_code == 200


async def test_who_never_finishes_a_request_is_not_waited_for(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Slow headers, a slow body, an idle connection."""
    monkeypatch.setattr("studio.server.http_server.HEADER_SECONDS", 0.2)
    monkeypatch.setattr("studio.server.request_body.PATIENCE", 0.2)
    async with running_server(tmp_path, SCRIPT) as server:
        idle, idle_writer = await asyncio.open_connection("127.0.0.1", server.port)
        slow, slow_writer = await asyncio.open_connection("127.0.0.1", server.port)
        slow_writer.write(b"GET /health HTTP/1.1\r\nHost: localhost\r\nX-A: ")
        async with within():
            for reader in (idle, slow):
                with contextlib.suppress(ConnectionError):  # it was not even read
                    assert await reader.read() == b""
        monkeypatch.setattr("studio.server.http_server.HEADER_SECONDS", FOREVER)
        body, body_writer = await server.raw(b"{", Content_Length="100")
        async with within():
            assert b" 408 " in await body.readline()
        for writer in (idle_writer, slow_writer, body_writer):
            writer.close()


async def test_a_body_that_trickles_does_not_hold_its_place(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """S-4: something comes all the time, and it is never whole."""
    monkeypatch.setattr("studio.server.request_body.LONGEST", 0.3)
    async with running_server(tmp_path, SCRIPT) as server:
        reader, writer = await server.raw(b"{", Content_Length="1000000")

        async def trickle() -> None:
            while True:
                writer.write(b" ")
                await asyncio.sleep(0.01)

        trickling = asyncio.create_task(trickle())
        async with within():
            assert b" 408 " in await reader.readline()
        trickling.cancel()
        writer.close()


async def test_a_request_has_so_many_objects_at_most(tmp_path: Path) -> None:
    """S-4: what nobody needs is refused before anything is made of it."""
    async with running_server(tmp_path, SCRIPT) as server:
        messages = [{"role": "user", "content": "x"}] * (MOST + 1)
        for path, more in (("/v1/chat/completions", {}), ("/v1/messages", {"max_tokens": 9})):
            body = {"model": "x", "messages": messages, **more}
            answer = await server.client.post(path, json=body)
            assert answer.status_code == 413 and "30,000 objects" in answer.text
        assert not server.house.asked


def test_a_request_has_so_many_lists_at_most() -> None:
    """S-4: 20 MB of empty ones would be 600 MB here, and hold up everybody."""
    assert len(str(parse(b'{"x":[' + b"[]," * (BRACKETS - 2) + b"[]]}"))) > BRACKETS
    with pytest.raises(BadRequest, match="more than 250,000 square brackets") as raised:
        parse(b'{"x":[' + b"[]," * BRACKETS + b"[]]}")
    assert raised.value.status == 413


async def test_more_connections_than_there_may_be_are_closed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("studio.server.http_server.MAX_CONNECTIONS", 2)
    async with running_server(tmp_path, SCRIPT) as server, within():
        here = ("127.0.0.1", server.port)
        (first, writer), (_, other) = [await asyncio.open_connection(*here) for _ in range(2)]
        await until(lambda: server.serving.connected == 2)
        third, last = await asyncio.open_connection(*here)
        assert await third.read() == b""
        writer.write(b"GET /health HTTP/1.1\r\nHost: localhost\r\n\r\n")
        assert b" 200 " in await first.readline()
        for one in (writer, other, last):
            one.close()


async def test_a_taken_port_is_said(tmp_path: Path) -> None:
    async with running_server(tmp_path, SCRIPT) as server:
        second = HttpServer(
            server.house.engine, host="127.0.0.1", port=server.port, folder=tmp_path
        )
        with pytest.raises(ConfigurationError, match=f"Port {server.port} is taken"):
            await second.start()
        nowhere = HttpServer(server.house.engine, host="192.0.2.1", port=0, folder=tmp_path)
        with pytest.raises(ConfigurationError, match=r"192\.0\.2\.1 is no address"):
            await nowhere.start()
        unknown = HttpServer(server.house.engine, host="no.such.invalid", port=0, folder=tmp_path)
        with pytest.raises(ConfigurationError, match="not known"):
            await unknown.start()
        await second.stop()  # one that never began
