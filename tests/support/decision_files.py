"""Decisions as rechtsprechung-im-internet.de and de.openlegaldata.io write them, and lists of them."""

from __future__ import annotations

import json

HEAD = '<!DOCTYPE dokument SYSTEM "http://127.0.0.1:9/rii-dok.dtd">'
LEASE = {
    "doknr": "KORE300052020",
    "ecli": "ECLI:DE:BGH:2020:120320UIXZR125.17.0",
    "gertyp": "BGH",
    "spruchkoerper": "9. Zivilsenat",
    "entsch-datum": "20200312",
    "aktenzeichen": "IX ZR 125/17",
    "doktyp": "Urteil",
    "norm": "§ 573 Abs 2 Nr 2 BGB, § 280 Abs 1 BGB",
    "titelzeile": "Wohnraummiete: Vorgetäuschter Eigenbedarf des Vermieters",
}
GROUNDS = (
    '<dl class="RspDL"><dt><a name="rd_1">1</a></dt><dd><p><span style="font:x">Der Kläger verlangt '
    'Räumung.</span></p></dd></dl><dl><dt><a name="rd_2">2</a></dt><dd><p>Die Anbietpflicht ist '
    "verletzt.&nbsp;</p><p>Zweiter Satz.</p></dd></dl>"
)


def judgment(head: str = HEAD, grounds: str = GROUNDS, **fields: str) -> bytes:
    """A decision as rechtsprechung-im-internet.de writes it."""
    named = LEASE | {name.replace("_", "-"): value for name, value in fields.items()}
    told = "".join(f"<{name}>{value}</{name}>" for name, value in named.items())
    parts = f"<leitsatz><p>Wer Eigenbedarf vortäuscht, haftet.</p></leitsatz><gruende>{grounds}</gruende>"
    return f"{head}<dokument>{told}<gerort/>{parts}</dokument>".encode()


def row(court: str, day: str, az: str, link: str) -> str:
    """One of the list of all decisions, ``rii-toc.xml``."""
    return (
        f"<item><gericht>{court}</gericht><entsch-datum>{day}</entsch-datum><aktenzeichen>{az}"
        f"</aktenzeichen><link>{link}</link><modified>2025-06-23T21:55:54.378Z</modified></item>"
    )


def listed(*rows: str, head: str = "") -> bytes:
    return f"<?xml version='1.0' encoding='UTF-8'?>{head}<items>{''.join(rows)}</items>".encode()


FEDERAL = f"<h2>Leitsatz</h2><p>Wer Eigenbedarf vortäuscht, haftet.</p><h2>Gründe:</h2><div>{GROUNDS}</div>"
OF_THE_LAND = (
    "<h2>Tenor</h2>\n<p>Die Berufung wird zurückgewiesen.</p>\n<h2>Gründe</h2>\n"
    '<span class="absatzRechts">1</span><p class="absatzLinks">Der Kläger verlangt R&auml;umung.</p>'
    '<span class="absatzRechts">2</span><p class="absatzLinks">Der Bedarf war vorgetäuscht.</p>'
    "<p>Dafür haftet der Beklagte.</p><script>alert(1)</script>"
)
PLAIN = "<p>Der Antrag wird abgelehnt.</p><p>Er ist unbegründet<!-- cut"


def case(number: int, court: str, day: str | None, az: str, **fields: object) -> dict[str, object]:
    """A decision as ``/api/cases/`` lists it; its text comes with it alone."""
    named: dict[str, object] = {
        "id": number,
        "slug": f"gericht-{day}",
        "court": {"id": 7, "name": court, "slug": "gericht", "city": None, "state": 3},
        "file_number": az,
        "date": day,
        "created_date": "2022-06-01T10:00:00Z",
        "updated_date": "2023-02-03T11:12:13.456Z",
        "type": "Urteil",
        "ecli": f"ECLI:de:{court}:2022:made-up",
    }
    return named | fields


def cases(*found: dict[str, object]) -> str:
    return json.dumps({"count": len(found), "next": None, "previous": None, "results": [*found]})
