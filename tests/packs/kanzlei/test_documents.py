"""Documents of the pack Kanzlei: files, versions, texts of strangers, and the story of a judgment."""

from __future__ import annotations

import io
import json
import sys
import zipfile
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest
from PIL import Image

from studio.agent.packs import PackHome
from studio.domain.errors import ToolFailed
from studio.domain.events import ToolFinished
from studio.simulator import Call, Text, Turn
from support.engine_home import EngineHome, engine_home, say
from support.office_home import desk_of, service, switch_on
from support.sample_files import pdf

CHAT = "openai-compatible"
W = "http://schemas.openxmlformats.org/wordprocessingml/2006/main"


def docx(body: str, head: str = "", method: int = zipfile.ZIP_DEFLATED) -> bytes:
    data = io.BytesIO()
    with zipfile.ZipFile(data, "w", method) as archive:
        xml = f'<?xml version="1.0"?>{head}<w:document xmlns:w="{W}"><w:body>{body}</w:body></w:document>'
        archive.writestr("word/document.xml", xml)
    return data.getvalue()


def paragraph(*texts: str) -> str:
    return "<w:p>" + "".join(f"<w:r><w:t>{one}</w:t></w:r>" for one in texts) + "</w:p>"


@asynccontextmanager
async def office(
    tmp_path: Path, *calls: Call | Text
) -> AsyncIterator[tuple[EngineHome, PackHome, Any]]:
    script = [*(Turn(one) for one in calls), *(Turn(Text("Gut.")) for _ in range(3))]
    async with engine_home(tmp_path, CHAT, script) as home:
        pack = switch_on(home)
        pack.settings_file.parent.mkdir(parents=True, exist_ok=True)
        pack.settings_file.write_text(json.dumps({"ordner": str(tmp_path / "Akten")}))
        akte = service(pack, "Akten").open(
            pack.person, "Wagner ./. Holzbau", gericht="LG München I", gericht_ort="BY-kath"
        )
        yield home, pack, akte


def take(pack: PackHome, akte: Any, path: Path, data: bytes | str, **more: str) -> Any:
    """Copy a file into an Akte."""
    path.write_bytes(data if isinstance(data, bytes) else data.encode())
    return service(pack, "Dokumente").add(pack.person, akte, path, **more)


async def test_documents_are_files_that_any_program_reads(tmp_path: Path) -> None:
    """KZ-12: under a free name; a change outside is a new version, and a lost file is said."""
    async with office(tmp_path) as (_, pack, akte):
        dokumente = service(pack, "Dokumente")
        first = take(pack, akte, tmp_path / "Urteil.txt", "Der Beklagte wird verurteilt.")
        second = take(pack, akte, tmp_path / "Urteil.txt", "Ein anderes.", folder="Gericht/../x")
        third = take(pack, akte, tmp_path / "Urteil.txt", "Noch eines.")
        place = dokumente.folder_of(akte)
        assert place == tmp_path / "Akten" / akte.az.replace("/", "-")
        assert (place / "Urteil.txt").read_text() == "Der Beklagte wird verurteilt."
        assert (second.folder, third.name) == ("Gericht/Dokument/x", "Urteil (2).txt")
        assert sorted(one.name for one in place.rglob("*") if one.is_file()) == [
            *("Urteil (2).txt", "Urteil.txt", "Urteil.txt"),
        ]
        assert dokumente.refresh(pack.person, akte, first) == (first, "")
        (place / "Urteil.txt").write_text("Der Beklagte wird freigesprochen.")
        changed, problem = dokumente.refresh(pack.person, akte, first)
        assert (changed.version, problem) == (2, "")
        assert "freigesprochen" in dokumente.pages(changed)[1]
        assert "verurteilt" in dokumente.pages(changed, 1)[1]
        with pytest.raises(ToolFailed, match="keine Version 3"):
            dokumente.pages(changed, 3)
        (place / "Urteil.txt").unlink()
        assert "fehlt" in dokumente.refresh(pack.person, akte, changed)[1]
        (tmp_path / "key.txt").write_text("nobody's business")
        (place / "Urteil.txt").symlink_to(tmp_path / "key.txt")
        same, problem = dokumente.refresh(pack.person, akte, changed)
        assert same == changed and "aus dem Ordner der Akte hinaus" in problem
        assert [one.id for one in dokumente.find(akte, words="anderes")] == [second.id]
        assert dokumente.find(akte, words="100%") == []


