"""The recorded exchanges: what each one is, and a server that answers with them.

Our adapters only stream. A whole reply that was recorded is told as the events
in which its protocol would have streamed it, by one translator for each.
"""

from __future__ import annotations

import asyncio
import json
import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from itertools import pairwise
from typing import Any, Literal, TypeAlias

from studio.domain.errors import ProviderError
from studio.providers.anthropic.adapter import AnthropicProvider
from studio.providers.anthropic.stream import AnthropicAccumulator
from studio.providers.base import Provider
from studio.providers.gemini.adapter import GeminiProvider
from studio.providers.gemini.stream import GeminiAccumulator
from studio.providers.http import Http
from studio.providers.openai.adapter import OpenAIProvider
from studio.providers.openai.stream import ResponsesAccumulator
from studio.providers.openai_chat.adapter import CompatibleProvider
from studio.providers.openai_chat.stream import ChatAccumulator
from studio.providers.sse import DONE
from support.provider_calls import RECORDINGS

Api: TypeAlias = Literal["anthropic", "responses", "chat", "gemini"]
Event: TypeAlias = dict[str, Any]

HISTORY = {"anthropic": "messages", "chat": "messages", "responses": "input", "gemini": "contents"}
"""Where each protocol's request holds the conversation."""


@dataclass(frozen=True)
class Exchange:
    """One request and its answer. ``id`` is short and unique."""

    id: str
    file: str
    number: int
    method: str
    path: str
    request: Any
    status: int
    kind: str
    body: str

    @property
    def api(self) -> Api:
        if "/messages" in self.path:
            return "anthropic"
        if "/chat/completions" in self.path:
            return "chat"
        return "responses" if "/responses" in self.path else "gemini"

    @property
    def streamed(self) -> bool:
        return "event-stream" in self.kind

    @property
    def model(self) -> str:
        named = re.search(r"models/([^:?]+):", self.path)
        return self.request.get("model") or (named[1] if named else "")

    @property
    def history(self) -> list[Any]:
        """The conversation that was sent."""
        sent = self.request.get(HISTORY[self.api], [])
        return sent if isinstance(sent, list) else [{"role": "user", "content": sent}]


@cache
def exchanges() -> list[Exchange]:
    """All that is recorded, in the order of the files."""
    found: list[Exchange] = []
    for path in sorted(RECORDINGS.glob("*.json")):
        for number, raw in enumerate(json.loads(path.read_text("utf-8"))["exchanges"]):
            vendor, _, rest = path.stem.partition("__")
            name = rest.partition(".test_")[2] or rest
            found.append(
                Exchange(
                    f"{vendor}-{name}-{number}",
                    path.stem,
                    number,
                    raw["method"],
                    raw["path"],
                    raw["request_json"],
                    raw["status"],
                    raw["response_headers"]["content-type"],
                    raw["response_body"],
                )
            )
    return found


def _made(name: str, path: str, model: str, reply: Event) -> Exchange:
    body = json.dumps(reply)
    return Exchange(
        f"made-{name}", "made", 0, "POST", path, {"model": model}, 200, "application/json", body
    )


