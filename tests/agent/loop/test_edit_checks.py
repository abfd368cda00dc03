"""C-11: a model hears what is wrong with a file since it changed it, and nothing else."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from studio.domain.events import Event, ToolFinished
from studio.domain.permissions import Rule
from studio.simulator import Call, Text, Turn
from studio.tools.drafts import edit_checks
from studio.tools.language import language_servers
from studio.tools.workspace.check_list import read_checks
from support import language_server
from support.engine_home import EngineHome, engine_home, say
from support.waiting import FOREVER, HANG

CHECK = '"*.txt": sh check.sh {file}\n'
SCRIPT = 'grep -n bad "$1" | sed "s|^|$1:|" && exit 1\ncat other.txt >/dev/null\n'
ALLOWED = (Rule("allow", "edit", "*"), Rule("allow", "write", "*"))


def edit(old: str, new: str, path: str = "a.txt") -> list[Turn]:
    call = Call("edit", {"path": path, "old": old, "new": new})
    return [Turn(call, stop="tool_use"), Turn(Text("Done."), stop="end")]


async def result(home: EngineHome, *rules: Rule) -> str:
    session = await home.session()
    events: list[Event] = await say(session, rules=rules)
    (done,) = (event for event in events if isinstance(event, ToolFinished))
    assert not done.is_error, done.text
    return done.text


async def lay_out(home: EngineHome, text: str, *, trusted: bool = True) -> None:
    (home.folder / "a.txt").write_text(text)
    (home.folder / "other.txt").write_text("other\n")
    (home.folder / "check.sh").write_text(SCRIPT)
    (home.folder / ".agents").mkdir()
    (home.folder / ".agents" / "checks.yaml").write_text(CHECK)
    if trusted:
        await home.engine.services.rules.trust(home.folder)


@pytest.mark.parametrize("rules", [(), ALLOWED], ids=["waiting", "written"])
async def test_only_what_is_new_is_told(tmp_path: Path, rules: tuple[Rule, ...]) -> None:
    """C-11: on a copy while the draft waits; the folder is as before."""
    async with engine_home(tmp_path, "anthropic", edit("three", "also bad")) as home:
        await lay_out(home, "one\nbad two\nthree\n")
        if (await home.engine.services.sandbox()).kind == "none":
            pytest.skip("there is no sandbox here")
        text = await result(home, *rules)
        assert text.endswith("Found after this change:\na.txt:3:also bad")
        written = (home.folder / "a.txt").read_text() == "one\nbad two\nalso bad\n"
        assert written == bool(rules)
        assert sorted(path.name for path in home.folder.iterdir()) == [
            ".agents",
            "a.txt",
            "check.sh",
            "other.txt",
        ]


async def test_what_was_there_before_is_not_told(tmp_path: Path) -> None:
    """C-11: also on another line than before."""
    async with engine_home(tmp_path, "anthropic", edit("one", "one\nand a half")) as home:
        await lay_out(home, "one\nbad two\nthree\n")
        assert "Found" not in await result(home)


@pytest.mark.parametrize(("old", "new"), [("one", "bad one\nslow"), ("slow", "fast")])
async def test_a_check_that_takes_too_long_says_so(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, old: str, new: str
) -> None:
    """C-11: of the text as it is, or as it was: then nobody knows what is new."""
    assert (edit_checks.SECONDS, language_servers.SECONDS) == (5.0, 2.0)
    monkeypatch.setattr(edit_checks, "SECONDS", 2.0)
    async with engine_home(tmp_path, "anthropic", edit(old, new)) as home:
        await lay_out(home, "one\nbad two\nslow\n")
        slow = f"grep -q slow $1 && sleep {FOREVER}\n"
        (home.folder / "check.sh").write_text(f"{slow}{SCRIPT}")
        await home.engine.services.rules.trust(home.folder)
        told = (await result(home)).partition("Found after this change:\n")[2]
        assert told.startswith("a.txt: ") and told.endswith("took too long."), told


async def test_a_folder_that_is_not_trusted_runs_nothing(tmp_path: Path) -> None:
    """C-11: and trust ends when the checks change."""
    for trusted in (False, True):
        place = tmp_path / str(trusted)
        place.mkdir()
        async with engine_home(place, "anthropic", edit("one", "bad")) as home:
            await lay_out(home, "one\n", trusted=trusted)
            if trusted:
                told = CHECK.replace("check.sh", "./check.sh")
                (home.folder / ".agents" / "checks.yaml").write_text(told)
            assert "Found" not in await result(home)


async def test_the_person_sees_what_trust_lets_run(tmp_path: Path) -> None:
    """C-11."""
    async with engine_home(tmp_path, "anthropic", []) as home:
        await lay_out(home, "one\n", trusted=False)
        offer = await home.engine.trust_offer(home.folder)
        assert "Runs after changes of *.txt, in the sandbox: sh check.sh {file}" in offer.effects


async def test_ten_findings_at_most(tmp_path: Path) -> None:
    """C-11."""
    new = "\n".join(f"bad {chr(97 + number)}" for number in range(25))
    async with engine_home(tmp_path, "anthropic", edit("one", new)) as home:
        await lay_out(home, "one\n")
        if (await home.engine.services.sandbox()).kind == "none":
            pytest.skip("there is no sandbox here")
        text = await result(home)
        assert text.count("a.txt:") == 10 and "[… 15 more …]" in text


@pytest.mark.parametrize(
    ("name", "before", "old", "new", "found"),
    [
        ("a.py", "def f():\n    return 1\n", "return 1", "return (1", "a.py, line 2"),
        ("a.py", "def f(:\n    return 1\n", "return 1", "return 2", ""),
        ("a.py", "x = 1\n", "1", "2", ""),
        ("a.json", '{"a": 1}\n', "1", "1,", "a.json, line 1"),
        ("tsconfig.json", '{"a": 1}\n', "1", "1 // one", ""),
        ("a.toml", "a = 1\n", "1", "", "a.toml, Invalid value"),
        ("a.xml", "<a><b/></a>\n", "<b/>", "<b>", "a.xml, line 1: mismatched tag"),
        ("a.txt", "(\n", "(", "((", ""),
    ],
)
async def test_without_a_check_the_syntax_is_looked_at(
    tmp_path: Path, name: str, before: str, old: str, new: str, found: str
) -> None:
    """C-11."""
    async with engine_home(tmp_path, "anthropic", edit(old, new, name)) as home:
        (home.folder / name).write_text(before)
        text = await result(home)
        assert ("Found after this change:\n" in text) == bool(found) and found in text


@pytest.mark.parametrize("wrong", [["a"], {"*.py": "ruff check"}, {"*.py": 1}, {"": "ruff {file}"}])
def test_checks_that_are_none_say_why(wrong: object) -> None:
    """C-11."""
    with pytest.raises(ValueError, match=r"check|glob"):
        read_checks(wrong)


async def test_a_mistake_in_the_checks_is_told_the_person(tmp_path: Path) -> None:
    """C-11."""
    async with engine_home(tmp_path, "anthropic", edit("one", "two")) as home:
        await lay_out(home, "one\n", trusted=False)
        (home.folder / ".agents" / "checks.yaml").write_text('"*.txt": true\n')
        layers = await home.engine.services.rules.layers(home.folder)
        assert "checks.yaml" in layers.notices[0] and "{file}" in layers.notices[0]


@pytest.mark.parametrize(
    "command",
    ["ruff '{file}'", 'ruff "{file}"', "sh -c 'ruff {file}'", "ruff \\{file}", "ruff {file} '"],
)
def test_a_name_in_quotes_is_refused(command: str) -> None:
    """C-11: a file could be called so that its name ends them, and is a command itself."""
    with pytest.raises(ValueError, match="without"):
        read_checks({"*.py": command})


@pytest.mark.parametrize("name", ["-rf.txt", "it's; touch gone.txt", "$(touch gone).txt"])
def test_a_name_is_one_word_of_the_command(name: str) -> None:
    """C-11."""
    (check,) = read_checks({"*.txt": "printf '%s|' --file={file} {file}; true"})
    said = subprocess.run(["/bin/sh", "-c", check.command_for(name)], capture_output=True)
    plain = f"./{name}" if name[0] == "-" else name
    assert said.stdout.decode() == f"--file={plain}|{plain}|"


@pytest.mark.parametrize("kind", ["waiting", "written", "checked", "off", "untrusted"])
async def test_a_language_server_tells_what_is_new(tmp_path: Path, kind: str) -> None:
    """C-11: where the person trusts the folder and there is no check, in the sandbox; it is begun
    with the first edit, and ended with the chat."""
    turns = [*edit("three", "THREE"), *edit("# two", "TWO # (", "b.py")]
    async with engine_home(tmp_path, "anthropic", turns) as home:
        await lay_out(home, "OLD\n# two\nthree\n", trusted=False)
        checks = home.folder / ".agents" / "checks.yaml"
        if kind != "checked":
            checks.unlink()
        (home.folder / "b.py").write_text("ONE = 1\n# two\n")
        (home.folder / "server.py").write_text(Path(language_server.__file__).read_text())
        log = home.folder / "log"
        settings = home.engine.settings.values
        settings.language_servers = kind != "off"
        words = [sys.executable, str(home.folder / "server.py"), str(log)]
        settings.language_server_commands = {"*.txt": words, "b.py": words}
        home.engine.services.languages.seconds = HANG
        if kind != "untrusted":
            await home.engine.services.rules.trust(home.folder)
        if (await home.engine.services.sandbox()).kind == "none":
            pytest.skip("there is no sandbox here")
        session = await home.session()
        rules = ALLOWED if kind == "written" else ()
        events = [*await say(session, rules=rules), *await say(session, rules=rules)]
        first, second = (event.text for event in events if isinstance(event, ToolFinished))
        if kind in ("waiting", "written"):
            # The whole line and no other: what was there before is not told.
            assert first.endswith("after this change:\na.txt:3: error: THREE is loud [caps]")
            assert second.endswith("after this change:\nb.py:2: error: TWO is loud [caps]")
            assert log.read_text().count("begin") == 1
        else:
            assert "Found" not in first and ("b.py:2" in second) == (kind == "checked")
            assert log.exists() == (kind == "checked")
        await session.close()
        assert not home.engine.services.languages.running()
