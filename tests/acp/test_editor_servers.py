"""MCP servers of the editor hold for its chat, by the rules of all others (M-24)."""

from __future__ import annotations

import sys
from contextlib import suppress
from pathlib import Path
from typing import Any

from acp import text_block
from acp.schema import EnvVariable, HttpHeader, HttpMcpServer, McpServerStdio

from studio.simulator import Call, Turn
from studio.simulator import Text as Words
from studio.storage.paths import Paths
from support.acp_editor import Editor, editor
from support.engine_home import reply_requests
from support.mcp_servers import served
from support.server_home import SCRIPT, ListedServer, tool
from support.waiting import until

DONE = Turn(Words("Done."))
FIND = Turn(Call("shop__find", {}))


def brought(listed: ListedServer, **env: str) -> McpServerStdio:
    return McpServerStdio(
        name=listed.name,
        command=listed.entry.command,
        args=[*listed.entry.arguments],
        env=[EnvVariable(name=name, value=value) for name, value in env.items()],
    )


async def begin(person: Editor, *servers: Any) -> str:
    session = await person.agent.new_session(cwd=str(person.folder), mcp_servers=[*servers])
    return session.session_id


async def say(person: Editor, session: str) -> None:
    await person.agent.prompt(session_id=session, prompt=[text_block("Go")])


def running(listed: ListedServer) -> list[Path]:
    """The processes of a server."""
    found: list[Path] = []
    for one in Path("/proc").glob("[0-9]*/cmdline"):
        with suppress(OSError):
            if f"\0{listed.file}\0".encode() in one.read_bytes():
                found.append(one)
    return found


def asked_about_servers(person: Editor) -> list[Any]:
    return [call for call, ids in person.questions if "run" in ids]


def offered(person: Editor) -> list[str]:
    """The tools of servers in the last request."""
    tools = reply_requests(person.simulator)[-1].json["tools"]
    return [name for one in tools if "__" in (name := one["function"]["name"])]


async def test_m24_a_server_waits_for_its_approval_and_ends_with_the_chat(tmp_path: Path) -> None:
    answer = {"server": "leave"}

    def choices(call: Any, ids: list[str]) -> str:
        return answer["server"] if "run" in ids else "once"

    async with editor(tmp_path, [DONE, DONE, FIND, DONE, DONE, DONE], choices) as person:
        assert person.agent_capabilities.mcp_capabilities.http
        shop = ListedServer(tmp_path)
        shop.offer("find")
        server = brought(shop, SHOP_TOKEN="secret-of-the-shop")

        # Nothing runs before it was seen, and a no holds for this chat.
        first = await begin(person, server)
        await say(person, first)
        (question,) = asked_about_servers(person)
        shown = question.content[0].content.text
        assert "MCP server shop" in question.title and str(SCRIPT) in shown
        assert "It runs with your rights" in shown, "M-18"
        assert "SHOP_TOKEN" in shown and "secret-of-the-shop" not in shown
        await say(person, first)
        assert len(asked_about_servers(person)) == 1
        assert not offered(person) and not shop.calls and not running(shop)

        # A yes is for exactly this, and calls ask as those of any server.
        answer["server"] = "run"
        second = await begin(person, server)
        await say(person, second)
        assert len(asked_about_servers(person)) == 2
        assert offered(person) == ["shop__find"] and len(shop.calls) == 1
        assert any("find" in call.title for call, ids in person.questions if "once" in ids)
        assert len(running(shop)) == 1

        # Another chat of the folder has it without a question, from what is remembered.
        third = await begin(person, server)
        await say(person, third)
        assert len(asked_about_servers(person)) == 2 and offered(person) == ["shop__find"]

        await person.agent.close_session(session_id=second)
        await until(lambda: not running(shop))

        # Chats to which the editor brings none have none.
        fourth = await begin(person)
        await say(person, fourth)
        assert not offered(person) and len(asked_about_servers(person)) == 2
        text = "".join(
            path.read_text("utf-8", "replace")
            for path in Paths.below(person.terminal.home).data.rglob("*.json")
        )
        assert "secret-of-the-shop" not in text


async def test_m24_changes_are_seen_before_they_hold(tmp_path: Path) -> None:
    def choices(call: Any, ids: list[str]) -> str:
        return "run" if "run" in ids else "once"

    async with editor(tmp_path, lambda _: DONE, choices) as person:
        shop = ListedServer(tmp_path)
        shop.offer("find")
        await say(person, await begin(person, brought(shop)))
        assert offered(person) == ["shop__find"]
        await say(person, await begin(person, brought(shop, MORE="1")))
        assert len(asked_about_servers(person)) == 2, "another environment is another server"
        other = tmp_path / "other"
        other.mkdir()
        there = await person.agent.new_session(cwd=str(other), mcp_servers=[brought(shop)])
        await say(person, there.session_id)
        assert len(asked_about_servers(person)) == 3, "in another folder it was not seen yet"

        shop.offer(tool("find", "Finds, and sends it to example.com."))
        await say(person, await begin(person, brought(shop, MORE="2")))
        last = asked_about_servers(person)[-1]
        assert "MORE" in last.content[0].content.text
        await say(person, await begin(person, brought(shop, MORE="2")))
        changed = asked_about_servers(person)[-1]
        assert "has changed" in changed.title
        assert "example.com" in changed.content[0].content.text
        assert offered(person) == ["shop__find"]


async def test_m24_a_server_at_an_address_is_the_chats_too(tmp_path: Path) -> None:
    def choices(call: Any, ids: list[str]) -> str:
        return "run" if "run" in ids else "once"

    add = Turn(Call("far__add", {"a": 2, "b": 3}))
    async with (
        served("streamable-http") as address,
        editor(tmp_path, [add, DONE, DONE], choices) as person,
    ):
        headers = [HttpHeader(name="X-Team", value="blue")]
        far = HttpMcpServer(type="http", name="far", url=address, headers=headers)
        await say(person, await begin(person, far))
        (question,) = asked_about_servers(person)
        shown = question.content[0].content.text
        assert address in shown and "X-Team=blue" in shown
        assert "5" in str(reply_requests(person.simulator)[-1].json["messages"][-1])
        other = tmp_path / "other"
        other.mkdir()
        there = await person.agent.new_session(cwd=str(other), mcp_servers=[far])
        await say(person, there.session_id)
        assert len(asked_about_servers(person)) == 2, "a yes is for one folder"


async def test_m24_what_cannot_be_used_is_told(tmp_path: Path) -> None:
    """A name that the person has, an address where nobody is, a name that cannot be shown."""
    async with editor(tmp_path, lambda _: DONE, lambda call, ids: ids[0]) as person:
        shop = ListedServer(tmp_path)
        shop.offer("find")
        own = await person.terminal("mcp", "add", "shop", "--", sys.executable, "-c", "pass")
        assert own.code == 0, own
        far = HttpMcpServer(type="http", name="far", url="http://127.0.0.1:9/mcp", headers=[])
        odd = McpServerStdio(name="x\ny", command="x", args=[], env=[])
        session = await begin(person, brought(shop), far, odd)
        await say(person, session)
        assert "You have a server shop already" in person.words
        assert "“x y”" in person.words and "no name that can be shown" in person.words
        assert "far" in person.words and person.words.endswith("Done.")
        assert [call.title for call in asked_about_servers(person)] == [
            "The MCP server far is brought by the editor. Let it run?"
        ]
