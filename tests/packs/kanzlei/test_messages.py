"""Messages of courts and lawyers: written for a Versandmappe, and read into Akten (KZ-34)."""

from __future__ import annotations

import io
import json
import re
import sys
import xml.etree.ElementTree as tree
import zipfile
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

from studio.agent.packs import PackHome
from studio.extensions.packs.loading import load_class
from support.engine_home import EngineHome, engine_home
from support.office_home import service, switch_on
from support.sample_files import pdf

NS = "{http://www.xjustiz.de}"
KIND = "nachricht.gds.uebermittlungSchriftgutobjekte.0005005"


def part(role: str, number: str, who: str, of: str = "") -> str:
    reference = f"<referenz><ref.rollennummer>{of}</ref.rollennummer></referenz>" if of else ""
    return (
        f"<beteiligung><rolle><rollennummer>{number}</rollennummer><rollenbezeichnung "
        f'listVersionID="3.6"><code xmlns="">{role}</code></rollenbezeichnung>{reference}</rolle>'
        f"<beteiligter><auswahl_beteiligter>{who}</auswahl_beteiligter></beteiligter></beteiligung>"
    )


def person(first: str, last: str, place: str = "") -> str:
    return (
        f"<natuerlichePerson><vollerName><vorname>{first}</vorname><nachname>{last}</nachname>"
        f"</vollerName>{place}</natuerlichePerson>"
    )


def firm(name: str, tag: str = "organisation") -> str:
    called = f"<bezeichnung><bezeichnung.aktuell>{name}</bezeichnung.aktuell></bezeichnung>"
    return f"<{tag}>{called}</{tag}>"


def paper(file: str, code: str, number: int = 1, day: str = "", *more: str) -> str:
    files = "".join(f"<datei><dateiname>{one}</dateiname></datei>" for one in (file, *more))
    written = f"<datumDesSchreibens>{day}</datumDesSchreibens>" if day else ""
    return (
        f"<dokument><identifikation><nummerImUebergeordnetenContainer>{number}"
        f"</nummerImUebergeordnetenContainer></identifikation>{written}"
        '<xjustiz.fachspezifischeDaten><dokumentklasse listVersionID="1.4">'
        f'<code xmlns="">{code}</code></dokumentklasse><anzeigename>Titel</anzeigename>{files}'
        "</xjustiz.fachspezifischeDaten></dokument>"
    )


HEAD_35 = (
    '<nachrichtenkopf xjustizVersion="3.5.1"><aktenzeichen.absender>12 O 345/26'
    "</aktenzeichen.absender><aktenzeichen.empfaenger>{az}</aktenzeichen.empfaenger>"
    '<auswahl_absender><absender.gericht listVersionID="3.7"><!--Landgericht München I-->'
    '<code xmlns="">D2601</code></absender.gericht></auswahl_absender></nachrichtenkopf>'
)
HEAD_36 = (
    '<nachrichtenkopf xjustizVersion="3.6.2"><absender><informationen>'
    "<auswahl_kommunikationspartner><sonstige>Kanzlei Kranz</sonstige>"
    "</auswahl_kommunikationspartner></informationen><aktenzeichen>K 9/26</aktenzeichen></absender>"
    "<empfaenger><auswahl_aktenzeichen><aktenzeichen.freitext>{az}</aktenzeichen.freitext>"
    "</auswahl_aktenzeichen></empfaenger></nachrichtenkopf>"
)
COURT = (
    "<instanzdaten><auswahl_instanzbehoerde><gericht><!--Landgericht München I-->"
    '<code xmlns="">D2601</code></gericht></auswahl_instanzbehoerde><aktenzeichen>'
    "<auswahl_aktenzeichen><aktenzeichen.strukturiert><abteilung>12</abteilung><register>"
    '<code xmlns="">O</code></register><laufendeNummer>345</laufendeNummer><jahr>2026</jahr>'
    "</aktenzeichen.strukturiert></auswahl_aktenzeichen></aktenzeichen></instanzdaten>"
)
PLACE = (
    "<anschrift><ehemaligeAnschrift>true</ehemaligeAnschrift><ort>Alt</ort></anschrift><anschrift>"
    "<strasse>Am Weg</strasse><hausnummer>1 a</hausnummer><postleitzahl>80331</postleitzahl>"
    "<ort>München</ort></anschrift>"
)
PARTIES = (
    part("101", "1", person("Eva", "Wagner", PLACE))
    + part("028", "2", firm("Holzbau Reiter GmbH"))
    + part("132", "3", firm("Kanzlei Sommer", "ra.kanzlei"), of="1")
    + part("132", "4", firm("Kanzlei Kranz", "ra.kanzlei"), of="2")
    + part("202", "5", person("Jan", "Zeuge"))
)


