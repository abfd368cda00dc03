"""Tools of one's own: begun, listed, tried, saved again while the program runs (T-1 to T-3)."""

from __future__ import annotations

import asyncio
import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from studio.domain import events as ev
from studio.domain.errors import ConfigurationError, ToolFailed
from studio.simulator import Call, RequestView, Text, Turn
from studio.tools import Context, Tool, Workspace
from studio.tools.discovery import Toolbox, ToolDiscovery, discover
from studio.tools.sdk.tool_template import create_tool_file, starter
from support.command import Command, screen
from support.engine_home import EngineHome, engine_home, say

ACTING = '''
from studio.tools import Context, Result, tool

@tool(effect="act")
def note(context: Context, words: str) -> Result:
    """Write words into note.txt."""
    (context.workspace.root / "note.txt").write_text(words)
    return Result("written", "1 note", ("note.txt",))
'''
SAYS = '''
from studio.tools import tool

@tool(effect="read")
def says() -> str:
    """Say it."""
    return "{}"
'''


@pytest.fixture
def terminal(tmp_path: Path) -> Command:
    made = Command(tmp_path)
    own = made.home / "tools"
    own.mkdir(parents=True)
    (own / "note.py").write_text(ACTING)
    (own / "broken.py").write_text("import os\n\nx = (\n")
    return made


# The command


async def test_tools_are_listed_with_what_is_wrong(terminal: Command) -> None:
    """T-1: name, effect, origin; a broken file is named with its line and skipped."""
    shown, found, agents = await asyncio.gather(
        terminal("tools", "list"),
        terminal("tools", "list", "--json"),
        terminal("tools", "show", "run"),
    )
    lines = {line.split()[0]: line.split(maxsplit=2)[1:] for line in shown.out.splitlines()}
    assert lines["read"] == ["read", "built in"] and lines["write"] == ["draft", "built in"]
    assert lines["note"] == ["act", str(terminal.home / "tools" / "note.py")]
    assert "broken.py, line 3: SyntaxError" in shown.err
    told = json.loads(found.out)
    assert {"name": "run", "effect": "act", "origin": "built in"} in told["tools"]
    [problem] = told["problems"]
    assert "broken.py, line 3" in problem
    assert shown.code == found.code == agents.code == 0
    assert "Coder" in agents.out and '"command"' in agents.out and "asked about" in agents.out


async def test_one_tool_is_shown_as_a_model_is_told_of_it(terminal: Command) -> None:
    plain, found, none = await asyncio.gather(
        terminal("tools", "show", "note"),
        terminal("tools", "show", "note", "--json"),
        terminal("tools", "show", "nothing"),
    )
    assert plain.out.startswith("note\n\nWrite words into note.txt.\n") and "note.py" in plain.out
    told = json.loads(found.out)
    assert told["schema"]["required"] == ["words"] and "context" not in told["schema"]["properties"]
    assert told["effect"] == "act" and isinstance(told["agents"], list)
    assert none.code == 1 and "There is no tool nothing" in none.err


async def test_a_tool_is_begun_tried_and_never_overwritten(terminal: Command) -> None:
    """T-1: adding a tool is adding a file, and the one it begins with works."""
    made = await terminal("tools", "new", "count_lines")
    path = Path(made.out.strip())
    assert (made.code, path) == (0, terminal.home / "tools" / "count_lines.py")
    path.write_text(path.read_text().replace("Count the", "My own: count the"))
    (terminal.folder / "a.txt").write_text("one two\nthree\n")
    again, bad, builtin, tried, found, outside, wrong = await asyncio.gather(
        terminal("tools", "new", "count_lines"),
        terminal("tools", "new", "../evil"),
        terminal("tools", "new", "read"),
        terminal("tools", "test", "count_lines", "--args", '{"path": "a.txt"}'),
        terminal("tools", "test", "count_lines", "--args", '{"path": "a.txt"}', "--json"),
        terminal("tools", "test", "count_lines", "--args", '{"path": "/etc/passwd"}', "--json"),
        terminal("tools", "test", "count_lines", "--args", '{"file": "a.txt"}'),
    )
    assert again.code == 1 and "already" in again.err and "My own" in path.read_text()
    assert bad.code == 1 and "no name for a tool" in bad.err
    assert builtin.code == 1 and "already" in builtin.err
    assert json.loads(tried.out) == {"lines": 2, "words": 3} and tried.code == 0
    assert "Summary: 2 lines\nSources: a.txt\nDone in " in tried.err
    told = json.loads(found.out)
    assert told["sources"] == ["a.txt"] and told["drafts"] == [] and told["seconds"] >= 0
    assert outside.code == 1 and json.loads(outside.out)["is_error"] is True
    assert wrong.code == 1 and "path" in wrong.err


