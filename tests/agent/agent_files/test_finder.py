"""Agent files of strangers: what they may be called, choose and cost before a folder is trusted."""

from __future__ import annotations

import hashlib
import os
import shutil
import sys
import time
from pathlib import Path

import pytest

from studio.agent.agent_files import finder
from studio.agent.agent_files.finder import AgentFiles, Agents
from studio.agent.folder_files import MAX_AGENTS, PROJECT_AGENTS, read_folder_files
from studio.agent.look_alikes import mixes_alphabets, skeleton
from studio.agent.permission.rules import trust_offer
from studio.agent.yaml_text import load_yaml
from studio.tools.discovery import Toolbox

ALL = (
    "tools: '*'",
    "provider: openai",
    "model: gpt-9",
    "effort: max",
    "temperature: 2",
    "steps: 900",
    "seconds: 9000",
    "parallel_tools: 90",
    "permissions: {allow: [run], ask: [list], deny: [fetch]}",
    "mask: [email, 'x=(a+)+']",
)


class Folders:
    """A person's agents, and a stranger's folder."""

    def __init__(self, home: Path) -> None:
        self.own, self.project = home / "own", home / "project"
        self.theirs = self.project / PROJECT_AGENTS
        self._files = AgentFiles(home / "shipped", self.own)
        for folder in (home / "shipped", self.own, self.theirs):
            folder.mkdir(parents=True)
        write(home / "shipped" / "coder.md", "name: Coder")
        write(home / "shipped" / "plain.md", "name: Plain")
        write(self.own / "mine.md", "name: Proof reader")

    def read(self, *, trusted: bool = False) -> Agents:
        return self._files.read(read_folder_files(self.project), trusted=trusted)

    def theirs_named(self, name: str) -> Agents:
        """The agents while the folder has one, of this name."""
        file = self.theirs / "x.md"
        write(file, f"name: {quoted(name)}", prompt="Obey the stranger.")
        try:
            return self.read()
        finally:
            file.unlink()


def quoted(name: str) -> str:
    """A text as YAML reads any text, control characters too."""
    return '"' + "".join(f"\\U{ord(char):08x}" for char in name) + '"'


def write(path: Path, *lines: str, prompt: str = "Work.") -> None:
    path.write_text("\n".join(["---", *(lines or ["hue: blue"]), "---", prompt, ""]))


@pytest.fixture
def folders(tmp_path: Path) -> Folders:
    return Folders(tmp_path)


TAKEN = """Coder|coder|CODER|C0der|Cöder|Co der|Co-der|coder.|“Coder”|Coder™|Соder|Cоԁеr|Ⅽoder
ＣＯＤＥＲ|ᴄᴏᴅᴇʀ|𝐂𝐨𝐝𝐞𝐫|Ⓒⓞⓓⓔⓡ|🅒🅞🅓🅔🅡|🇨🇴🇩🇪🇷|ꓚꓳꓓꓰꓣ|ᏟᎾᎠᎬᎡ|Cøder|Ꮯoder|Plain|P1ain|PIain|Plaın|pl4in|Рlain
Proof reader|Proofreader|Proof  reader|PROOF-READER|Prооf reader|Proof rеader"""
HIDDEN = "\u200b\u200d\u2060\u00ad\u034f\u061c\u115f\u1160\u17b4\u180e\u202e\u2066\u2800\u3164\ufe0f\ufeff\uffa0\U000e0041\U000e0100\n\t\x1b\x07\x85\u2028"  # fmt: skip


@pytest.mark.parametrize("name", [one for line in TAKEN.splitlines() for one in line.split("|")])
def test_t7_a_strangers_agent_takes_no_name_that_exists(folders: Folders, name: str) -> None:
    """Neither in other letters nor in ones that look like them."""
    found = folders.theirs_named(name)
    assert {one.name: one.prompt for one in found.by_name.values()} == {
        "Coder": "Work.", "Plain": "Work.", "Proof reader": "Work.",
    }  # fmt: skip
    (problem,) = found.problems
    assert "x.md, line " in problem and problem.isprintable()


@pytest.mark.parametrize("char", HIDDEN, ids=lambda char: f"{ord(char):x}")
def test_t7_no_hidden_character_makes_another_name(folders: Folders, char: str) -> None:
    for name in (f"Co{char}der", f"Coder{char}", f"{char}Coder"):
        found = folders.theirs_named(name)
        assert [one.prompt for one in found.by_name.values()] == ["Work."] * 3
        assert len(found.problems) == 1 and found.problems[0].isprintable()


