"""A request that comes again: one answer, and no tool runs twice (``Idempotency-Key``)."""

from __future__ import annotations

import asyncio
import shutil
import sqlite3
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from studio.simulator import Call, RequestView, Script, Text, Turn, stall, status
from studio.storage.database import Database
from studio.storage.migrations import MIGRATIONS
from studio.storage.paths import Paths
from studio.storage.sessions.idempotency import KEPT_REQUESTS, KEPT_SECONDS, IdempotencyStore
from support.engine_home import reply_requests, say
from support.running_server import PROVIDER, RunningServer, events, running_server
from support.waiting import until

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


async def prepare(server: RunningServer) -> dict[str, Any]:
    """An agent that may run commands for clients; a request for it."""
    engine = server.house.engine
    values = engine.settings.values
    values.default_provider, values.default_model = PROVIDER, {PROVIDER: "sim-model"}
    values.server_rules = {"allow": ["run"]}
    values.sandbox = False
    engine.paths.agents.mkdir(parents=True, exist_ok=True)
    file = engine.paths.agents / "counting.md"
    file.write_text("---\nname: Counting\ntools: run\npermissions:\n  allow: run\n---\nCount.\n")
    await engine.rules.trust(server.house.folder)  # or a name in it would keep a command back
    return {"model": AGENT, "messages": [{"role": "user", "content": "Go"}]}


async def post(server: RunningServer, body: dict[str, Any], **headers: str) -> Any:
    return await server.client.post("/v1/chat/completions", json=body, headers={**KEY, **headers})


def ran(server: RunningServer) -> int:
    """How often the command was run."""
    file = server.house.folder / "ran"
    return len(file.read_text().splitlines()) if file.exists() else 0


def words(answer: Any) -> str:
    return answer.json()["choices"][0]["message"]["content"]


async def test_the_same_request_gets_the_same_answer(tmp_path: Path) -> None:
    async with running_server(tmp_path, Counted()) as server:
        body = await prepare(server)
        first = await post(server, body)
        assert first.status_code == 200, first.text
        assert words(first) == "It has run."
        second = await post(server, body)
        assert second.json() == first.json()
        assert ran(server) == 1
        assert len(reply_requests(server.house.simulator)) == 2
        streamed = {**body, "stream": True}
        assert (await post(server, streamed)).status_code == 422  # another body
        again = await post(server, streamed, **{"Idempotency-Key": "two"})
        assert "It has run." in "".join(
            e["choices"][0]["delta"].get("content") or "" for e in events(again.text)
        )
        assert (await post(server, streamed, **{"Idempotency-Key": "two"})).text == again.text


async def test_a_key_belongs_to_one_request(tmp_path: Path) -> None:
    async with running_server(tmp_path, lambda view: Turn(Text("Hello."))) as server:
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
    async with running_server(
        tmp_path, lambda view: Turn(Text("Hello. " * 50), faults=[stall(at=3, seconds=0.3)])
    ) as server:
        body = server.chat(stream=True)
        both = await asyncio.gather(post(server, body), post(server, body), post(server, body))
        assert len({one.text for one in both}) == 1
        assert len(server.house.asked) == 1


async def test_one_of_two_readers_may_go(tmp_path: Path) -> None:
    async with running_server(
        tmp_path, lambda view: Turn(Text("Hello. " * 50), faults=[stall(at=3, seconds=0.5)])
    ) as server:
        held = asyncio.Event()
        server.house.simulator.sleep = lambda _: held.wait()
        body = server.chat(stream=True)
        one, writer = await server.raw(body, Idempotency_Key="one")
        two, other = await server.raw(body, Idempotency_Key="one", Connection="close")
        await one.readuntil(b"Hello")
        await two.readuntil(b"Hello")
        writer.close()
        await until(lambda: server.serving.connected == 1)
        held.set()
        assert (await two.read()).endswith(b"data: [DONE]\n\n\r\n0\r\n\r\n")
        other.close()
        assert len(server.house.asked) == 1


@pytest.mark.parametrize("stream", [True, False])
async def test_a_client_that_vanished_goes_on_where_it_was(tmp_path: Path, stream: bool) -> None:
    """What was done is kept: the command runs once."""
    async with running_server(tmp_path, Counted(stalls=1)) as server:
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
        assert len(await server.house.engine.sessions.list()) == 1
        assert not server.house.simulator.violations


