"""Skills and commands are found where people keep them, however their files are written (K-4, K-7)."""

from __future__ import annotations

import time
from cProfile import Profile
from pathlib import Path

import pytest

from studio.domain.extensions import Extensions
from studio.extensions.documents import parse_document
from studio.extensions.finder import ExtensionFinder
from studio.storage.paths import Paths


@pytest.fixture
def home(tmp_path: Path) -> Path:
    return tmp_path / "home"


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return tmp_path / "work"


def skill(
    place: Path, name: str, about: str = "About.", *, head: str = "", body: str = "Do."
) -> Path:
    path = place / name / "SKILL.md"
    path.parent.mkdir(parents=True)
    path.write_text(f"---\nname: {name}\ndescription: {about}\n{head}---\n{body}\n")
    return path


def command(path: Path, text: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)


def found(home: Path, folder: Path, *, trusted: bool = True) -> Extensions:
    return ExtensionFinder(Paths.below(home)).read(folder, trusted)


def test_k4_every_place_is_read_and_the_nearest_wins(home: Path, folder: Path) -> None:
    """K-4: the project's over the person's, and what is not used is told."""
    skill(folder / ".agents" / "skills", "one", "Project.")
    skill(folder / ".claude" / "skills", "two")
    skill(home / "skills", "three")
    skill(home / ".agents" / "skills" / "group" / "deeper", "four")
    skill(home / ".claude" / "skills", "one", "Own.")
    all_ = found(home, folder)
    assert [one.name for one in all_.skills] == ["one", "two", "three", "four"]
    one = all_.get("one")
    assert one is not None and one.description == "Project." and one.place == "folder"
    (told,) = all_.findings
    assert told.left_out and ".claude" in told.path and ".agents" in told.words
    assert told.shadowed_by == one.path
    assert [one.name for one in found(home, folder, trusted=False).skills] == [
        *("three", "four", "one")
    ]  # K-3


def test_k4_a_folders_links_stay_in_it(home: Path, folder: Path, tmp_path: Path) -> None:
    """K-4: a link of the person's own may lead anywhere; one file counts once."""
    skill(tmp_path / "elsewhere", "far")
    (folder / ".agents").mkdir(parents=True)
    (folder / ".agents" / "skills").symlink_to(tmp_path / "elsewhere")
    (home / "skills").mkdir(parents=True)
    (home / "skills" / "far").symlink_to(tmp_path / "elsewhere" / "far")
    (home / ".claude").mkdir()
    (home / ".claude" / "skills").symlink_to(tmp_path / "elsewhere")
    all_ = found(home, folder)
    assert [(one.name, one.place) for one in all_.skills] == [("far", "own")]
    (told,) = all_.findings
    assert "leads out" in told.words


def test_k4_what_is_wrong_is_told(home: Path, folder: Path) -> None:
    """K-4: a bad file spoils no other."""
    place = home / "skills"
    skill(place, "good", "Use when: a colon is there", head="model: x\nlicense: MIT\n")
    skill(place, "Bad_Name")
    skill(place, "nothing", "")
    skill(place, "long", "x" * 1_100)
    skill(place, "other").write_text("---\nname: another\ndescription: d\n---\nDo.")
    (place / "binary").mkdir()
    (place / "binary" / "SKILL.md").write_bytes(b"\0\1")
    all_ = found(home, folder)
    assert [one.name for one in all_.skills] == ["good", "long", "other"]
    good = all_.get("good")
    assert good is not None and good.description == "Use when: a colon is there"
    told = "\n".join(map(str, all_.findings))
    for words in ("no description", "at most 64", "1,024", "calls itself another", "not text"):
        assert words in told
    assert "model" in told and "license" not in told
    assert sum(one.left_out for one in all_.findings) == 3


@pytest.mark.parametrize(
    ("text", "key", "value"),
    [
        ("---\ndescription: plain\n---\nB", "description", "plain"),
        ("\ufeff---\r\ndescription: bom\r\n---\r\nB", "description", "bom"),
        ("---\ndescription: a: b # c\n---\nB", "description", "a: b # c"),
        ("---\ndescription: >\n  two\n  lines\n---\nB", "description", "two lines"),
        ('---\ndescription: "quoted: yes"\n---\nB', "description", "quoted: yes"),
        ("---\ndescription: [unclosed\n---\nB", "description", "[unclosed"),
        ("---\ndescription: 3.10\n---\nB", "description", "3.10"),
        ("---\n- list\n---\nB", "description", ""),
        ("no frontmatter", "description", ""),
        ("---\ndescription: open", "description", ""),
    ],
)
def test_k4_yaml_is_read_leniently(text: str, key: str, value: str) -> None:
    """K-4: what people write, not what a parser takes."""
    assert parse_document(text).text(key) == value


