"""Files that are made to hurt: none hangs a tool, fills the memory or ends the program."""

from __future__ import annotations

import os
import socket
import sys
import zlib
from collections.abc import Callable
from pathlib import Path

import pytest

from studio.agent.attachments import attach
from studio.domain.errors import ConfigurationError, ToolFailed
from studio.processes.daemon_thread import Stop
from studio.tools import Context, Workspace
from studio.tools.builtin.edit import edit
from studio.tools.builtin.find_files import glob, list_
from studio.tools.builtin.read import read
from studio.tools.builtin.search import search
from studio.tools.workspace import pdf
from studio.tools.workspace.grep import Query
from studio.tools.workspace.grep import search as search_files
from studio.tools.workspace.text_files import open_file
from support.tool_calls import call

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="special files of POSIX")


def a_socket(path: Path) -> None:
    here = socket.socket(socket.AF_UNIX)
    here.bind(os.path.relpath(path))
    here.close()


SPECIAL: dict[str, tuple[Callable[[Path], object], str]] = {
    "pipe": (os.mkfifo, "not an ordinary file"),
    "socket": (a_socket, "not an ordinary file"),
    "device": (lambda path: path.symlink_to("/dev/zero"), "outside the folder"),
    "loop": (lambda path: path.symlink_to(path.name), "cannot be opened|loop"),
    "folder": (Path.mkdir, "is a folder"),
    "dangling": (lambda path: path.symlink_to("nothing"), "no file"),
}


@pytest.mark.parametrize("kind", SPECIAL)
async def test_what_is_no_file_is_refused_by_each_tool(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, kind: str
) -> None:
    monkeypatch.chdir(tmp_path)  # the name of a socket is short
    make, why = SPECIAL[kind]
    make(tmp_path / "x")
    with pytest.raises(ToolFailed, match=why):
        await call(read, tmp_path, path="x")
    with pytest.raises(ToolFailed, match=why):
        await call(edit, tmp_path, path="x", old="a", new="b")
    if kind != "device":
        with pytest.raises(ConfigurationError):
            await attach(tmp_path / "x")
    assert (await call(search, tmp_path, pattern="x")).summary == "no matches"
    assert "x" in (await call(list_, tmp_path)).text
    await call(glob, tmp_path, pattern="**")


