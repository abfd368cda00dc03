"""Paths stay inside the folder, and what is read of it."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from studio.domain.errors import ToolFailed
from studio.processes.daemon_thread import Stop
from studio.tools import Context, Workspace
from studio.tools.builtin.find_files import glob, list_
from studio.tools.builtin.read import LIMIT, read
from studio.tools.builtin.search import search
from studio.tools.discovery import discover
from studio.tools.workspace import grep
from studio.tools.workspace.encodings import decode, encode
from studio.tools.workspace.glob_pattern import glob_matcher
from studio.tools.workspace.grep import Query, find_ripgrep
from studio.tools.workspace.grep import search as search_files
from studio.tools.workspace.text_files import WHOLE
from support.cpu_cost import grows_linearly
from support.tool_calls import call, context

patient = settings(
    deadline=None,
    max_examples=60,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.function_scoped_fixture],
)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A folder with links that lead in and out, beside a secret."""
    (tmp_path / "secret").mkdir()
    (tmp_path / "secret" / "key").write_text("hidden")
    root = tmp_path / "work"
    (root / "src" / "deep").mkdir(parents=True)
    (root / "src" / "a.py").write_text("import os\nprint(os.name)\n")
    (root / "src" / "deep" / "b.txt").write_text("one\ntwo\n")
    (root / ".git").mkdir()
    (root / ".git" / "config").write_text("print")
    (root / "out").symlink_to(tmp_path / "secret")
    (root / "in").symlink_to(root / "src")
    (root / "loop").symlink_to(root / "loop")
    (root / "up").symlink_to("..")
    return root


def test_paths_are_checked_after_resolving_links(folder: Path) -> None:
    """T-8."""
    workspace = Workspace(folder)
    assert workspace.resolve("in/a.py") == folder / "src" / "a.py"
    assert workspace.resolve("new/file") == folder / "new" / "file"
    assert workspace.resolve(str(folder / "src")) == folder / "src"
    assert workspace.resolve("src/../src/./a.py") == folder / "src" / "a.py"
    assert workspace.resolve("src\\a.py") == folder / "src" / "a.py"
    assert workspace.relative(workspace.resolve("in/deep")) == "src/deep"
    assert workspace.relative(workspace.resolve("")) == "."
    for path in (
        "..",
        "../secret/key",
        "/etc/passwd",
        "out/key",
        "out/new",
        "up/secret",
        "src/../../secret",
        "in/../../secret/key",
        str(folder) + "2/x",
        "~/x",
        "C:\\Windows",
        "c:/x",
        "\\\\server\\share",
        "a\0b",
    ):
        with pytest.raises(ToolFailed):
            workspace.resolve(path)


PARTS = st.sampled_from(
    ["..", ".", "src", "in", "out", "up", "loop", "deep", "a.py", "key", "secret", "", "~", "C:"]
) | st.text(max_size=5)


@patient
@given(parts=st.lists(PARTS, max_size=8), start=st.sampled_from(["", "/", "//", "./", "\\"]))
def test_resolve_never_escapes(folder: Path, parts: list[str], start: str) -> None:
    """T-8: whatever the path, it is refused or truly inside."""
    workspace = Workspace(folder)
    for slash in ("/", "\\"):
        try:
            found = workspace.resolve(start + slash.join(parts))
        except ToolFailed:
            continue
        assert Path(os.path.realpath(found)).is_relative_to(folder)
        assert not found.is_relative_to(folder.parent / "secret")


def test_further_folders_may_be_read_but_not_written(folder: Path) -> None:
    secret = folder.parent / "secret"
    workspace = Workspace(folder, readable=[secret])
    assert workspace.resolve(str(secret / "key")) == secret / "key"
    with pytest.raises(ToolFailed, match="outside the folder"):
        workspace.resolve(str(secret / "key"), write=True)


