"""What any bytes of a server come to: an answer or a plain error, in bounded memory, no key told.

A server that never stops is written here as one that never stops: what reads it has to.
"""

from __future__ import annotations

import asyncio
import gc
import gzip
import json
import zlib
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import asynccontextmanager
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest

from studio.agent.retry_policy import RetryPolicy
from studio.domain.errors import ProviderError
from studio.domain.events import TextDelta
from studio.domain.messages import Text, ToolResult
from studio.providers import answer_limits, stream_driver
from studio.providers.base import MOST_CALLS, Provider, Reply, Request
from studio.providers.errors import retry_after
from studio.providers.http import Http
from studio.providers.model_facts import listable
from studio.providers.registry import PROVIDERS
from studio.simulator import Text as Fine
from studio.simulator import Turn
from support.engine_home import KEY, PROTOCOLS, engine_home, say
from support.waiting import within

PROVIDER_NAMES = list(PROTOCOLS)
Writer = asyncio.StreamWriter
Answer = bytes | Callable[[Writer], Any]

# What each API says


def sse(*events: Any) -> bytes:
    return b"".join(b"data: %b\n\n" % json.dumps(event).encode() for event in events)


def anthropic(text: str, calls: list[dict[str, Any]], usage: Any) -> bytes:
    blocks = [({"type": "text", "text": ""}, {"type": "text_delta", "text": text})] if text else []
    blocks += [
        (
            {"type": "tool_use", "id": one["id"], "name": one["name"], "input": {}},
            {"type": "input_json_delta", "partial_json": one["arguments"]},
        )
        for one in calls
    ]
    events: list[Any] = [{"type": "message_start", "message": {"usage": usage}}]
    for place, (block, delta) in enumerate(blocks):
        index = calls[0].get("index", place) if calls else place
        events += [
            {"type": "content_block_start", "index": index, "content_block": block},
            {"type": "content_block_delta", "index": index, "delta": delta},
            {"type": "content_block_stop", "index": index},
        ]
    stop = "tool_use" if calls else "end_turn"
    events += [
        {"type": "message_delta", "delta": {"stop_reason": stop}, "usage": usage},
        {"type": "message_stop"},
    ]
    return sse(*events)


def openai(text: str, calls: list[dict[str, Any]], usage: Any) -> bytes:
    said = {
        "type": "message",
        "role": "assistant",
        "content": [{"type": "output_text", "text": text}],
    }
    items: list[dict[str, Any]] = [said] if text else []
    items += [
        {
            "type": "function_call",
            "call_id": one["id"],
            "name": one["name"],
            "arguments": one["arguments"],
        }
        for one in calls
    ]
    events: list[Any] = []
    for place, item in enumerate(items):
        index = calls[0].get("index", place) if calls else place
        events += [
            {"type": "response.output_item.added", "output_index": index, "item": item},
            {"type": "response.output_item.done", "output_index": index, "item": item},
        ]
    response = {"status": "completed", "output": [], "usage": usage}
    return sse(*events, {"type": "response.completed", "response": response})


def gemini(text: str, calls: list[dict[str, Any]], usage: Any) -> bytes:
    parts: list[Any] = [{"text": text}] if text else []
    parts += [
        {
            "functionCall": {
                "id": one["id"],
                "name": one["name"],
                "args": json.loads(one["arguments"]),
            }
        }
        for one in calls
    ]
    candidate = {"content": {"role": "model", "parts": parts}, "finishReason": "STOP"}
    return sse({"candidates": [candidate], "usageMetadata": usage})


def chat(text: str, calls: list[dict[str, Any]], usage: Any) -> bytes:
    native = [
        {
            "index": one.get("index", place),
            "id": one["id"],
            "function": {"name": one["name"], "arguments": one["arguments"]},
        }
        for place, one in enumerate(calls)
    ]
    delta = {"content": text, "tool_calls": native}
    choice = {"index": 0, "delta": delta, "finish_reason": "tool_calls" if calls else "stop"}
    return sse({"id": "x", "choices": [choice], "usage": usage}) + b"data: [DONE]\n\n"


