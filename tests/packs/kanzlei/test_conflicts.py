"""Conflicts: who stands on the other side already, in all Akten (§ 43a IV BRAO)."""

from __future__ import annotations

import csv
import random
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from studio.agent.packs import PackHome
from studio.domain.errors import ToolFailed
from studio.domain.persons import Person
from support.engine_home import EngineHome, engine_home
from support.office_home import switch_on

CASES = Path(__file__).with_name("cases") / "conflict_cases.csv"
FIRST = ("Anna", "Bernd", "Clara", "Daniel", "Erika", "Felix", "Greta", "Holger", "Irene", "Nils")
PARTS = ("Al", "Ber", "Chri", "Dor", "Eng", "Fel", "Gün", "Hag", "Jan", "Kel", "Lin", "Mar", "Pet")
ENDS = ("mann", "bach", "berg", "feld", "ner", "ich", "ow", "ski", "stein", "hof", "wald", "ler")


@pytest.fixture(scope="module")
def cases() -> list[dict[str, str]]:
    with CASES.open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))


@asynccontextmanager
async def office(tmp_path: Path) -> AsyncIterator[tuple[EngineHome, PackHome, Any]]:
    async with engine_home(tmp_path, "openai-compatible", []) as home:
        pack = switch_on(home)
        find = {type(one).__name__: one for one in [*_services(pack)]}
        yield home, pack, SimpleNamespace(**find)


def _services(pack: PackHome) -> list[Any]:
    pack.open()
    return [*pack.services]


def plant(pack: PackHome, office: Any, case: dict[str, str], akte: Any, role: str) -> Any:
    contact = office.Kontakte.add(
        pack.person,
        art=case["known_kind"],
        name=case["known_name"],
        vorname=case["known_first"],
        fruehere_namen=case["known_earlier"],
        geboren=case["known_born"],
    )
    office.Kontakte.take_part(pack.person, akte, contact, role)
    return contact


def asked(pack: PackHome, kanzlei: Any, case: dict[str, str]) -> Any:
    return kanzlei.konflikte.named(case["asked"], case["asked_kind"], case["asked_born"])


def fill(pack: PackHome, kanzlei: Any, akte: int, contacts: int) -> None:
    """Many contacts with invented names, each in an Akte, as the services would keep them."""
    chance = random.Random(7)
    keys, name_of = kanzlei.kontakte.keys, kanzlei.likeness.Name
    with pack.records.together():
        for _ in range(contacts):
            firm = chance.random() < 0.3
            family = chance.choice(PARTS) + chance.choice(PARTS).lower() + chance.choice(ENDS)
            first = "" if firm else chance.choice(FIRST)
            kind, family = ("Firma", f"{family} Bau GmbH") if firm else ("Person", family)
            number = pack.records.write(
                "INSERT INTO kontakt (art, name, vorname, angelegt) VALUES (?, ?, ?, '')",
                *(kind, family, first),
            )
            for key in keys(name_of(kind, family, first)):
                pack.records.write("INSERT INTO kontakt_schluessel VALUES (?, ?)", key, number)
            pack.records.write(
                "INSERT INTO beteiligung (akte, kontakt, rolle, seite) VALUES (?, ?, 'Gegner', "
                "'Gegner')",
                *(akte, number),
            )


async def test_sixty_planted_conflicts(
    tmp_path: Path, cases: list[dict[str, str]], kanzlei: SimpleNamespace
) -> None:
    """KZ-15: at least 57 are found, and not by finding everybody."""
    assert len(cases) == 60
    async with office(tmp_path) as (_, pack, services):
        akte = services.Akten.open(pack.person, "Alt ./. Neu")
        crowd = services.Akten.open(pack.person, "Viele ./. Andere")
        fill(pack, kanzlei, crowd.id, 500)
        for case in cases:
            plant(pack, services, case, akte, "Gegner")
        missed, noise = list[str](), 0
        for case in cases:
            found = services.Konflikte.check(pack.person, [asked(pack, kanzlei, case)], "Mandant")
            clashes = [one for one in found.hits if one.clash]
            if not any(case["known_name"] in one.name for one in clashes):
                missed.append(f"{case['asked']} ({case['note']})")
            noise += len([one for one in found.hits if one.akte == crowd.id])
        assert len(missed) <= 3, missed
        assert noise <= 10, f"{noise} of 500 others"
        for other in ("Gisela Unbekannt", "Neubau Zebra GmbH", "Hans Kunstmann"):
            name = kanzlei.konflikte.named(other)
            assert not services.Konflikte.check(pack.person, [name], "Mandant").hits, other


async def test_a_foreign_akte_says_whom_to_ask_and_nothing_else(
    tmp_path: Path, cases: list[dict[str, str]], kanzlei: SimpleNamespace
) -> None:
    """KZ-15, KZ-13: the hit is kept with its day, in the same words."""
    async with office(tmp_path) as (_, pack, services):
        secret = services.Akten.open(pack.person, "Geheim ./. Verborgen")
        plant(pack, services, cases[0], secret, "Gegner")
        number = pack.records.write(
            "INSERT INTO person (login, name, rolle) VALUES ('eva', 'Eva', 'ANWALT')"
        )
        eva = Person(str(number), "Eva", "ANWALT")
        own = services.Akten.open(eva, "Müller ./. Bank")
        name = kanzlei.konflikte.named("Hans Müller")
        found = services.Konflikte.check(eva, [name], "Mandant", akte=own)
        assert found.clashes and [str(one) for one in found.hits] == [
            f"Widerstreit möglich: in einer Akte, die Du nicht siehst. Frage {pack.person.name}."
        ]
        (kept,) = services.Konflikte.kept(own)
        assert kept.hits == found.hits and kept.day == found.day
        told = str(pack.records.read("SELECT * FROM konflikt"))
        for fact in (secret.az, "Geheim", f'"akte": {secret.id}'):
            assert fact not in told
        assert services.Kontakte.find(eva) == []
        with pytest.raises(ToolFailed, match="nicht zugänglich"):
            services.Kontakte.get(eva, 1)
        (mine,) = services.Konflikte.check(pack.person, [name], "Mandant").hits
        assert (mine.az, mine.role, mine.clash) == (secret.az, "Gegner", True)
        (same,) = services.Konflikte.check(pack.person, [name], "Gegner").hits
        assert not same.clash, "on the same side again"


