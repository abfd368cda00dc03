"""``agent-studio config``: settings by name, also while a window has them."""

from __future__ import annotations

import asyncio
import json
import sys
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from studio.agent.engine import Engine
from studio.cli import build_parser, run_command
from studio.cli.command_context import CommandContext
from studio.cli.drafts_edit import command_words
from studio.storage.config.settings import Settings, SettingsFile, field_types
from studio.storage.paths import Paths
from support.command import Command


async def cli(home: Path, *arguments: str) -> int:
    async def no_engine(paths: Paths, settings: SettingsFile) -> Engine:
        raise AssertionError("settings need no engine")

    context = CommandContext(Paths.below(home), no_engine)
    return await run_command(build_parser().parse_args(["config", *arguments]), context)


@pytest.mark.parametrize(
    ("key", "text", "value"),
    [
        ("theme", "dark", "dark"),
        ("sandbox", "off", False),
        ("sandbox", "true", True),
        ("background_steps", "40", 40),
        ("turn_dollars", "2", 2.0),
        ("default_agent", "Reviewer", "Reviewer"),
        ("mask", "email, phone", ["email", "phone"]),
        ("mask", '["email"]', ["email"]),
        ("mask", "", []),
        ("base_urls.ollama", "http://127.0.0.1:9", "http://127.0.0.1:9"),
        ("default_model.anthropic", "claude-opus-5-5", "claude-opus-5-5"),
        ("default_model", '{"openai": "m"}', {"openai": "m"}),
        ("models.ollama/m", '{"context_window": 9}', {"context_window": 9}),
        ("default_provider", "", ""),
        ("key_command.brave", "ls 'my keys/it; $(x).txt'", ["ls", "my keys/it; $(x).txt"]),
        ("key_command.openai", '["ls", "a,b"]', ["ls", "a,b"]),
    ],
)
async def test_a_setting_is_set_and_read(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], key: str, text: str, value: object
) -> None:
    assert await cli(tmp_path, "set", key, text) == 0
    body = json.loads((tmp_path / "settings.json").read_text())
    name, _, entry = key.partition(".")
    assert (body[name][entry] if entry else body[name]) == value
    capsys.readouterr()
    assert await cli(tmp_path, "get", key, "--json") == 0
    assert json.loads(capsys.readouterr().out) == value


@pytest.mark.parametrize(
    ("key", "text", "words"),
    [
        ("theme", "pink", "theme is one of system, light, dark, not “pink”"),
        ("sandbox", "maybe", "sandbox is true or false"),
        ("background_steps", "4.5", "a whole number"),
        ("background_steps", "true", "a whole number"),
        ("turn_dollars", "-1", "a number from 0 on"),
        ("turn_dollars", "NaN", "a number from 0 on"),
        ("default_provider", "aol", "There is no provider aol"),
        ("default_model.aol", "m", "There is no provider aol"),
        ("default_agent", "Nobody", "There is no agent Nobody"),
        ("mask", "dreams", "“dreams” cannot be masked"),
        ("base_urls.ollama", "localhost", "is no address"),
        ("base_urls.ollama", "http://me:pw@host", "with a password is not kept"),
        ("models.ollama/m", '{"context_window": -9}', "context_window"),
        ("builtin_model", "/no/such.gguf", "There is no file"),
        ("key_command.aol", "ls", "No key is called aol"),
        ("key_command.openai", "'ls", "cannot be taken apart"),
        ("key_command.openai", "no-such-program x", "there is no program no-such-program"),
        ("themes", "dark", "Did you mean theme?"),
        ("theme.x", "dark", "theme has no entries"),
        ("openai_api_key", "sk-1", "in your system’s keychain"),
        ("keys.anthropic.key", "sk-1", "in your system’s keychain"),
    ],
)
async def test_what_does_not_fit_is_refused(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], key: str, text: str, words: str
) -> None:
    """P-4: a key is refused too, with where it belongs."""
    assert await cli(tmp_path, "set", key, text) == 1
    assert words in capsys.readouterr().err
    assert not (tmp_path / "settings.json").exists()


