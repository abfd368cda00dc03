"""Audit, backup, retention and deletion of the pack Kanzlei (KZ-41, KZ-45, KZ-46)."""

from __future__ import annotations

import csv
import datetime
import hashlib
import importlib
import json
import re
import shutil
import sqlite3
import zipfile
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from studio.agent.packs import PackHome
from studio.domain.errors import ToolFailed
from studio.domain.events import Failed, ToolFinished
from studio.domain.permissions import Rule
from studio.extensions.packs.loading import package_of
from studio.processes.daemon_thread import in_daemon_thread
from studio.simulator import Call, Text, Turn
from studio.tools.packs.policy import AskedRequest
from studio.workflows.expressions import ExpressionError
from studio.workflows.file_reads import FileReads
from studio.workflows.items.sources import read_items
from support.engine_home import EngineHome, engine_home, say
from support.office_home import service, switch_on

CHAT = "openai-compatible"


def module(name: str) -> Any:
    return importlib.import_module(f"{package_of('kanzlei')}.tools.office.{name}")


def office_of(home: EngineHome, tmp_path: Path) -> tuple[PackHome, Any, Any]:
    """The pack with its documents in a folder of the test, and two Akten."""
    pack = switch_on(home)
    pack.settings_file.parent.mkdir(parents=True, exist_ok=True)
    pack.settings_file.write_text(json.dumps({"ordner": str(tmp_path / "Akten")}))
    akten = service(pack, "Akten")
    return pack, *(akten.open(pack.person, one) for one in ("Wagner ./. Reiter", "Öz ./. Klinger"))


def letter(tmp_path: Path, name: str, text: str) -> Path:
    path = tmp_path / name
    path.write_text(text, "utf-8")
    return path


async def run(home: EngineHome, *words: str) -> int:
    return await home.command("packs", "run", "kanzlei", *words)


async def refused(
    home: EngineHome, capsys: pytest.CaptureFixture[str], *words: str, because: str
) -> bool:
    """Whether a command ended with an error that says this."""
    capsys.readouterr()
    code = await run(home, *words)
    return code != 0 and re.search(because, capsys.readouterr().err) is not None