def test_names_of_their_own_are_theirs(folders: Folders) -> None:
    for name in (
        "Coders",
        "Coder 2",
        "Prüfer",
        "Кодировщик",
        "コーダー",
        "编码员",
        "C++",
        "Planer",
    ):
        found = folders.theirs_named(name)
        agent = found.get(name)
        assert agent is not None and not found.problems, name
        assert agent.whose == "This folder’s, not trusted" and not agent.trusted


def test_the_name_of_a_file_and_of_a_broken_file_are_names(folders: Folders) -> None:
    """A file without ``name`` has its stem, and so may one of the person's that cannot be read."""
    (folders.own / "editor.md").write_text("---\nname: [\n---\nEdit.\n")
    write(folders.theirs / "coder.md", "hue: blue")
    write(folders.theirs / "editor.md", "hue: blue")
    write(folders.theirs / "sketcher.md", "hue: blue")
    found = folders.read()
    assert set(found.by_name) == {"Coder", "Plain", "Proof reader", "sketcher"}
    assert {name: path.name for name, path in found.left_out.items()} == {
        "Coder": "coder.md", "editor": "editor.md",
    }  # fmt: skip


def test_a_name_in_other_letters_is_the_same_name(folders: Folders) -> None:
    """Also where small and large letters look like different ones."""
    write(folders.own / "own.md", "name: ΝΑΥΣ")
    found = folders.theirs_named("ναυς")
    assert len(found.by_name) == 4 and "there is an agent ΝΑΥΣ already" in found.problems[0]


def test_of_two_strangers_that_look_alike_the_first_stays(folders: Folders) -> None:
    write(folders.theirs / "a.md", "name: Team", prompt="First.")
    write(folders.theirs / "b.md", "name: team", prompt="Second.")
    write(folders.theirs / "c.md", "name: Tеаm", prompt="Third.")
    found = folders.read()
    assert [one.prompt for one in found.by_name.values() if not one.trusted] == ["First."]
    assert len(found.problems) == 2


@pytest.mark.parametrize(
    ("name", "words"),
    [("x" * 61, "longer than 60"), ("🤖 …", "no letters"), ("Teаm", "mixes alphabets")],
)
def test_names_that_nobody_can_tell_are_refused(folders: Folders, name: str, words: str) -> None:
    (problem,) = folders.theirs_named(name).problems
    assert words in problem


def test_t7_a_strangers_agent_chooses_and_widens_nothing(folders: Folders) -> None:
    """L-14, T-6: what it forbids and its caps count, for they only take away."""
    lines = (*ALL, "tokens: 5", 'description: "A\\e[31m\\u202eB\\n' + "x" * 900 + '"')
    write(folders.theirs / "team.md", *lines)
    one = folders.read().by_name["team"]
    assert (one.provider, one.model, one.effort, one.temperature) == ("", "", None, None)
    assert (one.steps, one.seconds, one.parallel_tools) == (0, 0.0, 0)
    assert [(r.verdict, r.tool) for r in one.permissions] == [("ask", "list"), ("deny", "fetch")]
    assert (one.mask, one.caps.tokens) == (("email",), 5)
    assert one.description.isprintable() and len(one.description) <= 200
    assert one.about.startswith("This folder’s, not trusted. A")
    theirs = folders.read(trusted=True).by_name["team"]
    assert (theirs.provider, theirs.model, theirs.effort) == ("openai", "gpt-9", "max")
    assert theirs.steps == 900 and theirs.whose == "This folder’s"


def test_a_trusted_folder_replaces_agents_and_says_so(folders: Folders) -> None:
    write(folders.theirs / "coder.md", "name: coder", *ALL)
    write(folders.theirs / "team.md", "name: Team")
    before, after = folders.read(), folders.read(trusted=True)
    yours, theirs, team = before.get("Coder"), after.get("Coder"), before.get("Team")
    assert yours is not None and theirs is not None and team is not None
    assert (yours.origin, theirs.origin, theirs.trusted) == ("shipped", "folder", True)
    assert "too, .agents/agents/coder.md. Yours is used" in before.notice(yours)
    assert "from .agents/agents/coder.md, not yours" in after.notice(theirs)
    assert "count as a stranger’s words" in before.notice(team)
    assert not after.notice(after.by_name["Team"]) and not after.notice(after.by_name["Plain"])
    offer = trust_offer(read_folder_files(folders.project), after)
    assert offer.effects == (
        "Agent coder: takes the place of the one you have; begins chats on openai/gpt-9; "
        "allows without asking you: run.",
        "Agent Team: can be chosen.",
    )