async def test_a_draft_is_shown_and_not_written(terminal: Command) -> None:
    file = terminal.folder / "a.txt"
    file.write_text("old\n")
    arguments = ("--args", json.dumps({"path": "a.txt", "content": "new\n"}))
    shown, found = await asyncio.gather(
        terminal("tools", "test", "write", *arguments),
        terminal("tools", "test", "write", *arguments, "--json"),
    )
    assert shown.code == 0 and "Draft, not written: write a.txt\n-old\n+new" in shown.err
    [draft] = json.loads(found.out)["drafts"]
    assert (draft["path"], draft["diff"]) == ("a.txt", "-old\n+new") and file.read_text() == "old\n"


async def test_a_tool_that_acts_is_asked_about(terminal: Command, tmp_path: Path) -> None:
    other = tmp_path / "other"
    other.mkdir()
    words = ("tools", "test", "note", "--args", '{"words": "hi"}', "--folder", str(other))
    refused = await terminal(*words)
    assert refused.code == 4 and "--yes" in refused.err and not list(other.iterdir())
    async with screen(terminal, *words) as shown:
        await shown.until("Run it?")
        shown.type("n\n")
        assert await shown.end() == 4
    assert not list(other.iterdir())
    async with screen(terminal, *words) as shown:
        await shown.until("Run it?")
        shown.type("y\n")
        await shown.until("Done in")
        assert await shown.end() == 0
    assert (other / "note.txt").read_text() == "hi"
    allowed = await terminal(*words, "--yes", "--json")
    assert json.loads(allowed.out)["summary"] == "1 note"


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (["--args", "{"], "--args is no JSON"),
        (["--args", "[1]"], "must be a JSON object"),
        (["--args", "{}"], "words"),
        (["--args", '{"words": 1, "more": 2}'], "more"),
        (["--folder", "/no/such/place"], "is not there"),
    ],
)
async def test_wrong_arguments_are_told(terminal: Command, arguments: list[str], says: str) -> None:
    """L-5: field by field, and nothing is run."""
    ended = await terminal("tools", "test", "note", "--yes", *arguments)
    assert ended.code == 1 and says in ended.err and not (terminal.folder / "note.txt").exists()


# The starter file


async def test_the_starter_is_a_working_tool(tmp_path: Path) -> None:
    path = create_tool_file(tmp_path, "my_tool", ())
    box = discover(builtin=False, folders=[tmp_path])
    assert box.problems == [] and path.read_text() == starter("my_tool")
    tool = box.tools["my_tool"]
    assert set(tool.spec.schema["properties"]) == {"path", "longest"}  # type: ignore[arg-type]
    (tmp_path / "a.txt").write_text("x y\n" * 3)
    (tmp_path / "b.bin").write_bytes(b"\xff\xfe\x00")
    context = Context(Workspace(tmp_path))
    result = await tool.call(context, {"path": "a.txt"})
    assert json.loads(result.text) == {"lines": 3, "words": 6}
    for arguments, says in (
        ({"path": "a.txt", "longest": 2}, "more than 2 lines"),
        ({"path": "b.bin"}, "no text file"),
        ({"path": "../x"}, "outside"),
    ):
        with pytest.raises(ToolFailed, match=says):
            await tool.call(context, arguments)  # type: ignore[arg-type]


async def test_the_guide_shows_a_tool_that_works(tmp_path: Path) -> None:
    """docs/tools.md, with no more of Context than there is (T-2)."""
    guide = (Path(__file__).parents[2] / "docs" / "tools.md").read_text("utf-8")
    (tmp_path / "guide.py").write_text(guide.split("```python\n")[1].split("```")[0])
    box = discover(builtin=False, folders=[tmp_path])
    (tmp_path / "a.txt").write_text("one two")
    result = await box.tools["count_words"].call(Context(Workspace(tmp_path)), {"path": "a.txt"})
    assert (result.text, result.summary, box.problems) == ("2", "2 words", [])
    table = guide.split("## What Context gives")[1].split("##")[0]
    named = {
        name
        for row in table.splitlines()
        if "|" in row
        for name in re.findall(r"`(\w+)", row.split("|")[1])
    }
    assert named - {"Context"} <= set(dir(Context))


