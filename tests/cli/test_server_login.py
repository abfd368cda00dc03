"""``agent-studio mcp login`` and ``logout``, and what a chat is told without a sign-in (M-22)."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path

import pytest

from studio.domain.events import ToolFinished
from studio.domain.permissions import Rule
from studio.simulator import Call, Turn
from studio.simulator.script import Text
from support.authorization_server import CANARY, Browser, guarded
from support.engine_home import EngineHome, engine_home, say
from support.waiting import until


async def logged_in(
    home: EngineHome, capsys: pytest.CaptureFixture[str], *options: str
) -> tuple[int, str]:
    """The exit code and the output of a login with a person who agrees."""
    work = asyncio.ensure_future(home.command("mcp", "login", "web", *options))
    said: list[str] = []

    def address() -> str:
        said.append(capsys.readouterr().err)
        lines = "".join(said).splitlines()
        return next((line for line in lines if "/as/authorize?" in line), "")

    await Browser()(await until(lambda: work.done() or address()))
    return await work, "".join(said) + capsys.readouterr().out


async def test_login_and_logout(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    call = [Turn(Call("web__look", {})), Turn(Text("Done."))]
    async with guarded() as web, engine_home(tmp_path, "anthropic", call + call) as home:
        assert await home.command("mcp", "add", "web", web.url) == 0
        assert await home.command("mcp", "login", "web") != 0
        assert "Switch the MCP server web on first." in capsys.readouterr().err
        assert await home.command("mcp", "on", "web", "--yes") != 0
        err = capsys.readouterr().err
        assert "wants you to sign in: Settings, MCP servers, or “agent-studio mcp login web”" in err

        code, told = await logged_in(home, capsys)
        assert code == 0 and "web: signed in, 2 tools" in told
        assert "Sign in at this address" in told and CANARY not in told
        rules = (Rule("allow", "web__*"),)
        events = await say(await home.session(), rules=rules)
        (done,) = [one for one in events if isinstance(one, ToolFinished)]
        assert "as look" in done.text

        # In a turn nothing opens a browser: the model is told, and the server has a state.
        web.expire()
        web.refresh.clear()
        events = await say(await home.session(), rules=rules)
        (failed,) = [one for one in events if isinstance(one, ToolFinished)]
        assert failed.is_error and "The server web wants you to sign in" in failed.text
        assert len(web.asked("authorize")) == 1
        servers = home.engine.services.servers
        assert servers.servers.state("web").kind == "sign_in"

        code, told = await logged_in(home, capsys, "--json")
        assert code == 0 and json.loads(told.splitlines()[-1])["tools"] == 2
        assert await home.command("mcp", "logout", "web") == 0
        assert "web: signed out" in capsys.readouterr().out and not web.refresh
        assert await home.command("mcp", "logout", "web", "--json") == 0
        assert json.loads(capsys.readouterr().out)["what"] == "was not signed in"
        assert await home.command("mcp", "test", "web") != 0

        # Removed with its sign-in.
        capsys.readouterr()
        await logged_in(home, capsys)
        assert await home.command("mcp", "remove", "web") == 0
        assert not web.refresh
        assert not [
            path
            for path in tmp_path.rglob("*")
            if path.is_file() and CANARY.encode() in path.read_bytes()
        ]


async def test_who_must_be_registered_by_hand(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    async with guarded(registers=False) as web, engine_home(tmp_path, "anthropic", []) as home:
        assert await home.command("mcp", "add", "web", web.url) == 0
        await home.command("mcp", "on", "web", "--yes")
        capsys.readouterr()
        assert await home.command("mcp", "login", "web") != 0
        err = capsys.readouterr().err
        assert "with the redirect address http://127.0.0.1:" in err and "--client-id" in err
        code, _ = await logged_in(home, capsys, "--client-id", "mine")
        assert code == 0 and web.asked("authorize")[0]["client_id"] == "mine"