MADE = [
    _made(
        "thinking-between-tools",
        "/v1/messages",
        "claude-opus-4-8",
        {
            "id": "msg_1",
            "type": "message",
            "role": "assistant",
            "model": "claude-opus-4-8",
            "content": [
                {"type": "thinking", "thinking": "First the search.", "signature": "c2lnbmVkLTE="},
                {"type": "text", "text": "I'll look – wait 😀."},
                {
                    "type": "server_tool_use",
                    "id": "srvtoolu_1",
                    "name": "web_search",
                    "input": {"query": "höhe"},
                },
                {"type": "web_search_tool_result", "tool_use_id": "srvtoolu_1", "content": []},
                {"type": "redacted_thinking", "data": "c2VhbGVk"},
                {"type": "thinking", "thinking": "", "signature": "c2lnbmVkLTI="},
                {"type": "tool_use", "id": "toolu_1", "name": "now", "input": {}},
                {"type": "thinking", "thinking": "And the other.", "signature": "c2lnbmVkLTM="},
                {"type": "tool_use", "id": "toolu_2", "name": "read", "input": {"path": "ü/\\n"}},
            ],
            "stop_reason": "tool_use",
            "stop_sequence": None,
            "usage": {
                "input_tokens": 10,
                "cache_read_input_tokens": 5,
                "cache_creation_input_tokens": 3,
                "output_tokens": 40,
                "output_tokens_details": {"thinking_tokens": 20},
            },
        },
    ),
    _made(
        "reasoning-between-calls",
        "/v1/responses",
        "gpt-5.5",
        {
            "id": "resp_1",
            "status": "completed",
            "output": [
                {"id": "rs_1", "type": "reasoning", "summary": [], "encrypted_content": "one"},
                {
                    "id": "msg_1",
                    "type": "message",
                    "role": "assistant",
                    "status": "completed",
                    "phase": "commentary",
                    "content": [{"type": "output_text", "text": "I'll look.", "annotations": []}],
                },
                {
                    "id": "rs_2",
                    "type": "reasoning",
                    "summary": [
                        {"type": "summary_text", "text": "Both files."},
                        {"type": "summary_text", "text": "At once."},
                    ],
                    "encrypted_content": "two",
                },
                *(
                    {
                        "id": f"fc_{n}",
                        "type": "function_call",
                        "call_id": f"call_{n}",
                        "name": "read",
                        "arguments": '{"path": "ü"}',
                        "status": "completed",
                    }
                    for n in (1, 2)
                ),
            ],
            "usage": {
                "input_tokens": 10,
                "input_tokens_details": {"cached_tokens": 5},
                "output_tokens": 40,
                "output_tokens_details": {"reasoning_tokens": 20},
            },
        },
    ),
]
"""Replies that no recording holds: thinking between the tools of one message."""


# What came, as events.


def events(exchange: Exchange) -> list[Event]:
    """The native events of a reply, recorded or translated."""
    if exchange.streamed:
        return [
            DONE if data == "[DONE]" else json.loads(data)
            for data in re.findall(r"^data: ?(.*?)\r?$", exchange.body, re.M)
        ]
    whole = json.loads(exchange.body)
    if isinstance(whole, list):  # Gemini's stream without alt=sse, which we always ask for
        return whole
    return list(_TRANSLATE[exchange.api](whole))


def wire(exchange: Exchange) -> bytes:
    """The body to serve: what was recorded, or the translated events framed as a stream."""
    if exchange.streamed or exchange.status >= 400:
        return exchange.body.encode()
    end = "\r\n\r\n" if exchange.api == "gemini" else "\n\n"
    frames: list[str] = []
    for event in events(exchange):
        if exchange.api in ("anthropic", "responses"):
            frames.append(f"event: {event['type']}\n")
        data = "[DONE]" if event is DONE else json.dumps(event, ensure_ascii=False)
        frames.append(f"data: {data}{end}")
    return "".join(frames).encode()


def frame_ends(data: bytes) -> list[int]:
    """The offsets at which the events of a stream end."""
    return [match.end() for match in re.finditer(rb"\r?\n\r?\n", data)]


def _pieces(text: str) -> Iterator[str]:
    middle = len(text) // 2
    yield from (piece for piece in (text[:middle], text[middle:]) if piece)


