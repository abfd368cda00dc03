"""Files from the person to the model: what can be attached, and what is said of the rest (H-2)."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import pytest
from documents import locked, pdf, picture

from studio.agent.input import LIMIT, TOGETHER, attach, weigh
from studio.agent.input import picture as pasted
from studio.domain.errors import ConfigurationError
from studio.domain.messages import File, Image, Text


async def attached(folder: Path, name: str, data: bytes) -> Image | File:
    path = folder / name
    path.write_bytes(data)
    return await attach(path)


async def test_content_counts_before_the_name(tmp_path: Path) -> None:
    image = await attached(tmp_path, "notes.txt", picture())
    assert isinstance(image, Image)
    assert image.media_type == "image/png"
    text = await attached(tmp_path, "photo.png", b"just words\n")
    assert text == File("photo.png", "text/plain", b"just words\n")


async def test_a_pdf_is_kept_to_the_byte(tmp_path: Path) -> None:
    data = pdf("Words")
    assert await attached(tmp_path, "a.pdf", data) == File("a.pdf", "application/pdf", data)


@pytest.mark.parametrize(
    ("name", "media"),
    [
        ("a.py", "text/x-python"),
        ("a.MD", "text/markdown"),
        ("Makefile", "text/plain"),
        ("a.ts", "text/plain"),
        ("a.json", "application/json"),
    ],
)
async def test_a_text_has_the_type_of_its_name(tmp_path: Path, name: str, media: str) -> None:
    file = await attached(tmp_path, name, b"x = 1\n")
    assert isinstance(file, File)
    assert file.media_type == media


@pytest.mark.parametrize(
    "data",
    [
        "Größe 5 €".encode(),
        "Größe 5 €".encode("utf-8-sig"),
        "Größe 5 €".encode("utf-16"),
        b"\xfe\xff" + "Größe 5 €".encode("utf-16-be"),
        "Größe 5 €".encode("cp1252"),
    ],
    ids=["utf-8", "utf-8 with mark", "utf-16", "utf-16 big", "western"],
)
async def test_texts_travel_in_utf_8(tmp_path: Path, data: bytes) -> None:
    file = await attached(tmp_path, "a.txt", data)
    assert isinstance(file, File)
    assert file.data.decode() == "Größe 5 €"


async def test_a_text_in_latin_1_is_read_whatever_it_holds(tmp_path: Path) -> None:
    file = await attached(tmp_path, "a.txt", b"caf\xe9 \x81")
    assert isinstance(file, File)
    assert file.data.decode() == "caf\xe9 \x81"


@pytest.mark.parametrize(
    ("name", "data", "why"),
    [
        (
            "a.docx",
            b"PK\3\4\0\0",
            "a.docx is a Word document and cannot be attached. Pictures, PDF",
        ),
        ("a.zip", b"PK\3\4\0\0", "a.zip is an archive"),
        ("a.bin", bytes(range(256)), "a.bin is a binary file"),
        ("a.dat", b"\x8f\x01\x02\xff", "a.dat is a binary file"),
        ("empty", b"", "empty is empty"),
        ("a.pdf", locked("x"), "a.pdf is locked with a password. Save it without one"),
        ("a.png", picture()[:60], "a.png is damaged or cut short"),
    ],
)
async def test_what_cannot_be_attached_says_what_it_is(
    tmp_path: Path, name: str, data: bytes, why: str
) -> None:
    with pytest.raises(ConfigurationError, match=f"^{why}"):
        await attached(tmp_path, name, data)


async def test_a_file_that_is_too_big_is_not_read(tmp_path: Path) -> None:
    path = tmp_path / "log.txt"
    with path.open("wb") as file:
        file.truncate(LIMIT * 400)
    with pytest.raises(ConfigurationError, match=r"log\.txt has 8\.0 GB; 20 MB is the most"):
        await attach(path)


async def test_places_that_are_no_files(tmp_path: Path) -> None:
    with pytest.raises(ConfigurationError, match="is a folder"):
        await attach(tmp_path)
    with pytest.raises(ConfigurationError, match="gone cannot be read: no such file"):
        await attach(tmp_path / "gone")
    if sys.platform != "win32":
        os.mkfifo(tmp_path / "pipe")
        with pytest.raises(ConfigurationError, match="pipe is not an ordinary file"):
            await attach(tmp_path / "pipe")


async def test_all_files_of_a_message_together_have_a_limit() -> None:
    file = File("a", "application/pdf", bytes(LIMIT))
    weigh([Text("words")] + [file] * (TOGETHER // LIMIT))
    with pytest.raises(ConfigurationError, match="have 120 MB together; a message takes 100 MB"):
        weigh([file] * (TOGETHER // LIMIT + 1))


async def test_a_pasted_picture(tmp_path: Path) -> None:
    assert (await pasted(picture("BMP"))).media_type == "image/png"
    with pytest.raises(ConfigurationError, match="The pasted picture is damaged"):
        await pasted(picture()[:60])
