"""Fees of the pack Kanzlei: the cases given to the cent, and the tables beside the law's rule."""

from __future__ import annotations

import asyncio
import csv
from datetime import date
from decimal import Decimal as D
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from studio.domain.errors import ToolFailed
from support.tool_calls import context

CASES = Path(__file__).parent / "cases" / "fee_cases.csv"
DAY = date(2025, 6, 1)


def bill(
    kanzlei: SimpleNamespace, *items: Any, value: object = 10000, day: date = DAY, **more: Any
) -> Any:
    """The bill of numbers, or of numbers with more: ``("2300", {"rate": D("1.5")})``."""
    asked = [
        kanzlei.bill.Item(one) if isinstance(one, str) else kanzlei.bill.Item(one[0], **one[1])
        for one in items
    ]
    assignment = kanzlei.bill.Assignment(D(str(value)), day, more.pop("pending", day), **more)
    return kanzlei.bill.compute_bill(asked, assignment)


def amounts(section: Any) -> dict[str, str]:
    return {row.number: str(row.amount) for row in section.rows}


def of(value: object) -> dict[str, D]:
    return {"value": D(str(value))}


def every_case(kanzlei: SimpleNamespace) -> dict[str, list[object]]:
    """What the pack computes of each case, in the order in which the case tells it."""

    def b(*items: Any, **more: Any) -> Any:
        return bill(kanzlei, *items, **more)

    def lines(found: Any, section: int = 0) -> list[object]:
        one = found.sections[section]
        return [row.amount for row in one.rows] + [one.total]

    def full(name: str, value: object, rate: str = "1") -> D:
        tables = kanzlei.tables
        table = {
            "rvg": tables.lawyers_table(DAY),
            "pkh": tables.lawyers_table(DAY, pkh=True),
            "gkg": tables.courts_table(DAY),
        }[name]
        return table.fee(D(rate), D(str(value)))

    def court(number: str, value: object = 10000) -> D:
        return b(number, value=value).sections[0].rows[0].amount

    def refused(*items: Any) -> str:
        with pytest.raises(ToolFailed) as raised:
            b(*items)
        return str(raised.value)

    both = ("3100", "3104")
    capped = b(("2300", {"rate": D("2.5"), "reason": "viel"}), *both)
    raised = b("2300", "3100", clients=2)
    partly = b("2300", ("3100", of(6000)), ("3104", of(6000)))
    old = b(*both, "KV 1210", day=date(2025, 5, 31))
    settled = b("1003", ("1000", of(5000)))
    state = b(*both, pkh=True)
    risk = kanzlei.bill.instance_risk(kanzlei.bill.Assignment(D(10000), DAY, DAY))
    costs = kanzlei.costs.amount_of
    reason = b(("2300", {"rate": D("1.8"), "reason": "umfangreich"}))
    return {
        "G01": lines(b("2300")),
        "G02": lines(b(*both)),
        "G03": lines(b("2300", *both), 1),
        "G04": [*lines(capped)[:1], *lines(capped, 1)],
        "G05": [lines(raised)[0], *lines(raised, 1)[:2]],
        "G06": lines(b("3100", clients=3))[:1],
        "G07": lines(b("3100", clients=10))[:1],
        "G08": lines(b(*both, "1003")),
        "G09": lines(b("2300", "1000", value=5000)),
        "G10": [sum(row.amount for row in settled.sections[0].rows[:3])],
        "G11": [lines(partly, 1)[2], *lines(partly, 1)[3:]],
        "G12": lines(b("2301", value=500)),
        "G13": [full("rvg", 500, "0.25")],
        "G14": [full("rvg", 5000, "1.3"), full("rvg", "5000.01", "1.3")],
        "G15": [full("rvg", 1500, "0.65")],
        "G16": lines(b("2300", value="3100.55")),
        "G17": [full("rvg", 750000), *lines(b("3100", value=750000))[:1], court("KV 1210", 750000)],
        "G18": [full(name, value) for name in ("rvg", "gkg") for value in ("500000.01", "1000000")],
        "G19": [*lines(old), old.sections[1].total],
        "G20": [court(number) for number in ("KV 1210", "KV 1211", "KV 1220")],
        "G21": [court("KV 1100", value) for value in (500, 1000, 5000, 10000)],
        "G22": lines(b("KV 1100", "KV 1210"))[1:3],
        "G23": [risk.sections[0].total, risk.sections[2].total, risk.total],
        "G24": lines(state),
        "G25": [full("pkh", value) for value in (4000, "4000.01", 80000, "80000.01")],
        "G26": lines(b("2300", small_business=True)),
        "G27": [b("3305", value=5000).total, b("3305", "3308", value=5000).total],
        "G28": [costs("7000", D(120)), costs("7000 Farbe", D(60)), costs("7000 Dateien", D(7))],
        "G29": [refused(("2300", {"rate": D("1.8")})), reason.sections[0].rows[0].amount],
    }


