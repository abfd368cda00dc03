"""A second start of the program raises the window of the first, through a socket."""

from __future__ import annotations

import asyncio
import json
import socket
import stat
import sys
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest

from studio.files.file_lock import exclusive_access
from studio.storage.paths import Paths
from studio.ui.app.second_start import (
    LONGEST,
    NAME,
    PORT_NAME,
    SecondStarts,
    Start,
    raise_first,
    wait_for_turn,
)
from support.waiting import within

no_sockets = pytest.mark.skipif(sys.platform == "win32", reason="no such sockets in Python")
ways = pytest.mark.parametrize("by_port", [pytest.param(False, marks=no_sockets), True])


@pytest.fixture
def paths() -> Iterator[Paths]:
    with TemporaryDirectory() as folder:  # short enough for the name of a socket
        yield Paths.below(Path(folder))


def noting(heard: list[Start]) -> Callable[[Start], bool]:
    """A window that takes each start."""

    def take(start: Start) -> bool:
        heard.append(start)
        return True

    return take


async def raised(paths: Paths, by_port: bool, start: Start = Start()) -> bool:  # noqa: B008
    return await asyncio.to_thread(raise_first, paths, start, by_port=by_port)


@ways
async def test_a_start_is_heard_with_what_it_is_for_and_ends(paths: Paths, by_port: bool) -> None:
    heard: list[Start] = []
    assert not await raised(paths, by_port)
    first = SecondStarts(paths, noting(heard), by_port=by_port)
    await first.listen()
    place = paths.data / (PORT_NAME if by_port else NAME)
    if sys.platform != "win32":
        assert stat.S_IMODE(place.stat().st_mode) == 0o600
    folder = str(paths.data)
    longest = Start(link="agent-studio://new?text=" + "\N{GRINNING FACE}" * 9_000)
    starts = [Start(folder), Start(), longest, Start(quick_ask=True)]
    for start in [*starts, Start(f"{folder}/not there")]:
        assert await raised(paths, by_port, start)
    assert heard == [*starts, Start()]
    await first.aclose()
    assert not place.exists() and not list(paths.data.iterdir())
    assert not await raised(paths, by_port)


@ways
async def test_a_stale_place_is_replaced_and_that_of_another_window_stays(
    paths: Paths, by_port: bool
) -> None:
    place = paths.data / (PORT_NAME if by_port else NAME)
    with socket.socket(socket.AF_INET if by_port else socket.AF_UNIX) as dead:
        if by_port:
            dead.bind(("127.0.0.1", 0))  # what a killed program leaves behind
            left = {"port": dead.getsockname()[1], "key": "a", "answer": "b"}
            place.write_text(json.dumps(left))
        else:
            dead.bind(str(place))
        assert not await raised(paths, by_port)
    heard: list[Start] = []
    taken: list[Start] = []
    first = SecondStarts(paths, noting(taken), by_port=by_port)
    second = SecondStarts(paths, noting(heard), by_port=by_port)
    await first.listen()
    await second.listen()
    assert await raised(paths, by_port)
    await first.aclose()
    assert await raised(paths, by_port)
    assert heard == [Start(), Start()] and not taken
    await second.aclose()
    assert not place.exists()


@ways
async def test_a_start_that_is_not_taken_opens_a_window_of_its_own(
    paths: Paths, by_port: bool
) -> None:
    """A window that is being closed takes none, and its end leaves the place of the next one."""
    first = SecondStarts(paths, lambda _: False, by_port=by_port)
    await first.listen()
    assert not await raised(paths, by_port)
    heard: list[Start] = []
    second = SecondStarts(paths, noting(heard), by_port=by_port)
    await second.listen()
    await first.aclose()
    assert await raised(paths, by_port)
    assert heard == [Start()]
    await second.aclose()


async def test_starts_take_turns(paths: Paths) -> None:
    """The next one looks when the one before listens."""
    looked: list[str] = []
    turn = wait_for_turn(paths)

    def look() -> None:
        with wait_for_turn(paths):
            looked.append("the next")

    later = asyncio.create_task(asyncio.to_thread(look))
    looked.append("the first")
    with exclusive_access(paths.data / NAME, 0) as alone:
        assert not alone
    turn.close()
    turn.close()
    async with within():
        await later
    assert looked == ["the first", "the next"]
    with exclusive_access(paths.data / NAME, 0) as alone:
        assert alone


@ways
async def test_nonsense_raises_no_window_and_disturbs_nothing(paths: Paths, by_port: bool) -> None:
    heard: list[Start] = []
    wrong: list[object] = []
    asyncio.get_running_loop().set_exception_handler(lambda _, context: wrong.append(context))
    first = SecondStarts(paths, noting(heard), by_port=by_port)
    await first.listen()
    place = paths.data / (PORT_NAME if by_port else NAME)
    said = json.loads(place.read_text()) if by_port else {}

    async def tell(words: bytes, *, whole: bool) -> bytes:
        if by_port:
            reader, writer = await asyncio.open_connection("127.0.0.1", said["port"])
        else:
            reader, writer = await asyncio.open_unix_connection(str(place))
        writer.write(words)
        if whole:
            writer.write_eof()
        answer = b""
        with suppress(ConnectionError):  # it is closed before all was read
            async with within():
                answer = await reader.read()
        writer.close()
        return answer

    key = {"key": said.get("key", "")}
    deep = b"[" * 90_000 + b"\n"
    for nonsense in (
        b"",
        b"no json\n",
        b"\xff\n",
        b'{"key": 7}\n',
        b"GET / HTTP/1.1\r\n\r\n",
        deep,
    ):
        assert await tell(nonsense, whole=True) == b""
    assert await tell(b"x" * (LONGEST + 10), whole=False) == b""  # with no end of its line
    if by_port:
        assert await tell(b'{"folder": "", "key": "guessed"}\n', whole=True) == b""
    assert heard == [] and wrong == []
    await tell(
        json.dumps({"folder": 7, "link": [], "quick_ask": 1, **key}).encode() + b"\n", whole=False
    )
    assert heard == [Start()] and wrong == []
    await first.aclose()


async def test_a_stranger_at_the_port_of_a_dead_window_is_not_believed(paths: Paths) -> None:
    heard: list[bytes] = []

    async def stranger(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        heard.append(await reader.readline())
        writer.write(b"taken\n" + b"x" * 64)
        writer.close()

    async with await asyncio.start_server(stranger, "127.0.0.1", 0) as server:
        port = server.sockets[0].getsockname()[1]
        told = {"port": port, "key": "old", "answer": "a" * 64}
        (paths.data / PORT_NAME).write_text(json.dumps(told))
        assert not await raised(paths, by_port=True)
    assert heard