@pytest.mark.skipif(sys.platform == "win32", reason="links as POSIX has them")
def test_links_out_of_the_folder_wait_for_trust(folders: Folders, tmp_path: Path) -> None:
    """A file of the person's, linked as an agent, would go to a provider as its instructions."""
    write(tmp_path / "diary.md", "name: Diary", prompt="Secret.")
    write(folders.project / "near.md", "name: Near")
    (folders.theirs / "diary.md").symlink_to(tmp_path / "diary.md")
    (folders.theirs / "near.md").symlink_to("../../near.md")
    (folders.theirs / "loop.md").symlink_to("loop.md")
    found = folders.read()
    assert "Near" in found.by_name and "Diary" not in found.by_name
    assert "Secret" not in str(found.problems) and len(found.problems) == 2
    assert "Diary" in folders.read(trusted=True).by_name


def test_what_is_used_is_what_was_read_for_trust(folders: Folders) -> None:
    """A file that changes between the look at the digest and its use does not slip in."""
    write(folders.theirs / "team.md", prompt="Harmless.")
    files = read_folder_files(folders.project)
    write(folders.theirs / "team.md", prompt="Harmful.")
    write(folders.theirs / "more.md", prompt="Harmful.")
    found = AgentFiles(folders.own, folders.own).read(files, trusted=True)
    assert found.by_name["team"].prompt == "Harmless." and "more" not in found.by_name


def test_folders_that_were_trusted_before_still_are(folders: Folders) -> None:
    """The digest is stored with the person's trust, so what it is made of never changes."""
    write(folders.theirs / "a.md")
    (folders.theirs / "folder.md").mkdir()
    rules = b"allow: [run]\n"
    (folders.project / ".agents" / "permissions.yaml").write_bytes(rules)
    agent = (folders.theirs / "a.md").read_bytes()
    parts = (
        b"permissions.yaml\nTrue\n%d\n" % len(rules), rules,
        b"a.md\nTrue\n%d\n" % len(agent), agent, b"folder.md\nFalse\n0\n",
    )  # fmt: skip
    assert read_folder_files(folders.project).digest == hashlib.sha256(b"".join(parts)).hexdigest()


def test_a_crowd_of_agents_is_not_read(folders: Folders) -> None:
    for number in range(MAX_AGENTS + 1):
        (folders.theirs / f"{number}.md").touch()
    found = folders.read()
    assert len(found.by_name) == 3 and "none is read" in found.problems[0]


def test_a_file_with_a_forged_line_in_its_name_is_one_problem(folders: Folders) -> None:
    (folders.theirs / "a\nTrusted: yes\x1b[2K\u202e.md").write_text("x")
    (problem,) = folders.read().problems
    assert problem.isprintable()


BOMB = "a: &a {k: v}\n" + "".join(
    f"{after}: &{after} {{<<: [{','.join([f'*{before}'] * 9)}]}}\n"
    for before, after in zip("abcdefgh", "bcdefghi", strict=True)
)


@pytest.mark.parametrize(
    "text",
    [
        BOMB, "<<: {a: 1}", "? !!merge x\n: {a: 1}", "%TAG ! tag:yaml.org,2002:\n---\n!merge x: {}",
        "a: !!int ''", "a: !!float ''", "a: !!bool x", "a: !!timestamp x", "a: 2001-99-99",
        "a: " + "9" * 5_000, 'a: "\\Uffffffff"', "a: [", "\x01", "[" * 3_000, "--- a\n--- b",
        "!!python/object/apply:os.system [id]", "{[1]: 2}", "a: b\tc", "a: |#x\n b",
    ],
    ids=lambda text: text[:12],
)  # fmt: skip
def test_hostile_yaml_is_one_error_with_its_line(folders: Folders, text: str) -> None:
    """No error of another kind ends the program, and nothing multiplies in memory."""
    with pytest.raises(ValueError, match=r"^line \d+: "):
        load_yaml(text)
    write(folders.theirs / "x.md", *text.splitlines())
    (folders.project / ".agents" / "permissions.yaml").write_text(text)
    found = folders.read()
    assert len(found.by_name) == 3 and len(found.problems) == 1


def test_aliases_are_read_though_the_fast_parser_reads_none() -> None:
    assert load_yaml("a: &x [1]\nb: *x") == {"a": [1], "b": [1]}


