"""Deadlines of the pack Kanzlei: the cases given, and a second calculation that shares no code."""

from __future__ import annotations

import asyncio
import csv
import datetime
from datetime import date, timedelta
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from studio.domain.errors import ToolFailed
from support.tool_calls import context

CASES = Path(__file__).parent / "cases"
NOT_MOVED = ("§ 187 II 2 BGB", "§ 188 III BGB")
"""Norms of cases that are about an age or a length alone, which no free day moves."""


def rows(name: str) -> list[dict[str, str]]:
    with (CASES / f"{name}.csv").open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))


def place(kanzlei: SimpleNamespace, text: str) -> Any:
    return kanzlei.free_days.read_place(text if "+" in text else f"{text}-kath")


@pytest.mark.parametrize("row", rows("deadline_cases"), ids=lambda row: row["id"])
def test_deadlines_end_as_the_cases_say(kanzlei: SimpleNamespace, row: dict[str, str]) -> None:
    """KZ-16, KZ-17."""
    length = kanzlei.lengths.Length(int(row["length"]), row["unit"][0])
    counts = row["kind"] == "§ 187 II"
    event = date.fromisoformat(row["event_date"])
    raw = kanzlei.lengths.end_of(event, length, counts_first_day=counts)
    assert raw.isoformat() == row["raw_end"]
    end = raw
    if row["norm"] not in NOT_MOVED:
        end, _ = kanzlei.free_days.next_working_day(raw, place(kanzlei, row["land"]))
    assert end.isoformat() == row["end"]


@pytest.mark.parametrize(
    "row",
    [row for row in rows("deadline_cases") if row["norm"].endswith(("ZPO", "KSchG", "ArbGG"))],
    ids=lambda row: row["id"],
)
def test_kinds_end_as_the_cases_say(kanzlei: SimpleNamespace, row: dict[str, str]) -> None:
    """KZ-16: by the kind's name, with the norm among the steps."""
    by_norm = {
        "§ 692 I Nr. 3 ZPO": "Widerspruch gegen Mahnbescheid",
        "§ 276 I ZPO": "Verteidigungsanzeige",
    }
    kinds = kanzlei.kinds.kinds()
    name = by_norm.get(row["norm"]) or next(
        one.name for one in kinds.values() if one.norm == row["norm"]
    )
    found = compute(kanzlei, name, row["event_date"], row["land"])
    assert found.end.isoformat() == row["end"]
    assert found.steps[0].norm == "§ 187 I BGB"
    assert row["norm"].split()[1] in found.steps[1].what
    assert len(found.steps) == (3 if row["end"] != row["raw_end"] else 2)


def compute(kanzlei: SimpleNamespace, kind: str, event: str, where: str = "BE", **more: Any) -> Any:
    asked = kanzlei.calculation.Asked(
        event=date.fromisoformat(event) if event else None, place=place(kanzlei, where), **more
    )
    return kanzlei.calculation.compute(kanzlei.kinds.find_kind(kind), asked)


def test_all_kinds_are_there(kanzlei: SimpleNamespace) -> None:
    """KZ-16: 34 kinds, each computed from a day, and with a length where the court sets it."""
    kinds = kanzlei.kinds.kinds()
    assert len(kinds) == 34
    for kind in kinds.values():
        more = {"length": kanzlei.lengths.Length(3, "W")} if kind.set_by_court else {}
        found = compute(kanzlei, kind.name, "2026-02-04", **more)
        assert found.end > date(2026, 2, 4)
        assert (found.vorfrist is not None) == kind.has_vorfrist
        assert ("ungeprüft" in kind.checked) == any("Ungeprüft" in one for one in found.warnings)


@pytest.mark.parametrize(
    ("extension", "expected"),
    [("1 M", "2026-05-07"), ("2026-05-05", "2026-05-05"), ("2026-05-09", "2026-05-11")],
)
def test_an_extension_runs_from_the_moved_end(
    kanzlei: SimpleNamespace, extension: str, expected: str
) -> None:
    """KZ-18: X1, X3, X4."""
    more = [
        date.fromisoformat(extension)
        if "-" in extension
        else kanzlei.lengths.read_length(extension)
    ]
    found = compute(kanzlei, "Berufungsbegründung", "2026-02-04", extensions=more)
    assert found.end.isoformat() == expected


