"""Rows of tool calls: what is shown of an output, and the way to the rest of it."""

from __future__ import annotations

from PySide6.QtCore import Qt
from PySide6.QtGui import QAccessible, QImage

from studio.domain.blocks import AgentBlock, TextBlock, UserBlock
from studio.domain.events import (
    Failed,
    Notice,
    StepEnded,
    TextDelta,
    ToolFinished,
    ToolOutput,
    ToolQueued,
    ToolStarted,
    TurnComplete,
)
from studio.domain.messages import Text
from studio.domain.models import Usage
from studio.tools.sdk.result import shorten
from studio.ui.transcript.items.tool_item import MOST_ROWS
from studio.ui.transcript.text.table_leaf import TableLeaf
from support.transcript_window import TranscriptWindow, shown

__all__ = ["shown"]

LINES = "\n".join(f"line {n}" for n in range(200))


def texts(shown: TranscriptWindow) -> str:
    return "\n".join(leaf.text for leaf in shown.view.canvas.items[-1].leaves)


def opened(shown: TranscriptWindow) -> None:
    shown.view.canvas_viewport.focus_on(len(shown.view.canvas.items) - 1)
    shown.key(Qt.Key.Key_Right)


def test_what_a_command_printed_is_shown_from_its_end(shown: TranscriptWindow) -> None:
    shown.ask()
    shown.tell(
        ToolQueued("c1", "run", {}, "make", "act", "Running", "Ran", "terminal"),
        ToolStarted("c1"),
        ToolOutput("c1", LINES),
    )
    opened(shown)
    assert texts(shown).split("\n")[-1] == "line 199" and "line 100" not in texts(shown)
    shown.tell(ToolFinished("c1", LINES, True, 14.2, "exit 1"))
    assert texts(shown).split("\n")[-1] == "line 199" and "line 100" not in texts(shown)
    assert any("earlier lines" in hit.text for hit in shown.view.canvas.items[-1].hits)
    shown.view.canvas_viewport.scroll_to(0)
    shown.click("show_all")
    assert texts(shown) == LINES


def test_what_was_read_is_shown_from_its_beginning(shown: TranscriptWindow) -> None:
    shown.ask()
    shown.tell(
        ToolQueued("c1", "read", {}, "a.txt", "read", "Reading", "Read", "file-text"),
        ToolStarted("c1"),
        ToolFinished("c1", LINES, False, 0.1),
    )
    opened(shown)
    assert texts(shown).startswith("line 0\n") and "line 199" not in texts(shown)


def test_a_shortened_output_can_be_opened_whole(shown: TranscriptWindow, tmp_path: object) -> None:
    cut = shorten("x\n" * 40_000, 30_000, tmp_path)  # type: ignore[arg-type]
    (file,) = tmp_path.iterdir()  # type: ignore[attr-defined]
    wanted: list[str] = []
    shown.view.item_actions.output_opened.connect(wanted.append)
    shown.ask()
    shown.tell(
        ToolQueued("c1", "run", {}, "make", "act", "Running", "Ran", "terminal"),
        ToolStarted("c1"),
        ToolFinished("c1", cut, False, 1.0, "exit 0"),
    )
    opened(shown)
    shown.view.canvas_viewport.scroll_to_end()
    shown.click("open_output")
    assert wanted == [file.name]


def test_a_turn_that_was_cut_off_can_be_continued(shown: TranscriptWindow) -> None:
    """Where it was stopped, where the program ended, where the connection did."""
    wanted: list[str] = []
    shown.view.item_actions.recovery_wanted.connect(wanted.append)
    notice = "The program ended during this turn. You can go on from here."
    for ends in (
        (TurnComplete("cancelled"),),
        (TurnComplete("error", "The program ended during this turn."), Notice(notice)),
        (Failed("network", "The connection broke off.", ""), TurnComplete("error")),
    ):
        shown.ask()
        shown.tell(TextDelta("Half of"), *ends)
        last = shown.view.canvas.items[-1]
        words = [hit.text for hit in last.hits]
        assert words[0] == "Continue" and "Try again" not in words
        shown.click(last.hits[0].action)
        shown.ask()
        assert not last.hits
    assert wanted == ["go_on", "go_on", "go_on"]
    shown.tell(Failed("network", "It cannot be reached.", ""), TurnComplete("error"))
    assert shown.view.canvas.items[-1].hits[0].text == "Try again"  # nothing came yet


