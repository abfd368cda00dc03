"""The story of acceptance 8: from a judgment to deadlines, a letter and time, which a person decides."""

from __future__ import annotations

import json
import zipfile
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

from studio.agent.packs import PackHome
from studio.domain.drafts import KindDraft
from studio.domain.errors import ConfigurationError
from studio.domain.events import ToolFinished
from studio.simulator import Call, Text, Turn
from support.engine_home import EngineHome, engine_home, say
from support.office_home import desk_of, service, switch_on

CHAT = "openai-compatible"
JUDGMENT = "Landgericht München I\nUrteil vom 30.01.2026\nDer Beklagte zahlt 10.000 €."
APPEAL = {"event": "2026-02-04", "reason": "Urteil vom 30.01.2026, S. 1"}
LETTER = "Sehr geehrte Frau Wagner,\n\ndas Landgericht hat entschieden.\n\nMit freundlichen Grüßen"
STORY = (
    Call("read_dokumente_detail", {"dokument": 1}),
    Call("compute_frist", {"kind": "Berufung", "place": "BY-kath", "event": "2026-02-04"}),
    Call("create_draft_frist", {"kind": "Berufung", **APPEAL}),
    Call("create_draft_frist", {"kind": "Berufungsbegründung", **APPEAL}),
    Call("create_draft_dokument", {"title": "Schreiben an Mandantin", "text": LETTER}),
    Call(
        "create_draft_zeiterfassung",
        {"minutes": 30, "text": "Urteil gelesen", "date": "2026-02-05"},
    ),
    Call("create_notiz", {"text": "Mandantin wünscht Berufung"}),
    Call("create_alert", {"text": "Kostenvorschuss prüfen", "due": "2026-02-20"}),
)


@asynccontextmanager
async def office(
    tmp_path: Path, *calls: Call | Text
) -> AsyncIterator[tuple[EngineHome, PackHome, Any, Any]]:
    """A studio with the pack, an Akte with a judgment, and a chat about it."""
    script = [*(Turn(one) for one in calls), *(Turn(Text("Gut.")) for _ in range(5))]
    async with engine_home(tmp_path, CHAT, script) as home:
        pack = switch_on(home)
        pack.settings_file.parent.mkdir(parents=True, exist_ok=True)
        pack.settings_file.write_text(json.dumps({"ordner": str(tmp_path / "Akten")}))
        akte = service(pack, "Akten").open(
            pack.person, "Wagner ./. Holzbau", gericht="LG München I", gericht_ort="BY-kath"
        )
        (tmp_path / "Urteil.txt").write_text(JUDGMENT)
        service(pack, "Dokumente").add(pack.person, akte, tmp_path / "Urteil.txt", kind="Urteil")
        session = await home.session()
        await session.change(subject=akte.address)
        yield home, pack, akte, session


def by_kind(session: Any) -> dict[str, list[KindDraft]]:
    """The drafts that wait, by the pack's name of their kind."""
    found: dict[str, list[KindDraft]] = {}
    for draft in session.drafts.waiting():
        found.setdefault(draft.kind.partition(":")[2], []).append(draft)
    return found


def states(pack: PackHome) -> dict[str, str]:
    rows = pack.records.read("SELECT id, zustand FROM entwurf")
    return {str(row["id"]): str(row["zustand"]) for row in rows}


