"""``agent-studio serve``, as a process of its own (S-3, S-4)."""

from __future__ import annotations

import asyncio
import contextlib
import json
import signal
import socket
from asyncio.subprocess import PIPE, Process
from collections.abc import AsyncIterator
from pathlib import Path

import httpx2
import pytest

from studio.storage.config.settings import SettingsFile
from support.fork_server import start_python
from support.waiting import HANG, within


@contextlib.asynccontextmanager
async def serve(*options: str) -> AsyncIterator[Process]:
    process = await start_python("-m", "studio", "serve", *options, stdin=PIPE)
    try:
        yield process
    finally:
        with contextlib.suppress(ProcessLookupError):
            process.kill()
        await process.communicate()


async def line(process: Process) -> str:
    assert process.stdout is not None
    async with within():
        return (await process.stdout.readline()).decode().strip()


async def end(process: Process) -> tuple[int | None, str, str]:
    """The exit code, and what was still said."""
    async with within():
        out, errors = await process.communicate()
    return process.returncode, out.decode(), errors.decode()


@pytest.mark.parametrize(
    ("how", "code"), [(signal.SIGTERM, 0), (signal.SIGHUP, 0), (signal.SIGINT, 130)]
)
async def test_it_serves_until_it_is_stopped(
    how: signal.Signals, code: int, tmp_path: Path
) -> None:
    """S-3, S-4: it says where it is, what it needs, and ends in good order."""
    folder = tmp_path / "he\x1b[2Jre"  # a terminal would obey it
    folder.mkdir()
    async with serve("--port", "0", "--folder", str(folder)) as process:
        kind, address = (await line(process)).rsplit(maxsplit=1)
        assert kind == "Base URL" and address.startswith("http://127.0.0.1:")
        shown = await line(process)
        token = shown.split()[1]
        assert shown.startswith("Token") and token.startswith("as-")  # there is no keychain here
        assert (await line(process)).split() == ["Folder", str(folder).replace("\x1b", "\\x1b")]
        assert await line(process) == "Stop with Ctrl+C."
        headers = {"authorization": f"Bearer {token}"}
        async with httpx2.AsyncClient(verify=False, trust_env=False, headers=headers) as client:
            body = {"model": "simulator/demo-fast", "messages": [{"role": "user", "content": "Hi"}]}
            answer = await client.post(f"{address}/chat/completions", json=body, timeout=HANG)
            assert "demo" in answer.json()["choices"][0]["message"]["content"]
            process.send_signal(how)
        found, out, errors = await end(process)
        assert (found, out, errors) == (code, "", "")


async def test_a_window_starts_it_and_ends_it() -> None:
    """With the address and the token in one line of JSON; it ends when the window does."""
    async with serve("--port", "0", "--with-parent") as process:
        told = json.loads(await line(process))
        assert told.keys() == {"address", "token"}
        async with httpx2.AsyncClient(verify=False, trust_env=False) as client:
            answer = await client.get(f"{told['address']}/health")
            assert answer.json() == {"status": "ok"}
        assert process.stdin is not None
        process.stdin.close()
        assert await end(process) == (0, "", "")


async def test_why_it_cannot_start_is_said() -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = str(taken.getsockname()[1])
        async with serve("--port", port, "--with-parent") as process:
            told = json.loads(await line(process))
            assert told.keys() == {"error"} and f"Port {port} is taken" in told["error"]
            assert (await end(process))[0] == 1
    async with serve("--port", "0", "--folder", "/nowhere\x1b[2J/at\nall") as process:
        code, out, errors = await end(process)
        assert (code, out) == (1, "") and "no folder /nowhere\\x1b[2J/at\n  │ all" in errors


@pytest.mark.parametrize("port", [70_000, -1])
async def test_a_port_in_the_settings_that_does_not_exist(port: int, tmp_path: Path) -> None:
    settings = tmp_path / "studio" / "settings.json"
    settings.parent.mkdir(exist_ok=True)
    settings.write_text(json.dumps({"server_port": port}))
    async with serve() as process:
        code, out, errors = await end(process)
    assert (code, out) == (1, "")
    assert f"no port {port}" in errors and "1 to 65535" in errors and "Traceback" not in errors


async def test_beyond_this_computer_it_warns_and_wants_a_token(tmp_path: Path) -> None:
    """S-4, whatever the setting says."""
    settings = tmp_path / "studio" / "settings.json"
    settings.parent.mkdir(exist_ok=True)
    settings.write_text(json.dumps({"server_token": False}))
    async with serve("--port", "0", "--host", "0.0.0.0") as process:
        address = (await line(process)).split()[-1].removesuffix("/v1")
        assert "as-" in await line(process)
        async with httpx2.AsyncClient(verify=False, trust_env=False) as client:
            assert (await client.get(f"{address}/v1/models")).status_code == 401
        process.terminate()
        code, _, errors = await end(process)
        assert code == 0 and "not encrypted" in errors
    async with serve("--port", "0") as process:
        address = (await line(process)).split()[-1].removesuffix("/v1")
        assert "none is needed" in await line(process)
        async with httpx2.AsyncClient(verify=False, trust_env=False) as client:
            assert (await client.get(f"{address}/v1/models")).status_code == 200


async def test_it_takes_what_is_set_while_it_runs(tmp_path: Path) -> None:
    """S-4: the window and the command set things at the same data; a cap or a rule holds at once."""
    settings = SettingsFile(tmp_path / "studio" / "settings.json")
    async with (
        serve("--port", "0") as process,
        httpx2.AsyncClient(verify=False, trust_env=False) as client,
    ):
        address = (await line(process)).split()[-1]

        async def until(status: int) -> httpx2.Response:
            async with within():
                while (  # noqa: ASYNC110 (of another process)
                    answer := await client.get(f"{address}/models")
                ).status_code != status:
                    await asyncio.sleep(0.05)
            return answer

        await until(401)
        settings.values.server_token = False
        settings.values.base_urls = {"openai-compatible": "http://127.0.0.1:9"}
        settings.values.own_models = {"openai-compatible": ["mine"]}
        await settings.save()
        async with within():
            while (  # noqa: ASYNC110 (of another process)
                "openai-compatible/mine" not in (await until(200)).text
            ):
                await asyncio.sleep(0.05)
        settings.values.server_token = True
        await settings.save()
        await until(401)


async def test_a_token_that_nothing_keeps_is_not_shown_beforehand() -> None:
    async with serve("--show-token") as process:
        code, out, errors = await end(process)
        assert (code, out) == (1, "") and "No keychain" in errors


async def test_a_token_in_a_file_is_shown(tmp_path: Path) -> None:
    """S-4: it stays where there is no keychain, as on a server."""
    file = tmp_path / "token"
    options = ("--token-file", str(file))
    async with serve(*options, "--show-token") as process:
        code, out, _ = await end(process)
        assert code == 0 and out == file.read_text()
    async with serve(*options, "--port", "0") as process:
        address = (await line(process)).split()[-1]
        assert await line(process) == f"Token     in {file}"
        async with httpx2.AsyncClient(verify=False, trust_env=False) as client:
            headers = {"authorization": f"Bearer {out.strip()}"}
            assert (await client.get(f"{address}/models", headers=headers)).status_code == 200
