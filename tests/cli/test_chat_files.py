"""Files that a message of a chat names after @ (H-2, S-5)."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from prompt_toolkit.completion import CompleteEvent
from prompt_toolkit.document import Document

from studio.cli.chat.completion import ChatCompleter
from studio.cli.chat.mentions import MentionMessage, attach_mentions, open_mention
from studio.domain.errors import ConfigurationError
from studio.domain.messages import File, Image
from studio.simulator import Text, Turn, stall
from support.command import at_provider
from support.engine_home import reply_requests
from support.sample_files import picture
from support.terminal_emulator import TerminalEmulator, at_terminal

BASE = ("chat", "--provider", "ollama", "--model", "m")
PDF = b"%PDF-1.4\n%%EOF\n"


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A chat's folder, and a file beside it."""
    place = tmp_path / "work"
    (place / "src").mkdir(parents=True)
    (place / "notes.txt").write_text("Buy milk\n")
    (place / "my notes.txt").write_text("Buy bread\n")
    (place / "Makefile").write_text("all:\n")
    (place / "src" / "app.py").write_text("x = 1\n")
    (place / "shot.png").write_bytes(picture())
    (place / "plan.pdf").write_bytes(PDF)
    (tmp_path / "secret.txt").write_text("secret\n")
    return place


async def test_every_kind_of_file_goes_along(folder: Path) -> None:
    text = "Read @notes.txt, (and) @src/app.py: @shot.png\n@plan.pdf @my\\ notes.txt @./Makefile!"
    message = await attach_mentions(text, folder)
    assert message.text == text
    names = ["notes.txt", "src/app.py", "shot.png", "plan.pdf", "my notes.txt", "./Makefile"]
    assert list(message.files) == names
    assert message.files["notes.txt"] == File("notes.txt", "text/plain", b"Buy milk\n")
    assert isinstance(message.files["shot.png"], Image)
    assert message.files["plan.pdf"] == File("plan.pdf", "application/pdf", PDF)
    assert message.attached.startswith("notes.txt (9 bytes), src/app.py (6 bytes), shot.png (")


async def test_a_file_goes_along_once(folder: Path) -> None:
    (folder / "same.txt").symlink_to(folder / "notes.txt")
    message = await attach_mentions("@notes.txt @./notes.txt @same.txt @notes.txt.", folder)
    assert list(message.files) == ["notes.txt"]


@pytest.mark.parametrize(
    "text",
    [
        "ada@notes.txt",
        "@property\ndef size(self): ...",
        "@functools.cache",
        '@app.get("/notes.txt")',
        "@dataclass(frozen=True)",
        "@Override",
        "npm install @angular/core @types/node@22.1",
        'import a from "@notes.txt"',
        "@@ -1,3 +1,4 @@",
        "@",
        "@ notes.txt",
        "look into @src and @src/ and @. and @..",
        "print \\@list, \\@",
        "@\0 @" + "x" * 5000,
    ],
)
async def test_what_names_no_file_stays_text(folder: Path, text: str) -> None:
    assert await attach_mentions(text, folder) == MentionMessage(text)


async def test_the_mark_makes_text_of_a_name(folder: Path) -> None:
    for name in ("notes.txt", "gone.txt", "../secret.txt", "my\\ notes.txt"):
        assert await attach_mentions(f"say \\@{name}", folder) == MentionMessage(f"say @{name}")


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("gone.txt", "There is no file gone.txt in .*To send it as text: \\\\@gone.txt"),
        ("./Makefil", "There is no file ./Makefil in "),
        ("~nobody/../x.md", "There is no file "),
        ("../secret.txt", "outside of .*/attach ../secret.txt"),
        ("link.txt", "outside of "),
        ("/etc/passwd", "outside of .*/attach /etc/passwd"),
        ("pipe", "pipe is not an ordinary file."),
        ("long.txt", "long.txt has 21 MB; 20 MB is the most for one file."),
        ("a.zip", "a.zip is an archive and cannot be attached."),
        ("empty.txt", "empty.txt is empty."),
    ],
)
async def test_what_cannot_go_along_is_said(folder: Path, name: str, words: str) -> None:
    (folder / "link.txt").symlink_to(folder.parent / "secret.txt")
    os.mkfifo(folder / "pipe")
    (folder / "a.zip").write_bytes(b"PK\3\4\0")
    (folder / "empty.txt").touch()
    with (folder / "long.txt").open("wb") as file:
        file.truncate(21_000_000)
    with pytest.raises(ConfigurationError, match=f"(?s){words}"):
        await attach_mentions(f"Read @{name}", folder)


