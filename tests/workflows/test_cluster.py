"""Items that other computers work on: each result once, no key in any message (W-59)."""

from __future__ import annotations

import asyncio
import base64
import json
import os
import pickle
import signal
import ssl
import sys
from asyncio.subprocess import Process
from collections import Counter
from contextlib import AsyncExitStack
from functools import partial
from pathlib import Path

import pytest

from studio.domain.errors import ConfigurationError
from studio.domain.jsonvalue import JsonObject
from studio.providers.base import Reply, Request
from studio.simulator import Fault, RequestView, Simulator, Text, Turn, stall, status
from studio.workflows.cluster.certificates import (
    coordinator_identity,
    invite,
    read_invitation,
    take_back,
    taken_back,
)
from studio.workflows.cluster.coordinator import TAKEN_BACK, Coordinator
from studio.workflows.cluster.lines import Line, LineClosed, connect, encode, listen
from studio.workflows.cluster.messages import VERSION, reply_message
from support.command import Command
from support.engine_home import EngineHome, engine_home
from support.invoices import INVOICES, invoices, number_in, number_in_exchange, reads, results
from support.nightly import PROFILE
from support.waiting import HANG, until, within
from support.workflow_home import begin, carry_out

pytest.importorskip("distributed", reason="the extra “cluster” is not installed")
from tornado.iostream import IOStream

ITEMS = 1_000 if os.environ.get("HYPOTHESIS_PROFILE") == PROFILE else 200


class Machine:
    """A worker in a process of its own, with a provider and a key of its own."""

    def __init__(self, place: Path, name: str) -> None:
        place.mkdir()
        self.name, self.key = name, f"sk-{name}-0123456789abcdef"
        self.command = Command(place)
        self.fault: Fault | None = None
        self.simulator = Simulator(self._answer, pace=False)
        self.process: Process

    def _answer(self, view: RequestView) -> Turn:
        """As ``reads``; a server that repeats the key that it was asked with."""
        turn = reads(view)
        number = number_in(view)
        if number % 10 == 3:
            turn = Turn(Text(json.dumps({"total": number * 2, "key": self.key})))
        return Turn(*turn.parts, faults=[self.fault]) if self.fault else turn

    async def join(self, home: EngineHome, address: str) -> None:
        file = self.command.home.parent / "invitation"
        invite(home.engine.paths.data / "cluster", self.name, address, file)
        self.command.provider("anthropic", self.simulator.url("anthropic"), self.key)
        self.process = await self.command.start("cluster", "join", str(file))

    @property
    def asked(self) -> list[int]:
        """The numbers of the invoices that it sent to its provider."""
        return [number_in_exchange(one.json) for one in self.simulator.requests]


