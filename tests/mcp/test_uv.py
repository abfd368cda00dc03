"""uv is fetched as the person wants, and nothing else in its place (X-3)."""

from __future__ import annotations

import os
import sys
from dataclasses import replace
from pathlib import Path

import pytest

from studio.cli.doctor.local_checks import LocalChecks
from studio.domain.errors import ConfigurationError
from studio.extensions.packs.host import find_uv
from studio.mcp.entries import EntriesFile, ServerEntry
from studio.mcp.faults import ServerFailed
from studio.mcp.programs import Programs
from studio.mcp.uv import WHEELS, fetch_uv, uv_folder
from studio.processes.keeper import Keeper
from studio.providers.http import Http
from studio.storage.paths import Paths
from support import nightly
from support.mcp_servers import approved
from support.uv_to_fetch import PATH, STARTER, uv_to_fetch


@pytest.mark.skipif(sys.platform == "win32", reason="The programs of the test are scripts.")
async def test_x3_it_is_found_by_servers_and_packs_after_those_that_the_person_has(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    http, keeper, programs = Http(), Keeper(), tmp_path / "programs"
    found = Programs(keeper, tmp_path, uv_folder(programs))
    monkeypatch.setenv("PATH", str(tmp_path / "bin"))
    try:
        async with uv_to_fetch(monkeypatch):
            assert not find_uv(tmp_path, programs)
            with pytest.raises(ServerFailed, match="no program"):
                await found.find(STARTER, (), tmp_path, {"PATH": ""})
            folder = await fetch_uv(await http.client(), programs)
            assert await fetch_uv(await http.client(), programs) == folder, "another window's"
            assert {one.name for one in folder.iterdir()} == {"uv", STARTER}
            assert list(programs.iterdir()) == [folder]
            (folder / "uv").unlink()
            await fetch_uv(await http.client(), programs)
            assert (folder / "uv").is_file(), "what is not whole is fetched anew"
            started = await found.find(STARTER, (), tmp_path, {"PATH": ""})
            assert started.argv == (str(folder / STARTER),)
            assert find_uv(tmp_path, programs) == str(folder / "uv")
        own = tmp_path / "bin" / "uv"
        own.parent.mkdir()
        own.write_text("#!/bin/sh\n")
        own.chmod(0o700)
        assert find_uv(tmp_path, programs) == str(own)
    finally:
        keeper.close()
        await http.aclose()


@pytest.mark.parametrize("status", [200, 404])
async def test_x3_what_is_not_the_uv_that_is_known_is_not_kept(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, status: int
) -> None:
    http, programs = Http(), tmp_path / "programs"
    words = "not the uv" if status == 200 else "status 404"
    try:
        async with uv_to_fetch(monkeypatch) as made:
            made.page(PATH, b"PK something else", "application/octet-stream", status)
            with pytest.raises(ConfigurationError, match=words):
                await fetch_uv(await http.client(), programs)
        with pytest.raises(ConfigurationError, match="Check the connection"):
            await fetch_uv(await http.client(), programs)  # nobody is there any more
        assert not programs.exists()
    finally:
        await http.aclose()


def test_x3_each_file_has_a_digest() -> None:
    assert all(len(bytes.fromhex(one.sha256)) == 32 for one in WHEELS.values())
    assert len({one.path for one in WHEELS.values()}) == len(WHEELS)


@pytest.mark.skipif(
    os.environ.get("HYPOTHESIS_PROFILE") != nightly.PROFILE,
    reason="uv is fetched from PyPI: make nightly runs it.",
)
async def test_x3_the_real_one_is_there(tmp_path: Path) -> None:
    http = Http()
    try:
        assert (await fetch_uv(await http.client(), tmp_path / "programs")).is_dir()
    finally:
        await http.aclose()


@pytest.mark.skipif(sys.platform == "win32", reason="The program of the test is a script.")
def test_x3_the_doctor_says_that_it_is_missing_and_finds_a_fetched_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """X-3, M-18: and which servers run in no sandbox, and which in one."""
    monkeypatch.setenv("PATH", "")
    paths = Paths.below(tmp_path)
    entry = approved(ServerEntry("time", "uvx", ("mcp-server-time",)))
    file = EntriesFile(paths.servers, paths.data / "servers.json")
    file.put(entry)
    for name, where in (("kept", "offline"), ("out", "network")):
        file.put(replace(entry, name=name, sandbox=where))
    found = LocalChecks(paths).servers()
    assert "there is no program uvx" in found.text
    assert (
        "with your rights and in no sandbox: time; in the sandbox with network: out" in found.text
    )
    assert "in the sandbox without network: kept" in found.text
    assert found.advice == "Fetch uv: agent-studio mcp get-uv"
    uvx = uv_folder(paths.programs) / "uvx"
    uvx.parent.mkdir(parents=True)
    uvx.write_text("#!/bin/sh\n")
    uvx.chmod(0o700)
    assert LocalChecks(paths).servers().state == "ok"