async def test_no_more_is_read_than_one_message_takes(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("studio.agent.attachments.MAX_MESSAGE_BYTES", 15)
    (folder / "a.zip").write_bytes(b"PK\3\4\0")
    with pytest.raises(ConfigurationError, match="The files have 19 bytes together"):
        await attach_mentions("@notes.txt @my\\ notes.txt @a.zip", folder)


def test_what_tab_offers_can_be_attached(folder: Path) -> None:
    completions = ChatCompleter(dict, lambda _: (), lambda: folder)

    def offered(text: str) -> list[str]:
        return [
            text[: len(text) + one.start_position] + one.text
            for one in completions.get_completions(Document(text), CompleteEvent())
        ]

    assert offered("see @no") == ["see @notes.txt"]
    assert offered("see @my") == offered("see @my\\ no") == ["see @my\\ notes.txt"]
    assert offered("@s") == ["@shot.png", "@src/"] and offered("@src/") == ["@src/app.py"]
    for text in ("a@no", "@../", "@/etc/", "@~/", "\\@no", "@no "):
        assert offered(text) == [], text
    assert open_mention("@a" + "\\ @" * 1_000_000) is not None  # at once


def test_tab_offers_agents_where_a_message_begins(folder: Path) -> None:
    agents = [("Writer", "Writes"), ("Deep Researcher", "Looks"), ("src", "Sources")]
    completions = ChatCompleter(dict, lambda _: agents, lambda: folder)

    def offered(text: str) -> list[str]:
        return [
            text[: len(text) + one.start_position] + one.text
            for one in completions.get_completions(Document(text), CompleteEvent())
        ]

    assert offered("@wr") == ["@Writer"] and offered("@Deep\\ r") == ["@Deep\\ Researcher"]
    assert offered("@s") == ["@src", "@shot.png", "@src/"]
    for text in ("see @wr", "\\@wr", "a\n@wr", "@Writer @wr"):
        assert offered(text) == [], text


async def test_an_agent_named_first_answers_one_message(tmp_path: Path) -> None:
    """``@agent`` means the same in the terminal as in the window."""
    script = [Turn(Text(f"Answer {number}."), stop="end") for number in (1, 2)]
    async with at_provider(tmp_path, "ollama", script) as (terminal, simulator):
        agents = terminal.folder / ".agents" / "agents"
        agents.mkdir(parents=True)
        (agents / "poet.md").write_text("---\nname: Poet\n---\nYou rhyme.\n")
        async with at_terminal(terminal, *BASE) as person:
            await person.until("›")
            person.type("@Poet a line\r")
            text = await person.until("Answer 1.")
            assert "Poet answers this message.\n" in text
            await person.until(lambda glass: "/help" in glass.shown[-1])
            person.type("and then\r")
            assert (await person.until("Answer 2.")).count("answers this message.") == 1
            person.type("\x04")
            assert await person.end() == 0
        first, then = (str(one.json["messages"]) for one in reply_requests(simulator))
        assert "You rhyme." in first and "software engineer" not in first
        assert "software engineer" in then


async def test_a_chat_attaches_what_its_messages_name(tmp_path: Path) -> None:
    """One line says what; a wrong name brings the words back; so does a stop, as they were typed."""
    script = [
        Turn(Text("I see it."), stop="end"),
        Turn(Text("This answer never ends. " * 20), faults=[stall(at=6)]),
        Turn(Text("Once more."), stop="end"),
    ]
    async with at_provider(tmp_path, "ollama", script) as (terminal, simulator):
        (terminal.folder / "a.txt").write_text("alpha\n")
        (terminal.folder / "b.txt").write_text("beta\n")

        def at_rest(glass: TerminalEmulator) -> bool:
            return "/help" in glass.shown[-1]

        async with at_terminal(terminal, *BASE) as person:
            await person.until("›")
            person.type("look at @./a.tx\r")
            await person.until(lambda glass: any("There is no file" in one for one in glass.shown))
            person.type("t\r")  # the cursor is where it was
            text = await person.until("I see it.")
            assert "Attached: ./a.txt (6 bytes)\n" in text and "› look at @./a.txt\n" in text
            await person.until(at_rest)
            person.type("on\r")
            await person.until("This answer never ends.")
            person.type("then @b.txt and \\@a.txt\r")
            await person.until("Queued: then")
            person.type("and this\r")
            await person.until("Queued: and this")
            person.type("\x03")
            await person.until("Stopped.")
            await person.until(lambda glass: "› then @b.txt and \\@a.txt" in glass.shown[-4:])
            person.type("\r")
            text = await person.until("Once more.")
            assert text.count("Attached: b.txt (5 bytes)\n") == 2
            person.type("\x04")
            assert await person.end() == 0
        first, _, last = (str(one.json["messages"][-1]) for one in reply_requests(simulator))
        assert "alpha" in first and "look at @./a.txt" in first
        assert last.count("beta") == 1 and "alpha" not in last
        assert "then @b.txt and @a.txt\\nand this" in last
        assert not simulator.violations
