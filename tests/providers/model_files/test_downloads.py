"""Model files are found, fetched, continued, checked and refused, from a hub on loopback."""

from __future__ import annotations

import asyncio
import os
from collections.abc import AsyncIterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from studio.domain.jsonvalue import JsonObject
from studio.providers.computer_memory import Memory
from studio.providers.model_files.downloads import Download, DownloadFailed, Downloads
from studio.providers.model_files.fit import estimated_speed, fit_of
from studio.providers.model_files.folder import (
    Source,
    begun_files,
    delete,
    model_files,
    part_of,
    quantization,
    read_source,
    record_of,
    title_of,
)
from studio.providers.model_files.gguf import ModelFacts, NotGguf, read_facts
from studio.providers.model_files.hub import Hub, HubProblem, choose
from studio.simulator import HubRepo, HubSimulator
from support.llama_server import TEMPLATE, random_gguf
from support.waiting import until, within

NAME = "tiny-Q4_K_M.gguf"
SOURCE = Source("mill/tiny-GGUF", NAME, title="Tiny")
GB = 10**9


@pytest.fixture(scope="module")
def gguf(tmp_path_factory: pytest.TempPathFactory) -> bytes:
    return random_gguf(tmp_path_factory.mktemp("model") / NAME, seed=1).read_bytes()


