"""Pictures of the office's pages: they are taken for ``make pictures`` alone (KZ-49)."""

from __future__ import annotations

import asyncio
import datetime
import json
import os
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

from studio.extensions.packs.installed import InstalledPacks
from studio.extensions.packs.loading import load_class, package_of
from studio.simulator import Call, Text, Turn
from studio.ui.pages.widget_page import WidgetPage
from support.decision_files import judgment, listed, row
from support.jlawyer_site import jlawyer_site
from support.office_home import service
from support.photographer import LARGE, SMALL, Photographer, atlas, fonts, language
from support.waiting import until
from support.window import Person, alone, at_window, on_window_loop

pytestmark = [
    pytest.mark.usefixtures("alone", "language"),
    pytest.mark.skipif(
        "AGENT_STUDIO_SCREENSHOTS" not in os.environ, reason="nobody wants the pictures"
    ),
]
__all__ = ["alone", "atlas", "language"]

BOTH = (LARGE, SMALL)
TODAY = datetime.date.today()
ANSWER = """\
Das Versäumnisurteil wurde zugestellt, also läuft die Notfrist von zwei Wochen [§ 339 ZPO](kanzlei:norm/ZPO/339).

- Der Einspruch ist als Entwurf angelegt.
- Ob eine Rechtsschutzversicherung besteht, steht nicht in der Akte.
"""


def day(days: int) -> str:
    return (TODAY + datetime.timedelta(days=days)).isoformat()


def fill(pack: Any, tmp_path: Path) -> Any:
    """The example's office, with what a day in it brings; returns the Akte that is looked at."""
    pack.settings_file.parent.mkdir(parents=True, exist_ok=True)
    pack.settings_file.write_text(json.dumps({"ordner": str(tmp_path / "Akten")}))
    load_class("kanzlei", "tools.beispiel.office:Made")
    sys.modules[f"{package_of('kanzlei')}.tools.beispiel.office"].make_office(pack, pack.person)
    person, akten, fristen = pack.person, service(pack, "Akten"), service(pack, "Fristen")
    for one in fristen.find(person)[2:]:
        fristen.check(person, one)
    akte = next(one for one in akten.find(person, "", 100) if "Werk" in one.area)
    other = akten.find(person, "", 2)[-1]
    termine = service(pack, "Termine")
    for days, begin, end, place, words in (
        (0, "10:30", "11:15", "Saal 12", "Güteverhandlung"),
        (3, "14:00", "", "Kanzlei", "Besprechung"),
        (9, "09:00", "", "Baustelle", "Ortstermin"),
    ):
        termine.add(person, akte, day=day(days), begin=begin, end=end, place=place, text=words)
    tasks = service(pack, "Aufgaben")
    tasks.add(person, akte, "Gutachten an den Mandanten senden", due=day(3))
    tasks.add(person, other, "Deckungszusage nachfassen", due=day(-2))
    notes = service(pack, "Notizen")
    notes.add(person, akte.id, "Mandant ist bis Ende der Woche nicht zu erreichen.")
    who = int(person.id)
    notes.add_alert(
        *(person, akte.id), who=who, due=day(0), level="wichtig", text="Vollmacht fehlt im Original"
    )
    service(pack, "Zeiten").start(person, akte.id)
    urteile = pack.service(load_class("kanzlei", "tools.law.urteile:Urteile"))
    kept = tmp_path / "urteile"
    kept.mkdir()
    (kept / "a.xml").write_bytes(judgment())
    urteile.add(kept)
    rows = [
        row(
            f"BGH {n}. Zivilsenat",
            f"2025{n:02}14",
            f"{z} ZR {n}/24",
            f"http://www.rechtsprechung-im-internet.de/jportal/docs/bsjrs/jb-{z}{n}.zip",
        )
        for z, n in (("VII", 7), ("VII", 8), ("IX", 9), ("VIII", 8))
    ]
    (tmp_path / "rii-toc.xml").write_bytes(listed(*rows))
    pack.service(load_class("kanzlei", "tools.law.verzeichnis:Verzeichnis")).replace(
        tmp_path / "rii-toc.xml"
    )
    return akten.get(person, akte.id)


