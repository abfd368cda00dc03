"""Files that a stranger made: each ends with its words or an error, and starts nothing.

Taken apart are texts, pictures and PDF files, by the tools, as attachments, and from the web.
How much work a file may be is counted in the code, so the tables need no clock.
"""

from __future__ import annotations

import io
import os
import struct
import sys
import tarfile
import zipfile
import zlib
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from PIL import Image as pillow

from studio.agent.attachments import attach, attach_bytes, attach_picture
from studio.agent.session.import_formats import read_conversations
from studio.domain.errors import ConfigurationError, ToolFailed
from studio.domain.messages import File
from studio.tools.builtin.read import read
from studio.tools.workspace import images, pdf
from support.sample_files import picture
from support.tool_calls import call

# Pictures


def chunk(kind: bytes, data: bytes) -> bytes:
    checked = kind + data
    return struct.pack(">I", len(data)) + checked + struct.pack(">I", zlib.crc32(checked))


def png(width: int, height: int, *chunks: bytes) -> bytes:
    head = chunk(b"IHDR", struct.pack(">IIBBBBB", width, height, 8, 2, 0, 0, 0))
    rows = zlib.compress(bytes((1 + width * 3) * height)) if width * height < 10_000 else b""
    body = b"".join(chunks) + chunk(b"IDAT", rows) + chunk(b"IEND", b"")
    return b"\x89PNG\r\n\x1a\n" + head + body


def bmp(width: int, height: int) -> bytes:
    size = struct.pack("<IiiHHIIiiII", 40, width, height, 1, 24, 0, 0, 0, 0, 0, 0)
    return b"BM" + struct.pack("<IHHI", 54, 0, 0, 54) + size


def ico(inside: bytes) -> bytes:
    return struct.pack("<HHHBBBBHHII", 0, 1, 1, 16, 16, 0, 0, 1, 32, len(inside), 22) + inside


def moving(frames: int) -> bytes:
    made = [pillow.new("P", (4, 4), number % 250) for number in range(frames)]
    out = io.BytesIO()
    made[0].save(out, "GIF", save_all=True, append_images=made[1:], optimize=False)
    return out.getvalue()


def tagged(entries: bytes, count: int, following: int = 0) -> bytes:
    """A TIFF directory."""
    return b"II*\0\x08\0\0\0" + struct.pack("<H", count) + entries + struct.pack("<I", following)


def with_exif(data: bytes) -> bytes:
    jpeg = picture("JPEG")
    told = b"\xff\xe1" + struct.pack(">H", len(data) + 8) + b"Exif\0\0" + data
    return jpeg[:2] + told + jpeg[2:]


