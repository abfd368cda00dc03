"""The office of the pack Kanzlei: Akten, Fristen that a person approves, and who may see what."""

from __future__ import annotations

import asyncio
import datetime
import json
import sys
import threading
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

from studio.agent.packs import PackHome
from studio.domain.drafts import KindDraft
from studio.domain.errors import ToolFailed
from studio.domain.events import Failed, ToolFinished
from studio.domain.persons import Person
from studio.extensions.packs.loading import load_class
from studio.processes.keeper_process import MARK
from studio.simulator import Call, Text, Turn
from studio.tools.packs.policy import AskedRequest
from studio.tools.packs.settings import settings_schema
from support.engine_home import EngineHome, engine_home, say
from support.office_home import desk_of, service, switch_on
from support.waiting import HANG

CHAT = "openai-compatible"
APPEAL = {
    "kind": "Berufung",
    "event": "2026-02-04",
    "reason": "Urteil vom 02.02.2026, S. 1",
    "named": "2026-03-09",
}


@asynccontextmanager
async def office(
    tmp_path: Path, *calls: Call | Text, rubrum: str = "Wagner ./. Holzbau Süd GmbH"
) -> AsyncIterator[tuple[EngineHome, PackHome, Any]]:
    """A studio with the pack, and one Akte at a court in Bavaria."""
    script = [*(Turn(one) for one in calls), *(Turn(Text("Gut.")) for _ in range(5))]
    async with engine_home(tmp_path, CHAT, script) as home:
        pack = switch_on(home)
        akte = service(pack, "Akten").open(
            pack.person, rubrum, gericht="LG München I", gericht_ort="BY-kath"
        )
        yield home, pack, akte


async def chat_of(home: EngineHome, akte: Any) -> Any:
    session = await home.session()
    await session.change(subject=akte.address)
    return session


