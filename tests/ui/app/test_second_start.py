"""A second start of the program raises the window of the first, through a socket."""

from __future__ import annotations

import asyncio
import json
import socket
import stat
import sys
from collections.abc import Iterator
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest

from studio.storage.paths import Paths
from studio.ui.app.second_start import LONGEST, NAME, SecondStarts, raise_first
from support.waiting import until, within

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="no such sockets in Python")


@pytest.fixture
def paths() -> Iterator[Paths]:
    with TemporaryDirectory() as folder:  # short enough for the name of a socket
        yield Paths.below(Path(folder))


async def test_a_start_is_heard_with_its_folder_and_ends(paths: Paths) -> None:
    heard: list[str] = []
    assert not await asyncio.to_thread(raise_first, paths)
    first = SecondStarts(paths, heard.append)
    await first.listen()
    place = paths.data / NAME
    assert stat.S_IMODE(place.stat().st_mode) == 0o600
    folder = str(paths.data)
    for told in (folder, "", f"{folder}/not there"):
        assert await asyncio.to_thread(raise_first, paths, told)
    assert heard == [folder, "", ""]
    await first.aclose()
    assert not place.exists() and not list(paths.data.iterdir())
    assert not await asyncio.to_thread(raise_first, paths)


async def test_a_stale_socket_is_replaced_and_that_of_another_window_stays(paths: Paths) -> None:
    place = paths.data / NAME
    with socket.socket(socket.AF_UNIX) as dead:
        dead.bind(str(place))  # what a killed program leaves behind
    assert not await asyncio.to_thread(raise_first, paths)
    heard: list[int] = []
    first = SecondStarts(paths, lambda _: heard.append(1))
    second = SecondStarts(paths, lambda _: heard.append(2))
    await first.listen()
    await second.listen()
    assert await asyncio.to_thread(raise_first, paths)
    await first.aclose()
    assert await asyncio.to_thread(raise_first, paths)
    assert heard == [2, 2]
    await second.aclose()
    assert not place.exists()


async def test_nonsense_on_the_socket_raises_no_window(paths: Paths) -> None:
    heard: list[str] = []
    first = SecondStarts(paths, heard.append)
    await first.listen()
    for nonsense in (b"", b"no json\n", b"x" * (LONGEST + 10), b"\xff\n"):
        reader, writer = await asyncio.open_unix_connection(str(paths.data / NAME))
        writer.write(nonsense)
        writer.write_eof()
        async with within():
            assert await reader.read() == b""
        writer.close()
    assert heard == []
    reader, writer = await asyncio.open_unix_connection(str(paths.data / NAME))
    writer.write(json.dumps({"folder": 7, "key": "secret"}).encode() + b"\n")
    await until(lambda: heard == [""])
    writer.close()
    await first.aclose()
