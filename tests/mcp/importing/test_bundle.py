"""Servers in bundles, ``.mcpb`` and ``.dxt``, are taken as well (M-23)."""

from __future__ import annotations

import json
import sys
import warnings
import zipfile
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from studio.files.unpacking import UnpackError
from studio.mcp.entries import EntriesFile
from studio.mcp.importing.bundle import NOT_HERE, delete_unused
from studio.mcp.importing.formats import read_path
from studio.mcp.importing.found import Found, Surroundings
from studio.mcp.importing.taking import take
from support.mcp_servers import running_servers

PROGRAM = """
import json, os, sys
for line in sys.stdin:
    asked = json.loads(line)
    if asked.get("method") == "initialize":
        told = {"protocolVersion": asked["params"]["protocolVersion"], "capabilities": {"tools": {}}}
        told["serverInfo"] = {"name": "notes", "version": "1"}
    elif asked.get("method") == "tools/list":
        schema = {"type": "object"}
        told = {"tools": [{"name": os.environ["NAME_OF_TOOL"], "inputSchema": schema}]}
    elif "id" in asked:
        print(json.dumps({"jsonrpc": "2.0", "id": asked["id"],
                          "error": {"code": -32601, "message": "no"}}), flush=True)
        continue
    else:
        continue
    print(json.dumps({"jsonrpc": "2.0", "id": asked["id"], "result": told}), flush=True)
"""


def manifest(**server: Any) -> dict[str, Any]:
    return {
        "manifest_version": "0.3",
        "name": "notes",
        "version": "1.0.0",
        "description": "Keeps notes",
        "author": {"name": "Ada"},
        "server": {"type": "python", "entry_point": "server/main.py", **server},
        "user_config": {
            "key": {
                "type": "string",
                "title": "Key",
                "description": "Of your account",
                "sensitive": True,
                "required": True,
            },
            "folders": {
                "type": "directory",
                "multiple": True,
                "default": ["${HOME}/a", "${DOCUMENTS}"],
            },
            "limit": {"type": "number", "default": 10},
            "place": {"type": "directory", "required": True, "title": "Where notes are"},
            "nothing": {"type": "string"},
        },
    }


CONFIG = {
    "command": "python3",
    "args": ["${__dirname}/server/main.py", "${user_config.folders}", "${user_config.nothing}"],
    "env": {
        "KEY": "${user_config.key}",
        "LIMIT": "${user_config.limit}",
        "PLACE": "${user_config.place}",
        "LIB": "${__dirname}${/}lib",
    },
    "platform_overrides": {"win32": {"command": "py.exe"}},
}


def pack(path: Path, told: object, **files: str) -> Path:
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as packed:
        packed.writestr("manifest.json", json.dumps(told))
        for name, text in files.items():
            packed.writestr(name, text)
    return path


def around(place: Path, platform: str = "linux") -> Surroundings:
    return Surroundings(place / "home", {}, platform, bundles=place / "bundles")


def only(path: Path, place: Path, platform: str = "linux") -> Found:
    (one,) = read_path(path, around(place, platform)).found
    return one


def test_m23_a_bundle_says_what_runs_and_what_it_needs(tmp_path: Path) -> None:
    path = pack(tmp_path / "notes.mcpb", manifest(mcp_config=CONFIG))
    one = only(path, tmp_path)
    folder = str(one.folder)
    assert one.entry.arguments == (
        f"{folder}/server/main.py",
        str(tmp_path / "home" / "a"),
        str(tmp_path / "home" / "Documents"),
    )
    assert one.entry.environment == {
        "KEY": "${keychain:mcp/notes/key}",
        "LIMIT": "10",
        "PLACE": "${keychain:mcp/notes/place}",
        "LIB": f"{folder}/lib",
    }
    assert [(gap.name, gap.about) for gap in one.missing] == [
        ("key", "Of your account"),
        ("place", "Where notes are"),
    ]
    assert not (tmp_path / "bundles").exists()  # to look at one unpacks nothing
    assert only(path, tmp_path, "win32").entry.command == "py.exe"


def test_m23_a_bundle_for_another_system_is_not_taken(tmp_path: Path) -> None:
    told = {**manifest(mcp_config=CONFIG), "compatibility": {"platforms": ["darwin"]}}
    assert only(pack(tmp_path / "notes.dxt", told), tmp_path).problem == NOT_HERE


def test_m23_uv_starts_a_bundle_that_names_no_command(tmp_path: Path) -> None:
    one = only(pack(tmp_path / "n.mcpb", manifest(type="uv", entry_point="src/a.py")), tmp_path)
    assert one.entry.shown == f"uv run --directory {one.folder} src/a.py"