@pytest.mark.parametrize(
    ("name", "data", "words"),
    [
        ("a.docx", docx(paragraph("Im Namen ", "des Volkes") + paragraph("Urteil")), "Im Namen des Volkes\nUrteil"),
        ("a.txt", "Müller".encode("cp1252"), "Müller"),
        ("a.txt", "\ufeffGrüße".encode(), "Grüße"),
        ("a.html", b"<title>x</title><p>Eins</p><script>nein()</script><p>Zwei</p>", "Eins\nZwei"),
        ("a.eml", b"From: a@b.example\nSubject: =?utf-8?q?Gr=C3=BC=C3=9Fe?=\n\nHallo", "Subject: Grüße\n\nHallo"),
        ("a.eml", b"From: " + b"(" * 5_000 + b"\n\nHallo", "From: (nicht lesbar)\n\nHallo"),
        ("a.eml", b"Subject: " + b"x" * 3_000 + b"\n\nHallo", f"Subject: {'x' * 2_000}\n\nHallo"),
        ("a.pdf", pdf("--- page 2 ---", "Seite zwei"), "--- page 2 ---"),
    ],
)  # fmt: skip
async def test_texts_are_read_by_page(tmp_path: Path, name: str, data: bytes, words: str) -> None:
    """KZ-12: of Word, text in old letters, HTML, e-mail and PDF."""
    async with office(tmp_path) as (_, pack, akte):
        made = take(pack, akte, tmp_path / name, data)
        assert not made.missing
        assert words in service(pack, "Dokumente").pages(made)[1]
        assert made.pages == (2 if name.endswith("pdf") else 1)


BOMB = '<!DOCTYPE a [<!ENTITY a "aaaaaaaaaa"><!ENTITY b "&a;&a;&a;&a;&a;&a;&a;">]>'
LOCKED = docx("<w:p/>").replace(
    b"PK\x01\x02\x14\x03\x14\x00\x00", b"PK\x01\x02\x14\x03\x14\x00\x01"
)
"""As one with a password: the mark is the first bit of the flags."""
FETCH = '<!DOCTYPE a [<!ENTITY x SYSTEM "file:///etc/hostname">]>'


@pytest.mark.parametrize(
    ("name", "data", "why"),
    [
        ("a.docx", docx(paragraph("&b;"), BOMB), "Dokumenttyp"),
        ("a.docx", docx(paragraph("&x;"), FETCH), "Dokumenttyp"),
        ("a.docx", docx("<w:p>" + " " * 60_000_000 + "</w:p>"), "mehr als 50 MB"),
        ("a.docx", b"PK\x03\x04 no zip", "beschädigt"),
        # A megabyte of these can be gigabytes, which are unpacked at once, whatever is read.
        ("a.docx", docx(paragraph("x"), method=zipfile.ZIP_BZIP2), "auf eine Weise gepackt"),
        ("a.docx", docx(paragraph("x"), method=zipfile.ZIP_LZMA), "auf eine Weise gepackt"),
        ("a.docx", docx("<w:p>"), "beschädigt"),
        ("a.docx", LOCKED, "verschlüsselt"),
        ("a.html", b"<![foo[ x", "beschädigt|leer"),  # newer parsers take it for a comment
        (
            "a.eml",
            b"Content-Type: multipart/mixed; boundary=a\n\n" + b"--a\n\nx\n" * 1_001,
            "Teile",
        ),
        ("a.pdf", b"%PDF-1.7 broken", "beschädigt|damaged|Bilder"),
        ("a.tiff", b"II*\x00", "wird kein Text gelesen"),
        ("a.txt", b"", "leer"),
        ("a.eml", b"\xff" * 100, ""),
    ],
    ids=[
        "entities",
        "fetch",
        "zip bomb",
        "no zip",
        "bzip2",
        "lzma",
        "cut xml",
        "locked",
        "markup",
        "parts",
        "cut pdf",
        "picture",
        "empty",
        "mail",
    ],
)
async def test_a_hostile_or_broken_file_is_kept_and_told(
    tmp_path: Path, name: str, data: bytes, why: str
) -> None:
    """KZ-12, KZ-28: nothing is lost, and nothing of another file comes in."""
    import re

    async with office(tmp_path) as (_, pack, akte):
        made = take(pack, akte, tmp_path / name, data)
        kept = service(pack, "Dokumente").folder_of(akte) / made.name
        assert kept.read_bytes() == data
        assert re.search(why, made.missing), made.missing
        assert made.pages == 0 or not why