ORIENTATION = 0x0112
MANY = zlib.compress(bytes(70_000_000))
POSTSCRIPT = b"%!PS-Adobe-3.0 EPSF-3.0\n%%BoundingBox: 0 0 9 9\n%%EndComments\nshowpage\n%%EOF"
SVG = (
    b'<?xml version="1.0"?><!DOCTYPE svg [<!ENTITY a SYSTEM "file:///etc/passwd">]>'
    b'<svg xmlns="http://www.w3.org/2000/svg" width="9" height="9">'
    b"<script>alert(1)</script><text>&a;</text></svg>"
)
TOO_MANY = "too many pixels"
DAMAGED = "damaged or cut short"
NONE = "cannot be opened here|can be opened here"
PICTURES: dict[str, tuple[Callable[[], bytes], str]] = {
    "png of ten gigapixels": (lambda: png(100_000, 100_000), TOO_MANY),
    "png of a hundred megapixels": (lambda: png(10_000, 10_000), TOO_MANY),
    "bmp of ten gigapixels": (lambda: bmp(100_000, 100_000), TOO_MANY),
    "bmp of negative size": (lambda: bmp(-5, -(2**31)), TOO_MANY),
    "ico with a huge png": (lambda: ico(png(100_000, 100_000)), TOO_MANY),
    "ico with a huge bmp": (lambda: ico(bmp(20_000, 20_000)[14:]), TOO_MANY),
    "webp of the largest size": (
        lambda: b"RIFF\x1e\0\0\0WEBPVP8X\x0a\0\0\0\x10\0\0\0\xfe\x3f\0\xfe\x3f\0",
        TOO_MANY,
    ),
    "jpeg of the largest size": (
        lambda: picture("JPEG").replace(struct.pack(">HH", 48, 64), b"\xff\xdc\xff\xdc"),
        TOO_MANY,
    ),
    "ppm of ten gigapixels": (lambda: b"P6\n100000 100000\n255\n", TOO_MANY),
    "ppm of many digits": (lambda: b"P6\n" + b"9" * 100_000 + b" 1\n255\n", DAMAGED),
    "text that unpacks": (lambda: png(9, 9, chunk(b"zTXt", b"a\0\0" + MANY)), DAMAGED),
    "texts that unpack": (
        lambda: png(9, 9, *[chunk(b"zTXt", b"a\0\0" + zlib.compress(bytes(999_999)))] * 99),
        DAMAGED,
    ),
    "profile that unpacks": (lambda: png(9, 9, chunk(b"iCCP", b"a\0\0" + MANY)), DAMAGED),
    "two billion frames": (lambda: png(9, 9, chunk(b"acTL", b"\x7f\xff\xff\xff\0\0\0\0")), ""),
    "gif of 2,000 frames": (lambda: moving(2_000), ""),
    "a directory that is its own next": (
        lambda: tagged(
            struct.pack("<HHII", 256, 3, 1, 9)
            + struct.pack("<HHII", 257, 3, 1, 9)
            + struct.pack("<HHII", 273, 4, 1, 8),
            3,
            8,
        ),
        "",
    ),
    "a tag of four billion values": (
        lambda: tagged(struct.pack("<HHII", 256, 4, 2**32 - 1, 9), 1),
        f"{NONE}|{DAMAGED}",
    ),
    "65,535 tags": (lambda: tagged(struct.pack("<HHII", 256, 3, 1, 9) * 65_535, 65_535), NONE),
    "exif that is none": (lambda: with_exif(b"garbage"), ""),
    "exif of four billion values": (
        lambda: with_exif(tagged(struct.pack("<HHII", ORIENTATION, 3, 2**32 - 1, 6), 1)),
        "",
    ),
    "exif that is turned 99 ways": (
        lambda: with_exif(tagged(struct.pack("<HHII", ORIENTATION, 3, 1, 99), 1)),
        "",
    ),
    "a picture that is an archive, too": (lambda: png(9, 9) + b"PK\x03\x04" + POSTSCRIPT, ""),
    "cut short": (lambda: picture()[:50], DAMAGED),
}
OTHERS = {
    "postscript": POSTSCRIPT,
    "postscript for dos": b"\xc5\xd0\xd3\xc6"
    + struct.pack("<II", 30, len(POSTSCRIPT))
    + bytes(18)
    + POSTSCRIPT,
    "windows metafile": b"\xd7\xcd\xc6\x9a" + bytes(100),
    "fits": b"SIMPLE  =                    T" + b" " * 3_000,
    "photoshop": b"8BPS\0\1" + bytes(6) + struct.pack(">HIIHH", 3, 9, 9, 8, 3) + bytes(999),
    "icns": b"icns\0\0\0\x64ic10\0\0\0\x5c" + bytes(84),
    "xpm": b'/* XPM */\nstatic char*a[]={"9 9 1 9",',
    "pcx": b"\x0a\5\1\1" + bytes(124),
    "dds": b"DDS " + struct.pack("<I", 124) + bytes(120),
    "sgi": b"\x01\xda\0\1\0\1" + bytes(506),
    "svg": SVG,
}