async def test_the_audit_says_what_was_sent_and_changed_in_a_chain(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """KZ-41: Akte, person, role, provider, decision; exported, and a change in it is found."""
    async with engine_home(tmp_path, CHAT, [Turn(Text("Gut."))] * 3) as home:
        pack, akte, _ = office_of(home, tmp_path)
        session = await home.session()
        await session.change(subject=akte.address)
        await say(session)
        service(pack, "Akten").set_mode(pack.person, akte, "keine KI")
        await say(session)
        out = tmp_path / "protokoll.csv"
        assert await run(home, "protokoll", akte.az, str(out)) == 0
        assert out.stat().st_mode & 0o077 == 0, "its owner alone reads it"
        rows = [*csv.DictReader(out.read_text("utf-8-sig").splitlines(), delimiter=";")]
        assert [(row["was"], row["entscheidung"].partition(":")[0]) for row in rows] == [
            (f"akte {akte.id}: angelegt", "geändert"),
            ("Anfrage: turn", "gesendet"),
            (f"akte {akte.id}: ki_modus", "geändert"),
            ("Anfrage: turn", "abgelehnt"),
        ]
        sent = rows[1]
        assert (sent["az"], sent["rolle"], sent["anbieter"], sent["modell"]) == (
            *(akte.az, "ADMIN", CHAT, "sim-model"),
        )
        assert sent["person"] == pack.person.name and "Wagner" not in out.read_text("utf-8")
        assert await run(home, "verify") == 0
        end = capsys.readouterr().out.split()[-1]
        assert len(end) == 64
        for sql in ("UPDATE protokoll SET person = 'x'", "DELETE FROM protokoll"):
            with pytest.raises(ToolFailed, match="Protokoll"):
                pack.records.write(sql)
        with closing(sqlite3.connect(pack.records.path)) as db, db:  # type: ignore[attr-defined]
            db.execute("DROP TRIGGER protokoll_bleibt")
            db.execute("UPDATE protokoll SET entscheidung = 'gesendet' WHERE id = 5")
        count, _, problem = module("audit").verify(pack.records)
        assert count == 4 and "Die Zeile 5 wurde geändert" in problem
        assert await refused(home, capsys, "verify", because="Die Zeile 5")


async def test_kz41_a_role_has_its_own_limit_an_hour(tmp_path: Path) -> None:
    """KZ-41, L-14: also in chats about no Akte and after a new start; others have none."""

    def limit(pack: PackHome, text: str) -> None:
        pack.settings_file.parent.mkdir(parents=True, exist_ok=True)
        pack.settings_file.write_text(json.dumps({"anfragen_je_stunde": text}))

    async with engine_home(tmp_path, CHAT, [Turn(Text("Gut."))] * 9) as home:
        pack, akte, _ = office_of(home, tmp_path)
        limit(pack, "Praktikant=2; SEKRETARIAT=0")
        about, plain = await home.session(), await home.session()
        await about.change(subject=akte.address)
        for _ in range(3):  # an ADMIN
            await say(plain)
        pack.records.write("UPDATE akte SET anwalt = ?", int(pack.person.id))
        pack.records.write("UPDATE person SET rolle = 'PRAKTIKANT'")
        for session in (about, plain):
            assert not [one for one in await say(session) if isinstance(one, Failed)]
        for session in (about, plain):
            (failed,) = [one for one in await say(session) if isinstance(one, Failed)]
            assert "hat als PRAKTIKANT 2 Anfragen in der Stunde" in failed.title, failed
            assert re.search(r"Die nächste geht um \d\d:\d\d Uhr", failed.title)
        assert len(home.asked) == 5
    async with engine_home(tmp_path, CHAT, [Turn(Text("Gut."))] * 9) as home:
        pack, session = switch_on(home), await home.session()
        (failed,) = [one for one in await say(session) if isinstance(one, Failed)]
        assert "Die nächste geht" in failed.title and not home.asked
        rows = pack.records.read("SELECT zeit FROM anfrage ORDER BY zeit")
        pack.records.write("UPDATE anfrage SET zeit = zeit - 3600 WHERE zeit = ?", rows[0]["zeit"])
        await say(session)
        assert len(home.asked) == 1, "the first of the two is an hour old"
        pack.records.write("UPDATE person SET rolle = 'SEKRETARIAT'")
        (failed,) = [one for one in await say(session) if isinstance(one, Failed)]
        assert "0 Anfragen" in failed.title
        limit(pack, "Chef=5")
        (failed,) = [one for one in await say(session) if isinstance(one, Failed)]
        assert "„Chef=5“" in failed.title + failed.detail and len(home.asked) == 1


async def test_a_backup_is_made_while_others_write_and_brings_all_back(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """KZ-46: records and documents; what was there is kept, and a broken file changes nothing."""
    async with engine_home(tmp_path, CHAT, []) as home:
        pack, akte, _ = office_of(home, tmp_path)
        documents, akten = service(pack, "Dokumente"), service(pack, "Akten")
        made = documents.add(pack.person, akte, letter(tmp_path, "k.txt", "Klage"), folder="Post")
        saved = tmp_path / "sicherung.zip"
        with closing(sqlite3.connect(pack.records.path)) as db, db:  # type: ignore[attr-defined]
            db.execute("BEGIN IMMEDIATE")  # another program writes, and is not waited for
            pack.records.copy(tmp_path / "kopie.db")
        left = tmp_path / ".sicherung.zip.part"
        left.write_bytes(b"left by a program that died, for all to read")
        with left.open("rb") as opened:
            assert await run(home, "backup", str(saved)) == 0
            assert opened.read().startswith(b"left by"), "who has it open reads no backup"
        assert saved.stat().st_mode & 0o077 == 0 and not left.exists()
        akten.open(pack.person, "Neu ./. Neuer")
        file = documents.folder_of(akte) / "Post" / "k.txt"
        file.write_text("geändert")
        broken = tmp_path / "kaputt.zip"
        data = bytearray(saved.read_bytes())
        data[len(data) // 3] ^= 0xFF
        broken.write_bytes(data)
        hostile = tmp_path / "fremd.zip"
        with zipfile.ZipFile(hostile, "w") as bad:
            bad.writestr(
                "liste.json", json.dumps({"dateien": {"Akten/../../x": "", "kanzlei.db": ""}})
            )
        for wrong in (broken, hostile, file):
            assert await refused(
                home,
                capsys,
                "restore",
                str(wrong),
                "--ersetzen",
                because="keine Sicherung|beschädigt",
            )
        assert await refused(home, capsys, "restore", str(saved), because="schon Akten")
        assert len(akten.find(pack.person)) == 3 and file.read_text() == "geändert"
        assert await run(home, "restore", str(saved), "--ersetzen") == 0
        assert [one.rubrum for one in akten.find(pack.person)] == ["Öz ./. Klinger", akte.rubrum]
        assert documents.pages(documents.get(pack.person, made.id)) == {1: "Klage"}
        assert file.read_text() == "Klage"
        (kept,) = tmp_path.glob("Akten vor *")
        assert (kept / file.parent.parent.name / "Post" / "k.txt").read_text() == "geändert"
        place = pack.records.path.parent  # type: ignore[attr-defined]
        (first,) = place.glob("*.before-copy*")
        before = first.read_bytes()
        pack.records.replace(tmp_path / "kopie.db")  # type: ignore[attr-defined]
        assert first.read_bytes() == before and len([*place.glob("*.before-copy*")]) == 2
        assert not [*tmp_path.glob(".*")]


async def test_a_backup_that_cannot_be_brought_back_changes_nothing(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """KZ-46: documents that cannot be moved, records of a newer version; into an empty folder all
    of it goes, and what is broken is told in plain words."""
    async with engine_home(tmp_path, CHAT, []) as home:
        pack, akte, _ = office_of(home, tmp_path)
        long = tmp_path / (
            "A" * 245
        )  # the folder cannot be kept beside: its name would be too long
        pack.settings_file.write_text(json.dumps({"ordner": str(long)}))
        documents, akten = service(pack, "Dokumente"), service(pack, "Akten")
        documents.add(pack.person, akte, letter(tmp_path, "k.txt", "Klage"))
        file, saved = documents.folder_of(akte) / "k.txt", tmp_path / "sicherung.zip"
        assert await run(home, "backup", str(saved)) == 0
        akten.open(pack.person, "Neu ./. Neuer")
        file.write_text("geändert")
        newer = tmp_path / "neuer.zip"
        with zipfile.ZipFile(saved) as old, zipfile.ZipFile(newer, "w") as made:
            (tmp_path / "kanzlei.db").write_bytes(old.read("kanzlei.db"))
            with closing(sqlite3.connect(tmp_path / "kanzlei.db")) as db, db:
                db.execute("PRAGMA user_version = 999")
            data = (tmp_path / "kanzlei.db").read_bytes()
            listed = json.loads(old.read("liste.json"))
            listed["dateien"]["kanzlei.db"] = hashlib.sha256(data).hexdigest()
            for name in listed["dateien"]:
                made.writestr(name, data if name == "kanzlei.db" else old.read(name))
            made.writestr("liste.json", json.dumps(listed))
        for wrong in (saved, newer):
            assert await run(home, "restore", str(wrong), "--ersetzen") != 0
            assert len(akten.find(pack.person)) == 3 and file.read_text() == "geändert"
        shutil.rmtree(long)
        pack.settings_file.write_text(json.dumps({"ordner": str(tmp_path / "Akten")}))
        (tmp_path / "Akten").mkdir()
        assert await run(home, "restore", str(saved), "--ersetzen") == 0
        assert len(akten.find(pack.person)) == 2
        assert (documents.folder_of(akte) / "k.txt").read_text() == "Klage"
        assert not [*tmp_path.glob("Akten vor *")] and not [*tmp_path.glob(".*")]


async def test_of_two_akten_in_a_chat_the_stricter_counts(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """KZ-42: what a local chat was told of others goes nowhere once its own Akte is “frei”."""
    find = Call("search_alle_akten", {"query": "Öz"})
    async with engine_home(tmp_path, CHAT, [Turn(find), *[Turn(Text("Gut."))] * 2]) as home:
        pack, akte, other = office_of(home, tmp_path)
        session = await home.session()
        await session.change(subject=akte.address)
        (done,) = [one for one in await say(session) if isinstance(one, ToolFinished)]
        assert other.rubrum in done.text
        akten, policy = service(pack, "Akten"), pack.loaded.pack.policy
        assert policy is not None
        asked = AskedRequest("anthropic", "m", "", False, "turn", akte.address)
        akten.set_mode(pack.person, akte, "frei", "Einwilligung vom 02.03.2026")
        refused_because = policy.ask(asked, pack).refused
        assert f"Die Akte {other.az} ist „lokal“" in refused_because
        assert f"vergessen {akte.az} {akte.az}" in refused_because
        akten.set_mode(pack.person, other, "pseudonym")
        assert await run(home, "vereinbarung", "anthropic", "2026-01-02", "USA", "Ordner 3") == 0
        mask = policy.ask(asked, pack).mask
        assert mask is not None and "Klinger" not in mask.hide(other.rubrum)
        akten.set_mode(pack.person, other, "keine KI")
        local = AskedRequest("ollama", "m", "", True, "turn", akte.address)
        assert "keine KI" in policy.ask(local, pack).refused
        assert await run(home, "vergessen", akte.az, other.az) != 0
        assert await run(home, "vergessen", akte.az, akte.az) == 0
        assert session.info.id not in [one.id for one in await home.engine.store.all()]
        verdict = policy.ask(asked, pack)
        assert not verdict.refused and (verdict.mask is None or not verdict.mask.hides)


async def test_what_is_deleted_is_gone_everywhere(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """KZ-45: after its years, or with a reason; not while it is held; the chats go with it."""
    write = Call(
        "create_draft_frist", {"kind": "Berufung", "event": "2026-02-04", "reason": "Canary"}
    )
    script = [Turn(write), *[Turn(Text("Über den Canary."))] * 3]
    async with engine_home(tmp_path, CHAT, script) as home:
        pack, akte, other = office_of(home, tmp_path)
        documents, keeping = (
            service(pack, "Dokumente"),
            pack.service(module("retention").Aufbewahrung),
        )
        words = {akte.id: "Xylofonbau", other.id: "Zebrastreifen"}
        for one in (akte, other):
            documents.add(pack.person, one, letter(tmp_path, "k.txt", f"{words[one.id]} Klage"))
        service(pack, "Suche").bring_up()
        assert pack.records.read("SELECT 1 FROM stamm WHERE stamm LIKE 'xylo%'")
        pack.records.write("UPDATE akte SET gericht_ort = 'BE' WHERE id = ?", akte.id)
        session, elsewhere = await home.session(), await home.session()
        await session.change(subject=akte.address)
        await say(session, "Was ist mit Canary?")
        await say(elsewhere)
        assert session.drafts.waiting()
        service(pack, "Akten").set_mode(pack.person, akte, "pseudonym")
        assert await run(home, "ablegen", akte.az, "--tag", "2019-05-04") == 0
        assert await run(home, "festhalten", akte.az, "--grund", "Streit mit dem Mandanten") == 0
        assert await refused(
            home, capsys, "loeschen", akte.az, akte.az, because="festgehalten: Streit"
        )
        assert await run(home, "festhalten", akte.az) == 0
        assert await run(home, "ablegen", other.az, "--tag", "2026-05-04") == 0
        assert [one.akte.az for one in keeping.all(pack.person) if one.due] == [akte.az]
        assert await refused(
            home, capsys, "loeschen", other.az, other.az, because=r"bis 31\.12\.2032"
        )
        folder = documents.folder_of(akte)
        assert await run(home, "loeschen", akte.az, akte.az) == 0
        assert not folder.exists() and documents.folder_of(other).exists()
        listed = await home.engine.store.all()
        assert [one.id for one in listed] == [elsewhere.info.id]
        assert not await home.engine.store.drafts()
        (call,) = [one for one in await home.engine.store.audit() if one.tool == write.name]
        assert not call.arguments and not call.target, "it is known that there was a call"
        for table in ("dokument", "frist", "verlauf", "platzhalter"):
            assert not pack.records.read(f"SELECT 1 FROM {table} WHERE akte = ?", akte.id), table
        assert len(pack.records.read("SELECT * FROM seite")) == 1
        stems = [row["stamm"] for row in pack.records.read("SELECT stamm FROM stamm")]
        assert "xylo" not in str(stems) and "zebra" in str(stems)
        rows = pack.records.read("SELECT az, was FROM protokoll WHERE akte = ?", akte.id)
        assert rows[-1] == {"az": akte.az, "was": "Akte gelöscht"} and len(rows) > 3
        assert not module("audit").verify(pack.records)[2]
        assert service(pack, "Akten").open(pack.person, "Nach ./. Her").id > other.id
        with pytest.raises(ToolFailed):
            await in_daemon_thread(lambda: pack.forget("other:akte/1"))


@pytest.mark.parametrize("about", ["", "other"])
async def test_file_tools_of_other_chats_read_no_document(tmp_path: Path, about: str) -> None:
    """KZ-42, KZ-48: whatever the person's rules allow, and also in a chat about another Akte; nor do
    they change one, look for words, or read what a backup that was brought back left beside it."""
    office = tmp_path / "Akten"
    akte_folder = f"0001-{datetime.date.today().year % 100:02}"
    calls = [
        Call("read", {"path": str(office / akte_folder / "k.txt")}),
        Call("search", {"pattern": "Geheim", "path": str(office)}),
        Call("list", {"path": str(tmp_path / "work" / "link")}),
        Call("write", {"path": str(office / akte_folder / "k.txt"), "content": "x"}),
        Call("read", {"path": str(tmp_path / "Akten vor 2026-03-02 10.00.00" / "k.txt")}),
    ]
    script = [Turn(*calls), *[Turn(Text("Gut."))] * 2]
    rules = [Rule("allow", name) for name in ("read", "search", "list", "write")]
    async with engine_home(tmp_path, CHAT, script) as home:
        pack, akte, other = office_of(home, tmp_path)
        documents = service(pack, "Dokumente")
        documents.add(pack.person, akte, letter(tmp_path, "k.txt", "Geheim"))
        (tmp_path / "work" / "link").symlink_to(documents.folder_of(akte))
        shutil.copytree(documents.folder_of(akte), tmp_path / "Akten vor 2026-03-02 10.00.00")
        session = await home.session()
        await session.change(subject=other.address if about else "")
        events = await say(session, rules=tuple(rules), answer="once")
        done = [one for one in events if isinstance(one, ToolFinished)]
        assert len(done) == 5 and all(one.is_error for one in done), [one.text for one in done]
        assert "Geheim" not in str([one.text for one in done])
        assert (documents.folder_of(akte) / "k.txt").read_text() == "Geheim"


async def test_nobody_in_a_folder_above_reads_a_document(tmp_path: Path) -> None:
    """KZ-42: neither files() and rows() of a workflow, nor items of files, nor a chat’s search."""
    calls = [Call("search", {"pattern": "Geheim|Offen"}), Call("list", {"path": ".", "depth": 3})]
    async with engine_home(tmp_path, CHAT, [Turn(*calls), Turn(Text("Gut."))]) as home:
        pack, akte, _ = office_of(home, home.folder)
        documents = service(pack, "Dokumente")
        documents.add(pack.person, akte, letter(tmp_path, "k.jsonl", '"Geheim"'))
        (home.folder / "frei.jsonl").write_text('"Offen"')
        inside = (documents.folder_of(akte) / "k.jsonl").relative_to(home.folder).as_posix()
        reads = FileReads(home.engine, str(home.folder), ())
        functions = reads.functions
        assert await reads.having(lambda: functions["files"]("**/*.jsonl")) == ["frei.jsonl"]
        assert await reads.having(lambda: functions["rows"]("frei.jsonl")) == ["Offen"]
        with pytest.raises(ExpressionError):
            await reads.having(lambda: functions["rows"](inside))
        workspace = await reads.workspace("files", "**/*.jsonl")
        assert [name for name, _ in read_items(workspace, "files", "**/*.jsonl")] == ["frei.jsonl"]
        assert workspace.hidden(inside)
        events = await say(await home.session())
        done = [one.text for one in events if isinstance(one, ToolFinished)]
        assert "Offen" in str(done) and "Geheim" not in str(done) and "k.jsonl" not in str(done)


async def test_a_persons_data_is_in_one_zip(tmp_path: Path) -> None:
    """KZ-45: the Akten and documents that name them, and no others."""
    async with engine_home(tmp_path, CHAT, []) as home:
        pack, akte, other = office_of(home, tmp_path)
        documents = service(pack, "Dokumente")
        documents.add(pack.person, akte, letter(tmp_path, "a.txt", "Zeugin ist Jörg, Dörthe."))
        documents.add(pack.person, akte, letter(tmp_path, "b.txt", "Zeuge ist Karl Weber."))
        documents.add(pack.person, other, letter(tmp_path, "c.txt", "Es kam Jörg Müller."))
        target = tmp_path / "auskunft.zip"
        assert await run(home, "auskunft", "Dörthe Jörg", str(target)) == 0
        assert target.stat().st_mode & 0o077 == 0
        with zipfile.ZipFile(target) as made:
            told = json.loads(made.read("auskunft.json"))
            assert [one["aktenzeichen"] for one in told["akten"]] == [akte.az]
            names = [one for one in made.namelist() if one.endswith(".txt")]
            assert [one.rpartition("/")[2] for one in names] == ["a.txt"]
