"""Persons, passwords and access in the pack Kanzlei (KZ-13, KZ-14, acceptance 3)."""

from __future__ import annotations

import io
import json
from pathlib import Path
from typing import Any

import pytest

from studio.agent.packs import PackHome
from studio.domain.errors import ToolFailed
from studio.domain.events import Failed, ToolFinished, ToolQueued
from studio.simulator import Call, Text, Turn
from support.engine_home import EngineHome, engine_home, say
from support.office_home import service, switch_on

CHAT = "openai-compatible"
FACT = "Geheimrat"


async def typed(home: EngineHome, monkeypatch: Any, password: str, *words: str) -> int:
    monkeypatch.setattr("sys.stdin", io.StringIO(f"{password}\n"))
    return await home.command("packs", "run", "kanzlei", *words)


async def test_persons_sign_in_and_who_is_alone_is_asked_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """KZ-14: roles and passwords; a wrong name and a wrong password get the same answer."""
    async with engine_home(tmp_path, CHAT, []) as home:
        pack = switch_on(home)
        assert pack.person.role == "ADMIN"
        me = str(pack.records.read("SELECT login FROM person")[0]["login"])
        assert (
            await typed(home, monkeypatch, "", "person-anlegen", "kim", "Kim Ott", "PRAKTIKANT")
            == 0
        )
        assert await typed(home, monkeypatch, "kurz", "passwort", "kim") != 0
        for login in ("kim", me):
            assert await typed(home, monkeypatch, f"Passwort {login}", "passwort", login) == 0
        rows = pack.records.read("SELECT passwort FROM person")
        assert len({row["passwort"] for row in rows}) == 2 and "Passwort" not in str(rows)
        assert (pack.person.role, pack.person.id) == ("", "0"), "the password is asked for now"
        assert await home.command("packs", "run", "kanzlei", "akten") != 0
        capsys.readouterr()
        for login, password in (("kim", "Passwort falsch"), ("niemand", "Passwort kim")):
            assert await typed(home, monkeypatch, password, "anmelden", login) != 0
            assert capsys.readouterr().err.strip() == "Anmeldename oder Passwort ist falsch."
        assert await typed(home, monkeypatch, "Passwort kim", "anmelden", "kim") == 0
        assert pack.person.name == "Kim Ott" and pack.person.role == "PRAKTIKANT"
        assert await home.command("packs", "run", "kanzlei", "akten") == 0
        assert await home.command("packs", "run", "kanzlei", "personen") != 0
        assert await home.command("packs", "run", "kanzlei", "abmelden") == 0
        assert pack.person.role == ""
        for _ in range(5):
            await typed(home, monkeypatch, "Passwort falsch", "anmelden", "kim")
        assert await typed(home, monkeypatch, "Passwort kim", "anmelden", "kim") != 0
        assert "Warte" in capsys.readouterr().err
        assert await typed(home, monkeypatch, f"Passwort {me}", "anmelden", me) == 0
        assert (
            await home.command("packs", "run", "kanzlei", "person-aendern", me, "--gegangen") != 0
        )
        assert "Ein ADMIN muss bleiben" in capsys.readouterr().err
        assert (
            await home.command("packs", "run", "kanzlei", "person-aendern", "kim", "--gegangen")
            == 0
        )
        assert await typed(home, monkeypatch, "Passwort kim", "anmelden", "kim") != 0


CALLS = (
    ("read_akte", {}),
    ("read_akte_detail", {}),
    ("read_dokumente", {}),
    ("read_dokumente_detail", {"dokument": 1}),
    ("read_fristen", {}),
    ("read_fristen_detail", {"frist": 1}),
    ("read_zeiterfassung", {}),
    ("search_alle_akten", {"query": FACT}),
    ("create_draft_frist", {"kind": "Berufung", "event": "2026-02-04", "reason": "Urteil"}),
    ("create_notiz", {"text": "Hallo"}),
)


def enter(pack: PackHome, tmp_path: Path) -> list[Any]:
    """An Akte of everybody's, one that is foreign, one that is locked, and one that is not there."""
    pack.settings_file.parent.mkdir(parents=True, exist_ok=True)
    pack.settings_file.write_text(json.dumps({"ordner": str(tmp_path / "Akten")}))
    akten, documents = service(pack, "Akten"), service(pack, "Dokumente")
    made = [akten.open(pack.person, f"{FACT} {one} ./. Reiter", gericht_ort="BE") for one in "ABC"]
    file = tmp_path / "k.txt"
    file.write_text(f"Der {FACT} klagt")
    for one in made:
        documents.add(pack.person, one, file)
    pack.records.write("UPDATE akte SET anwalt = NULL")
    pack.records.write("INSERT INTO person (login, name, rolle) VALUES ('x', 'X', 'ADMIN')")
    pack.records.write("INSERT INTO zugriff SELECT id, 1 FROM akte WHERE id IN (1, 3)")
    pack.records.write("UPDATE akte SET gesperrt = 1 WHERE id = 3")
    return made


@pytest.mark.parametrize("role", ["ANWALT", "SACHBEARBEITER", "SEKRETARIAT", "PRAKTIKANT"])
async def test_no_fact_of_a_foreign_akte_reaches_anybody(tmp_path: Path, role: str) -> None:
    """KZ-13, KZ-36, acceptance 3: a foreign one, a locked one and a missing one answer alike."""
    script = [Turn(*(Call(name, values) for name, values in CALLS)), Turn(Text("Gut."))]
    async with engine_home(tmp_path, CHAT, script * 4) as home:
        pack = switch_on(home)
        shared, *hidden = enter(pack, tmp_path)
        pack.records.write("UPDATE person SET rolle = ? WHERE id = 1", role)
        policy = pack.loaded.pack.policy
        assert policy is not None
        answers = set[str]()
        for address in (*(one.address for one in hidden), "kanzlei:akte/99"):
            session = await home.session()
            await session.change(subject=address)
            events = await say(session, answer="once")
            (failed,) = [one for one in events if isinstance(one, Failed)]
            answers.add(failed.title.replace(address, "?"))
        assert len(answers) == 1 and not home.asked, answers
        session = await home.session()
        await session.change(subject=shared.address)
        events = await say(session, answer="once")
        done = {one.call_id: one for one in events if isinstance(one, ToolFinished)}
        told = {e.name: done[e.call_id] for e in events if isinstance(e, ToolQueued)}
        assert len(done) == len(CALLS)
        assert FACT in told["read_akte"].text and f"{FACT} B" not in str(told) + str(home.asked)
        assert f"{FACT} C" not in str(told) and hidden[0].az not in str(told)
        may = {"SEKRETARIAT": ["create_notiz"], "PRAKTIKANT": []}
        drafted = [name for name, one in told.items() if name[:6] == "create" and not one.is_error]
        assert drafted == may.get(role, ["create_draft_frist", "create_notiz"])
        messages = set[str]()
        for one in (hidden[0].id, hidden[1].id, 99):
            with pytest.raises(ToolFailed) as found:
                service(pack, "Akten").get(pack.person, one)
            messages.add(str(found.value).replace(f"Akte {one}", "?"))
        assert len(messages) == 1