def message(
    head: str = HEAD_35, az: str = "", case: str = COURT + PARTIES, papers: str = ""
) -> bytes:
    return (
        f'<?xml version="1.0" encoding="UTF-8"?><{KIND} xmlns="http://www.xjustiz.de">'
        f"{head.format(az=az)}<grunddaten><verfahrensdaten>{case}</verfahrensdaten></grunddaten>"
        f"<schriftgutobjekte>{papers}</schriftgutobjekte></{KIND}>"
    ).encode()


def exported(path: Path, number: str = "563203462", **files: bytes | str) -> Path:
    """A zip as the web application of beA exports a message."""
    own = {
        f"{number}.xml": "<osci/>",
        f"{number}_export.html": "<p>Zugegangen: 27.11.2026 10:00:00</p>",
        f"{number}_BusinessCard.html": "<p>Kranz</p>",
        f"{number}_VerificationReport.html": "<p>Alle Signaturen gültig</p>",
        "vhn.xml": "<vhn/>",
        "vhn.xml.p7s": b"\x30\x80",
        "Nachrichtentext.pdf": pdf("Anbei die Erwiderung."),
    }
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, data in {**own, **{k.replace("__", "."): v for k, v in files.items()}}.items():
            archive.writestr(name, data)
    return path


@asynccontextmanager
async def office(tmp_path: Path, **settings: str) -> AsyncIterator[tuple[EngineHome, PackHome]]:
    async with engine_home(tmp_path, "openai-compatible", []) as home:
        pack = switch_on(home)
        pack.settings_file.parent.mkdir(parents=True, exist_ok=True)
        pack.settings_file.write_text(json.dumps({"ordner": str(tmp_path / "Akten"), **settings}))
        yield home, pack


def kontakte_of(pack: PackHome) -> Any:
    return pack.service(load_class("kanzlei", "tools.contacts.kontakte:Kontakte"))


