"""L-6, H-5: slow bytes, odd orders, odd counts, and what a refusal says about trying again."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator
from email.utils import formatdate
from typing import Any

import httpx2
import pytest

from studio.simulator import (
    ApiName,
    Byte,
    Call,
    Fault,
    Pace,
    Simulator,
    Text,
    Turn,
    Usage,
    content_type,
    drip,
    reorder,
    stall,
    status,
    unknown,
    usage_odd,
)
from support.raw_requests import APIS, BODIES, LAST, PATHS, ask, headers
from support.waiting import HANG

SAID = "One two three four five six."


@pytest.fixture
async def http() -> AsyncIterator[httpx2.AsyncClient]:
    async with httpx2.AsyncClient(trust_env=False, verify=False) as client:
        yield client


def turn(*faults: Fault, **more: Any) -> Turn:
    calls = (Call("read", {"path": "a"}), Call("read", {"path": "b"}))
    return Turn(Text(SAID), *calls, faults=faults, **more)


def events(body: str) -> list[dict[str, Any]]:
    """The JSON objects of a stream, server-sent events and lines alike."""
    rows = [line.removeprefix("data: ").strip() for line in body.splitlines()]
    return [json.loads(row) for row in rows if row.startswith("{")]


class Clock:
    """Waits for nothing, and remembers for how long."""

    def __init__(self) -> None:
        self.waits: list[float] = []

    async def __call__(self, seconds: float) -> None:
        self.waits.append(seconds)


async def plain(http: httpx2.AsyncClient, api: ApiName) -> bytes:
    async with Simulator([turn()]) as sim:
        return (await ask(http, sim, api)).content


@pytest.mark.parametrize("api", APIS)
@pytest.mark.parametrize("at", ["headers", 0, 3, Byte(0), Byte(50)])
async def test_a_stall_that_ends(http: httpx2.AsyncClient, api: ApiName, at: Any) -> None:
    clock = Clock()
    async with Simulator([turn(stall(at, 30))], sleep=clock) as sim:
        response = await ask(http, sim, api)
        assert response.content == await plain(http, api)
        assert clock.waits == [30]
        assert sim.requests[0].stalled.is_set()


@pytest.mark.parametrize("at", [0, 4, Byte(100)])
async def test_a_stall_comes_at_its_place(http: httpx2.AsyncClient, at: Any) -> None:
    """Whatever the chunking, nothing beyond the place was sent when the stall begins."""
    sent: list[int] = []

    async def sleep(seconds: float) -> None:
        sent.append(sim.requests[0].sent)

    async with Simulator([turn(stall(at, 1))], sleep=sleep, chunking="whole") as sim:
        whole = (await ask(http, sim, "anthropic")).content
        ends = [n + 2 for n in range(len(whole)) if whole[n : n + 2] == b"\n\n"]
        wanted = at.offset if isinstance(at, Byte) else [0, *ends][at]
        assert sent == [wanted]


async def test_drips(http: httpx2.AsyncClient) -> None:
    clock = Clock()
    script = [turn(drip(100), pace=Pace())]
    async with Simulator(script, sleep=clock, pace=False, chunking="whole") as sim:
        response = await ask(http, sim, "chat")
        assert len(clock.waits) == -(-len(response.content) // 5)
        assert sum(clock.waits) == pytest.approx(len(response.content) / 100)


@pytest.mark.parametrize("api", ["anthropic", "responses", "chat", "ollama"])
async def test_indexes_with_gaps(http: httpx2.AsyncClient, api: ApiName) -> None:
    def indexes(found: list[dict[str, Any]]) -> set[int]:
        text = json.dumps(found)
        names = ('"index": ', '"output_index": ')
        return {
            int(part.split(",")[0].split("}")[0]) for name in names for part in text.split(name)[1:]
        }

    before = indexes(events((await plain(http, api)).decode()))
    async with Simulator([turn(reorder("gap"))]) as sim:
        after = indexes(events((await ask(http, sim, api)).text))
        assert after == {n + 3 if n else 0 for n in before} != before


async def test_a_piece_of_what_never_began(http: httpx2.AsyncClient) -> None:
    for api in ("anthropic", "responses", "chat"):
        async with Simulator([turn(reorder("stranger"))]) as sim:
            text = (await ask(http, sim, api)).text
            assert 'index":99' in text
            assert LAST[api] in text


@pytest.mark.parametrize("api", ["anthropic", "responses", "chat", "ollama"])
async def test_one_id_for_all_calls(http: httpx2.AsyncClient, api: ApiName) -> None:
    """H-3: results cannot go by such an id alone."""
    async with Simulator([turn(reorder("same_id"))]) as sim:
        assert (await ask(http, sim, api)).text.count('"call_same"') >= 2


def counted(found: list[dict[str, Any]]) -> list[int]:
    """The counts of tokens in a stream's events: of the prompt, or else of the reply."""
    numbers: list[int] = []
    for event in found:
        for holder in (event, event.get("message"), event.get("response")):
            if not isinstance(holder, dict):
                continue
            usage = holder.get("usage") or holder.get("usageMetadata") or holder
            for name in ("input_tokens", "prompt_tokens", "promptTokenCount", "prompt_eval_count"):
                if name in usage:
                    numbers.append(usage[name])
    return numbers


