"""Decisions of the pack Kanzlei: import, search, and whether a draft cites what exists."""

from __future__ import annotations

import asyncio
import io
import json
import sys
import zipfile
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import pytest

from studio.domain.errors import ToolFailed
from studio.domain.events import ToolFinished
from studio.extensions.packs.loading import load_class
from studio.simulator import Call, Text, Turn
from support.decision_files import (
    FEDERAL,
    OF_THE_LAND,
    PLAIN,
    case,
    cases,
    judgment,
    listed,
    row,
)
from support.engine_home import engine_home, say
from support.local_site import Site, site
from support.office_home import service, switch_on

CASES = Path(__file__).parent / "cases"


def write(folder: Path, **files: bytes) -> Path:
    folder.mkdir(exist_ok=True)
    for name, data in files.items():
        (folder / f"{name}.xml").write_bytes(data)
    return folder


ZIPS = "http://www.rechtsprechung-im-internet.de/jportal/docs/bsjrs"
ROWS = (
    row("BGH 9. Zivilsenat", "20100114", "IX ZB 72/08", f"{ZIPS}/jb-JURE100055033.zip"),
    row("BGH 9. Zivilsenat", "20100218", "IX ZB 72/08", f"{ZIPS}/jb-A.zip"),
    row("BGH 9. Zivilsenat", "20200312", "IX ZR 125/17", f"{ZIPS}/jb-B.zip"),
    row("BAG 2. Senat", "20220505", "2 AZR 12/21", f"{ZIPS}/jb-C.zip"),
    row("BAG 2. Senat", "20220505", "12 AZR 12/21", f"{ZIPS}/jb-D.zip"),
    row("BFH", "gestern", "I R 1/20", f"{ZIPS}/jb-E.zip"),
    row("BFH", "20220505", "I R 2/20", "http://example.com/jb-F.zip"),
)


async def test_kz27_a_decision_is_found_in_the_list_of_all(tmp_path: Path) -> None:
    """KZ-27, KZ-28: as it is cited, in parts and in any order; what leads elsewhere is no row; a
    broken or hostile list leaves the last one, and one of the real size is read in pieces."""
    async with engine_home(tmp_path, "openai-compatible", []) as home:
        pack = switch_on(home)
        store = pack.service(load_class("kanzlei", "tools.law.verzeichnis:Verzeichnis"))
        urteile = pack.service(load_class("kanzlei", "tools.law.urteile:Urteile"))
        path = tmp_path / "rii-toc.xml"
        with pytest.raises(ToolFailed, match="Lade zuerst das Verzeichnis"):
            store.wanted("IX ZB 72/08")
        path.write_bytes(listed(*ROWS))
        assert store.replace(path) == 5
        urteile.add(write(tmp_path / "in", a=judgment()))

        def found(words: str) -> list[str]:
            return [one.name for one in store.find(words)[0]]

        first = "BGH 9. Zivilsenat, 14.01.2010, IX ZB 72/08"
        second = "BGH 9. Zivilsenat, 18.02.2010, IX ZB 72/08"
        assert found("IX ZB 72/08") == found("bgh ixzb72/08") == [second, first]
        assert found("BGH, Beschluss vom 14. 1.2010 – IX ZB 72/08, Rn. 7") == [first]
        assert found("14.01.2010") == [first] and found("BGH 125/17")[0].endswith("IX ZR 125/17")
        assert found("2 AZR 12/21")[0].endswith(", 2 AZR 12/21"), "before 12 AZR 12/21"
        assert found("BFH") == found("") == found("Kündigung") == []
        assert [one.known for one in store.find("IX ZR 125/17")[0]] == [True]
        assert store.find("BGH", most=1)[1] == 3
        address = "https://www.rechtsprechung-im-internet.de/jportal/docs/bsjrs/jb-C.zip"
        assert store.wanted("BAG vom 05.05.2022, 2 AZR 12/21") == address
        assert store.wanted(address) == address
        for words, why in (
            ("IX ZB 72/08", "Das sind 2 Entscheidungen.*14.01.2010"),
            ("I R 2/20", "steht nicht im Verzeichnis"),
            ("31.02.2010", "ist kein Tag"),
        ):
            with pytest.raises(ToolFailed, match=why):
                store.wanted(words)
        for broken, why in (
            (listed(*ROWS)[:-30], "beschädigt"),
            (listed(head=BOMB), "ENTITY"),
            (b"<dokumente/>", "beginnt mit <dokumente>"),
            (listed(ROWS[-1]), "nennt keine Entscheidung"),
            (b"", "beschädigt"),
        ):
            path.write_bytes(broken)
            with pytest.raises(ToolFailed, match=why):
                store.replace(path)
            assert store.state[0] == 5 and found("14.01.2010") == [first]
        many = (row("BGH 1. Zivilsenat", "20200312", f"I ZR {n}/19", f"{ZIPS}/jb-{n}.zip")
                for n in range(83_300))  # fmt: skip
        path.write_bytes(listed(*many))
        reads = sys.modules[type(store).__module__].read_list
        rows = reads(path, ("www.rechtsprechung-im-internet.de",))
        with path.open("r+b") as file:  # after its first piece was read, it is cut off
            next(rows)
            file.truncate(200_000)
        with pytest.raises(ToolFailed, match="beschädigt"):
            list(rows)