async def test_an_hour_that_was_used_up_is_gone_on_from(tmp_path: Path) -> None:
    """L-14: with the same key, once there are requests again; what ran is not run twice."""
    async with running_server(tmp_path, Counted()) as server:
        body = await prepare(server)
        values = server.house.engine.settings.values
        values.requests_per_hour = 1
        first = await post(server, body)
        assert "Your limit of 1 request an hour" in first.text and ran(server) == 1
        values.requests_per_hour = 0
        again = await post(server, body)
        assert again.status_code == 200 and words(again).endswith("It has run.")
        assert ran(server) == 1


async def test_an_answer_that_failed_is_tried_again(tmp_path: Path) -> None:
    async with running_server(tmp_path, Counted(fails=1)) as server:
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
    async with running_server(tmp_path, script) as server:
        body = await prepare(server)
        await server.house.engine.settings.save()
        token = server.token
        if stalls:
            _, writer = await server.raw(body, Idempotency_Key="one")
            await until(lambda: len(server.house.asked) == 2)
            await server.house.asked[1].stalled.wait()
        else:
            first = await post(server, body)
    if stalls:
        writer.close()
    async with running_server(tmp_path, script, token=token) as server:
        second = await post(server, body)
        assert second.status_code == 200, second.text
        assert words(second).endswith("It has run.")
        assert ran(server) == 1
        assert len(reply_requests(server.house.simulator)) == stalls
        if not stalls:
            assert second.json() == first.json()


async def test_what_was_deleted_is_answered_anew(tmp_path: Path) -> None:
    script: Script = lambda view: Turn(Text("Hello."))  # noqa: E731
    async with running_server(tmp_path, script) as server:
        await post(server, server.chat())
        sessions = server.house.engine.sessions
        await sessions.delete((await sessions.list())[0].id)
        token = server.token
    async with running_server(tmp_path, script, token=token) as server:
        assert (await post(server, server.chat())).status_code == 200
        assert len(server.house.asked) == 1


async def vanish(server: RunningServer, body: dict[str, Any]) -> None:
    """A client that asks and goes away when the tool has run."""
    _, writer = await server.raw(body, Idempotency_Key="one")
    await until(lambda: len(server.house.asked) == 2)
    await server.house.asked[1].stalled.wait()
    writer.close()
    await server.house.asked[1].gone.wait()


def refused(answer: Any) -> str:
    """The words of an answer that says what was done."""
    assert answer.status_code == 409, answer.text
    assert answer.headers["x-should-retry"] == "false"
    error = answer.json()["error"]
    assert error.get("code", "idempotency_key_used") == "idempotency_key_used"
    return error["message"]


async def chats(server: RunningServer) -> int:
    return len(await server.house.engine.sessions.list())


@pytest.mark.parametrize("door", ["/v1/chat/completions", "/v1/responses", "/v1/messages"])
async def test_no_tool_runs_twice_where_nothing_is_kept(tmp_path: Path, door: str) -> None:
    """S-3: neither after a client that went away nor after another start of the server."""
    async with running_server(tmp_path, Counted(stalls=1)) as server:
        body = {**await prepare(server), "max_tokens": 99}
        if door == "/v1/responses":
            body = {"model": AGENT, "input": "Go"}
        server.house.engine.settings.values.server_keep = False
        await server.house.engine.settings.save()
        _, writer = await server.raw(body, door, Idempotency_Key="one")
        await until(lambda: len(server.house.asked) == 2)
        await server.house.asked[1].stalled.wait()
        writer.close()
        for _ in range(2):
            again = await server.client.post(door, json=body, headers=KEY)
            assert "run echo x >> ran. To have it done again" in refused(again)
        assert await chats(server) == 0
        other = await server.client.post(door, json=body, headers={"Idempotency-Key": "two"})
        assert other.status_code == 200
        token = server.token
    async with running_server(tmp_path, Counted(), token=token) as server:
        for key in ("one", "two"):  # what was answered whole is in no memory now
            again = await server.client.post(door, json=body, headers={"Idempotency-Key": key})
            assert "run echo x >> ran" in refused(again)
        assert ran(server) == 2
        assert not server.house.asked