def script() -> list[Turn]:
    event = day(-5)
    frist = {"kind": "Einspruch gegen Versäumnisurteil", "event": event, "reason": "Zustellung"}
    letter = {
        "title": "Schreiben an den Mandanten",
        "text": "Sehr geehrte Damen und Herren,\n\ndas Gericht hat ein Versäumnisurteil erlassen. "
        "Nach § 339 ZPO ist der Einspruch binnen zwei Wochen möglich; siehe BGH, Urteil vom "
        "12.03.2020, IX ZR 125/17, und OLG München, 99 U 311/24.",
    }
    time = {"minutes": 42, "text": "Urteil gelesen", "date": TODAY.isoformat(), "billable": True}
    calls = [
        Call("read_akte", {}),
        Call("create_draft_frist", frist),
        Call("create_draft_dokument", letter),
        Call("create_draft_zeiterfassung", time),
        Call("create_notiz", {"text": "Nach einer Rechtsschutzversicherung fragen"}),
    ]
    return [*(Turn(one) for one in calls), Turn(Text(ANSWER)), *[Turn(Text("Gut."))] * 5]


@asynccontextmanager
async def office(tmp_path: Path) -> AsyncIterator[tuple[Person, Any, Any, Photographer]]:
    """The window of the office, in which Helena has drafted something."""
    async with at_window(tmp_path, "anthropic", script(), fonts=fonts()) as person:
        person.engine.services.get(InstalledPacks).switch("kanzlei", on=True)
        await page_of(person, "heute")
        pack = person.engine.services.packs.homes["kanzlei"]
        akte = await asyncio.to_thread(fill, pack, tmp_path)
        yield person, pack, akte, Photographer(person)


async def page_of(person: Person, name: str, *target: str) -> Any:
    rows = person.window.sidebar._rows
    await until(lambda: f"pack:kanzlei/{name}" in rows)
    rows[f"pack:kanzlei/{name}"].click()

    def shown() -> Any:
        page = person.window.pages.currentWidget()
        return page.shown if isinstance(page, WidgetPage) else None

    page = await until(shown)
    page.open(*target)
    return page


async def ask_helena(person: Person, akte: Any) -> None:
    page = await page_of(person, "akten", str(akte.id))
    await until(lambda: page.view.facts is not None)
    chat = person.window.chat
    await until(lambda: chat.beside and chat.model.options.subject == akte.address)
    await until(lambda: chat.model.options.looked_up)
    await chat.model.options.found()
    chat.model.input.set_text("Lies das Urteil und rechne die Fristen.")
    chat.model.input.send()
    await until(
        lambda: chat.model.session is not None and len(chat.model.session.drafts.waiting()) >= 4
    )
    await until(lambda: not person.session.running)


@on_window_loop
async def test_the_day_and_the_akte(tmp_path: Path) -> None:
    """KZ-47, KZ-49: Heute, an Akte and its parts, as pictures 29 and 30 of the design."""
    async with office(tmp_path) as (person, _, akte, camera):
        await ask_helena(person, akte)
        person.window.chat.header.alone.click()
        await camera.show("30c-kanzlei-chat", BOTH)
        page = await page_of(person, "heute")
        await until(lambda: len(page.rows) > 4)
        await camera.show("29-kanzlei-heute", BOTH)
        page = await page_of(person, "akten")
        await until(lambda: len(page.rows) > 5)
        await camera.show("30-kanzlei-akten", BOTH)
        page = await page_of(person, "akten", str(akte.id))
        view = page.view
        await until(lambda: view.facts is not None)
        await camera.show("30-kanzlei-akte", BOTH)
        for index, name in enumerate(["dokumente", "fristen", "aufgaben", "zeit", "notizen",
                                      "entwuerfe", "beteiligte", "verlauf"], start=1):  # fmt: skip
            view.tabs.set_current(index)
            view.show_tab(index)
            if index == 1:
                await until(lambda: view.documents.lines)
                view.documents.lines[0].click()
                await until(lambda: view.documents.words.toPlainText())
            await camera.show(f"30b-kanzlei-{name}", BOTH if index == 1 else (LARGE,))
        window = person.window
        window.resize(LARGE)
        document = view.documents.lines[0].document
        await window.links.open_source(f"{document.address}#s1", from_chat=True)
        await until(lambda: view.documents.strip.isVisible())
        await camera.show("30b-kanzlei-quelle", BOTH)
        await window.links.open_source("kanzlei:norm/ZPO/339", from_chat=True)
        await until(lambda: window.pages.shown == "pack:kanzlei/recherche")
        await camera.show("34c-kanzlei-norm-quelle", BOTH)
        window.resize(LARGE)
        await page_of(person, "akten", "2")
        await until(lambda: window.chat.session is None)
        await camera.show("30d-kanzlei-akte-ohne-chat", BOTH)