BOMB = '<!DOCTYPE a [<!ENTITY a "aaaaaaaaaa"><!ENTITY b "&a;&a;&a;&a;&a;&a;">]>'


async def test_decisions_are_found_and_read(tmp_path: Path) -> None:
    """KZ-27, KZ-28, KZ-35: by words, court, day, norm and Aktenzeichen, with their Randnummern; a
    hostile file is told and stops nothing; importing twice changes nothing."""
    other = judgment(
        doknr="X2", ecli="", aktenzeichen="2 AZR 12/21", gertyp="BAG", entsch_datum="20220505",
        norm="§ 1 KSchG", titelzeile="Betriebsbedingte Kündigung",
    )  # fmt: skip
    zipped = io.BytesIO()
    with zipfile.ZipFile(zipped, "w") as archive:
        archive.writestr("lease.xml", judgment())
    folder = write(
        tmp_path / "in", a_bomb=judgment(head=BOMB, grounds="&b;"), b_cut=other[:-30],
        c_law=b"<dokumente/>", d_day=judgment(doknr="X3", entsch_datum="gestern"), e_good=other,
        f_text=b"\xff\xfe\x00kein XML", g_none=b"",
    )  # fmt: skip
    (folder / "z.zip").write_bytes(zipped.getvalue())
    calls = [
        Call("search_urteile", {"query": "vorgetäuschter Eigenbedarf"}),
        Call("search_urteile", {"query": "Kündigung", "court": "BAG", "since": "2022-01-01"}),
        Call("search_urteile", {"query": "", "norm": "§ 573 BGB"}),
        Call("search_urteile", {"query": "IX ZR 125/17"}),
        Call("search_urteile_detail", {"id": 2, "rn": "2"}),
        Call("search_urteile_detail", {"id": 99}),
        Call("search_urteile", {"query": "x", "norm": "die Miete"}),
    ]
    script = [*(Turn(one) for one in calls), Turn(Text("Gut."))]
    async with engine_home(tmp_path, "openai-compatible", script) as home:
        pack = switch_on(home)
        urteile = pack.service(load_class("kanzlei", "tools.law.urteile:Urteile"))
        done = urteile.add(folder)
        assert (done.laws, done.changed, len(done.problems)) == (2, 2, 6), done.problems
        assert any("ENTITY" in one for one in done.problems)
        assert urteile.add(folder).changed == 0
        said = [one for one in await say(await home.session()) if isinstance(one, ToolFinished)]
        words, court, norm, number, whole, missing, wrong = said
        assert words.sources[0] == norm.sources[0] == number.sources[0] == "kanzlei:urteil/2"
        assert court.sources == ("kanzlei:urteil/1",)
        assert "[Rn. 2] Die Anbietpflicht ist verletzt." in whole.text
        assert "Räumung" not in whole.text and "kanzlei:urteil/2#rn2" in whole.sources
        assert "keine Entscheidung 99" in missing.text and "nennt keine Norm" in wrong.text
        shown = home.engine.services.packs.resolve(["kanzlei:urteil/2#rn2", "kanzlei:urteil/9"])
        titles = [one.title if one else None for one in shown.values()]
        assert titles == ["BGH, Urteil vom 12.03.2020, IX ZR 125/17, Rn. 2", None]