async def test_a_document_is_read_in_its_own_akte_alone(tmp_path: Path) -> None:
    """KZ-35, KZ-39: by page, as a stranger's words, with an address for each page."""
    calls = [
        Call("read_dokumente", {"query": "Berufung"}),
        Call("read_dokumente_detail", {"dokument": 1, "pages": "2"}),
        Call("read_dokumente_detail", {"dokument": 2}),
        Call("read_dokumente_detail", {"dokument": 1, "pages": "9"}),
        Call("read_dokumente_detail", {"dokument": 1, "pages": "alle"}),
    ]
    async with office(tmp_path, *calls) as (home, pack, akte):
        take(pack, akte, tmp_path / "Urteil.pdf", pdf("Tenor", "Rechtsmittel: Berufung"))
        other = service(pack, "Akten").open(pack.person, "Geheim ./. Niemand")
        take(pack, other, tmp_path / "Geheim.txt", "Ganz geheim")
        session = await home.session()
        await session.change(subject=akte.address)
        said = [one for one in await say(session) if isinstance(one, ToolFinished)]
        listed, page, foreign, far, wrong = (one.text for one in said)
        assert '"total": 1' in listed
        assert "Rechtsmittel" in page and "Tenor" not in page.split('"text"')[1]
        assert said[1].sources == (f"{akte.address}/dokument/1#s2",)
        assert "kein Dokument 2" in foreign and "geheim" not in foreign
        assert "Seite 9 gibt es nicht" in far and "ist keine Seite" in wrong
        titles = home.engine.services.packs.resolve(
            [
                f"{akte.address}/dokument/1#s2",
                f"{other.address}/dokument/1",
                f"{akte.address}/dokument/7",
            ]
        )
        assert [one.title if one else None for one in titles.values()] == [
            *("Urteil.pdf, S. 2", None, None),
        ]


async def test_a_judgment_becomes_two_fristen(tmp_path: Path) -> None:
    """KZ-37, acceptance 8: Helena reads, computes and drafts; the person approves one and takes the
    other back."""
    event = {"event": "2026-02-04", "reason": "Urteil.pdf, S. 1"}
    calls = [
        Call("read_dokumente", {}),
        Call("read_dokumente_detail", {"dokument": 1}),
        Call("compute_frist", {"kind": "Berufung", "event": "2026-02-04", "place": "BY-kath"}),
        Call("create_draft_frist", {"kind": "Berufung", **event}),
        Call("create_draft_frist", {"kind": "Berufungsbegründung", **event}),
    ]
    async with office(tmp_path, *calls) as (home, pack, akte):
        desk, fristen = desk_of(home), service(pack, "Fristen")
        take(pack, akte, tmp_path / "Urteil.pdf", pdf("Zugestellt am 04.02.2026"))
        session = await home.session()
        await session.change(subject=akte.address)
        await say(session, "Ein Urteil ist gekommen.")
        drafts = session.drafts.waiting()
        titles = [one.describe().name for one in drafts]
        assert titles == [
            f"Berufung, Mi 04.03.2026 ({akte.az})",
            f"Berufungsbegründung, Di 07.04.2026 ({akte.az})",
        ]
        for one in drafts:
            acts = desk.decided("approve", [one])
            assert await session.review.decide(one.id, "approve", acts) == "approved"
        assert len(fristen.find(pack.person, akte=akte.id)) == 2
        acts = desk.decided("undo", [drafts[1]])
        assert await session.review.decide(drafts[1].id, "undo", acts) == "undone"
        (left,) = fristen.find(pack.person, akte=akte.id)
        assert (left.kind, left.vorfrist.isoformat()) == ("Berufung", "2026-02-25")


