"""Templates of the pack Kanzlei: filled from an Akte, in a sandbox, never with a blank."""

from __future__ import annotations

import io
import json
import sqlite3
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, closing
from pathlib import Path
from typing import Any

import docx
import pytest

from studio.agent.packs import PackHome
from studio.domain.errors import ToolFailed
from studio.domain.events import ToolFinished
from studio.extensions.packs.loading import load_class
from studio.simulator import Call, Text, Turn
from support.engine_home import EngineHome, engine_home, say
from support.office_home import desk_of, service, switch_on

SHIPPED = [
    "Anschreiben",
    "Aufforderung",
    "Berufung",
    "Deckungsanfrage",
    "Fristverlängerung",
    "Klage",
    "Kostennote",
    "Sachstandsanfrage",
    "Vergütungsvereinbarung",
    "Vermerk",
    "Verteidigungsanzeige",
    "Vollmacht",
]


@asynccontextmanager
async def office(tmp_path: Path, *calls: Call) -> AsyncIterator[tuple[EngineHome, PackHome, Any]]:
    script = [*(Turn(one) for one in calls), *[Turn(Text("Gut."))] * 3]
    async with engine_home(tmp_path, "openai-compatible", script) as home:
        pack = switch_on(home)
        pack.settings_file.parent.mkdir(parents=True, exist_ok=True)
        pack.settings_file.write_text(json.dumps({"ordner": str(tmp_path / "Kanzlei" / "Akten")}))
        akte = service(pack, "Akten").open(
            pack.person, "Wagner ./. Holzbau", gericht="LG München I", wert_cent=1_000_000,
            gericht_az="3 O 12/26", mandat_seit="2026-01-15",
        )  # fmt: skip
        for number, (salutation, name) in enumerate(
            (("Frau", "Wagner & <Söhne>"), ("Herr", "Wagner"))
        ):
            pack.records.write(
                "INSERT INTO kontakt (id, anrede, vorname, name, strasse, plz, ort, angelegt) "
                "VALUES (?, ?, 'A.', ?, 'Weg 1', '80331', 'München', '')",
                *(number + 1, salutation, name),
            )
            pack.records.write(
                "INSERT INTO beteiligung (akte, kontakt, rolle) VALUES (?, ?, 'Mandant')",
                *(akte.id, number + 1),
            )
        yield home, pack, akte


def own(tmp_path: Path, name: str, *lines: str) -> None:
    """A template of the office."""
    folder = tmp_path / "Kanzlei" / "Muster"
    folder.mkdir(parents=True, exist_ok=True)
    document = docx.Document()
    for line in lines:
        paragraph = document.add_paragraph()
        for letter in line:  # as Word does at its worst: a run for each letter
            paragraph.add_run(letter)
    document.save(str(folder / f"{name}.docx"))


async def test_a_template_is_filled_from_the_akte(tmp_path: Path) -> None:
    """KZ-33: twelve ship, marked; participants with their salutation; what is missing is asked for;
    values are text, never markup; the file is written once a person approved it."""
    given = [
        {"name": "betreff", "value": "Ihr Fall {{ az }}"},
        {"name": "text", "value": "Danke.\n& <b>"},
    ]
    calls = [
        Call("search_muster", {"query": "Kosten"}),
        Call("search_muster_detail", {"muster": "anschreiben"}),
        Call("create_draft_dokument", {"title": "Brief", "muster": "Anschreiben"}),
        Call(
            "create_draft_dokument",
            {
                "title": "Brief",
                "muster": "Anschreiben",
                "fields": [*given, {"name": "ort_datum", "value": "München, 1. Mai"},
                           {"name": "kanzlei", "value": "Kanzlei Beispiel"}],
            },
        ),
    ]  # fmt: skip
    async with office(tmp_path, *calls) as (home, pack, akte):
        desk, session = desk_of(home), await home.session()
        await session.change(subject=akte.address)
        found, read, blank, _ = [one for one in await say(session) if isinstance(one, ToolFinished)]
        assert found.sources[0] == "kanzlei:muster/Kostennote"
        told = json.loads(read.text)["data"]
        assert told["art"] == "Beispiel" and "text" in told["fehlt"]
        assert told["bekannt"]["mandant_anrede"] == (
            "Sehr geehrte Frau Wagner & <Söhne>, sehr geehrter Herr Wagner,"
        )
        assert "fehlen Angaben: betreff, kanzlei, ort_datum, text. Frage danach" in blank.text
        (draft,) = session.drafts.waiting()
        assert "A. Wagner & <Söhne> und A. Wagner" in draft.after and "Danke.\n& <b>" in draft.after
        acts = desk.decided("approve", [draft])
        assert await session.review.decide(draft.id, "approve", acts) == "approved"
        path = service(pack, "Dokumente").folder_of(akte) / "Brief.docx"
        document = docx.Document(str(path))
        text = "\n".join(one.text for one in document.paragraphs)
        assert "Ihr Fall {{ az }}" in text, "a value is not a template"
        assert "Beispiel, prüfen" in document.sections[0].header.paragraphs[0].text
        (known,) = service(pack, "Dokumente").find(akte)
        assert "Wagner & <Söhne>" in known.begin


