"""Masking of the pack Kanzlei: a provider reads placeholders, people read names (KZ-42, KZ-43)."""

from __future__ import annotations

import base64
import html
import json
import quopri
import random
import re
import unicodedata
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any
from urllib.parse import quote

import pytest

from studio.domain.events import Failed, TextDelta, ToolFinished
from studio.simulator import Call, Text, Turn
from studio.storage.pack_records import PackRecords
from studio.storage.pack_steps import read_steps
from studio.tools.packs.policy import AskedRequest
from support.engine_home import PROTOCOLS, engine_home, say
from support.office_home import service, switch_on

from .conftest import PACK

WRITTEN = {
    "Genitiv": lambda first, last: f"{last}s",
    "Schen": lambda first, last: f"{last}'schen Erben",
    "GROSS": lambda first, last: f"{first} {last}".upper(),
    "ae": lambda first, last: last.translate(UMLAUTS),
    "umgekehrt": lambda first, last: f"{last}, {first}",
    "zerlegt": lambda first, last: unicodedata.normalize("NFD", f"{first} {last}"),
    "JSON": lambda first, last: json.dumps(f"Zeile\n{first} {last}", ensure_ascii=True),
    "HTML": lambda first, last: html.escape(last).encode("ascii", "xmlcharrefreplace").decode(),
    "Adresse": lambda first, last: f"https://example.test/?q={quote(last)}",
    "getrennt": lambda first, last: f"{last[:3]}-\n{last[3:].lower()} kam",
    "klein": lambda first, last: f"die {last}-akte von {first.lower()}",
    "Datei": lambda first, last: f"Klage{last}.pdf",
    "verbunden": lambda first, last: f"Herr{last} und Frau{first}{last}",
    "verbunden klein": lambda first, last: f"schriftsatz{last.lower()}",
    "Mail": lambda first, last: quopri.encodestring(f"{first} {last}".encode()).decode(),
    "Mail, alt": lambda first, last: quopri.encodestring(last.encode("latin-1")).decode(),
    "Mailkopf": lambda first, last: _head(last),
    "Mailkopf in zwei Teilen": lambda first, last: f"{_head(last[:3])}\r\n {_head(last[3:])}",
    "Mailkopf mit falschem Zeichensatz": lambda first, last: _head(last, "rot13"),
    "Zeile der Mail": lambda first, last: f"{last[:3]}=\n{last[3:].lower()} kam",
    "zusammen": lambda first, last: f"{first}{last}@{last}.example".lower(),
}
MAIL = (
    *("Mail", "Mail, alt", "Zeile der Mail"),
    *("Mailkopf", "Mailkopf in zwei Teilen", "Mailkopf mit falschem Zeichensatz"),
)
UMLAUTS = str.maketrans({"ä": "ae", "ö": "oe", "ü": "ue", "Ö": "Oe", "Ü": "Ue", "ß": "ss"})


def _head(text: str, charset: str = "utf-8") -> str:
    return f"=?{charset}?b?{base64.b64encode(text.encode()).decode()}?="


def canaries(number: int, seed: str = "43") -> list[tuple[str, str]]:
    """People whose names are in no other text."""
    made = random.Random(seed)
    parts = ("mül", "göz", "grau", "zwölf", "rüß", "klin", "ström", "wald", "käf", "brü")
    ends = ("brunner", "hofer", "manns", "stetter", "bichler", "ggemann", "hüls", "nagel")
    firsts = ("Erika", "Jörg", "Zoë", "Hans-Peter", "Ayşe", "Łukasz", "Dörthe", "Ute", "René")
    names = {(made.choice(firsts), (made.choice(parts) + made.choice(ends)).capitalize())
             for _ in range(number * 9)}  # fmt: skip
    return sorted(names)[:number]


def left_of(names: list[tuple[str, str]], text: str, kanzlei: Any) -> list[str]:
    """The last names that a text still has, however they are written."""
    plain = kanzlei.folding.folded(text)
    return [last for _, last in names if kanzlei.folding.folded(last) in plain]


@pytest.fixture
def records(tmp_path: Path) -> Iterator[PackRecords]:
    steps = read_steps(sorted((PACK / "org.agent-studio" / "schema").glob("*.sql")))
    made = PackRecords(tmp_path / "records.db", steps, "kanzlei")
    made.write(
        "INSERT INTO akte (id, az, lfd, jahr, rubrum, angelegt) VALUES (1, '0012/26', 12, 2026, "
        "'Wagner ./. Holzbau Süd GmbH', '')"
    )
    yield made
    made.close()