async def test_without_a_tool_it_is_answered_anew_where_nothing_is_kept(tmp_path: Path) -> None:
    script: Script = lambda view: Turn(Text("Hello."))  # noqa: E731
    async with running_server(tmp_path, script) as server:
        server.house.engine.settings.values.server_keep = False
        await server.house.engine.settings.save()
        first = await post(server, server.chat())
        assert (await post(server, server.chat())).json() == first.json()
        token = server.token
    async with running_server(tmp_path, script, token=token) as server:
        assert words(await post(server, server.chat())) == "Hello."
        assert await chats(server) == 0


async def test_a_program_that_was_killed_leaves_nothing_that_nobody_wanted_kept(
    tmp_path: Path,
) -> None:
    """The next start deletes it, and refuses what may have been done."""
    home = tmp_path / "killed"
    home.mkdir()
    async with running_server(tmp_path, Counted(stalls=1)) as server:
        body = await prepare(server)
        server.house.engine.settings.values.server_keep = False
        await server.house.engine.settings.save()
        engine = server.house.engine
        _, writer = await server.raw(body, Idempotency_Key="one")
        await until(lambda: len(server.house.asked) == 2)
        await server.house.asked[1].stalled.wait()
        assert await chats(server) == 1
        there = Paths.below(home / "studio")  # the disk as a kill would leave it
        there.database.parent.mkdir(parents=True)
        shutil.copytree(engine.paths.agents, there.agents)
        there.settings.parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(engine.paths.settings, there.settings)
        with (
            closing(sqlite3.connect(engine.paths.database)) as source,
            closing(sqlite3.connect(there.database)) as copy,
        ):
            source.backup(copy)
            copy.execute("DELETE FROM audit")  # not written yet
            copy.commit()
        token = server.token
        writer.close()
    async with running_server(home, Counted(), token=token) as server:
        assert await chats(server) == 0
        assert "it is not known all that was done" in refused(await post(server, body))
        assert not server.house.asked


async def test_what_a_person_deleted_is_not_done_again(tmp_path: Path) -> None:
    async with running_server(tmp_path, Counted(stalls=1)) as server:
        body = await prepare(server)
        await vanish(server, body)
        await until(lambda: not server.serving.answering)
        sessions = server.house.engine.sessions
        await sessions.delete((await sessions.list())[0].id)
        assert "run echo x >> ran" in refused(await post(server, body))
        assert ran(server) == 1


async def test_what_the_person_did_there_is_not_told_to_a_client(tmp_path: Path) -> None:
    """S-4: they went on in the client's chat, then deleted it."""
    counted = Counted(stalls=1)
    own = [Turn(Call("run", {"command": "cat salary.txt"})), Turn(Text("Enough."))]

    def script(view: RequestView) -> Turn:
        return own.pop(0) if view.last_user == "My pay?" else counted(view)

    async with running_server(tmp_path, script) as server:
        body = await prepare(server)
        await vanish(server, body)
        await until(lambda: not server.serving.answering)
        sessions = server.house.engine.sessions
        session = await sessions.open((await sessions.list())[0].id)
        await say(session, "My pay?", answer="once")
        assert [one.target for one in await sessions.store.audit()] == [
            "cat salary.txt",
            "echo x >> ran",
        ]
        await sessions.delete(session.info.id)
        said = refused(await post(server, body))
        assert "These tools have run: run echo x >> ran and 1 more." in said
        assert "salary" not in said


async def test_a_chat_that_went_on_is_no_reason_to_do_it_again(tmp_path: Path) -> None:
    """The person said something there before the client came back."""
    async with running_server(tmp_path, Counted(stalls=1)) as server:
        body = await prepare(server)
        await vanish(server, body)
        await until(lambda: not server.serving.answering)
        sessions = server.house.engine.sessions
        session = await sessions.open((await sessions.list())[0].id)
        await say(session, "Never mind.")
        assert "run echo x >> ran" in refused(await post(server, body))
        assert ran(server) == 1


async def test_requests_are_kept_for_a_day_and_a_thousand_of_them(tmp_path: Path) -> None:
    database = Database(Paths.below(tmp_path).database, MIGRATIONS)
    await database.open()
    try:
        store = IdempotencyStore(database)
        for n in range(KEPT_REQUESTS + 5):
            await store.begin(f"k{n}", "body", float(n))
        assert (await store.begin("k5", "other", 2_000.0)).body == "body"
        assert (await store.begin("k4", "other", 2_000.0)).body == "other"
        assert (await store.begin("k4", "x", 2_000.0 + KEPT_SECONDS + 1)).body == "x"
    finally:
        await database.close()