async def test_each_template_that_ships_can_be_filled(tmp_path: Path) -> None:
    """KZ-33: and says what it lacks; the same words make the same bytes."""
    async with office(tmp_path) as (_, pack, akte):
        load_class("kanzlei", "tools.muster.filling:Muster")
        filling = sys.modules["studio_pack_kanzlei.tools.muster.filling"]
        fields = sys.modules["studio_pack_kanzlei.tools.muster.fields"]
        every = filling.all_muster(tmp_path / "keine")
        assert [one.name for one in every] == SHIPPED
        known = fields.known_fields(pack, pack.person, akte)
        assert "1,3" in known["kosten"] or "2300" in known["kosten"]
        assert known["wert"] == "10.000,00 €"
        for one in every:
            names = filling.fields_of(one)
            values = {name: f"«{name}»" for name in names}
            made = filling.filled(one, values)
            assert made == filling.filled(one, values)
            text = "\n".join(p.text for p in docx.Document(io.BytesIO(made)).paragraphs)
            assert all(f"«{name}»" in text for name in names) and "{" not in text, one.name
            with pytest.raises(ToolFailed, match=rf"fehlen Angaben: {names[0]}\b"):
                filling.filled(one, values | {names[0]: " "})


async def test_a_hostile_template_reaches_nothing(tmp_path: Path) -> None:
    """KZ-33, KZ-28: the sandbox; a broken file is told in German, and the others are there."""
    own(tmp_path, "Böse", "{{ az.__class__.__mro__ }} {{ az }}")
    bombs = {
        "Schleife": "{% for a in az %}{% for b in az %}{{ b }}{% endfor %}{% endfor %} {{ az }}",
        "Zahl": "{{ 9 ** 9 ** 9 }} {{ az }}",
        "Länge": "{{ az * 999999999 }}",
        "Filter": "{{ az | center(999999999) }}",
        "Vielfach": "{{ az }}" * 2_001,
    }
    for name, text in bombs.items():
        own(tmp_path, name, text)
    own(tmp_path, "Gut", "Zu {{ az }}{% if az == '1/26' %} (neu){% endif %}")
    (tmp_path / "Kanzlei" / "Muster" / "Kaputt.docx").write_bytes(b"PK\x03\x04 kein Word")
    async with office(tmp_path) as (_, pack, _):
        load_class("kanzlei", "tools.muster.filling:Muster")
        filling = sys.modules["studio_pack_kanzlei.tools.muster.filling"]
        named = {one.name: one for one in filling.all_muster(service(pack, "Dokumente").templates)}
        assert set(named) == {*SHIPPED, *bombs, "Böse", "Gut", "Kaputt"}
        made = filling.filled(named["Gut"], {"az": "1/26"})
        assert docx.Document(io.BytesIO(made)).paragraphs[0].text == "Zu 1/26 (neu)"
        with pytest.raises(ToolFailed, match="az: höchstens"):
            filling.filled(named["Gut"], {"az": "1" * 20_001})
        for name in ("Böse", "Kaputt", *bombs):
            with pytest.raises(ToolFailed, match=f"Das Muster {name} ist fehlerhaft"):
                filling.filled(named[name], {"az": "1/26"})