def test_a_folder_that_vanished_is_named(tmp_path: Path) -> None:
    workspace = Workspace(tmp_path / "gone")
    with pytest.raises(ToolFailed, match="not there any more"):
        workspace.resolve("a")


async def test_list(folder: Path) -> None:
    result = await call(list_, folder, path="src", depth=2)
    assert result.text == "a.py  25 bytes\ndeep/\ndeep/b.txt  8 bytes"
    assert (result.summary, result.sources) == ("3 entries", ("src",))
    top = (await call(list_, folder)).text.splitlines()
    assert "src/" in top
    assert ".git/" not in top
    assert any(line.startswith("out -> ") for line in top)
    (folder / "empty").mkdir()
    assert (await call(list_, folder, path="empty")).text == "empty is empty."
    with pytest.raises(ToolFailed, match=r"no folder scr\. Did you mean src\?"):
        await call(list_, folder, path="scr")
    with pytest.raises(ToolFailed, match="is a file"):
        await call(list_, folder, path="src/a.py")


async def test_a_big_folder_is_listed_in_part(tmp_path: Path) -> None:
    for n in range(600):
        (tmp_path / f"{n:03}").touch()
    result = await call(list_, tmp_path)
    assert result.summary == "500 entries or more"
    assert "first 500 only" in result.text


async def test_read(folder: Path) -> None:
    result = await call(read, folder, path="in/a.py")
    assert result.text == "[src/a.py, all 2 lines]\nimport os\nprint(os.name)\n"
    assert (result.summary, result.sources) == ("2 lines", ("src/a.py:1-2",))  # T-4
    part = await call(read, folder, path="src/a.py", first_line=2, lines=1)
    assert part.text == "[src/a.py, lines 2-2 of 2]\nprint(os.name)\n"
    first = await call(read, folder, path="src/a.py", lines=1)
    assert first.text.startswith(
        "[src/a.py, lines 1-1 of 2] More follows: read on with first_line 2."
    )
    (folder / "empty").touch()
    assert (await call(read, folder, path="empty")).text == "[empty is empty.]\n"
    for path, words in (
        ("src/b.py", r"no file src/b\.py. Did you mean src/a\.py\?"),
        ("src", "is a folder"),
        ("loop", "loop"),
        ("out/key", "outside the folder"),
    ):
        with pytest.raises(ToolFailed, match=words):
            await call(read, folder, path=path)
    with pytest.raises(ToolFailed, match="only 2 lines; there is no line 9"):
        await call(read, folder, path="src/a.py", first_line=9)


async def test_read_shows_a_draft_as_one(folder: Path) -> None:
    result = await read.call(
        context(folder, **{"src/a.py": "changed\n", "new.py": "new\n"}), {"path": "in/a.py"}
    )
    assert result.text.endswith("not written to the file yet.\nchanged\n")
    fresh = await read.call(context(folder, **{"new.py": "new\n"}), {"path": "new.py"})
    assert "draft" in fresh.text


async def test_read_keeps_to_its_limits(tmp_path: Path) -> None:
    (tmp_path / "wide").write_text("x" * 300_000 + "\nend\n")
    wide = await call(read, tmp_path, path="wide")
    assert len(wide.text) < 3000
    assert "line cut here" in wide.text
    assert wide.text.endswith("\nend\n")
    (tmp_path / "long").write_text(f"{'y' * 99}\n" * 2000)
    long = await call(read, tmp_path, path="long", lines=2000)
    assert len(long.text) < LIMIT + 100
    assert f"read on with first_line {LIMIT // 100 + 1}" in long.text