@pytest.mark.long
async def test_w59_a_killed_and_an_added_worker_lose_nothing_and_no_key_is_in_any_message(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    passed: list[bytes] = []
    write, read = IOStream.write, IOStream.read_bytes

    def written(self: IOStream, data: bytes) -> object:
        passed.append(bytes(data))
        return write(self, data)

    async def read_on(self: IOStream, count: int, *more: object) -> bytes:
        passed.append(await read(self, count, *more))  # type: ignore[arg-type]
        return passed[-1]

    monkeypatch.setattr(IOStream, "write", written)
    monkeypatch.setattr(IOStream, "read_bytes", read_on)
    first, second, third = (Machine(tmp_path / name, name) for name in ("anna", "bert", "carl"))
    async with engine_home(tmp_path, "anthropic", reads) as home, AsyncExitStack() as stack:
        invoices(home, ITEMS)
        said: list[str] = []
        coordinator = Coordinator(said.append, HANG)
        identity = coordinator_identity(home.engine.paths.data / "cluster")
        await coordinator.start("127.0.0.1:0", identity)
        stack.push_async_callback(coordinator.close, leave=True)
        home.engine.services.add(coordinator)
        for one in (first, second, third):
            await stack.enter_async_context(one.simulator)
        await first.join(home, coordinator.address)
        await second.join(home, coordinator.address)
        runner = await begin(home, INVOICES)
        runner.yes = True
        work = asyncio.create_task(carry_out(runner))
        await until(lambda: len(first.asked) > 20 and len(second.asked) > 20)
        first.fault = stall()
        second.fault = status(429, retry_after=HANG)  # so that there is work left for the third
        stalled = await until(
            lambda: [one for one in first.simulator.requests if one.stalled.is_set()]
        )
        open_ = {number_in_exchange(one.json) for one in stalled}
        os.kill(first.process.pid, signal.SIGKILL)
        await third.join(home, coordinator.address)
        await until(lambda: len(third.asked) > 5 or work.done())
        run = await work
        assert run.end is not None and run.end.outputs == {"many": ITEMS}, run.end
        found = await results(home, run.id)
        broken = {number for number in range(ITEMS) if number % 100 == 7}
        rows = await home.engine.database.rows(
            "SELECT reason, count(*) FROM run_items GROUP BY reason"
        )
        assert {number for number, (state, _) in found.items() if state == "failed"} == broken, rows
        done = {n: made["total"] for n, (_, made) in found.items() if n not in broken}  # type: ignore[index]
        assert done == {n: n * 2 for n in range(ITEMS) if n not in broken}
        refused = {
            number_in_exchange(one.json) for one in second.simulator.requests if one.status == 429
        }
        asked = Counter(first.asked + second.asked + third.asked)
        assert set(asked) == set(range(ITEMS)) and not home.asked
        twice = {number for number, many in asked.items() if many > 1} - broken
        assert open_ - broken <= twice, "what the killed one worked on was done by another"
        known = {one.name: [n for n in one.asked if asked[n] > 1] for one in (second, third)}
        assert twice <= set(first.asked) | refused, ("nothing else is done twice", known, said)
        assert len(third.asked) > 5, "the one that was added took part"
        rows = await home.engine.database.rows(
            "SELECT count(*) FROM usage WHERE session_id = ?", run.id
        )
        assert coordinator.status()["done"] == rows[0][0], "each answer is counted once"
        more = rows[0][0] - (ITEMS + 2 * len(broken))
        assert more == 0 or refused & broken, "a correction that was refused begins anew"
        assert "anna is gone." in said and "carl joined" in " ".join(said)
        await coordinator.close(leave=True)
        for one in (second, third):
            assert await one.process.wait() == 0, "it was sent away"
        bytes_ = b"\n".join(passed)
        assert (
            bytes_.count(b"Invoice 11 ") + bytes_.count(b'Invoice 11"') >= 1 and b"[key]" in bytes_
        )
        for key in (*(one.key for one in (first, second, third)), "sk-test-0123456789abcdef"):
            assert key.encode() not in bytes_ and base64.b64encode(key.encode())[:20] not in bytes_


async def test_w59_nobody_joins_without_an_invitation_and_nothing_is_unpickled(
    tmp_path: Path,
) -> None:
    """Nor does a worker pass for the coordinator, or for the person who stops it."""
    ours, others = tmp_path / "ours", tmp_path / "others"
    identity = coordinator_identity(ours)
    for folder in (ours, others):
        invite(folder, "anna", "", folder / "invitation")
    anna = read_invitation(ours / "invitation").identity
    stranger = read_invitation(others / "invitation").identity
    said: list[str] = []
    stopped: list[bool] = []
    coordinator = Coordinator(said.append)
    coordinator.on_stop = lambda: stopped.append(True)
    await coordinator.start("127.0.0.1:0", identity)
    host, _, port = coordinator.address.rpartition(":")
    try:
        with pytest.raises(ConfigurationError, match="no certificate of the cluster"):
            await connect(coordinator.address, stranger)
        without = ssl.create_default_context(cadata=identity.authority)
        without.check_hostname = False
        with pytest.raises((OSError, asyncio.IncompleteReadError)):
            reader, writer = await asyncio.open_connection(host, int(port), ssl=without)
            writer.write(encode({"do": "join"}))
            await reader.readexactly(1)
        hurt = tmp_path / "hurt"
        payload = pickle.dumps(_Touch(str(hurt)))
        for data in (payload, b'{"do": "stop"}', b"[1]"):
            line = await connect(coordinator.address, anna)
            await line.write(data)
            with pytest.raises(LineClosed):
                await line.read()
        assert not hurt.exists() and not stopped and not said
        line = await connect(coordinator.address, coordinator_identity(ours))
        await line.write(encode({"do": "stop"}))
        assert (await line.read())["workers"] == [] and stopped == [True]
    finally:
        await coordinator.close()
    posing = Coordinator(said.append)
    await posing.start("127.0.0.1:0", anna)
    try:
        with pytest.raises(ConfigurationError, match="no certificate of the cluster"):
            await connect(posing.address, anna)
    finally:
        await posing.close()


async def test_w59_a_worker_that_is_gone_is_asked_no_more(tmp_path: Path) -> None:
    """It counts as lost once, also before its reader has seen that it is gone."""
    said: list[str] = []
    identity = coordinator_identity(tmp_path)
    invite(tmp_path, "anna", "", tmp_path / "invitation")
    coordinator = Coordinator(said.append, HANG)
    await coordinator.start("127.0.0.1:0", identity)
    try:
        anna = read_invitation(tmp_path / "invitation").identity
        line = await connect(coordinator.address, anna)
        await line.write(encode({"do": "join", "messages": VERSION}))
        assert await line.read() == {"do": "welcome"}
        await until(lambda: coordinator._workers)

        async def ask() -> None:
            coordinator._workers[0].line.close()
            await coordinator.answer("anthropic", Request("sim-model", [], ""))

        asked = asyncio.create_task(ask())
        await until(lambda: "anna is gone." in said)
        assert not asked.done()
        asked.cancel()
    finally:
        await coordinator.close()


async def test_w59_an_answer_counts_that_came_while_the_coordinator_slept(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its worker was taken for silent before it was read, so another one did the item again.

    One that says nothing is still let go of.
    """
    said: list[str] = []
    identity = coordinator_identity(tmp_path)
    invite(tmp_path, "anna", "", tmp_path / "invitation")
    coordinator = Coordinator(said.append, HANG)
    await coordinator.start("127.0.0.1:0", identity)
    try:
        line = await connect(coordinator.address, read_invitation(tmp_path / "invitation").identity)
        await line.write(encode({"do": "join", "messages": VERSION}))
        assert await line.read() == {"do": "welcome"}
        asked = asyncio.create_task(coordinator.answer("anthropic", Request("sim-model", [], "")))
        ticket = (await line.read())["ticket"]
        loop = asyncio.get_running_loop()
        awake, slept = loop.time, 0.0
        monkeypatch.setattr(loop, "time", lambda: awake() + slept)
        answer = reply_message("Hi.", Reply())
        await line.write(encode({**answer, "do": "answer", "ticket": ticket}))
        slept += HANG
        async with within():
            await until(lambda: asked.done() or "anna is gone." in said)
        assert asked.done() and asked.result()[0] == "Hi." and not said[1:]
        while "anna is gone." not in said:
            slept += HANG
            await asyncio.sleep(0)
        with pytest.raises(LineClosed):
            await line.read()
    finally:
        await coordinator.close()


@pytest.mark.skipif(sys.platform == "win32", reason="its sockets forget what was not read")
async def test_w59_what_a_worker_said_before_it_died_is_read_though_a_write_fails_first(
    tmp_path: Path,
) -> None:
    """Its answers were lost with the line, so other workers did their items again."""
    identity = coordinator_identity(tmp_path)
    invite(tmp_path, "anna", "", tmp_path / "invitation")
    lines = asyncio.Queue[Line]()
    listener = await listen("127.0.0.1:0", identity, lines.put)
    host, port = listener.get_host_port()
    try:
        anna = read_invitation(tmp_path / "invitation").identity
        there = await connect(f"{host}:{port}", anna)
        here = await lines.get()
        for ticket in (1, 2):
            await there.write(encode({"do": "answer", "ticket": ticket}))
        there.close()
        async with within():
            with pytest.raises(LineClosed):
                while True:
                    await here.write(encode({"do": "ask", "ticket": 3}))
            assert here.closed, "it is asked no more"
            assert [(await here.read())["ticket"], (await here.read())["ticket"]] == [1, 2]
            with pytest.raises(LineClosed):
                await here.read()
    finally:
        listener.stop()


class _Touch:
    def __init__(self, path: str) -> None:
        self.path = path

    def __reduce__(self) -> tuple[object, tuple[str, str]]:
        return open, (self.path, "w")


async def test_w59_an_invitation_is_taken_back_also_from_a_worker_that_is_there(
    tmp_path: Path,
) -> None:
    """The other worker stays, and who is invited anew joins again."""
    invite(tmp_path, "anna", "", tmp_path / "first")
    invite(tmp_path, "ben", "", tmp_path / "ben")
    said: list[str] = []
    coordinator = Coordinator(said.append)
    coordinator.taken_back = partial(taken_back, tmp_path)
    await coordinator.start("127.0.0.1:0", coordinator_identity(tmp_path))

    async def join(file: str) -> tuple[Line, JsonObject]:
        line = await connect(coordinator.address, read_invitation(tmp_path / file).identity)
        await line.write(encode({"do": "join", "messages": VERSION}))
        return line, await line.read()

    try:
        (anna, welcome), (ben, _) = await join("first"), await join("ben")
        assert welcome == {"do": "welcome"}
        with pytest.raises(ConfigurationError, match=r"for carl. Invited are anna, ben."):
            take_back(tmp_path, "carl")
        take_back(tmp_path, "anna")
        line = await connect(coordinator.address, coordinator_identity(tmp_path))
        await line.write(encode({"do": "invitations"}))
        await line.read()
        assert await anna.read() == {"do": "refused", "reason": TAKEN_BACK}
        with pytest.raises(LineClosed):
            await anna.read()
        await until(lambda: "anna is gone." in said)
        assert not ben.closed and "ben is gone." not in said
        assert (await join("first"))[1] == {"do": "refused", "reason": TAKEN_BACK}
        with pytest.raises(ConfigurationError, match=r"for anna. Invited are ben."):
            take_back(tmp_path, "anna")
        invite(tmp_path, "anna", "", tmp_path / "second")
        assert (await join("second"))[1] == {"do": "welcome"}
    finally:
        await coordinator.close()


async def test_w59_the_list_of_invitations_is_never_gone_nor_loses_one(tmp_path: Path) -> None:
    """While it was written anew, and after a crash then, what was taken back counted again."""
    invite(tmp_path, "anna", "", tmp_path / "anna")
    take_back(tmp_path, "anna")
    names = [f"worker {number}" for number in range(20)]

    def work(name: str) -> None:
        invite(tmp_path, name, "", tmp_path / name)
        take_back(tmp_path, name)

    everybody = asyncio.gather(*(asyncio.to_thread(work, name) for name in names))
    seen: set[int] = set()
    while not everybody.done():
        seen.add(len(taken_back(tmp_path)))
        await asyncio.sleep(0)
    await everybody
    assert 0 not in seen and len(taken_back(tmp_path)) == len(names) + 1


def test_w59_it_does_not_start_with_an_authority_that_others_can_read_or_that_is_damaged(
    tmp_path: Path,
) -> None:
    coordinator_identity(tmp_path / "cluster")
    file = tmp_path / "cluster" / "authority.pem"
    file.chmod(0o644)
    with pytest.raises(ConfigurationError, match="Others can read"):
        coordinator_identity(tmp_path / "cluster")
    file.chmod(0o600)
    other = tmp_path / "other"
    coordinator_identity(other)
    mixed = file.read_text().partition("-----BEGIN PRIVATE")[0]
    mixed += (
        "-----BEGIN PRIVATE"
        + (other / "authority.pem").read_text().partition("-----BEGIN PRIVATE")[2]
    )
    for text in (mixed, file.read_text()[:200]):
        file.write_text(text)
        with pytest.raises(ConfigurationError, match="does not start"):
            coordinator_identity(tmp_path / "cluster")