EXPECTED = {
    "G01": "847.60 20.00 164.84 1032.44",
    "G02": "847.60 782.40 20.00 313.50 1963.50",
    "G03": "847.60 782.40 -423.80 20.00 232.98 1459.18",
    "G04": "1630.00 847.60 782.40 -489.00 20.00 220.59 1381.59",
    "G05": "1043.20 1043.20 -489.00",
    "G06": "1238.80",
    "G07": "2151.60",
    "G08": "847.60 782.40 652.00 20.00 437.38 2739.38",
    "G09": "460.85 531.75 20.00 192.39 1204.99",
    "G10": "1143.00",
    "G11": "-269.10 20.00 149.32 935.22",
    "G12": "15.45 3.09 3.52 22.06",
    "G13": "15",
    "G14": "460.85 538.20",
    "G15": "87.43",
    "G16": "383.50 20.00 76.67 480.17",
    "G17": "4627.00 6015.10 15564.00",
    "G18": "3927.00 5502.00 4348.00 6238.00",
    "G19": "798.20 736.80 20.00 295.45 1850.45 798.00",
    "G20": "849.00 283.00 1132.00",
    "G21": "38 38 85.25 141.50",
    "G22": "849.00 -141.50",
    "G23": "1963.50 849.00 4776.00",
    "G24": "486.20 448.80 20.00 181.45 1136.45",
    "G25": "295.00 319.00 739.00 786.00",
    "G26": "847.60 20.00 867.60",
    "G27": "445.66 656.58",
    "G28": "35.50 53.00 5.00",
}


@pytest.mark.parametrize("name", EXPECTED)
def test_fees_are_right_to_the_cent(kanzlei: SimpleNamespace, name: str) -> None:
    """KZ-24: each of the cases; the amounts stand in its row of the file too."""
    found = every_case(kanzlei)[name]
    assert found == [D(one) for one in EXPECTED[name].split()]
    with CASES.open(encoding="utf-8", newline="") as file:
        (row,) = (row for row in csv.DictReader(file) if row["id"] == name)
    told = EXPECTED[name].replace("-", "").split()[-1]
    assert f"{D(told):.2f}" in row["expected_eur"]


def test_a_high_rate_needs_a_reason(kanzlei: SimpleNamespace) -> None:
    """KZ-24: G29, with the words of the rule; and the narrower limits for a debt."""
    refusal, amount = every_case(kanzlei)["G29"]
    assert "umfangreich oder schwierig" in str(refusal)
    assert amount == D("1173.60")
    debt = {"rate": D("1.0"), "debt": True}
    with pytest.raises(ToolFailed, match="besonders umfangreich"):
        bill(kanzlei, ("2300", debt))
    assert bill(kanzlei, ("2300", {**debt, "reason": "viel"})).sections[0].rows[0].rate == D("1.0")
    with pytest.raises(ToolFailed, match="0,5 bis 1,3"):
        bill(kanzlei, ("2300", {**debt, "rate": D("1.5"), "reason": "viel"}))
    assert bill(kanzlei, ("2300", {"debt": True})).sections[0].rows[0].rate == D("0.9")
    with pytest.raises(ToolFailed, match="0,5 bis 2,5"):
        bill(kanzlei, ("2300", {"rate": D("2.6"), "reason": "viel"}))
    with pytest.raises(ToolFailed, match="festen Satz 1,3"):
        bill(kanzlei, ("3100", {"rate": D("1.5")}))