def _messages(message: Event) -> Iterator[Event]:
    usage = message["usage"]
    head = {**message, "content": [], "stop_reason": None, "usage": {**usage, "output_tokens": 1}}
    yield {"type": "message_start", "message": head}
    for index, block in enumerate(message["content"]):
        start, deltas = dict(block), list[Event]()
        match block["type"]:
            case "text":
                start = {"type": "text", "text": ""}
                deltas = [{"type": "text_delta", "text": p} for p in _pieces(block["text"])]
                cited = block.get("citations") or []
                deltas += [{"type": "citations_delta", "citation": one} for one in cited]
            case "thinking":
                start |= {"thinking": "", "signature": ""}
                deltas = [
                    *(
                        {"type": "thinking_delta", "thinking": p}
                        for p in _pieces(block["thinking"])
                    ),
                    {"type": "signature_delta", "signature": block["signature"]},
                ]
            case kind if kind.endswith("tool_use"):
                start["input"] = {}
                raw = json.dumps(block["input"]) if block["input"] else ""
                deltas = [
                    {"type": "input_json_delta", "partial_json": p} for p in ("", *_pieces(raw))
                ]
            case _:
                pass
        yield {"type": "content_block_start", "index": index, "content_block": start}
        for delta in deltas:
            yield {"type": "content_block_delta", "index": index, "delta": delta}
        yield {"type": "content_block_stop", "index": index}
    ending = {name: message.get(name) for name in ("stop_reason", "stop_sequence")}
    yield {"type": "message_delta", "delta": ending, "usage": usage}
    yield {"type": "message_stop"}


def _responses(response: Event) -> Iterator[Event]:
    begun = {**response, "output": [], "status": "in_progress", "usage": None}
    yield {"type": "response.created", "response": begun}
    yield {"type": "response.in_progress", "response": begun}
    for index, item in enumerate(response["output"]):
        place = {"output_index": index, "item_id": item.get("id")}
        start = {**item, "status": "in_progress"} if "status" in item else dict(item)
        deltas: list[Event] = []
        match item["type"]:
            case "message":
                start["content"] = []
                for number, part in enumerate(item["content"]):
                    name = "refusal" if part["type"] == "refusal" else "text"
                    kind = "refusal" if name == "refusal" else "output_text"
                    deltas += [
                        {"type": f"response.{kind}.delta", "content_index": number, "delta": p}
                        for p in _pieces(part[name])
                    ]
            case "function_call":
                start["arguments"] = ""
                deltas = [
                    {"type": "response.function_call_arguments.delta", "delta": p}
                    for p in _pieces(item["arguments"])
                ]
            case "reasoning":
                start["summary"] = []
                if item.get("encrypted_content"):  # another string in each event
                    start["encrypted_content"] = "of the beginning"
                for number, part in enumerate(item["summary"]):
                    where = {"summary_index": number}
                    deltas.append({"type": "response.reasoning_summary_part.added", **where})
                    deltas += [
                        {"type": "response.reasoning_summary_text.delta", "delta": p, **where}
                        for p in _pieces(part["text"])
                    ]
            case _:
                pass
        yield {"type": "response.output_item.added", **place, "item": start}
        for delta in deltas:
            yield {**place, **delta}
        yield {"type": "response.output_item.done", **place, "item": item}
    output = [
        {**item, "encrypted_content": "of the end"} if item.get("encrypted_content") else item
        for item in response["output"]
    ]
    yield {"type": f"response.{response['status']}", "response": {**response, "output": output}}


def _chat(completion: Event) -> Iterator[Event]:
    head = {name: completion[name] for name in ("id", "created", "model")}
    head["object"] = "chat.completion.chunk"
    choice = completion["choices"][0]
    message = choice["message"]

    def chunk(finish: str | None = None, **delta: Any) -> Event:
        return {**head, "choices": [{"index": 0, "delta": delta, "finish_reason": finish}]}

    yield chunk(role="assistant", content="" if message.get("content") is not None else None)
    for name in ("reasoning", "reasoning_content", "content", "refusal"):
        for piece in _pieces(message.get(name) or ""):
            yield chunk(**{name: piece})
    for index, call in enumerate(message.get("tool_calls") or []):
        function = call["function"]
        start = {**call, "index": index, "function": {"name": function["name"], "arguments": ""}}
        yield chunk(tool_calls=[start])
        for piece in _pieces(function["arguments"]):
            yield chunk(tool_calls=[{"index": index, "function": {"arguments": piece}}])
    yield chunk(finish=choice["finish_reason"])
    yield {**head, "choices": [], "usage": completion["usage"]}
    yield DONE


