"""What an update may newly do stands before all else that it changes (X-2)."""

from __future__ import annotations

import json
from pathlib import Path

from studio.extensions.packs.installed import InstalledPacks
from studio.extensions.packs.rights import RightChange, changed_rights
from support.pack_files import AGENT, HOOKS, OURS, SERVERS, write_pack


def test_x2_what_runs_and_what_is_wished_for_is_told_apart_from_texts(tmp_path: Path) -> None:
    """X-2: a server, hook, agent, package, host, secret and program; where it lies is no change."""
    packs = InstalledPacks(tmp_path / "packs")
    source = write_pack(tmp_path / "pack")
    packs.add(packs.look(str(source)))
    (source / "skills/deed/sample.txt").write_text("another")
    offer = packs.update("office")
    assert (offer.rights, offer.texts) == ((), 1)

    servers = json.loads(json.dumps(SERVERS))
    servers["mcpServers"]["files"]["env"] = {"MODE": "write"}
    servers["mcpServers"]["new"] = {"type": "stdio", "command": "npx", "args": ["new\u202eone"]}
    del servers["mcpServers"]["cloud"]
    (source / "mcp.json").write_text(json.dumps(servers))
    hook = {"type": "command", "command": "echo other"}
    HOOKS_NOW = {"hooks": {"Stop": [{"hooks": [hook]}], **HOOKS["hooks"]}}
    (source / OURS / "hooks.json").write_text(json.dumps(HOOKS_NOW))
    (source / OURS / "agents/clerk.md").write_text(AGENT.replace("[read,", "[run, read,"))
    ours = {"wants": {"hosts": ["other.example.com"], "keychain": ["KEY"]}, "python": ["pillow"]}
    write_pack(source, {"skills/deed/run.sh": "echo"}, ours=ours)
    offer = packs.update("office")
    assert set(offer.rights) == {
        RightChange("host", "other.example.com", came=True),
        RightChange("host", "example.com", came=False),
        RightChange("secret", "KEY", came=True),
        RightChange("package", "pillow", came=True),
        RightChange(
            "server", "files: ${PLUGIN_ROOT}/bin/server --data ${PLUGIN_DATA}/x '${HOME}'",
            came=True, changed=True,
        ),
        RightChange("server", "new: npx 'new\\u202eone'", came=True),
        RightChange("server", "cloud: https://mcp.example.com/mcp", came=False),
        RightChange("hook", "Stop: echo other", came=True),
        RightChange("agent", "Clerk", came=True, changed=True),
        RightChange("code", "skills/deed/run.sh", came=True),
    }  # fmt: skip
    assert [one.came for one in offer.rights] == sorted(
        (one.came for one in offer.rights), reverse=True
    ), "what it may newly do comes first"
    assert offer.texts == 1
    assert not changed_rights(offer.manifest, offer.manifest)


def test_x2_a_change_behind_a_long_line_is_told(tmp_path: Path) -> None:
    """X-2: only the beginning is shown, but the whole is compared."""
    packs = InstalledPacks(tmp_path / "packs")
    source = write_pack(tmp_path / "pack")
    long = "true; " * 200

    def write(end: str) -> None:
        hooks = [{"type": "command", "command": long + one} for one in (end, "last")]
        (source / OURS / "hooks.json").write_text(
            json.dumps({"hooks": {"Stop": [{"hooks": hooks}]}})
        )
        server = {"type": "stdio", "command": "npx", "args": [long + end], "env": {"LIST": long}}
        other = {"type": "stdio", "command": "npx", "args": ["x"], "env": {"LIST": long + end}}
        said = {**SERVERS, "mcpServers": {"one": server, "other": other}}
        (source / "mcp.json").write_text(json.dumps(said))

    write("first")
    packs.add(packs.look(str(source)))
    assert not packs.update("office").rights
    write("second")
    rights = packs.update("office").rights
    assert [(one.kind, one.changed) for one in rights] == [
        *(("server", True), ("server", True), ("hook", True))
    ]
    assert all(len(one.name) <= 500 for one in rights)


def test_x2_all_that_an_agent_may_is_compared(tmp_path: Path) -> None:
    """X-2: the commands that its mission runs and the model that it asks, too, but no words."""
    packs = InstalledPacks(tmp_path / "packs")
    source = write_pack(tmp_path / "pack")
    packs.add(packs.look(str(source)))
    file = source / OURS / "agents/clerk.md"
    file.write_text(f"{AGENT}\nOther words.\n")
    assert not packs.update("office").rights
    for line in ("servers: '*'", "memory: write", "model: other/model"):
        file.write_text(AGENT.replace("---\n", f"---\n{line}\n", 1))
        assert packs.update("office").rights == (
            RightChange("agent", "Clerk", came=True, changed=True),
        ), line
