"""Unsent messages in the database: each chat's own, without secrets, gone with the chat."""

from __future__ import annotations

from pathlib import Path

from studio.domain.messages import File, Image
from studio.storage.sessions.unsent import NEW_CHAT, UnsentMessage
from support.engine_home import engine_home

FILES = [("a.txt", File("a.txt", "text/plain", b"\0a")), ("Pasted", Image("image/png", b"png"))]


async def test_what_is_put_comes_back(tmp_path: Path) -> None:
    async with engine_home(tmp_path, "anthropic", []) as home:
        unsent, session = home.engine.store.unsent, await home.session()
        message = UnsentMessage("Grüße 🦉", 7, "turn", FILES)
        await unsent.put_text(session.info.id, message)
        await unsent.put_files(session.info.id, FILES)
        await unsent.put_text(NEW_CHAT, UnsentMessage("new"))
        assert await unsent.get(session.info.id) == message
        assert await unsent.get(NEW_CHAT) == UnsentMessage("new", files=[])
        await unsent.put_text(session.info.id, UnsentMessage())
        assert await unsent.get(session.info.id) == UnsentMessage(files=FILES)

        await unsent.put_text(session.info.id, message)
        await home.engine.sessions.delete(session.info.id)
        await unsent.put_text(session.info.id, message)
        await unsent.put_files(session.info.id, FILES)
        assert await unsent.get(session.info.id) == UnsentMessage(files=[])
        assert await unsent.get(NEW_CHAT) == UnsentMessage("new", files=[])


async def test_a_secret_is_not_stored(tmp_path: Path) -> None:
    secret = "sk-ant-api03-0123456789abcdefghijklmnopqrstuvwxyz"
    async with engine_home(tmp_path, "anthropic", []) as home:
        await home.engine.store.unsent.put_text(NEW_CHAT, UnsentMessage(f"My key is {secret}"))
        assert await home.engine.store.unsent.get(NEW_CHAT) == UnsentMessage(files=[])
    for file in tmp_path.rglob("*"):
        assert not file.is_file() or secret.encode() not in file.read_bytes()
