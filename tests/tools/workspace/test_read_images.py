"""Pictures and PDF files, as the read tool gives them to a model (H-2)."""

from __future__ import annotations

import io
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from PIL import Image as pillow

from studio.domain.errors import ToolFailed
from studio.domain.messages import Image
from studio.tools.builtin.read import LIMIT, read
from studio.tools.workspace import images
from studio.tools.workspace.images import SIDE, WEIGHT, NotReadable, format_of, normalise
from support.sample_files import locked, moving, noise, pdf, picture
from support.tool_calls import call

GPS, ORIENTATION = 0x8825, 0x0112


def opened(image: Image) -> pillow.Image:
    return pillow.open(io.BytesIO(image.data))


@pytest.mark.parametrize(
    "data",
    [picture(), picture("JPEG"), picture("WEBP"), moving()],
    ids=["png", "jpg", "webp", "gif"],
)
def test_what_every_provider_takes_is_kept_to_the_byte(data: bytes) -> None:
    image = normalise(data)
    assert image.data == data
    assert image.media_type == f"image/{format_of(data).lower()}"


@pytest.mark.parametrize("form", ["BMP", "TIFF", "ICO", "GIF", "PPM"])
def test_formats_that_no_provider_takes_become_png(form: str) -> None:
    image = normalise(picture(form))
    assert image.media_type == "image/png" == f"image/{format_of(image.data).lower()}"
    assert opened(image).convert("RGB").getpixel((opened(image).width - 2, 10)) == (30, 90, 200)


def test_a_photo_is_turned_upright_and_loses_the_place_it_was_taken() -> None:
    exif = pillow.Exif()
    exif[ORIENTATION] = 6
    exif.get_ifd(GPS)[2] = (52.0, 31.0, 12.0)
    taken = picture("JPEG", (80, 40), exif=exif.tobytes())
    assert pillow.open(io.BytesIO(taken)).getexif().get_ifd(GPS)
    image = normalise(taken)
    assert image.media_type == "image/jpeg"
    assert opened(image).size == (40, 80)
    assert not opened(image).getexif()
    assert b"Exif" not in image.data


@pytest.mark.parametrize(("form", "media"), [("PNG", "image/png"), ("JPEG", "image/jpeg")])
def test_a_large_picture_is_scaled(form: str, media: str) -> None:
    image = normalise(picture(form, (4000, 1000)))
    assert (image.media_type, opened(image).size) == (media, (SIDE, SIDE // 4))


def test_a_heavy_picture_becomes_light_enough() -> None:
    heavy = noise("PNG", (1900, 1900))
    assert len(heavy) > WEIGHT
    image = normalise(heavy)
    assert image.media_type == "image/jpeg"
    assert len(image.data) <= WEIGHT
    assert len(image.data) * 4 / 3 < 5 * 1024 * 1024


@pytest.mark.parametrize("mode", ["1", "L", "LA", "P", "RGBA", "CMYK", "I;16", "F"])
def test_every_kind_of_colour_is_read(mode: str) -> None:
    out = io.BytesIO()
    pillow.new(mode, (20, 10)).save(out, "TIFF")
    assert opened(normalise(out.getvalue())).size == (20, 10)


def test_too_many_pixels_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    data = picture(size=(300, 300))
    for most in (50_000, 10_000):  # Pillow warns at the one and refuses at the other
        monkeypatch.setattr(pillow, "MAX_IMAGE_PIXELS", most)
        with pytest.raises(NotReadable, match=r"a\.png has too many pixels"):
            normalise(data, "a.png")


@pytest.mark.parametrize("form", ["PNG", "JPEG", "WEBP", "TIFF"])
def test_a_picture_that_is_cut_short_is_refused(form: str) -> None:
    data = noise(form, (200, 200))
    with pytest.raises(NotReadable, match=r"^a is damaged or cut short"):
        normalise(data[: len(data) // 2], "a")


@given(
    st.binary(max_size=80),
    st.sampled_from([b"\x89PNG\r\n\x1a\n", b"\xff\xd8\xff", b"GIF89a", b"II*\0"]),
)
@settings(max_examples=100, deadline=None)
def test_no_file_makes_it_fail_otherwise(rest: bytes, start: bytes) -> None:
    try:
        normalise(start + rest)
    except NotReadable:
        return


def test_a_format_that_cannot_be_opened_says_what_to_do() -> None:
    heic = b"\0\0\0\x18ftypheic" + b"\0" * 60
    with pytest.raises(NotReadable, match=r"x is a HEIC picture that cannot be opened here\. Save"):
        normalise(heic, "x")


# The tool


async def test_read_gives_the_picture_itself(tmp_path: Path) -> None:
    (tmp_path / "chart").write_bytes(picture("BMP", (3000, 300)))
    result = await call(read, tmp_path, path="chart")
    assert result.text.startswith("[chart, a picture, 2,000 × 200, ")
    (image,) = result.images
    assert (image.media_type, opened(image).size) == ("image/png", (2000, 200))
    assert result.sources == ("chart",)


async def test_read_says_why_a_picture_cannot_be_read(tmp_path: Path) -> None:
    (tmp_path / "a.png").write_bytes(picture()[:60])
    with pytest.raises(ToolFailed, match=r"a\.png is damaged or cut short"):
        await call(read, tmp_path, path="a.png")


async def test_read_gives_a_pdf_page_by_page(tmp_path: Path) -> None:
    (tmp_path / "a.pdf").write_bytes(pdf("First words", "", "Last words"))
    result = await call(read, tmp_path, path="a.pdf")
    assert result.text.startswith("[a.pdf, pages 1-3 of 3]\n--- page 1 ---\nFirst words\n")
    assert "--- page 3 ---\nLast words" in result.text
    assert result.sources == ("a.pdf, page 1", "a.pdf, page 3")
    later = await call(read, tmp_path, path="a.pdf", first_page=3)
    assert later.text.startswith("[a.pdf, page 3 of 3]")
    assert "First" not in later.text
    with pytest.raises(ToolFailed, match="has 3 pages; there is no page 4"):
        await call(read, tmp_path, path="a.pdf", first_page=4)


async def test_a_long_pdf_is_read_in_pieces(tmp_path: Path) -> None:
    (tmp_path / "a.pdf").write_bytes(pdf(*["word " * (LIMIT // 15)] * 5))
    result = await call(read, tmp_path, path="a.pdf")
    assert "pages 1-3 of 5] More follows: read on with first_page 4." in result.text
    assert len(result.text) < LIMIT + 500


async def test_a_pdf_without_words_says_so(tmp_path: Path) -> None:
    (tmp_path / "scan.pdf").write_bytes(pdf("", ""))
    result = await call(read, tmp_path, path="scan.pdf")
    assert "There are no words on them" in result.text


@pytest.mark.parametrize(
    ("data", "why"),
    [(locked("x"), "a.pdf is locked with a password"), (b"%PDF-1.7 nothing", "a.pdf is damaged")],
)
async def test_a_pdf_that_cannot_be_read(tmp_path: Path, data: bytes, why: str) -> None:
    (tmp_path / "a.pdf").write_bytes(data)
    with pytest.raises(ToolFailed, match=why):
        await call(read, tmp_path, path="a.pdf")


def test_pillow_comes_when_it_is_needed() -> None:
    """It takes a while to import, so nothing does before the first picture."""
    assert "PIL" not in vars(images)
