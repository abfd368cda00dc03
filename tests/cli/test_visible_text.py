"""What a model, a provider or a file called something shows at a terminal as what it is (S-5)."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import pytest

from studio.agent.permission.invisible_characters import visible
from studio.cli.console import Console, visible_line, visible_lines
from studio.cli.event_printer import TextPrinter
from studio.domain.events import Failed, Notice, Routed, TextDelta, TurnComplete
from studio.simulator import Call, Text, Turn
from support.command import at_provider
from support.engine_home import engine_home, say
from support.terminal_emulator import at_terminal

TITLE = "\x1b]0;owned\x07"
FORGED = "a\ndeadbeef  2026-01-01 00:00  waiting    write   safe.txt"
SHOWN = {
    "colour": ("\x1b[31mred", "\\x1b[31mred"),
    "title": (TITLE, "\\x1b]0;owned\\x07"),
    "one byte": ("\x9b2J", "\\x9b2J"),
    "back": ("a\rb\x08\x7f", "a\\x0db\\x08\\x7f"),
    "right to left": ("a\u202etxt.exe", "a\\u202etxt.exe"),
    "isolates": ("\u2066a\u2069\u200f\u061c", "\\u2066a\\u2069\\u200f\\u061c"),
    "no width": ("a\u200bb\ufeff\u2060", "a\\u200bb\\ufeff\\u2060"),
    "separators": ("a\u2028b\u2029", "a\\u2028b\\u2029"),
    "tags": ("a\U000e0041", "a\\U000e0041"),
    "blank letters": ("a\u3164\uffa0\u2800", "a\\u3164\\uffa0\\u2800"),
    "other scripts": ("می‌خواهم 👩‍💻 ✔️ Größe", "می‌خواهم 👩‍💻 ✔️ Größe"),
}


@pytest.mark.parametrize("kind", SHOWN)
def test_what_nobody_sees_is_shown(kind: str) -> None:
    text, shown = SHOWN[kind]
    assert visible(text) == visible_line(text) == visible_lines([text]) == shown


def test_a_line_break_makes_no_other_line_of_the_program() -> None:
    assert visible_line("a\nb") == "a\\nb"
    assert visible_lines(["Written: a\nDiscarded: b", "c"]) == "Written: a\n  │ Discarded: b\nc"


def test_a_pipe_gets_the_answer_as_it_is_and_the_rest_in_visible_form(
    capsys: pytest.CaptureFixture[str],
) -> None:
    printer = TextPrinter(Console())
    printer.event(TextDelta("one\x1b[31m\ntwo\n"))
    printer.event(Notice(f"Saved {TITLE}"))
    printer.event(Routed("inline", "p", "m", "why\nWritten: b"))
    printer.event(Failed("internal", "Wrong.", "detail\x9b\nWritten: c"))
    printer.event(TurnComplete("refused", "other"))
    console = Console()
    console.row(FORGED)
    console.write_json({"path": "a\x7f\u202e\x1b\n"})
    told = capsys.readouterr()
    answer, row, value = told.out.split("\n", 2)[0], *told.out.splitlines()[2:]
    assert answer == "one\x1b[31m"
    assert row == FORGED.replace("\n", "\\n")
    assert value.isprintable() and json.loads(value) == {"path": "a\x7f\u202e\x1b\n"}
    assert told.err.splitlines() == [
        "Saved \\x1b]0;owned\\x07",
        "why",
        "  │ Written: b",
        "Wrong. detail\\x9b",
        "  │ Written: c",
        "The model declined to answer.",
    ]


async def test_a_path_forges_no_row_and_no_code_reaches_a_list(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Every list and report, whose output is no terminal here."""
    evil = f"{FORGED}{TITLE}\u202e"
    script = [
        Turn(Call("write", {"path": evil, "content": f"x{TITLE}\n"}), Call("read", {"path": evil})),
        Turn(Text("Done.")),
    ]
    async with engine_home(tmp_path, "openai-compatible", script) as home:
        session = await home.session()
        await say(session)
        await session.change(title=f"T{TITLE}\nforged")
        (draft,) = await home.engine.store.drafts()
        rule = f"run(ls{TITLE}\n deadbeef)"
        commands = [
            ("drafts", "list"),
            ("drafts", "show", draft.draft_id),
            ("sessions", "list"),
            ("audit",),
            ("permissions", "add", rule),
            ("permissions", "list"),
            ("permissions", "test", rule),
            ("usage", "--by", "session"),
            ("agents", "list"),
            ("drafts", "discard", draft.draft_id),
            ("drafts", "approve", draft.draft_id),
            ("sessions", "show", f"x{evil}"),
            ("drafts", "list", "--json"),
        ]
        capsys.readouterr()
        for words in commands:
            await home.command(*words)
            told = capsys.readouterr()
            for line in (told.out + told.err).splitlines():
                assert not set(line) & set("\x1b\x07\u202e\x9b"), words
                assert not line.startswith(("deadbeef", "forged")), words
            if words == ("drafts", "list"):
                assert told.out.count("\n") == 1 and "a\\ndeadbeef" in told.out


@pytest.mark.skipif(sys.platform == "win32", reason="pseudo terminals are POSIX")
async def test_hostile_text_at_a_real_terminal(tmp_path: Path) -> None:
    """An answer, a path and a question: no code is obeyed, and no row is forged."""
    evil = f"{FORGED}{TITLE}"
    turns = iter(
        [
            Turn(Call("write", {"path": evil, "content": f"x{TITLE}\n"})),
            Turn(Text(f"An{TITLE}swer\x1b[2J\u202e done.")),
        ]
    )
    async with at_provider(tmp_path, "ollama", lambda _: next(turns)) as (terminal, _):
        command = ("run", "--provider", "ollama", "--model", "m", "Go")
        async with at_terminal(terminal, *command, columns=200) as person:
            await person.until("An\\x1b]0;owned\\x07swer\\x1b[2J\\u202e done.")
            await person.until("[d]iscard:")
            person.type("n\r")
            await person.end()
            assert person.glass.titles == []
            assert "\x1b[2J" not in person.raw and "\u202e" not in person.raw
            assert not any(line.startswith("deadbeef") for line in person.glass.text.split("\n"))
        async with at_terminal(terminal, "drafts", "list", columns=200) as person:
            await person.end()
            rows = [line for line in person.glass.text.split("\n") if line.strip()]
            assert len(rows) == 1 and "a\\ndeadbeef" in rows[0] and "\\x1b]0;owned\\x07" in rows[0]
            assert person.glass.titles == []