def ollama(text: str, calls: list[dict[str, Any]], usage: Any) -> bytes:
    native = [
        {"id": one["id"], "function": {"name": one["name"], "arguments": one["arguments"]}}
        for one in calls
    ]
    message = {"content": text, "tool_calls": native}
    line = {"message": message, "done": True, "done_reason": "stop"}
    return json.dumps(line | (usage if isinstance(usage, dict) else {})).encode() + b"\n"


SAYS = {
    "anthropic": anthropic,
    "openai": openai,
    "gemini": gemini,
    "openai-compatible": chat,
    "ollama": ollama,
}
COUNTS = {
    "anthropic": ("input_tokens", "output_tokens"),
    "openai": ("input_tokens", "output_tokens"),
    "gemini": ("promptTokenCount", "candidatesTokenCount"),
    "openai-compatible": ("prompt_tokens", "completion_tokens"),
    "ollama": ("prompt_eval_count", "eval_count"),
}


def fine(provider: str) -> bytes:
    return SAYS[provider]("fine", [], {})


# The server


def head(body: bytes | None = b"", status: int = 200, **headers: str) -> bytes:
    """The beginning of an answer; ``body`` None for one whose length is not told."""
    named = {"content-type": "text/event-stream"}
    named |= {name.replace("_", "-"): value for name, value in headers.items()}
    if body is not None and "transfer-encoding" not in named:
        named.setdefault("content-length", str(len(body)))
    lines = "".join(f"{name}: {value}\r\n" for name, value in named.items())
    return f"HTTP/1.1 {status} X\r\n{lines}\r\n".encode() + (body or b"")


def forever(piece: bytes, first: bytes | None = None) -> Callable[[Writer], Any]:
    async def write(writer: Writer) -> None:
        writer.write(head(None) if first is None else first)
        while not writer.is_closing():
            writer.write(piece)
            await writer.drain()
            await asyncio.sleep(0)

    return write


@asynccontextmanager
async def server(answer: Answer, hits: list[bytes] | None = None) -> AsyncIterator[int]:
    """A port that answers every request so, and then hangs up."""

    async def serve(reader: asyncio.StreamReader, writer: Writer) -> None:
        try:
            asked = await reader.readuntil(b"\r\n\r\n")
            if hits is not None:
                hits.append(asked)
            length = asked.lower().partition(b"content-length:")[2].partition(b"\r\n")[0]
            await reader.readexactly(int(length or 0))
            if asked.split()[1].endswith(b"/show"):
                writer.write(head(b"{}"))
            elif callable(answer):
                await answer(writer)
            else:
                writer.write(answer)
            await writer.drain()
        except (asyncio.IncompleteReadError, ConnectionError):
            pass
        finally:
            writer.close()

    listening = await asyncio.start_server(serve, "127.0.0.1", 0, limit=2**26)
    try:
        yield listening.sockets[0].getsockname()[1]
    finally:
        listening.close()


def provider_at(name: str, port: int, http: Http) -> Provider:
    version = "/v1" if PROTOCOLS[name] in ("responses", "chat") else ""
    module, _, made = PROVIDERS[name].adapter.partition(":")
    return getattr(import_module(module), made)(KEY, f"http://127.0.0.1:{port}{version}", http)