@pytest.fixture(autouse=True)
def nothing_is_started(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """No file starts a program, Ghostscript for example."""
    started: list[Any] = []
    watching = True

    def watch(event: str, arguments: tuple[Any, ...]) -> None:
        if watching and event in ("subprocess.Popen", "os.system", "socket.connect"):
            started.append(arguments)

    sys.addaudithook(watch)  # cannot be taken back
    try:
        yield
    finally:
        watching = False
    assert started == []


@pytest.mark.parametrize("kind", PICTURES)
async def test_a_picture_is_one_or_an_error(kind: str, tmp_path: Path) -> None:
    """H-2: as a file, pasted, and read by a tool it comes to the same."""
    make, why = PICTURES[kind]
    data = make()
    (tmp_path / "a.png").write_bytes(data)
    try:
        found = images.normalise(data)
    except ToolFailed as failure:
        assert why and any(one in str(failure) for one in why.split("|")), failure
        with pytest.raises(ConfigurationError):
            await attach_picture(data)
        if images.format_of(data[:64]):
            with pytest.raises(ConfigurationError):
                await attach(tmp_path / "a.png")
            with pytest.raises(ToolFailed):
                await call(read, tmp_path, path="a.png")
        return
    assert not why
    assert max(images.dimensions(found)) <= images.SIDE and len(found.data) <= images.WEIGHT
    assert await attach_picture(data) == await attach(tmp_path / "a.png") == found
    assert (await call(read, tmp_path, path="a.png")).images == (found,)


@pytest.mark.parametrize("kind", OTHERS)
@pytest.mark.parametrize("name", ["a.png", "a.eps"])
async def test_a_picture_that_nobody_needs_is_not_opened(
    kind: str, name: str, tmp_path: Path
) -> None:
    data = OTHERS[kind]
    with pytest.raises(ConfigurationError, match=NONE):
        await attach_picture(data)
    (tmp_path / name).write_bytes(data)
    try:  # some are texts
        attached = await attach(tmp_path / name)
    except ConfigurationError:
        return
    assert isinstance(attached, File) and attached.data == data


# PDF files


def document(objects: list[bytes]) -> bytes:
    """A PDF file of these objects; the first is its root."""
    parts, at, length = [b"%PDF-1.7\n"], list[int](), 9
    for number, body in enumerate(objects, 1):
        at.append(length)
        parts.append(b"%d 0 obj\n%b\nendobj\n" % (number, body))
        length += len(parts[-1])
    table = b"".join(b"%010d 00000 n \n" % offset for offset in at)
    end = b"trailer\n<</Size %d/Root 1 0 R>>\nstartxref\n%d\n%%%%EOF" % (len(at) + 1, length)
    return b"%bxref\n0 %d\n0000000000 65535 f \n%b%b" % (b"".join(parts), len(at) + 1, table, end)


def stream(content: bytes, entries: bytes = b"") -> bytes:
    return b"<</Length %d%b>>\nstream\n%b\nendstream" % (len(content), entries, content)


def pages(content: bytes, kids: int = 1, resources: bytes = b"", *more: bytes) -> bytes:
    """A file of pages that draw the same; objects from 6 on are ``more``."""
    return document(
        [
            b"<</Type/Catalog/Pages 2 0 R/OpenAction<</S/Launch/F(/bin/sh)>>>>",
            b"<</Type/Pages/Kids[%b]/Count %d>>" % (b"3 0 R " * kids, kids),
            b"<</Type/Page/Parent 2 0 R/Contents 4 0 R/Resources<</Font<</F 5 0 R>>%b>>>>"
            % resources,
            stream(zlib.compress(content, 9), FLATE),
            b"<</Type/Font/Subtype/Type1/BaseFont/Helvetica>>",
            *more,
        ]
    )


def tree(depth: int, width: int) -> bytes:
    """Each node of pages has the next one ``width`` times."""
    nodes = [
        b"<</Type/Pages/Count 1/Kids[%b]>>" % (b"%d 0 R " % (level + 3) * width)
        for level in range(depth)
    ]
    return document([b"<</Type/Catalog/Pages 2 0 R>>", *nodes, b"<</Type/Page>>"])


def forms(depth: int, width: int) -> bytes:
    """A page whose form draws another one ``width`` times, and so on."""
    inside = [
        stream(
            b"/X Do " * width if level < depth - 1 else HELLO,
            b"/Type/XObject/Subtype/Form/Resources<</XObject<</X %d 0 R>>/Font<</F 5 0 R>>>>"
            % (level + 7),
        )
        for level in range(depth)
    ]
    return pages(b"/X Do " * width, 1, b"/XObject<</X 6 0 R>>", *inside)


FLATE = b"/Filter/FlateDecode"
HELLO = b"BT /F 9 Tf (Hello) Tj ET "
BIG = "too big to be read|cannot be read"
PDFS: dict[str, tuple[Callable[[], bytes], str, int]] = {
    "words": (lambda: pages(HELLO), "Hello", 1),
    "ten billion pages": (lambda: tree(10, 10), "damaged", 0),
    "90,000 pages": (lambda: tree(1, 90_000), "damaged", 0),
    "1,000 pages": (lambda: tree(3, 10), "", 50),
    "heavy pages": (lambda: pages(b"1 0 0 1 0 0 cm " * 900, 900), "", 30),
    "pages of numbers": (lambda: pages(b"1 " * 4_000, 900), "", 30),
    "ten billion forms": (lambda: forms(10, 10), "Hello|too big to be read", 1),
    "many forms": (lambda: pages(b"/X Do " * 500, 1, b"/XObject<</X 6 0 R>>", stream(b"")), BIG, 1),
    "many operators": (lambda: pages(b"q " * 11_000), BIG, 1),
    "many words": (lambda: pages(HELLO * 4_000), BIG, 1),
    "many blanks": (lambda: pages(b" " * 150_000), "too big to be read", 1),
    "many names": (lambda: pages(b"/" * 11_000), BIG, 1),
    "packed twice": (
        lambda: pages(b"").replace(FLATE, b"/Filter[/FlateDecode/ASCII85Decode]", 1),
        "",
        1,
    ),
    "a bomb": (lambda: pages(bytes(900_000)), BIG, 1),
    "a bomb in letters": (
        lambda: pages(b"z" * 900_000).replace(FLATE, b"/Filter[/FlateDecode/ASCII85Decode]"),
        BIG,
        1,
    ),
}


@pytest.mark.parametrize("kind", PDFS)
async def test_a_document_is_so_much_work_and_no_more(
    kind: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Pages, operators and forms are counted; the rest of a document is read on with."""
    smaller = {"_PAGES": 50, "_PAGE": 5_000, "_READING": 4_000, "_CONTENT": 100_000}
    for name, limit in smaller.items():
        monkeypatch.setattr(pdf, name, limit)  # smaller, so that the tables are
    limits = {
        name: limit // 40 if isinstance(limit, int) else limit
        for name, limit in pdf._LIMITS.items()
    }
    monkeypatch.setattr(pdf, "_LIMITS", limits)
    make, told, most = PDFS[kind]
    data = make()
    asked = 0

    def stop() -> bool:
        nonlocal asked
        asked += 1
        return False

    assert not pdf.locked(data)
    try:
        found = pdf.pages(data, "a", 1, 60_000, stop)
    except ToolFailed as failure:
        assert not most and told in str(failure)
        return
    assert any(one in found.text for one in told.split("|"))
    assert len(found.text) <= 61_000
    assert 1 <= found.last <= min(most, found.total)
    assert asked < 20_000
    if found.last < found.total:
        assert pdf.pages(data, "a", found.last + 1, 60_000, stop).first == found.last + 1
    (tmp_path / "a").write_bytes(data)
    assert isinstance(await attach(tmp_path / "a"), File)  # as it is, for the provider to read


# Archives and documents of offices: none is taken apart


def zipped(*names: str) -> bytes:
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as archive:
        for name in names:
            archive.writestr(name, bytes(100_000))
    return out.getvalue()


def tarred() -> bytes:
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode="w:gz") as archive:
        for name, kind in (("../up", tarfile.SYMTYPE), ("/etc/x", tarfile.LNKTYPE)):
            entry = tarfile.TarInfo(name)
            entry.type, entry.linkname = kind, "/etc/passwd"
            archive.addfile(entry)
    return out.getvalue()


ENTITIES = b'<?xml version="1.0"?><!DOCTYPE a [<!ENTITY a "%b">]><a>&a;</a>' % (b"&b;" * 99)
ARCHIVES = {
    "a.zip": zipped("../../up", "/etc/passwd", "C:\\x", "CON", *map(str, range(500))),
    "a.docx": zipped("word/document.xml", "word/_rels/document.xml.rels"),
    "a.xlsx": zipped("xl/sharedStrings.xml"),
    "a.pptx": zipped("ppt/presentation.xml"),
    "a.odt": zipped("content.xml"),
    "a.epub": zipped("mimetype"),
    "a.tar.gz": tarred(),
    "a.gz": zlib.compress(bytes(10_000_000), 9),
    "cut.zip": zipped("a")[:60],
}


@pytest.mark.parametrize("name", ARCHIVES)
@pytest.mark.parametrize("shown", ["as it is", "a.txt", "a.png", "a.pdf", "a.json"])
async def test_an_archive_is_refused_whatever_its_name(
    name: str, shown: str, tmp_path: Path
) -> None:
    file = tmp_path / (name if shown == "as it is" else shown)
    file.write_bytes(ARCHIVES[name])
    before = sorted(tmp_path.parent.iterdir())
    with pytest.raises(ConfigurationError, match="cannot be attached"):
        await attach(file)
    with pytest.raises(ToolFailed, match="binary file"):
        await call(read, tmp_path, path=file.name)
    assert sorted(tmp_path.parent.iterdir()) == before and list(tmp_path.iterdir()) == [file]


# Texts

MAIL = b"From: a\nSubject: =?x-none?B?////?=\nContent-Type: multipart/mixed; boundary=b\n\n"
TEXTS = {
    "utf-7": b"+ADw-script+AD4-",
    "overlong": b"\xc0\xaf\xe0\x80\xaf etc",
    "surrogates": b"\xed\xa0\x80\xed\xb0\x80",
    "mixed": "ä".encode() + "ä".encode("latin-1") + "ä".encode("utf-16-le"),
    "utf-16 without its mark": "Some words, häufig.\n".encode("utf-16-le"),
    "utf-16 of halves": b"\xff\xfe" + b"\x00\xd8" * 99,
    "nul": b"a\0b" * 99,
    "escapes": b"\x1b[2J\x1b]0;t\x07\xe2\x80\xae",
    "one line": b"x" * 3_000_000,
    "line ends": b"\r" * 300_000 + b"\n" * 300_000,
    "mail of many parts": MAIL + b"--b\nContent-Type: message/rfc822\n\n" * 10_000,
    "mail of headers": b"X-A: b\n" * 100_000,
    "deep notebook": b'{"cells":' + b"[" * 100_000 + b"]" * 100_000 + b"}",
    "entities": ENTITIES,
    "svg": SVG,
}


@pytest.mark.parametrize("kind", TEXTS)
@pytest.mark.parametrize("name", ["a.txt", "a.ipynb", "a.eml", "a.svg", "a.json"])
async def test_a_text_is_only_a_text(kind: str, name: str, tmp_path: Path) -> None:
    """It is not interpreted: no entity is looked up, no part of a mail or notebook taken apart."""
    (tmp_path / name).write_bytes(TEXTS[kind])
    try:
        result = await call(read, tmp_path, path=name)
        result.text.encode("utf-8", "surrogatepass")
        assert len(result.text) < 70_000 and "root:" not in result.text
    except ToolFailed as failure:
        assert "binary file" in str(failure)
    try:
        attached = await attach(tmp_path / name)
    except ConfigurationError as failure:
        assert "cannot be attached" in str(failure)
    else:
        assert isinstance(attached, File)
        attached.data.decode()


@pytest.mark.parametrize(
    "data",
    [
        b"[" * 100_000,
        b'{"messages":[{"role":"user","content":' + b"[" * 900 + b"]" * 900 + b"}]}",
        b'[{"mapping":{"a":{"parent":"a","message":null}},"current_node":"a"}]',
        b'{"agent_studio":1,"conversations":[' + b'{"messages":' * 5_000,
        b'{"messages":[{"role":"user","content":[{"type":"image_url","image_url":"data:image/png;'
        b'base64,AAAA"}]}]}',
        b'{"messages":[{"role":"user","content":1e999}]}',
        b"\xff\xfe\0",
        b"PK\x03\x04",
        b"9" * 10_000,
    ],
)
def test_an_export_of_another_program_is_read_or_refused(data: bytes) -> None:
    try:
        assert len(read_conversations(data)) == 1
    except ValueError as error:
        assert str(error) and len(str(error)) < 500


# Names

NAMES = (
    b"line\nbreak.txt",
    b"\x1b]0;title\x07\x1b[2J.txt",
    "right\u202eleft.txt".encode(),
    b"n" * 251 + b".txt",
    b"not \xff\xfe utf-8.txt",
    b'"><file name="x">.txt',
    b"..\\..\\up.txt",
    b"NUL.txt",
)


@pytest.mark.skipif(sys.platform in ("win32", "darwin"), reason="names of Linux")
@pytest.mark.parametrize("name", NAMES)
async def test_a_name_is_sent_and_told_as_a_name(name: bytes, tmp_path: Path) -> None:
    path = tmp_path / os.fsdecode(name)
    path.write_bytes(b"words")
    attached = await attach(path)
    assert isinstance(attached, File) and attached.data == b"words"
    path.write_bytes(b"\0\1\2")
    with pytest.raises(ConfigurationError, match="cannot be attached"):
        await attach(path)
    assert isinstance(await attach_bytes(os.fsdecode(name), b"words"), File)