async def test_from_a_judgment_to_what_a_person_decided(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """KZ-37, KZ-21, KZ-50: Fristen, ics, history and the Word file agree at every step."""
    async with office(tmp_path, *STORY) as (home, pack, akte, session):
        desk, me = desk_of(home), pack.person
        fristen, zeiten, notizen = (service(pack, n) for n in ("Fristen", "Zeiten", "Notizen"))
        letter = tmp_path / "Akten" / akte.az.replace("/", "-") / "Schreiben an Mandantin.docx"

        async def told(*words: str) -> str:
            capsys.readouterr()
            assert await home.command("packs", "run", "kanzlei", *words) == 0, words
            return capsys.readouterr().out

        said = [one for one in await say(session) if isinstance(one, ToolFinished)]
        assert not [one.text for one in said if one.is_error]
        found = by_kind(session)
        expected = {"frist": 2, "dokument": 1, "zeit": 1, "notiz": 1, "alert": 1}
        assert {name: len(drafts) for name, drafts in found.items()} == expected
        assert set(states(pack).values()) == {"PENDING"}
        assert fristen.find(me) == [] and zeiten.find(me, akte.id) == []
        assert notizen.find(me, akte.id) == [] and notizen.alerts(me) == []
        assert not letter.exists()
        shown = await told("notizen", akte.az)
        assert shown.count("Vorschlag von Helena") == 2 and "Berufung" in shown

        # The person corrects the time.
        (time,) = found["zeit"]
        assert "Minuten: 30" in time.after and time.describe().editable
        with pytest.raises(ConfigurationError, match="Minuten"):
            await session.review.edit(time.id, time.after.replace("30", "viele"))
        made = await session.review.edit(time.id, time.after.replace("30", "45"))
        assert states(pack)[time.id] == "SUPERSEDED" and states(pack)[made.id] == "PENDING"

        drafts = session.drafts.waiting()
        assert len(drafts) == 6
        ids, acts = [one.id for one in drafts], desk.decided("approve", drafts)
        done = await session.review.decide_all("approve", ids, acts)
        assert set(done.values()) == {"approved"}
        again = await session.review.decide_all("approve", ids, desk.decided("approve", drafts))
        assert set(again.values()) == {"approved"}, "twice is once"

        ends = [(one.kind, one.end.isoformat(), one.state) for one in fristen.find(me)]
        assert ends == [
            ("Berufung", "2026-03-04", "berechnet"),
            ("Berufungsbegründung", "2026-04-07", "berechnet"),
        ]
        (entry,) = zeiten.find(me, akte.id)
        assert (entry.minutes, entry.text, entry.day) == (45, "Urteil gelesen", "2026-02-05")
        assert [one.text for one in notizen.find(me, akte.id)] == ["Mandantin wünscht Berufung"]
        assert [one.text for one in notizen.alerts(me)] == ["Kostenvorschuss prüfen"]
        words = zipfile.ZipFile(letter).read("word/document.xml").decode()
        assert "Sehr geehrte Frau Wagner" in words
        (document,) = service(pack, "Dokumente").find(akte, words="Landgericht entschieden")
        assert document.name == letter.name

        await told("kalender", str(tmp_path / "fristen.ics"))
        ics = (tmp_path / "fristen.ics").read_bytes().decode()
        for day in ("20260304", "20260225", "20260407", "20260331"):
            assert f"DTSTART;VALUE=DATE:{day}\r\n" in ics
        assert "-Minuten: 30\n+Minuten: 45" in await told("entwuerfe", "--alle")

        # One is undone, and history says so of it alone.
        (frist,) = [one for one in found["frist"] if one.title.startswith("Berufungsbegründung")]
        for one in (frist, *found["dokument"]):
            acts = desk.decided("undo", [one])
            assert await session.review.decide(one.id, "undo", acts) == "undone"
        assert [one.kind for one in fristen.find(me)] == ["Berufung"]
        assert not letter.exists()
        assert service(pack, "Dokumente").find(akte, words="entschieden") == []
        assert states(pack)[frist.id] == "UNDONE"
        await told("kalender", str(tmp_path / "fristen.ics"))
        assert "20260407" not in (tmp_path / "fristen.ics").read_text()
        rows = pack.records.read("SELECT was, feld, neu, entwurf FROM verlauf WHERE entwurf != ''")
        drafted = {str(row["entwurf"]) for row in rows}
        assert drafted == {one.id for one in session.drafts.all if one.status != "superseded"}
        story = await told("verlauf", akte.az)
        assert "zustand: berechnet → storniert" in story and "45 min" in story


async def test_what_a_person_rejects_reaches_helena_with_the_reason(tmp_path: Path) -> None:
    """KZ-37: in the next request, and in the row."""
    note = Call("create_notiz", {"text": "Frau Wagner ist schwierig"})
    async with office(tmp_path, note) as (home, pack, _, session):
        await say(session)
        (draft,) = session.drafts.waiting()
        await session.review.decide(draft.id, "discard", reason="Das gehört  nicht hierher")
        rows = pack.records.read("SELECT zustand, grund FROM entwurf")
        assert rows == [{"zustand": "REJECTED", "grund": "Das gehört nicht hierher"}]
        await say(session)
        assert "Das gehört nicht hierher" in json.dumps(home.asked[-1].json, ensure_ascii=False)


async def test_a_letter_never_replaces_a_file_it_did_not_see(tmp_path: Path) -> None:
    """KZ-37: one that came meanwhile is a conflict; one that changed since is not undone."""
    calls = [
        Call("create_draft_dokument", {"title": "Brief", "text": "Eins"}),
        Text("Gut."),
        Call("create_draft_dokument", {"title": "Brief", "text": "Zwei", "replaces": 2}),
    ]
    async with office(tmp_path, *calls) as (home, pack, akte, session):
        desk, documents = desk_of(home), service(pack, "Dokumente")
        folder = documents.folder_of(akte)
        await say(session)
        (draft,) = session.drafts.waiting()
        (folder / "Brief.docx").write_text("von Hand")

        async def decide(what: str, one: Any) -> str:
            return await session.review.decide(one.id, what, desk.decided(what, [one]))

        assert await decide("approve", draft) == "conflict"
        assert states(pack)[draft.id] == "CONFLICT"
        (folder / "Brief.docx").unlink()
        again = await session.review.resolve(draft.id, None)
        assert await decide("approve", again) == "approved"
        first = (folder / "Brief.docx").read_bytes()

        await say(session)
        (second,) = session.drafts.waiting()
        assert await decide("approve", second) == "approved"
        assert (folder / "Brief.docx").read_bytes() != first
        assert await decide("undo", again) == "approved", "a newer version depends on it"
        assert await decide("undo", second) == "undone"
        assert (folder / "Brief.docx").read_bytes() == first
        (folder / "Brief.docx").write_text("von Hand geändert")
        assert await decide("undo", again) == "approved"
        assert (folder / "Brief.docx").read_text() == "von Hand geändert"
        assert documents.find(akte, words="Eins"), "nothing of it was undone"
