"""Words that name somebody whom the office knows: held back, and asked about (KZ-40)."""

from __future__ import annotations

from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from studio.agent.packs import PackHome
from studio.agent.session.session import Session
from studio.domain.events import (
    AwaitingPermission,
    AwaitingReply,
    Event,
    Failed,
    ToolFinished,
)
from studio.domain.messages import Text as Words
from studio.extensions.packs.loading import load_class
from studio.simulator import Call, Text, Turn
from support.engine_home import EngineHome, engine_home
from support.local_site import Site, site
from support.office_home import service, switch_on

ELSEWHERE = "gpt-oss:120b-cloud"
"""A model that Ollama only passes on to."""
NAMED = "Haftet Erika Müllers Vermieterin?"
END = [Turn(Text("Ja."))] * 3


@asynccontextmanager
async def research(
    tmp_path: Path, *script: Turn, model: str = "sim-model"
) -> AsyncIterator[tuple[EngineHome, PackHome, Session]]:
    """A chat with Recherche in an office that knows Erika Müller."""
    async with engine_home(tmp_path, "ollama", [*script, *END]) as home:
        pack = switch_on(home)
        kontakte = pack.service(load_class("kanzlei", "tools.contacts.kontakte:Kontakte"))
        kontakte.add(pack.person, name="Müller", vorname="Erika")
        session = await home.session("Recherche")
        await session.change(model=model)
        yield home, pack, session


async def asked(session: Session, text: str, *answers: str) -> tuple[list[Event], Sequence[str]]:
    """One turn, and what the pack asks the person, who answers this in turn and allows all else."""
    events, questions, left = list[Event](), list[str](), [*answers]
    async for envelope in session.turn([Words(text)]):
        event = envelope.event
        events.append(event)
        if isinstance(event, AwaitingPermission):
            of_pack = "Die Frage nennt" in event.question.why
            questions += [event.question.why] if of_pack else []
            answer = left.pop(0) if of_pack else "once"
            session.answer_permission(event.question.id, answer)  # type: ignore[arg-type]
        if isinstance(event, AwaitingReply):
            questions.append(event.text)
            session.answer_question(event.call_id, left.pop(0))
    assert not left
    return events, questions


async def test_kz40_a_question_with_a_name_leaves_once_the_person_said_so(tmp_path: Path) -> None:
    """In any form of the name, also what the chat was told before; each name is asked about once."""
    async with research(tmp_path, model=ELSEWHERE) as (home, pack, session):
        events, questions = await asked(session, NAMED, "No, send nothing")
        assert questions == [
            "Die Frage nennt Erika Müller: der Kanzlei bekannt. Sie ginge an ollama, also aus dem "
            "Haus. Stelle sie ohne Namen. Trotzdem senden?"
        ]
        (failed,) = [one for one in events if isinstance(one, Failed)]
        assert failed.title == questions[0] and not home.asked
        events, questions = await asked(session, "Und heute?", "ja")
        assert len(questions) == 1, "the chat would send the first question along"
        assert not [one for one in events if isinstance(one, Failed)] and len(home.asked) == 1
        _, questions = await asked(session, "Und morgen?")
        assert questions == [] and len(home.asked) == 2
        rows = pack.records.read("SELECT was, anbieter, entscheidung FROM protokoll")
        held = "zurückgehalten: ein Name, die Person wurde gefragt"
        last = [tuple(row.values()) for row in rows if str(row["was"]).startswith("Anfrage")]
        assert last == [("Anfrage: turn", "ollama", held)] * 3


@pytest.mark.parametrize(
    ("answer", "sent"), [("Ja, aber ohne den Namen", 0), ("Yes, send it", 1), ("Ja, senden", 1)]
)
async def test_kz40_only_a_plain_yes_lets_a_name_go(tmp_path: Path, answer: str, sent: int) -> None:
    """What a person agrees to under a condition is not sent without it."""
    async with research(tmp_path, model=ELSEWHERE) as (home, _, session):
        await asked(session, NAMED, answer)
        assert len(home.asked) == sent


async def test_kz40_a_question_without_a_name_leaves_at_once(tmp_path: Path) -> None:
    """One first or last name alone is nobody's; a model on this computer may hear of anybody."""
    async with research(tmp_path, model=ELSEWHERE) as (home, _, session):
        _, questions = await asked(session, "Haftet ein Müller, der Erika kennt, nach § 536a BGB?")
        assert questions == [] and len(home.asked) == 1
    (tmp_path / "here").mkdir()
    async with research(tmp_path / "here") as (home, _, session):
        _, questions = await asked(session, NAMED)
        assert questions == [] and len(home.asked) == 1


