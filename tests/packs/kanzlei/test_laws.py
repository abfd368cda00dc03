"""Laws of the pack Kanzlei: import, wordings by day, search, and citations."""

from __future__ import annotations

import asyncio
import csv
import datetime
import io
import json
import sys
import zipfile
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

import studio
from studio.agent.packs import PackHome
from studio.domain.errors import ToolFailed
from studio.domain.events import ToolFinished
from studio.extensions.packs.loading import load_class
from studio.simulator import Call, Text, Turn
from support.engine_home import EngineHome, engine_home, say
from support.local_site import SiteRequest, site
from support.office_home import switch_on

CHAT = "openai-compatible"
CASES = Path(__file__).parent / "cases"
LAWS = CASES / "laws"
PACK = Path(studio.__file__).parents[1] / "packs" / "kanzlei" / "org.agent-studio"
ALL_LAWS = CASES / "laws-2022.zip"
"""Twelve whole laws: the excerpts are too short to measure a search by them."""
HEAD = '<!DOCTYPE dokumente SYSTEM "http://127.0.0.1:9/gii-norm.dtd">'


@asynccontextmanager
async def office(tmp_path: Path, *calls: Call) -> AsyncIterator[tuple[EngineHome, PackHome, Any]]:
    script = [*(Turn(one) for one in calls), Turn(Text("Gut."))]
    async with engine_home(tmp_path, CHAT, script) as home:
        pack = switch_on(home)
        yield home, pack, pack.service(load_class("kanzlei", "tools.law.normen:Normen"))


def law(*sections: str, day: str = "20260105", short: str = "XG", head: str = HEAD) -> bytes:
    """A law as gesetze-im-internet.de writes it."""
    first = f"<jurabk>{short}</jurabk><langue>Ein Gesetz</langue>"
    norms = "".join(f"<norm>{one}</norm>" for one in (f"<metadaten>{first}</metadaten>", *sections))
    return f'{head}<dokumente builddate="{day}000000">{norms}</dokumente>'.encode()


def section(number: str, content: str, title: str = "Titel") -> str:
    return (
        f"<metadaten><jurabk>XG</jurabk><enbez>{number}</enbez><titel>{title}</titel></metadaten>"
        f"<textdaten><text><Content>{content}</Content></text></textdaten>"
    )


