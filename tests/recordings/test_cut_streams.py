"""Recorded streams, cut: at every kind of boundary, and short of their end.

However the bytes arrive the result is the same; whatever is missing at the end,
the reply is an error and what is kept is accepted back.
"""

from __future__ import annotations

import json
import random
import re
from dataclasses import replace
from typing import Any

import pytest

from studio.domain.errors import ProviderError
from studio.domain.events import Delta, ReasoningDelta, TextDelta
from studio.domain.messages import Text
from studio.providers.base import Provider, Reply
from studio.providers.http import Http
from studio.providers.sse import DONE
from studio.simulator.anthropic.endpoint import AnthropicEndpoint
from studio.simulator.gemini.endpoint import GeminiEndpoint
from studio.simulator.openai.endpoint import ResponsesEndpoint
from studio.simulator.openai_chat.endpoint import ChatEndpoint
from studio.simulator.request_view import RequestView
from studio.simulator.state import ServerState, Signer
from support.provider_calls import drain, request, result
from support.recorded_exchanges import (
    MADE,
    Api,
    Exchange,
    Replay,
    accumulator,
    cut,
    events,
    frame_ends,
    provider,
    wire,
)
from support.recorded_replies import REPLIES, each

pytestmark = [
    pytest.mark.recordings,
    pytest.mark.filterwarnings("ignore:The model:DeprecationWarning"),
]

STREAMED = [exchange for exchange in REPLIES if exchange.streamed]

PLACES = {
    "inside UTF-8": rb"[\xc2-\xf4](?=[\x80-\xbf])|[\xe0-\xf4][\x80-\xbf](?=[\x80-\xbf])",
    "inside an escape": rb"\\(?=.)|\\u[0-9a-fA-F]{2}(?=[0-9a-fA-F]{2})",
    "between CR and LF": rb"\r(?=\n)",
    "between the line ends that end an event": rb"\n(?=\r?\n)",
    "inside data:": rb"(?m)^d(?=ata:)|^data(?=:)|^data:(?= )",
    "inside base64": rb"[A-Za-z0-9+/_-]{30}(?=[A-Za-z0-9+/=_-]{10})",
    "after each event": rb"\r?\n\r?\n",
    "three events and a half": rb"(?:(?:[^\n]+\r?\n)+\r?\n){3}[^\n]{9}",
}
MOST = 1500
"""Cuts in one body; of more, an even choice is made."""
SMALL = 2500
"""Bytes; bodies up to this size also arrive byte by byte."""