PARTIES = (
    "Müller ./. Treu Bau GmbH",
    "Wolf ./. Vonovia SE",
    "Yilmaz ./. Holzbau Rosenheim GmbH",
    "Bürger ./. Gemeinde Aschheim",
    "Frist ./. Gläubiger",
    "Reisebüro Xantner GmbH ./. Hausmann Fliesen OHG",
)
LONE = {
    "Haftet Müller nach § 536a BGB?": "Müller",
    "Was schuldet MUELLER?": "MUELLER",
    "Greift Müllers Einwand durch?": "Müllers",
    "Hat Frau Wolf Anspruch auf Miete?": "Wolf",
    "Wolf ./. ein Vermieter": "Wolf",
    "Haftet die Vonovia?": "Vonovia",
    "Was sagt Xantner zu Fliesen?": "Xantner, Fliesen",
    "Muss Yilmaz an Vonovia zahlen?": "Yilmaz, Vonovia",
    "Welche Rechte hat die Klägerin Bürger?": "Bürger",
}
NOBODY = (
    "Haftet der Wolf im Gehege, und wer trägt Treu und Glauben?",
    "Ist ein Müller Kaufmann? Wann haftet der alte Müller?",
    "Welche Rechte haben Bürger? Wann beginnt Verjährung, wie läuft Frist?",
    "Zuständig ist das LG Rosenheim, auch in Rosenheim.",
    "Der Müllerbursche mahlt, müller ist ein Wort.",
    "Was ist eine Gemeinde, was ein Holzbau?",
    "Haftet das Reisebüro? Haften alle Fliesen, und welche Fliesen nicht?",
)


@pytest.mark.parametrize("text", [*LONE, *NOBODY])
async def test_kz40_a_participant_is_known_by_the_last_name_alone(
    tmp_path: Path, text: str
) -> None:
    """In any agent's chat about no Akte, where it stands as a name; ordinary words, those of the
    laws and the names of courts leave at once."""
    async with research(tmp_path, model=ELSEWHERE) as (home, pack, session):
        for rubrum in PARTIES:
            service(pack, "Akten").open(pack.person, rubrum)
        await session.change(agent="Assistant")
        answers = ["No, send nothing"] if text in LONE else []
        _, questions = await asked(session, text, *answers)
        assert len(home.asked) == (text in NOBODY)
        if text in LONE:
            assert questions[0].startswith(f"Die Frage nennt {LONE[text]}: der Kanzlei bekannt")
            pack.records.write("UPDATE akte SET rubrum = 'Grün ./. Blau'")
            assert not (await asked(session, "Und heute?"))[1], "nobody is called so any more"
            assert home.asked


def engine_of(home: EngineHome, here: Site) -> None:
    """The person's own search engine, which finds nothing."""
    here.page("/search", '{"results": []}', "application/json")
    values = home.engine.settings.values
    values.web_search, values.searxng_url = "searxng", here.url


@pytest.mark.parametrize("answer", ["once", "deny"])
async def test_kz40_what_is_searched_for_is_looked_at_too(tmp_path: Path, answer: str) -> None:
    """The model is here, so it may hear the name; a search engine gets it by the person alone."""
    named = Turn(Call("web_search", {"query": "Erika Müller Insolvenz"}))
    plain = Turn(Call("web_search", {"query": "Insolvenz Vermieter"}))
    async with site() as here, research(tmp_path, plain, named) as (home, _, session):
        engine_of(home, here)
        events, questions = await asked(session, "Suche", answer)
        assert len(questions) == 1 and "Die Frage nennt Erika Müller:" in questions[0]
        assert questions[0].startswith("A pack asks about it: ")
        assert len(here.asked) == (2 if answer == "once" else 1)
        assert not [e for e in events if isinstance(e, Failed)]


@pytest.mark.parametrize("mode", ["lokal", "keine KI", "pseudonym", "frei"])
async def test_kz40_kz42_a_chat_about_an_akte_searches_the_web_by_its_mode(
    tmp_path: Path, mode: str
) -> None:
    """“lokal” sends nothing; where a cloud may see the Akte, its names still need a word."""
    named = Turn(Call("web_search", {"query": "Wagner Insolvenz"}))
    plain = Turn(Call("web_search", {"query": "Insolvenz Vermieter"}))
    async with site() as here, research(tmp_path, named, plain) as (home, pack, session):
        engine_of(home, here)
        akten = service(pack, "Akten")
        akte = akten.open(pack.person, "Wagner ./. Holzbau Süd GmbH")
        akten.set_mode(pack.person, akte, mode, "Einwilligung vom 03.02.2026")
        if mode == "pseudonym":
            pack.service(load_class("kanzlei", "tools.office.agreements:Vereinbarungen"))
        await session.change(subject=akte.address)
        answers = ["deny"] if mode in ("pseudonym", "frei") else []
        events, questions = await asked(session, "Suche", *answers)
        done = [one for one in events if isinstance(one, ToolFinished)]
        if mode == "keine KI":
            assert not home.asked
        elif mode == "lokal":
            assert all("Die Akte 0001/" in e.text and "geht ins Netz" in e.text for e in done)
        else:
            assert "nennt Wagner:" in questions[0] and not done[1].is_error
        assert len(here.asked) == len(answers)