async def asked(
    name: str, answer: Answer, hits: list[bytes] | None = None
) -> Reply | ProviderError:
    """What a request comes to. Whatever it is, it can be gone on from, and holds no key."""
    http = Http()
    try:
        async with server(answer, hits) as port:
            provider = provider_at(name, port, http)
            history = provider.user_items([Text("Go")])
            stream = provider.stream(Request("m", history))
            found: Reply | ProviderError
            try:
                async for delta in stream:
                    assert not isinstance(delta, TextDelta) or delta.text
                reply = found = stream.reply()
            except ProviderError as error:
                found, reply = error, stream.interrupted()
                assert KEY not in str(error) and str(error).isprintable()
                assert len(str(error)) < 1_000
            results = [ToolResult(call.id, call.name, (Text("x"),)) for call in reply.calls]
            assert len({call.id for call in reply.calls}) == len(reply.calls)
            history += [*reply.items, *provider.result_items(results)]
            assert provider.history_problem(history) == ""
            assert KEY not in reply.detail and reply.detail.isprintable()
            return found
    finally:
        await http.aclose()


PACKER = zlib.compressobj(1, wbits=31)
PACKED = PACKER.compress(bytes(1 << 22)) + PACKER.flush(zlib.Z_FULL_FLUSH)
PACKER = zlib.compressobj(1, wbits=31)
PACKED_LINES = PACKER.compress(b": \n\n" * (1 << 20)) + PACKER.flush(zlib.Z_FULL_FLUSH)
MORE = zlib.compressobj(1, wbits=-15)
MORE_LINES = MORE.compress(b": \n\n" * (1 << 20)) + MORE.flush(zlib.Z_FULL_FLUSH)
DEEP = b"[" * 100_000
ENDLESS: dict[str, tuple[Answer, str]] = {
    "a line": (forever(b"x" * 65_536, head(None) + b'data: {"a":"'), "protocol"),
    "a line of json": (forever(b"x" * 65_536, head(None) + b'{"a":"'), "protocol"),
    "lines of one event": (forever(b"data: x\n" * 8_192), "protocol"),
    "comments": (forever(b": x\n\n" * 8_192), "protocol"),
    "blank lines": (forever(b"\r\n" * 8_192), "protocol"),
    "pings": (
        forever(b'data: {"type":"ping","id":"x","choices":[],"done":false}\n\n' * 999),
        "protocol",
    ),
    "a chunked body": (
        forever(b"4000\r\n%b\r\n" % (b": \n\n" * 4096), head(None, transfer_encoding="chunked")),
        "protocol",
    ),
    "a packed line": (
        forever(b"", head(None, content_encoding="gzip") + PACKED * 8),
        "protocol network",
    ),
    "packed comments": (
        forever(MORE_LINES, head(None, content_encoding="gzip") + PACKED_LINES),
        "protocol",
    ),
    "headers": (forever(b"x-a: aaaaaaaa\r\n" * 999, b"HTTP/1.1 200 X\r\n"), "network"),
    "a header": (forever(b"a" * 65_536, b"HTTP/1.1 200 X\r\nx-a: "), "network"),
    "an error": (forever(b"x" * 65_536, head(None, 500)), "server"),
    "a refused key": (forever(b"x" * 65_536, head(None, 401)), "bad_key"),
    "a packed error": (
        forever(MORE_LINES, head(None, 503, content_encoding="gzip") + PACKED_LINES),
        "overloaded",
    ),
    "a redirect": (forever(b"x" * 65_536, head(None, 302, location="/v1/x")), "protocol"),
    "chunk marks": (
        forever(b"0" * 65_536, head(None, transfer_encoding="chunked")),
        "network",
    ),
    "trailers": (
        forever(b"a: b\r\n" * 999, head(None, transfer_encoding="chunked") + b"0\r\n"),
        "network",
    ),
}


@pytest.fixture
def small(monkeypatch: pytest.MonkeyPatch) -> None:
    """Limits that are reached sooner."""
    monkeypatch.setattr(answer_limits, "STREAM", 1 << 18)
    monkeypatch.setattr(answer_limits, "ERROR", 1 << 17)
    monkeypatch.setattr(stream_driver, "MOST_EVENTS", 1_000)