@pytest.fixture
async def hub(gguf: bytes, monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[HubSimulator]:
    files = {NAME: gguf, "tiny-Q8_0.gguf": gguf + b"0", "README.md": b"# Tiny"}
    repos = {
        "mill/tiny-GGUF": HubRepo(files, TEMPLATE),
        "mill/closed-tiny-GGUF": HubRepo({NAME: gguf}, gated=True),
        "mill/words": HubRepo({"README.md": b"no model"}),
    }
    async with HubSimulator(repos) as simulator:
        monkeypatch.setenv("HF_ENDPOINT", simulator.endpoint)
        yield simulator


@pytest.fixture
async def downloads() -> AsyncIterator[Downloads]:
    made = Downloads(os.environ, waits=(0.05, 0.05))
    yield made
    await made.aclose()


def asked(hub: HubSimulator) -> list[str]:
    """The parts of the file that were asked for."""
    gets = [one for one in hub.requests if one.path.startswith("/stored") and one.method == "GET"]
    return [one.headers.get("range", "") for one in gets]


async def test_a_search_finds_what_runs_here(hub: HubSimulator, gguf: bytes) -> None:
    found = await Hub().search("tiny")
    assert [(one.source.repo, one.source.file) for one in found] == [
        ("mill/tiny-GGUF", NAME),
        ("mill/closed-tiny-GGUF", NAME),
    ]
    first, closed = found
    assert (first.source.title, first.owner, first.licence) == ("tiny", "mill", "Apache 2.0")
    assert (first.source.size, first.tools, first.gated) == (len(gguf), True, False)
    assert (closed.tools, closed.gated) == (False, True)
    assert await Hub().search("words") == []  # no file that could be run
    await hub.stop()
    with pytest.raises(HubProblem, match="Check the network"):
        await Hub().search("tiny")


async def test_a_file_is_fetched_checked_and_deleted(
    hub: HubSimulator, downloads: Downloads, gguf: bytes, tmp_path: Path
) -> None:
    """Also where the connection breaks in the middle: it goes on from there by itself."""
    cut = len(gguf) // 2
    hub.repos["mill/tiny-GGUF"].cut_at = [cut]
    seen: list[Download] = []
    downloads.subscribe(seen.append)
    downloads.start(SOURCE, tmp_path / "models")
    done = await downloads.ended(SOURCE)
    assert done.path == tmp_path / "models" / NAME
    assert done.path.read_bytes() == gguf
    assert asked(hub) == ["", f"bytes={cut}-"]
    assert seen[0].state == "asking" and seen[-1].state == "done"
    [file] = model_files(tmp_path / "models")
    assert (file.id, file.title, file.size) == ("tiny-Q4_K_M", "Tiny", len(gguf))
    assert file.facts is not None and file.facts.tools and file.facts.context(None) == 8192
    assert file.source is not None and file.source.repo == SOURCE.repo
    delete(file.path)
    assert list((tmp_path / "models").iterdir()) == []


async def test_what_was_fetched_before_the_network_went_is_kept(
    hub: HubSimulator, downloads: Downloads, gguf: bytes, tmp_path: Path
) -> None:
    cut = len(gguf) // 3
    hub.repos["mill/tiny-GGUF"].cut_at = [cut] * 9
    downloads.start(SOURCE, tmp_path)
    with pytest.raises(DownloadFailed, match="The network went away"):
        await downloads.ended(SOURCE)
    [begun] = begun_files(tmp_path)
    assert (begun.done, begun.source.size, begun.source.title) == (cut, len(gguf), "Tiny")
    assert model_files(tmp_path) == []
    hub.repos["mill/tiny-GGUF"].cut_at = []
    downloads.start(begun.source, tmp_path)
    done = await downloads.ended(SOURCE)
    assert done.path is not None and done.path.read_bytes() == gguf
    assert asked(hub)[-1] == f"bytes={cut}-"


async def test_a_pause_ends_it_at_once_and_keeps_what_there_is(
    hub: HubSimulator, downloads: Downloads, gguf: bytes, tmp_path: Path
) -> None:
    repo = hub.repos["mill/tiny-GGUF"]
    repo.rate = 2_000.0
    downloads.start(SOURCE, tmp_path)
    part = part_of(tmp_path / NAME)
    await until(lambda: any(one.done > 0 for one in downloads.all))
    await downloads.pause(SOURCE)
    [now] = downloads.all
    assert now.state == "paused" and part.exists()
    repo.rate = 0.0
    downloads.start(SOURCE, tmp_path)
    done = await downloads.ended(SOURCE)
    assert done.path is not None and done.path.read_bytes() == gguf
    repo.files["other-Q4_K_M.gguf"], repo.rate = gguf, 2_000.0
    other = Source(SOURCE.repo, "other-Q4_K_M.gguf")
    downloads.start(other, tmp_path)
    await until(lambda: downloads.all[-1].done > 0)
    await downloads.cancel(other, tmp_path)
    assert [one.name for one in tmp_path.iterdir() if "other" in one.name] == []


@pytest.mark.parametrize("ignores_range", [False, True])
async def test_what_was_begun_of_another_file_is_no_part_of_this_one(
    hub: HubSimulator, downloads: Downloads, gguf: bytes, tmp_path: Path, ignores_range: bool
) -> None:
    """A server that sends all of it is heard from the start; too much of it is begun anew."""
    repo = hub.repos["mill/tiny-GGUF"]
    repo.ignores_ranges = int(ignores_range)
    repo.cut_at = [len(gguf) // 2] if ignores_range else []
    part_of(tmp_path / NAME).write_bytes(gguf[:5000] if ignores_range else gguf + b"more")
    downloads.start(SOURCE, tmp_path)
    done = await downloads.ended(SOURCE)
    assert done.path is not None and done.path.read_bytes() == gguf


async def test_wrong_bytes_are_deleted(
    hub: HubSimulator, downloads: Downloads, gguf: bytes, tmp_path: Path
) -> None:
    hub.repos["mill/tiny-GGUF"].wrong = gguf[:-1] + b"!"
    downloads.start(SOURCE, tmp_path)
    with pytest.raises(DownloadFailed, match="damaged and was deleted"):
        await downloads.ended(SOURCE)
    assert list(tmp_path.iterdir()) == []


async def test_a_file_that_is_here_is_checked_and_never_lost_to_a_bad_download(
    hub: HubSimulator, downloads: Downloads, gguf: bytes, tmp_path: Path
) -> None:
    repo = hub.repos["mill/tiny-GGUF"]
    for _ in range(2):
        downloads.start(SOURCE, tmp_path)
        assert (await downloads.ended(SOURCE)).path == tmp_path / NAME
    assert asked(hub) == [""], "it was not fetched again"
    repo.files[NAME], repo.wrong = gguf + b"new", gguf + b"bad"
    downloads.start(SOURCE, tmp_path)
    with pytest.raises(DownloadFailed, match="damaged and was deleted"):
        await downloads.ended(SOURCE)
    [file] = model_files(tmp_path)
    assert file.path.read_bytes() == gguf and begun_files(tmp_path) == []


async def test_downloads_leave_the_threads_of_the_program_free(
    hub: HubSimulator, downloads: Downloads, tmp_path: Path
) -> None:
    with ThreadPoolExecutor(1) as only:
        asyncio.get_running_loop().set_default_executor(only)
        hub.repos["mill/tiny-GGUF"].rate = 2_000.0
        downloads.start(SOURCE, tmp_path)
        await until(lambda: any(one.done > 0 for one in downloads.all))
        async with within():
            assert await asyncio.to_thread(lambda: downloads.all[0].running)
        await downloads.pause(SOURCE)


PARTS = [f"big-Q4_K_M-0000{number}-of-00003.gguf" for number in (1, 2, 3)]


async def test_a_model_in_parts_is_one_model(
    hub: HubSimulator, downloads: Downloads, gguf: bytes, tmp_path: Path
) -> None:
    """It is found, fetched, gone on with, checked and deleted as one."""
    parts = dict(zip(PARTS, (gguf, b"GGUF second", b"GGUF third part"), strict=True))
    size = sum(map(len, parts.values()))
    repo = hub.repos["mill/big-GGUF"] = HubRepo(dict(parts), TEMPLATE)
    [found] = await Hub().search("big")
    assert (found.source.file, found.source.size, found.source.sha256) == (PARTS[0], size, "")

    # It breaks off in the second part, and goes on there another time.
    (tmp_path / "tiny-Q4_K_M.gguf").write_bytes(gguf)
    repo.cut_at = [len(gguf), 6, 6, 6, 6]
    downloads.start(found.source, tmp_path)
    with pytest.raises(DownloadFailed, match="The network went away"):
        await downloads.ended(found.source)
    [begun] = begun_files(tmp_path)
    assert (begun.done, begun.source.size) == (len(gguf) + 6, size)
    assert (begun.path.name, begun.source.title) == (PARTS[0], "big")
    assert [file.id for file in model_files(tmp_path)] == ["tiny-Q4_K_M"]
    repo.cut_at = []
    hub.requests.clear()
    seen: list[Download] = []
    downloads.subscribe(seen.append)
    downloads.start(begun.source, tmp_path)
    done = await downloads.ended(begun.source)
    assert done.path == tmp_path / PARTS[0] and done.size == size
    assert asked(hub) == ["bytes=6-", ""], "the first part is not fetched again"
    told = [one.done for one in seen[1:]]
    assert told == sorted(told)
    assert {name: (tmp_path / name).read_bytes() for name in PARTS} == parts
    assert not begun_files(tmp_path)

    big, _ = model_files(tmp_path)
    assert (big.id, big.title, big.size) == (PARTS[0].removesuffix(".gguf"), "big", size)
    assert big.runs and big.facts is not None and big.facts.size == size
    (tmp_path / PARTS[1]).write_bytes(b"GGUF wrong!")
    repo.wrong = b"GGUF wrong!"
    with pytest.raises(DownloadFailed, match="damaged"):
        downloads.start(found.source, tmp_path)
        await downloads.ended(found.source)
    assert (tmp_path / PARTS[0]).read_bytes() == gguf, "what was sound stays"
    (tmp_path / PARTS[1]).unlink()
    assert len(begun_files(tmp_path)) == 1, "it can be gone on with"
    record_of(tmp_path / PARTS[0]).unlink()  # as if the person had put it there
    big, _ = model_files(tmp_path)
    assert big.missing == 1 and not big.runs
    delete(big.path)
    assert [one.name for one in tmp_path.iterdir()] == ["tiny-Q4_K_M.gguf"]


async def test_a_model_that_sees_is_fetched_with_its_projector(
    hub: HubSimulator, downloads: Downloads, gguf: bytes, tmp_path: Path
) -> None:
    """2.11: both are one download, gone on with, and deleted together."""
    files = {
        NAME: gguf,
        "mmproj-tiny-f16.gguf": b"GGUF eyes of tiny",
        "mmproj-tiny-f32.gguf": b"GGUF larger eyes of tiny",
    }
    repo = hub.repos["mill/eyes-GGUF"] = HubRepo(dict(files), TEMPLATE)
    [found] = await Hub().search("eyes")
    eyes = files["mmproj-tiny-f16.gguf"]
    assert found.sees and found.source.projector == "mmproj-tiny-f16.gguf"
    assert (found.source.file, found.source.size) == (NAME, len(gguf) + len(eyes))
    assert not any(one.sees for one in await Hub().search("closed"))

    repo.cut_at = [len(eyes), 6, 6, 6, 6]
    downloads.start(found.source, tmp_path)
    with pytest.raises(DownloadFailed, match="The network went away"):
        await downloads.ended(found.source)
    [begun] = begun_files(tmp_path)
    assert begun.done == len(eyes) + 6 and not model_files(tmp_path)
    assert begun.source.projector == found.source.projector
    repo.cut_at = []
    hub.requests.clear()
    downloads.start(begun.source, tmp_path)
    await downloads.ended(begun.source)
    assert asked(hub) == ["bytes=6-"], "its eyes are not fetched again"
    [model] = model_files(tmp_path)
    assert model.sees and model.size == found.source.size and not begun_files(tmp_path)
    assert (tmp_path / "tiny-Q4_K_M.mmproj").read_bytes() == eyes
    delete(model.path)
    assert not list(tmp_path.iterdir())


async def test_two_programs_that_fetch_one_model_do_not_disturb_each_other(
    hub: HubSimulator, downloads: Downloads, gguf: bytes, tmp_path: Path
) -> None:
    """The second sees how far the first is, goes on if that stops, and deletes nothing of it."""
    repo = hub.repos["mill/tiny-GGUF"]
    repo.rate = 2_000.0
    other = Downloads(os.environ, waits=(0.05,))
    try:
        downloads.start(SOURCE, tmp_path)
        await until(lambda: any(one.done > 0 for one in downloads.all))
        other.start(SOURCE, tmp_path)
        await until(lambda: any(one.state == "waiting" and one.done for one in other.all))
        assert other.all[0].size == len(gguf)
        await other.cancel(SOURCE, tmp_path)
        assert part_of(tmp_path / NAME).exists() and downloads.all[0].running
        other.start(SOURCE, tmp_path)
        await until(lambda: any(one.state == "waiting" for one in other.all))
        repo.rate = 0.0
        await downloads.pause(SOURCE)
        done = await other.ended(SOURCE)
        assert done.path is not None and done.path.read_bytes() == gguf
        assert asked(hub)[-1].startswith("bytes=")
    finally:
        await other.aclose()


async def test_a_gated_model_says_what_to_do(
    hub: HubSimulator, downloads: Downloads, tmp_path: Path
) -> None:
    closed = Source("mill/closed-tiny-GGUF", NAME)
    downloads.start(closed, tmp_path)
    with pytest.raises(DownloadFailed, match="accept the terms"):
        await downloads.ended(closed)
    downloads.start(closed, tmp_path, token="good")
    assert (await downloads.ended(closed)).state == "done"
    assert hub.authorized  # and the other host, where the bytes lie, gets no token
    assert not any(path.startswith("/stored") for path in hub.authorized)
    gone = Source("mill/tiny-GGUF", "gone.gguf")
    downloads.start(gone, tmp_path)
    with pytest.raises(DownloadFailed, match="does not have this file"):
        await downloads.ended(gone)


async def test_what_cannot_be_fetched_is_not_asked_for_without_end(
    hub: HubSimulator, downloads: Downloads, tmp_path: Path
) -> None:
    hub.repos["mill/tiny-GGUF"].refuses = 416
    downloads.start(SOURCE, tmp_path)
    with pytest.raises(DownloadFailed, match="refuses it"):
        await downloads.ended(SOURCE)
    assert asked(hub) == [""]
    nowhere = Source("no such/name", NAME)
    downloads.start(nowhere, tmp_path)
    with pytest.raises(DownloadFailed, match="does not have this file"):
        await downloads.ended(nowhere)


async def test_a_folder_that_cannot_be_written_is_told(
    hub: HubSimulator, downloads: Downloads, tmp_path: Path
) -> None:
    (tmp_path / "file").write_text("no folder")
    downloads.start(SOURCE, tmp_path / "file" / "models")
    with pytest.raises(DownloadFailed, match="cannot be written"):
        await downloads.ended(SOURCE)
    with pytest.raises(ValueError, match="no name"):
        downloads.start(Source("mill/tiny-GGUF", "../..gguf"), tmp_path)


def test_two_files_of_one_name_have_two_places(tmp_path: Path) -> None:
    from studio.providers.model_files.folder import place_of, write_source

    (tmp_path / NAME).write_bytes(b"")
    assert place_of(tmp_path, SOURCE).name == f"mill-{NAME}"  # it is the person's own
    write_source(tmp_path / NAME, SOURCE)
    assert place_of(tmp_path, SOURCE).name == NAME
    assert place_of(tmp_path, Source("other.org/tiny", NAME)).name == f"other-org-{NAME}"
    assert read_source(tmp_path / NAME) == SOURCE


def test_how_well_a_model_fits() -> None:
    """The picture's computer: 32 GB of memory, 21 GB of them free."""
    memory = Memory(32 * GB, 21 * GB)
    sizes = (2.5, 18.6, 47.4)
    assert [fit_of(int(size * GB), memory) for size in sizes] == ["well", "tight", "not"]
    assert fit_of(GB, None) == fit_of(0, memory) == "unknown"


def test_how_fast_a_model_may_write() -> None:
    dense = ModelFacts({"general.architecture": "qwen3"}, 4 * GB)
    experts: JsonObject = {
        "general.architecture": "moe", "moe.expert_count": 8, "moe.expert_used_count": 2,
    }  # fmt: skip
    assert estimated_speed(dense.active_bytes) == 5.0
    assert estimated_speed(ModelFacts(experts, 16 * GB).active_bytes) == estimated_speed(
        dense.active_bytes
    )
    assert (
        estimated_speed(dense.active_bytes, [(30.0, GB), (2.0, 5 * GB)]) == 7.5
    )  # as others did here


def test_which_file_of_a_repository_is_offered() -> None:
    names = ["m-Q8_0.gguf", "m-Q4_K_M.gguf", "m-Q2_K.gguf", "mmproj-m-Q4_K_M.gguf"]
    assert choose(dict.fromkeys(names, 1)) == "m-Q4_K_M.gguf"
    assert choose({"a-f32.gguf": 9, "b.gguf": 3}) == "b.gguf"
    first, second = "m-Q4_K_M-00001-of-00002.gguf", "m-Q4_K_M-00002-of-00002.gguf"
    assert choose({first: 1, "m.safetensors": 1}) == "" == choose({second: 1})
    assert choose({second: 1, first: 1, "m-Q2_K.gguf": 1}) == first
    assert choose({"a-00001-of-00002.gguf": 2, "a-00002-of-00002.gguf": 2, "b.gguf": 3}) == "b.gguf"
    assert title_of(first.removesuffix(".gguf")) == "m" and quantization(first) == "Q4_K_M"
    assert quantization("gpt-oss-20b-mxfp4.gguf") == "MXFP4"
    assert title_of("Qwen3-4B-Q4_K_M") == title_of("Qwen3-4B-GGUF") == "Qwen3 4B"


def test_no_file_is_too_strange_to_read(tmp_path: Path, gguf: bytes) -> None:
    file = tmp_path / "strange.gguf"
    for data in (b"", b"GGUF", gguf[:200], b"GGUF\x03\0\0\0" + b"\xff" * 64, b"GGML" + gguf[4:]):
        file.write_bytes(data)
        with pytest.raises(NotGguf):
            read_facts(file)
