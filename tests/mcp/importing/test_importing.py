"""Servers that other programs know are imported from their files (M-23)."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest

from studio.domain.errors import ConfigurationError
from studio.mcp.entries import EntriesFile, keychain_names
from studio.mcp.importing.common import Format
from studio.mcp.importing.formats import FORMATS, find_files, read_path
from studio.mcp.importing.found import Found, Surroundings
from studio.mcp.importing.snippet import read_snippet
from studio.mcp.importing.taking import same_server, take

EXAMPLES = Path(__file__).parent / "examples"
PLACES = {
    "claude_desktop_config.json": ".config/Claude/claude_desktop_config.json",
    "claude.json": ".claude.json",
    "mcp.json": "atlas/.mcp.json",
    "vscode_mcp.json": "atlas/.vscode/mcp.json",
    "cursor_mcp.json": ".cursor/mcp.json",
    "lmstudio_mcp.json": ".lmstudio/mcp.json",
    "gemini_settings.json": ".gemini/settings.json",
    "codex_config.toml": ".codex/config.toml",
    "goose_config.yaml": ".config/goose/config.yaml",
    "zed_settings.json": ".config/zed/settings.json",
}
VARIABLES = {"HOME": "/home/ada", "NOTION_TOKEN": "set"}
KEY = "${keychain:mcp/"


@pytest.fixture
def home(tmp_path: Path) -> Path:
    """A home folder with the files of all programs, and a project “atlas” in it."""
    for name, place in PLACES.items():
        path = tmp_path / "home" / place
        path.parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(EXAMPLES / name, path)
    return tmp_path / "home"


def around(home: Path) -> Surroundings:
    return Surroundings(home, VARIABLES, "linux", home / "atlas")


def by_file(home: Path) -> dict[str, dict[str, Found]]:
    places = {home / place: name for name, place in PLACES.items()}
    files = find_files(around(home))
    assert not [file for file in files if file.problem]
    return {places[file.path]: {one.entry.name: one for one in file.found} for file in files}


def test_every_file_of_another_program_is_found(home: Path) -> None:
    titles = [file.title for file in find_files(around(home))]
    assert titles == [
        "Claude Desktop", "Claude Code", "Claude Code", "VS Code", "Cursor", "LM Studio",
        "Gemini CLI", "Codex", "goose", "Zed",
    ]  # fmt: skip


def test_servers_are_read_from_each_format(home: Path) -> None:
    files = by_file(home)
    desktop = files["claude_desktop_config.json"]
    assert desktop["filesystem"].entry.arguments[-2:] == (
        "/Users/ada/Desktop",
        "/Users/ada/Downloads",
    )
    assert desktop["postgres"].entry.arguments[-1] == (
        f"postgresql://ada:{KEY}postgres/password}}@localhost:5432/shop?sslmode=require"
    )
    assert (
        desktop["remote"].entry.arguments[-1]
        == f"Authorization: Bearer {KEY}remote/Authorization}}"
    )
    code = files["claude.json"]
    assert [(name, one.entry.transport) for name, one in code.items()] == [
        ("context7", "http"), ("linear", "sse"), ("sentry", "stdio"),
    ]  # fmt: skip
    database = files["mcp.json"]["database"].entry
    assert database.command == "${HOME}/bin/db-server"
    assert database.arguments[-1] == "--cache=${CACHE_DIR:-/tmp/cache}"
    assert database.environment["VERBOSE"] == "true" and database.environment["RETRIES"] == "3"
    vscode = files["vscode_mcp.json"]
    assert vscode["github"].entry.headers == {
        "Authorization": f"Bearer {KEY}github/github_token}}", "X-Region": "eu",
    }  # fmt: skip
    assert vscode["playwright"].entry.arguments[-1] == f"{home}/atlas/out"
    assert vscode["perplexity"].entry.environment["LOG_DIR"] == f"{home}/logs"
    cursor = files["cursor_mcp.json"]
    assert cursor["notion"].entry.headers == {"Authorization": "Bearer ${NOTION_TOKEN}"}
    assert cursor["figma"].entry.command == "npx", "the whole line was the command"
    assert cursor["zapier"].entry.url == f"https://mcp.zapier.com/api/mcp/s/{KEY}zapier/url}}/mcp"
    assert files["lmstudio_mcp.json"]["time"].entry.seconds == 20
    gemini = files["gemini_settings.json"]
    assert gemini["discord"].entry.environment["GUILD"] == "${GUILD:-none}"
    assert gemini["discord"].entry.folder == f"{home}/atlas/mcp-servers"
    assert gemini["discord"].entry.off == {"delete_channel"}
    assert gemini["discord"].entry.only == {"send_message", "list_channels"}
    assert [gemini[name].entry.transport for name in ("maps", "old")] == ["http", "sse"]
    codex = files["codex_config.toml"]
    assert codex["context7"].entry.environment["LOCAL_TOKEN"] == "${LOCAL_TOKEN}"
    assert codex["figma"].entry.headers == {
        "X-Figma-Region": "us-east-1",
        "X-Session": "${FIGMA_SESSION}",
        "Authorization": "Bearer ${FIGMA_OAUTH_TOKEN}",
    }
    assert codex["figma"].entry.seconds == 45
    goose = files["goose_config.yaml"]
    assert [(name, one.entry.transport) for name, one in goose.items() if not one.problem] == [
        ("tavily", "stdio"), ("asana", "http"), ("legacy", "sse"),
    ]  # fmt: skip
    zed = files["zed_settings.json"]
    assert zed["older"].entry.shown == "node server.js"
    assert zed["local-mcp-server"].entry.seconds == 90


def test_what_is_left_out_and_what_cannot_be_taken_is_told(home: Path) -> None:
    files = by_file(home)
    omitted = {one.entry.name: one.omitted for file in files.values() for one in file.values()}
    problems = {name: one.problem for file in files.values() for name, one in file.items()}
    assert omitted["linear"] == ("headersHelper",)
    assert omitted["perplexity"] == ("envFile",)
    assert omitted["notion"] == ("auth",)
    assert omitted["discord"] == ("trust",)
    assert omitted["chrome_devtools"] == ("default_tools_approval_mode",)
    assert omitted["asana"] == ()
    assert {name for name, problem in problems.items() if problem} == {
        "stream", "developer", "mcp-server-context7",
    }  # fmt: skip


def test_a_missing_variable_is_a_finding_and_no_empty_text(home: Path) -> None:
    files = by_file(home)
    missing = {
        one.entry.name: [(gap.name, gap.key) for gap in one.missing]
        for file in files.values()
        for one in file.values()
        if one.missing
    }
    assert missing == {
        "brave-search": [("BRAVE_API_KEY", "mcp/brave-search/BRAVE_API_KEY")],
        "api-server": [("API_KEY", "")],
        "github": [("github_token", "mcp/github/github_token")],
        "perplexity": [("PERPLEXITY_API_KEY", "")],
        "discord": [("DISCORD_BOT_TOKEN", "")],
        "context7": [("LOCAL_TOKEN", "")],
        "figma": [("FIGMA_SESSION", ""), ("FIGMA_OAUTH_TOKEN", "")],
        "tavily": [("TAVILY_SESSION", "mcp/tavily/TAVILY_SESSION")],
    }
    (asked,) = files["vscode_mcp.json"]["github"].missing
    assert asked.about == "GitHub personal access token"


async def test_a_canary_key_is_nowhere_on_the_disk(home: Path, tmp_path: Path) -> None:
    """And the originals stay as they are, to the byte and the minute."""
    before = {path: (path.read_bytes(), path.stat().st_mtime_ns) for path in _files(home)}
    studio = tmp_path / "studio"
    file = EntriesFile(studio / "mcp.json", studio / "consents.json")
    keychain: dict[str, str] = {}

    async def keep(name: str, secret: str) -> None:
        keychain[name] = secret

    found = [one for source in find_files(around(home)) for one in source.found]
    assert "CANARY" not in repr(found)
    entries = await take(found, file, keep)
    written = "".join(path.read_text("utf-8") for path in _files(studio))
    assert "CANARY" not in written and "keychain:mcp/" in written
    examples = "".join(path.read_text("utf-8") for path in EXAMPLES.iterdir())
    canaries = examples.count("CANARY") - 1  # a client's secret for OAuth is left out
    assert sum("CANARY" in secret for secret in keychain.values()) == canaries
    asked = {name for entry in entries for name in keychain_names(entry)}
    assert keychain.keys() <= asked, "each secret is referred to"
    assert not any(entry.on for entry in file.read().by_name.values())
    assert {path: (path.read_bytes(), path.stat().st_mtime_ns) for path in _files(home)} == before


async def test_a_name_that_is_taken_gets_a_number_in_the_keychain_too(
    home: Path, tmp_path: Path
) -> None:
    file = EntriesFile(tmp_path / "mcp.json", tmp_path / "consents.json")
    keychain: dict[str, str] = {}

    async def keep(name: str, secret: str) -> None:
        keychain[name] = secret

    desktop = by_file(home)["claude_desktop_config.json"]["github"]
    await take([desktop], file, keep)
    await take([desktop.named("github")], file, keep)
    entries = file.read().by_name
    assert list(entries) == ["github", "github-2"]
    assert same_server(*entries.values())
    assert list(keychain) == [
        "mcp/github/GITHUB_PERSONAL_ACCESS_TOKEN", "mcp/github-2/GITHUB_PERSONAL_ACCESS_TOKEN",
    ]  # fmt: skip
    assert keychain_names(entries["github-2"]) == list(keychain)[1:]


async def test_nothing_is_written_where_the_keychain_refuses(home: Path, tmp_path: Path) -> None:
    file = EntriesFile(tmp_path / "mcp.json", tmp_path / "consents.json")

    async def keep(_name: str, _secret: str) -> None:
        raise ConfigurationError("The system's keychain is locked.")

    with pytest.raises(ConfigurationError):
        await take([by_file(home)["claude.json"]["context7"]], file, keep)
    assert not file.path.exists()


PASTED = (
    ("npx -y @modelcontextprotocol/server-filesystem ~/code", "filesystem", "npx -y @modelcontextprotocol/server-filesystem /home/ada/code"),
    ("$ uvx mcp-server-git --repository x", "git", "uvx mcp-server-git --repository x"),
    ("docker run -i --rm -e GITHUB_TOKEN=CANARY ghcr.io/github/github-mcp-server", "github", f"docker run -i --rm -e 'GITHUB_TOKEN={KEY}github/GITHUB_TOKEN}}' ghcr.io/github/github-mcp-server"),
    ("https://mcp.example.com/github", "github", "https://mcp.example.com/github"),
    ("https://mcp.linear.app/sse", "linear", "https://mcp.linear.app/sse"),
    ("claude mcp add --transport http sentry https://mcp.sentry.dev/mcp", "sentry", "https://mcp.sentry.dev/mcp"),
    ("claude mcp add airtable --env AIRTABLE_API_KEY=CANARY -- npx -y airtable-mcp-server", "airtable", "npx -y airtable-mcp-server"),
    ("API_TOKEN=CANARY npx -y notes-mcp", "notes", "npx -y notes-mcp"),
    ('"memory": {"command": "npx", "args": ["-y", "server-memory"]},', "memory", "npx -y server-memory"),
    ('```json\n{"mcpServers": {"a": {"url": "https://a.example/mcp"}}}\n```', "a", "https://a.example/mcp"),
    ('{"mcp": {"servers": {"b": {"url": "https://b.example/mcp", "headers": {"X-Api-Key": "CANARY"}}}}}', "b", "https://b.example/mcp"),
    ('{"command": "uvx", "args": ["mcp-server-time"]}', "time", "uvx mcp-server-time"),
    ('[mcp_servers.docs]\ncommand = "docs-mcp"', "docs", "docs-mcp"),
    ("extensions:\n  fetch: {type: stdio, cmd: uvx, args: [mcp-server-fetch]}", "fetch", "uvx mcp-server-fetch"),
)  # fmt: skip


@pytest.mark.parametrize(("text", "name", "shown"), PASTED)
def test_what_a_person_pastes_is_understood(text: str, name: str, shown: str) -> None:
    (found,) = read_snippet(text, Surroundings(Path("/home/ada")))
    assert (found.entry.name, found.entry.shown, found.problem) == (name, shown, "")
    assert "CANARY" not in repr(found) and ("CANARY" in text) == (
        "CANARY" in found.secrets.values()
    )


@pytest.mark.parametrize("text", ["", "{", "[1]", '{"a": 1}', "first line\nsecond line", 'npx "a'])
def test_what_is_no_server_is_said(text: str) -> None:
    with pytest.raises(ValueError, match=r"\w"):
        read_snippet(text, Surroundings(Path("/home/ada")))


KEYS = {"VS Code": "servers", "goose": "extensions", "Zed": "context_servers"}
ODD = (None, [], 7, "text", {}, {"command": 3}, {"args": [None]}, {"env": 1, "timeout": "x"})


@pytest.mark.parametrize("format_", FORMATS, ids=lambda one: one.title)
def test_odd_values_spoil_no_other_server(format_: Format) -> None:
    here = Surroundings(Path("/home/ada"))
    if format_.title == "Codex":
        found = format_.read('[mcp_servers]\nodd = 7\ngood = {command = "x", args = 3}', here)
        assert [(bool(one.problem), one.omitted) for one in found] == [
            (True, ()),
            (False, ("args",)),
        ]
        return
    key = KEYS.get(format_.title, "mcpServers")
    good = {"cmd" if format_.title == "goose" else "command": "x"}
    for odd in ODD:
        (first, second) = format_.read(json.dumps({key: {"odd": odd, "good": good}}), here)
        assert first.problem, odd
        assert (second.entry.command, second.problem) == ("x", "")
        assert format_.read(json.dumps({key: odd}), here) is not None


def test_a_named_file_is_read_by_its_place_or_by_what_is_in_it(home: Path, tmp_path: Path) -> None:
    elsewhere = tmp_path / "servers.json"
    shutil.copy(EXAMPLES / "vscode_mcp.json", elsewhere)
    plain = Surroundings(home, VARIABLES)
    assert [one.entry.name for one in read_path(elsewhere, plain).found] == [
        "github", "playwright", "perplexity",
    ]  # fmt: skip
    code = read_path(home / ".claude.json", plain)
    assert (code.title, len(code.found)) == ("Claude Code", 3)
    project = read_path(home / "atlas" / ".vscode" / "mcp.json", plain)
    assert project.found[1].entry.arguments[-1] == f"{home}/atlas/out"
    assert read_path(tmp_path / "none.json", plain).problem == "There is no such file."
    elsewhere.write_text('{"servers": {', "utf-8")
    assert read_path(elsewhere, plain).problem.startswith("It cannot be read: line 1: ")


def _files(folder: Path) -> list[Path]:
    return [path for path in sorted(folder.rglob("*")) if path.is_file()]