async def test_no_file_leaves_its_place(tmp_path: Path) -> None:
    """KZ-12: names of strangers are no paths, and what cannot be written leaves no row."""

    async with office(tmp_path) as (_, pack, akte):
        dokumente = service(pack, "Dokumente")
        for wrong in ("con.txt", "a:b*.txt", "x" * 200 + ".txt", ".versteckt"):
            made = take(pack, akte, tmp_path / wrong.replace("*", "x"), "Text")
            assert (dokumente.folder_of(akte) / made.name).is_file(), made.name
        with pytest.raises(ToolFailed, match="keine Datei"):
            dokumente.add(pack.person, akte, tmp_path / "fehlt.txt")
        before = len(dokumente.find(akte))
        (tmp_path / "Akten2").write_text("no folder")
        pack.settings_file.write_text(json.dumps({"ordner": str(tmp_path / "Akten2")}))
        with pytest.raises(ToolFailed, match="nicht beschrieben"):
            take(pack, akte, tmp_path / "b.txt", "Text")
        assert len(dokumente.find(akte)) == before


async def test_kz34_a_versandmappe_has_numbered_pdfs_and_a_list(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    async with office(tmp_path) as (home, pack, akte):
        one = take(pack, akte, tmp_path / "Klage & Anträge.v2.pdf", pdf("Klage"))
        two = take(pack, akte, tmp_path / f"{'Anlage' * 20}.pdf", pdf("Anlage"), folder="K")
        word = take(pack, akte, tmp_path / "brief.docx", docx(paragraph("Brief")))
        target = tmp_path / "Mappe"
        run = ("packs", "run", "kanzlei", "versandmappe", akte.az)
        sent = (*run, f"{two.id}, {one.id}", str(target))
        assert await home.command(*sent) == 0
        assert "Grenzen des beA sind ungeprüft" in capsys.readouterr().out
        names = sorted(path.name for path in target.iterdir())
        assert names == [
            f"01_{('Anlage' * 20)[:77]}.pdf",
            "02_Klage_Anträge_v2.pdf",
            "Verzeichnis.csv",
        ]
        assert len(names[0]) == 84, "90 with the ending of a signature"
        assert (target / names[1]).read_bytes() == pdf("Klage")
        rows = (target / "Verzeichnis.csv").read_text("utf-8-sig").splitlines()
        assert len(rows) == 3 and one.digest in rows[2] and rows[1].startswith("1;01_Anlage")
        rows = pack.records.read("SELECT was FROM protokoll WHERE akte = ?", akte.id)
        assert rows[-1]["was"] == "Versandmappe mit 2 Dokumenten"

        formula = take(pack, akte, tmp_path / "+1+2.pdf", pdf("Rechnung"))
        assert await home.command(*run, str(formula.id), str(tmp_path / "F")) == 0
        capsys.readouterr()
        rows = (tmp_path / "F" / "Verzeichnis.csv").read_text("utf-8-sig").splitlines()
        assert rows[1].startswith("1;01_1_2.pdf;'+1+2.pdf;")  # no spreadsheet computes a name

        for numbers, place, why in (
            (f"{one.id}", target, "gibt es schon"),
            (f"{one.id},{word.id}", tmp_path / "b", "ist kein PDF"),
            (f"{one.id},{one.id}", tmp_path / "b", "zweimal"),
            ("999", tmp_path / "b", "kein Dokument 999"),
            ("eins", tmp_path / "b", "keine Nummern"),
            ("", tmp_path / "b", "Nenne die Dokumente"),
        ):
            assert await home.command(*run, numbers, str(place)) != 0
            assert why in capsys.readouterr().err
        assert not (tmp_path / "b").exists()


async def test_kz34_a_versandmappe_beyond_the_limits_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with office(tmp_path) as (_home, pack, akte):
        found = [take(pack, akte, tmp_path / f"{n}.pdf", pdf(f"Seite {n}")) for n in range(3)]
        versand = import_module("studio_pack_kanzlei.tools.office.versand")
        table = tmp_path / "versand.csv"
        monkeypatch.setattr(versand, "FILE", table)
        numbers = [one.id for one in found]
        for files, size, why in ((2, 10**9, "mehr als 2"), (9, 10, "mehr als 0 MB")):
            rows = f"Dateien,{files},2026,\nBytes,{size},2026,\nZeichen,90,2026,\n"
            table.write_text(f"grenze,wert,geprueft,hinweis\n{rows}")
            with pytest.raises(ToolFailed, match=why):
                versand.put_together(pack, pack.person, akte, numbers, tmp_path / "c")
            assert not versand.limits().unchecked and not (tmp_path / "c").exists()


TESSERACT = """#!{python}
import os, sys
assert 'ANTHROPIC_API_KEY' not in os.environ
picture, out, *language = sys.argv[1:]
if language:
    sys.exit(1)  # it has no German
data = open(picture, 'rb').read()
if b'broken' in data:
    sys.exit(1)
wide = {{b'\\x89PNG': 'a PNG', b'\\xff\\xd8\\xff\\xe0': 'a scan'}}[data[:4]]
open(out + '.txt', 'w', encoding='utf-8').write('' if b'empty' in data else wide + ' of Grüße\\n\\f')
"""


def scanned(*sizes: int) -> bytes:
    """A PDF whose pages are pictures, as a scanner makes it."""
    pages = [Image.new("RGB", (size, size)) for size in sizes]
    out = io.BytesIO()
    pages[0].save(out, "PDF", save_all=True, append_images=pages[1:])
    return out.getvalue()


async def test_kz12_tesseract_reads_pictures_and_scanned_pages(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """KZ-12: where it is installed; that it may be wrong is said, and so is what it cannot read."""
    bin = tmp_path / "bin"
    bin.mkdir()
    monkeypatch.setenv("PATH", str(bin))
    monkeypatch.setenv("ANTHROPIC_API_KEY", "sk-ant-of-this-test")
    picture = io.BytesIO()
    Image.new("RGB", (20, 20)).save(picture, "PNG")
    png = picture.getvalue()
    async with office(tmp_path) as (_, pack, akte):
        documents = service(pack, "Dokumente")
        made = take(pack, akte, tmp_path / "a.png", png)
        assert made.missing == "Aus .png wird kein Text gelesen, solange Tesseract fehlt."
        assert "Bilder ohne Text" in take(pack, akte, tmp_path / "a.pdf", scanned(20)).missing
        program = bin / "tesseract"
        program.write_text(TESSERACT.format(python=sys.executable), "utf-8")
        program.chmod(0o755)
        hint = "Aus Bildern gelesen (Tesseract): Fehler sind möglich."
        made = take(pack, akte, tmp_path / "b.png", png)
        assert (documents.pages(made)[1], made.missing) == ("a PNG of Grüße", hint)
        made = take(pack, akte, tmp_path / "b.pdf", scanned(20, 30))
        assert made.pages == 2 and made.missing == hint
        assert documents.pages(made) == {1: "a scan of Grüße", 2: "a scan of Grüße"}
        made = take(pack, akte, tmp_path / "c.pdf", pdf("Seite eins"))
        assert not made.missing and "Seite eins" in documents.pages(made)[1]
        broken = take(pack, akte, tmp_path / "d.png", png + b"broken")
        assert broken.missing == "Tesseract konnte das Bild nicht lesen."
        assert "nichts" in take(pack, akte, tmp_path / "e.png", png + b"empty").missing
        for name in ("f.png", "g.tif"):
            listed = take(pack, akte, tmp_path / name, b"/home/anna/other.png\n")
            assert listed.missing == "Das ist kein Bild.", "it would be read as a list of pictures"
