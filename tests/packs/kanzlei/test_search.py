"""The search in the documents of all Akten, and the invented office of the pack Kanzlei."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

from studio.agent.packs import PackHome
from studio.domain.errors import ToolFailed
from studio.domain.persons import Person
from studio.extensions.packs.loading import load_class
from studio.simulator import Text, Turn
from support.engine_home import EngineHome, engine_home
from support.office_home import service, switch_on

LAWYER = Person("7", "Frau Kollegin", "ANWALT")


@asynccontextmanager
async def office(tmp_path: Path) -> AsyncIterator[tuple[EngineHome, PackHome]]:
    async with engine_home(tmp_path, "openai-compatible", [Turn(Text("Gut."))]) as home:
        pack = switch_on(home)
        pack.settings_file.parent.mkdir(parents=True, exist_ok=True)
        pack.settings_file.write_text(json.dumps({"ordner": str(tmp_path / "Akten")}))
        assert pack.person.role == "ADMIN"
        pack.records.write(
            "INSERT INTO person (id, login, name, rolle) VALUES (7, 'k', 'Frau Kollegin', 'ANWALT')"
        )
        yield home, pack


def filed(pack: PackHome, tmp_path: Path, akte: Any, **texts: str) -> list[int]:
    """Documents of an Akte, by name and text."""
    made: list[int] = []
    for name, text in texts.items():
        path = tmp_path / f"{name}.txt"
        path.write_text(text)
        made.append(service(pack, "Dokumente").add(pack.person, akte, path).id)
    return made


async def test_documents_of_all_akten_are_found(tmp_path: Path) -> None:
    """KZ-31, KZ-32: by stems and the parts of compounds; all words first, any below five hits; what
    changed outside or is gone is found so; inside one Akte, and while a word is typed."""
    async with office(tmp_path) as (_, pack):
        akten, search, me = service(pack, "Akten"), service(pack, "Suche"), pack.person
        one, two = akten.open(me, "Wagner ./. Holzbau"), akten.open(me, "Meier ./. Stadt")
        first, second = filed(
            pack, tmp_path, one, Brief="Die Berufungsfrist endet bald.", Klage="Kaufpreis, Anlage"
        )
        (third,) = filed(pack, tmp_path, two, Bescheid="Fristen der Berufung; Gebühren der Anlage")

        def found(query: str, **more: Any) -> list[int]:
            return [hit.dokument for hit in search.find(me, query, **more)]

        assert found("Berufungsfristen") == [first, third], "the whole word before its parts"
        assert found("Gebühr Anlage") == [third, second], "all words first, then any"
        assert found("Bescheid") == [third], "by its name"
        assert found("Anlage", akte=one.id) == [second]
        assert found("Beruf", typed=True) == [third, first], "the newest first"
        assert found("die Berufungsf", typed=True) == [first]
        assert found("") == found("???") == []
        assert found('") OR "x* NEAR( akte:') == []

        dokumente = service(pack, "Dokumente")
        path = dokumente.folder_of(one) / "Brief.txt"
        path.write_text("Jetzt geht es um Zinsen.")
        dokumente.refresh(me, one, dokumente.get(me, first))
        assert found("Zinsen") == [first] and found("bald") == []
        pack.records.write("DELETE FROM seite")
        pack.records.write("DELETE FROM version")
        pack.records.write("DELETE FROM dokument")
        assert found("Anlage") == []
        left = pack.records.read("SELECT COUNT(*) AS n FROM dokument_worte")
        assert left == [{"n": 0}], "deleting reaches the index"


async def test_a_person_finds_in_their_own_akten_alone(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """KZ-13, KZ-32: the filter is before the best are chosen, so that few Akten lose no hits."""
    async with office(tmp_path) as (_, pack):
        akten, search, me = service(pack, "Akten"), service(pack, "Suche"), pack.person
        own = akten.open(me, "Eigene")
        (mine,) = filed(pack, tmp_path, own, Alt="Urteil über Miete")
        pack.records.write("UPDATE akte SET anwalt = 7 WHERE id = ?", own.id)
        foreign = akten.open(me, "Fremde")
        theirs = filed(pack, tmp_path, foreign, **{f"Neu {n}": "Urteil Miete" for n in range(9)})
        monkeypatch.setitem(type(search).find.__globals__, "MOST_RANKED", 3)
        assert [one.dokument for one in search.find(LAWYER, "Urteil Miete")] == [mine]
        assert [one.dokument for one in search.find(LAWYER, "Urt", typed=True)] == [mine]
        assert search.find(LAWYER, "Urteil", akte=foreign.id) == []
        assert len(search.find(me, "Urteil")) == 3, "no more are ranked than that"
        pack.records.write("UPDATE akte SET gesperrt = 1")
        assert search.find(LAWYER, "Urteil") == []
        assert {one.dokument for one in search.find(me, "Urteil", most=20)} <= {mine, *theirs}


async def test_the_example_is_an_office_to_read(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """KZ-52: forty invented Akten, the same for the same seed; never among real ones."""
    async with office(tmp_path) as (home, pack):
        run = ("packs", "run", "kanzlei")
        assert await home.command(*run, "beispiel") == 0
        said = capsys.readouterr().out
        assert (
            said.startswith("40 Akten, 130 Dokumente, 45 Fristen, 75 Zeiten") and "erfunden" in said
        )
        akten = service(pack, "Akten").find(pack.person)
        assert len(akten) == 40 and len({one.rubrum for one in akten}) == 40
        assert service(pack, "Fristen").find(pack.person)
        kontakte = pack.service(load_class("kanzlei", "tools.contacts.kontakte:Kontakte"))
        for akte in akten:
            parts = {one.role: one.contact.shown for one in kontakte.of_akte(akte)}
            assert akte.rubrum.startswith(parts["Mandant"]) and parts["Gericht"] == akte.court
        text = (tmp_path / "Akten").rglob("Urteil.txt").__next__().read_text("utf-8")
        assert "Im Namen des Volkes" in text and "{" not in text
        assert await home.command(*run, "suche", "Eigenbedarf Tochter") == 0
        assert "Kündigung wegen Eigenbedarfs.txt" in capsys.readouterr().out
        assert await home.command(*run, "beispiel") != 0
        assert "schon Akten" in capsys.readouterr().err
        assert len(service(pack, "Akten").find(pack.person)) == 40


async def test_a_large_office_is_made_for_measuring(tmp_path: Path) -> None:
    """KZ-52: its documents are files that are known as they are, and are found."""
    async with office(tmp_path) as (_, pack):
        masses = load_class("kanzlei", "tools.beispiel.masses:Masses")(pack, pack.person, 3)
        assert (made := masses.make()).documents == 60 and made.akten == 3
        akte = service(pack, "Akten").find(pack.person)[0]
        dokumente = service(pack, "Dokumente")
        for one in dokumente.find(akte)[:3]:
            assert dokumente.refresh(pack.person, akte, one) == (one, "")
        name = akte.rubrum.split()[1]
        found = service(pack, "Suche").find(pack.person, name)
        assert akte.id in {hit.akte for hit in found}
        assert pack.records.read("SELECT 1 FROM dokument_geaendert") == []
        with pytest.raises(ToolFailed, match="schon Akten"):
            load_class("kanzlei", "tools.beispiel.masses:Masses")(pack, pack.person, 3)


async def test_a_search_is_the_first_thing_after_a_start(tmp_path: Path) -> None:
    """KZ-31, KZ-32: full-text tables are opened by a query, also before anything is written;
    a query still changes nothing, the schema neither."""
    async with office(tmp_path) as (_, pack):
        akte = service(pack, "Akten").open(pack.person, "Wagner")
        filed(pack, tmp_path, akte, Brief="Fristen")
        assert service(pack, "Suche").find(pack.person, "Frist")
        pack.records.close()  # as the end of the program does; the next use opens it anew
        sql = "SELECT rowid FROM norm_suche WHERE norm_suche MATCH 'frist'"
        assert pack.records.read(sql)
        for changing in (
            "UPDATE sqlite_master SET sql = '' RETURNING name",
            "UPDATE akte SET rubrum = '' RETURNING id",
        ):
            with pytest.raises(ToolFailed):
                pack.records.read(changing)


async def test_kz31_documents_are_found_by_what_the_office_also_means(tmp_path: Path) -> None:
    """Synonyms from the settings, by stems and parts of compounds; with the others, not alone, and
    also while a word is typed."""
    async with office(tmp_path) as (_, pack):
        akte = service(pack, "Akten").open(pack.person, "Wagner ./. Holzbau")
        first, second, _ = filed(
            pack, tmp_path, akte, Brief="Die Kündigung der Wohnung vom Mai.",
            Klage="Räumung der Wohnung", Anlage="Die Wohnung hat drei Zimmer.",
        )  # fmt: skip

        def found(query: str, **more: Any) -> list[int]:
            hits = service(pack, "Suche").find(pack.person, query, **more)
            return sorted(hit.dokument for hit in hits)

        assert found("Rauswurf") == []
        said = {"ordner": str(tmp_path / "Akten"), "synonyme": "Rauswurf=Kündigung, Räumung; x"}
        pack.settings_file.write_text(json.dumps(said))
        assert found("Rauswürfe") == found("Rauswurf") == [first, second]
        assert found("Rauswurf Mai", most=1) == [first], "all words first"
        assert found("Rauswurf", typed=True) == [first, second]
        assert found("Zimmerpflanze") == []