JSON = "application/json"
BROKEN = "<p>Text</p><![x[ a"
LAND = case(11, "Oberlandesgericht Köln", "2022-05-04", "7 U 12/21")
OTHERS = (LAND, case(12, "Oberlandesgericht Celle", "2022-05-04", "7 U 12/21"))


def is_read(page: str) -> bool:
    """Whether Python's parser reads a page; newer ones read every page."""
    parser = HTMLParser()
    try:
        parser.feed(page)
        parser.close()
    except AssertionError:
        return False
    return True


def holds(here: Site, number: int, content: object, **fields: object) -> None:
    """The site has a decision with its text."""
    made = next((one for one in OTHERS if one["id"] == number), None)
    shown = (made or case(number, "Bundesgerichtshof", "2020-03-12", "IX ZR 125/17")) | fields
    here.page(f"/api/cases/{number}/", json.dumps(shown | {"content": content}), JSON)


async def test_kz27_a_decision_is_taken_from_a_collection_that_is_not_official(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """KZ-27, KZ-28, KZ-30: one by its Aktenzeichen, court and day, without a key; each answer that
    names it says where it is from and how old it is; what is not there is not called invented, and
    the official text takes its place."""
    cited = "OLG Köln, Urteil vom 04.05.2022 – 7 U 12/21"
    wrong = "OLG Bonn, Urteil vom 04.05.2022 – 7 U 12/21", cited.replace("04.05", "05.05")
    text = f"Vgl. {cited}. Anders {wrong[0]}. Ähnlich {wrong[1]}."
    calls = [
        Call("search_urteile", {"query": "vorgetäuschter Bedarf"}),
        Call("search_urteile_detail", {"id": 1, "rn": "2"}),
        Call("check_zitate", {"text": f"{text} Ebenso BGH, Urteil vom 12.03.2020 – IX ZR 125/17."}),
    ]
    script = [*(Turn(one) for one in calls), Turn(Text("Gut."))]
    async with engine_home(tmp_path, "openai-compatible", script) as home, site() as here:
        pack = switch_on(home)
        urteile = pack.service(load_class("kanzlei", "tools.law.urteile:Urteile"))
        load_class("kanzlei", "tools.law.openlegaldata:Urteile")
        opened = sys.modules[type(urteile).__module__.replace("urteile", "openlegaldata")]
        base, hosts = f"{here.url}/api/cases/", (here.url.removeprefix("http://"),)

        async def load(words: str) -> int:
            return (await asyncio.to_thread(opened.load, urteile, words, base, hosts)).changed

        async def refused(words: str, why: str) -> None:
            with pytest.raises(ToolFailed, match=why):
                await load(words)

        here.page("/api/cases/", cases(*OTHERS), JSON)
        holds(here, 11, OF_THE_LAND)
        await refused("7 U 12/21", "Das sind 2 .*OLG Köln, 04.05.2022, 7 U 12/21; OLG Celle")
        await refused("OLG Köln, 05.05.2022, 7 U 12/21", "hat de.openlegaldata.io nicht. Dort gibt")
        for words in ("Kündigung", "BGHZ 12, 34", "7 U 12/21; DROP", ""):
            await refused(words, "Nenne eine Entscheidung")
        command = ("run", "kanzlei", "urteile-laden", "Kündigung", "--openlegaldata")
        assert await home.command("packs", *command) == 1
        assert "Nenne eine Entscheidung" in capsys.readouterr().err
        assert await load(cited) == 1 and await load(cited) == 0
        asked = here.asked[-2]
        assert asked.target == "/api/cases/?file_number=7+U+12%2F21&page_size=20"
        assert "authorization" not in asked.headers
        holds(here, 11, OF_THE_LAND, updated_date="2024-01-02T00:00:00Z")
        assert await load(cited) == 1, "there it was changed"

        ecli = "ECLI:DE:BGH:2020:120320UIXZR125.17.0"
        federal = case(13, "Bundesgerichtshof", "2020-03-12", "IX ZR 125/17", ecli=ecli)
        here.page("/api/cases/", cases(federal), JSON)
        holds(here, 13, FEDERAL, ecli=ecli)
        await refused(f"{ecli[:-1]}1", "hat de.openlegaldata.io nicht. Dort gibt es: BGH")
        assert await load(ecli) == 1
        assert "?ecli=ECLI%3ADE" in here.asked[-2].target
        (one,) = urteile.cited("IX ZR 125/17")
        assert one.name == "BGH, Urteil vom 12.03.2020, IX ZR 125/17"
        assert one.headnote == "Wer Eigenbedarf vortäuscht, haftet."
        assert [*urteile.paragraphs(one)][-1][:2] == ("Gründe", "2") and one.source

        said = [one for one in await say(await home.session()) if isinstance(one, ToolFinished)]
        found, read, checked = said
        note = "Von de.openlegaldata.io, keiner amtlichen Stelle (geladen am"
        assert note in found.text and "dort geändert am 02.01.2024" in found.text
        assert "[Rn. 2] Der Bedarf war vorgetäuscht.\\nDafür haftet" in read.text
        assert "Räumung" not in read.text and "alert" not in read.text
        state = [
            (one["befund"], note in one.get("hinweis", ""))
            for one in json.loads(checked.text)["data"]
        ]
        there, gone = ("gefunden", True), ("nicht im Bestand", False)
        assert state == [there, gone, gone, there]

        urteile.add(write(tmp_path / "in", lease=judgment()))
        (official,) = urteile.cited("IX ZR 125/17")
        assert official.id == one.id and not official.note
        await refused("BGH IX ZR 125/17", "schon im Bestand, und zwar amtlich")


@pytest.mark.parametrize(
    ("listing", "whole", "why"),
    [
        (cases(), "", "hat de.openlegaldata.io nicht\\.$"),
        ("[]", "", "etwas anderes gesendet"),
        ("<html>", "", "nichts Lesbares"),
        ("[" * 100_000, "", "nichts Lesbares"),
        (
            json.dumps({"results": [None, 3, {"court": "x", "date": 5}]}),
            "",
            "nicht. Dort gibt es: $",
        ),
        (cases(LAND | {"id": "../../users"}), "", "keine Nummer"),
        (cases(LAND | {"file_number": "7 U 12/210"}), PLAIN, "nicht. Dort gibt es: .*7 U 12/210"),
        (cases(LAND), None, "keinen Text"),
        (cases(LAND), "<script>alert(1)</script>", "keinen Text"),
        pytest.param(
            *(cases(LAND), BROKEN, "beschädigt"),
            marks=pytest.mark.skipif(is_read(BROKEN), reason="this parser takes it for a comment"),
        ),
        (cases(LAND), "x" * 5_000_001, "zu lang"),
    ],
)
async def test_kz28_what_a_collection_sends_is_a_strangers(
    tmp_path: Path, listing: str, whole: object, why: str
) -> None:
    """Broken or hostile, it is told and keeps nothing; so is that it is asked too often."""
    async with engine_home(tmp_path, "openai-compatible", []) as home, site() as here:
        pack = switch_on(home)
        urteile = pack.service(load_class("kanzlei", "tools.law.urteile:Urteile"))
        load_class("kanzlei", "tools.law.openlegaldata:Urteile")
        opened = sys.modules[type(urteile).__module__.replace("urteile", "openlegaldata")]
        base, hosts = f"{here.url}/api/cases/", (here.url.removeprefix("http://"),)
        here.page("/api/cases/", listing, JSON)
        holds(here, 11, whole)
        with pytest.raises(ToolFailed, match=why):
            await asyncio.to_thread(opened.load, urteile, "7 U 12/21", base, hosts)
        assert urteile.find("")[1] == 0
        here.page("/api/cases/", "{}", JSON, 429)
        with pytest.raises(ToolFailed, match="heute keine Anfragen mehr"):
            await asyncio.to_thread(opened.load, urteile, "7 U 12/21", base, hosts)
        here.redirect("/api/cases/", "https://example.com/api/cases/")
        with pytest.raises(ToolFailed, match="Geladen wird nur von"):
            await asyncio.to_thread(opened.load, urteile, "7 U 12/21", base, hosts)
        here.page("/api/cases/", cases(LAND), JSON)
        holds(here, 11, PLAIN, court=None)
        done = await asyncio.to_thread(opened.load, urteile, "7 U 12/21", base, hosts)
        assert done.changed == 1
        (one,) = urteile.cited("7 U 12/21")
        assert one.court == "Gericht unbekannt" and not one.ecli
        texts = [text for *_, text in urteile.paragraphs(one)]
        assert texts[0] == "Der Antrag wird abgelehnt." and texts[1].startswith(
            "Er ist unbegründet"
        )


PLANTED = {
    "BGH, Urteil vom 12.03.2020 – IX ZR 125/17": "gefunden",
    "BGH, Urt. v. 12. März 2020 - IX ZR 125/17": "gefunden",
    "ECLI:DE:BGH:2020:120320UIXZR125.17.0": "gefunden",
    "BGH, Urteil vom 13.03.2020 – IX ZR 125/17": "nicht gefunden",
    "BAG, Urteil vom 12.03.2020 – IX ZR 125/17": "nicht gefunden",
    "BGH, Urteil vom 12.03.2015 – VIII ZR 4/17": "nicht gefunden",
    "BGH, Urteil vom 12.03.2090 – VIII ZR 4/17": "nicht gefunden",
    "BGH, Urteil vom 12.03.2020 – VIII ZR 4/19": "nicht im Bestand",
    "§ 193 BGB": "gefunden",
    "§ 195 Abs. 4 BGB": "nicht gefunden",
}


async def test_inventions_are_marked_before_a_draft_is_approved(tmp_path: Path) -> None:
    """KZ-30: another court or day than the decision's, one that cannot be, and a norm without that
    Absatz; what is not there is not called invented. The draft names them above its buttons."""
    text = ". ".join(f"Vgl. {one}" for one in PLANTED) + "."
    calls = [
        Call("check_zitate", {"text": text}),
        Call("create_draft_dokument", {"title": "Klage", "text": text}),
        Call("create_draft_dokument", {"title": "Brief", "text": "Nach § 193 BGB ist es so."}),
    ]
    script = [*(Turn(one) for one in calls), Turn(Text("Gut."))]
    async with engine_home(tmp_path, "openai-compatible", script) as home:
        pack = switch_on(home)
        urteile = pack.service(load_class("kanzlei", "tools.law.urteile:Urteile"))
        urteile.add(write(tmp_path / "in", lease=judgment()))
        akte = service(pack, "Akten").open(pack.person, "Wagner ./. Holzbau")
        session = await home.session()
        await session.change(subject=akte.address)
        said = [one for one in await say(session) if isinstance(one, ToolFinished)]
        found = {one["zitat"]: one["befund"] for one in json.loads(said[0].text)["data"]}
        named = PLANTED | {"§ 195 IV BGB": "nicht gefunden"}
        del named["§ 195 Abs. 4 BGB"]
        assert found == named
        klage, brief = sorted(session.drafts.waiting(), key=lambda one: one.title, reverse=True)
        assert "nicht gefunden: § 195 IV BGB, BGH, Urteil vom 13.03.2020" in klage.title
        assert "nicht gefunden" not in brief.title


INVENTED = (
    *("§ 9999 BGB", "§ 573 Abs. 7 BGB", "§ 573 Abs. 2 Nr. 8 BGB", "§ 195 Abs. 4 BGB", "§ 2400 BGB"),
    *("§ 568 Abs. 9 BGB", "§ 188 Abs. 5 BGB", "§ 1200 ZPO", "§ 517 Abs. 3 ZPO", "§ 312z BGB"),
    *("§ 43 Abs. 9 BRAO", "§ 43z BRAO", "§ 400 BRAO", "§ 50 Abs. 12 BRAO", "§ 99 KSchG"),
    *("§ 4 Abs. 5 KSchG", "§ 199 VwGO", "§ 80 Abs. 11 VwGO", "§ 74 Abs. 4 VwGO", "§ 80c VwGO"),
    *("§ 15a Abs. 7 RVG", "§ 99 RVG", "§ 10 Abs. 8 RVG", "§ 13 Abs. 6 RVG", "§ 3b RVG"),
    *("BGH, Urteil vom 13.03.2020 – IX ZR 125/17", "BAG, Urteil vom 12.03.2020 – IX ZR 125/17"),
    *("BGH, Urteil vom 12.03.2015 – VIII ZR 4/17", "BGH, Urteil vom 12.03.2090 – VIII ZR 4/17"),
    "OLG Köln, Urteil vom 12.03.2020 – IX ZR 125/17",
)
REAL = (
    *("§ 573 Abs. 2 Nr. 2 BGB", "§ 188 Abs. 1 BGB", "§ 80 Abs. 5 VwGO", "§ 43a Abs. 4 BRAO"),
    "BGH, Urteil vom 12.03.2020 – IX ZR 125/17",
)


async def test_thirty_drafts_with_an_invention_each_are_marked(tmp_path: Path) -> None:
    """Acceptance 6, KZ-30: each names it in its title; drafts of what exists name nothing."""
    plain = "Der Anspruch folgt aus § 568 Abs. 1 BGB. Ebenso: {}. Die Klage ist begründet."
    drafts = [
        Call("create_draft_dokument", {"title": f"{number:02}", "text": plain.format(cited)})
        for number, cited in enumerate((*INVENTED, *REAL))
    ]
    script = [Turn(*drafts), Turn(Text("Gut."))]
    async with engine_home(tmp_path, "openai-compatible", script) as home:
        pack = switch_on(home)
        normen = pack.service(load_class("kanzlei", "tools.law.normen:Normen"))
        with zipfile.ZipFile(CASES / "laws-2022.zip") as laws:
            for name in ("brao.xml", "vwgo.xml", "rvg.xml"):
                laws.extract(name, tmp_path / "laws")
        for folder in (CASES / "laws", tmp_path / "laws"):
            normen.add(folder)
        urteile = pack.service(load_class("kanzlei", "tools.law.urteile:Urteile"))
        urteile.add(write(tmp_path / "in", lease=judgment()))
        akte = service(pack, "Akten").open(pack.person, "Wagner ./. Holzbau")
        session = await home.session()
        await session.change(subject=akte.address)
        await say(session)
        marked = {one.title[one.title.index(".docx") - 2 :][:2]: "nicht gefunden" in one.title
                  for one in session.drafts.waiting()}  # fmt: skip
        assert len(INVENTED) == 30 and len(marked) == 35
        missed = [one for n, one in enumerate(INVENTED) if not marked[f"{n:02}"]]
        wrong = [one for n, one in enumerate(REAL, 30) if marked[f"{n:02}"]]
        assert not missed and not wrong


async def test_other_akten_are_found_as_far_as_the_chat_may_know(tmp_path: Path) -> None:
    """KZ-35, KZ-42: a chat never learns of an Akte that is more secret than its own; a person's
    filter holds too."""
    call = Call("search_alle_akten", {"query": "Räumung"})
    script = [Turn(call), Turn(Text("Gut.")), Turn(call), Turn(Text("Gut."))]
    async with engine_home(tmp_path, "openai-compatible", script) as home:
        pack = switch_on(home)
        akten, me = service(pack, "Akten"), pack.person
        made: dict[str, Any] = {}
        for mode in ("frei", "lokal", "keine KI"):
            akte = akten.open(me, f"Räumung {mode}")
            path = tmp_path / "Brief.txt"
            path.write_text("Es geht um die Räumung.")
            service(pack, "Dokumente").add(me, akte, path)
            akten.set_mode(me, akte, mode, "Einwilligung vom 01.02.2026" if mode == "frei" else "")
            made[mode] = akte

        async def told(**more: str) -> tuple[str, ...]:
            session = await home.session()
            if more:
                await session.change(**more)
            (done,) = [one for one in await say(session) if isinstance(one, ToolFinished)]
            assert "keine KI" not in done.text
            return done.sources

        free, local = made["frei"].address, made["lokal"].address
        assert await told() == (free,), "nobody asks where a chat about nothing goes"
        assert await told(subject=local) == (local, free)
