"""The simulator without a socket: the same answers, faults and hang-ups within one process."""

from __future__ import annotations

import asyncio
import contextlib
import socket
from collections.abc import AsyncIterator

import anthropic
import httpx2
import openai
import pytest
from google import genai
from google.genai import types

from studio.simulator import Call, Simulator, Text, Turn, cut, every, stall, status, transport
from support.waiting import HANG

BODY = {"model": "m", "messages": [{"role": "user", "content": "Hi"}], "stream": True}
URL = "http://anywhere/v1/chat/completions"
KEY = {"authorization": "Bearer k"}


@pytest.fixture
def sim() -> Simulator:
    """Never started: nothing listens."""
    return Simulator([Turn(Text("Grüße."), Call("read", {"path": "a"}))] * 4, chunking=every(7))


@pytest.fixture
async def http(sim: Simulator) -> AsyncIterator[httpx2.AsyncClient]:
    async with httpx2.AsyncClient(verify=False, transport=transport(sim)) as client:
        yield client


async def test_all_sdks_work_without_a_socket(sim: Simulator, http: httpx2.AsyncClient) -> None:
    claude = anthropic.AsyncAnthropic(
        api_key="k", base_url="http://sim", max_retries=0, http_client=http
    )
    async with claude.messages.stream(
        model="m", max_tokens=9, messages=[{"role": "user", "content": "Hi"}]
    ) as stream:
        message = await stream.get_final_message()
    assert [block.type for block in message.content] == ["text", "tool_use"]
    gpt = openai.AsyncOpenAI(api_key="k", base_url="http://sim/v1", max_retries=0, http_client=http)
    response = await gpt.responses.create(model="m", input="Hi")
    assert response.output_text == "Grüße."
    said = ""
    async for chunk in await gpt.chat.completions.create(
        model="m", messages=[{"role": "user", "content": "Hi"}], stream=True
    ):
        said += chunk.choices[0].delta.content or ""
    assert said == "Grüße."
    gemini = genai.Client(
        api_key="k",
        enterprise=False,
        http_options=types.HttpOptions(
            base_url="http://sim", api_version="v1beta", httpx_async_client=http
        ),
    )
    said = ""
    async for part in await gemini.aio.models.generate_content_stream(
        model="sim-gemini-3", contents="Hi"
    ):
        for candidate in part.candidates or []:
            for piece in (candidate.content and candidate.content.parts) or []:
                said += piece.text or ""
    assert said == "Grüße."
    assert [exchange.status for exchange in sim.requests] == [200] * 4
    assert sim.violations == []


async def test_faults_are_those_of_a_socket() -> None:
    script = [Turn(Text("One two."), faults=[fault]) for fault in (cut(2), cut(2, reset=True))]
    sim = Simulator([*script, Turn(Text("."), faults=[status(529)])])
    async with httpx2.AsyncClient(verify=False, transport=transport(sim)) as http:
        for error in (httpx2.RemoteProtocolError, httpx2.ReadError):
            with pytest.raises(error):
                await http.post(URL, json=BODY, headers=KEY)
        assert (await http.post(URL, json=BODY, headers=KEY)).status_code == 529


@pytest.mark.parametrize("at", ["headers", 0, 2])
async def test_hanging_up_is_seen(at: int) -> None:
    sim = Simulator([Turn(Text("One two."), faults=[stall(at)])])
    async with httpx2.AsyncClient(verify=False, transport=transport(sim), timeout=None) as http:
        task = asyncio.ensure_future(http.post(URL, json=BODY, headers=KEY))
        exchange = await sim.wait_requests(1)
        await exchange.stalled.wait()
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)
        gone = await asyncio.wait_for(sim.wait_disconnect(), HANG)
        assert (gone.sent > 0) == (at == 2)


@pytest.mark.parametrize("at", ["headers", 2])
async def test_a_clients_patience_ends(at: int) -> None:
    sim = Simulator([Turn(Text("One two."), faults=[stall(at)])])
    timeout = httpx2.Timeout(5, read=0.01)
    async with httpx2.AsyncClient(verify=False, transport=transport(sim), timeout=timeout) as http:
        with pytest.raises(httpx2.ReadTimeout):
            await http.post(URL, json=BODY, headers=KEY)


@pytest.mark.parametrize("moments", range(12))
async def test_whoever_calls_while_it_stops_is_hung_up_on(moments: int) -> None:
    """Nothing of it is left, however little it had done for a client."""
    simulator = Simulator([])
    port = await simulator.start()
    with socket.create_connection(("127.0.0.1", port), HANG) as caller:
        for _ in range(moments):
            await asyncio.sleep(0)
        await simulator.stop()
        with contextlib.suppress(ConnectionError):
            assert await asyncio.to_thread(caller.recv, 1) == b""