RULES = {
    "rvg13_2025": ("51.50", "41.50 59.50 55 86 99.50 140 175"),
    "rvg13_2021": ("49", "39 56 52 81 94 132 165"),
    "gkg34_2025": ("40", "21 22.50 30.50 40.50 140 210 210"),
    "gkg34_2021": ("38", "20 21 29 38 132 198 198"),
}
LIMITS = (2_000, 10_000, 25_000, 50_000, 200_000, 500_000, None)
PARTS = (500, 1_000, 3_000, 5_000, 15_000, 30_000, 50_000)


def by_rule(key: str, cents: int) -> D:
    """The fee of the law's rule: so much more for each started part of the value."""
    first, further = RULES[key]
    fee, upto = D(first), 500
    for limit, part, more in zip(LIMITS, PARTS, further.split(), strict=True):
        while upto * 100 < cents and (limit is None or upto < limit):
            fee += D(more)
            upto += part
    return fee


@settings(max_examples=400)
@given(
    st.sampled_from(sorted(RULES)),
    st.one_of(
        st.integers(1, 3_000_000_00),
        st.sampled_from(
            [500, 2000, 5000, 10000, 13000, 50000, 65000, 200000, 500000, 550000]
        ).flatmap(lambda edge: st.sampled_from([edge * 100, edge * 100 + 1, edge * 100 - 1])),
    ),
)
def test_tables_have_the_steps_of_the_law(kanzlei: SimpleNamespace, key: str, cents: int) -> None:
    """KZ-23, KZ-24: at each edge and anywhere else, also above the printed table."""
    day = DAY if key.endswith("2025") else date(2021, 1, 1)
    tables = kanzlei.tables
    table = tables.lawyers_table(day) if key.startswith("rvg") else tables.courts_table(day)
    assert table.key == key
    assert table.full_fee(D(cents) / 100) == by_rule(key, cents)


def test_the_day_chooses_the_table(kanzlei: SimpleNamespace) -> None:
    """KZ-23: mandate and pendency apart; a table that is not here is not replaced by another."""
    found = bill(kanzlei, "3100", "KV 1210", day=date(2025, 5, 31), pending=DAY)
    assert [section.table.key for section in found.sections] == ["rvg13_2021", "gkg34_2025"]
    assert "2021" in found.sections[0].table.name
    for more in ({"day": date(2020, 12, 31)}, {"day": date(2025, 5, 31), "pkh": True}):
        with pytest.raises(ToolFailed, match="nicht hinterlegt"):
            bill(kanzlei, "3100", **more)
    with pytest.raises(ToolFailed, match="§ 34 GKG vor dem"):
        bill(kanzlei, "KV 1210", pending=date(2020, 12, 31))


@pytest.mark.parametrize(
    ("number", "words"),
    [
        ("4100", "Strafsachen"),
        ("5100", "Bußgeldsachen"),
        ("3102", "sozialrechtlichen"),
        ("2503", "Beratungshilfe"),
        ("KV 1310 FamGKG", "FamGKG"),
        ("KV 12000 GNotKG", "GNotKG"),
        ("3309", "nicht hinterlegt"),
    ],
)
def test_what_is_not_covered_is_refused_with_the_reason(
    kanzlei: SimpleNamespace, number: str, words: str
) -> None:
    """KZ-26."""
    with pytest.raises(ToolFailed, match=words):
        bill(kanzlei, number)


