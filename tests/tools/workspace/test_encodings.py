"""Text is text in every usual encoding: read, searched, changed and undone to the byte."""

from __future__ import annotations

import errno
import os
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st

from studio.domain.drafts import Draft, DraftStatus, FileDraft
from studio.domain.errors import ToolFailed
from studio.processes.daemon_thread import Stop
from studio.tools import Context, Workspace, make_delete, make_draft, undo_draft, write_draft
from studio.tools.builtin.edit import edit
from studio.tools.builtin.read import read
from studio.tools.builtin.search import search
from studio.tools.builtin.write import write
from studio.tools.drafts.draft_conflict import compare_file
from studio.tools.drafts.draft_make import read_current
from studio.tools.workspace import text_files
from studio.tools.workspace.encodings import NotText, decode, encode, encoding_of
from studio.tools.workspace.grep import Query
from studio.tools.workspace.grep import search as search_files
from studio.tools.workspace.text_replace import replace
from support.tool_calls import call

TEXT = "Größe: 5 m\r\nStraße “A”\r\n"
FILES = {
    "utf-8": TEXT.encode(),
    "utf-8-sig": TEXT.encode("utf-8-sig"),
    "utf-16-le": b"\xff\xfe" + TEXT.encode("utf-16-le"),
    "utf-16-be": b"\xfe\xff" + TEXT.encode("utf-16-be"),
    "utf-16-le-unmarked": TEXT.encode("utf-16-le"),
    "utf-16-be-unmarked": TEXT.encode("utf-16-be"),
    "cp1252": TEXT.encode("cp1252"),
    "latin-1": TEXT.replace("“A”", "\x81A").encode("latin-1"),
    "utf-8-damaged": f"{TEXT}Ärger über Öl\r\n".encode() + b"\xe9\r\n",
}
ENCODINGS = pytest.mark.parametrize("encoding", FILES)

BINARY = {
    "a program": b"\x7fELF\2\1\1\0" + bytes(range(256)) * 4,
    "an archive": b"PK\3\4\x14\0\0\0\x08\0" + bytes(range(256)),
    "gzip": b"\x1f\x8b\x08\0\0\0\0\0\2\xff" + bytes(range(128, 256)) * 2,
    "numbers of 32 bits": b"".join(n.to_bytes(4, "little") for n in range(500)),
    "numbers of 16 bits": b"".join((n * 7).to_bytes(2, "little") for n in range(500)),
    "zeros": bytes(1000),
    "one zero": b"\0",
    "half a character": b"\xff\xfea",
    "western with a control": b"caf\xe9\1\n",
    "a sound": b"RIFF\x24\0\0\0WAVEfmt \x10\0\0\0\1\0\2\0" + bytes(range(256)),
}


class Drafts:
    """Drafts of a session that writes nothing by itself."""

    def __init__(self) -> None:
        self.made: list[FileDraft] = []

    def draft_of(self, path: str) -> FileDraft | None:
        return None

    async def propose(self, draft: Draft) -> DraftStatus:
        assert isinstance(draft, FileDraft)
        self.made.append(draft)
        return "waiting"

    async def withdraw(self, draft: Draft) -> None:
        raise AssertionError


async def drafted(tool: object, root: Path, **arguments: object) -> FileDraft:
    drafts = Drafts()
    await tool.call(Context(Workspace(root), drafts=drafts), arguments)  # type: ignore[attr-defined]
    return drafts.made[0]