async def test_all_are_listed_without_secrets(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    url = "http://me:hunter2secret@host/v1"
    (tmp_path / "settings.json").write_text(
        json.dumps({"base_urls": {"ollama": url}, "api_key": "sk-ant-123456789", "text_size": 120})
    )
    assert await cli(tmp_path, "list") == 0
    out = capsys.readouterr().out
    names = [line.partition(" = ")[0] for line in out.splitlines()]
    assert names == [name for name in field_types() if name != "window_geometry"]
    assert "text_size = 120  (changed)\n" in out and "theme = system\n" in out
    assert await cli(tmp_path, "list", "--json") == 0
    assert await cli(tmp_path, "get", "base_urls.ollama") == 0
    out += capsys.readouterr().out
    assert "hunter2" not in out and "sk-ant" not in out and "@host/v1" in out
    assert await cli(tmp_path, "get", "api_key") == 1
    assert await cli(tmp_path, "get", "base_urls.openai") == 1
    assert "There are: ollama." in capsys.readouterr().err
    assert await cli(tmp_path, "path") == 0
    assert capsys.readouterr().out == f"{tmp_path / 'settings.json'}\n"
    assert await cli(tmp_path, "set", "text_size", "100") == 0  # what is not known stays
    body = json.loads((tmp_path / "settings.json").read_text())
    assert body["api_key"] == "sk-ant-123456789" and body["base_urls"] == {"ollama": url}


async def test_a_setting_is_given_its_standard_value_again(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    for key, text in (("text_size", "120"), ("base_urls.ollama", "http://a"), ("base_urls.openai", "http://b")):  # fmt: skip
        assert await cli(tmp_path, "set", key, text) == 0
    capsys.readouterr()
    assert await cli(tmp_path, "unset", "text_size") == 0
    assert capsys.readouterr().err == "text_size = 100\n"
    assert await cli(tmp_path, "unset", "base_urls.ollama", "--json") == 0
    assert json.loads(capsys.readouterr().out) == {"base_urls": {"openai": "http://b"}}
    body = json.loads((tmp_path / "settings.json").read_text())
    assert (body["text_size"], body["base_urls"]) == (100, {"openai": "http://b"})
    assert await cli(tmp_path, "unset", "base_urls.ollama") == 1
    assert await cli(tmp_path, "unset", "text_sise") == 1
    assert "Did you mean text_size?" in capsys.readouterr().err


async def test_what_two_programs_change_is_kept(tmp_path: Path) -> None:
    """A window that is open keeps what the command set, and the other way round."""
    window = SettingsFile(tmp_path / "settings.json")
    await window.load()
    window.values.sidebar_width = 300
    await window.save()
    assert await cli(tmp_path, "set", "turn_dollars", "1.5") == 0
    window.values.text_size = 110
    await window.save()
    body = json.loads((tmp_path / "settings.json").read_text())
    assert (body["turn_dollars"], body["text_size"], body["sidebar_width"]) == (1.5, 110, 300)
    assert window.values.turn_dollars == 1.5
    assert await cli(tmp_path, "set", "theme", "dark") == 0
    window.values.theme = "light"  # both: the last one to save
    first, second = window.save(), window.save()
    await asyncio.gather(first, second)
    assert json.loads((tmp_path / "settings.json").read_text())["theme"] == "light"


NAMES = ["theme", "text_size", "sandbox", "turn_tokens", "default_agent"]
VALUES = {
    "theme": ["dark", "light"],
    "text_size": [90, 110],
    "sandbox": [True, False],
    "turn_tokens": [1, 2],
    "default_agent": ["A", "B"],
}


@given(st.lists(st.tuples(st.booleans(), st.sampled_from(NAMES), st.integers(0, 1)), max_size=12))
def test_the_last_word_on_each_setting_holds(changes: list[tuple[bool, str, int]]) -> None:
    import tempfile

    async def work(place: Path) -> None:
        files = [SettingsFile(place), SettingsFile(place)]
        for one in files:
            await one.load()
        said: dict[str, object] = {}
        for which, name, number in changes:
            value = VALUES[name][number]
            one = files[which]
            before = getattr(one.values, name)
            setattr(one.values, name, value)
            await one.save()
            if before != value:  # setting it to what one sees already says nothing
                said[name] = value
        end = SettingsFile(place)
        await end.load()
        for name, value in said.items():
            assert getattr(end.values, name) == value
        assert end.values.to_json().keys() == Settings().to_json().keys()

    with tempfile.TemporaryDirectory() as folder:
        asyncio.run(work(Path(folder) / "settings.json"))


async def test_as_a_command(tmp_path: Path) -> None:
    """It needs no database, and makes none."""
    terminal = Command(tmp_path)
    ended = await terminal("config", "set", "default_provider", "ollama")
    assert (ended.code, ended.err) == (0, "default_provider = ollama\n")
    assert (await terminal("config", "get", "default_provider")).out == "ollama\n"
    wrong = await terminal("config", "set", "sandbox", "perhaps")
    assert wrong.code == 1 and "true or false" in wrong.err
    names = {one.name for one in terminal.home.iterdir()}
    assert names == {"settings.json", ".settings.json.lock"}


def test_a_backslash_is_part_of_a_path_on_windows(monkeypatch: pytest.MonkeyPatch) -> None:
    line = r'"C:\Program Files\pass.exe" show C:\keys'
    assert command_words("a 'b c' d\\ e") == ["a", "b c", "d e"]
    monkeypatch.setattr(sys, "platform", "win32")
    assert command_words(line) == [r"C:\Program Files\pass.exe", "show", r"C:\keys"]