async def test_a_huge_file_is_not_read_whole(tmp_path: Path) -> None:
    """A sparse file of 2 GB: its first lines come at once, and it is not told to be binary."""
    with (tmp_path / "huge").open("wb") as file:
        file.write(b"line\n" * 20_000)
        file.truncate(2_000_000_000)
    result = await call(read, tmp_path, path="huge", lines=3)
    assert result.text.startswith("[huge, lines 1-3] More follows")
    assert (tmp_path / "huge").stat().st_size > WHOLE


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16-le", "utf-16-be"])
async def test_encodings_are_told_by_their_mark(tmp_path: Path, encoding: str) -> None:
    data = encode("größe €\r\nzwei\r\n", encoding)
    assert decode(data, "a") == ("größe €\r\nzwei\r\n", encoding)
    (tmp_path / "a").write_bytes(data)
    assert (await call(read, tmp_path, path="a")).text == "[a, all 2 lines]\ngröße €\r\nzwei\r\n"


@pytest.mark.parametrize("data", [b"\x7fELF\r\n\x1a\n\0\0" * 200_000, b"caf\xe9\1\n", b"\xff\xfea"])
async def test_binary_files_are_refused(tmp_path: Path, data: bytes) -> None:
    (tmp_path / "a").write_bytes(data)
    with pytest.raises(ToolFailed, match=r"a is a binary file \(\d"):
        await call(read, tmp_path, path="a")