async def test_m23_a_bundle_is_unpacked_started_and_deleted_with_its_server(
    tmp_path: Path,
) -> None:
    start = {
        "command": sys.executable,
        "args": ["-I", "${__dirname}/main.py"],
        "env": {"NAME_OF_TOOL": "keep"},
    }
    path = pack(tmp_path / "notes.mcpb", manifest(mcp_config=start), **{"main.py": PROGRAM})
    file = EntriesFile(tmp_path / "mcp.json", tmp_path / "consents.json")

    async def keep(name: str, secret: str) -> None:
        raise AssertionError("it has no secret")

    (entry,) = await take([only(path, tmp_path)], file, keep)
    path.unlink()  # it is not needed any more
    seen = replace(entry, on=True, approved=entry.digest)
    async with running_servers(tmp_path, seen) as servers:
        lists = await servers.start("notes", None)
        assert [one.name for one in lists.tools] == ["keep"]
    delete_unused(tmp_path / "bundles", entry, [replace(entry, name="twice")])
    assert Path(entry.folder).is_dir()
    delete_unused(tmp_path / "bundles", replace(entry, folder=""), [])
    assert not Path(entry.folder).exists()


async def test_m23_files_of_a_server_that_was_not_deleted_stay(tmp_path: Path) -> None:
    """Also those of one whose entry cannot be read at the moment."""
    file = EntriesFile(tmp_path / "mcp.json", tmp_path / "consents.json")
    path = pack(tmp_path / "n.mcpb", manifest(mcp_config=CONFIG))
    (entry,) = await take([only(path, tmp_path)], file, _nothing)
    delete_unused(tmp_path / "bundles", replace(entry, arguments=(), folder="/else"), [])
    assert Path(entry.folder).is_dir()


@pytest.mark.parametrize("name", ["../out.txt", "/out.txt", "a/../../out.txt", "C:\\out.txt"])
async def test_m23_nothing_of_a_bundle_leads_out_of_its_folder(tmp_path: Path, name: str) -> None:
    path = pack(tmp_path / "n.mcpb", manifest(mcp_config=CONFIG), **{name: "x", "main.py": ""})
    found = only(path, tmp_path)
    await take([found], EntriesFile(tmp_path / "mcp.json", tmp_path / "consents.json"), _nothing)
    assert found.folder is not None
    assert sorted(one.name for one in found.folder.rglob("*")) == ["main.py", "manifest.json"]
    assert not [*tmp_path.rglob("out.txt")]


async def test_m23_a_bundle_that_grows_without_measure_is_refused(tmp_path: Path) -> None:
    path = pack(tmp_path / "n.mcpb", manifest(mcp_config=CONFIG), big="\0" * 20_000_000)
    file = EntriesFile(tmp_path / "mcp.json", tmp_path / "consents.json")
    with pytest.raises(UnpackError, match="grows without measure"):
        await take([only(path, tmp_path)], file, _nothing)
    assert not file.read().by_name and not [*(tmp_path / "bundles").iterdir()]


async def test_m23_a_bundle_that_was_changed_meanwhile_is_not_taken(tmp_path: Path) -> None:
    path = pack(tmp_path / "n.mcpb", manifest(mcp_config=CONFIG))
    found, file = only(path, tmp_path), EntriesFile(tmp_path / "mcp.json", tmp_path / "c.json")
    pack(path, manifest(mcp_config={"command": "sh"}))
    with pytest.raises(UnpackError, match="open it again"):
        await take([found], file, _nothing)
    assert not file.read().by_name and not [*(tmp_path / "bundles").iterdir()]


async def test_m12_another_bundle_does_not_replace_the_files_of_one_that_was_approved(
    tmp_path: Path,
) -> None:
    """Not even one with the same manifest that is as large."""
    file = EntriesFile(tmp_path / "mcp.json", tmp_path / "c.json")
    bundles = [
        pack(tmp_path / f"{word}.mcpb", manifest(mcp_config=CONFIG), **{"main.py": word})
        for word in ("good", "evil")
    ]
    sizes = [one.stat().st_size for one in bundles]
    assert sizes[0] == sizes[1]
    (good,) = await take([only(bundles[0], tmp_path)], file, _nothing)
    (evil,) = await take([only(bundles[1], tmp_path)], file, _nothing)
    assert (Path(good.folder) / "main.py").read_text() == "good"
    assert (Path(evil.folder) / "main.py").read_text() == "evil"


@pytest.mark.parametrize("start", ["../../mine", "no/such/program"])
async def test_m23_taking_a_bundle_touches_nothing_outside(tmp_path: Path, start: str) -> None:
    (tmp_path / "mine").write_text("mine")
    (tmp_path / "mine").chmod(0o640)
    config = {"command": f"${{__dirname}}/{start}"}
    path = pack(tmp_path / "n.mcpb", manifest(mcp_config=config))
    file = EntriesFile(tmp_path / "mcp.json", tmp_path / "c.json")
    with pytest.raises(UnpackError, match="the program that it starts is not in it"):
        await take([only(path, tmp_path)], file, _nothing)
    assert (tmp_path / "mine").stat().st_mode & 0o777 == 0o640
    assert not file.read().by_name and not [*(tmp_path / "bundles").iterdir()]