def test_credits_that_are_not_computed_are_refused(kanzlei: SimpleNamespace) -> None:
    """KZ-26: a chain of credits, several fees at once, and beside legal aid."""
    with pytest.raises(ToolFailed, match="getrennt"):
        bill(kanzlei, "2300", "3305", "3100")
    with pytest.raises(ToolFailed, match="§ 15a II"):
        bill(kanzlei, ("2300", of(4000)), ("2300", of(6000)), "3100")
    with pytest.raises(ToolFailed, match="§ 58 II"):
        bill(kanzlei, "2300", "3100", pkh=True)
    with pytest.raises(ToolFailed, match="nur einmal"):
        bill(kanzlei, "3100", "3100")
    with pytest.raises(ToolFailed, match="§ 13 II"):
        bill(kanzlei, ("2300", {"debt": True}), value=50)


def test_the_fee_of_an_order_is_credited_whole(kanzlei: SimpleNamespace) -> None:
    """KZ-24: VV 3305 to 3100, by the smaller value; postage counts for both matters."""
    found = bill(kanzlei, "3305", ("3100", of(6000)), "3104")
    order, first = found.sections
    assert amounts(order)["VV 7002"] == amounts(first)["VV 7002"] == "20.00"
    assert amounts(first)["Anrechnung"] == "-414.00"


def test_costs_have_their_rates_and_say_that_they_are_unchecked(kanzlei: SimpleNamespace) -> None:
    """KZ-23, KZ-24: and 7001 stands instead of 7002."""
    found = bill(kanzlei, "3100", ("7001", {"count": D("31.20")}), ("VV 7003", {"count": D(100)}))
    assert "VV 7002" not in amounts(found.sections[0])
    assert amounts(found.sections[0])["VV 7003"] == "42.00"
    notes = {row.number: row.note for row in found.sections[0].rows}
    assert (notes["VV 7003"], notes["VV 7001"], notes["VV 3100"]) == ("ungeprüft", "", "")
    costs = kanzlei.costs.amount_of
    hours = [costs("7005", D(one)) for one in (4, "4.5", 9)]
    assert [*hours, costs("7005 Ausland", D(9))] == [30, 50, 80, 120]
    assert [costs("KV 9002", D(one)) for one in (10, 12)] == [0, 7]
    assert bill(kanzlei, ("7000", {"count": D(60)})).total == D("31.54")  # with VAT
    with pytest.raises(ToolFailed, match="Die Zahl fehlt"):
        bill(kanzlei, "7000")
    with pytest.raises(ToolFailed, match="ganz gezählt"):
        bill(kanzlei, ("7000", {"count": D("1.5")}))
    with pytest.raises(ToolFailed, match="24 Stunden"):
        bill(kanzlei, ("7005", {"count": D(25)}))


@settings(max_examples=200)
@given(
    st.decimals("0.01", "2000000", places=2),
    st.integers(1, 12),
    st.sampled_from(["0.5", "1.3"]),
)
def test_what_is_credited_never_exceeds_what_is_earned(
    kanzlei: SimpleNamespace, value: D, clients: int, rate: str
) -> None:
    """KZ-24: and no matter costs less than nothing."""
    item = ("2300", {"rate": D(rate)})
    found = bill(kanzlei, item, ("3100", of(min(value, D(5000)))), value=value, clients=clients)
    first = found.sections[1]
    assert 0 <= -D(amounts(first)["Anrechnung"]) <= first.rows[0].amount
    assert first.total >= 0
    assert found.total == sum(section.total for section in found.sections)


def call(kanzlei: SimpleNamespace, tmp_path: Path, **arguments: Any) -> Any:
    tool = kanzlei.tools["get_kosten_rules"]
    return asyncio.run(tool.call(context(tmp_path), arguments))


def test_the_tool_shows_a_table_with_norms(kanzlei: SimpleNamespace, tmp_path: Path) -> None:
    """KZ-25, KZ-49: number, words, value, rate, amount and norm, in German."""
    result = call(
        kanzlei,
        tmp_path,
        value="10.000,00 €",
        day="2025-06-01",
        positions=[{"number": "3100"}, {"number": "3104"}, {"number": "KV 1210"}],
    )
    first = result.value["angelegenheiten"][0]
    assert first["positionen"][0] == {
        "nummer": "VV 3100",
        "bezeichnung": "Verfahrensgebühr, erste Instanz",
        "wert": "10.000,00 €",
        "satz": "1,3",
        "betrag": "847,60 €",
        "norm": "VV 3100 RVG",
    }
    assert (first["summe"], result.value["gesamt"]) == ("1.963,50 €", "2.812,50 €")
    assert "KostBRÄG 2025" in first["tabelle"]
    assert {"kanzlei:norm/RVG/13", "kanzlei:norm/RVG/VV-3104", "kanzlei:norm/GKG/34"} <= set(
        result.sources
    )