async def test_kz34_a_versandmappe_carries_an_xjustiz_message(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Documents in their order, Aktenzeichen, court and the two parties with name and address, and
    no more of them; what it says is readable again; who is nobody in a lawsuit is refused."""
    async with office(tmp_path, kanzlei="Kanzlei Sommer") as (home, pack):
        akten, kontakte = service(pack, "Akten"), kontakte_of(pack)
        akte = akten.open(
            pack.person, "Wagner ./. Reiter – Kauf", gericht="LG München I", gericht_az="12 O 3/26"
        )
        wagner = kontakte.add(
            pack.person, vorname="Eva", name="d’Wagner-Öz 2", titel="Dr.", geboren="04.02.1980",
            strasse="Am Weg 1 a", plz="80331", ort="München", telefon="089 1",
        )  # fmt: skip
        firm = kontakte.add(pack.person, art="Firma", name="„Holz“ & Bau\x02 GmbH 木")
        witness = kontakte.add(pack.person, vorname="Jan", name="Zeuge")
        for who, role in ((wagner, "Mandant"), (firm, "Gegner"), (witness, "Zeuge")):
            kontakte.take_part(pack.person, akte, who, role)
        documents, numbers = service(pack, "Dokumente"), list[int]()
        for name, kind in (
            ("Klage.pdf", ""),
            ("Anlage K1 Urteil.pdf", "Gutachten"),
            ("Klagerwiderung zu Beschlüssen.pdf", "Information"),
        ):
            made = documents.keep(pack.person, akte, name, pdf(kind), kind=kind)
            numbers.append(made.id)
        run = ("packs", "run", "kanzlei", "versandmappe", akte.az, ",".join(map(str, numbers)))
        target = tmp_path / "Mappe"
        assert await home.command(*run, str(target), "--partei", "Klägerin") == 0
        said = capsys.readouterr().out
        assert "XJustiz 3.6.2, bei keinem Gericht erprobt (ungeprüft)" in said
        data = (target / "xjustiz_nachricht.xml").read_bytes()
        root = tree.fromstring(data)
        assert root.tag == NS + KIND
        assert root[0].attrib == {"xjustizVersion": "3.6.2"}
        words = data.decode()
        for absent in ("1980", "089 1", "Zeuge", "木", "„", "–"):
            assert absent not in words
        for path, said in (
            ("absender//{0}sonstige", ["Kanzlei Sommer"]),
            ("absender/{0}aktenzeichen", [akte.az]),
            ("empfaenger//{0}sonstige", ["LG München I"]),
            ("empfaenger//{0}aktenzeichen.freitext", ["12 O 3/26"]),
            ("kurzrubrum", ["Wagner ./. Reiter - Kauf"]),
            ("rollenbezeichnung/code", ["101", "028"]),
            ("nachname", ["d'Wagner-Öz"]),
            ("bezeichnung.aktuell", ['"Holz" & Bau_ GmbH _']),
            ("hausnummer", ["1 a"]),
            (
                "dateiname",
                [
                    "01_Klage.pdf",
                    "02_Anlage_K1_Urteil.pdf",
                    "03_Klagerwiderung_zu_Beschlüssen.pdf",
                ],
            ),
            ("dokumentklasse/code", ["003", "013", "001"]),
        ):
            found = root.iterfind(f".//{NS}{path.format(NS)}")
            assert [one.text for one in found] == said, path
        ids = {one.text for one in root.iter(f"{NS}id")}
        assert len(ids) == 3 and all(re.fullmatch(r"[0-9a-f-]{36}", str(one)) for one in ids)

        assert await home.command(*run, str(tmp_path / "b"), "--partei", "Zeuge") != 0
        assert "keine Partei" in capsys.readouterr().err and not (tmp_path / "b").exists()
        assert await home.command(*run, str(tmp_path / "c"), "--xjustiz") == 0
        assert b"rollenbezeichnung" not in (tmp_path / "c/xjustiz_nachricht.xml").read_bytes()
        assert await home.command(*run, str(tmp_path / "d")) == 0
        assert not (tmp_path / "d" / "xjustiz_nachricht.xml").exists()

        read = ("packs", "run", "kanzlei", "nachricht-einlesen", str(target))
        capsys.readouterr()
        assert await home.command(*read, "--probe") == 0
        said = capsys.readouterr().out
        assert said.startswith("1 neu, 3 schon da") and "von Kanzlei Sommer" in said


async def test_kz34_an_exported_message_opens_an_akte_and_is_taken_back(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """The client is who the person says, or whom the office represents; roles, court, addresses and
    kinds of documents come along; conflicts are told; nothing before it is wanted, and undone."""
    files = {
        "xjustiz_nachricht__xml": message(
            az="neu",
            papers=paper("Erwiderung.pdf", "015", 2, "2026-11-26", "Erwiderung.pdf.p7s")
            + "<akte><xjustiz.fachspezifischeDaten><inhalt>"
            + paper("Urteil.pdf", "006")
            + "</inhalt></xjustiz.fachspezifischeDaten></akte>",
        ),
        "Erwiderung__pdf": pdf("Die Klage ist unbegründet."),
        "Erwiderung__pdf__p7s": b"\x30\x81",
        "Urteil__pdf": pdf("Im Namen des Volkes"),
    }
    path = exported(tmp_path / "563203462.zip", **files)
    async with office(tmp_path) as (home, pack):
        akten, kontakte, documents = (
            service(pack, "Akten"),
            kontakte_of(pack),
            service(pack, "Dokumente"),
        )
        other = akten.open(pack.person, "Reiter ./. Kranz")
        reiter = kontakte.add(pack.person, art="Firma", name="Holzbau Reiter GmbH")
        kontakte.take_part(pack.person, other, reiter, "Mandant")

        async def told(*words: str) -> str:
            assert await home.command("packs", "run", "kanzlei", *words) == 0
            return capsys.readouterr().out

        said = await told("nachricht-einlesen", str(path))
        assert said.startswith("0 übernommen") and "Wer davon ist Mandant?" in said
        run = ("packs", "run", "kanzlei", "nachricht-einlesen", str(path), "--mandant", "Niemand")
        assert await home.command(*run) != 0
        assert "steht nicht in der Nachricht" in capsys.readouterr().err
        said = await told("nachricht-einlesen", str(path), "--mandant", "wagner", "--probe")
        assert said.startswith("1 neu") and "5 Beteiligte, 11 Dokumente" in said
        assert "XJustiz 3.5.1 von Landgericht München I" in said and "nicht geprüft" in said
        assert [one.id for one in akten.find(pack.person)] == [other.id]

        said = await told("import", str(path), "--mandant", "Wagner")
        assert said.startswith("1 übernommen") and "Widerstreit möglich: Holzbau Reiter" in said
        akte = akten.find(pack.person)[0]
        assert akte.rubrum == "Eva Wagner ./. Holzbau Reiter GmbH"
        assert (akte.court, akte.court_az) == ("Landgericht München I", "12 O 345/26")
        parts = {one.contact.shown: (one.role, one.side) for one in kontakte.of_akte(akte)}
        assert parts == {
            "Eva Wagner": ("Mandant", "Mandant"),
            "Holzbau Reiter GmbH": ("Gegner", "Gegner"),
            "Kanzlei Sommer": ("Anwalt", "Mandant"),
            "Kanzlei Kranz": ("Anwalt", "Gegner"),
            "Jan Zeuge": ("Zeuge", ""),
        }
        eva = kontakte.find(pack.person, "Eva Wagner")[0]
        assert (eva.street, eva.zip, eva.city) == ("Am Weg 1 a", "80331", "München")
        assert len(kontakte.find(pack.person, "Holzbau")) == 1, "it was there"
        found = {one.name: one for one in documents.find(akte)}
        assert {one.folder for one in found.values()} == {"beA 563203462"}
        assert found["Erwiderung.pdf"].kind == "Schreiben"
        assert found["Erwiderung.pdf"].date == "2026-11-26"
        assert found["Urteil.pdf"].kind == "Urteil" and found["vhn.xml"].kind == "Herkunftsnachweis"
        assert found["Erwiderung.pdf.p7s"].kind == "Signatur"
        assert "Zugegangen: 27.11.2026" in found["563203462_export.html"].begin

        said = await told("nachricht-einlesen", str(path))
        assert said.startswith("0 übernommen, 11 schon da"), "the court's Aktenzeichen is known now"
        said = await told("einlesung-zurueck", "1")
        assert said.startswith("1 Akte, 4 Kontakte, 11 Dokumente zurückgenommen.")
        assert [one.id for one in akten.find(pack.person)] == [other.id]
        assert not documents.folder_of(akte).exists()

        await told("nachricht-einlesen", str(path), "--mandant", "Wagner")
        akte = akten.find(pack.person)[0]
        (witness,) = [one for one in kontakte.of_akte(akte) if one.role == "Zeuge"]
        kontakte.leave(pack.person, akte, witness.id)
        said = await told("nachricht-einlesen", str(path), "--probe")
        assert said.startswith("1 neu, 11 schon da") and "Neu beteiligt: Jan Zeuge" in said
        documents.keep(pack.person, akte, "Neu.txt", b"Neues")
        said = await told("einlesung-zurueck", "2")
        assert said.startswith("0 Akten, 0 Kontakte, 11 Dokumente") and "seither gebraucht" in said
        assert [one.name for one in documents.find(akte)] == ["Neu.txt"]


async def test_kz34_a_message_finds_its_akte(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """By our Aktenzeichen or the court's, else where the person says; from the XML beside its files
    too, of which none elsewhere is read; whom the Akte lacks is told."""
    place = tmp_path / "Eingang"
    place.mkdir()
    secret = tmp_path / "geheim.txt"
    secret.write_text("geheim")
    async with office(tmp_path, kanzlei="Kanzlei Sommer") as (home, pack):
        akte = service(pack, "Akten").open(pack.person, "Wagner ./. Reiter")
        documents = service(pack, "Dokumente")
        (place / "Urteil.pdf").write_bytes(pdf("Urteil"))
        (place / "Fremd.pdf").write_bytes(pdf("gehört nicht dazu"))
        (place / "Link.pdf").symlink_to(secret)
        papers = "".join(
            paper(one, "006") for one in ("Urteil.pdf", "../geheim.txt", "Link.pdf", "Fehlt.pdf")
        )
        xml = place / "xjustiz_nachricht.xml"
        others = COURT + PARTIES.replace("Kanzlei Sommer", "Kanzlei Anders")
        xml.write_bytes(message(HEAD_36, az=akte.az, case=others, papers=papers))

        async def told(*words: str) -> str:
            assert await home.command("packs", "run", "kanzlei", *words) == 0
            return capsys.readouterr().out

        said = await told("nachricht-einlesen", str(xml))
        assert said.startswith("1 übernommen") and "von Kanzlei Kranz" in said
        assert "In der Nachricht, nicht in der Akte: Eva Wagner; Holzbau" in said
        for missing in ("../geheim.txt fehlt", "Link.pdf fehlt", "Fehlt.pdf fehlt"):
            assert missing in said
        names = {one.name for one in documents.find(akte)}
        assert names == {"Urteil.pdf", "xjustiz_nachricht.xml"}
        assert (await told("einlesung-zurueck", "1")).startswith("2 Dokumente zurückgenommen")

        # Who the client is, the Akte says; who is new takes part, and leaves again.
        kontakte = kontakte_of(pack)
        eva = kontakte.add(pack.person, vorname="Eva", name="Wagner")
        kontakte.take_part(pack.person, akte, eva, "Mandant")
        said = await told("nachricht-einlesen", str(xml))
        assert "Neu beteiligt: Kanzlei Kranz, Anwalt" in said and "Eva Wagner" not in said
        parts = {one.contact.shown: (one.role, one.side) for one in kontakte.of_akte(akte)}
        assert parts == {
            "Eva Wagner": ("Mandant", "Mandant"),
            "Holzbau Reiter GmbH": ("Gegner", "Gegner"),
            "Kanzlei Anders": ("Anwalt", "Mandant"),
            "Kanzlei Kranz": ("Anwalt", "Gegner"),
            "Jan Zeuge": ("Zeuge", ""),
        }
        folder = documents.folder_of(akte)
        sealing = sys.modules["studio_pack_kanzlei.tools.office.sealing"]
        sealing.seal_folder(folder, b"k" * 32)
        assert await home.command("packs", "run", "kanzlei", "einlesung-zurueck", "2") == 1
        assert f"oeffnen {akte.az}" in capsys.readouterr().err
        assert len(kontakte.of_akte(akte)) == 5, "it is taken back once, so not in part"
        sealing.open_folder(folder, b"k" * 32)
        said = await told("einlesung-zurueck", "2")
        assert said.startswith("4 Beteiligte, 0 Kontakte, 2 Dokumente zurückgenommen.")
        assert [one.contact.id for one in kontakte.of_akte(akte)] == [eva.id]
        assert len(pack.records.read("SELECT * FROM konflikt WHERE akte = ?", akte.id)) == 4
        assert not documents.folder_of(akte).exists()

        # Another office has the same Aktenzeichen for a case of its own.
        same = HEAD_36.replace("K 9/26", akte.az)
        xml.write_bytes(message(same, az="?", case=others))
        said = await told("nachricht-einlesen", str(xml), "--probe")
        assert said.startswith("0 neu") and "Wer davon ist Mandant?" in said

        # The office represents the claimant, who is therefore the client.
        xml.write_bytes(message(HEAD_36, az="unbekannt", papers=paper("Urteil.pdf", "006")))
        said = await told("nachricht-einlesen", str(xml), "--probe")
        assert said.startswith("1 neu") and "4 Beteiligte, 2 Dokumente" in said

        both = part("101", "1", person("Eva", "Kranz")) + part("028", "2", person("Jan", "Kranz"))
        xml.write_bytes(message(HEAD_36, az="x", case=both))
        run = ("packs", "run", "kanzlei", "nachricht-einlesen", str(xml), "--mandant")
        assert await home.command(*run, "Kranz") != 0
        assert "auf beiden Seiten" in capsys.readouterr().err
        assert "1 neu" in await told(*run[3:], "Eva Kranz", "--probe")

        plain = exported(tmp_path / "alt.zip", "77")
        said = await told("nachricht-einlesen", str(plain))
        assert said.startswith("0 übernommen") and "nenne die Akte" in said
        said = await told("nachricht-einlesen", str(plain), "--az", akte.az)
        assert said.startswith("1 übernommen")
        assert {one.folder for one in documents.find(akte)} == {"beA 77"}


async def test_kz34_hostile_messages_are_refused(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """KZ-28, acceptance 9: entities, foreign roots, depth, bombs, passwords and broken files are
    told, and nothing is kept."""
    bomb = b'<!DOCTYPE a [<!ENTITY x "xxxxxxxxxx"><!ENTITY y "&x;&x;">]>' + message()[38:]
    outside = b'<!DOCTYPE a SYSTEM "http://127.0.0.1:1/a.dtd">' + message()[38:]
    deep = message(papers="<akte>" * 100 + "</akte>" * 100)
    wide = message(papers="<a/>" * 200_100)
    async with office(tmp_path) as (home, pack):
        akten = service(pack, "Akten")

        async def refused(path: Path, *why: str) -> None:
            run = ("packs", "run", "kanzlei", "nachricht-einlesen", str(path))
            await home.command(*run, "--mandant", "Wagner")
            out = capsys.readouterr()
            assert any(one in out.err for one in why), (why, out)

        xml = tmp_path / "xjustiz_nachricht.xml"
        for data, why in (
            (bomb, "DOCTYPE"),
            (outside, "DOCTYPE"),
            (b"<html/>", "keine XJustiz-Nachricht"),
            (b'<a xmlns="http://www.xjustiz.de"/>', "keine XJustiz-Nachricht"),
            (deep, "tiefer"),
            (wide, "größer"),
            (message()[:300], "beschädigt"),
            (b"", "beschädigt"),
            (b'<?xml version="1.0" encoding="x-nichts"?><a/>', "beschädigt"),
        ):
            xml.write_bytes(data)
            await refused(xml, why, "Zeichen")
        for name, data, why in (
            ("leer.zip", b"", "keine heile zip"),
            ("x.zip", b"PK\x03\x04 kein zip", "keine heile zip"),
            ("fehlt.zip", None, "gibt es nicht"),
        ):
            if data is not None:
                (tmp_path / name).write_bytes(data)
            await refused(tmp_path / name, why)
        with zipfile.ZipFile(tmp_path / "fremd.zip", "w") as archive:
            archive.writestr("a.txt", "x")
        await refused(tmp_path / "fremd.zip", "keinen Export")
        packed = io.BytesIO()
        with zipfile.ZipFile(packed, "w", zipfile.ZIP_DEFLATED) as archive:
            archive.writestr("1_export.html", "x")
            archive.writestr("../../boese.txt", "y")
            archive.writestr("gross.bin", b"\0" * 50_000_001)
            archive.writestr("bzip.bin", b"z", zipfile.ZIP_BZIP2)
        (tmp_path / "boese.zip").write_bytes(packed.getvalue())
        akte = akten.open(pack.person, "Wagner ./. Reiter")
        run = ("packs", "run", "kanzlei", "nachricht-einlesen", str(tmp_path / "boese.zip"))
        assert await home.command(*run, "--az", akte.az) == 0
        said = capsys.readouterr().out
        assert "gross.bin ist größer als 50 MB" in said and "bzip.bin ist auf eine Weise" in said
        place = service(pack, "Dokumente").folder_of(akte)
        assert sorted(one.name for one in place.rglob("*.*")) == ["1_export.html", "boese.txt"]
        assert all(one.is_relative_to(place / "beA 1") for one in place.rglob("*.*"))

        opened: list[object] = []

        class Counted(zipfile.ZipFile):
            def __init__(self, *args: Any, **more: Any) -> None:
                opened.append(args)
                super().__init__(*args, **more)

        with zipfile.ZipFile(tmp_path / "viele.zip", "w") as archive:
            for number in range(1_002):
                archive.writestr(f"{number}_export.html", "x")
        monkeypatch.setattr(sys.modules["studio_pack_kanzlei.tools.intake.bea"], "MOST_FILES", 1000)
        monkeypatch.setattr(zipfile, "ZipFile", Counted)
        run = ("packs", "run", "kanzlei", "nachricht-einlesen", str(tmp_path / "viele.zip"))
        assert await home.command(*run, "--az", akte.az, "--probe") == 0
        assert "Mehr als 1.000 Dateien" in capsys.readouterr().out
        assert len(opened) == 1, "the names of all are read once, not for each"