@pytest.mark.parametrize("method", [zipfile.ZIP_BZIP2, zipfile.ZIP_LZMA])
async def test_m23_bundles_packed_so_that_they_cannot_be_measured_are_refused(
    tmp_path: Path, method: int
) -> None:
    """A megabyte of these can be gigabytes, which are unpacked at once, whatever is read of it."""
    path = pack(tmp_path / "n.mcpb", manifest(mcp_config=CONFIG))
    with zipfile.ZipFile(path, "a", method) as packed:
        packed.writestr("big", "x")
    file = EntriesFile(tmp_path / "mcp.json", tmp_path / "c.json")
    with pytest.raises(UnpackError, match="packed in a way"):
        await take([only(path, tmp_path)], file, _nothing)
    with zipfile.ZipFile(path, "w", method) as packed:
        packed.writestr("manifest.json", json.dumps(manifest(mcp_config=CONFIG)))
    assert "packed in a way" in read_path(path, around(tmp_path)).problem


@pytest.mark.parametrize("names", [("a", "a"), ("a", "a/b"), ("n" * 300,)])
async def test_m23_files_that_cannot_be_written_are_told(
    tmp_path: Path, names: tuple[str, ...]
) -> None:
    path = pack(tmp_path / "n.mcpb", manifest(mcp_config=CONFIG))
    with zipfile.ZipFile(path, "a") as packed:
        for name in names:
            with warnings.catch_warnings(action="ignore"):
                packed.writestr(name, "x")
    file = EntriesFile(tmp_path / "mcp.json", tmp_path / "c.json")
    with pytest.raises(UnpackError, match="cannot be unpacked"):
        await take([only(path, tmp_path)], file, _nothing)
    assert not file.read().by_name and not [*(tmp_path / "bundles").iterdir()]


@pytest.mark.parametrize("program", ["bin/notes", "bin/notes.exe"])
async def test_m23_a_program_of_a_bundle_can_be_run(tmp_path: Path, program: str) -> None:
    """The zip files of Windows say of no file that it is a program."""
    path = pack(tmp_path / "n.mcpb", manifest(mcp_config={"command": "bin/notes"}), **{program: ""})
    (entry,) = await take(
        [only(path, tmp_path)], EntriesFile(tmp_path / "m.json", tmp_path / "c.json"), _nothing
    )
    assert entry.command == str(Path(entry.folder) / "bin" / "notes")
    assert (Path(entry.folder) / program).stat().st_mode & 0o100


def test_m18_no_bundle_gets_the_secret_of_another_server(tmp_path: Path) -> None:
    env = {"A": "${keychain:mcp/github/token}", "B": "x-${keychain:anthropic}", "C": "${HOME}"}
    path = pack(tmp_path / "n.mcpb", manifest(mcp_config={"command": "sh", "env": env}))
    found = only(path, tmp_path)
    assert found.entry.environment == {
        "A": "${keychain:mcp/notes/token}",
        "B": "x-${keychain:mcp/notes/anthropic}",
        "C": str(tmp_path / "home"),
    }
    assert [gap.key for gap in found.missing] == ["mcp/notes/token", "mcp/notes/anthropic"]


def test_m18_no_value_of_a_bundle_is_taken_for_a_secret_or_fills_in_itself(tmp_path: Path) -> None:
    """M-18, M-23: a password that a manifest brings along is asked for, and stands in no file."""
    asked = {
        "key": {"type": "string", "sensitive": True, "default": "hunter2-hunter2"},
        "maybe": {"type": "string", "sensitive": True},
        "word": {"type": "string", "default": "a ${user_config.word}"},
        "other": {"type": "string", "default": "${user_config.key}"},
    }
    env = {name.upper(): f"${{user_config.{name}}}" for name in asked}
    told = {**manifest(mcp_config={"command": "sh", "env": env}), "user_config": asked}
    found = only(pack(tmp_path / "n.mcpb", told), tmp_path)
    assert found.entry.environment["KEY"] == "${keychain:mcp/notes/key}"
    assert found.entry.environment["MAYBE"] == "${keychain:mcp/notes/maybe}"
    assert "hunter2" not in str(found.entry) and {"key", "maybe"} <= {
        gap.name for gap in found.missing
    }


def test_m23_a_manifest_beyond_bounds_is_told(tmp_path: Path) -> None:
    """M-23: it is not unpacked to be read."""
    path = pack(tmp_path / "n.mcpb", {**manifest(mcp_config=CONFIG), "more": "x" * 4_000_000})
    assert "its manifest is too large" in read_path(path, around(tmp_path)).problem


@pytest.mark.parametrize("told", [[], {}, {"server": 3}, {"name": "a", "server": {"type": "x"}}])
def test_m23_odd_manifests_are_told(tmp_path: Path, told: object) -> None:
    file = read_path(pack(tmp_path / "n.mcpb", told), around(tmp_path))
    assert file.problem or file.found[0].problem
    (tmp_path / "broken.mcpb").write_bytes(b"PK no zip")
    assert "cannot be read" in read_path(tmp_path / "broken.mcpb", around(tmp_path)).problem
    assert read_path(tmp_path / "none.mcpb", around(tmp_path)).problem == "There is no such file."


async def _nothing(name: str, secret: str) -> None:
    pass