@pytest.mark.parametrize(
    "name", ["", "A", "1a", "a-b", "a b", "class", "../a", "a/b", "a" * 65, "ä"]
)
def test_a_name_that_is_none_is_refused(tmp_path: Path, name: str) -> None:
    with pytest.raises(ConfigurationError, match="no name for a tool"):
        create_tool_file(tmp_path, name, ())
    assert not list(tmp_path.iterdir())


def test_a_starter_is_never_written_over_a_file(tmp_path: Path) -> None:
    (tmp_path / "a.py").symlink_to(tmp_path / "elsewhere")
    with pytest.raises(ConfigurationError, match="there already"):
        create_tool_file(tmp_path, "a", ())
    with pytest.raises(ConfigurationError, match="cannot be written"):
        create_tool_file(tmp_path / "none", "a", ())
    assert not (tmp_path / "elsewhere").exists()


# Entry points


def install(folder: Path, name: str, entries: str, editable: Path | None = None) -> None:
    """What pip leaves behind of a package, and for an editable one the .pth that finds it."""
    info = folder / f"{name}-1.0.dist-info"
    info.mkdir(parents=True)
    (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {name}\nVersion: 1.0\n")
    (info / "entry_points.txt").write_text(f"[agent_studio.tools]\n{entries}\n")
    (info / "RECORD").write_text("")
    if editable is not None:
        (folder / f"__editable__.{name}.pth").write_text(f"{editable}\n")
        url = {"url": editable.as_uri(), "dir_info": {"editable": True}}
        (info / "direct_url.json").write_text(json.dumps(url))


def test_installed_packages_bring_tools_whatever_way_they_are_installed(tmp_path: Path) -> None:
    """T-1: entry points of a package, and of an editable one; a broken one names file and line."""
    site, source = tmp_path / "site", tmp_path / "source"
    source.mkdir()
    install(site, "whole", "a = whole_tools")
    (site / "whole_tools.py").write_text(SAYS.format("whole"))
    install(site, "linked", "a = linked_tools.inner:says_linked", editable=source)
    (source / "linked_tools").mkdir()
    (source / "linked_tools" / "__init__.py").write_text("")
    (source / "linked_tools" / "inner.py").write_text(
        SAYS.format("linked").replace("says", "says_linked")
    )
    install(site, "raises", "a = raises_tools")
    (site / "raises_tools.py").write_text("import json\n\njson.loads('x')\n")
    install(site, "grammar", "a = grammar_tools")
    (site / "grammar_tools.py").write_text("\nx = (\n")
    install(site, "gone", "a = gone_tools\nb = whole_tools:none")
    program = f"""
import json, site
site.addsitedir({str(site)!r})
from studio.tools.discovery import discover
box = discover()
print(json.dumps([sorted(box.tools), box.problems]))
"""
    done = subprocess.run(
        [sys.executable, "-c", program],
        capture_output=True,
        text=True,
        check=True,
        env={**os.environ, "PYTHONPATH": str(Path(__file__).parents[2])},
    )
    names, problems = json.loads(done.stdout)
    assert {"says", "says_linked", "read"} <= set(names)
    wanted = (
        "gone (gone_tools): ModuleNotFoundError",
        f"grammar (grammar_tools), {site / 'grammar_tools.py'}, line 2: SyntaxError",
        "raises (raises_tools), ",
        "gone (whole_tools:none): AttributeError",
    )
    assert len(problems) == len(wanted)
    for words in wanted:
        assert any(problem.startswith(words) for problem in problems), (words, problems)
    assert "JSONDecodeError" in str(problems)


def test_a_package_counts_from_the_next_look_on(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """T-1: it is installed and removed while the program runs; nothing else is loaded again."""
    monkeypatch.syspath_prepend(str(tmp_path))
    (tmp_path / "first_tools.py").write_text(SAYS.replace("says", "first").format("first"))
    install(tmp_path, "first", "a = first_tools")
    finder = ToolDiscovery(builtin=False)
    before = finder.refresh()
    assert finder.refresh() is before and set(before.tools) == {"first"}

    def touched() -> None:
        """The folder has a later time than before, however coarse its times are."""
        later = tmp_path.stat().st_mtime_ns + 10_000_000_000
        os.utime(tmp_path, ns=(later, later))

    install(tmp_path, "second", "a = second_tools")
    touched()
    broken = finder.refresh()
    assert "second (second_tools): ModuleNotFoundError" in broken.problems[0]
    (tmp_path / "second_tools.py").write_text(SAYS.replace("says", "second").format("second"))
    touched()
    after = finder.refresh()
    assert finder.refresh() is after and after.problems == []
    assert set(after.tools) == {"first", "second"} and after.tools["first"] is before.tools["first"]
    assert set(ToolDiscovery(builtin=False).refresh().tools) == {"first", "second"}

    (tmp_path / "other.txt").touch()
    touched()
    assert finder.refresh() is after
    shutil.rmtree(tmp_path / "first-1.0.dist-info")
    touched()
    assert set(finder.refresh().tools) == {"second"}


# Saved again while the program runs


def saved(path: Path, text: str) -> None:
    """As an editor saves it, at a later time than before."""
    before = path.stat().st_mtime_ns if path.exists() else 0
    path.write_text(text)
    os.utime(path, ns=(before + 1_000_000, before + 1_000_000))


def test_a_saved_file_is_read_again_and_nothing_else(tmp_path: Path) -> None:
    """T-1: cheap while nothing changes, and a file that broke stays as it was."""
    counter = tmp_path / "count"
    other = f"with open({str(counter)!r}, 'a') as f:\n    f.write('x')\n" + SAYS.replace(
        "says", "other"
    ).format("other")
    saved(tmp_path / "other.py", other)
    saved(tmp_path / "says.py", SAYS.format("one"))
    finder = ToolDiscovery([tmp_path], builtin=False)
    first = finder.refresh()
    assert finder.refresh() is first and set(first.tools) == {"says", "other"}

    saved(tmp_path / "says.py", SAYS.format("two"))
    second = finder.refresh()
    assert second is not first and said(second.tools["says"]) == "two"
    assert second.tools["other"] is first.tools["other"] and counter.read_text() == "x"

    saved(tmp_path / "says.py", "x = (")
    broken = finder.refresh()
    assert said(broken.tools["says"]) == "two"
    [problem] = broken.problems
    assert "says.py, line 1: SyntaxError" in problem and problem.endswith("is still used.")
    assert finder.refresh() is broken

    saved(tmp_path / "says.py", SAYS.format("three"))
    saved(tmp_path / "more.py", SAYS.replace("says", "more").format("more"))
    third = finder.refresh()
    assert third.problems == [] and set(third.tools) == {"says", "other", "more"}
    (tmp_path / "more.py").unlink()
    assert set(finder.refresh().tools) == {"says", "other"}
    (tmp_path / "gone.py").symlink_to(tmp_path / "nowhere")
    assert "gone.py" in finder.refresh().problems[0] and finder.refresh().problems[1:] == []


def test_who_looks_while_tools_are_collected_gets_all_that_were_known(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """T-1: two turns may begin at once."""
    saved(tmp_path / "a.py", SAYS.replace("says", "a").format("a"))
    saved(tmp_path / "b.py", SAYS.replace("says", "b").format("b"))
    finder, meanwhile = ToolDiscovery([tmp_path], builtin=False), list[set[str]]()
    add = Toolbox.add

    def adds(box: Toolbox, tool: Tool, origin: str) -> None:
        add(box, tool, origin)
        with monkeypatch.context() as patch:
            patch.setattr(Toolbox, "add", add)
            meanwhile.append(set(finder.refresh().tools))

    monkeypatch.setattr(Toolbox, "add", adds)
    finder.refresh()
    saved(tmp_path / "b.py", SAYS.replace("says", "b").format("c"))
    finder.refresh()
    assert meanwhile and all(tools == {"a", "b"} for tools in meanwhile)


def said(tool: Tool) -> str:
    return asyncio.run(tool.call(Context(Workspace(".")), {})).text


def test_a_file_that_has_no_room_is_not_begun(tmp_path: Path) -> None:
    code = (
        "import resource, sys\n"
        "from pathlib import Path\n"
        "from studio.tools.sdk.tool_template import create_tool_file\n"
        "resource.setrlimit(resource.RLIMIT_FSIZE, (100, resource.RLIM_INFINITY))\n"
        "create_tool_file(Path(sys.argv[1]), 'mine', ())\n"
    )
    ended = subprocess.run(
        [sys.executable, "-c", code, str(tmp_path)], capture_output=True, text=True, check=False
    )
    assert "mine.py cannot be written (File too large)" in ended.stderr
    assert not [*tmp_path.iterdir()]


async def test_a_tool_saved_between_two_turns_counts_in_the_next(tmp_path: Path) -> None:
    """T-1: at the next message, and what is newly broken is said once."""
    call, end = Turn(Call("says", {})), Turn(Text("Done."))
    async with engine_home(tmp_path, "anthropic", [call, end] * 4) as home:
        told: list[str] = []
        home.engine.on_problem(told.append)
        path = all_tools(home) / "says.py"
        results: list[str] = []
        session = await home.session("All")
        for text in (SAYS.format("one"), SAYS.format("two"), "x = (", "x = ("):
            saved(path, text)
            results += [e.text for e in await say(session) if isinstance(e, ev.ToolFinished)]
        assert results == ["one", "two", "two", "two"]
        assert len(told) == 1 and "says.py, line 1" in told[0]


# What a tool is given, what it gives (T-2, T-3)


def all_tools(home: EngineHome) -> Path:
    """Have an agent that may use every tool; returns the folder of one's own tools."""
    for folder in (home.engine.paths.agents, home.engine.paths.tools):
        folder.mkdir(exist_ok=True)
    (home.engine.paths.agents / "all.md").write_text(
        '---\nname: All\ndescription: Has every tool\ntools: ["*"]\n---\nHelp.\n'
    )
    return home.engine.paths.tools


WHO = '''
from studio.tools import Context, tool

@tool(effect="read")
async def who(context: Context) -> dict:
    """Say who asks."""
    return {"session": context.session_id, "agent": context.agent, "call": context.call_id,
            "folder": context.workspace.root.name}
'''


async def test_context_is_made_for_each_call_and_is_not_in_the_schema(tmp_path: Path) -> None:
    """T-2: two sessions at once each get their own; no tool's schema names it."""

    def asks_once(view: RequestView) -> Turn:  # either may be ahead of the other
        return Turn(Text("Done.")) if view.results else Turn(Call("who", {}))

    async with engine_home(tmp_path, "anthropic", asks_once) as home:
        (all_tools(home) / "who.py").write_text(WHO)
        await home.engine.refresh_tools()
        for tool in home.engine.tools().values():
            found = tool.spec.schema["properties"].get("context", {})  # type: ignore[union-attr]
            assert found.get("type") in (None, "integer"), tool.spec.name  # lines around a hit
        answers = await asyncio.gather(*(asked(home, name) for name in ("one", "two")))
        assert [answer["folder"] for answer in answers] == ["one", "two"]
        assert len({answer["session"] for answer in answers}) == 2
        assert all(answer["agent"] == "All" and answer["call"] for answer in answers)


async def asked(home: EngineHome, folder: str) -> dict[str, str]:
    place = home.folder / folder
    place.mkdir()
    session = await home.session("All")
    await session.change(folder=str(place))
    [result] = [e for e in await say(session) if isinstance(e, ev.ToolFinished)]
    answer: dict[str, str] = json.loads(result.text)
    assert answer["session"] == session.info.id and answer["call"] == result.call_id
    return answer


ORDERS = '''
from dataclasses import dataclass, field
from studio.tools import Result, ToolFailed, tool

@dataclass
class Order:
    number: int
    customer: str
    lines: list[str] = field(default_factory=list)

_ALL = {n: Order(n, f"customer {n}", ["a long line"] * 50) for n in range(3)}

@tool(effect="read")
def orders() -> Result:
    """List the orders: number and customer. For one whole order use orders_detail."""
    rows = [{"number": one.number, "customer": one.customer} for one in _ALL.values()]
    return Result(rows, f"{len(rows)} orders", ("orders",))

@tool(effect="read")
def orders_detail(number: int) -> Result:
    """Show one whole order.

    number: As orders lists it.
    """
    if number not in _ALL:
        raise ToolFailed(f"There is no order {number}. The numbers are in orders.")
    return Result(_ALL[number], f"{len(_ALL[number].lines)} lines", (f"orders/{number}",))
'''


async def test_a_summary_tool_is_compact_and_a_detail_tool_whole(tmp_path: Path) -> None:
    """T-3: both in one file; every ``_detail`` tool there is has its summary tool."""
    script = [
        Turn(Call("orders", {})),
        Turn(Call("orders_detail", {"number": 1}), Call("orders_detail", {"number": 9})),
        Turn(Text("Done.")),
    ]
    async with engine_home(tmp_path, "anthropic", script) as home:
        (all_tools(home) / "orders.py").write_text(ORDERS)
        events = await say(await home.session("All"))
        rows, *details = [e for e in events if isinstance(e, ev.ToolFinished)]
        whole, wrong = sorted(details, key=lambda one: one.is_error)
        assert len(rows.text) < 300 and "lines" not in rows.text
        assert whole.text.count("a long line") == 50 and whole.sources == ("orders/1",)
        assert wrong.is_error and "numbers are in orders" in wrong.text
        names = set(home.engine.tools())
        for record in {name.removesuffix("_detail") for name in names if "_detail" in name}:
            assert names & {record, f"{record}_read"}, record