def test_fifty_people_are_hidden_in_every_form(kanzlei: Any, records: PackRecords) -> None:
    """KZ-43: and shown again the text is the same, but for escapes, which are read."""
    people = canaries(50)
    assert len(people) == 50
    known = [kanzlei.known.Known("Zeuge", last, first) for first, last in people]
    mask = kanzlei.mask.AkteMask(kanzlei.mask.Placeholders(records, 1), known)
    for first, last in people:
        for form, write in WRITTEN.items():
            text = f"Am 4. März kam {write(first, last)} zum Termin; § 573 BGB."
            hidden = mask.hide(text)
            assert not left_of([(first, last)], hidden, kanzlei), f"{form}: {hidden}"
            assert hidden.startswith("Am 4. März kam ") and hidden.endswith("§ 573 BGB.")
            assert mask.hide(hidden) == hidden
            if form not in ("JSON", "HTML", "Adresse", "getrennt", "zerlegt", *MAIL):
                assert mask.show(hidden) == text, form
            elif form in ("HTML", "getrennt"):
                assert last.lower() in mask.show(hidden).lower(), form
    odd = "aB" * 200_000  # a stranger's word of capitals takes no minutes
    assert mask.hide(odd) == odd
    again = kanzlei.mask.AkteMask(kanzlei.mask.Placeholders(records, 1), known)
    first, last = people[7]
    assert again.hide(f"{first} {last}") == mask.hide(f"{first} {last}"), "also after a restart"
    assert json.loads(mask.hide(json.dumps({"a": [WRITTEN["JSON"](*one) for one in people]})))


def test_a_name_that_is_a_word_is_hidden_as_a_name_alone(
    kanzlei: Any, records: PackRecords
) -> None:
    """KZ-43: so that tools keep their names, and the sentence around a placeholder tells nothing."""
    Known = kanzlei.known.Known
    words = sorted({one for tool in kanzlei.tools.values() for name in
                    (tool.spec.name, *tool.spec.schema.get("properties", {}))
                    for one in re.findall("[a-z]+", name)})  # fmt: skip
    names = [*words, *("Kind", "Grund", "Richter", "Frist", "Mai", "An", "Im", "Wolf")]
    known = [Known("Mandant", one.capitalize(), "Petra") for one in names]
    mask = kanzlei.mask.AkteMask(kanzlei.mask.Placeholders(records, 1), known)
    for tool in kanzlei.tools.values():
        for name in (tool.spec.name, *tool.spec.schema.get("properties", {})):
            assert mask.hide(name) == name
    for kept in (
        *("Das Kind lebt bei der Mutter.", "aus wichtigem Grund", "die Grundlage der Kinder"),
        *("Der gesetzliche Richter.", "die Frist im Mai", "an die Behörde", "ohne Grund"),
    ):
        assert mask.hide(kept) == kept
    for hidden in (
        *("Frau Kind", "Petra Kind", "KIND", "Kinds Klage", "HerrGrund", "Gestern rief Grund an."),
        *("Klage gegen Grund", "Herr An", "Kind ./. Grund", "frau grund", "Mandantin Richter"),
    ):
        left = [one for one in ("kind", "grund", "richter") if one in mask.hide(hidden).lower()]
        assert not left and "[" in mask.hide(hidden), mask.hide(hidden)
        assert mask.show(mask.hide(hidden)) == hidden


def test_what_is_no_name_is_hidden_too(kanzlei: Any, records: PackRecords) -> None:
    """KZ-43: firms, addresses, days of birth, Aktenzeichen, IBAN, phones, plates."""
    Known = kanzlei.known.Known
    known = [
        *kanzlei.known.known_of(records, 1),
        *kanzlei.known.in_rubrum(
            "Dr. Yıldız Öz ./. Zwölfer & Söhne Logistik GmbH & Co. KG wg. Miete"
        ),
        Known("Geburtstag", value="1970-02-01"),
        Known("Aktenzeichen", value="5 O 123/26"),
    ]
    mask = kanzlei.mask.AkteMask(kanzlei.mask.Placeholders(records, 1), known)
    secret = (
        "Wagner", "Holzbau Süd GmbH", "HOLZBAU SÜD", "Holzbau  Sued", "Yıldız Öz", "Zwölfer",
        "Zwölfer & Söhne Logistik", "0012/26", "0012-26", "5 O 123/26", "5 O 123 / 26",
        "01.02.1970", "1.2.1970", "1. Februar 1970", "1970-02-01", "DE89 3704 0044 0532 0130 00",
        "DE89370400440532013000", "+49 89 1234567", "(089) 123 45-67", "0171/1234567",
        "M-AB 1234", "MÜB-X 77", "Hauptstraße 12 a", "Lange Gasse 5", "80331 München",
        "anna.w@post.example", "Wagnerischen",
    )  # fmt: skip
    kept = (
        "§ 573 Abs. 2 BGB", "VIII ZR 23/21", "1.963,50 €", "04.03.2026", "LG München I",
        "kanzlei:akte/17/dokument/42#s3", "10000 Euro", "Berufung bis Mi 04.03.2026",
        "Art. 103 GG", "12:30:45", "2026-03-04T10:00:00Z", "ECLI:DE:BGH:2021:010221UVIIIZR23.21.0",
    )  # fmt: skip
    for one in secret:
        text = f"Es geht um {one}, sagt er."
        hidden = mask.hide(text)
        assert "[" in hidden and not any(p in hidden for p in one.split() if len(p) > 3), hidden
        assert mask.show(hidden) == text
    for one in kept:
        assert mask.hide(f"Es geht um {one}, sagt er.") == f"Es geht um {one}, sagt er."
    born = "geb. am 3. Mai 1981"
    assert "1981" not in mask.hide(born) and mask.show(mask.hide(born)) == born
    assert "Mandant 1" in mask.hide("Wagner") and "Gegner 1" in mask.hide("Holzbau Süd GmbH")