def test_extensions_follow_each_other(kanzlei: SimpleNamespace) -> None:
    """KZ-18: X2, and a second one; no Notfrist has one."""
    month = kanzlei.lengths.Length(1, "M")
    once = compute(kanzlei, "Berufungsbegründung", "2026-01-07", extensions=[month])
    assert once.end == date(2026, 4, 9)
    twice = compute(kanzlei, "Berufungsbegründung", "2026-01-07", extensions=[month, month])
    assert twice.end == date(2026, 5, 11)  # 9 May is a Saturday
    assert any("Einwilligung" in one for one in twice.warnings)
    with pytest.raises(ToolFailed, match=r"Notfrist.*Wiedereinsetzung"):
        compute(kanzlei, "Berufung", "2026-01-07", extensions=[month])
    with pytest.raises(ToolFailed, match="endet nicht nach dem bisherigen"):
        compute(kanzlei, "Berufungsbegründung", "2026-01-07", extensions=[date(2026, 3, 1)])


@pytest.mark.parametrize(
    ("end", "expected"),
    [
        ("2026-05-26", "2026-05-19"),
        ("2027-01-08", "2026-12-31"),
        ("2026-04-14", "2026-04-07"),
        ("2026-04-13", "2026-04-02"),
    ],
)
def test_a_vorfrist_moves_back_to_a_working_day(
    kanzlei: SimpleNamespace, end: str, expected: str
) -> None:
    """KZ-20: V1 to V4."""
    day = date.fromisoformat(end) - timedelta(days=7)
    found = kanzlei.free_days.last_working_day(day, place(kanzlei, "BY"))
    assert found.isoformat() == expected


def test_notfristen_and_begruendungen_have_a_vorfrist(kanzlei: SimpleNamespace) -> None:
    """KZ-20: seven days before, or as the office sets it; no other Frist has one."""
    berufung = compute(kanzlei, "Berufung", "2026-12-08", "BY")
    assert (berufung.end, berufung.vorfrist) == (date(2027, 1, 8), date(2026, 12, 31))
    other = compute(kanzlei, "Berufungsbegründung", "2026-02-04", vorfrist_days=14)
    assert other.vorfrist == date(2026, 3, 24)
    assert compute(kanzlei, "Anfechtungsklage", "2026-02-04").vorfrist is None


@pytest.mark.parametrize(
    ("posted", "arrived", "end"),
    [
        ("2026-06-11", "2026-06-15", "2026-07-15"),
        ("2026-06-09", "2026-06-15", "2026-07-15"),
        ("2026-03-31", "2026-04-07", "2026-05-07"),
        ("2025-12-23", "2025-12-29", "2026-01-29"),
    ],
)
def test_tax_acts_arrive_on_the_fourth_day(
    kanzlei: SimpleNamespace, posted: str, arrived: str, end: str
) -> None:
    """KZ-19: A1 to A4; moved off free days before the month begins."""
    found = compute(kanzlei, "Einspruch, Steuer", posted, posted=True)
    assert found.end.isoformat() == end
    assert arrived in [step.day.isoformat() for step in found.steps]
    assert found.steps[0].norm == "§ 122 II AO"


def test_an_act_of_another_authority_notes_the_earlier_day(kanzlei: SimpleNamespace) -> None:
    """KZ-19: whether § 41 VwVfG moves the arrival is not checked, so both days are told."""
    found = compute(kanzlei, "Widerspruch, Verwaltung", "2026-06-09", posted=True)
    assert found.end == date(2026, 7, 13)  # from Saturday 13 June, not from Monday
    assert any("Mi 15.07.2026" in one and "frühere" in one for one in found.warnings)
    plain = compute(kanzlei, "Widerspruch, Verwaltung", "2026-06-11", posted=True)
    assert plain.end == date(2026, 7, 15)
    assert not any("frühere" in one for one in plain.warnings)
    with pytest.raises(ToolFailed, match="Aufgabe zur Post"):
        compute(kanzlei, "Berufung", "2026-06-09", posted=True)