async def test_the_terminal_shows_akten_in_words(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """KZ-9: a line for each Akte and each fact, no JSON unless it is asked for."""
    async with office(tmp_path) as (home, _, akte):
        for words, shown in (
            (("akten",), f"{akte.az}  Wagner ./. Holzbau Süd GmbH  lokal\n"),
            (("akte", akte.az), f"az: {akte.az}\nrubrum: Wagner ./. Holzbau Süd GmbH\n"),
            (("fristen",), "Nothing.\n"),
            (("akten", "--json"), "["),
        ):
            assert await home.command("packs", "run", "kanzlei", *words) == 0
            assert capsys.readouterr().out.startswith(shown)


async def test_a_frist_counts_once_a_person_approved_it(tmp_path: Path) -> None:
    """KZ-37, KZ-38: computed and drafted by Helena, approved and taken back by a person."""
    call = Call("create_draft_frist", APPEAL)
    async with office(tmp_path, call) as (home, pack, akte):
        desk, fristen = desk_of(home), service(pack, "Fristen")
        session = await chat_of(home, akte)
        await say(session)
        (draft,) = session.drafts.waiting()
        assert isinstance(draft, KindDraft)
        assert draft.title == f"Berufung, Mi 04.03.2026 ({akte.az})"
        (listed,) = await home.engine.store.drafts()
        assert (listed.noun, listed.path) == ("Frist", draft.title)
        assert "Vorfrist: Mi 25.02.2026" in draft.after
        assert "§ 188 II BGB: 1 Monat (§ 517 ZPO) → Mi 04.03.2026" in draft.after
        assert "Im Dokument steht Mo 09.03.2026, gerechnet ist Mi 04.03.2026" in draft.after
        assert fristen.find(pack.person) == []

        acts = desk.decided("approve", [draft])
        assert await session.review.decide(draft.id, "approve", acts) == "approved"
        assert await session.review.decide(draft.id, "approve", acts) == "approved"  # once
        (frist,) = fristen.find(pack.person)
        assert (frist.end, frist.state, frist.notfrist) == (
            datetime.date(2026, 3, 4),
            "berechnet",
            True,
        )
        assert frist.named == "2026-03-09" and "Achtung" in frist.hints[-1]
        rows = pack.records.read("SELECT feld, neu, entwurf FROM verlauf WHERE was = 'frist'")
        assert rows == [{"feld": "ende", "neu": "2026-03-04", "entwurf": draft.id}]

        acts = desk.decided("undo", [draft])
        assert await session.review.decide(draft.id, "undo", acts) == "undone"
        assert fristen.find(pack.person) == []
        assert fristen.get(pack.person, frist.id).state == "storniert", "none is deleted"


async def test_a_checked_frist_is_not_taken_back(tmp_path: Path) -> None:
    """KZ-37: undo while nothing depends on it; KZ-21: the states, in their order."""
    call = Call("create_draft_frist", APPEAL)
    async with office(tmp_path, call) as (home, pack, akte):
        desk, fristen, me = desk_of(home), service(pack, "Fristen"), pack.person
        session = await chat_of(home, akte)
        await say(session)
        (draft,) = session.drafts.waiting()
        await session.review.decide(draft.id, "approve", desk.decided("approve", [draft]))
        (frist,) = fristen.find(me)
        with pytest.raises(ToolFailed, match="erst geprüft"):
            fristen.done(me, frist, "Berufung eingelegt")
        fristen.check(me, frist)
        with pytest.raises(ToolFailed, match="inzwischen geändert"):
            fristen.check(me, frist)
        acts = desk.decided("undo", [draft])
        assert await session.review.decide(draft.id, "undo", acts) == "approved"
        frist = fristen.get(me, frist.id)
        assert frist.state == "geprüft"
        with pytest.raises(ToolFailed, match="mit einer Notiz"):
            fristen.done(me, frist, " ")
        fristen.done(me, frist, "Berufung eingelegt")
        frist = fristen.get(me, frist.id)
        assert (frist.state, frist.note) == ("erledigt", "Berufung eingelegt")
        with pytest.raises(ToolFailed, match="nicht mehr"):
            fristen.cancel(me, frist, "doch nicht")


async def test_who_may_not_decide_may_not_undo(tmp_path: Path) -> None:
    """KZ-36, KZ-37: a Sachbearbeiter takes back what is theirs, a Praktikant nothing."""
    call = Call("create_draft_frist", {**APPEAL, "kind": "Anfechtungsklage"})
    async with office(tmp_path, call) as (home, pack, akte):
        desk, fristen = desk_of(home), service(pack, "Fristen")
        session = await chat_of(home, akte)
        await say(session)
        (draft,) = session.drafts.waiting()
        await session.review.decide(draft.id, "approve", desk.decided("approve", [draft]))
        pack.records.write("UPDATE person SET rolle = 'PRAKTIKANT'")
        acts = desk.decided("undo", [draft])
        assert await session.review.decide(draft.id, "undo", acts) == "approved"
        pack.records.write("UPDATE person SET rolle = 'SACHBEARBEITER'")
        acts = desk.decided("undo", [draft])
        assert await session.review.decide(draft.id, "undo", acts) == "undone"
        assert fristen.of_draft(draft.id).state == "storniert"


async def test_a_second_draft_of_the_same_frist_is_a_conflict(tmp_path: Path) -> None:
    """KZ-37: what stands already is shown, and not entered twice."""
    call = Call("create_draft_frist", APPEAL)
    async with office(tmp_path, call, Text("Gut."), call) as (home, pack, akte):
        desk = desk_of(home)
        first = await chat_of(home, akte)
        await say(first)
        (one,) = first.drafts.waiting()
        second = await chat_of(home, akte)
        await say(second)
        (two,) = second.drafts.waiting()
        await first.review.decide(one.id, "approve", desk.decided("approve", [one]))
        acts = desk.decided("approve", [two])
        assert await second.review.decide(two.id, "approve", acts) == "conflict"
        assert len(service(pack, "Fristen").find(pack.person)) == 1


async def test_the_tools_read_the_akte_of_the_chat_alone(tmp_path: Path) -> None:
    """KZ-35, KZ-42: which model may see an Akte is asked for the chat's own."""
    calls = [
        Call("read_akte", {}),
        Call("read_akte", {"akte": "0002/26"}),
        Call("read_fristen", {"state": "fertig"}),
        Call("read_fristen", {}),
        Call("read_akte_detail", {}),
        Text("Gut."),
        Call("read_akte", {}),
    ]
    async with office(tmp_path, *calls) as (home, pack, akte):
        service(pack, "Akten").open(pack.person, "Geheim ./. Niemand")
        said = [e for e in await say(await chat_of(home, akte)) if isinstance(e, ToolFinished)]
        texts = [one.text for one in said]
        assert json.loads(texts[0])["data"]["rubrum"] == akte.rubrum
        assert said[0].sources == (akte.address,)
        assert "eigenes" in texts[1] and "Geheim" not in texts[1]
        assert "berechnet, geprüft, erledigt, storniert" in texts[2]
        assert json.loads(texts[3])["total"] == 0
        assert json.loads(texts[4])["data"]["verlauf"][0]["neu"] == akte.az
        (alone,) = [e for e in await say(await home.session()) if isinstance(e, ToolFinished)]
        assert "gehört zu keiner Akte" in alone.text


REQUEST = AskedRequest("anthropic", "claude", "", False, "turn", "")


@pytest.mark.parametrize(
    ("mode", "local", "address", "allowed"),
    [
        ("lokal", True, "http://127.0.0.1:11434", True),
        ("lokal", False, "", False),
        ("lokal", False, "https://rechner.example/v1", True),
        ("lokal", False, "https://rechner.example.evil.test/v1", False),
        ("keine KI", True, "http://127.0.0.1:11434", False),
        ("pseudonym", False, "", False),
        ("frei", False, "", True),
    ],
)
async def test_an_akte_says_which_model_may_see_it(
    tmp_path: Path, mode: str, local: bool, address: str, allowed: bool
) -> None:
    """KZ-42: local by default, for a turn as for a title; what is not known is refused."""
    async with office(tmp_path) as (home, pack, akte):
        akten = service(pack, "Akten")
        assert akte.mode == "lokal"
        if mode == "frei":
            with pytest.raises(ToolFailed, match="Grundlage"):
                akten.set_mode(pack.person, akte, mode, " ")
        akten.set_mode(pack.person, akte, mode, "Einwilligung vom 03.02.2026")
        pack.settings_file.parent.mkdir(parents=True, exist_ok=True)
        pack.settings_file.write_text(json.dumps({"erlaubte_hosts": "rechner.example, other"}))
        packs = home.engine.services.packs
        for purpose in ("turn", "title", "summary", "routing"):
            asked = AskedRequest("x", "m", address, local, purpose, akte.address)
            (verdict,) = packs.ask_policies(asked)
            assert (not verdict.refused) == allowed, verdict
        for wrong in ("kanzlei:akte/99", "kanzlei:akte/x", "kanzlei:"):
            (verdict,) = packs.ask_policies(AskedRequest("x", "m", "", True, "turn", wrong))
            assert verdict.refused
        (verdict,) = packs.ask_policies(REQUEST)
        assert not verdict.refused


async def test_a_model_that_a_listed_computer_only_passes_on_is_not_listed(tmp_path: Path) -> None:
    """KZ-42: Ollama's servers answer then, wherever Ollama itself runs."""
    async with engine_home(tmp_path, "ollama", [Turn(Text("Gut."))]) as home:
        pack = switch_on(home)
        pack.settings_file.parent.mkdir(parents=True, exist_ok=True)
        pack.settings_file.write_text(json.dumps({"erlaubte_hosts": "127.0.0.1, localhost"}))
        akte = service(pack, "Akten").open(pack.person, "Wagner ./. Holzbau")
        session = await chat_of(home, akte)
        await say(session)
        assert len(home.asked) == 1
        await session.change(model="gpt-oss:120b-cloud")
        (failed,) = [one for one in await say(session) if isinstance(one, Failed)]
        assert akte.az in failed.title and len(home.asked) == 1


async def test_a_refused_chat_sends_nothing(tmp_path: Path) -> None:
    """KZ-42: the person reads why."""
    async with office(tmp_path) as (home, pack, akte):
        service(pack, "Akten").set_mode(pack.person, akte, "keine KI")
        (failed,) = [e for e in await say(await chat_of(home, akte)) if isinstance(e, Failed)]
        assert akte.az in failed.title and not home.asked


async def test_a_foreign_akte_and_a_missing_one_are_alike(tmp_path: Path) -> None:
    """KZ-13: in the words of the refusal, in lists, in titles of addresses, and for Fristen."""
    call = Call("create_draft_frist", APPEAL)
    async with office(tmp_path, call) as (home, pack, akte):
        desk, akten, fristen = desk_of(home), service(pack, "Akten"), service(pack, "Fristen")
        session = await chat_of(home, akte)
        await say(session)
        (draft,) = session.drafts.waiting()
        await session.review.decide(draft.id, "approve", desk.decided("approve", [draft]))
        (frist,) = fristen.find(pack.person)
        number = pack.records.write(
            "INSERT INTO person (login, name, rolle) VALUES ('eva', 'Eva', 'SACHBEARBEITER')"
        )
        eva = Person(str(number), "Eva", "SACHBEARBEITER")
        words = []
        for asked in (akte.az, "9999/26"):
            with pytest.raises(ToolFailed) as raised:
                akten.get(eva, asked)
            words.append(str(raised.value).replace(asked, "AZ"))
        assert words[0] == words[1]
        assert akten.find(eva, "Wagner") == [] and fristen.find(eva) == []
        with pytest.raises(ToolFailed, match="Es gibt keine Frist"):
            fristen.get(eva, frist.id)

        pack.records.write("UPDATE akte SET sachbearbeiter = ? WHERE id = ?", number, akte.id)
        assert [one.az for one in akten.find(eva)] == [akte.az]
        with pytest.raises(ToolFailed, match="Notfristen"):
            fristen.check(eva, fristen.get(eva, frist.id))
        with pytest.raises(ToolFailed, match="andere Person"):
            fristen.check(pack.person, frist)
        pack.records.write("UPDATE akte SET gesperrt = 1 WHERE id = ?", akte.id)
        assert akten.find(eva) == [] and akten.find(pack.person)


async def test_who_asks_first_is_the_same_for_all_who_ask(tmp_path: Path) -> None:
    """KZ-14: a page and a tool that ask at the same moment see one person, with a role."""
    async with engine_home(tmp_path, CHAT, []) as home:
        pack = switch_on(home)
        for _ in range(20):
            pack.records.write("DELETE FROM person")
            start = threading.Barrier(4)

            def ask(start: threading.Barrier = start) -> Person:
                start.wait(HANG)
                return pack.person

            found = await asyncio.gather(*(asyncio.to_thread(ask) for _ in range(4)))
            assert {(one.role, one.id) for one in found} == {("ADMIN", found[0].id)}


async def test_aktenzeichen_follow_their_pattern(tmp_path: Path) -> None:
    """KZ-11: and a wrong pattern, or an empty Rubrum, opens none."""
    async with office(tmp_path) as (_, pack, akte):
        year = datetime.date.today().year
        assert akte.az == f"0001/{year % 100:02}"
        akten, file = service(pack, "Akten"), pack.settings_file
        settings = pack.loaded.pack.settings
        assert settings is not None
        shown = [one["title"] for one in settings_schema(settings)["properties"].values()]  # type: ignore[union-attr]
        known = ["Aktenzeichen", "Tage einer Vorfrist", "Ordner", "Jahre der Aufbewahrung"]
        assert shown == [
            *(
                *known,
                "Land",
                "Name der Kanzlei",
                "Steuernummer",
                "Basiszins",
                "Synonyme",
                "Anfragen je Stunde",
                "Erlaubte Rechner",
            )
        ]
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(json.dumps({"aktenzeichen": "{jahr}-{lfd}"}))
        assert (
            akten.open(pack.person, "  Yilmaz  ./. Reiter ").title == f"{year}-2 Yilmaz ./. Reiter"
        )
        for pattern in ("{nummer}", "immer", "{lfd:x!}"):
            file.write_text(json.dumps({"aktenzeichen": pattern}))
            if pattern == "immer":
                akten.open(pack.person, "Einmal")
            with pytest.raises(ToolFailed, match="Muster"):
                akten.open(pack.person, "Noch eine")
        with pytest.raises(ToolFailed, match="Rubrum"):
            akten.open(pack.person, " ")


async def test_commands_open_akten_and_close_fristen(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """KZ-50: the same in the terminal."""
    async with office(tmp_path, Call("create_draft_frist", APPEAL)) as (home, pack, akte):
        desk = desk_of(home)
        session = await chat_of(home, akte)
        await say(session)
        (draft,) = session.drafts.waiting()
        await session.review.decide(draft.id, "approve", desk.decided("approve", [draft]))

        async def told(*words: str) -> str:
            capsys.readouterr()
            assert await home.command("packs", "run", "kanzlei", *words) == 0, words
            return capsys.readouterr().out

        assert "Yilmaz" in await told("akte-anlegen", "Yilmaz ./. Reiter", "--ort", "BE")
        assert "Wagner" in await told("akten", "--worte", "wagner")
        monkeypatch.setenv(MARK, "1")
        for command in (["akten"], ["akte", akte.az], ["dokumente", akte.az], ["fristen"]):
            capsys.readouterr()
            assert await home.command("packs", "run", "kanzlei", *command) != 0
            said = capsys.readouterr()
            assert "Wagner" not in said.out + said.err, "KZ-42: no command of an agent reads Akten"
        assert await home.command("drafts", "list", "--done") == 0
        assert await home.command("drafts", "show", draft.id[:8]) != 0
        said = capsys.readouterr()
        assert "Berufung" not in said.out + said.err, "nor the drafts of a chat about one"
        monkeypatch.delenv(MARK)
        assert await home.command("drafts", "list", "--done") == 0
        assert "Berufung" in capsys.readouterr().out
        assert "Berufung, Notfrist, berechnet" in await told("fristen")
        assert "geprüft" in await told("frist", "1", "prüfen")
        assert "erledigt" in await told("frist", "1", "erledigen", "--notiz", "eingelegt")
        assert "keine KI" in await told("ki-modus", akte.az, "keine KI")
        assert service(pack, "Fristen").find(pack.person) == []


async def test_addresses_of_the_office_have_titles(tmp_path: Path) -> None:
    """KZ-8: norms, Akten and Fristen; what is not there leads nowhere."""
    async with office(tmp_path) as (home, _, akte):
        asked = [
            akte.address,
            "kanzlei:norm/ZPO/520/2",
            "kanzlei:norm/RVG/VV-3100",
            "kanzlei:frist/7",
            "kanzlei:akte/99",
            "kanzlei:unsinn",
        ]
        found = home.engine.services.packs.resolve(asked)
        titles = [one.title if one else None for one in found.values()]
        norm = "§ 520 II ZPO: Berufungsbegründung"
        assert titles == [f"Akte {akte.az}", norm, "VV 3100 RVG", None, None, None]


async def test_kz17_other_holidays_call_a_person_and_change_no_frist(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """An open Frist that would end on another day now raises an alert, once with each version of the
    holidays; it stays as it was entered, and so does one that is done."""
    async with office(tmp_path) as (home, pack, akte):
        fields = load_class("kanzlei", "tools.office.frist_kind:FristFields")
        enter = sys.modules[fields.__module__].enter
        for event in ("2026-02-02", "2026-02-03", "2026-02-04"):
            enter(pack.person, fields(akte.id, "Berufung", "BE", event), pack)
        fristen, notizen = service(pack, "Fristen"), service(pack, "Notizen")
        first, second, third = fristen.find(pack.person)
        fristen.check(pack.person, second)
        fristen.done(pack.person, fristen.get(pack.person, second.id), "Eingelegt.")
        assert await home.command("packs", "run", "kanzlei", "fristen") == 0
        assert notizen.alerts(pack.person) == [], "as they were entered"
        sql = "UPDATE frist SET ende = ? WHERE id = ?"  # as older holidays had it
        for one in (first, second):
            pack.records.write(sql, (one.end - datetime.timedelta(days=1)).isoformat(), one.id)
        assert await home.command("packs", "run", "kanzlei", "fristen") == 0
        assert notizen.alerts(pack.person) == [], "the holidays are the same"
        pack.records.write("UPDATE nachgerechnet SET feiertage = '0.1'")
        for _ in range(2):
            assert await home.command("packs", "run", "kanzlei", "fristen") == 0
        (alert,) = notizen.alerts(pack.person)
        assert alert.level == "dringend" and f"{first.end:%d.%m.%Y}" in alert.text
        assert "Geändert wurde nichts" in alert.text
        assert fristen.get(pack.person, first.id).end == first.end - datetime.timedelta(days=1)
        assert fristen.get(pack.person, third.id).end == third.end
        capsys.readouterr()


async def test_kz22_limitation_notice_and_interest_are_told_by_commands(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """KZ-50: in German, each with its steps; what the office knows of later rates counts."""
    async with office(tmp_path) as (home, pack, _):

        async def told(*words: str, code: int = 0) -> str:
            assert await home.command("packs", "run", "kanzlei", *words) == code
            said = capsys.readouterr()
            return said.out + said.err

        said = await told("verjaehrung", "04.02.2023", "--gehemmt", "01.03.2024-31.03.2024")
        assert said.startswith("Verjährt mit Ablauf des So 31.01.2027") and "§ 209" in said
        said = await told("kuendigung", "04.02.2026", "--seit", "01.01.2014", "--arbeitgeber")
        assert said.startswith("Endet mit Ablauf des Fr 31.07.2026") and "§ 622 II" in said
        said = await told("zinsen", "10.000,00", "01.01.2026", "30.06.2026")
        assert "6,27 %" in said and "310,92 €" in said
        late = ("zinsen", "1000", "01.07.2026", "01.07.2026")
        assert "ist kein Basiszinssatz hinterlegt" in await told(*late, code=1)
        pack.settings_file.parent.mkdir(parents=True, exist_ok=True)
        pack.settings_file.write_text(json.dumps({"basiszins": "01.07.2026=1,02"}))
        assert "6,02 %" in await told(*late)
        assert "ist kein Tag" in await told("verjaehrung", "morgen", code=1)