def test_who_takes_part_is_hidden_and_others_by_their_whole_names(
    kanzlei: Any, records: PackRecords
) -> None:
    """KZ-43: from the contacts, earlier names too; the court stays, deadlines depend on it."""
    for number, (kind, first, name, more) in enumerate(
        (
            (
                "Person",
                "Petra",
                "Wagner",
                ("Schmöller", "1970-02-01", "Am Bach 3", "82131", "Gauting"),
            ),
            ("Gericht", "", "Landgericht München I", ("", None, "", "", "")),
            ("Person", "Otto", "Fremd", ("", None, "", "", "")),
        )
    ):
        sql = (
            "INSERT INTO kontakt (id, art, vorname, name, fruehere_namen, geboren, strasse, plz, "
            "ort, angelegt) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, '')"
        )
        records.write(sql, number + 1, kind, first, name, *more)
    sql = "INSERT INTO beteiligung (akte, kontakt, rolle, zeichen) VALUES (1, ?, ?, ?)"
    records.write(sql, 1, "Mandant", "")
    records.write(sql, 2, "Gericht", "5 O 77/26")
    home = SimpleNamespace(records=records)
    masks = kanzlei.mask.Masken(home)
    text = (
        "Petra Wagner, geb. Schmöller, geboren am 1. Februar 1970, Am Bach 3, 82131 Gauting, klagt "
        "(5 O 77/26) vor dem Landgericht München I. Auch Otto Fremd kam; das ist mir fremd."
    )
    hidden = masks.of(1).hide(text)
    assert hidden == (
        "[Mandant 1], geb. [Mandant 1 Nachname 11], geboren am [Geburtstag 1], "
        "[Anschrift 1], [Ort 1], klagt ([Aktenzeichen 1]) vor dem Landgericht München I. Auch "
        "[Person 1] kam; das ist mir fremd."
    )
    assert masks.of(1).show(hidden) == text and masks.of(1) is masks.of(1)
    records.write("UPDATE kontakt SET name = 'Anders' WHERE id = 3")
    assert "Otto Fremd" in masks.of(1).hide(text) and masks.of(1).show(hidden) == text


@pytest.mark.parametrize("provider", PROTOCOLS)
async def test_in_pseudonym_no_name_leaves_and_drafts_have_them(
    tmp_path: Path, provider: str, kanzlei: Any
) -> None:
    """KZ-42, KZ-43, acceptance 5: words of the person, results of tools, calls, titles."""
    letter = tmp_path / "work" / "brief.md"
    script = [
        Turn(Text("Ich lese für [Mandant"), Text(" 1 Nachname]."), Call("read", {"path": "a.txt"})),
        Turn(Call("write", {"path": "brief.md", "content": "Sehr geehrte Frau [Mandant 1 Nachname]"})),
        *(Turn(Text("Gut, [Mandant 1].")) for _ in range(4)),
    ]  # fmt: skip
    async with engine_home(tmp_path, provider, script) as home:
        pack = switch_on(home)
        akten = service(pack, "Akten")
        akte = akten.open(pack.person, "Müller, Dörthe ./. Zwölfbrunn Logistik GmbH")
        akten.set_mode(pack.person, akte, "pseudonym")
        (home.folder / "a.txt").write_text("Dörthe Müller, M\\u00fcllers; ZWÖLFBRUNN\n", "utf-8")
        session = await home.session()
        await session.change(subject=akte.address)
        events = await say(
            session, "Schreibe Frau Mueller wegen Müller'schen Sachen", answer="once"
        )
        events += await say(session, "Und an die Zwölfbrunn Logistik?")
        assert len(home.asked) >= 4 and not [one for one in events if isinstance(one, Failed)]
        sent = "".join(str(one.json) for one in home.asked)
        assert not left_of([("", "Müller"), ("", "Zwölfbrunn"), ("", "Dörthe")], sent, kanzlei)
        assert "[Mandant 1 Nachname" in sent and "[Gegner 1" in sent
        said = "".join(one.text for one in events if isinstance(one, TextDelta))
        assert said.startswith("Ich lese für Müller.") and "Gut, Dörthe Müller." in said
        read = next(one for one in events if isinstance(one, ToolFinished))
        assert "ZWÖLFBRUNN" in read.text
        (draft,) = session.drafts.waiting()
        assert "Sehr geehrte Frau Müller" in str(draft.after)
        assert not letter.exists()
        # What the provider wrote stays, and a model that may see everything is still understood.
        akten.set_mode(pack.person, akten.get(pack.person, akte.id), "lokal")
        events = await say(session, "Und nun lokal?")
        said = "".join(one.text for one in events if isinstance(one, TextDelta))
        assert said == "Gut, Dörthe Müller." and "Zwölfbrunn" in str(home.asked[-1].json)