def test_k4_lists_and_switches() -> None:
    """K-4: tools in either form, switches in any spelling."""
    head = "allowed-tools: Bash(git:*, ls), Read\nuser-invocable: no\n"
    one = parse_document(f"---\n{head}---\nB")
    assert one.names("allowed-tools") == ("Bash(git:*, ls)", "Read")
    assert one.on("user-invocable", usual=True) is False
    broken = parse_document("---\na: b: c\nallowed-tools:\n  - Read\n  - Edit\n---\nB")
    assert broken.lenient and broken.names("allowed-tools") == ("Read", "Edit")


def test_k7_commands_have_the_names_of_their_files(home: Path, folder: Path) -> None:
    """K-7: folders before a colon; Codex's prompts; a skill of the name comes first."""
    command(folder / ".agents" / "commands" / "fix.md", "---\ndescription: Fixes\n---\nFix $1.")
    command(folder / ".claude" / "commands" / "web" / "form.md", "# Build a form\n\nNow.")
    command(home / ".codex" / "prompts" / "plan.md", "Plan.")
    command(home / ".claude" / "commands" / "empty.md", "")
    command(home / "commands" / "both.md", "Command.")
    skill(home / "skills", "both")
    all_ = found(home, folder)
    names = [(one.name, one.kind, one.description) for one in all_.found]
    assert names == [
        ("fix", "command", "Fixes"),
        ("web:form", "command", "Build a form"),
        ("both", "skill", "About."),
        ("plan", "command", "Plan."),
    ]
    assert len(all_.findings) == 2 and all(one.left_out for one in all_.findings)


def test_k4_changes_are_seen_and_depth_ends(home: Path, folder: Path) -> None:
    """K-4: 4 deep; a file is read again when it changed."""
    finder = ExtensionFinder(Paths.below(home))
    deep = home / "skills" / "a" / "b" / "c"
    skill(deep, "here")
    skill(deep / "d" / "e", "too-deep")
    assert [one.name for one in finder.read(folder).skills] == ["here"]
    (deep / "here" / "SKILL.md").write_text("---\ndescription: changed\n---\nB")
    assert finder.read(folder).skills[0].description == "changed"
    skill(home / "skills", "manual", head="disable-model-invocation: true\n")
    skill(home / "skills", "hidden", head="user-invocable: false\n")
    now = finder.read(folder)
    assert {one.name for one in now.for_agent(["*"])} == {"here", "hidden"}
    assert {one.name for one in now.for_agent(["here", "manual"])} == {"here"}
    assert {one.name for one in now.by_hand} == {"here", "manual"}


def test_k4_no_more_than_two_thousand_folders_are_looked_through(home: Path, folder: Path) -> None:
    """K-4: what was found before that counts, and the rest is told."""
    skill(home / "skills" / "0000", "first")
    for number in range(1, 2_005):
        (home / "skills" / f"{number:04}").mkdir()
    skill(home / "skills" / "zzzz", "last")
    all_ = found(home, folder)
    assert [one.name for one in all_.skills] == ["first"]
    assert [one.words for one in all_.findings] == ["more than 2,000 folders"]


def test_many_skills_take_no_time(home: Path, folder: Path) -> None:
    """Prints what 500 skills cost; the benchmark is 150 ms cold, 10 ms warm on a quiet computer."""
    for number in range(500):
        skill(home / "skills", f"skill-{number}", f"Does number {number}, when asked: so.")
    finder = ExtensionFinder(Paths.below(home))
    for kind in ("cold", "warm"):
        begun = time.process_time()
        assert len(finder.read(folder).skills) == 500
        print(f"500 skills, {kind}: {(time.process_time() - begun) * 1000:.0f} ms")
    counted = Profile()
    counted.runcall(finder.read, folder)
    calls = sum(one.callcount for one in counted.getstats())
    assert calls < 40 * 500, "no path of a skill is parsed again"
