"""What a turn does with the servers of its agent: waits for a list, undoes changes, and a project
of Claude Code as it comes (M-2, M-7, K-3)."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from studio.domain.events import (
    AwaitingPermission,
    FilesChanged,
    Notice,
    ToolFinished,
    TurnComplete,
)
from studio.domain.permissions import Rule
from studio.extensions.hooks.finder import HookFinder
from studio.simulator import Call, RequestView, Turn
from studio.simulator.script import Text
from support.engine_home import engine_home, say
from support.mcp_servers import raw_server
from support.server_home import ListedServer, switch_on, tool

DONE = Turn(Text("Done."))
AGENT = "---\nname: shopper\ndescription: Shops.\nservers: [{server}]\n---\nYou shop.\n"


async def test_m2_a_turn_waits_only_for_a_list_that_was_never_seen(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """M-2: only where its agent names the server; with what comes in time it works, and it goes on
    and says so without what does not."""
    async with engine_home(tmp_path, "anthropic", lambda _: DONE) as home:
        servers = home.engine.services.servers
        agents = home.engine.paths.agents
        agents.mkdir(parents=True, exist_ok=True)
        shop = ListedServer(tmp_path)
        shop.offer("order")
        slow = replace(raw_server("no_answer", name="slow"), on=False, approved="")
        for entry in (shop.entry, slow):
            await servers.put(entry)
            await servers.switch_on((await servers.refresh()).by_name[entry.name])
        (agents / "shopper.md").write_text(AGENT.format(server="shop"))
        (agents / "waiter.md").write_text(AGENT.replace("shopper", "waiter").format(server="slow"))

        # It names no server, so that nothing is started.
        await say(await home.session("Coder"))
        assert servers.servers.state("shop").kind == servers.servers.state("slow").kind == "idle"

        monkeypatch.setattr("studio.agent.services.FIRST_LOOK", 60.0)
        await say(await home.session("shopper"))
        body: Any = home.asked[-1].json
        assert "shop__order" in [one["name"] for one in body["tools"]]

        monkeypatch.setattr("studio.agent.services.FIRST_LOOK", 0.01)
        events = await say(await home.session("waiter"))
        (told,) = [one.text for one in events if isinstance(one, Notice)]
        assert "not known yet what slow offers" in told
        assert isinstance(events[-1], TurnComplete)
        assert not home.simulator.violations


async def test_m7_what_a_server_changes_in_the_folder_is_undone(tmp_path: Path) -> None:
    """M-7, C-9: as what a command changes."""
    shop = ListedServer(tmp_path)
    script = [Turn(Call("shop__note", {})), DONE]
    async with engine_home(tmp_path, "anthropic", script) as home:
        file = home.folder / "notes.txt"
        file.write_text("mine")
        shop.offer({**tool("note"), "writes": str(file)})
        await switch_on(home.engine.services.servers, shop)
        session = await home.session()
        events = await say(session, rules=(Rule("allow", "shop__*"),), answer="once")
        assert file.read_text() == "by the server"
        (told,) = [one for one in events if isinstance(one, FilesChanged)]
        assert told.paths == ("notes.txt",)
        await session.undo_turn(told.turn_id)
        assert file.read_text() == "mine"


async def test_k3_a_project_of_claude_code_works_after_one_trust_and_its_approvals(
    tmp_path: Path,
) -> None:
    """K-1, K-3 to K-9, M-12: what it has counts after the trust, and what runs after a yes to each:
    the hook of its settings and the server of its ``.mcp.json``."""
    shop = ListedServer(tmp_path)
    shop.offer("order")

    def script(view: RequestView) -> Turn:
        calls = {
            3: Call("skill", {"name": "release"}),
            4: Call("shop__order", {}),
            5: Call("run", {"command": "git push"}),
        }
        return Turn(call) if (call := calls.get(len(home.asked))) else DONE

    async with engine_home(tmp_path, "anthropic", script) as home:
        claude = home.folder / ".claude"
        for place, text in {
            "CLAUDE.md": "Write in short sentences.",
            ".claude/skills/release/SKILL.md": (
                "---\nname: release\ndescription: Makes a release.\n---\nGroup the changes.\n"
            ),
            ".claude/commands/review.md": "---\ndescription: Reviews\n---\nLook at $1 closely.",
            ".claude/agents/helper.md": (
                "---\nname: helper\ndescription: Helps.\ntools: Read, Grep\n---\nYou help.\n"
            ),
        }.items():
            path = home.folder / place
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text)
        refuse = {"type": "command", "command": "echo no pushing >&2; exit 2"}
        hooks = {"PreToolUse": [{"matcher": "Bash", "hooks": [refuse]}]}
        (claude / "settings.json").write_text(json.dumps({"hooks": hooks}))
        entry = shop.entry
        server = {"command": entry.command, "args": [*entry.arguments]}
        (home.folder / ".mcp.json").write_text(json.dumps({"mcpServers": {"shop": server}}))

        # Before the trust nothing of it counts.
        session = await home.session()
        await say(session)
        body = json.dumps(home.asked[-1].json)
        assert "short sentences" not in body and "Makes a release" not in body
        services = home.engine.services
        assert not services.servers.servers.entries
        assert not (await services.extensions(home.folder)).found

        # The hooks are taken over, as the person asks; then one trust.
        assert await home.command("hooks", "import", "--here", "--folder", str(home.folder)) == 0
        await home.engine.rules.trust(home.folder)
        found = await services.extensions(home.folder)
        assert {one.name for one in found.found} == {"release", "review"}
        files = (await home.engine.agents(home.folder)).by_name
        assert files["helper"].tools == ("read", "search")

        # What runs waits for a yes to each.
        session = await home.session()
        await say(session)
        body = json.dumps(home.asked[-1].json)
        assert "short sentences" in body and "Makes a release" in body
        assert "shop__order" not in body
        (brought,) = (await services.server_entries(home.folder)).by_name.values()
        assert not brought.runs
        await services.servers.switch_on(brought)
        await services.servers.connect(brought, home.folder)
        finder = HookFinder(home.engine.paths)
        (hook,) = (await services.hooks(home.folder))[0].found
        assert hook.state != "on"
        finder.switch(hook, True)

        session = await home.session()
        rules = (Rule("allow", "shop__*"), Rule("allow", "run"))
        events = await say(session, rules=rules, answer="deny")
        results = [one for one in events if isinstance(one, ToolFinished)]
        assert [one.is_error for one in results] == [False, False, True]
        assert "Group the changes." in results[0].text
        assert shop.calls == [["order", {}]]
        assert "no pushing" in results[2].text
        assert not [one for one in events if isinstance(one, AwaitingPermission)]
        assert not home.simulator.violations