def test_something_moves_until_the_first_word_and_counts_seconds(shown: TranscriptWindow) -> None:
    """From Send on, and again after each call, until something of the turn is to be seen."""
    viewport, now = shown.view.canvas_viewport, [1000.0]
    shown.view.context.now = lambda: now[0]

    def line() -> QImage:
        return shown.view.viewport().grab(viewport.work_line.toAlignedRect()).toImage()

    empty = line()
    shown.view.set_sending(True)
    shown.view.flush()
    shown.view.theme.set(still=True)  # only the words change now
    first = line()
    assert first != empty
    now[0] += 4.5
    assert line() != first
    room = shown.view.canvas.total - shown.view.canvas.bottom
    shown.ask()
    assert viewport.working_since == 1000.0  # it goes on counting
    shown.tell(TextDelta("A word"))
    assert viewport.working_since is None
    queued = ToolQueued("c1", "run", {}, "make", "act", "Running", "Ran", "terminal")
    shown.tell(queued, ToolStarted("c1"))
    assert viewport.working_since is None  # its row has a clock
    shown.tell(ToolFinished("c1", "x", False, 1.0, "exit 0"))
    assert viewport.working_since == now[0]
    shown.view.set_sending(False)
    shown.tell(TurnComplete("done"))
    assert viewport.working_since is None
    assert shown.view.canvas.total - shown.view.canvas.bottom == room  # so nothing jumped


def test_last_words_in_the_frame_of_their_end_are_followed_by_a_sign_of_work(
    shown: TranscriptWindow,
) -> None:
    """G-3: a hook may run for a minute then, in which no event comes."""
    viewport = shown.view.canvas_viewport
    shown.ask()
    shown.tell(TextDelta("Some words"))
    shown.tell(TextDelta(" and more"))
    assert viewport.working_since is None
    shown.tell(TextDelta(" of them"), StepEnded(1, "end", Usage(), 1.0))
    text = shown.transcript.blocks[-1]
    assert isinstance(text, TextBlock) and not text.live
    assert viewport.working_since is not None


def test_a_message_stands_where_it_stays_before_its_turn_begins(shown: TranscriptWindow) -> None:
    """G-1: nothing jumps when the turn begins, in a new chat and at the end of a long one."""
    view = shown.view
    view.theme.set(still=True)
    view.context.now = lambda: 1000.0
    for turn in range(9):
        outgoing = (
            UserBlock("", (Text("Hello\n\nthere"),)),
            AgentBlock("", "Coder", "p", "Model"),
        )
        view.set_sending(True, outgoing)
        view.flush()
        before, line = view.viewport().grab().toImage(), view.canvas_viewport.work_line
        assert view.canvas.total - view.scroller.value >= view.scroller.height or turn < 3
        view.context.outgoing = ()
        shown.ask("Hello\n\nthere")
        assert view.canvas_viewport.work_line == line
        assert view.viewport().grab().toImage() == before
        view.set_sending(False)
        shown.tell(TextDelta("An answer."), TurnComplete("done"))
        assert view.canvas_viewport.outgoing is None


def test_a_text_that_was_waited_with_is_shown_whole_when_it_ends(shown: TranscriptWindow) -> None:
    """G-1: bars that become no table after all."""
    shown.ask()
    shown.tell(TextDelta("Words.\n\n| a"))
    item = shown.view.canvas.items[-1]
    assert [leaf.text for leaf in item.leaves] == ["Words."]
    shown.tell(Notice("Something else."))
    assert [leaf.text for leaf in item.leaves] == ["Words.", "| a"]
    shown.tell(TextDelta("| b"), TurnComplete("done"))
    assert [leaf.text for leaf in shown.view.canvas.items[-1].leaves] == ["| b"]


def test_m11_rows_of_a_result_are_a_table(shown: TranscriptWindow) -> None:
    """Read to a screen reader and copied as any; what the model read is shown by a key."""
    table = (("tag", "size"), *((f"v{n}", str(n * 10)) for n in range(50)))
    shown.ask()
    shown.tell(
        ToolQueued("c1", "shop__list", {}, "", "act", "shop: list", "shop: list", "plug"),
        ToolStarted("c1"),
        ToolFinished("c1", "[all of it]", False, 0.1, "50 rows", table=table),
    )
    opened(shown)
    item = shown.view.canvas.items[-1]
    rows = texts(shown).split("\n")
    assert rows[0] == "tag\tsize" and rows[-1] == f"v{MOST_ROWS - 1}\t{MOST_ROWS * 10 - 10}"
    leaf = item.leaves[0]
    assert isinstance(leaf, TableLeaf) and len(leaf.layouts()) == 2 * (MOST_ROWS + 1)
    seen = QAccessible.queryAccessibleInterface(shown.view)
    read = seen.child(seen.childCount() - 1).textInterface().text(0, -1)
    assert "tag, size\nv0, 0\nv1, 10\n" in read and "all of it" not in read
    (more,) = [hit for hit in item.stops(shown.view.canvas.context) if hit.action == "show_all"]
    assert more.text == "Show 30 more rows"
    shown.view.canvas_viewport.scroll_to(10_000)
    shown.click("show_all")
    assert texts(shown).split("\n")[-2:] == ["v49\t490", "[all of it]"]
    few = (("tag",), ("v1",))
    shown.tell(TurnComplete("done"))
    shown.ask()
    shown.tell(ToolQueued("c2", "shop__list", {}, "", "act", "shop: list", "shop: list", "plug"))
    shown.tell(ToolStarted("c2"), ToolFinished("c2", "v1", False, 0.1, "1 row", table=few))
    opened(shown)
    assert "Show the text" in [hit.text for hit in shown.view.canvas.items[-1].hits]
