"""P-4: ``agent-studio keys``, and commands that print a key. No key is where it can be read."""

from __future__ import annotations

import asyncio
import json
import sys
from io import BytesIO, TextIOWrapper
from pathlib import Path

import pytest

from studio.simulator import Text, Turn
from studio.storage.config.key_command import KeyCommands
from studio.storage.config.keychain import Keychain
from support.command import Command, screen
from support.engine_home import KEY, EngineHome, engine_home, reply_requests, say
from support.vault import Vault
from support.waiting import FOREVER

SECRET = "sk-of-mine-0123456789abcdef"
FAILING = "keyring.backends.fail.Keyring"


def with_keychain(one: EngineHome, keychain: Keychain) -> None:
    """What ``bootstrap`` would have built on a computer with this keychain."""
    engine = one.engine
    engine.keychain = engine.services.keychain = engine.providers._keychain = keychain  # pyright: ignore[reportPrivateUsage]


def printing(text: str, code: int = 0) -> list[str]:
    return [sys.executable, "-c", f"import sys; print({text!r}, {text!r}[3:], sep='\\n'); print({text!r}, file=sys.stderr); sys.exit({code})"]  # fmt: skip


async def test_a_key_is_kept_tested_and_removed(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """PRE-16, P-4."""
    vault = Vault()
    async with engine_home(tmp_path, "openai-compatible", lambda _: Turn(Text("Hi."))) as one:
        with_keychain(one, Keychain(backend=vault))
        address = one.engine.settings.values.base_urls.pop("openai-compatible")

        async def told(*words: str, code: int = 0, typed: bytes = b"") -> str:
            with (tmp_path / "typed").open("w+b") as file:
                file.write(typed)
                file.seek(0)
                with TextIOWrapper(file) as stdin:
                    monkeypatch.setattr(sys, "stdin", stdin)
                    assert await one.command("keys", *words) == code
            both = capsys.readouterr()
            assert SECRET not in both.out + both.err
            return both.out + both.err

        # Never as an argument, and not what is no key
        assert "no argument" in await told("set", "anthropic", SECRET, code=1)
        for wrong in (b"", b"\n\n", b"two words", "schlüssel".encode(), b"a\nb"):
            assert "key" in await told("set", "anthropic", typed=wrong, code=1)
        assert "No key is called aol" in await told("set", "aol", typed=b"x", code=1)
        assert not vault.kept

        # By the name of a provider, and by the address of a server
        assert "in the keychain" in await told("set", "brave", typed=f" {SECRET}\n".encode())
        assert "is no address" in await told("set", "http://", typed=b"x", code=1)
        assert "no key for http://other" in await told("test", "http://other/v1", code=1)
        await told("set", address, typed=KEY.encode())
        assert vault.kept == {("agent-studio", "brave"): SECRET, ("agent-studio", "openai-compatible"): KEY}  # fmt: skip
        saved = json.loads(one.engine.settings.path.read_text())
        assert saved["base_urls"] == {"openai-compatible": address} and KEY not in str(saved)
        assert "takes the key in the keychain" in await told("test", address)
        assert one.simulator.requests[-1].path.endswith("/models")
        place = one.engine.settings.path
        one.engine.settings.path = Path("/dev/null/settings.json")
        await told("set", "http://127.0.0.1:9/v1", typed=SECRET.encode(), code=1)
        one.engine.settings.path = place
        one.engine.settings.values.base_urls["openai-compatible"] = address
        assert vault.kept["agent-studio", "openai-compatible"] == KEY  # that of its server
        rows = json.loads(await told("list", "--json"))
        assert {row["key"]: row["source"] for row in rows if row["source"]} == {
            "openai-compatible": "keychain",
            "brave": "keychain",
        }
        assert "cannot be tested" in await told("test", "brave", code=1)
        await told("remove", "brave")
        assert [*vault.kept] == [("agent-studio", "openai-compatible")]
        monkeypatch.setenv("ANTHROPIC_API_KEY", SECRET)
        with_keychain(one, Keychain(backend=vault, variables={"anthropic": ["ANTHROPIC_API_KEY"]}))
        assert "still comes from the environment" in await told("remove", "anthropic")
        assert "anthropic          from the environment" in await told("list")


async def test_without_a_keychain_a_command_prints_the_key(
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
) -> None:
    monkeypatch.setenv("PYTHON_KEYRING_BACKEND", FAILING)
    async with engine_home(tmp_path, "anthropic", lambda _: Turn(Text("Hi."))) as one:
        one.engine.keychain.forget("anthropic", session=True)
        monkeypatch.setattr(sys, "stdin", TextIOWrapper(BytesIO()))
        assert await one.command("keys", "test", "anthropic") == 1
        told = capsys.readouterr().err
        for way in ("keys set anthropic", "ANTHROPIC_API_KEY", "config set key_command.anthropic"):
            assert way in told
        values = one.engine.settings.values
        values.key_command = {"anthropic": printing(SECRET)}
        assert await one.command("keys", "test", "anthropic") == 0
        assert "from the command in key_command" in capsys.readouterr().err
        assert await one.engine.providers.key("anthropic") == SECRET  # its first line alone
        await say(await one.session())
        assert reply_requests(one.simulator)
        assert one.engine.keychain.source("anthropic") == "command"
        assert SECRET in one.engine.keychain.known()  # so that no child gets it
        # A command that fails says so, and not with its words
        values.key_command = {"anthropic": printing(SECRET, 3)}
        assert await one.command("keys", "test", "anthropic") == 1
        told = capsys.readouterr().err
        assert "The command in key_command.anthropic ended with 3." in told and SECRET not in told
        # What is in no keychain is taken away where it comes from
        values.key_command = {"anthropic": printing(SECRET)}
        assert await one.command("keys", "remove", "anthropic") == 1
        assert "agent-studio config unset key_command.anthropic" in capsys.readouterr().err
        values.key_command = {}
        monkeypatch.setenv("ANTHROPIC_API_KEY", SECRET)
        assert await one.command("keys", "remove", "anthropic") == 1
        told = capsys.readouterr().err
        assert "from the environment: unset ANTHROPIC_API_KEY" in told and SECRET not in told
    assert SECRET not in caplog.text


async def test_a_command_that_gives_no_key_is_given_up(tmp_path: Path) -> None:
    commands: dict[str, list[str]] = {}
    keys = KeyCommands(lambda: commands, seconds=0.3)
    python = [sys.executable, "-c"]
    for words, problem in (
        (["/no/such/program", SECRET], "there is no program /no/such/program."),
        ([*python, "import time; time.sleep(600)"], "did not end within"),
        ([*python, "print('x' * 100_000)"], "prints more than a key."),
        ([*python, "pass"], "printed nothing."),
    ):
        commands["a"] = words
        slow = KeyCommands(lambda: commands, seconds=0.3 if "sleep" in str(words) else 60)
        assert await slow.get("a") == "" == slow.known("a")
        assert slow.problem("a").endswith(problem) or problem in slow.problem("a")
        assert SECRET not in slow.problem("a")
    assert keys.problem("a") == "" and await keys.get("b") == ""


async def test_nobody_waits_for_the_command_of_another() -> None:
    """One that asks the person in a window may take a minute."""
    commands = {
        "slow": [sys.executable, "-c", f"import time; time.sleep({FOREVER})"],
        "known": printing(SECRET),
    }
    keys = KeyCommands(lambda: commands)
    assert await keys.get("known") == SECRET
    slow = asyncio.ensure_future(keys.get("slow"))
    await asyncio.sleep(0)  # it begins
    others = [asyncio.ensure_future(keys.get(name)) for name in ("none", "known")]
    first, _ = await asyncio.wait([slow, *others], return_when=asyncio.FIRST_COMPLETED)
    slow.cancel()
    assert await asyncio.gather(*others) == ["", SECRET]
    assert slow not in first


async def test_what_is_typed_is_not_shown(tmp_path: Path) -> None:
    terminal = Command(tmp_path, PYTHON_KEYRING_BACKEND=FAILING)
    async with screen(terminal, "keys", "set", "anthropic") as person:
        await person.until("not shown: ")
        person.type(f"{SECRET}\n")
        assert await person.end() == 1
        assert SECRET not in person.shown
        assert "no keychain" in person.shown and "ANTHROPIC_API_KEY" in person.shown