@pytest.mark.skipif(sys.platform == "win32", reason="named pipes are files only on POSIX")
async def test_a_pipe_does_not_hang(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    with pytest.raises(ToolFailed, match="not an ordinary file"):
        await call(read, tmp_path, path="pipe")
    assert (await call(search, tmp_path, pattern="x")).summary == "no matches"


@pytest.mark.parametrize(
    ("pattern", "path", "fits"),
    [
        ("*.py", "a.py", True),
        ("*.py", "x/y/a.py", True),
        ("src/*.py", "src/a.py", True),
        ("src/*.py", "src/x/a.py", False),
        ("src/*.py", "x/src/a.py", False),
        ("src/**/*.py", "src/a.py", True),
        ("src/**/*.py", "src/x/y/a.py", True),
        ("src/**", "src/x/y", True),
        ("**/b", "a/b", True),
        ("./a.?s", "a.ts", True),
        ("*.{ts,js}", "x/a.js", True),
        ("[!a]*.py", "a.py", False),
        ("[ab].py", "b.py", True),
        ("a[", "a[", True),
        ("a.py", "aXpy", False),
        ("a**b", "a/x/b", True),
        ("a**/b", "ab", True),
        ("{a,{b,c}d}?", "cdx", True),
        ("{,x/}a", "a", True),
        ("[a-c-]}", "-}", True),
        ("[!/]a", "/a", False),
    ],
)
def test_glob_patterns(pattern: str, path: str, fits: bool) -> None:
    assert glob_matcher(pattern)(path) == fits


@pytest.mark.parametrize(
    ("pattern", "path", "after"),
    [
        ("*a" * 30 + "b", "a", ""),
        ("**/a" * 30 + "b", "a/", ""),
        ("{a,b}*" * 20 + "c", "ab", ""),
        ("**/" * 300 + "b", "é/", ""),
        ("**" + "a*" * 200, "a", "/"),
        ("[!b]*" * 30, "a", "b/"),
    ],
)
def test_a_glob_of_many_stars_takes_time_linear_in_the_name(
    pattern: str, path: str, after: str
) -> None:
    def text(size: int) -> str:
        return path * size + after

    assert grows_linearly(text, glob_matcher(pattern), 4_000)


@pytest.mark.parametrize("pattern", ["{a{}", "[b-a]", "{a,{b}", "a" * 1_001, "{" * 900 + "}"])
async def test_what_is_no_glob_is_said(folder: Path, pattern: str) -> None:
    with pytest.raises(ToolFailed, match="glob pattern"):
        await call(glob, folder, pattern=pattern)


async def test_glob(folder: Path) -> None:
    result = await call(glob, folder, pattern="*.{py,txt}")
    assert result.text == "src/a.py\nsrc/deep/b.txt"
    assert result.summary == "2 files"
    assert (await call(glob, folder, pattern="*.py", path="src/deep")).summary == "no files"
    assert "config" not in (await call(glob, folder, pattern="**")).text
    second = await call(glob, folder, pattern="*.{py,txt}", first=2)
    assert second.text == "src/deep/b.txt"
    for number in range(501):
        (folder / f"n{number:03}.log").touch()
    page = await call(glob, folder, pattern="*.log")  # C-19
    assert page.text.endswith(
        "n499.log\n[… more follow: go on with first 501, or use a narrower pattern …]"
    )
    assert (await call(glob, folder, pattern="*.log", first=501)).text == "n500.log"
    none = await call(glob, folder, pattern="*.log", first=502)
    assert none.text == "No file matches *.log from the file 502 on."
    for first in (0, 10**30):
        with pytest.raises(ToolFailed, match="“first” counts from 1 to 1,000,000"):
            await call(glob, folder, pattern="*.log", first=first)


async def test_c19_no_answer_names_a_continuation_that_is_refused(folder: Path) -> None:
    """C-19: where the last page there may be is full, it says to narrow the search."""
    (folder / "many.txt").write_text("hit\n" * 10_300)
    asked = {"pattern": "hit", "path": "many.txt"}
    page = await call(search, folder, **asked, first=9_800)
    assert "go on with first 10000, or" in page.text
    page = await call(search, folder, **asked, first=10_000)
    assert page.text.endswith("[… more follow: narrow it with path or glob …]")


WITHOUT = {"PATH": "/nowhere"}


@pytest.mark.parametrize("environment", [dict(os.environ), WITHOUT], ids=["ripgrep", "python"])
async def test_search(folder: Path, environment: dict[str, str]) -> None:
    around = Context(Workspace(folder), environment=environment)
    (folder / "z.py").write_text("os\n" * 3)
    result = await search.call(around, {"pattern": r"\bos\b"})
    assert result.text == (
        "src/a.py:1: import os\nsrc/a.py:2: print(os.name)\n\nz.py:1: os\nz.py:2: os\nz.py:3: os"
    )
    assert (result.summary, result.sources) == ("5 matches", (r".: \bos\b",))
    one = await search.call(around, {"pattern": "OS", "path": "src", "ignore_case": True})
    assert one.summary == "2 matches"
    none = await search.call(around, {"pattern": "os", "glob": "*.txt"})
    assert none.text == (
        "No line (*.txt) matches os.\n[Not searched: folders called .git; 4 links.]"
    )
    with pytest.raises(ToolFailed, match="not a regular expression"):
        await search.call(around, {"pattern": "("})
    with pytest.raises(ToolFailed, match="no folder srx"):
        await search.call(around, {"pattern": "a", "path": "srx"})
    (folder / "many").write_text("os\n" * 300)
    many = await search.call(around, {"pattern": "os", "path": "many"})
    assert many.summary == "200 matches or more"
    further = "[… more follow: go on with first 201, or narrow it with path or glob …]"
    assert many.text.endswith(f"many:200: os\n\n{further}")


BOTH = pytest.mark.parametrize(
    "environment", [dict(os.environ), WITHOUT], ids=["ripgrep", "python"]
)


@BOTH
async def test_search_goes_on_and_shows_files_or_counts(
    folder: Path, environment: dict[str, str]
) -> None:
    """C-19."""
    here = Context(Workspace(folder), environment=environment)
    (folder / "many").write_text("os\n" * 300)
    (folder / "z.py").write_text("os\n" * 3)
    os.utime(folder / "z.py", (2e9, 2e9))
    rest = await search.call(here, {"pattern": "os", "path": "many", "first": 201})
    assert (rest.summary, rest.text.split("\n")[0]) == ("100 matches", "many:201: os")
    assert rest.text.endswith("many:300: os")
    none = await search.call(here, {"pattern": "os", "path": "many", "first": 301})
    assert none.text == "There are only 300 matches."
    for words, count in (("(os.name)", "1 match"), ("os.*", "no matches")):
        plain = await search.call(here, {"pattern": words, "literal": True, "glob": "*.py"})
        assert plain.summary == count
    files = await search.call(here, {"pattern": r"\bos\b", "show": "files"})
    assert (files.summary, files.text.split("\n")[0]) == ("3 files", "z.py")
    assert sorted(files.text.split("\n")) == ["many", "src/a.py", "z.py"]
    counts = await search.call(here, {"pattern": r"\bos\b", "show": "counts"})
    assert counts.text == "many: 300\nsrc/a.py: 2\nz.py: 3"
    for number in range(201):
        (folder / f"{number:03}.md").write_text("# os\n# os\n")
    for show, line in (("counts", "200.md: 2"), ("files", "")):
        asked = {"pattern": "os", "glob": "*.md", "show": show}
        page = await search.call(here, asked)
        assert page.summary == "200 files or more"
        assert "[… more follow: go on with first 201" in page.text
        last = await search.call(here, {**asked, "first": 201})
        assert last.summary == "1 file" and last.text.endswith(line)
    with pytest.raises(ToolFailed, match="“first” counts from 1"):
        await search.call(here, {"pattern": "a", "first": 0})
    with pytest.raises(ToolFailed, match="at most 10,000"):  # no more are held in memory
        await search.call(here, {"pattern": "a", "first": 10_001})


@BOTH
async def test_a_search_shows_lines_around(folder: Path, environment: dict[str, str]) -> None:
    """C-19: in the order of the file, each once, and never those of another file."""
    here = Context(Workspace(folder), environment=environment)
    (folder / "a.txt").write_text("1\n2\nhit\n4\nhit\n6\n7\n8\n9\nhit")
    (folder / "b.txt").write_text("b1\nb2\nhit\n")
    asked = {"pattern": "hit", "glob": "?.txt", "context": 1}
    found = await search.call(here, asked)
    assert found.summary == "4 matches"
    assert found.text == (
        "a.txt-2- 2\na.txt:3: hit\na.txt-4- 4\na.txt:5: hit\na.txt-6- 6\n--\n"
        "a.txt-9- 9\na.txt:10: hit\n\nb.txt-2- b2\nb.txt:3: hit"
    )
    more = await search.call(here, {**asked, "context": 3, "first": 4})
    assert more.text == "b.txt-1- b1\nb.txt-2- b2\nb.txt:3: hit"
    (folder / "c.txt").write_text(f"{'x' * 3_000_000}hit\nnext\n")
    wide = await search.call(here, {"pattern": "hit", "path": "c.txt", "context": 2})
    assert [line[:9] for line in wide.text.split("\n")] == ["c.txt:1: ", "c.txt-2- "]
    with pytest.raises(ToolFailed, match="“context” must be 0 to 10"):
        await search.call(here, {**asked, "context": 11})


async def test_the_answer_of_a_search_is_never_cut_in_its_middle(folder: Path) -> None:
    """C-19: long lines make shorter pages, which together have every match once."""
    (folder / "long.txt").write_text("".join(f"{n} hit {'x' * 400}\n" for n in range(150)))
    here = Context(Workspace(folder), environment=dict(os.environ))
    seen, first = [], 1
    while True:
        page = await search.call(here, {"pattern": "hit", "path": "long.txt", "first": first})
        assert len(page.text) < 30_000
        seen += [line.split(":")[1] for line in page.text.split("\n") if line.startswith("long")]
        if "more follow" not in page.text:
            break
        first = int(page.text.split("go on with first ")[1].split(",")[0])
    assert seen == [str(number) for number in range(1, 151)]


@BOTH
async def test_a_match_may_go_over_several_lines(
    folder: Path, environment: dict[str, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """C-19: it never begins in one file and ends in the next."""
    here = Context(Workspace(folder), environment=environment)
    (folder / "a.txt").write_bytes(b"call(\r\n  one,\r\n  two)\r\nend begin")
    (folder / "b.txt").write_text("middle\n" * 30 + "end\n")
    asked = {"pattern": r"call\([^)]*\)$", "glob": "?.txt", "multiline": True, "context": 1}
    found = await search.call(here, asked)
    assert found.text == "a.txt:1: call(\na.txt:2:   one,\na.txt:3:   two)\na.txt-4- end begin"
    assert found.summary == "1 match"
    across = await search.call(here, {"pattern": r"begin\s*middle", "multiline": True})
    assert across.summary == "no matches"
    long = await search.call(here, {"pattern": r"middle[\s\S]*end", "multiline": True})
    assert long.text.endswith("b.txt:20: middle [… and 11 more lines]")
    by_words = await search.call(here, {"pattern": "one,\n  two", "literal": True})
    assert by_words.text == "a.txt:2:   one,\na.txt:3:   two)"
    by_sign = await search.call(here, {"pattern": r"one,\n"})
    assert by_sign.summary == "1 match"
    slow = {"pattern": r"(a|a|b?a)+$", "multiline": True, "path": "slow"}
    (folder / "slow").write_text("b" + "a" * 200 + "b\n")
    monkeypatch.setattr(grep, "_SECONDS_OF_LINES", 0.2)  # it would take years
    with pytest.raises(ToolFailed, match="takes too long for line 1 of slow"):
        await search.call(here, slow)


def test_what_only_python_reads_works_with_ripgrep_too(folder: Path) -> None:
    ripgrep = find_ripgrep(os.environ)
    query = Query(r"os(?=\.)")
    found = search_files(
        Workspace(folder), folder, query, 9, Stop(), ripgrep=ripgrep, environment=os.environ
    )
    assert [(one.path, one.line) for one in found.matches] == [("src/a.py", 2)]


def test_a_line_that_takes_for_ever_is_named(tmp_path: Path) -> None:
    (tmp_path / "a").write_text("b" + "a" * 200 + "b\n")
    with pytest.raises(ToolFailed, match="takes too long for line 1 of a"):
        search_files(
            Workspace(tmp_path),
            tmp_path,
            Query(r"(a|a|b?a)+$"),
            9,
            Stop(),
            ripgrep=None,
            environment={},
        )


NAMES = st.text("abB.- éz0", min_size=1, max_size=4).filter(lambda name: name.strip(".") != "")
TEXTS = st.text("ab\r\n é\ufeff", max_size=30).filter(
    lambda text: "\r" not in text.replace("\r\n", "")
)


@settings(patient, max_examples=25)
@given(
    files=st.dictionaries(st.lists(NAMES, min_size=1, max_size=3).map("/".join), TEXTS, max_size=5),
    pattern=st.sampled_from(["a", "b$", "^a", "é", "A", "a b|ba", "^$"]),
    glob=st.sampled_from(["", "*a*", "**/b*", "a/*", "*.{a,b}"]),
    ignore_case=st.booleans(),
    context=st.integers(0, 2),
    per_file=st.booleans(),
)
def test_both_searches_find_the_same(
    tmp_path_factory: pytest.TempPathFactory,
    files: dict[str, str],
    pattern: str,
    glob: str,
    ignore_case: bool,
    context: int,
    per_file: bool,
) -> None:
    ripgrep = find_ripgrep(os.environ)
    if ripgrep is None:
        return
    root = tmp_path_factory.mktemp("tree")
    for name, text in files.items():
        path = root / name
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text, encoding="utf-8", newline="")
        except OSError:
            continue  # a name is a folder's already
    query = Query(pattern, glob, ignore_case, context=context, per_file=per_file)
    both = [
        search_files(
            Workspace(root), root, query, 50, Stop(), ripgrep=program, environment=os.environ
        )
        for program in (ripgrep, None)
    ]
    assert both[0] == both[1]


GOOD = '''
from dataclasses import dataclass
from studio.tools import Context, tool

@dataclass
class Item:
    name: str

@tool(effect="read")
def mine(context: Context, items: list[Item]) -> str:
    """Mine."""
    return ", ".join(item.name for item in items)
'''


async def test_a_file_in_the_persons_folder_is_a_tool(tmp_path: Path) -> None:
    """T-1."""
    (tmp_path / "mine.py").write_text(GOOD)
    (tmp_path / "_shared.py").write_text("boom")
    (tmp_path / "notes.txt").write_text("boom")
    box = discover(folders=[tmp_path, tmp_path / "none"])
    assert box.problems == []
    assert {"list", "glob", "read", "search", "write", "edit", "run", "ask", "mine"} <= set(
        box.tools
    )
    result = await box.tools["mine"].call(context(tmp_path), {"items": [{"name": "a"}]})
    assert result.text == "a"
    assert box.tools["mine"].origin == str(tmp_path / "mine.py")
    assert not (tmp_path / "__pycache__").exists()

    (tmp_path / "mine.py").write_text(GOOD.replace("Mine.", "Changed."))
    again = discover(builtin=False, folders=[tmp_path])
    assert again.tools["mine"].spec.description == "Changed."


def test_a_broken_file_is_reported_with_its_line_and_skipped(tmp_path: Path) -> None:
    """T-1."""
    for name, text in {
        "a_syntax": "x = (\n",
        "b_raises": "import os\n\n1 / 0\n",
        "c_exits": "raise SystemExit('bye')",
        "d_missing": "import no_such_module_here\n",
        "e_nothing": "x = 1\n",
        "f_imports": "from studio.tools.builtin.read import read\n",
        "g_undocumented": "from studio.tools import tool\n@tool\ndef f(): ...\n",
        "h_hint": "from studio.tools import tool\n@tool\ndef f(a: Nope):\n  'Doc.'\n",
        "i_good": GOOD,
        "j_clash": GOOD,
    }.items():
        (tmp_path / f"{name}.py").write_text(text)
    (tmp_path / "k_null.py").write_bytes(b"\0\xff")
    box = discover(builtin=False, folders=[tmp_path])
    assert set(box.tools) == {"mine"}
    assert box.tools["mine"].origin.endswith("i_good.py")
    wanted = [
        "a_syntax.py, line 1: SyntaxError: '(' was never closed",
        "b_raises.py, line 3: ZeroDivisionError: division by zero",
        "c_exits.py, line 1: SystemExit: bye",
        "d_missing.py, line 1: ModuleNotFoundError",
        "e_nothing.py: there is no tool in it",
        "f_imports.py: there is no tool in it",
        "g_undocumented.py, line 2: TypeError: f has no docstring",
        "h_hint.py, line ",
        "j_clash.py: there is a tool “mine” already",
        "k_null.py",
    ]
    assert len(box.problems) == len(wanted)
    for problem, words in zip(box.problems, wanted, strict=True):
        assert words in problem


def test_the_built_in_tools_come_first(tmp_path: Path) -> None:
    (tmp_path / "read.py").write_text(GOOD.replace("def mine", "def read"))
    box = discover(folders=[tmp_path])
    assert box.tools["read"] is read
    assert "there is a tool “read” already" in box.problems[0]


def test_installed_packages_bring_tools(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """T-1."""
    (tmp_path / "studio_extra_tools.py").write_text(GOOD)
    info = tmp_path / "studio_extra-1.0.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: studio-extra\nVersion: 1.0\n")
    (info / "entry_points.txt").write_text(
        "[agent_studio.tools]\n"
        "all = studio_extra_tools\n"
        "broken = studio_extra_missing\n"
        "one = studio_extra_tools:mine\n"
    )
    monkeypatch.syspath_prepend(str(tmp_path))
    box = discover(builtin=False)
    assert set(box.tools) == {"mine"}
    assert len(box.problems) == 1
    assert box.problems[0].startswith("studio-extra (studio_extra_missing): ModuleNotFoundError")
