"""Commands are found as the person's own terminal finds them (M-3)."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import pytest

from studio.mcp import programs
from studio.mcp.faults import ServerFailed
from studio.mcp.programs import Programs
from studio.processes.keeper import Keeper

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="the shells here are for POSIX")


def script(path: Path, text: str = "exit 0") -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(f"#!/bin/sh\n{text}\n")
    path.chmod(0o700)
    return path


async def found(command: str, home: Path, shell: str = "", **more: str) -> str:
    keeper = Keeper()
    environment = {"PATH": "/usr/bin:/bin", "SHELL": shell, **more}
    try:
        program = await Programs(keeper, home, home / "fetched").find(
            command, ("a b", "$X"), home, environment
        )
    finally:
        keeper.close()
    assert program.argv[1:] == ("a b", "$X")
    assert set(environment["PATH"].split(":")) <= set(program.environment["PATH"].split(":"))
    return program.argv[0]


async def test_the_login_shell_is_asked_for_its_path(tmp_path: Path) -> None:
    """With a greeting around it, as shells of people have; once for all servers."""
    tool = script(tmp_path / "mine" / "my-node")
    asked = tmp_path / "asked"
    shell = script(
        tmp_path / "bash",
        f'echo Welcome; echo x >> {asked}\n[ "$1 $2 $3" = "-l -i -c" ] || exit 9\n'
        f'PATH={tool.parent}:$PATH\nexport PATH\n/bin/sh -c "$4"\necho bye',
    )
    assert await found("my-node", tmp_path, str(shell)) == str(tool)
    keeper = Keeper()
    programs = Programs(keeper, tmp_path, tmp_path / "fetched")
    environment = {"PATH": "/usr/bin", "SHELL": str(shell)}
    for _ in range(2):
        await programs.find("my-node", (), tmp_path, environment)
    keeper.close()
    assert asked.read_text().split() == ["x", "x"]


async def test_the_login_shell_gets_nothing_of_a_server(tmp_path: Path) -> None:
    """Its start files see no secret, and one server's variables choose no path for another."""
    said = tmp_path / "said"
    shell = script(tmp_path / "bash", f'env > {said}\n/bin/sh -c "$4"')
    plain = {"PATH": "/usr/bin:/bin", "SHELL": str(shell)}
    keeper = Keeper()
    try:
        program = await Programs(keeper, tmp_path, tmp_path / "fetched").find(
            "sh", (), tmp_path, plain, {"TOKEN": "CANARY", "PATH": "/elsewhere"}
        )
    finally:
        keeper.close()
    assert "CANARY" not in said.read_text() and "/elsewhere" not in said.read_text()
    assert program.environment["TOKEN"] == "CANARY"
    assert "/elsewhere" in program.environment["PATH"]


async def test_a_shell_that_fails_costs_nothing(tmp_path: Path) -> None:
    shell = script(tmp_path / "zsh", "exit 1")
    assert await found("sh", tmp_path, str(shell)) in ("/usr/bin/sh", "/bin/sh")
    assert await found("sh", tmp_path, "/no/such/bash") in ("/usr/bin/sh", "/bin/sh")


async def test_m3_a_shell_that_never_answers_is_ended(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """M-3: it has a time, then the usual folders are enough, and nothing of it is left."""
    assert programs.PATIENCE == 3.0
    monkeypatch.setattr(programs, "PATIENCE", 0.5)
    shell = script(tmp_path / "bash", f"echo $$ > {tmp_path}/pid\nexec sleep 3600")
    assert await found("sh", tmp_path, str(shell)) in ("/usr/bin/sh", "/bin/sh")
    if (tmp_path / "pid").exists():  # a busy computer may not have begun it
        with pytest.raises(ProcessLookupError):
            os.kill(int((tmp_path / "pid").read_text()), 0)


async def test_the_usual_folders_are_looked_into(tmp_path: Path) -> None:
    """The newest Node of a version manager comes first."""
    bins = tmp_path / ".nvm" / "versions" / "node"
    script(bins / "v9.1.0" / "bin" / "node-x")
    newest = script(bins / "v22.3.0" / "bin" / "node-x")
    assert await found("node-x", tmp_path) == str(newest)
    local = script(tmp_path / ".local" / "bin" / "uvx-x")
    assert await found("uvx-x", tmp_path) == str(local)


async def test_a_path_is_one_from_the_servers_folder(tmp_path: Path) -> None:
    own = script(tmp_path / "bin" / "server")
    assert own.samefile(await found("./bin/server", tmp_path))
    assert await found(str(own), tmp_path) == str(own)
    own.chmod(0o600)
    with pytest.raises(ServerFailed, match="no program"):
        await found(str(own), tmp_path)