@ENCODINGS
async def test_each_is_told_read_searched_changed_and_undone(tmp_path: Path, encoding: str) -> None:
    """T-5, T-8: mark, encoding and line ends stay."""
    data = FILES[encoding]
    path = tmp_path / "a.txt"
    path.write_bytes(data)
    assert encoding_of(data) == encoding
    text = decode(data, "a")[0]
    shown = await call(read, tmp_path, path="a.txt")
    head, _, body = shown.text.partition("\n")
    assert body == text
    titles = {"cp1252": "Windows-1252", "latin-1": "Latin-1", "utf-8-damaged": "not UTF-8"}
    assert titles.get(encoding, "lines]") in head
    for environment in (dict(os.environ), {"PATH": "/nowhere"}):
        around = Context(Workspace(tmp_path), environment=environment)
        for pattern in ("^Größe: 5 m$", r"Stra\we"):
            found = await search.call(around, {"pattern": pattern})
            assert found.summary == "1 match", (environment, pattern)
    draft = await drafted(edit, tmp_path, path="a.txt", old="5 m\n", new="7 m\nzwei\n")
    workspace = Workspace(tmp_path)
    write_draft(workspace, draft)
    wanted = text.replace("5 m\r\n", "7 m\r\nzwei\r\n")
    assert path.read_bytes() == encode(wanted, encoding)
    assert read_current(workspace, "a.txt")[1] == wanted
    undo_draft(workspace, draft)
    assert path.read_bytes() == data
    path.write_bytes(encode(text + "drei\r\n", encoding))
    conflict = compare_file(workspace, draft)
    assert conflict.merge is not None and conflict.merge.text == wanted + "drei\r\n"
    delete = make_delete(workspace, "a.txt")
    write_draft(workspace, delete)
    undo_draft(workspace, delete)
    assert path.read_bytes() == encode(text + "drei\r\n", encoding)


WESTERN = bytes(code for code in range(32, 256) if code != 127).decode("cp1252", "ignore")
LETTERS: dict[str, st.SearchStrategy[str]] = {
    **dict.fromkeys(
        ("utf-8", "utf-8-sig", "utf-16-le", "utf-16-be"),
        st.characters(exclude_characters="\0\r\n", exclude_categories=["Cs"]),
    ),
    "cp1252": st.sampled_from(WESTERN),
    "latin-1": st.characters(min_codepoint=0xA0, max_codepoint=0xFF) | st.sampled_from("ab \x81"),
}


@settings(
    deadline=None,
    max_examples=150,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.filter_too_much],
)
@given(
    data=st.data(),
    encoding=st.sampled_from(sorted(LETTERS)),
    end=st.sampled_from(["\n", "\r\n", "\r"]),
)
def test_an_edit_changes_the_bytes_of_its_place_and_no_other(
    data: st.DataObject, encoding: str, end: str
) -> None:
    """T-5: for a text that is told to be in that encoding or another, every byte is kept."""
    pieces = st.lists(st.text(LETTERS[encoding], max_size=6), min_size=1, max_size=4)
    parts = [end.join(data.draw(pieces)) for _ in range(4)]
    before, old, new, after = parts[0], f"«{parts[1]}»", parts[2], parts[3]
    before += "\x81" if encoding == "latin-1" else ""  # Windows-1252 does not have it
    whole = encode(before + old + after, encoding)
    try:
        text, told = decode(whole, "a")
    except NotText:
        assume(False)
        raise
    assert encode(text, told) == whole
    assume(text == before + old + after and text.count(old) == 1)
    changed = encode(replace(text, "a", old, new).text, told)
    head, tail = encode(before, told), encode(after, told)
    mark = len(encode("", told))
    assert changed == head + encode(new, told)[mark:] + tail[mark:]


@settings(deadline=None, max_examples=200)
@given(
    st.binary(max_size=40)
    | st.text(max_size=20).map(lambda text: text.encode("utf-16-le", "ignore"))
)
def test_what_is_text_keeps_every_byte(data: bytes) -> None:
    try:
        text, encoding = decode(data, "a")
    except NotText:
        assert encoding_of(data) is None
        return
    assert encode(text, encoding) == data
    assert "\0" not in text


@pytest.mark.parametrize("kind", BINARY)
async def test_what_is_no_text_is_not_taken_for_it(tmp_path: Path, kind: str) -> None:
    (tmp_path / "a").write_bytes(BINARY[kind])
    with pytest.raises(ToolFailed, match="a is a binary file"):
        await call(read, tmp_path, path="a")
    found = await call(search, tmp_path, pattern="a|.")
    assert found.text == "No line matches a|..\n[Not searched: 1 binary file.]"