def test_a_pipe_that_took_the_place_of_a_file_is_not_waited_for(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    for path in (tmp_path / "pipe", Path("/dev/zero")):
        with pytest.raises(OSError, match="not an ordinary file"):
            open_file(path)


async def test_a_tree_deeper_than_the_stack_is_walked(tmp_path: Path) -> None:
    depth = 1100
    here = os.open(tmp_path, os.O_RDONLY)
    for _ in range(depth):
        os.mkdir("d", dir_fd=here)
        deeper = os.open("d", os.O_RDONLY, dir_fd=here)
        os.close(here)
        here = deeper
    file = os.open("needle.txt", os.O_WRONLY | os.O_CREAT, dir_fd=here)
    os.write(file, b"needle\n")
    os.close(file)
    os.close(here)
    try:
        assert (await call(glob, tmp_path, pattern="*.txt")).summary == "1 file"
        assert (await call(search, tmp_path, pattern="needle")).summary == "1 match"
    finally:  # no other program can remove a tree that is so deep
        (tmp_path / ("d/" * depth) / "needle.txt").unlink()
        for level in range(depth, 0, -1):
            (tmp_path / ("d/" * level)).rmdir()


async def test_a_sparse_file_of_ten_gigabytes(tmp_path: Path) -> None:
    with (tmp_path / "sparse").open("wb") as file:
        file.truncate(10_000_000_000)
    with pytest.raises(ToolFailed, match=r"is a binary file \(10 GB\)"):
        await call(read, tmp_path, path="sparse")
    with pytest.raises(ToolFailed, match="too big"):
        await call(edit, tmp_path, path="sparse", old="a", new="b")
    assert (await call(search, tmp_path, pattern="x")).text.endswith("1 binary file.]")
    with pytest.raises(ConfigurationError, match="20 MB is the most"):
        await attach(tmp_path / "sparse")


@pytest.mark.parametrize("ripgrep", ["rg", None], ids=["ripgrep", "python"])
def test_a_search_of_a_huge_line_can_be_stopped(tmp_path: Path, ripgrep: str | None) -> None:
    """The text goes on without an end, and nothing matches: only a stop ends it."""
    with (tmp_path / "a").open("wb") as file:
        file.write(b"x" * 70_000)
        file.truncate(1_000_000_000_000)
    stop = Stop()

    class Reads(Workspace):
        def relative(self, path: Path) -> str:
            stop.set()  # when the file is about to be read
            return super().relative(path)

    found = search_files(
        Reads(tmp_path), tmp_path, Query("y"), 9, stop, ripgrep=ripgrep, environment=os.environ
    )
    assert found.matches == []
    assert stop()


NAMES = (
    "line\nbreak",
    "tab\there",
    "\x1b]0;title\x07",
    "right\u202eleft",
    "n" * 255,
    " blanks ",
    "-rf",
    "CON",
    "a:b",
    "back\\slash",
    "[a](b)",
    "$(id)",
    "é",
    "e\u0301",
    "…",
)


@pytest.mark.parametrize("name", NAMES)
async def test_a_name_is_only_a_name(tmp_path: Path, name: str) -> None:
    (tmp_path / name).write_text("needle\n")
    assert (await call(read, tmp_path, path=name)).text.endswith("\nneedle\n")
    for environment in (dict(os.environ), {"PATH": "/nowhere"}):
        around = Context(Workspace(tmp_path), environment=environment)
        assert (await search.call(around, {"pattern": "needle"})).summary == "1 match"
        assert (await search.call(around, {"pattern": "needle", "path": name})).summary
    assert (await call(glob, tmp_path, pattern="*")).summary == "1 file"


async def test_a_name_that_is_not_unicode(tmp_path: Path) -> None:
    (tmp_path / os.fsdecode(b"a\xff.txt")).write_text("needle\n")
    assert "needle" in (await call(search, tmp_path, pattern="needle")).text
    assert (await call(glob, tmp_path, pattern="*.txt")).summary == "1 file"


def document(objects: list[bytes]) -> bytes:
    """A PDF file of these objects; the first is its root."""
    out, at = b"%PDF-1.7\n", list[int]()
    for number, body in enumerate(objects, 1):
        at.append(len(out))
        out += b"%d 0 obj\n%b\nendobj\n" % (number, body)
    table = b"".join(b"%010d 00000 n \n" % offset for offset in at)
    return b"%bxref\n0 %d\n0000000000 65535 f \n%b" % (
        out,
        len(at) + 1,
        table,
    ) + b"trailer\n<</Size %d/Root 1 0 R>>\nstartxref\n%d\n%%%%EOF" % (len(at) + 1, len(out))


def page(content: bytes, entries: bytes = b"", resources: bytes = b"") -> bytes:
    return document(
        [
            b"<</Type/Catalog/Pages 2 0 R>>",
            b"<</Type/Pages/Kids[3 0 R]/Count 1>>",
            b"<</Type/Page/Parent 2 0 R/Contents 4 0 R/Resources<</Font<</F 5 0 R>>%b>>>>"
            % resources,
            b"<</Length %d%b>>\nstream\n%b\nendstream" % (len(content), entries, content),
            b"<</Type/Font/Subtype/Type1/BaseFont/Helvetica>>",
        ]
    )


FLATE = b"/Filter/FlateDecode"
ROOT = b"<</Type/Catalog/Pages 2 0 R>>"
PDFS = {
    "words": (page(b"BT /F 9 Tf (Hello) Tj ET"), "Hello"),
    "too many operations": (
        page(zlib.compress(b"BT /F 1 Tf (a) Tj ET\n" * 300_000, 1), FLATE),
        "this page is too big to be read",
    ),
    "a bomb": (page(zlib.compress(bytes(90_000_000), 1), FLATE), "this page cannot be read"),
    "pages in a circle": (document([ROOT, b"<</Type/Pages/Kids[2 0 R]/Count 1>>"]), "damaged"),
    "a parent below": (
        document([ROOT, b"<</Kids[3 0 R]/Count 1/Parent 3 0 R>>", b"<</Type/Page/Parent 2 0 R>>"]),
        "",
    ),
    "a billion pages": (document([ROOT, b"<</Type/Pages/Kids[]/Count 1000000000>>"]), "0 pages"),
    "a form in itself": (
        page(
            b"/X Do /X Do",
            b"/Subtype/Form/Resources<</XObject<</X 4 0 R>>>>",
            b"/XObject<</X 4 0 R>>",
        ),
        "",
    ),
    "deep arrays": (page(b"[" * 100_000), ""),
    "a reference to itself": (document([ROOT, b"2 0 R"]), "damaged"),
    "cut short": (page(b"BT ET")[:150], "damaged"),
    "only its mark": (b"%PDF-1.7", "damaged"),
    "many ends": (b"%PDF-1.7\n" + b"startxref\n9\n" * 5_000, "damaged"),
}


@pytest.mark.parametrize("kind", PDFS)
async def test_a_document_is_read_or_refused(tmp_path: Path, kind: str) -> None:
    data, told = PDFS[kind]
    (tmp_path / "a.pdf").write_bytes(data)
    try:
        text = (await call(read, tmp_path, path="a.pdf")).text
    except ToolFailed as failure:
        text = str(failure)
    assert told in text
    assert len(text) < 70_000


def test_a_page_is_left_when_nobody_needs_it() -> None:
    data = page(b"BT /F 9 Tf (Hello) Tj ET\n" * 1000)
    asked = iter([False] * 50)
    found = pdf.pages(data, "a", 1, 1000, lambda: next(asked, True))
    assert (found.text, found.last) == ("", 0)
