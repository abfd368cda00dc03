"""Reading in what an office had elsewhere: told first, done, and undone."""

from __future__ import annotations

import datetime
import json
import os
import zipfile
from pathlib import Path
from types import SimpleNamespace

import pytest

from studio.extensions.packs.loading import load_class
from studio.simulator import Text, Turn
from support.engine_home import engine_home
from support.office_home import service, switch_on


async def test_a_folder_is_read_in_and_taken_back(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """KZ-51: dry run, report, duplicates by digest, undo without what changed; what is broken, huge,
    hidden, or leads elsewhere stops nothing and is not copied."""
    source = tmp_path / "alt"
    (source / "Gericht").mkdir(parents=True)
    (source / "Brief.txt").write_text("Ein Brief über Fristen.")
    (source / "Gericht" / "Urteil.txt").write_text("Das Urteil.")
    (source / "Gericht" / "Kopie.txt").write_text("Das Urteil.")
    (source / "Mail.eml").write_bytes(b"Subject: Termin\nFrom: a@b.example\n\nMorgen um zehn.\n")
    (source / "kaputt.docx").write_bytes(b"PK\x03\x04 kein Word")
    (source / ".versteckt").write_text("x")
    (source / "Link.txt").symlink_to("/etc/hostname")
    with (source / "gross.bin").open("wb") as file:
        os.truncate(file.fileno(), 51_000_000)
    async with engine_home(tmp_path, "openai-compatible", [Turn(Text("Gut."))]) as home:
        pack = switch_on(home)
        pack.settings_file.parent.mkdir(parents=True, exist_ok=True)
        pack.settings_file.write_text(json.dumps({"ordner": str(tmp_path / "Akten")}))
        akte = service(pack, "Akten").open(pack.person, "Wagner ./. Holzbau")
        documents = service(pack, "Dokumente")

        async def told(*words: str) -> str:
            assert await home.command("packs", "run", "kanzlei", *words) == 0
            return capsys.readouterr().out

        said = await told("einlesen", akte.az, str(source), "--probe")
        assert said.startswith("4 neu, 1 schon da\n") and "gross.bin ist größer als 50 MB" in said
        assert documents.find(akte) == []
        said = await told("einlesen", akte.az, str(source))
        assert said.startswith("4 eingelesen, 1 schon da. Zurücknehmen") and "kaputt.docx" in said
        found = {f"{one.folder}/{one.name}": one for one in documents.find(akte)}
        assert set(found) == {"/Brief.txt", "/Mail.eml", "/kaputt.docx", "Gericht/Kopie.txt"}
        assert "Morgen um zehn" in found["/Mail.eml"].begin
        assert service(pack, "Suche").find(pack.person, "Frist")
        assert (await told("einlesen", akte.az, str(source))).startswith("0 eingelesen, 5 schon da")

        place = documents.folder_of(akte)
        (place / "Brief.txt").write_text("Von Hand geändert.")
        said = await told("einlesung-zurueck", "1")
        assert "3 Dokumente zurückgenommen" in said and "Brief.txt wurde seither geändert" in said
        assert [one.name for one in documents.find(akte)] == ["Brief.txt"]
        assert [one.name for one in place.rglob("*.*")] == ["Brief.txt"]
        assert (source / "Brief.txt").exists(), "the source stays"
        assert await home.command("packs", "run", "kanzlei", "einlesung-zurueck", "1") != 0


async def test_contacts_of_other_programs_are_read_in_and_taken_back(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """KZ-51, acceptance 9: CSV in Windows-1252 by columns that are remembered, vCards of old and new
    versions; told first, twice is once, a wrong row and a broken table stop nothing, and undone but
    for who takes part in an Akte since."""
    table = tmp_path / "adressen.csv"
    table.write_bytes(
        "Zuname;Vorname;Geburtsdatum;PLZ;Ort;Tel. privat;IBAN;Farbe\r\n"
        "Müller;Jörg;04.02.1980;80331;München;089 1;;rot\r\n"
        '"Öz ""Bau"" GmbH";;;50667;Köln;;DE89370400440532013000;\r\n'
        "Falsch;Eva;31.02.1980;;;;;\r\n"
        ";Ohne;;;;;;\r\n"
        "Müller;Jörg;4.2.1980;;;;;\r\n".encode("cp1252")
    )
    cards = tmp_path / "karten.vcf"
    cards.write_text(
        "BEGIN:VCARD\nVERSION:2.1\nN;CHARSET=UTF-8;ENCODING=QUOTED-PRINTABLE:M=C3=BCller;J=C3=B6=\n"
        "rg;;\nBDAY:19800204\nEND:VCARD\nBEGIN:VCARD\nVERSION:4.0\nN:Huber;Petra;;Dr.;\n"
        "ADR:;;Weg 1\\, Hof;Rosenheim;;83022;\nTEL;TYPE=cell:tel:+49 171 1\nitem1.EMAIL:p@h.exam\n"
        " ple\nEND:VCARD\nBEGIN:VCARD\nORG:Reiter AG;Einkauf\nEND:VCARD\nBEGIN:VCARD\nN:Halb;\n",
        "utf-8",
    )
    async with engine_home(tmp_path, "openai-compatible", [Turn(Text("Gut."))]) as home:
        pack = switch_on(home)
        kontakte = pack.service(load_class("kanzlei", "tools.contacts.kontakte:Kontakte"))

        async def told(*words: str) -> str:
            assert await home.command("packs", "run", "kanzlei", *words) == 0
            return capsys.readouterr().out

        run = ("packs", "run", "kanzlei", "kontakte-einlesen", str(table))
        columns = ("--spalten", "Zuname=name; Tel. privat=telefon")
        assert await home.command(*run, "--spalten", "Zuname=nase") != 0
        assert "Spalte=Feld" in capsys.readouterr().err
        said = await told("kontakte-einlesen", str(table), "--probe", *columns)
        assert said.startswith("3 neu, 1 schon da\n") and "Zeile 5: ohne Namen" in said
        assert kontakte.find(pack.person) == []
        said = await told("kontakte-einlesen", str(table), *columns)
        assert said.startswith("2 übernommen, 1 schon da. Zurücknehmen")
        assert "Zeile 4: Geboren" in said and "Spalten ohne Feld: Farbe" in said
        found = {one.shown: one for one in kontakte.find(pack.person)}
        assert set(found) == {"Jörg Müller", 'Öz "Bau" GmbH'}
        assert found["Jörg Müller"].name.born == "1980-02-04"
        assert found["Jörg Müller"].phone == "089 1"
        assert found['Öz "Bau" GmbH'].name.is_firm and found['Öz "Bau" GmbH'].iban
        said = await told("kontakte-einlesen", str(table))
        assert said.startswith("0 übernommen, 3 schon da"), "the columns are remembered"

        said = await told("kontakte-einlesen", str(cards))
        assert said.startswith("2 übernommen, 1 schon da") and "kein Ende" in said
        found = {one.shown: one for one in kontakte.find(pack.person)}
        huber = found["Dr. Petra Huber"]
        assert (huber.street, huber.zip, huber.city) == ("Weg 1, Hof", "83022", "Rosenheim")
        assert (huber.phone, huber.mail) == ("+49 171 1", "p@h.example")
        assert found["Reiter AG"].name.is_firm
        akte = service(pack, "Akten").open(pack.person, "Huber ./. Reiter")
        kontakte.take_part(pack.person, akte, huber, "Mandant")
        said = await told("einlesung-zurueck", "2")
        assert "1 Kontakt zurückgenommen" in said and "Dr. Petra Huber wurde seither" in said
        assert "Reiter AG" not in {one.shown for one in kontakte.find(pack.person)}
        for broken in (b"", b"\x00\xff" * 99, b"a;b\n" + b'"' + b"x" * 200_000, b"Nur Text"):
            table.write_bytes(broken)
            assert await home.command(*run) != 0
            assert "Spalte" in capsys.readouterr().err


def test_a_line_that_goes_on_for_ever_is_read_in_time(kanzlei: SimpleNamespace) -> None:
    """KZ-51, acceptance 9: what reading takes grows with the length of a file, not its square."""
    for go_on in ("=\n", "\n x="):
        text = f"N;ENCODING=QUOTED-PRINTABLE:Huber{go_on * 400_000}\nEND:VCARD\n"
        found = [name for _, name, _, _ in kanzlei.address_files.properties(text)]
        assert found[0] == "N"


CALENDAR = """BEGIN:VCALENDAR
VERSION:2.0
BEGIN:VTIMEZONE
TZID:Europe/Berlin
END:VTIMEZONE
BEGIN:VEVENT
UID:1@elsewhere
DTSTART;TZID=Europe/Berlin:20260204T103000
DTEND;TZID=Europe/Berlin:20260204T113000
SUMMARY:Güteverhandlung\\, Saal 3
LOCATION:LG Mün
 chen I
DESCRIPTION:In Sachen AZ1
BEGIN:VALARM
SUMMARY:Erinnerung
END:VALARM
END:VEVENT
BEGIN:VEVENT
DTSTART:20260704T080000Z
SUMMARY:Besprechung AZ1
END:VEVENT
BEGIN:VEVENT
DTSTART;VALUE=DATE:20260310
SUMMARY:Gutachten AZ1
RRULE:FREQ=YEARLY
END:VEVENT
BEGIN:VEVENT
DTSTART:20260305T090000
SUMMARY:Zahnarzt
END:VEVENT
BEGIN:VEVENT
DTSTART:20260306T090000
SUMMARY:Abgesagt AZ1
STATUS:CANCELLED
END:VEVENT
BEGIN:VEVENT
DTSTART:2026-03-06
SUMMARY:Wann AZ1
END:VEVENT
BEGIN:VEVENT
UID:frist-1@kanzlei
DTSTART;VALUE=DATE:20260401
SUMMARY:Frist: Berufung AZ1
END:VEVENT
BEGIN:VEVENT
SUMMARY:Ohne Ende
"""


async def test_kz51_a_calendar_is_read_in_and_taken_back(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Hours become Termine in local time, whole days Aufgaben and never Fristen; told first, twice
    is once, what is wrong is told, and undone but for what was changed since."""
    path = tmp_path / "alt.ics"
    async with engine_home(tmp_path, "openai-compatible", [Turn(Text("Gut."))]) as home:
        pack = switch_on(home)
        akte = service(pack, "Akten").open(pack.person, "Wagner ./. Holzbau")
        path.write_bytes(CALENDAR.replace("AZ1", akte.az).replace("\n", "\r\n").encode())
        termine, aufgaben = service(pack, "Termine"), service(pack, "Aufgaben")

        async def told(*words: str) -> str:
            assert await home.command("packs", "run", "kanzlei", *words) == 0
            return capsys.readouterr().out

        said = await told("kalender-einlesen", str(path), "--probe")
        assert said.startswith("3 neu, 0 schon da") and not termine.find(pack.person)
        said = await told("kalender-einlesen", str(path))
        assert said.startswith("3 übernommen, 0 schon da. Zurücknehmen")
        for words in (
            "„Gutachten",
            "wiederholt sich",
            "Zahnarzt“ nennt keine Akte",
            "ist abgesagt",
        ):
            assert words in said
        assert "stammt von hier" in said and "ohne Tag" in said and "hat kein Ende" in said
        first, second = termine.find(pack.person)
        assert (first.begin.isoformat(), f"{first.end:%H:%M}") == ("2026-02-04T10:30:00", "11:30")
        assert (first.title, first.place) == ("Güteverhandlung, Saal 3", "LG München I")
        assert second.begin.isoformat() == "2026-07-04T10:00:00"  # summer: two hours after UTC
        (todo,) = aufgaben.find(pack.person)
        assert f"{todo.due:%d.%m.%Y}" == "10.03.2026"
        assert not service(pack, "Fristen").find(pack.person)
        assert (await told("kalender-einlesen", str(path))).startswith("0 übernommen, 3 schon da")

        termine.cancel(pack.person, first)
        said = await told("einlesung-zurueck", "1")
        assert "2 Einträge zurückgenommen" in said and "Güteverhandlung, Saal 3 wurde" in said
        assert not aufgaben.find(pack.person)
        all_states = ("offen", "abgesagt")
        assert [one.id for one in termine.find(pack.person, states=all_states)] == [first.id]

        for broken in (b"", b"\x00\xff" * 99, b"BEGIN:VCARD\nEND:VCARD\n"):
            path.write_bytes(broken)
            assert (
                await home.command("packs", "run", "kanzlei", "kalender-einlesen", str(path)) != 0
            )
            assert "keine Kalenderdatei" in capsys.readouterr().err
        days = "".join(
            f"BEGIN:VEVENT\nDTSTART;TZID={zone}:{when}\nSUMMARY:Tag\nEND:VEVENT\n"
            for zone, when in (
                ("../../etc", "20260101T100000"),
                ("X", "20269999"),
                ("", "T" * 999),
                ("Asia/Tokyo", "00010101T000000"),
                ("", "99991231T235900Z"),
            )
        )
        path.write_text(f"BEGIN:VCALENDAR\n{days}")
        said = await told("kalender-einlesen", str(path), "--az", akte.az)
        assert said.startswith("1 übernommen") and said.count("ist kein Tag") == 3

        path.write_text(
            "BEGIN:VCALENDAR\nBEGIN:VEVENT\nDTSTART;VALUE=DATE:20260601\nDTEND;VALUE=DATE:20260606\n"
            "SUMMARY:Urlaub\nEND:VEVENT\nBEGIN:VEVENT\nDTSTART;VALUE=DATE:20260608\nDURATION:P1D\n"
            "SUMMARY:Ortstag\nEND:VEVENT\nBEGIN:VEVENT\nDTSTART:20260610T220000\n"
            "DURATION:P1DT3H30M\nSUMMARY:Reise\nEND:VEVENT\nBEGIN:VEVENT\n"
            "DTSTART:20260615T100000\nDURATION:PT45M\nSUMMARY:Kurz\nEND:VEVENT\n"
        )
        assert (await told("kalender-einlesen", str(path), "--az", akte.az)).startswith("4 über")
        june = datetime.date(2026, 6, 1)
        assert {one.text for one in aufgaben.find(pack.person) if one.due >= june} == {
            "Urlaub (bis 05.06.2026)",
            "Ortstag",
        }
        travel, short = termine.find(pack.person, since=june)[:2]
        assert travel.title == "Reise (bis 12.06.2026 01:30)" and travel.end is None
        assert f"{short.end:%H:%M}" == "10:45"

        akten = service(pack, "Akten")
        for az in ("1/26 A", "2/26 (B)"):
            akten.open(pack.person, az, az=az)
        days = "".join(
            f"BEGIN:VEVENT\nDTSTART:2026050{day}T100000\nSUMMARY:{title}\nEND:VEVENT\n"
            for day, title in enumerate(
                ("11/26 A Ortstermin", "1/26 AB Ortstermin", "Ortstermin (1/26 A)", "2/26 (B): LG"),
                start=1,
            )
        )
        path.write_text(f"BEGIN:VCALENDAR\n{days}")
        said = await told("kalender-einlesen", str(path))
        assert said.startswith("2 übernommen") and said.count("nennt keine Akte") == 2


async def test_kz51_akten_of_another_program_are_opened_and_taken_back(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """CSV in Windows-1252 by columns that are remembered, with old Aktenzeichen, German amounts and
    who takes part, checked for conflicts; told first, twice is once, a wrong row stops nothing, and
    undone but for what was used since."""
    table = tmp_path / "akten.csv"
    table.write_bytes(
        "Nr.;Kurzrubrum;Mandant;Gegner;Streitwert;Angelegt;Ablage;Status;Farbe\r\n"
        "0012/19;Wagner ./. Öz Bau;Eva Wagner;Öz Bau GmbH;10.000,50;04.02.2019;;aktiv;rot\r\n"
        "0013/19;;Jörg Müller;Eva Wagner;;;31.12.2020;erledigt;\r\n"
        f"R-77;Nachlass Huber;{'H' * 400};, Eva;;;;ruhend;\r\n"
        "0014/19;Falscher Tag;;;;31.02.2019;;;\r\n"
        "0015/19;Falscher Wert;;;viel;;;;\r\n"
        "0016/19;Falscher Status;;;;;;weg;\r\n"
        "0017/19;;;;;;;;\r\n"
        "0012/19;Doppelt;;;;;;;\r\n".encode("cp1252")
    )
    async with engine_home(tmp_path, "openai-compatible", [Turn(Text("Gut."))]) as home:
        pack = switch_on(home)
        akten = service(pack, "Akten")
        kontakte = pack.service(load_class("kanzlei", "tools.contacts.kontakte:Kontakte"))

        async def told(*words: str) -> str:
            assert await home.command("packs", "run", "kanzlei", *words) == 0
            return capsys.readouterr().out

        columns = ("--spalten", "Nr.=az")
        said = await told("akten-einlesen", str(table), "--probe", *columns)
        assert said.startswith("3 neu, 1 schon da\n") and not akten.find(pack.person)
        for words in ("Zeile 5: „31.02.2019“ ist kein Tag", "Zeile 6: „viel“ ist kein Betrag",
                      "Zeile 7: „weg“ ist kein Status", "Zeile 8: ohne Rubrum"):  # fmt: skip
            assert words in said
        said = await told("akten-einlesen", str(table), *columns)
        assert said.startswith("3 angelegt, 1 schon da. Zurücknehmen")
        assert "Spalten ohne Feld: Farbe" in said and "0013/19, Eva Wagner:" in said
        assert "Zeile 4, mandant: name: höchstens 300" in said
        assert "Zeile 4, gegner: Ein Kontakt hat einen Namen" in said
        first = akten.get(pack.person, "0012/19")
        assert (first.rubrum, first.value) == ("Wagner ./. Öz Bau", 1_000_050)
        assert first.mandate == "2019-02-04" and first.mode == "lokal"
        parts = kontakte.of_akte(first)
        assert [(one.role, one.contact.shown) for one in parts] == [
            ("Mandant", "Eva Wagner"),
            ("Gegner", "Öz Bau GmbH"),
        ]
        second = akten.get(pack.person, "0013/19")
        assert (second.rubrum, second.state) == ("Jörg Müller ./. Eva Wagner", "abgelegt")
        assert len([one for one in kontakte.find(pack.person) if "Wagner" in one.shown]) == 1
        assert akten.get(pack.person, "R-77").state == "ruhend"
        new = akten.open(pack.person, "Neu")
        assert new.az.startswith("0001/"), "old numbers do not change the next one"
        said = await told("akten-einlesen", str(table))
        assert said.startswith("0 angelegt, 4 schon da"), "the columns are remembered"

        service(pack, "Notizen").add(pack.person, first.id, "Gelesen.")
        said = await told("einlesung-zurueck", "1")
        assert said.startswith("2 Akten, ")
        assert "0012/19 Wagner ./. Öz Bau wurde seither" in said
        assert {one.az for one in akten.find(pack.person)} == {"0012/19", new.az}
        assert {one.shown for one in kontakte.find(pack.person)} == {"Eva Wagner", "Öz Bau GmbH"}
        assert "Jörg" not in str(pack.records.read("SELECT gefragt FROM konflikt"))
        run = ("packs", "run", "kanzlei", "akten-einlesen", str(table))
        for broken in (b"", b"\x00\xff" * 99, b"a;b\n" + b'"' + b"x" * 200_000, b"Nur Text"):
            table.write_bytes(broken)
            assert await home.command(*run) != 0
            assert "Spalte" in capsys.readouterr().err


async def test_kz50_import_takes_what_it_is_given_and_export_gives_an_akte_out(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """A table of Akten or contacts, vCards, a calendar, a folder; and a whole Akte in one new zip,
    which only a lawyer writes, never over another file."""
    (tmp_path / "akten.csv").write_text("Aktenzeichen;Rubrum\n0007/19;Wagner ./. Reiter\n")
    (tmp_path / "leute.csv").write_text("Name;Vorname;PLZ\nHuber;Petra;80331\n")
    (tmp_path / "karte.vcf").write_text("BEGIN:VCARD\nN:Meier;Ute\nEND:VCARD\n")
    (tmp_path / "alt.ics").write_text(
        "BEGIN:VCALENDAR\nBEGIN:VEVENT\nDTSTART:20260204T103000\nSUMMARY:Termin\nEND:VEVENT\n"
    )
    (tmp_path / "alt").mkdir()
    (tmp_path / "alt" / "Brief.txt").write_text("Ein Brief.")
    async with engine_home(tmp_path, "openai-compatible", [Turn(Text("Gut."))]) as home:
        pack = switch_on(home)
        pack.settings_file.parent.mkdir(parents=True, exist_ok=True)
        pack.settings_file.write_text(json.dumps({"ordner": str(tmp_path / "Akten")}))

        async def told(*words: str, code: int = 0) -> str:
            assert await home.command("packs", "run", "kanzlei", *words) == code
            said = capsys.readouterr()
            return said.out + said.err

        assert "1 angelegt" in await told("import", str(tmp_path / "akten.csv"))
        for name in ("leute.csv", "karte.vcf"):
            assert "1 übernommen" in await told("import", str(tmp_path / name))
        assert "1 neu" in await told(
            "import", str(tmp_path / "alt.ics"), "--az", "0007/19", "--probe"
        )
        assert "--az" in await told("import", str(tmp_path / "alt"), code=1)
        assert "1 eingelesen" in await told("import", str(tmp_path / "alt"), "--az", "0007/19")
        assert "ist keine Datei" in await told("import", str(tmp_path / "nirgends.csv"), code=1)

        target = tmp_path / "akte.zip"
        assert "1 Dokument " in await told("export", "0007/19", str(target))
        assert "gibt es schon" in await told("export", "0007/19", str(target), code=1)
        with zipfile.ZipFile(target) as made:
            assert made.read("Dokumente/Brief.txt") == b"Ein Brief."
            whole = json.loads(made.read("akte.json"))
            assert b"angelegt" in made.read("protokoll.csv")
            assert made.read("kalender.ics").startswith(b"BEGIN:VCALENDAR")
        assert whole["akte"]["az"] == "0007/19" and len(whole["verlauf"]) >= 2
        assert "herausgegeben" in str(pack.records.read("SELECT was FROM protokoll"))
