"""``agent-studio sessions``: what a person does with saved sessions in the terminal."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from studio.simulator import Text, Turn
from studio.storage.remote_approvals import ChangeNotifier
from support.engine_home import engine_home, say
from support.waiting import until


async def test_sessions_are_found_renamed_deleted_and_brought_back(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    async with engine_home(tmp_path, "ollama", lambda _: Turn(Text("A zebra."))) as one:
        ids: list[str] = []
        for number, origin in enumerate(("window", "terminal", "terminal")):
            session = await one.engine.sessions.create(
                folder=str(one.folder), agent="Coder", provider="ollama", model="m",
                title=f"Number {number}", origin=origin,  # type: ignore[arg-type]
            )  # fmt: skip
            ids.append(session.info.id)
        await say(await one.engine.sessions.open(ids[0]), "Which animal has stripes?")

        async def told(*words: str, code: int = 0) -> str:
            assert await one.command("sessions", *words) == code
            both = capsys.readouterr()
            return both.out if words[0] in ("list", "search") and code == 0 else both.err

        rows = json.loads(await told("list", "--origin", "terminal", "--json"))
        assert {row["id"] for row in rows} == set(ids[1:])
        assert len((await told("list", "--limit", "2")).splitlines()) == 2
        assert (
            "no such"
            in (
                await one.command("sessions", "list", "--origin", "editor"),
                capsys.readouterr().err,
            )[1]
        )
        assert await told("search", "zeb") == f"{ids[0][:8]}  Number 0: A zebra.\n"
        assert len(json.loads(await told("search", "number", "--limit", "2", "--json"))) == 2
        assert (
            "No session"
            in (await one.command("sessions", "search", "gnu"), capsys.readouterr().err)[1]
        )

        await told("rename", ids[1][:8], " Stripes\nand dots ")
        info = await one.engine.store.get(ids[1])
        assert info is not None and (info.title, info.titled_by) == ("Stripes and dots", "person")
        assert "at least one letter" in await told("rename", ids[1], " ", code=1)

        assert f"restore {ids[1][:8]}" in await told("delete", ids[1], ids[2][:8], ids[1])
        assert [info.id for info in await one.engine.sessions.list()] == [ids[0]]
        assert len(json.loads(await told("list", "--bin", "--json"))) == 2
        await told("restore", ids[1][:8])
        assert "no session in the bin" in await told("restore", ids[1], code=1)
        assert "Name one." in await told("restore", "", code=1)  # an unset variable of a script
        assert len(await one.engine.sessions.bin()) == 1
        assert "restore" not in await told("delete", "--for-good", ids[1])
        assert [info.id for info in await one.engine.sessions.bin()] == [ids[2]]
        assert "no session with an id" in await told("delete", ids[0], "zzz", code=1)
        assert len(await one.engine.sessions.list()) == 1  # all of them, or none
        await told("delete", "last")
        assert ids[0][:8] in await told("restore", "last")
        assert [info.id for info in await one.engine.sessions.list()] == [ids[0]]
        await told("delete", "--for-good", ids[0])
        await told("restore", ids[2][:8])
        assert "no session in the bin" in await told("restore", "last", code=1)


@pytest.mark.parametrize(
    "words", [("rename", "ID", "Other"), ("delete", "ID"), ("delete", "--for-good", "ID")]
)
async def test_an_open_window_hears_of_what_is_done_to_a_chat(
    tmp_path: Path, words: tuple[str, ...]
) -> None:
    """G-1: its list shows it at once; so it does of a chat that is brought back."""
    async with engine_home(tmp_path, "ollama", []) as one:
        session_id = (await one.session()).info.id
        window = ChangeNotifier(one.engine.questions.notifier.folder, lambda: "a window")
        assert not window.poll()
        given = (session_id if word == "ID" else word for word in words)
        assert await one.command("sessions", *given) == 0
        await until(window.poll)
        if words == ("delete", "ID"):
            assert await one.command("sessions", "restore", session_id) == 0
            await until(window.poll)
