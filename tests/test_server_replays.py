"""A request that comes again: one answer, and no tool runs twice (``Idempotency-Key``)."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import pytest
from house import asked
from served import PROVIDER, Served, events, served, until

from studio.providers.simulator import Call, RequestView, Script, Text, Turn, stall, status
from studio.storage.database import Database
from studio.storage.paths import Paths
from studio.storage.requests import KEPT_REQUESTS, KEPT_SECONDS, RequestStore

KEY = {"Idempotency-Key": "one"}
AGENT = "agent/Counting"


class Counted:
    """A model that has a command run, once; then it answers, or stalls first."""

    def __init__(self, *, stalls: int = 0, fails: int = 0) -> None:
        self.stalls = stalls
        self.fails = fails

    def __call__(self, view: RequestView) -> Turn:
        if not view.results:
            return Turn(Call("run", {"command": "echo x >> ran"}))
        if self.stalls:
            self.stalls -= 1
            return Turn(Text("It has "), faults=[stall(at=1)])
        if self.fails:
            self.fails -= 1
            return Turn(faults=[status(503)])
        return Turn(Text("It has run."))


async def prepare(server: Served) -> dict[str, Any]:
    """An agent that may run commands for clients; a request for it."""
    studio = server.house.studio
    values = studio.settings.values
    values.default_provider, values.default_model = PROVIDER, {PROVIDER: "sim-model"}
    values.server_rules = {"allow": ["run"]}
    values.sandbox = False
    studio.paths.agents.mkdir(parents=True, exist_ok=True)
    file = studio.paths.agents / "counting.md"
    file.write_text("---\nname: Counting\ntools: run\npermissions:\n  allow: run\n---\nCount.\n")
    return {"model": AGENT, "messages": [{"role": "user", "content": "Go"}]}


async def post(server: Served, body: dict[str, Any], **headers: str) -> Any:
    return await server.client.post("/v1/chat/completions", json=body, headers={**KEY, **headers})


def ran(server: Served) -> int:
    """How often the command was run."""
    file = server.house.folder / "ran"
    return len(file.read_text().splitlines()) if file.exists() else 0


def words(answer: Any) -> str:
    return answer.json()["choices"][0]["message"]["content"]


async def test_the_same_request_gets_the_same_answer(tmp_path: Path) -> None:
    async with served(tmp_path, Counted()) as server:
        body = await prepare(server)
        first = await post(server, body)
        assert first.status_code == 200, first.text
        assert words(first) == "It has run."
        second = await post(server, body)
        assert second.json() == first.json()
        assert ran(server) == 1
        assert len(asked(server.house.simulator)) == 2
        streamed = {**body, "stream": True}
        assert (await post(server, streamed)).status_code == 422  # another body
        again = await post(server, streamed, **{"Idempotency-Key": "two"})
        assert "It has run." in "".join(
            e["choices"][0]["delta"].get("content") or "" for e in events(again.text)
        )
        assert (await post(server, streamed, **{"Idempotency-Key": "two"})).text == again.text


async def test_a_key_belongs_to_one_request(tmp_path: Path) -> None:
    async with served(tmp_path, lambda view: Turn(Text("Hello."))) as server:
        assert (await post(server, server.chat("One"))).status_code == 200
        other = await post(server, server.chat("Two"))
        assert other.status_code == 422
        assert other.json()["error"]["code"] == "idempotency_key_reused"
        anthropic = await server.client.post(
            "/v1/messages", json={**server.chat("Two"), "max_tokens": 9}, headers=KEY
        )
        assert anthropic.status_code == 200  # each API has keys of its own
        await server.serving.token.renew()
        server.client.headers["authorization"] = f"Bearer {await server.serving.token.get()}"
        assert (await post(server, server.chat("Two"))).status_code == 200  # and each token
        for wrong in ("x" * 256, "a\tb"):
            answer = await post(server, server.chat(), **{"Idempotency-Key": wrong})
            assert answer.status_code == 400


async def test_the_second_reads_along_while_the_first_is_answered(tmp_path: Path) -> None:
    async with served(
        tmp_path, lambda view: Turn(Text("Hello. " * 50), faults=[stall(at=3, seconds=0.3)])
    ) as server:
        body = server.chat(stream=True)
        both = await asyncio.gather(post(server, body), post(server, body), post(server, body))
        assert len({one.text for one in both}) == 1
        assert len(server.house.asked) == 1


async def test_one_of_two_readers_may_go(tmp_path: Path) -> None:
    async with served(
        tmp_path, lambda view: Turn(Text("Hello. " * 50), faults=[stall(at=3, seconds=0.5)])
    ) as server:
        body = server.chat(stream=True)
        reader, writer = await server.raw(body, Idempotency_Key="one")
        second = asyncio.create_task(post(server, body))
        await reader.readuntil(b"Hello")
        writer.close()
        answer = await second
        assert answer.text.endswith("data: [DONE]\n\n")
        assert len(server.house.asked) == 1


@pytest.mark.parametrize("stream", [True, False])
async def test_a_client_that_vanished_goes_on_where_it_was(tmp_path: Path, stream: bool) -> None:
    """What was done is kept: the command runs once."""
    async with served(tmp_path, Counted(stalls=1)) as server:
        body = {**await prepare(server), "stream": stream}
        _, writer = await server.raw(body, Idempotency_Key="one")
        await until(lambda: len(server.house.asked) == 2)
        await server.house.asked[1].stalled.wait()
        writer.close()
        await server.house.asked[1].gone.wait()
        answer = await post(server, body)
        assert answer.status_code == 200
        assert "run." in answer.text
        assert ran(server) == 1
        assert len(await server.house.studio.sessions.list()) == 1
        assert not server.house.simulator.violations


async def test_an_answer_that_failed_is_tried_again(tmp_path: Path) -> None:
    async with served(tmp_path, Counted(fails=1)) as server:
        body = await prepare(server)
        failed = await post(server, body)
        assert failed.status_code == 503
        assert failed.headers["x-should-retry"] == "true"
        assert words(await post(server, body)).endswith("It has run.")
        assert ran(server) == 1


@pytest.mark.parametrize("stalls", [0, 1])
async def test_a_key_outlives_the_server(tmp_path: Path, stalls: int) -> None:
    """A finished answer is read from its session, an unfinished one is gone on with."""
    script = Counted(stalls=stalls)
    async with served(tmp_path, script) as server:
        body = await prepare(server)
        await server.house.studio.settings.save()
        token = server.token
        if stalls:
            _, writer = await server.raw(body, Idempotency_Key="one")
            await until(lambda: len(server.house.asked) == 2)
            await server.house.asked[1].stalled.wait()
        else:
            first = await post(server, body)
    if stalls:
        writer.close()
    async with served(tmp_path, script, token=token) as server:
        second = await post(server, body)
        assert second.status_code == 200, second.text
        assert words(second).endswith("It has run.")
        assert ran(server) == 1
        assert len(asked(server.house.simulator)) == stalls
        if not stalls:
            assert second.json() == first.json()


async def test_what_was_deleted_is_answered_anew(tmp_path: Path) -> None:
    script: Script = lambda view: Turn(Text("Hello."))  # noqa: E731
    async with served(tmp_path, script) as server:
        await post(server, server.chat())
        sessions = server.house.studio.sessions
        await sessions.delete((await sessions.list())[0].id)
        token = server.token
    async with served(tmp_path, script, token=token) as server:
        assert (await post(server, server.chat())).status_code == 200
        assert len(server.house.asked) == 1


async def test_requests_are_kept_for_a_day_and_a_thousand_of_them(tmp_path: Path) -> None:
    database = Database(Paths.below(tmp_path).database)
    await database.open()
    try:
        store = RequestStore(database)
        for n in range(KEPT_REQUESTS + 5):
            await store.begin(f"k{n}", "body", float(n))
        assert (await store.begin("k5", "other", 2_000.0)).body == "body"
        assert (await store.begin("k4", "other", 2_000.0)).body == "other"
        assert (await store.begin("k4", "x", 2_000.0 + KEPT_SECONDS + 1)).body == "x"
    finally:
        await database.close()