def test_the_tool_tells_a_rule_and_the_risk(kanzlei: SimpleNamespace, tmp_path: Path) -> None:
    """KZ-25."""
    result = call(kanzlei, tmp_path, positions=[{"number": "VV 2300"}])
    assert "1,3" in result.value[0]["regel"]
    risk = call(kanzlei, tmp_path, value="10000", day="2025-06-01", risk=True)
    assert risk.value["gesamt"] == "4.776,00 €"


@pytest.mark.parametrize(
    ("wrong", "words"),
    [
        ({"value": "viel"}, "keine Zahl"),
        ({"value": "NaN"}, "keine Zahl"),
        ({"value": "-5"}, "über 0"),
        ({"value": "1e12"}, "30.000.000"),
        ({"day": ""}, "Tag des Auftrags fehlt"),
        ({"day": "1.6.25"}, "ist kein Tag"),
        ({"positions": []}, "mindestens eine Nummer"),
        ({"positions": [{"number": "1008"}, {"number": "3100"}]}, "Zahl der Auftraggeber"),
        ({"clients": 0}, "Auftraggeber"),
        ({"value": "", "positions": []}, "Nenne den Wert"),
    ],
)
def test_wrong_input_is_told_in_german(
    kanzlei: SimpleNamespace, tmp_path: Path, wrong: dict[str, Any], words: str
) -> None:
    """KZ-26: each with what to give instead; no amount is guessed."""
    good = {"value": "10000", "day": "2025-06-01", "positions": [{"number": "3100"}]}
    with pytest.raises(ToolFailed, match=words):
        call(kanzlei, tmp_path, **{**good, **wrong})


def test_kz25_free_positions_and_what_paragraph_10_demands(kanzlei: SimpleNamespace) -> None:
    """Free positions have VAT, what only passes through and what was paid have none; a Kostennote
    names each fee with its number, its value and its amount (§ 10 II RVG); no amount is guessed."""
    reading, note = kanzlei.reading, kanzlei.note
    items = reading.read_items(
        "2300=1,5 weil sechs Gutachten; 7000=60; frei=45,00 Aktenversendung, Paket; "
        "durchlaufend=119 Gerichtskosten; Vorschuss=300"
    )
    day = date(2025, 6, 2)
    found = kanzlei.bill.compute_bill(items, kanzlei.bill.Assignment(D(10000), day, day))
    rows = {row.words: row.amount for row in found.sections[0].rows}
    assert rows["Geschäftsgebühr"] == D("978.00") and rows["Aktenversendung, Paket"] == D("45.00")
    net = sum((amount for words, amount in rows.items() if not words.startswith(
        ("Umsatzsteuer", "Gerichtskosten", "Gezahlter")
    )), D(0))  # fmt: skip
    assert (net, rows["Umsatzsteuer, 19 %"]) == (D("1069.50"), D("203.21"))
    assert found.total == net + rows["Umsatzsteuer, 19 %"] + 119 - 300
    text = note.statement(found)
    assert "VV 2300\tGeschäftsgebühr, 1,5 aus 10.000,00 €\t978,00 €" in text
    assert "\tAktenversendung, Paket\t45,00 €" in text and "-300,00 €" in text
    assert text.endswith(f"\tRechnungsbetrag\t{kanzlei.german.euros(found.total)}")
    assert reading.read_items("2300=1.3, 3100")[1].number == "3100"
    alone, both = (reading.read_items(f"2300=1,5{more}") for more in ("", " weil viel,3104=1,2"))
    assert [one.rate for one in alone] == [D("1.5")]
    assert [(one.number, one.rate) for one in both] == [("2300", D("1.5")), ("3104", D("1.2"))]
    alone = kanzlei.bill.compute_bill(
        reading.read_items("frei=100 Beratung"), kanzlei.bill.Assignment(D(1), day, day)
    )
    assert alone.total == D("119.00"), "an agreed fee needs no number"
    for wrong in ("frei=45,00", "frei=viel Kopien", "durchlaufend", "2300=viel", ";", "frei=-1 x"):
        with pytest.raises(ToolFailed):
            kanzlei.bill.compute_bill(
                reading.read_items(wrong), kanzlei.bill.Assignment(D(1000), day, day)
            )