async def test_who_represents_somebody_is_looked_for_too(
    tmp_path: Path, kanzlei: SimpleNamespace
) -> None:
    """KZ-15: the managing director of an opponent who comes as a client."""
    async with office(tmp_path) as (_, pack, services):
        me, contacts = pack.person, services.Kontakte
        akte = services.Akten.open(me, "Wagner ./. Holzbau Süd GmbH")
        firm = contacts.add(me, art="Firma", name="Holzbau Süd GmbH")
        head = contacts.add(me, vorname="Rudolf", name="Kern", geboren="04.02.1960")
        contacts.take_part(me, akte, firm, "Gegner", by=head)
        name = replace(kanzlei.konflikte.named("Rudolf Kern"), born="1960-02-04")
        (hit,) = services.Konflikte.check(me, [name], "Mandant").hits
        assert (hit.clash, hit.role, hit.reason) == (
            *(True, "vertritt Gegner"),
            "gleiches Geburtsdatum und Name",
        )
        other = replace(name, born="1991-11-11")
        (hit,) = services.Konflikte.check(me, [other], "Mandant").hits
        assert not hit.clash and "anderes Geburtsdatum" in hit.reason
        assert services.Konflikte.check(me, [name], "Mandant", akte=akte).hits == ()
        changed = contacts.change(me, head, name="Kernmann", fruehere_namen="Kern")
        assert changed.name.earlier == "Kern"
        assert services.Konflikte.check(me, [name], "Mandant").clashes
        with pytest.raises(ToolFailed, match="IBAN"):
            contacts.add(me, name="Falsch", iban="DE00 1234")
        with pytest.raises(ToolFailed, match="schon Gegner"):
            contacts.take_part(me, akte, firm, "Gegner")


@pytest.mark.parametrize(
    ("word", "sounds"),
    [
        *(("Wikipedia", "3412"), ("Breschnew", "17863"), ("Müller-Lüdenscheidt", "65752682")),
        *(("Heinz Classen", "068586"), ("Maier", "67"), ("Philipp", "351"), ("Xaver", "4837")),
    ],
)
def test_names_sound_as_postel_says(kanzlei: SimpleNamespace, word: str, sounds: str) -> None:
    """KZ-15: the published examples of the Kölner Phonetik, and some of our own."""
    folded = kanzlei.names.fold(word).replace("mueller", "muller").replace("lued", "lud")
    assert kanzlei.names.sound(folded.replace("-", "").replace(" ", "")) == sounds


async def test_the_terminal_adds_participants_and_tells_of_conflicts(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """KZ-11, KZ-50: contacts, who takes part, and facts of an Akte; each change is in its history."""
    async with office(tmp_path) as (home, pack, services):
        one = services.Akten.open(pack.person, "Wagner ./. Holzbau")
        two = services.Akten.open(pack.person, "Kern ./. Wagner")

        async def told(*words: str) -> str:
            capsys.readouterr()
            assert await home.command("packs", "run", "kanzlei", *words) == 0, words
            return capsys.readouterr().out

        assert "1: Eva Wagner" in await told("kontakt", "Eva Wagner", "--geboren", "04.02.1980")
        assert "Kein Treffer" in await told("beteiligen", one.az, "1", "Mandant")
        said = await told("beteiligen", two.az, "1", "Gegner")
        assert f"Widerstreit möglich: Eva Wagner, Mandant in {one.az}" in said
        assert "Widerstreit möglich" in await told("konflikte", two.az)
        assert "Widerstreit" in await told("konflikt", "Wagener, Eva", "--seite", "Gegner")
        assert "Mandant: Eva Wagner" in await told("beteiligte", one.az)
        await told("akte-aendern", one.az, "wert", "10.000,50 €")
        await told("akte-aendern", one.az, "gericht_ort", "Bayern")
        assert "10.000,50 €" in await told("akte", one.az)
        await told("zeit", one.az, "90", "Besprechung", "--datum", "05.02.2026")
        assert "1 h 30 min" in await told("zeiten", one.az)
        await told("hinweis", one.az, "20.02.2026", "Vorschuss prüfen")
        assert "erinnert" not in await told("notizen", one.az)
        await told("hinweis-erledigen", "1")
        assert "Vorschuss" not in await told("notizen", one.az)
        story = await told("verlauf", one.az)
        for words in ("wert: 1000050", "Mandant: Eva Wagner", "gericht_ort: Bayern", "90 min"):
            assert words in story, story
        assert await home.command("packs", "run", "kanzlei", "akte-aendern", one.az, "az", "x") != 0
        fees = await told("kosten", "10.000,00", "2300=1.3, 3100, 3104", "01.07.2025")
        assert "Gesamt" in fees and "Anrechnung" in fees and "2025" in fees
