"""Which packs are read, what of them is left out, and why (X-1)."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import pytest

from studio.extensions.packs.manifest import PackError, read_manifest
from studio.extensions.packs.servers import pack_servers
from studio.tools.packs.window import PageEntry, PaletteEntry
from support.pack_files import OURS, SKILL, manifest, write_pack


def test_a_pack_says_what_it_is_and_brings(tmp_path: Path) -> None:
    found = read_manifest(write_pack(tmp_path, description="For an office"))
    assert (found.id, found.name, found.version) == ("office", "The office", "1.0.0")
    assert found.description == "For an office"
    assert found.wants.hosts == ("example.com",) and found.icon == "package"
    brought = {name: [one.name for one in part.files] for name, part in found.parts().items()}
    assert brought == {
        "skills": ["SKILL.md"],
        "commands": ["review-deed.md"],
        "agents": ["clerk.md"],
        "workflows": ["intake.md"],
        "mcp": ["mcp.json"],
        "hooks": ["hooks.json"],
        "tools": ["count.py"],
        "schema": ["001_first.sql"],
        "data": ["fees.csv"],
    }
    assert not found.problems


@pytest.mark.parametrize(
    ("said", "words"),
    [
        ("[]", "an object is needed"),
        ("{", "is no JSON"),
        (json.dumps({"name": "office"}), "$schema"),
        (json.dumps(manifest("Office")), "“name”"),
        (json.dumps(manifest("of--fice")), "“name”"),
        (json.dumps(manifest("../office")), "“name”"),
        (json.dumps(manifest("con")), "“name”"),
        (json.dumps(manifest(keywords="law")), "“keywords” has to be a list"),
        (json.dumps(manifest(author={"name": 1})), "“author”"),
        (json.dumps(manifest(extensions={OURS: {"least_studio": "99.0"}})), "needs Agent Studio"),
        (json.dumps(manifest(extensions={OURS: {"icon": 3}})), "“icon”"),
    ],
)
def test_a_wrong_manifest_is_refused_with_a_reason(tmp_path: Path, said: str, words: str) -> None:
    (tmp_path / "plugin.json").write_text(said)
    with pytest.raises(PackError, match=words.replace("$", r"\$")):
        read_manifest(tmp_path)


def test_what_is_unknown_in_a_manifest_is_told_and_left_out(tmp_path: Path) -> None:
    found = read_manifest(
        write_pack(tmp_path, {"a": ""}, color="red", extensions=3)  # type: ignore[arg-type]
    )
    assert any("color" in one for one in found.problems)
    assert any("“extensions”" in one for one in found.problems)


@pytest.mark.skipif(sys.platform == "win32", reason="links need a right there")
def test_links_out_of_a_pack_spoil_nothing_but_themselves(tmp_path: Path) -> None:
    (tmp_path / "secret.md").write_text(SKILL)
    (tmp_path / "skill").mkdir()
    (tmp_path / "skill" / "SKILL.md").write_text(SKILL)
    pack = write_pack(tmp_path / "pack")
    (pack / OURS / "commands" / "secret.md").symlink_to(tmp_path / "secret.md")
    (pack / "skills" / "out").symlink_to(tmp_path / "skill")
    (pack / "skills" / "half").mkdir()
    (pack / "skills" / "half" / "SKILL.md").symlink_to(tmp_path / "secret.md")
    (pack / OURS / "commands" / "same.md").symlink_to(pack / OURS / "commands" / "review-deed.md")
    (pack / OURS / "pages").symlink_to(tmp_path)
    found = read_manifest(pack)
    assert [one.parent.name for one in found.parts()["skills"].files] == ["deed"]
    names = [one.name for one in found.parts()["commands"].files]
    assert names == ["review-deed.md", "same.md"]
    assert "pages" not in found.parts()
    assert sum("leads out" in one for one in found.problems) == 4

    (pack / "plugin.json").replace(tmp_path / "plugin.json")
    (pack / "plugin.json").symlink_to(tmp_path / "plugin.json")
    with pytest.raises(PackError, match="leads out"):
        read_manifest(pack)


def test_skills_are_the_folders_right_below(tmp_path: Path) -> None:
    pack = write_pack(tmp_path, {"skills/a/SKILL.md": SKILL, "skills/a/b/SKILL.md": SKILL})
    assert [one.parent.name for one in read_manifest(pack).parts()["skills"].files] == ["a"]


def test_a_plugin_of_claude_code_is_read_and_omissions_told(tmp_path: Path) -> None:
    said = {"name": "review", "author": "Ann", "lspServers": {}, "commands": ["./more"]}
    pack = write_pack(
        tmp_path,
        {
            ".claude-plugin/plugin.json": json.dumps(said),
            "commands/review.md": "Review",
            "skills/a/SKILL.md": SKILL,
            ".mcp.json": json.dumps({"x": {"command": "${CLAUDE_PLUGIN_ROOT}/x", "args": ["1"]}}),
            "hooks/hooks.json": "{}",
        },
    )
    (pack / "plugin.json").unlink()
    found = read_manifest(pack)
    assert (found.id, found.author, found.foreign) == ("review", "Ann", True)
    assert set(found.parts()) == {"skills", "commands", "mcp", "hooks"}
    assert any("lspServers" in one for one in found.problems)
    assert any("“commands”" in one for one in found.problems)
    servers = pack_servers(found, tmp_path / "kept")
    assert servers.by_name["x"].command == f"{pack.resolve()}/x"


def test_servers_of_a_pack_are_contained_and_one_wrong_spoils_no_other(tmp_path: Path) -> None:
    pack = write_pack(tmp_path / "pack").resolve()
    found = pack_servers(read_manifest(pack), tmp_path / "kept")
    assert set(found.by_name) == {"files", "cloud"}
    files = found.by_name["files"]
    assert files.command == str(pack / "bin" / "server")
    assert files.arguments == ("--data", f"{tmp_path / 'kept'}/x", "${HOME}")  # nothing else
    assert files.environment["PLUGIN_ROOT"] == files.folder == str(pack)
    assert files.place == "pack:office"
    assert not files.runs
    assert len(found.problems) == 2


@pytest.mark.parametrize(
    ("entry", "words"),
    [
        ({"command": "x"}, "needs “type”"),
        ({"type": "stdio", "command": "x", "url": "https://x.de"}, "does not have: url"),
        ({"type": "stdio", "command": "x", "cwd": "data"}, "cwd"),
        ({"type": "stdio", "command": "x", "cwd": "${PLUGIN_DATA}/../.."}, "leads out"),
        ({"type": "stdio", "command": "x", "env": {"PLUGIN_ROOT": "/"}}, "only the studio"),
        ({"type": "sse", "url": "https://a:b@x.de/"}, "a password"),
    ],
)
def test_a_wrong_server_says_why(tmp_path: Path, entry: object, words: str) -> None:
    said = {"$schema": manifest()["$schema"], "mcpServers": {"one": entry}}
    said["$schema"] = "https://agent-plugins.org/schemas/1.0.0/mcp.schema.json"
    pack = write_pack(tmp_path, {"mcp.json": json.dumps(said)})
    found = pack_servers(read_manifest(pack), tmp_path / "kept")
    assert not found.by_name
    assert words in found.problems[0]


def test_kz9_pages_and_lines_of_the_palette_stand_in_the_manifest(tmp_path: Path) -> None:
    """KZ-9: a start shows them without the pack's code; one wrong entry spoils no other."""
    said = {
        "pages": [
            {"key": "topics", "title": "Topics", "widget": "pages.topics:TopicsPage"},
            {"key": "topics", "title": "Again", "widget": "pages.topics:TopicsPage"},
            {"key": "No key", "widget": "pages.topics:TopicsPage"},
            {"key": "days", "widget": "pages.days", "icon": "sun"},
            {"key": "years", "widget": "pages.years:Years", "icon": 3},
            "words",
            {"key": "hours", "widget": "pages.hours:Hours", "icon": "clock"},
        ],
        "palette": [
            {"title": "Rivers", "page": "topics", "target": ["rivers"], "icon": "waves"},
            {"title": "Nowhere"},
            {"title": "Lakes", "page": "topics", "target": "lakes"},
        ],
    }
    pack = read_manifest(write_pack(tmp_path / "1", extensions={OURS: said}))
    assert pack.pages == (
        PageEntry("topics", "Topics", "pages.topics:TopicsPage"),
        PageEntry("hours", "hours", "pages.hours:Hours", "clock"),
    )
    assert pack.palette == (PaletteEntry("Rivers", "topics", ("rivers",), "waves"),)
    assert [one.partition(" was")[0] for one in pack.problems] == [
        "Two pages are called topics: the second",
        "“pages”, entry 3,",
        "“pages”, entry 4,",
        "“pages”, entry 5,",
        "“pages”, entry 6,",
        "“palette”, entry 2,",
        "“palette”, entry 3,",
    ]
    said = {"pages": {}, "palette": 1}
    pack = read_manifest(write_pack(tmp_path / "2", extensions={OURS: said}))
    assert not pack.pages and not pack.palette and len(pack.problems) == 2