@pytest.mark.parametrize("provider", PROTOCOLS)
async def test_in_forty_turns_of_each_protocol_no_canary_leaves(
    tmp_path: Path, provider: str, kanzlei: Any
) -> None:
    """Acceptance 5, KZ-43: two hundred turns in all about fifty people, each in several forms; what
    is read, said and drafted has the right names."""
    people = canaries(50)[[*PROTOCOLS].index(provider) :: 5]
    forms = [name for name in WRITTEN if name not in ("Adresse", "JSON", "HTML")]
    note = Turn(Call("create_notiz", {"text": "Laden: [Zeuge 1] und [Zeuge 7]"}))
    script = [*(Turn(Text(f"Zu [Zeuge {n % 10 + 1}].")) for n in range(39)), note, Turn(Text("."))]
    async with engine_home(tmp_path, provider, script) as home:
        pack = switch_on(home)
        akten = service(pack, "Akten")
        akte = akten.open(pack.person, "Wagner ./. Reiter")
        akten.set_mode(pack.person, akte, "pseudonym")
        for number, (first, last) in enumerate(people, 1):
            sql = "INSERT INTO kontakt (id, vorname, name, angelegt) VALUES (?, ?, ?, '')"
            pack.records.write(sql, number, first, last)
            sql = "INSERT INTO beteiligung (akte, kontakt, rolle) VALUES (1, ?, 'Zeuge')"
            pack.records.write(sql, number)
        session = await home.session()
        await session.change(subject=akte.address)
        said: list[str] = []
        for turn in range(40):
            first, last = people[turn % 10]
            words = WRITTEN[forms[(turn // 10 * 10 + turn) % len(forms)]](first, last)
            events = await say(session, f"{first} {last}: {words}" if turn < 10 else words)
            assert not [one for one in events if isinstance(one, Failed)]
            said.append("".join(one.text for one in events if isinstance(one, TextDelta)))
        sent = "".join(str(one.json) for one in home.asked)
        assert len(home.asked) == 41 and not left_of(people, sent, kanzlei)
        assert said[:39] == [f"Zu {' '.join(people[n % 10])}." for n in range(39)]
        (draft,) = session.drafts.waiting()
        assert f"{' '.join(people[0])} und {' '.join(people[6])}" in draft.after


async def test_pseudonym_needs_an_agreement(tmp_path: Path) -> None:
    """KZ-42: with the provider that is asked, recorded by a lawyer, and not ended."""
    async with engine_home(tmp_path, "anthropic", []) as home:
        pack = switch_on(home)
        akten = service(pack, "Akten")
        akte = akten.open(pack.person, "Wagner ./. Reiter")
        akten.set_mode(pack.person, akte, "pseudonym")
        policy = pack.loaded.pack.policy
        assert policy is not None
        asked = AskedRequest("anthropic", "m", "", False, "title", akte.address)
        assert "§ 43e" in policy.ask(asked, pack).refused
        words = ("packs", "run", "kanzlei", "vereinbarung", "anthropic", "2026-01-02", "USA")
        assert await home.command(*words, "Ordner 3") == 0
        verdict = policy.ask(asked, pack)
        assert verdict.mask is not None and verdict.mask.hide("Wagner") == "[Mandant 1]"
        assert (
            "§ 43e"
            in policy.ask(
                AskedRequest("openai", "m", "", False, "turn", akte.address), pack
            ).refused
        )
        assert (
            await home.command("packs", "run", "kanzlei", "vereinbarungen", "--beenden", "1") == 0
        )
        assert "§ 43e" in policy.ask(asked, pack).refused