def zipped(**files: bytes) -> bytes:
    data = io.BytesIO()
    with zipfile.ZipFile(data, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in files.items():
            archive.writestr(name.replace("_", "."), content)
    return data.getvalue()


def test_a_law_is_read_by_absatz(kanzlei: SimpleNamespace) -> None:
    """KZ-27, KZ-29: lists and tables stay in their Absatz; repealed ranges and annexes are there."""
    read = kanzlei.laws.read_law(
        law(
            "<metadaten><gliederungseinheit><gliederungskennzahl>001</gliederungskennzahl>"
            "<gliederungsbez>Buch 1</gliederungsbez><gliederungstitel>Allgemeines</gliederungstitel>"
            "</gliederungseinheit></metadaten>",
            section(
                "§ 1a",
                "<P>(1) Eins, wenn</P><P><DL><DT>1.</DT><DD><LA>dies,</LA></DD><DT>2.</DT><DD><LA>"
                "das.<FnR ID='1'>9</FnR></LA></DD></DL></P><P>Danach.</P><P>(1a) Dann.</P>",
            ),
            section("(XXXX) §§ 3 bis 5", "<P>-</P>", "(weggefallen)"),
            section("Art 229 § 6", "<P>Ohne Absatz.</P>"),
            section("Anlage 2 (zu § 1)", "<table><row><entry>a</entry><entry>b</entry></row></table>"),
            section("Inhaltsübersicht", "<P>§ 1</P>"),
        ),
        "x.xml",
    )  # fmt: skip
    assert (read.short, read.title, read.day) == ("XG", "Ein Gesetz", "2026-01-05")
    by_number = {one.number: one for one in read.sections}
    assert list(by_number) == ["1a", "3", "4", "5", "229-6", "Anlage-2"]
    assert by_number["1a"].texts == {"1": "Eins, wenn\n1. dies,\n2. das.\nDanach.", "1a": "Dann."}
    assert by_number["1a"].place == "Buch 1 Allgemeines"
    assert by_number["229-6"].texts == {"": "Ohne Absatz."}
    assert by_number["Anlage-2"].texts == {"": "a b"}


BOMB = '<!DOCTYPE a [<!ENTITY a "aaaaaaaaaa"><!ENTITY b "&a;&a;&a;&a;&a;&a;">]>'
FETCH = '<!DOCTYPE a [<!ENTITY x SYSTEM "file:///etc/hostname">]>'


@pytest.mark.parametrize(
    ("data", "why"),
    [
        (law(section("§ 1", "&b;"), head=BOMB), "erklärt eigene Zeichen"),
        (law(section("§ 1", "&x;"), head=FETCH), "erklärt eigene Zeichen"),
        (law(section("§ 1", "<P>Halb"))[:-40], "ist beschädigt"),
        (law(section("§ 1", "<P>x</P>"), day="gestern"), "keinen Tag"),
        (law(), "enthält kein Gesetz"),
        (b"<html><body>Wartung</body></html>", "beginnt mit <html>"),
        (b"", "ist beschädigt"),
        (b'<?xml version="1.0" encoding="klingonisch"?><dokumente/>', "beschädigt"),
        (zipped(a_xml=b"<x/>", b_xml=b"PK"), "beginnt mit <x>"),
        (zipped(a_zip=b"PK\x05\x06"), "keine heile zip-Datei"),
    ],
)
def test_a_broken_file_stops_nothing(
    kanzlei: SimpleNamespace, tmp_path: Path, data: bytes, why: str
) -> None:
    """KZ-28: it is told in German, and the next one is read."""
    (tmp_path / "a.xml").write_bytes(data)
    (tmp_path / "b.xml").write_bytes(law(section("§ 1", "<P>Gut.</P>")))
    found = list(kanzlei.files.laws_of(tmp_path))
    assert [one.short for one in found if not isinstance(one, str)] == ["XG"]
    assert why in found[0]


@pytest.mark.parametrize("way", [zipfile.ZIP_BZIP2, zipfile.ZIP_LZMA])
def test_a_zip_that_unpacks_by_more_than_is_read_is_not_unpacked(
    kanzlei: SimpleNamespace, tmp_path: Path, way: int
) -> None:
    """KZ-28: bzip2 and LZMA give all of a bomb at once; the sites write neither."""
    data = law(section("§ 1", "<P>Gut.</P>"))
    packed, outer = io.BytesIO(), io.BytesIO()
    with zipfile.ZipFile(packed, "w", way) as made:
        made.writestr("a.xml", data)
    with zipfile.ZipFile(outer, "w", zipfile.ZIP_DEFLATED) as made:
        made.writestr("inner.zip", packed.getvalue())
    for name, content in (("laws.zip", packed), ("nested.zip", outer)):
        (tmp_path / name).write_bytes(content.getvalue())
        (told,) = kanzlei.files.laws_of(tmp_path / name)
        assert "auf eine Weise gepackt" in str(told)


def test_a_hostile_file_of_a_law_is_refused_in_time(
    kanzlei: SimpleNamespace, tmp_path: Path
) -> None:
    """KZ-28: what reading takes grows with the length of a file, not its square."""
    head = b"<dokumente builddate='20260105'>"
    (tmp_path / "a.xml").write_bytes(head + b"<a>" * 1_000_000)
    (tmp_path / "b.xml").write_bytes(
        law(section("§ 1", "<P>Gut.</P>")).replace(b"Titel", b"Titel" * 4_000_000, 1)
    )
    deep, long = kanzlei.files.laws_of(tmp_path)
    assert "zu tief verschachtelt" in deep
    assert len(long.sections[0].title) == 100_000


def test_a_zip_has_a_limit(
    kanzlei: SimpleNamespace, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """KZ-28: also one that unpacks to much, or has a zip within."""
    good = law(section("§ 1", "<P>Gut.</P>"))
    path = tmp_path / "laws.zip"
    path.write_bytes(zipped(a_zip=zipped(a_xml=good), b_xml=b" " * 60_000_000, c_xml=good))
    first, large, last = kanzlei.files.laws_of(path)
    assert (first.short, last.short) == ("XG", "XG")
    assert "größer als 50 MB" in large
    monkeypatch.setattr(kanzlei.files, "MOST_UNPACKED", 1_000_000)
    assert "mehr als 2 GB" in list(kanzlei.files.laws_of(path))[-1]
    with pytest.raises(ToolFailed, match="gibt es nicht"):
        list(kanzlei.files.laws_of(tmp_path / "fehlt.zip"))


async def test_old_wordings_stay_with_their_days(tmp_path: Path) -> None:
    """KZ-28: importing is repeatable; an older file is refused; a change is found by its day."""
    path = tmp_path / "xg.xml"
    async with office(tmp_path) as (_, _, normen):
        path.write_bytes(law(section("§ 1", "<P>(1) Alt.</P><P>(2) Bleibt.</P>"), day="20260105"))
        assert (normen.add(path).changed, normen.add(path).changed) == (2, 0)
        path.write_bytes(law(section("§ 1", "<P>(1) Neu.</P><P>(2) Bleibt.</P>"), day="20260301"))
        assert normen.add(path).changed == 1
        path.write_bytes(law(section("§ 1", "<P>(1) Uralt.</P>"), day="20251231"))
        assert "ist älter als der Stand vom 2026-03-01" in normen.add(path).problems[0]
        cited = load_class("kanzlei", "tools.law.citations:Citation")("xg", "1")
        now, then = normen.section(cited), normen.section(cited, "2026-02-28")
        assert now.texts == {"1": "Neu.", "2": "Bleibt."}
        assert then.texts == {"1": "Alt.", "2": "Bleibt."}
        assert (now.stand, then.stand) == ("So 01.03.2026", "Mo 05.01.2026")
        assert normen.section(cited, "2026-01-04") is None
        assert now.warning(datetime.date(2026, 5, 30)) == ""
        assert "91 Tage alt" in now.warning(datetime.date(2026, 5, 31))
        assert [one.texts["1"] for one, _ in normen.search("neues", law="XG")[0]] == ["Neu."]
        assert normen.search("Alt", law="XG")[1] == 0
        path.write_bytes(law(section("§ 2", "<P>Anders.</P>"), day="20260401"))
        assert normen.add(path).changed == 3
        assert normen.section(cited) is None and normen.section(cited, "2026-03-31")


async def test_an_import_that_was_ended_is_made_whole(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """KZ-28: repeated, also where nothing changed since, its laws are found."""
    path = tmp_path / "xg.xml"
    path.write_bytes(law(section("§ 1", "<P>Ein Wort, noch ein Wort, ein letztes Wort.</P>")))
    async with office(tmp_path) as (_, _, normen):
        assert normen.has("BGB")  # its excerpt came with the first use
        with monkeypatch.context() as ended:
            ended.setattr(normen, "_index", lambda: (_ for _ in ()).throw(KeyboardInterrupt))
            with pytest.raises(KeyboardInterrupt):
                normen.add(path)
        assert normen.search("Wort", law="XG")[1] == 0
        assert normen.add(path).changed == 0
        assert normen.search("Wort", law="XG")[1] == 1


async def test_laws_are_found_with_their_stand(tmp_path: Path) -> None:
    """KZ-8, KZ-28, KZ-35: by words and by citation, as the agent gets them."""
    calls = [
        Call("search_gesetze", {"query": "Kündigungen durch Vermieter, berechtigte Interessen"}),
        Call("search_gesetze", {"query": "§ 573 Abs. 2 BGB"}),
        Call("search_gesetze", {"query": "Klage", "law": "kschg"}),
        Call("search_gesetze_detail", {"citation": "kanzlei:norm/BGB/573/2"}),
        Call("search_gesetze_detail", {"citation": "§ 573 Abs. 9 BGB"}),
        Call("search_gesetze_detail", {"citation": "§ 9999 BGB"}),
        Call("search_gesetze_detail", {"citation": "§ 1 AktG"}),
        Call("search_gesetze_detail", {"citation": "die Mieten"}),
        Call("search_gesetze", {"query": "Zinsen", "day": "2001-01-01"}),
    ]
    async with office(tmp_path, *calls) as (home, _, normen):
        assert normen.add(LAWS).problems == []
        said = [one for one in await say(await home.session()) if isinstance(one, ToolFinished)]
        words, cited, klage, whole, far, missing, other, none, before = said
        assert any(one.startswith("kanzlei:norm/BGB/573") for one in words.sources[:3])
        assert "Sa 26.03.2022 (Art. 4 Abs. 6 G v. 7.5.2021 I 850)" in words.text
        assert "Prüfe den Wortlaut" in words.text
        assert cited.sources == ("kanzlei:norm/BGB/573/2",)
        assert all("/KSchG/" in one for one in klage.sources) and klage.sources
        assert "2. der Vermieter die Räume als Wohnung" in whole.text and "(3)" not in whole.text
        assert "§ 573 BGB hat keinen Absatz 9" in far.text
        assert "§ 9999 BGB gibt es im Bestand nicht" in missing.text
        assert "darin sind: AO, ArbGG, BGB" in other.text and "gesetze-import" in other.text
        assert "nennt keine Norm" in none.text
        assert '"total": 0' in before.text
        shown = home.engine.services.packs.resolve(
            ["kanzlei:norm/BGB/573/2", "kanzlei:norm/AktG/1"]
        )
        assert [one.title if one else None for one in shown.values()] == [
            "§ 573 II BGB: Ordentliche Kündigung des Vermieters",
            "§ 1 AktG",
        ]


async def test_kz31_the_office_says_what_its_words_mean_too(tmp_path: Path) -> None:
    """Synonyms that it edits in the settings, by stems; a line that is none changes nothing."""
    async with office(tmp_path) as (_, pack, normen):

        def found(query: str) -> list[str]:
            return [f"§ {one.number} {one.law}" for one, _ in normen.search(query)[0]]

        assert not found("Rausschmisse")
        pack.settings_file.parent.mkdir(parents=True, exist_ok=True)
        said = "Rausschmiss, Rauswurf=Kündigungsfrist; ; nichts; =leer; Knöllchen = Bußgeld"
        pack.settings_file.write_text(json.dumps({"synonyme": said}))
        assert "§ 622 BGB" in found("Rausschmisse")[:3] and "§ 622 BGB" in found("Rauswurf")[:3]
        assert not found("xqzwk")


async def test_a_new_pack_has_the_law_it_computes_with(tmp_path: Path) -> None:
    """KZ-27: excerpts of 2022 with a warning. What they lack is not called invented, and whole laws
    that are imported stand in their place."""
    calls = [
        Call("search_gesetze", {"query": "Wann endet eine Frist am Sonntag?"}),
        Call("search_gesetze_detail", {"citation": "§ 13 RVG"}),
        Call("search_gesetze_detail", {"citation": "§ 434 BGB"}),
        Call("check_zitate", {"text": "Nach §§ 199, 434, 9999 BGB und § 195 Abs. 3 BGB."}),
    ]
    async with office(tmp_path, *calls) as (home, _, normen):
        said = [one for one in await say(await home.session()) if isinstance(one, ToolFinished)]
        words, fees, lacking, checked = said
        assert "kanzlei:norm/BGB/193" in words.sources
        assert "Sa 26.03.2022" in words.text and "Prüfe den Wortlaut" in words.text
        assert "seit dem 01.06.2025 andere" in fees.text
        assert "nur ein Auszug" in lacking.text and "gesetze-import" in lacking.text
        assert [one["befund"] for one in json.loads(checked.text)["data"]] == [
            *("gefunden", "nicht im Bestand", "nicht im Bestand", "nicht gefunden"),
        ]
        citation = load_class("kanzlei", "tools.law.citations:Citation")
        cited_in = sys.modules[citation.__module__].citations
        with (PACK / "data" / "deadline_kinds.csv").open() as file:
            named = {
                one
                for row in csv.DictReader(file)
                for one in cited_in(f"{row['norm']}, {row['moved_by']}")
            }
        assert [str(one) for one in named if normen.section(one) is None] == []

        normen.add(LAWS)
        bgb = next(one for one in normen.laws() if one["kurz"] == "BGB")
        assert not bgb["auszug"]
        assert normen.section(citation("BGB", "1944")) is None, "the whole law does not have it"
        normen._add_shipped()
        assert normen.section(citation("BGB", "1944")) is None, "nothing is put over a whole law"


def test_compounds_are_split_by_the_words_of_the_texts(kanzlei: SimpleNamespace) -> None:
    """KZ-31: the more even split wins, twice; a word that is seen rarely splits nothing."""
    known = kanzlei.words.vocabulary(["Klage Frist Schutz Kündigung schutzklage"] * 3 + ["Miete"])
    assert kanzlei.words.parts("kündigungsschutzklage", known.__contains__) == [
        *("kündigung", "schutzklage", "schutz", "klage"),
    ]
    assert kanzlei.words.parts("mietfrist", known.__contains__) == []
    assert kanzlei.words.ends("werkschutzklage", known.__contains__) == ["schutzklage"]
    assert kanzlei.words.ends("klagenkunde", known.__contains__) == ["klage"]
    assert kanzlei.words.ends("klagefrist", known.__contains__) == []
    assert kanzlei.words.asked("Die Klagefristen", known.__contains__)[0] == "klagefrist"


@pytest.mark.long
async def test_the_search_finds_what_is_asked(tmp_path: Path) -> None:
    """KZ-31: R@10 of the 70 questions in twelve whole laws is at least 0.85."""
    with (CASES / "search_cases.csv").open() as file:
        cases = list(csv.DictReader(file))
    async with office(tmp_path) as (_, _, normen):
        assert normen.add(ALL_LAWS).problems == []
        missed = []
        for case in cases:
            found, _ = normen.search(case["query"], most=10)
            wanted = case["expected_norms"].split("; ")
            if not any(str(one.citation) in wanted for one, _ in found):
                missed.append(case["query"])
    assert 1 - len(missed) / len(cases) >= 0.85, missed


CITED = {
    "§ 433 BGB": "§ 433 BGB",
    "§ 433 Abs. 1 S. 1 BGB": "§ 433 I S. 1 BGB",
    "§ 433 I 1 BGB": "§ 433 I S. 1 BGB",
    "§ 312 I 1 und 2 BGB": "§ 312 I S. 1 BGB, § 312 I S. 2 BGB",
    "Die §§ 1 und 2 KSchG gelten.": "§ 1 KSchG, § 2 KSchG",
    "§ 823 Abs. 2 BGB i. V. m. § 263 StGB": "§ 823 II BGB, § 263 StGB",
    "§ 280 I, III i.V.m. § 281 I 1 BGB": "§ 280 I BGB, § 280 III BGB, § 281 I S. 1 BGB",
    "§ 280 BGB i. V. m. § 286": "§ 280 BGB, § 286 BGB",
    "§ 280 Abs. 1 in Verbindung mit Abs. 3 BGB": "§ 280 I BGB, § 280 III BGB",
    "§§ 692 I Nr. 3, 694 ZPO": "§ 692 I Nr. 3 ZPO, § 694 ZPO",
    "§§ 280 Abs. 1, 3, 281 BGB": "§ 280 I BGB, § 280 III BGB, § 281 BGB",
    "§§ 700 I, 339 ZPO": "§ 700 I ZPO, § 339 ZPO",
    "§§ 433 bis 435 BGB": "§ 433 BGB, § 434 BGB, § 435 BGB",
    "§§ 511 ff. ZPO": "§ 511 ZPO",
    "§ 5 Abs. 1 bis 3 KSchG": "§ 5 I KSchG, § 5 II KSchG, § 5 III KSchG",
    "§ 3 Abs. 1a UWG": "§ 3 Ia UWG",
    "§ 543 Abs. 2 Satz 1 Nr. 3 lit. a BGB": "§ 543 II S. 1 Nr. 3 BGB",
    "§ 812 Abs. 1 Satz 1 1. Alt. BGB": "§ 812 I S. 1 BGB",
    "Art. 2 Abs. 1 i. V. m. Art. 1 Abs. 1 GG": "Art. 2 I GG, Art. 1 I GG",
    "Art. 229 § 5 EGBGB": "Art. 229 § 5 EGBGB",
    "Art. 6 DS-GVO": "Art. 6 DSGVO",
    "§ 27 Abs. 1 SGB V": "§ 27 I SGB V",
    "§ 433 des Bürgerlichen Gesetzbuchs": "§ 433 BGB",
    "§ 222 II ZPO; § 187 BGB": "§ 222 II ZPO, § 187 BGB",
    "VV 2300 RVG, Nr. 1210 KV GKG": "VV 2300 RVG, KV 1210 GKG",
    "§§ 311 Abs. 2, 241 Abs. 2 BGB": "§ 311 II BGB, § 241 II BGB",
    "§ 280 Abs. 1, Abs. 3, § 283 BGB": "§ 280 I BGB, § 280 III BGB, § 283 BGB",
    "§§ 312 g, 355 BGB": "§ 312g BGB, § 355 BGB",
    "§ 433 f. BGB": "§ 433 BGB",
    "BGB § 433": "§ 433 BGB",
    "§ 97 ZPO und § 708 Nr. 10, § 711 ZPO": "§ 97 ZPO, § 708 Nr. 10 ZPO, § 711 ZPO",
    "§ 823 I BGB i. V. m. Art. 2 I, Art. 1 I GG": "§ 823 I BGB, Art. 2 I GG, Art. 1 I GG",
    "Die Muster GmbH hat in § 5 der Satzung, § 6 AG München": "",
    "§ 5 gilt nicht. Das BGB schon.": "",
    "§ 433 BGB und § 434": "§ 433 BGB",
    "§ 4 Abs. 999 BGB": "",
    "§": "",
}


@pytest.mark.parametrize("text", CITED)
def test_citations_are_read(kanzlei: SimpleNamespace, text: str) -> None:
    """KZ-29: as lawyers write them; what names no law is not guessed."""
    assert ", ".join(map(str, kanzlei.norms.citations(text))) == CITED[text]


def test_three_hundred_citations_are_read(kanzlei: SimpleNamespace) -> None:
    """KZ-29: of the list 295 of 300 right, and none wrong: what is not read is left out. Decisions
    have ``=D`` before them; several readings that are right have ``|`` between them."""
    with (CASES / "citations.csv").open(encoding="utf-8") as file:
        cases = list(csv.DictReader(file))
    missed, wrong = [], []
    for case in cases:
        text, expected = case["text"], case["expected"]
        got = ", ".join(map(str, kanzlei.norms.citations(text)))
        decisions = [one.text for one in kanzlei.decisions.decisions(text)]
        named = f"=D {decisions[0]}" if decisions else got
        if named not in expected.split("|") or (decisions and got):
            (wrong if named else missed).append(f"{text}: {named}")
    assert len(cases) >= 300 and wrong == []
    assert len(missed) <= len(cases) / 60, missed


SECTIONS = st.from_regex(r"[1-9][0-9]{0,3}[a-z]?", fullmatch=True)
SMALL = st.integers(1, 39).map(str)


@given(
    law=st.sampled_from(["BGB", "ZPO", "StVG", "KSchG", "InsO", "SGB V", "VwGO", "AO"]),
    section=SECTIONS,
    absatz=st.one_of(st.just(""), SMALL),
    satz=st.one_of(st.just(""), SMALL),
    nummer=st.one_of(st.just(""), SMALL),
)
def test_a_citation_that_is_written_is_read(
    kanzlei: SimpleNamespace, law: str, section: str, absatz: str, satz: str, nummer: str
) -> None:
    """KZ-29: both ways, as text and as address."""
    one = kanzlei.norms.Citation(law, section, absatz, satz, nummer)
    assert kanzlei.norms.citations(f"Nach {one} ist es so.") == [one]
    found = kanzlei.norms.cited_by(one.address)
    assert (found.law, found.section, found.absatz) == (law, section, absatz)


@given(st.text(st.sampled_from("§ArtAbs. IVXS1234,;-bisiVmBGBZPO "), max_size=60))
def test_no_text_breaks_the_reader(kanzlei: SimpleNamespace, text: str) -> None:
    """KZ-29: it ends, and what it finds can be found again."""
    for one in kanzlei.norms.citations(text):
        assert one.law and one.section
        assert kanzlei.norms.cited_by(one.address) is not None, one.address


TEXT = """Nach § 573 Abs. 2 Nr. 2 BGB i. V. m. § 9999 BGB kann gekündigt werden, siehe § 573 Abs. 7 BGB
und § 573 Abs. 2 Nr. 8 BGB. Es gilt § 1 AktG, Nr. 2300 VV RVG und § 566 Abs. 1 BGB.

§ 568 Abs. 1 BGB: „Die Kündigung des Mietverhältnisses bedarf der schriftlichen Form.“

In § 188 Abs. 1 BGB heißt es: „Eine nach Tagen bestimmte Frist endigt […] des letzten Tages der Frist.“

Dagegen § 195 BGB: „Die regelmäßige Verjährungsfrist beträgt dreißig Jahre.“

So auch BGH, Urteil vom 12. März 2020 – IX ZR 125/17 und BGHZ 123, 45.
"""


async def test_invented_citations_are_marked(tmp_path: Path) -> None:
    """KZ-30: as not found where the law is there, else as not in the store; and a false wording."""
    (tmp_path / "Klage.txt").write_text(TEXT)
    calls = [Call("check_zitate", {"text": TEXT}), Call("check_zitate", {"text": " "})]
    async with office(tmp_path, *calls) as (home, _, normen):
        normen.add(LAWS)
        said = [one for one in await say(await home.session()) if isinstance(one, ToolFinished)]
        found = {one["zitat"]: one for one in json.loads(said[0].text)["data"]}
        assert {name: one["befund"] for name, one in found.items()} == {
            "§ 573 II Nr. 2 BGB": "gefunden",
            "§ 9999 BGB": "nicht gefunden",
            "§ 573 VII BGB": "nicht gefunden",
            "§ 573 II Nr. 8 BGB": "nicht gefunden",
            "§ 1 AktG": "nicht im Bestand",
            "§ 566 I BGB": "nicht gefunden",
            "§ 568 I BGB": "gefunden",
            "§ 188 I BGB": "gefunden",
            "§ 195 BGB": "gefunden",
            "VV 2300 RVG": "nicht im Bestand",
            "BGH, Urteil vom 12. März 2020 – IX ZR 125/17": "nicht im Bestand",
            "BGHZ 123, 45": "nicht im Bestand",
        }
        wrong = [name for name, one in found.items() if "weicht ab" in one.get("hinweis", "")]
        assert wrong == ["§ 195 BGB"]
        assert "kanzlei:norm/BGB/573/2" in said[0].sources
        assert "kanzlei:norm/BGB/9999" not in said[0].sources
        assert "Gib den ganzen Text" in said[1].text


@pytest.mark.parametrize(
    "text",
    [
        "BGH, Urteil vom 12. März 2020 – IX ZR 125/17",
        "BGH, Beschl. v. 14.12.2005 – IX ZB 198/04",
        "OLG München, Urt. v. 3.2.2021 - 7 U 1234/20",
        "BAG 14.12.2005 - 2 AZR 12/04",
        "BVerfG, Beschluss vom 1. Juli 2019 – 1 BvR 1234/17",
        "AG Köln, Beschluss vom 2. Juli 2025 – 312 F 130/25",
        "EuGH, Urteil vom 4.5.2023 – C-300/21",
        "ECLI:DE:BGH:2020:120320UIXZR125.17.0",
        "BGHZ 123, 45",
    ],
)
def test_decisions_are_seen(kanzlei: SimpleNamespace, text: str) -> None:
    """KZ-29: by court, day and Aktenzeichen, ECLI or collection."""
    assert [one.text for one in kanzlei.decisions.decisions(f"Vgl. {text}.")] == [text]


async def test_kz28_a_site_that_sends_a_few_bytes_at_a_time_is_left(
    kanzlei: SimpleNamespace, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each byte ends a silence, so that only a limit on the whole ends the download."""

    async def trickle(_: SiteRequest, writer: asyncio.StreamWriter) -> None:
        writer.write(b"HTTP/1.1 200 OK\r\nContent-Length: 100000\r\n\r\nabc")
        await writer.drain()
        await gone.wait()

    gone = asyncio.Event()
    monkeypatch.setattr(kanzlei.fetching, "_WHOLE", 0.0)
    async with site() as here:
        here.pages["/bgb/xml.zip"] = trickle
        fetch = kanzlei.fetching.fetched
        address, hosts = f"{here.url}/bgb/xml.zip", (here.url.removeprefix("http://"),)
        try:
            with pytest.raises(ToolFailed, match="braucht zu lange"):
                await asyncio.to_thread(fetch, address, Path.read_bytes, hosts)
        finally:
            gone.set()