def test_kz22_default_interest_by_half_years(kanzlei: SimpleNamespace) -> None:
    """§§ 247, 288 BGB: five points above the Basiszinssatz, nine among businesses; leap years; what
    is not known is refused, unless the office says it."""
    made = kanzlei.interest
    found = made.default_interest(D(10000), date(2024, 1, 1), date(2024, 12, 31))
    assert [(one.percent, one.days) for one in found.parts] == [
        (D("8.62"), 182),
        (D("8.37"), 184),
    ]
    exact = D(10000) * (D("8.62") * 182 + D("8.37") * 184) / 100 / 366
    assert found.total == exact.quantize(D("0.01"), rounding="ROUND_HALF_UP")
    assert "ungeprüft" in found.warnings[1]
    whole = made.default_interest(D(365), date(2017, 1, 1), date(2017, 12, 31), business=True)
    assert (whole.total, whole.parts[0].percent) == (D("29.64"), D("8.12"))
    assert len(whole.warnings) == 1, "its rates have a source"
    assert made.default_interest(D(1000), date(2026, 6, 30), date(2026, 6, 30)).parts
    with pytest.raises(ToolFailed, match=r"01\.07\.2026=1,27"):
        made.default_interest(D(1000), date(2026, 6, 1), date(2026, 7, 1))
    own = made.read_rates("01.07.2026=1,02 %; 01.01.2027=0,5")
    later = made.default_interest(D(1000), date(2026, 6, 30), date(2027, 6, 30), own=own)
    assert [one.percent for one in later.parts] == [D("6.27"), D("6.02"), D("5.5")]
    gap = made.read_rates("01.01.2027=0,5")
    with pytest.raises(ToolFailed, match=r"Nach dem 30\.06\.2026"):
        made.default_interest(D(1000), date(2026, 6, 30), date(2027, 1, 30), own=gap)
    for wrong in ("1.7.26", "02.07.2026=1", "01.07.2026=viel"):
        with pytest.raises(ToolFailed):
            made.read_rates(wrong)
    for first, last in (
        (date(2001, 12, 31), date(2002, 1, 1)),
        (date(2024, 1, 2), date(2024, 1, 1)),
    ):
        with pytest.raises(ToolFailed):
            made.default_interest(D(1000), first, last)


@given(
    st.dates(date(2002, 1, 1), date(2026, 6, 29)),
    st.dates(date(2002, 1, 1), date(2026, 6, 30)),
    st.booleans(),
)
def test_kz22_interest_is_that_of_each_day(
    kanzlei: SimpleNamespace, first: date, last: date, business: bool
) -> None:
    """A second calculation, day by day: equal, for any time."""
    first, last = sorted((first, last))
    made = kanzlei.interest
    found = made.default_interest(D(1000), first, last, business=business)
    assert sum(one.days for one in found.parts) == (last - first).days + 1
    total, day = D(0), first
    while day <= last:
        percent = [one.percent for one in made.table() if one.since <= day][-1]
        year = (date(day.year, 12, 31) - date(day.year - 1, 12, 31)).days
        total += D(1000) * (percent + (9 if business else 5)) / 100 / year
        day = date.fromordinal(day.toordinal() + 1)
    assert abs(total - sum(one.amount for one in found.parts)) < D("0.000001")