@pytest.mark.usefixtures("small")
@pytest.mark.parametrize("provider", PROVIDER_NAMES)
async def test_an_answer_without_an_end_is_left(provider: str) -> None:
    wrong: dict[str, Any] = {}
    for name, (answer, faults) in ENDLESS.items():
        async with within():
            found = await asked(provider, answer)
        if not isinstance(found, ProviderError) or found.fault not in faults.split():
            wrong[name] = getattr(found, "fault", found)
    assert wrong == {}


def odd(provider: str) -> dict[str, Answer]:
    """Answers that are wrong on the way, or hold what nobody would say."""
    whole = fine(provider)
    other = {f"like {name}": head(says("fine", [], {})) for name, says in SAYS.items()}
    at = whole.index(b"fine")
    broken = {
        name: head(whole[:at] + piece + whole[at:])
        for name, piece in {
            "nul": b"\0",
            "invalid": b"\xff\xfe\x80",
            "overlong": b"\xc0\xaf",
            "half": b"\xed\xa0\x80",
            "escape": b"\\u001b[2J\\u202e",
            "deep": b'"}' + DEEP,
        }.items()
    }
    chunk = b"%x\r\n%b\r\n" % (len(whole), whole)
    chunked = head(None, transfer_encoding="chunked")
    return {
        **other,
        **broken,
        "nothing": b"",
        "only a head": head(None),
        "empty": head(b""),
        "no http": b"SSH-2.0-x\r\n\r\n",
        "html": head(b"<!doctype html><p>Login", content_type="text/html"),
        "json": head(b'{"a":1}', content_type="application/json"),
        "a list": head(b"[1,2]", content_type="application/json"),
        "null": head(b"null", content_type="application/json"),
        "a number": head(b"data: 7\n\n"),
        "a key twice": head(b'data: {"choices":[],"choices":7}\n\n'),
        "deep": head(b"data: " + DEEP + b"\n\n"),
        "deep json": head(b'{"a":' + DEEP),
        "long number": head(b'data: {"choices":' + b"9" * 5_000 + b"}\n\n"),
        "too long a length": head(whole, content_length="999999999"),
        "too short a length": head(whole, content_length="9"),
        "a negative length": head(whole, content_length="-1"),
        "no length": head(whole, content_length="x"),
        "chunk too long": chunked + b"ffffffffffffffff\r\n" + whole,
        "chunk of letters": chunked + b"zz\r\n" + whole,
        "no last chunk": chunked + chunk,
        "trailers": chunked + chunk + b"0\r\nx: y\r\n\r\n",
        "half closed": chunked + chunk[: len(chunk) // 2],
        "brotli": head(whole, content_encoding="br"),
        "twice packed": head(gzip.compress(gzip.compress(whole)), content_encoding="gzip, gzip"),
        "not packed": head(whole, content_encoding="gzip"),
        "packed": head(gzip.compress(whole), content_encoding="gzip"),
        "deflated": head(zlib.compress(whole), content_encoding="deflate"),
        "deflated bare": head(zlib.compress(whole)[2:-4], content_encoding="deflate"),
        "cut while packed": head(gzip.compress(whole)[:-20], content_encoding="gzip"),
        "200 and an error": head(b'data: {"error":{"message":"%b"}}\n\n' % KEY.encode()),
        "an error in words": head(b'data: {"error":"%b"}\n\n' % KEY.encode()),
        "an error that is a list": head(b'data: {"error":[1]}\n\n'),
        "204": b"HTTP/1.1 204 X\r\n\r\n",
        "304": b"HTTP/1.1 304 X\r\n\r\n",
        "999": head(b"x", 999),
        "101": b"HTTP/1.1 101 X\r\nupgrade: x\r\n\r\n",
        "100 first": b"HTTP/1.1 100 Continue\r\n\r\n" + head(whole),
    }


ANSWERED = {"trailers", "packed", "deflated", "deflated bare", "100 first", "escape"}


@pytest.fixture
def without_collection() -> Iterator[None]:
    """JSON of any depth is read: a finalizer that is called down there has no room to run."""
    gc.disable()
    yield
    gc.enable()


@pytest.mark.usefixtures("without_collection")
@pytest.mark.parametrize("provider", PROVIDER_NAMES)
async def test_an_odd_answer_is_an_answer_or_an_error(provider: str) -> None:
    wrong: dict[str, Any] = {}
    for name, answer in odd(provider).items():
        async with within():
            found = await asked(provider, answer)
        if name in (*ANSWERED, f"like {provider}") and isinstance(found, ProviderError):
            wrong[name] = found
    assert wrong == {}


@pytest.mark.parametrize("provider", PROVIDER_NAMES)
async def test_an_answer_that_ends_anywhere_is_whole_or_an_error(provider: str) -> None:
    call = {"id": "one", "name": "read", "arguments": '{"path":"a"}'}
    body = SAYS[provider]("fine", [call], {})
    whole = head(body)
    step = max(1, len(whole) // 40)
    for place in range(0, len(whole), step):
        for answer in (whole[:place], head(body[:place])):
            async with within():
                found = await asked(provider, answer)
            if isinstance(found, Reply):
                assert len(found.calls) == 1 and found.calls[0].arguments == {"path": "a"}


CALLS: dict[str, list[dict[str, Any]]] = {
    "one id for all": [{"id": "a"}] * 50,
    "no id": [{"id": ""}] * 50,
    "ids that look made": [{"id": "a"}, {"id": "a_2"}, {"id": "a"}, {"id": "a_2"}],
    "a huge index": [{"id": "a", "index": 10**9}, {"id": "b", "index": 10**9 + 1}],
    "an index of many digits": [{"id": "a", "index": 10**400}],
    "a negative index": [{"id": "a", "index": -(10**9)}],
    "an index in words": [{"id": "a", "index": "0"}],
    "an index that is none": [{"id": "a", "index": 0.5}, {"id": "b", "index": None}],
    "a long id": [{"id": "x" * 100_000}],
    "a long name": [{"id": "a", "name": "x" * 100_000}],
    "a name to steer": [{"id": "a\n\x1b[2J", "name": "\x1b[2J\u202e\0"}],
    "deep arguments": [{"id": "a", "arguments": '{"a":' + "[" * 900 + "]" * 900 + "}"}],
    "no object": [{"id": "a", "arguments": "[1]"}],
    "many": [{"id": str(n)} for n in range(MOST_CALLS + 1)],
    "many without an id": [{"id": ""} for _ in range(MOST_CALLS + 1)],
    "many with one": [{"id": "a"} for _ in range(MOST_CALLS + 1)],
}


@pytest.mark.parametrize("provider", PROVIDER_NAMES)
async def test_odd_calls_are_calls_or_an_error(provider: str) -> None:
    """H-3: each has an id of its own, and none costs memory by its number."""
    usual = {"name": "read", "arguments": '{"path":"a"}'}
    wrong: dict[str, Any] = {}
    for name, calls in CALLS.items():
        answer = head(SAYS[provider]("", [usual | one for one in calls], {}))
        async with within():
            found = await asked(provider, answer)
        if name.startswith("many") != isinstance(found, ProviderError):
            wrong[name] = found
    assert wrong == {}


FIGURES = ("1e999", "NaN", "1e308", "-1", '"7"', "true", "null", "[]", "1" + "0" * 400)


@pytest.mark.parametrize("provider", PROVIDER_NAMES)
async def test_absurd_figures_are_none(provider: str) -> None:
    """H-1: they can be added up, priced and stored."""
    for figure in FIGURES:
        usage = dict.fromkeys(COUNTS[provider], "FIGURE")
        body = SAYS[provider]("fine", [], usage).replace(b'"FIGURE"', figure.encode())
        async with within():
            found = await asked(provider, head(body))
        assert isinstance(found, Reply), (figure, found)
        assert found.usage.total < 2**53, figure


@pytest.mark.parametrize("provider", PROVIDER_NAMES)
async def test_a_redirect_gets_neither_key_nor_words(provider: str) -> None:
    elsewhere: list[bytes] = []
    async with server(head(fine(provider)), elsewhere) as port:
        for status in (301, 302, 303, 307, 308):
            for place in (
                f"http://localhost:{port}/v1/x",
                f"//127.0.0.1:{port}",
                "file:///etc/passwd",
                "http://169.254.169.254/latest/meta-data/",
                "/v1/messages",
                "http://[",
                "\x00",
            ):
                hits: list[bytes] = []
                async with within():
                    found = await asked(provider, head(b"", status, location=place), hits)
                assert isinstance(found, ProviderError), (status, place)
                assert len([one for one in hits if b"/show" not in one.split()[1]]) <= 1
    assert elsewhere == []


@pytest.mark.parametrize("provider", PROVIDER_NAMES)
async def test_an_error_does_not_tell_the_key(provider: str) -> None:
    told = json.dumps(
        {"error": {"message": f"No access for {KEY}, {KEY}", "type": KEY, "code": KEY}}
    )
    bodies = (
        told,
        f"Key {KEY} is wrong",
        f"<html>{KEY}</html>",
        f"[{told}]",
        f'"{KEY}"',
        "[" * 9_999,
    )
    for status in (400, 401, 403, 404, 408, 413, 422, 429, 500, 503, 529, 600):
        for body in bodies:
            async with within():
                found = await asked(provider, head(body.encode(), status, x_key=KEY))
            assert isinstance(found, ProviderError)
            assert KEY not in repr(found), (status, body)


MODELS: dict[str, str] = {
    "many": ",".join(
        f'{{"id":"gpt-{n}","type":"model","name":"models/gemini-{n}","model":"m{n}",'
        '"supportedGenerationMethods":["generateContent"]}'
        for n in range(20_000)
    ),
    "a long name": f'{{"id":"gpt-{"x" * 100_000}","name":"models/{"y" * 100_000}"}}',
    "no names": '{"id":7,"name":[]},{},7,null,[],{"id":""}',
    "steering": r'{"id":"gpt-\u001b[2J\n","name":"\u202e\u001b[2J","display_name":"\u001b[2J"}',
    "figures": '{"id":"gpt-1","name":"m","created":1e308,"shutdown_date":NaN,"context_length":-1,'
    '"max_input_tokens":1e999,"inputTokenLimit":%s,"details":{"context_length":true}}' % (10**300),
    "deep": '{"id":%s' % ("[" * 100_000),
}


@pytest.mark.parametrize("provider", PROVIDER_NAMES)
async def test_a_list_of_models_is_a_list_or_an_error(provider: str) -> None:
    wrong: dict[str, Any] = {}
    answers: dict[str, Answer] = {
        name: head(f'{{"data":[{entries}],"models":[{entries}],"has_more":true}}'.encode())
        for name, entries in MODELS.items()
    }
    answers |= {
        "endless": forever(b" " * 65_536, head(None) + b'{"data":['),
        "no list": head(b'{"data":{},"models":7}'),
        "redirect": head(b"", 302, location="http://169.254.169.254/"),
        "key": head(KEY.encode(), 400),
        "gzip": head(None, content_encoding="gzip") + PACKED,
    }
    http = Http()
    for name, answer in answers.items():
        async with server(answer) as port, within():
            try:
                listed = await provider_at(provider, port, http).models()
                if len(listed) > 5_000:
                    wrong[name] = len(listed)
                found = listable(listed)
            except ProviderError as error:
                found = []
                if KEY in str(error):
                    wrong[name] = error
        for model in found:
            window = model.context_window
            if not (model.id + model.title).isprintable() or len(model.id + model.name) > 400:
                wrong[name] = model
            if window is not None and not 0 < window < 2**53:
                wrong[name] = model
    await http.aclose()
    assert wrong == {}


WAITS = (
    *("1000000000", "9" * 400, "-5", "1e9", "nan", "inf", "1.2.3", "٣", "", " ", "\0"),
    *("Fri, 31 Dec 9999 23:59:59 GMT", "Fri, 31 Dec 99999 23:59:59 GMT", "0 0 0 0 0 0"),
    *("Mon, 32 Foo 2026 25:61:61 +9999", "1 Jan 1 00:00:00 -0000", ":::", ",,,,", "(" * 9_999),
    "Wed, 01 Jan 2020 00:00:00 GMT",
)


@pytest.mark.parametrize("name", ["retry-after", "retry-after-ms"])
def test_a_wait_is_a_time_or_none(name: str) -> None:
    """L-12: nobody waits for ever because a server says so."""
    policy = RetryPolicy()
    for asked_for in WAITS:
        wait = retry_after({name: asked_for})
        assert wait is None or 0 <= wait < float("inf"), asked_for
        drawn = policy.wait(ProviderError("rate_limited", "", retry_after=wait), 1)
        assert drawn is None or 0 <= drawn <= policy.longest + policy.cap


async def _pass_on(reader: asyncio.StreamReader, writer: Writer) -> None:
    while data := await reader.read(65_536):
        writer.write(data)


class Between:
    """Stands before the strict simulator: what is ``next`` is answered in its place, once."""

    def __init__(self, port: int) -> None:
        self._port = port
        self.next: list[bytes] = []

    async def serve(self, reader: asyncio.StreamReader, writer: Writer) -> None:
        try:
            asked = await reader.readuntil(b"\r\n\r\n")
            length = asked.lower().partition(b"content-length:")[2].partition(b"\r\n")[0]
            body = await reader.readexactly(int(length or 0))
            if self.next and asked.startswith(b"POST") and not asked.split()[1].endswith(b"/show"):
                writer.write(self.next.pop())
            else:
                there, back = await asyncio.open_connection("127.0.0.1", self._port)
                back.write(asked + body)
                answered = await there.readuntil(b"\r\n\r\n")
                writer.write(answered[:-2] + b"connection: close\r\n\r\n")
                passing = asyncio.ensure_future(_pass_on(there, writer))
                await reader.read()  # until the client has the whole answer, and hangs up
                passing.cancel()
                back.close()
            await writer.drain()
        except (asyncio.IncompleteReadError, ConnectionError):
            pass
        finally:
            writer.close()


@pytest.mark.parametrize("provider", PROVIDER_NAMES)
async def test_the_next_turn_is_accepted_whatever_came_before(
    provider: str, tmp_path: Path
) -> None:
    """H-5: the strict simulator takes the history of each, at once and after a restart."""
    usual = {"name": "read", "arguments": '{"path":"a"}'}
    answers = {
        name: head(SAYS[provider]("well", [usual | one for one in calls], {}))
        for name, calls in CALLS.items()
        if not name.startswith("many")
    }
    whole = head(fine(provider))
    answers |= {"cut": whole[:-30], "html": head(b"<p>", content_type="text/html")}
    wrong: dict[str, Any] = {}
    async with engine_home(tmp_path, provider, lambda view: Turn(Fine("fine"))) as home:
        between = Between(home.simulator.port)
        server = await asyncio.start_server(between.serve, "127.0.0.1", 0, limit=2**26)
        url = home.simulator.url(PROTOCOLS[provider]).replace(
            str(home.simulator.port), str(server.sockets[0].getsockname()[1])
        )
        home.engine.settings.values.base_urls[provider] = url
        for name, answer in answers.items():
            session = await home.session()
            between.next = [answer]
            await say(session)
            ended = (await say(session, "More"))[-1]
            if ended.reason != "done":
                wrong[name] = ended
        server.close()
        assert wrong == {}
        assert not home.simulator.violations
    kept = b"".join(path.read_bytes() for path in tmp_path.rglob("*") if path.is_file())
    assert KEY.encode() not in kept