def test_an_unknown_commune_gets_the_earlier_day(kanzlei: SimpleNamespace) -> None:
    """KZ-17: with a warning that names the other; without one where it makes no difference."""
    ask, kind = kanzlei.calculation.Asked, kanzlei.kinds.find_kind("Berufung")
    unknown = kanzlei.free_days.read_place("Thüringen")
    found = kanzlei.calculation.compute(kind, ask(event=date(2026, 5, 4), place=unknown))
    assert found.end == date(2026, 6, 4)
    assert any("+kath" in one and "Fr 05.06.2026" in one for one in found.warnings)
    found = kanzlei.calculation.compute(kind, ask(event=date(2026, 1, 31), place=unknown))
    assert not found.warnings
    augsburg = kanzlei.free_days.read_place("augsburg")
    found = kanzlei.calculation.compute(kind, ask(event=date(2024, 7, 8), place=augsburg))
    assert found.end == date(2024, 8, 9), "8 August is a holiday there alone"


def test_a_day_the_court_names_is_taken_as_it_is(kanzlei: SimpleNamespace) -> None:
    """KZ-18: moved off a free day only, and for Fristen of the court alone."""
    for named, end in ((date(2026, 5, 5), date(2026, 5, 5)), (date(2026, 5, 9), date(2026, 5, 11))):
        assert compute(kanzlei, "Frist des Gerichts", "2026-04-01", length=named).end == end
    with pytest.raises(ToolFailed, match="gesetzliche Länge"):
        compute(kanzlei, "Berufung", "2026-04-01", length=date(2026, 5, 5))
    with pytest.raises(ToolFailed, match="bestimmt das Gericht"):
        compute(kanzlei, "Klageerwiderung", "2026-04-01")


def test_late_service_does_not_wait_for_ever(kanzlei: SimpleNamespace) -> None:
    """KZ-16: five months after it was pronounced the month begins, with and without service."""
    spoken = date(2025, 9, 10)
    for event in ("", "2026-06-01"):
        found = compute(kanzlei, "Berufung", event, pronounced=spoken)
        assert found.end == date(2026, 3, 10)
        assert any("ungeprüft" in one for one in found.warnings)
    assert compute(kanzlei, "Berufung", "2025-10-01", pronounced=spoken).end == date(2025, 11, 3)
    late = compute(kanzlei, "Nichtzulassungsbeschwerde", "2026-06-01", pronounced=spoken)
    assert late.end == date(2026, 3, 10)
    with pytest.raises(ToolFailed, match="vor der Verkündung"):
        compute(kanzlei, "Berufung", "2025-09-01", pronounced=spoken)


def test_special_lengths_are_asked_for(kanzlei: SimpleNamespace) -> None:
    """KZ-16: the law's other length with its case; no other one."""
    month = kanzlei.lengths.Length(1, "M")
    plain = compute(kanzlei, "Wiedereinsetzung", "2026-01-05")
    assert plain.end == date(2026, 1, 19)
    assert any("Begründungsfrist" in one for one in plain.warnings)
    assert compute(kanzlei, "Wiedereinsetzung", "2026-01-05", length=month).end == date(2026, 2, 5)
    with pytest.raises(ToolFailed, match=r"Berufung dauert 1 Monat \(§ 517 ZPO\), nicht 2 Wochen"):
        compute(kanzlei, "Berufung", "2026-01-05", length=kanzlei.lengths.Length(2, "W"))


# The second calculation: holidays from Easter, no package, no code of the pack.