async def test_a_character_that_the_encoding_lacks_is_named(tmp_path: Path) -> None:
    """T-5: it is not replaced by another, and nothing is written."""
    (tmp_path / "a").write_bytes("Größe\n".encode("cp1252"))
    for tool, arguments in (
        (edit, {"old": "Größe", "new": "Größe ≥ 5"}),
        (write, {"content": "≥ 5"}),
    ):
        with pytest.raises(ToolFailed, match=r"in Windows-1252, which has no “≥” \(U\+2265\)"):
            await drafted(tool, tmp_path, path="a", **arguments)
    euro = make_draft(Workspace(tmp_path), "a", "5 €\n")
    write_draft(Workspace(tmp_path), euro)
    assert (tmp_path / "a").read_bytes() == b"5 \x80\n"


@pytest.mark.parametrize(
    ("text", "old", "new", "wanted"),
    [
        ("a\r\nb\r\n", "b", "b\nc", "a\r\nb\r\nc\r\n"),
        ("a\r\nb\r\n", "a\r\nb", "x", "x\r\n"),
        ("a\rb\r", "a\nb", "x\ny", "x\ry\r"),
        ("a\r\nb\nc\n", "b\nc", "x\ny", "a\r\nx\ny\n"),
        ("a\r\nb\nc\n", "a\nb", "x\ny", "x\r\ny\nc\n"),
        ("a\nb\n", "b", "b\rc", "a\nb\rc\n"),
    ],
)
def test_new_lines_end_as_those_of_the_file(text: str, old: str, new: str, wanted: str) -> None:
    assert replace(text, "a", old, new).text == wanted


async def test_a_long_line_is_read_to_its_end(tmp_path: Path) -> None:
    line = "".join(f"{n:07};" for n in range(10_000))
    (tmp_path / "a").write_text(f"first\n{line}\nlast\n")
    shown = (await call(read, tmp_path, path="a")).text
    assert shown.endswith("the rest: first_line 2, first_column 2001 …]\nlast\n")
    assert "has 80,000 characters" in shown
    part = await call(read, tmp_path, path="a", first_line=2, first_column=2001)
    head, _, body = part.text.partition("\n")
    assert head == (
        "[a, line 2, characters 2001-62000 of 80,000] "
        "More follows: read on with first_line 2, first_column 62001."
    )
    rest = await call(read, tmp_path, path="a", first_line=2, first_column=62001)
    end, _, tail = rest.text.partition("\n")
    assert line == line[:2000] + body + tail
    assert end == (
        "[a, line 2, characters 62001-80000 of 80,000] More lines follow: read on with first_line 3."
    )
    assert (rest.summary, rest.sources) == ("18,000 characters", ("a:2-2",))
    with pytest.raises(ToolFailed, match="Line 2 of a has only 80,000 characters"):
        await call(read, tmp_path, path="a", first_line=2, first_column=80_001)
    with pytest.raises(ToolFailed, match="a has only 3 lines; there is no line 9"):
        await call(read, tmp_path, path="a", first_line=9, first_column=2)