@on_window_loop
async def test_the_other_pages(tmp_path: Path) -> None:
    """KZ-47, KZ-49: Kalender, Entwürfe, Kosten, Recherche, Kontakte: pictures 31 to 33."""
    async with office(tmp_path) as (person, _, akte, camera):
        await ask_helena(person, akte)
        page = await page_of(person, "kalender")
        await until(lambda: page.entries)
        await camera.show("31-kanzlei-kalender", BOTH)
        page = await page_of(person, "kosten", str(akte.id))
        await until(lambda: page.value.text())
        for number in ("2300", "3100", "3104"):
            page.add_position(number)
        await camera.show("33-kanzlei-kosten", BOTH)
        page.to_note.click()
        await camera.show("33b-kanzlei-kostennote", BOTH)
        page = await page_of(person, "recherche")
        page.search.setText("Kündigung wegen Eigenbedarfs")
        await until(lambda: page.found)
        page._first()
        await camera.show("34-kanzlei-recherche", BOTH)
        page.where._group.button(1).click()
        page.to_load.click()
        page.card.wanted.setText("BGH VII ZR")
        await until(lambda: len(page.card.hits) == 2)
        await camera.show("34b-kanzlei-entscheidungen", BOTH)
        page = await page_of(person, "kontakte")
        await until(lambda: page.rows)
        await camera.show("35-kanzlei-kontakte", BOTH)
        drafts = await person.engine.store.drafts()
        page.studio.show_drafts(next(one.draft_id for one in drafts if one.noun == "Frist"))
        await camera.show("32-kanzlei-entwurf", BOTH)


@on_window_loop
async def test_a_question_that_names_somebody(tmp_path: Path) -> None:
    """KZ-40, KZ-49: what leaves the office with a name in it is asked about."""
    asks = [Turn(Call("web_search", {"query": "Erika Müller Insolvenz"})), Turn(Text("Gut."))]
    async with at_window(tmp_path, "anthropic", asks, fonts=fonts()) as person:
        person.engine.services.get(InstalledPacks).switch("kanzlei", on=True)
        page = await page_of(person, "heute")
        pack = person.engine.services.packs.homes["kanzlei"]
        kontakte = pack.service(load_class("kanzlei", "tools.contacts.kontakte:Kontakte"))
        kontakte.add(pack.person, name="Müller", vorname="Erika")
        page.studio.new_chat("", agent="Recherche")
        model = person.window.chat.model
        await until(lambda: model.options.looked_up)
        model.input.set_text("Ist Erika Müller insolvent?")
        model.input.send()
        question = await until(lambda: model.session and model.session.transcript.questions)
        await Photographer(person).show("36-kanzlei-rueckfrage", BOTH)
        model.session.answer_permission(question[0].id, "deny")
        await until(lambda: not model.session.running)


@on_window_loop
async def test_what_is_taken_over(tmp_path: Path) -> None:
    """KZ-34, KZ-49, KZ-51: an office of j-lawyer.org, a message from beA, and one with XJustiz."""
    async with office(tmp_path) as (person, _, akte, camera):
        page = await page_of(person, "akten")
        await until(lambda: len(page.rows) > 5)
        page.ask_intake("jlawyer")
        with jlawyer_site() as address:
            for field, said in (
                (page.jlawyer.address, address),
                (page.jlawyer.user, "anna"),
                (page.jlawyer.password, "zq8-fuchs"),
            ):
                field.setText(said)
            page.jlawyer.look()
            await until(lambda: "0007/19" in page.jlawyer.told.text())
        await camera.show("37-kanzlei-jlawyer", BOTH)
        page.ask_intake("bea")
        await camera.show("37b-kanzlei-nachricht", BOTH)
        page = await page_of(person, "akten", str(akte.id), "dokumente")
        await until(lambda: page.view.documents.akte is not None)
        page.view.documents._ask("versand")
        page.view.documents.versand.xjustiz.click()
        await camera.show("37c-kanzlei-versandmappe", BOTH)