def easter(year: int) -> date:
    a, b, c = year % 19, year // 100, year % 100
    d = (19 * a + b - b // 4 - (b - (b + 8) // 25 + 1) // 3 + 15) % 30
    e = (32 + 2 * (b % 4) + 2 * (c // 4) - d - c % 4) % 7
    f = (a + 11 * d + 22 * e) // 451
    month, day = divmod(d + e - 7 * f + 114, 31)
    return date(year, month, day + 1)


def own_holidays(year: int, land: str, catholic: bool) -> set[date]:
    sunday = easter(year)
    moving = {-2, 1, 39, 50} | ({0, 49} if land == "BB" else set())
    if land in ("BW", "BY", "HE", "NW", "RP", "SL") or (catholic and land in ("SN", "TH")):
        moving.add(60)
    fixed = {(1, 1), (5, 1), (10, 3), (12, 25), (12, 26)}
    if land in ("BW", "BY", "ST"):
        fixed.add((1, 6))
    if land == "BE" or (land == "MV" and year >= 2023):
        fixed.add((3, 8))
    if land == "BE" and year in (2020, 2025):
        fixed.add((5, 8))
    if land == "SL" or (land == "BY" and catholic):
        fixed.add((8, 15))
    if land == "TH":
        fixed.add((9, 20))
    if land in ("BB", "HB", "HH", "MV", "NI", "SH", "SN", "ST", "TH"):
        fixed.add((10, 31))
    if land in ("BW", "BY", "NW", "RP", "SL"):
        fixed.add((11, 1))
    found = {sunday + timedelta(days=days) for days in moving}
    found |= {date(year, month, day) for month, day in fixed}
    if land == "SN":
        found.add(
            next(date(year, 11, day) for day in range(16, 23) if date(year, 11, day).weekday() == 2)
        )
    if land == "BE" and year == 2028:
        found.add(date(2028, 6, 17))
    return found


def own_end(event: date, number: int, unit: str) -> date:
    """Counted day by day and month by month, not by formula."""
    if unit in "TW":
        day = event
        for _ in range(number * (7 if unit == "W" else 1)):
            day += timedelta(days=1)
        return day
    year, month = event.year, event.month
    for _ in range(number * (12 if unit == "J" else 1)):
        year, month = (year + 1, 1) if month == 12 else (year, month + 1)
    for number_of_day in range(event.day, 0, -1):
        try:
            return date(year, month, number_of_day)
        except ValueError:
            continue
    raise AssertionError


LAENDER = [
    "BB",
    "BE",
    "BW",
    "BY",
    "HB",
    "HE",
    "HH",
    "MV",
    "NI",
    "NW",
    "RP",
    "SH",
    "SL",
    "SN",
    "ST",
    "TH",
]


@settings(max_examples=5000)
@given(
    st.dates(date(2019, 1, 1), date(2029, 12, 31)),
    st.integers(1, 20),
    st.sampled_from("TWM"),
    st.sampled_from(LAENDER),
    st.booleans(),
)
def test_a_second_calculation_agrees(
    kanzlei: SimpleNamespace, event: date, number: int, unit: str, land: str, catholic: bool
) -> None:
    """KZ-16: 5,000 random ones of 2019 to 2029 in all Länder."""
    where = kanzlei.free_days.Place(land, catholic)
    length = kanzlei.lengths.Length(number, unit)
    end, _ = kanzlei.free_days.next_working_day(kanzlei.lengths.end_of(event, length), where)
    expected = own_end(event, number, unit)
    while expected.weekday() > 4 or expected in own_holidays(expected.year, land, catholic):
        expected += timedelta(days=1)
    assert end == expected


def call(kanzlei: SimpleNamespace, tmp_path: Path, name: str, **arguments: Any) -> Any:
    return asyncio.run(kanzlei.tools[name].call(context(tmp_path), arguments))


def test_the_tool_tells_end_steps_and_norms(kanzlei: SimpleNamespace, tmp_path: Path) -> None:
    """KZ-16, KZ-35: KZ-18's story, as the model gets it."""
    result = call(
        kanzlei,
        tmp_path,
        "compute_frist",
        kind="berufungsbegründung",
        event="04.02.2026",
        place="BE",
        extensions=["1 M"],
    )
    assert result.value["ende"] == "2026-05-07"
    assert result.value["vorfrist"] == "2026-04-30"
    assert result.value["schritte"] == [
        "§ 187 I BGB: Der Tag des Ereignisses zählt nicht mit → Mi 04.02.2026",
        "§ 188 II BGB: 2 Monate (§ 520 II ZPO) → Sa 04.04.2026",
        "§ 222 II ZPO: verschoben (Samstag, Sonntag, Ostermontag) → Di 07.04.2026",
        "§ 224 III ZPO, § 190 BGB: um 1 Monat verlängert, vom Ende der vorigen Frist an → Do 07.05.2026",
    ]
    assert result.sources == (
        "kanzlei:norm/ZPO/520/2",
        "kanzlei:norm/BGB/187/1",
        "kanzlei:norm/BGB/188/2",
        "kanzlei:norm/ZPO/222/2",
        "kanzlei:norm/ZPO/224/3",
        "kanzlei:norm/BGB/190",
    )


@pytest.mark.parametrize(
    ("wrong", "words"),
    [
        ({"kind": "Berufungsbegrundung"}, "Berufungsbegründung"),
        ({"event": "2026-02-30"}, "ist kein Tag"),
        ({"event": "gestern"}, "ist kein Tag"),
        ({"place": "Bayernland"}, "Bundesland"),
        ({"extensions": ["ein Weilchen"]}, "keine Länge"),
        ({"extensions": ["0 M"]}, "keine Länge"),
        ({"event": ""}, "beginnt mit: Zustellung"),
        ({"event": "1951-02-04"}, "keine Feiertage"),
        ({"event": "9999-12-20"}, "endet eine Frist"),
    ],
)
def test_wrong_input_is_told_in_german(
    kanzlei: SimpleNamespace, tmp_path: Path, wrong: dict[str, Any], words: str
) -> None:
    """KZ-16: each with what to give instead; no end is guessed."""
    good = {"kind": "Berufungsbegründung", "event": "2026-02-04", "place": "BE"}
    with pytest.raises(ToolFailed, match=words):
        call(kanzlei, tmp_path, "compute_frist", **{**good, **wrong})


def test_norms_have_addresses(kanzlei: SimpleNamespace) -> None:
    """KZ-8: as the rows and kinds write them."""
    addresses = kanzlei.norms.addresses
    assert addresses(["§§ 700, 339 ZPO"]) == ("kanzlei:norm/ZPO/700", "kanzlei:norm/ZPO/339")
    assert addresses(["§§ 692 I Nr. 3, 694 ZPO"]) == (
        "kanzlei:norm/ZPO/692/1",
        "kanzlei:norm/ZPO/694",
    )
    assert addresses(["§ 188 II, III BGB"]) == ("kanzlei:norm/BGB/188/2", "kanzlei:norm/BGB/188/3")
    assert addresses(["VV 2300 RVG, VV 1008 RVG", "KV 1210 GKG"]) == (
        "kanzlei:norm/RVG/VV-2300",
        "kanzlei:norm/RVG/VV-1008",
        "kanzlei:norm/GKG/KV-1210",
    )
    assert addresses(["§ 544 IX ZPO"]) == ("kanzlei:norm/ZPO/544/9",)


def test_the_calendar_knows_its_years(kanzlei: SimpleNamespace) -> None:
    """KZ-17: a day beyond those that were looked at is refused, not guessed."""
    with pytest.raises(ToolFailed, match="1996 bis 2100"):
        kanzlei.free_days.free_reason(datetime.date(2101, 1, 3), place(kanzlei, "BE"))


@pytest.mark.parametrize(
    ("arose", "known", "suspended", "end"),
    [
        ("2023-02-04", None, (), "2026-12-31"),
        ("2023-12-31", None, (), "2026-12-31"),
        ("2022-12-31", "2023-01-01", (), "2026-12-31"),
        ("2013-02-04", "2021-05-01", (), "2023-02-04"),  # ten years, without regard to knowledge
        ("2023-02-04", None, [("2024-03-01", "2024-03-31")], "2027-01-31"),
        ("2023-02-04", None, [("2023-12-01", "2024-01-10")], "2027-01-10"),  # before it began
        ("2023-02-04", None, [("2026-12-31", "2026-12-31")], "2027-01-01"),
        ("2023-02-04", None, [("2027-01-01", "2027-06-30")], "2026-12-31"),  # too late
        # A day that two of them have, or one within another, does not count twice.
        (
            "2023-02-04",
            None,
            [("2024-03-01", "2024-03-31"), ("2024-03-15", "2024-04-10")],
            "2027-02-10",
        ),
        (
            "2023-02-04",
            None,
            [("2024-03-01", "2024-03-31"), ("2024-03-05", "2024-03-10")],
            "2027-01-31",
        ),
        ("2013-02-04", "2021-05-01", [("2014-01-01", "2014-01-10")], "2023-02-14"),
    ],
)
def test_kz22_limitation_by_195_and_199_bgb(
    kanzlei: SimpleNamespace, arose: str, known: str | None, suspended: Any, end: str
) -> None:
    """From the end of the year, at most ten years, and times that do not count (§ 209)."""
    day = date.fromisoformat
    times = [(day(first), day(last)) for first, last in suspended]
    found = kanzlei.limitation.limitation(day(arose), day(known) if known else None, times)
    assert found.day == day(end) and "§ 195 BGB" in " ".join(found.steps)


@pytest.mark.parametrize(
    ("arrived", "since", "employer", "end"),
    [
        ("2026-01-18", None, False, "2026-02-15"),
        ("2026-01-19", None, False, "2026-02-28"),
        ("2026-01-31", None, False, "2026-02-28"),
        ("2026-02-04", "2024-02-05", True, "2026-03-15"),  # not yet two years
        ("2026-02-04", "2024-02-04", True, "2026-03-31"),
        ("2026-01-31", "2021-01-31", True, "2026-03-31"),  # five years, two months
        ("2026-02-04", "2018-02-04", True, "2026-05-31"),
        ("2026-02-04", "2016-01-01", True, "2026-06-30"),
        ("2026-02-04", "2014-01-01", True, "2026-07-31"),
        ("2026-02-04", "2011-02-04", True, "2026-08-31"),
        ("2026-02-04", "2006-02-04", True, "2026-09-30"),
        ("2026-02-04", "2006-02-04", False, "2026-03-15"),
    ],
)
def test_kz22_notice_by_622_bgb(
    kanzlei: SimpleNamespace, arrived: str, since: str | None, employer: bool, end: str
) -> None:
    """Four weeks to the fifteenth or the end of a month; the employer's grows with the years."""
    day = date.fromisoformat
    begun = day(since) if since else None
    found = kanzlei.limitation.notice(day(arrived), employer=employer, since=begun)
    assert found.day == day(end)


def test_kz22_what_cannot_be_is_refused(kanzlei: SimpleNamespace) -> None:
    made, day = kanzlei.limitation, date(2026, 2, 4)
    assert made.notice(day, employer=True, probation=True).day == date(2026, 2, 18)
    for since, last in (
        (date(2025, 1, 1), date(2025, 6, 30)),  # § 188 II BGB: the first day counts
        (date(2025, 8, 31), date(2026, 2, 28)),
    ):
        assert made.notice(last, employer=True, since=since, probation=True)
        with pytest.raises(ToolFailed, match="höchstens sechs Monate"):
            after = last + datetime.timedelta(days=1)
            made.notice(after, employer=True, since=since, probation=True)
    for wrong in (
        lambda: made.notice(day, employer=True),
        lambda: made.notice(day, employer=True, since=date(2026, 3, 1)),
        lambda: made.notice(day, employer=True, since=date(2025, 1, 1), probation=True),
        lambda: made.limitation(day, date(2025, 1, 1)),
        lambda: made.limitation(date(9998, 1, 1)),
        lambda: made.limitation(day, None, [(date(2027, 2, 1), date(2027, 1, 1))]),
    ):
        with pytest.raises(ToolFailed):
            wrong()