@pytest.mark.parametrize("api", APIS)
async def test_odd_usage(http: httpx2.AsyncClient, api: ApiName) -> None:
    """L-5: counts may be missing, zero, late or falling."""
    body = {**BODIES[api]}
    if api == "chat":
        body["stream_options"] = {"include_usage": True}

    async def counts(kind: Any) -> list[int]:
        script = [Turn(Text(SAID), usage=Usage(inp=40, out=9), faults=[usage_odd(kind)])]
        async with Simulator(script) as sim:
            url = f"http://127.0.0.1:{sim.port}{PATHS[api]}"
            response = await http.post(url, json=body, headers=headers("k"))
            assert LAST[api] in response.text
            return counted(events(response.text))

    assert await counts("missing") == []
    assert set(await counts("zero")) == {0}
    late = await counts("late")
    assert late[-1] == 40
    assert set(late[:-1]) <= {0}
    falling = await counts("decreasing")
    assert falling[-1] == 40
    assert all(number > 40 for number in falling[:-1])


@pytest.mark.parametrize("api", APIS)
@pytest.mark.parametrize("kind", ["block", "delta", "stop"])
async def test_unknown_kinds(http: httpx2.AsyncClient, api: ApiName, kind: Any) -> None:
    async with Simulator([turn(unknown(3, kind))]) as sim:
        text = (await ask(http, sim, api)).text
        assert "surprise" in text.lower()
        if kind != "stop":
            assert LAST[api] in text


async def test_a_wrong_content_type(http: httpx2.AsyncClient) -> None:
    async with Simulator([turn(content_type("text/plain"))]) as sim:
        response = await ask(http, sim, "chat")
        assert response.headers["content-type"] == "text/plain"
        assert LAST["chat"] in response.text


@pytest.mark.parametrize("api", APIS)
@pytest.mark.parametrize("code", [408, 409, 413])
async def test_rarer_statuses(http: httpx2.AsyncClient, api: ApiName, code: int) -> None:
    async with Simulator([turn(status(code))]) as sim:
        response = await ask(http, sim, api)
        assert response.status_code == code
        assert response.json()["error"]


@pytest.mark.parametrize("after", [0, 3600, formatdate(1_800_000_000, usegmt=True), None])
async def test_when_to_try_again(http: httpx2.AsyncClient, after: Any) -> None:
    async with Simulator([turn(status(429, retry_after=after, times=2))]) as sim:
        response = await ask(http, sim, "anthropic")
        assert response.headers.get("retry-after") == (None if after is None else str(after))
        details = (await ask(http, sim, "gemini")).json()["error"].get("details", [])
        wanted = f"{after}s" if isinstance(after, int) else after
        assert [row["retryDelay"] for row in details] == ([] if after is None else [wanted])


async def test_milliseconds_and_no_retries(http: httpx2.AsyncClient) -> None:
    fault = status(429, retry_after_ms=1500, should_retry=False)
    async with Simulator([turn(fault)]) as sim:
        response = await ask(http, sim, "responses")
        assert response.headers["retry-after-ms"] == "1500"
        assert response.headers["x-should-retry"] == "false"


async def test_a_slow_body_can_be_given_up(http: httpx2.AsyncClient) -> None:
    waiting = asyncio.Event()

    async def sleep(seconds: float) -> None:
        waiting.set()
        await asyncio.Event().wait()

    async with Simulator([turn(drip(1))], sleep=sleep) as sim:
        task = asyncio.ensure_future(ask(http, sim, "gemini"))
        await waiting.wait()
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)
        exchange = await asyncio.wait_for(sim.wait_disconnect(0), HANG)
        assert exchange.sent == 0