async def test_kz25_a_kostennote_is_computed_and_lies_in_the_akte(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """By a command of the person, and by Helena as a draft: its amounts are computed, also where a
    model writes its own; what is missing is asked for."""
    fields = [
        {"name": "kosten", "value": "2300=1.5 weil umfangreich; frei=45,00 Aktenversendung"},
        *({"name": name, "value": "x"} for name in ("ort_datum", "rechnungsnummer", "kanzlei",
                                                     "leistungszeitraum", "steuernummer")),
    ]  # fmt: skip
    typed = [{"name": "kosten", "value": "Gebühren: 9.999,00 €"}, *fields[1:]]
    calls = [
        Call("create_draft_dokument", {"title": "Note", "muster": "Kostennote", "fields": typed}),
        Call("create_draft_dokument", {"title": "Note", "muster": "Kostennote", "fields": fields}),
    ]
    async with office(tmp_path, *calls) as (home, pack, akte):
        akte = service(pack, "Akten").change(pack.person, akte, "wert", "10.000,00")
        akte = service(pack, "Akten").change(pack.person, akte, "mandat_seit", "02.06.2025")
        session = await home.session()
        await session.change(subject=akte.address)
        refused, _ = [one for one in await say(session) if isinstance(one, ToolFinished)]
        assert refused.is_error and "9.999" not in str(session.drafts.waiting())
        (draft,) = session.drafts.waiting()
        assert "Geschäftsgebühr" in draft.after and "45,00 €" in draft.after
        assert "Rechnungsbetrag" in draft.after and "§ 10 RVG" in draft.after
        run = ("packs", "run", "kanzlei", "kostennote", akte.az, "2300; Vorschuss=100")
        more = ("R 7/26", "Mai 2026", "München, 1. Juni 2026")
        assert await home.command(*run, *more) != 0
        assert "kanzlei, steuernummer" in capsys.readouterr().err
        told = ("--kanzlei", "Kanzlei Eins", "--steuernummer", "12/34")
        assert await home.command(*run, *more, *told) == 0
        (made,) = service(pack, "Dokumente").find(akte)
        assert (made.name, made.kind) == ("Kostennote R-7-26.docx", "Kostennote")
        text = service(pack, "Dokumente").pages(made)[1]
        assert "VV 2300" in text and "-100,00 €" in text and "Kanzlei Eins" in text


async def test_kz25_a_kostennote_bills_the_time_up_to_a_day(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """What is billable and not billed yet, of this Akte alone; a day that there is not bills and
    writes nothing, what is billed stays in the Akte, and a Kostennote that does not hold gives it
    back, whatever stands around its number."""
    async with office(tmp_path) as (home, pack, akte):
        person, zeiten = pack.person, service(pack, "Zeiten")
        akte = service(pack, "Akten").change(person, akte, "wert", "10.000,00")
        akte = service(pack, "Akten").change(person, akte, "mandat_seit", "02.06.2025")
        other = service(pack, "Akten").open(person, "Andere")
        for number, day, billable in (
            (akte.id, "2026-05-30", True),
            (akte.id, "2026-05-31", False),
            (akte.id, "2026-05-31", True),
            (akte.id, "2026-06-01", True),
            (other.id, "2026-05-01", True),
        ):
            zeiten.add(person, number, day=day, minutes=30, text="x", billable=billable)
        run = ("packs", "run", "kanzlei", "kostennote", akte.az, "2300")
        told = ("--kanzlei", "Eins", "--steuernummer", "1", "--zeiten-bis")

        def billed() -> list[tuple[str, str]]:
            found = [*zeiten.find(person, akte.id), *zeiten.find(person, other.id)]
            return sorted((one.day, one.billed) for one in found if one.billed)

        assert await home.command(*run, "R-7", "Mai", "München", *told, "31.02.2026") != 0
        assert service(pack, "Dokumente").find(akte) == [] == billed()
        assert await home.command(*run, " R-7 ", "Mai", "München", *told, "31.05.2026") == 0
        assert "2 Zeiten sind damit abgerechnet" in capsys.readouterr().out
        assert billed() == [("2026-05-30", "R-7"), ("2026-05-31", "R-7")]
        find = zeiten.find
        refused: list[str] = []

        def meanwhile(*asked: Any, **more: Any) -> Any:
            """Another program bills the same, once it was read what is open."""
            found = find(*asked, **more)
            with closing(sqlite3.connect(pack.records.path, timeout=0)) as other:
                try:
                    other.execute("UPDATE zeit SET abgerechnet = 'R-x' WHERE abgerechnet IS NULL")
                    other.commit()
                except sqlite3.OperationalError as error:
                    refused.append(str(error))
            return found

        monkeypatch.setattr(zeiten, "find", meanwhile)
        assert await home.command(*run, "R-8", "Juni", "München", *told, "30.06.2026") == 0
        monkeypatch.undo()
        assert refused == ["database is locked"], "two Kostennoten do not bill the same"
        assert "1 Zeit ist damit abgerechnet" in capsys.readouterr().out
        assert billed()[-1] == ("2026-06-01", "R-8") and len(billed()) == 3
        assert await home.command("packs", "run", "kanzlei", "zeiten-offen", akte.az, "R-7") == 0
        assert "2 Zeiten" in capsys.readouterr().out and billed() == [("2026-06-01", "R-8")]
        rows = pack.records.read(
            "SELECT feld FROM verlauf WHERE was = 'zeit' AND akte = ?", akte.id
        )
        assert [row["feld"] for row in rows].count("abgerechnet") == 5
