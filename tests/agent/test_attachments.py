"""Files from the person to the model: what can be attached, and what is said of the rest (H-2)."""

from __future__ import annotations

import base64
import json
import os
import sys
from pathlib import Path

import pytest

from studio.agent.attachments import (
    LIMIT,
    MAX_MESSAGE_BYTES,
    attach,
    attach_picture,
    check_total_size,
)
from studio.agent.session.session import Session
from studio.domain.errors import ConfigurationError
from studio.domain.events import Event, Failed, ToolFinished, TurnComplete
from studio.domain.messages import File, Image, Text
from studio.simulator import Call, Turn
from studio.simulator import Text as Words
from support.command import at_provider
from support.engine_home import PROTOCOLS, engine_home
from support.sample_files import locked, pdf, picture


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
    check_total_size([Text("words")] + [file] * (MAX_MESSAGE_BYTES // LIMIT))
    with pytest.raises(ConfigurationError, match="have 120 MB together; a message takes 100 MB"):
        check_total_size([file] * (MAX_MESSAGE_BYTES // LIMIT + 1))


async def test_a_pasted_picture(tmp_path: Path) -> None:
    assert (await attach_picture(picture("BMP"))).media_type == "image/png"
    with pytest.raises(ConfigurationError, match="The pasted picture is damaged"):
        await attach_picture(picture()[:60])


# From the file to the wire, on each protocol


def native(provider: str, data: bytes, media: str, name: str) -> str:
    """The block that this provider's API has for a picture or document, as JSON."""
    encoded = base64.b64encode(data).decode()
    document = media == "application/pdf"
    url = f"data:{media};base64,{encoded}"
    block: object
    if provider == "anthropic":
        source = {"type": "base64", "media_type": media, "data": encoded}
        block = {"type": "document" if document else "image", "source": source}
        return json.dumps(block)[:-1]  # a document has a title besides
    if provider == "openai":
        if document:
            block = {"type": "input_file", "filename": name, "file_data": url}
        else:
            return json.dumps({"type": "input_image", "image_url": url})[:-1]
    elif provider == "gemini":
        block = {"inlineData": {"mimeType": media, "data": encoded}}
    elif provider == "openai-compatible":
        return json.dumps({"type": "image_url", "image_url": {"url": url}})[:-2]
    else:
        block = {"images": [encoded]}
    return json.dumps(block).strip("{}")


async def turn(session: Session, *said: Image | File | Text) -> list[Event]:
    return [one.event async for one in session.turn(said)]


@pytest.mark.parametrize("provider", list(PROTOCOLS))
async def test_files_are_native_blocks_on_each_protocol(tmp_path: Path, provider: str) -> None:
    """PRE-1, H-2: a picture, a PDF and a text; and the next turn is accepted, too."""
    paper = provider in ("anthropic", "openai", "gemini")
    async with engine_home(
        tmp_path, provider, [Turn(Words("I see.")), Turn(Words("Yes."))]
    ) as home:
        session = await home.session()
        image = await attached(tmp_path, "a.png", picture())
        report = await attached(tmp_path, "a.pdf", pdf("Words"))
        notes = await attached(tmp_path, "notes.md", "# Größe".encode("utf-16"))
        refused = await home.engine.refuses(provider, "sim-model", report)
        assert bool(refused) == (not paper)
        said = [image, *([report] if paper else []), notes, Text("Compare these.")]
        events = await turn(session, *said)
        assert isinstance(events[-1], TurnComplete) and events[-1].reason == "done", events[-1]
        sent = json.dumps(home.asked[0].json, ensure_ascii=False)
        assert native(provider, image.data, "image/png", "a.png") in sent
        if paper:
            assert native(provider, report.data, "application/pdf", "a.pdf") in sent
        assert "# Größe" in sent
        events = await turn(session, Text("Sure?"))
        assert isinstance(events[-1], TurnComplete) and events[-1].reason == "done", events[-1]
        assert native(provider, image.data, "image/png", "a.png") in json.dumps(home.asked[1].json)
        assert not home.simulator.violations


async def test_a_message_of_files_alone_names_the_chat(tmp_path: Path) -> None:
    async with engine_home(tmp_path, "ollama", [Turn(Words("Ok."))]) as home:
        session = await home.session()
        notes = await attached(tmp_path, "notes.md", b"x")
        await turn(session, await attached(tmp_path, "a.png", picture()), notes)
        assert session.info.title == "Picture notes.md"
        assert not home.simulator.violations


@pytest.mark.parametrize("provider", ["openai-compatible", "ollama"])
async def test_a_file_that_the_model_refuses_is_never_sent(tmp_path: Path, provider: str) -> None:
    """It is said before; without the file the chat goes on."""
    async with engine_home(tmp_path, provider, [Turn(Words("Fine."))]) as home:
        session = await home.session()
        report = await attached(tmp_path, "a.pdf", pdf("Words"))
        events = await turn(session, report, Text("Read it"))
        failed = [f"{e.title} {e.detail}" for e in events if isinstance(e, Failed)]
        assert len(failed) == 1 and "cannot read PDF files" in failed[0]
        assert home.asked == []
        events = await turn(session, Text("Then without it"))
        assert isinstance(events[-1], TurnComplete) and events[-1].reason == "done", events[-1]
        assert base64.b64encode(report.data).decode() not in json.dumps(home.asked[0].json)
        assert not home.simulator.violations


@pytest.mark.parametrize("provider", list(PROTOCOLS))
async def test_a_picture_that_a_tool_read_reaches_the_model(tmp_path: Path, provider: str) -> None:
    """H-2: results with pictures, in each protocol's way; the row of the call has it too."""
    script = [
        Turn(Call("read", {"path": "a.png"}), Call("read", {"path": "b.txt"}), stop="tool_use"),
        Turn(Words("A blue square.")),
        Turn(Words("Yes.")),
    ]
    async with engine_home(tmp_path, provider, script) as home:
        (home.folder / "a.png").write_bytes(picture("BMP"))
        (home.folder / "b.txt").write_text("words\n")
        session = await home.session()
        events = await turn(session, Text("Look"))
        finished = [event for event in events if isinstance(event, ToolFinished)]
        (image,) = next(e for e in finished if e.images).images
        assert image.media_type == "image/png"
        assert base64.b64encode(image.data).decode() in json.dumps(home.asked[1].json)
        events = await turn(session, Text("Sure?"))
        assert isinstance(events[-1], TurnComplete) and events[-1].reason == "done", events[-1]
        assert not home.simulator.violations


async def test_the_terminal_attaches_files(tmp_path: Path) -> None:
    """``--attach``, more than once, with or without words; what cannot be is a usage error."""
    async with at_provider(tmp_path, "ollama", [Turn(Words("Ok."))] * 2) as (terminal, simulator):
        (terminal.folder / "a.png").write_bytes(picture())
        (terminal.folder / "b.txt").write_text("some words")
        (terminal.folder / "c.zip").write_bytes(b"PK\3\4\0\0")
        base = ("run", "--provider", "ollama", "--model", "sim-model", "--attach")
        ended = await terminal(*base, "a.png", "--attach", "b.txt", "Look")
        assert (ended.code, ended.out) == (0, "Ok.\n"), ended.err
        asked = [one for one in simulator.requests if one.path.endswith("/chat")]
        sent = json.dumps(asked[0].json)
        assert base64.b64encode(picture()).decode() in sent and "some words" in sent
        alone = await terminal(*base, "b.txt")
        assert (alone.code, alone.out) == (0, "Ok.\n"), alone.err
        for name, why in (("c.zip", "c.zip is an archive"), ("gone", "gone cannot be read")):
            ended = await terminal(*base, name, "Look")
            assert ended.code == 1 and why in ended.err
        assert not simulator.violations