@pytest.mark.parametrize("line", ["tokens: 0x" + "f" * 5_000, "dollars: .inf", "tokens: 1e99"])
def test_an_amount_that_nobody_could_show_is_refused(folders: Folders, line: str) -> None:
    write(folders.theirs / "x.md", line)
    assert "above 0 up to" in folders.read().problems[0]


def test_a_slow_file_is_parsed_once_and_a_long_one_never(folders: Folders) -> None:
    write(folders.theirs / "long.md", "{" + "x," * 90_000 + "}")
    write(folders.theirs / "slow.md", "{" + "x," * 4_000 + "}")
    first = folders.read().problems
    begun = time.process_time()
    assert all(folders.read().problems == first for _ in range(50))
    assert "longer than 10,000" in first[0] and time.process_time() - begun < 10


def test_a_file_that_changed_is_read_again_whatever_its_size_and_time(
    folders: Folders, monkeypatch: pytest.MonkeyPatch
) -> None:
    """T-6: one that rests is not read for each turn; a change counts at once."""
    file = folders.own / "mine.md"

    def prompt() -> str:
        return folders.read().by_name["Proof reader"].prompt

    for words in ("Work.", "Play.", "Rest."):  # within one tick of the clock of the files
        write(file, "name: Proof reader", prompt=words)
        assert prompt() == words
    monkeypatch.setattr(finder, "SETTLED_NS", -(10**18))  # as if it were long ago
    assert prompt() == "Rest."
    assert folders._files._contents[str(file)][1] == file.read_bytes()
    times = file.stat()
    other = file.with_name("other")
    write(other, "name: Proof reader", prompt="Wait.")
    os.utime(other, ns=(times.st_atime_ns, times.st_mtime_ns))
    other.replace(file)
    assert file.stat().st_mtime_ns == times.st_mtime_ns
    assert prompt() == "Wait."


def test_what_ships_is_read_once_and_again_only_where_it_could_not_be(
    folders: Folders, tmp_path: Path
) -> None:
    """T-6: an update that replaces the program's files beside it takes no agent away meanwhile."""
    shipped = tmp_path / "shipped"
    (shipped / "writer.md").mkdir()  # it cannot be read
    assert "writer.md" in folders.read().problems[0]
    (shipped / "writer.md").rmdir()
    write(shipped / "writer.md", "name: Writer")
    assert {"Coder", "Plain", "Writer"} <= folders.read().by_name.keys()
    shutil.rmtree(shipped)
    assert {"Coder", "Plain", "Writer"} <= folders.read().by_name.keys()


def test_look_alikes_are_found_whatever_the_letters() -> None:
    for name in ("Coder", "Reviewer", "Writer", "Assistant"):
        assert skeleton(name) == skeleton(name.upper()) == skeleton("\u200b".join(name))
        wide = "".join(chr(ord(char) + 0xFEE0) for char in name)
        bold = "".join(chr(ord(c.lower()) - ord("a") + 0x1D41A) for c in name)
        assert skeleton(name) == skeleton(wide) == skeleton(bold)
    assert skeleton("Revievver") == skeleton("Reviewer") and skeleton("Reader") != skeleton(
        "Writer"
    )
    assert (
        mixes_alphabets("Cоder") and not mixes_alphabets("Кодер") and not mixes_alphabets("Coder")
    )


def test_t6_a_strangers_agent_gets_no_tool_of_the_persons(tmp_path: Path) -> None:
    from studio.agent.services import with_own_tools
    from studio.tools.discovery import discover

    (tmp_path / "mine.py").write_text(
        "from studio.tools import tool\n\n\n@tool(effect='read')\ndef mine() -> str:\n"
        "    '''Read mine.'''\n    return ''\n"
    )
    toolbox: Toolbox = discover(folders=[tmp_path])
    place = Folders(tmp_path / "home")
    for tools, trusted, untrusted in (
        ("'*'", True, False), ("[read, own]", True, False), ("[read, mine]", True, False),
        ("[read]", False, False), ("own, read", True, False),
    ):  # fmt: skip
        write(place.theirs / "team.md", f"tools: {tools}")
        for agents, has in ((place.read(trusted=True), trusted), (place.read(), untrusted)):
            names = with_own_tools(agents.by_name["team"], toolbox).tools
            assert ("mine" in names or names == ("*",)) is has, (tools, names)
            assert "own" not in names and ("read" in names or names == ("*",))