def _gemini(response: Event) -> Iterator[Event]:
    """A chunk for each part; the last one ends the answer."""
    candidates = response.get("candidates") or [{}]
    content = candidates[0].get("content", {})
    rest = {name: value for name, value in response.items() if name != "candidates"}
    for part in content.get("parts", []):
        yield {**rest, "candidates": [{"content": {**content, "parts": [part]}, "index": 0}]}
    if "candidates" in response:
        rest["candidates"] = [{k: v for k, v in candidates[0].items() if k != "content"}]
    yield rest


_TRANSLATE: dict[Api, Callable[[Event], Iterator[Event]]] = {
    "anthropic": _messages,
    "responses": _responses,
    "chat": _chat,
    "gemini": _gemini,
}


# Ours.


def provider(api: Api, url: str, http: Http) -> Provider:
    """Our adapter, at this address."""
    match api:
        case "anthropic":
            return AnthropicProvider("sk-recorded", url, http)
        case "responses":
            return OpenAIProvider("sk-recorded", f"{url}/v1", http)
        case "chat":
            return CompatibleProvider("sk-recorded", f"{url}/v1", http)
        case "gemini":
            return GeminiProvider("sk-recorded", url, http)


def accumulator(api: Api, history: Sequence[Any] = ()) -> Any:
    """Our accumulator, for lists of events."""

    def fault(error: object) -> ProviderError:
        return ProviderError("server", str(error))

    match api:
        case "anthropic":
            return AnthropicAccumulator(fault)
        case "responses":
            return ResponsesAccumulator(fault)
        case "chat":
            return ChatAccumulator(list(history), fault)
        case "gemini":
            return GeminiAccumulator(list(history), fault)


class Replay:
    """A server on loopback that gives every request the answer it holds.

    Each piece is a chunk of its own in HTTP's chunked encoding, so that the
    client reads the body in exactly these pieces.
    """

    def __init__(self) -> None:
        self.status = 200
        self.kind = "text/event-stream"
        self.pieces: list[bytes] = []
        self.requests: list[tuple[str, str, Any]] = []

    def answer(
        self, pieces: Sequence[bytes], status: int = 200, kind: str = "text/event-stream"
    ) -> None:
        self.pieces, self.status, self.kind = list(pieces), status, kind

    async def __aenter__(self) -> Replay:
        self._server = await asyncio.start_server(self._serve, "127.0.0.1", 0)
        self._clients: set[asyncio.StreamWriter] = set()
        self.url = f"http://127.0.0.1:{self._server.sockets[0].getsockname()[1]}"
        return self

    async def __aexit__(self, *exception: object) -> None:
        self._server.close()
        for writer in self._clients:
            writer.close()
        await self._server.wait_closed()

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._clients.add(writer)
        try:
            while True:
                head = (await reader.readuntil(b"\r\n\r\n")).decode()
                length = re.search(r"content-length: (\d+)", head, re.I)
                body = await reader.readexactly(int(length[1])) if length else b""
                method, path, _ = head.split(" ", 2)
                self.requests.append((method, path, json.loads(body) if body else None))
                writer.write(
                    f"HTTP/1.1 {self.status} Recorded\r\ncontent-type: {self.kind}\r\n"
                    "transfer-encoding: chunked\r\n\r\n".encode()
                )
                for piece in [*filter(None, self.pieces), b""]:
                    writer.write(f"{len(piece):x}\r\n".encode() + piece + b"\r\n")
                    await writer.drain()
        except (asyncio.IncompleteReadError, ConnectionError):
            pass
        finally:
            self._clients.discard(writer)
            writer.close()


def cut(data: bytes, places: Sequence[int]) -> list[bytes]:
    """The body in pieces that end at these offsets."""
    inner = sorted({place for place in places if 0 < place < len(data)})
    edges = [0, *inner, len(data)]
    return [data[a:b] for a, b in pairwise(edges)]