def some(places: list[int], most: int) -> list[int]:
    step = max(1, -(-len(places) // most))
    return places[::step]


def crlf(data: bytes) -> bytes:
    return data.replace(b"\r\n", b"\n").replace(b"\n", b"\r\n")


def joined(deltas: list[Delta]) -> list[Delta]:
    """Text that comes together goes up as one delta: what follows one of its kind is joined."""
    found: list[Delta] = []
    for one in deltas:
        last = found[-1] if found else None
        if isinstance(one, TextDelta | ReasoningDelta) and type(one) is type(last):
            found[-1] = replace(one, text=last.text + one.text)
        else:
            found.append(one)
    return found


@pytest.mark.parametrize("exchange", each(STREAMED))
async def test_any_chunking_gives_the_same_reply(http: Http, exchange: Exchange) -> None:
    async with Replay() as server:
        one = provider(exchange.api, server.url, http)

        async def came(pieces: list[bytes]) -> Any:
            server.answer(pieces, kind=exchange.kind)
            stream = one.stream(request(one.user_items([Text("Hi.")]), model=exchange.model))
            return joined(await drain(stream)), stream.reply()

        data = wire(exchange)
        whole = await came([data])
        met: set[str] = set()
        for body in dict.fromkeys((data, crlf(data))):
            for name, pattern in PLACES.items():
                places = some([m.end() for m in re.finditer(pattern, body)], MOST)
                if places:
                    met.add(name)
                    assert await came(cut(body, places)) == whole, name
        assert met >= {"between CR and LF", "after each event", "inside data:"}
        if len(data) <= SMALL:
            assert await came(cut(data, range(len(data)))) == whole


def test_every_kind_of_place_is_met() -> None:
    """Each pattern finds something in the recordings; some are small enough for single bytes."""
    for name, pattern in PLACES.items():
        assert any(re.search(pattern, crlf(wire(exchange))) for exchange in STREAMED), name
    assert any(len(wire(exchange)) <= SMALL for exchange in STREAMED)


@pytest.mark.parametrize("exchange", each(STREAMED))
async def test_l11_a_stream_without_its_end_is_an_error(http: Http, exchange: Exchange) -> None:
    """A clean end of the body, after an event or inside one, before the terminal event."""
    data = wire(exchange)
    last = terminal(exchange)
    ends = frame_ends(data)
    places = [0, *some([end for end in ends if end < last], 5)]
    places += [place + 11 for place in places if place + 11 < last]
    async with Replay() as server:
        one = provider(exchange.api, server.url, http)
        for place in places:
            server.answer([data[:place]], kind=exchange.kind)
            stream = one.stream(request(one.user_items([Text("Hi.")]), model=exchange.model))
            with pytest.raises(ProviderError) as caught:
                await drain(stream)
            assert caught.value.fault in ("network", "protocol"), place
            with pytest.raises(ProviderError):
                stream.reply()
            accepted(exchange, one, stream.interrupted())


def terminal(exchange: Exchange) -> int:
    """The offset behind which the body is not needed: where the terminal event begins."""
    data = wire(exchange)
    folded = accumulator(exchange.api)
    ends = frame_ends(data)
    begins = 0
    for end in ends:
        for event in events_of(data[begins:end]):
            list(folded.feed(event))
        if folded.complete:
            return begins + 1
        begins = end
    raise AssertionError("no terminal event")


def events_of(frame: bytes) -> list[Any]:
    found = re.findall(rb"(?m)^data: ?(.*?)\r?$", frame)
    return [DONE if data == b"[DONE]" else json.loads(data) for data in found]


@pytest.mark.parametrize("exchange", each([*REPLIES, *MADE]))
async def test_h5_what_is_kept_after_each_event_is_accepted_back(
    http: Http, exchange: Exchange
) -> None:
    """H-5: at every event, what is kept is a part of the whole, and valid."""
    one = provider(exchange.api, "http://127.0.0.1:1", http)
    history = one.user_items([Text("Hi.")])
    found = events(exchange)
    straight = accumulator(exchange.api, history)
    for event in found:
        list(straight.feed(event))
    whole = straight.reply()
    folded = accumulator(exchange.api, history)
    before = ""
    fed = 0
    while not folded.complete:
        kept = folded.interrupted()
        accepted(exchange, one, kept)
        is_part(exchange.api, kept, whole)
        text = said(kept.items)
        assert text.startswith(before) or not text.strip()  # nothing once kept is lost
        before = text
        list(folded.feed(found[fed]))
        fed += 1
    for event in found[fed:]:
        list(folded.feed(event))
    assert folded.reply() == whole  # asking changed nothing


class Trusting(Signer):
    """Takes every signature for genuine; knows which item follows sealed reasoning."""

    def __init__(self, followers: dict[str, str], model: str) -> None:
        super().__init__()
        self._followers = followers
        self._model = model

    def verify(self, signature: str | bytes, payload: Any, prefix: Any = None) -> tuple[bool, bool]:
        return bool(signature), True

    def stage(self, signature: str) -> str:  # type: ignore[override] - bound, for it remembers
        follower = self._followers.get(signature)
        return self._model if follower is None else f"done:{follower}"


ENDPOINTS = {
    "anthropic": (AnthropicEndpoint(), "messages"),
    "responses": (ResponsesEndpoint(), "input"),
    "chat": (ChatEndpoint(), "messages"),
    "gemini": (GeminiEndpoint(), "contents"),
}


def accepted(exchange: Exchange, one: Provider, kept: Reply) -> None:
    """The strict rules take what is kept, its calls answered, and the person's next words."""
    history = [*one.user_items([Text("Hi.")]), *kept.items]
    assert one.open_calls(history) == kept.calls
    history += one.result_items([result(call, "Cancelled.", error=True) for call in kept.calls])
    assert one.open_calls(history) == []
    history += one.user_items([Text("Go on.")])
    json.dumps(history, ensure_ascii=False, allow_nan=False).encode()
    endpoint, name = ENDPOINTS[exchange.api]
    followers, stored = sealed(exchange) if exchange.api == "responses" else ({}, set[str]())
    state = ServerState(random.Random(1), Trusting(followers, exchange.model), stored=stored)
    body: dict[str, Any] = {name: history, "model": exchange.model}
    if exchange.api == "anthropic":
        body["max_tokens"] = 1000
    endpoint.check(RequestView(exchange.api, exchange.model, True, [], [], "", body), state)
    if exchange.api == "responses":
        followed(exchange, kept)


def finished(exchange: Exchange) -> list[Any]:
    return [e["item"] for e in events(exchange) if e["type"] == "response.output_item.done"]


def sealed(exchange: Exchange) -> tuple[dict[str, str], set[str]]:
    """What follows each sealed reasoning item; and the ids of those that are only stored."""
    items = finished(exchange)
    following: dict[str, str] = {}
    stored: set[str] = set()
    for item, after in zip(items, [*items[1:], {}], strict=True):
        if item["type"] == "reasoning":
            if item.get("encrypted_content"):
                following[item["encrypted_content"]] = after.get("call_id") or after.get("id", "")
            else:
                stored.add(item["id"])
    return following, stored


def followed(exchange: Exchange, kept: Reply) -> None:
    """Reasoning and the item it led to go together or not at all."""
    ids = [item.get("id") for item in finished(exchange)]
    kinds = {item.get("id"): item["type"] for item in finished(exchange)}
    place = {id_: number for number, id_ in enumerate(ids)}
    for number, item in enumerate(kept.items):
        if item.get("id") is None:
            continue
        index = place[item["id"]]
        if item["type"] == "reasoning":
            assert kept.items[number + 1].get("id") == ids[index + 1]
        if index and kinds[ids[index - 1]] == "reasoning":
            assert kept.items[number - 1].get("id") == ids[index - 1]


def said(items: list[Any]) -> str:
    """The words of the model in native items, of any protocol."""
    found = ""
    for item in items:
        content = item.get("content", item.get("parts"))
        if isinstance(content, str):
            found += content
        for part in content if isinstance(content, list) else []:
            if part.get("type", "text") in ("text", "output_text") and not part.get("thought"):
                found += part.get("text", "")
    return found


def is_part(api: Api, kept: Reply, whole: Reply) -> None:
    """Nothing is kept that the whole reply does not hold."""
    for call in kept.calls:
        assert call in whole.calls
    assert said(whole.items).startswith(said(kept.items).rstrip()) or not said(whole.items)
    if api == "anthropic":
        final = [block for item in whole.items for block in item["content"]]
        for item in kept.items:
            for block in item["content"]:
                assert block in final or block["type"] == "text"
    elif api == "gemini":
        final = [part for item in whole.items for part in item["parts"]]
        mine = [part for item in kept.items for part in item["parts"]]
        assert mine == final[: len(mine)]
    elif api == "responses":
        assert all(item in whole.items or "id" not in item for item in kept.items)