async def test_a_long_line_of_a_big_file_is_read_in_parts(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(text_files, "WHOLE", 1000)
    (tmp_path / "a").write_bytes(b"x\n" + "ä".encode("cp1252") * 200_000 + b"\r\nend")
    part = (await call(read, tmp_path, path="a", first_line=2, first_column=1001)).text
    assert part.startswith("[a, line 2, characters 1001-61000] More follows: read on with")
    assert part.endswith("\n" + "ä" * 60_000)
    last = (await call(read, tmp_path, path="a", first_line=2, first_column=199_999)).text
    assert last.startswith("[a, line 2, characters 199999-200000 of 200,000] More lines follow")
    assert last.endswith("\nää")


BIG = 3_000_000


@pytest.mark.parametrize("ripgrep", ["rg", None], ids=["ripgrep", "python"])
def test_a_big_file_is_searched_to_its_end(tmp_path: Path, ripgrep: str | None) -> None:
    """Also where its first umlaut comes late, and in a line that is longer than all others."""
    (tmp_path / "a.log").write_bytes(
        b"y" * 99 + b"\n" + (b"x" * 99 + b"\n") * 30_000 + "Größe\n".encode("cp1252")
    )
    (tmp_path / "b.json").write_bytes(b"z" * BIG + b" needle " + b"z" * BIG + b"\nGr\xf6\xdfe\n")
    found = search_files(
        Workspace(tmp_path),
        tmp_path,
        Query("Größe|needle|y$"),
        9,
        Stop(),
        ripgrep=ripgrep,
        environment=os.environ,
    )
    assert [(one.path, one.line) for one in found.matches] == [
        ("a.log", 1),
        ("a.log", 30_002),
        ("b.json", 1),
        ("b.json", 2),
    ]
    part = found.matches[2].text
    assert part.startswith(f"[… from first_column {BIG - 48}:] zzz") and " needle " in part


async def test_what_was_not_searched_is_said(tmp_path: Path) -> None:
    (tmp_path / "node_modules").mkdir()
    (tmp_path / "a.bin").write_bytes(bytes(100))
    (tmp_path / "b.txt").write_text("b\n")
    (tmp_path / "link").symlink_to("/etc")
    os.mkfifo(tmp_path / "pipe")
    for environment in (dict(os.environ), {"PATH": "/nowhere"}):
        around = Context(Workspace(tmp_path), environment=environment)
        none = await search.call(around, {"pattern": "needle"})
        assert none.text == (
            "No line matches needle.\n[Not searched: folders called node_modules; "
            "1 binary file; 1 link; 1 special file.]"
        )
        some = await search.call(around, {"pattern": "b"})
        assert some.text == "b.txt:1: b"
        one = await search.call(around, {"pattern": "x", "path": "a.bin"})
        assert one.text == "No line in a.bin matches x.\n[Not searched: 1 binary file.]"


async def test_a_file_that_cannot_be_read_is_counted(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Also beside what was found: there may be more in it."""
    (tmp_path / "a").write_text("x")
    opens = os.open

    def refused(path: object, *more: Any, **how: Any) -> int:
        if str(path).endswith("/a"):  # root reads everything
            raise PermissionError(errno.EACCES, "Permission denied", str(path))
        return opens(path, *more, **how)  # type: ignore[arg-type]

    monkeypatch.setattr(os, "open", refused)
    told = "[Not searched: 1 file or folder that cannot be read.]"
    assert (await call(search, tmp_path, pattern="x")).text.endswith(told)
    (tmp_path / "b").write_text("x")
    assert (await call(search, tmp_path, pattern="x")).text == f"b:1: x\n\n{told}"


JAPANESE = '設定ファイルの読み方\r\n一行目はタイトルです。ソ連の表\r\nname = "値"\r\n'


async def test_shift_jis_is_read_with_a_note_and_written_back(tmp_path: Path) -> None:
    """C-6: every other byte stays; what it cannot hold is refused."""
    data = JAPANESE.encode("cp932")
    (tmp_path / "a.ini").write_bytes(data)
    drafts = Drafts()
    context = Context(Workspace(tmp_path), drafts=drafts)
    shown = await read.call(context, {"path": "a.ini"})
    assert "in Shift-JIS" in shown.text and "タイトルです" in shown.text
    await edit.call(context, {"path": "a.ini", "old": '"値"', "new": '"あたい"'})
    draft = drafts.made[-1]
    write_draft(Workspace(tmp_path), draft)
    assert (tmp_path / "a.ini").read_bytes() == data.replace(
        "値".encode("cp932"), "あたい".encode("cp932")
    )
    undo_draft(Workspace(tmp_path), draft)
    assert (tmp_path / "a.ini").read_bytes() == data
    with pytest.raises(ToolFailed, match="in Shift-JIS, which has no"):
        await edit.call(context, {"path": "a.ini", "old": '"値"', "new": "é"})


@pytest.mark.parametrize(
    "text",
    [
        "Größe über Öl – “ja”, sagt Jürgen.\n",
        "Le garçon a été où ? Déjà à l’école, très tôt.\n",
        "¿Dónde está el niño? Mañana, señor. Ñandú, pingüino.\n",
        "‚Einfach‘ und ‚zweifach‘, ƒ(x) = ä\n",
        "Čaj\n".replace("Č", "È"),
    ],
)
def test_western_text_is_not_taken_for_japanese(text: str) -> None:
    """C-6."""
    assert encoding_of(text.encode("cp1252")) == "cp1252"
    assert encoding_of(JAPANESE.encode("cp932")) == "cp932"
    assert encoding_of(JAPANESE.encode("cp932")[:31], whole=False) == "cp932"
