"""The transcript's plain parts: heights, items, rows, words."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from studio.agent.loop.user_messages import describe_end
from studio.domain.blocks import (
    AgentBlock,
    DraftBlock,
    EndBlock,
    FailureBlock,
    TextBlock,
    ToolBlock,
    UserBlock,
)
from studio.domain.drafts import FileDraft
from studio.domain.events import Failed, TextDelta, TurnComplete
from studio.domain.messages import Text
from studio.domain.permissions import Question, Rule
from studio.domain.questions import AskedQuestion
from studio.ui.transcript import model
from studio.ui.transcript.height_index import HeightIndex
from studio.ui.transcript.items.approval_item import names, rule_name, scope
from support.languages import language

WHOLE = st.integers(min_value=0, max_value=500).map(float)


def call(target: str = "a", **values: object) -> ToolBlock:
    values = {"state": "done", "effect": "read", "verb": "Reading", "done": "Read", **values}
    return ToolBlock(target, "read_file", target=target, **values)  # type: ignore[arg-type]


@given(
    st.lists(WHOLE),
    st.lists(st.tuples(st.integers(0, 40), st.integers(0, 40), st.lists(WHOLE, max_size=90))),
)
def test_heights_are_sums(values: list[float], splices: list[tuple[int, int, list[float]]]) -> None:
    heights = HeightIndex(values)
    for start, length, fresh in splices:
        start = min(start, len(values))
        end = min(start + length, len(values))
        heights.splice(start, end, fresh)
        values = [*values[:start], *fresh, *values[end:]]
        if values:
            heights.set(start % len(values), 7.0)
            values[start % len(values)] = 7.0
    assert len(heights) == len(values)
    assert heights.total == sum(values)
    for index in range(len(values)):
        assert heights.above(index) == sum(values[:index])
        if values[index]:
            assert heights.find(sum(values[:index])) == index
            assert heights.find(sum(values[: index + 1]) - 0.5) == index
    assert heights.find(-5) == 0 or not values


def test_runs_of_calls_are_one_item_and_questions_stand_alone() -> None:
    asks = call("x", state="waiting", question=Question("q", "x", "run", "May I", "ls"))
    free = call("y", state="waiting", asks=(AskedQuestion("Which one?"),))
    blocks = [
        UserBlock("t", (Text("hi"),)), AgentBlock("t", "A", "p", "m"), call("a"), call("b"), asks,
        call("c"), free, TextBlock("done"), EndBlock("step_limit", ""),
    ]  # fmt: skip
    assert [(p.kind, p.first, p.last) for p in model.item_spans(blocks, 0, len(blocks))] == [
        ("user", 0, 1), ("agent", 1, 2), ("tools", 2, 4), ("prompt", 4, 5), ("tools", 5, 6),
        ("ask", 6, 7), ("text", 7, 8), ("end", 8, 9),
    ]  # fmt: skip
    free.reply = "this"
    assert model.kind_of(free) == "tools"


def test_the_drafts_of_one_patch_are_one_item() -> None:
    """C-8: those of another patch, and a draft alone, are items of their own."""
    patches = ["", "", "p", "p", "q", "p"]
    blocks = [
        DraftBlock(FileDraft(str(n), f"{n}.txt", "", "x", "d", patch=patch))
        for n, patch in enumerate(patches)
    ]
    spans = [(one.first, one.last) for one in model.item_spans(blocks, 0, len(blocks))]
    assert spans == [(0, 1), (1, 2), (2, 4), (4, 5), (5, 6)]


def test_adjacent_finished_reads_merge() -> None:
    calls = [
        call("a"), call("b"), call("c", icon="search"), call("d", effect="act", state="error"),
        call("e"), call("f", state="running"), call("g", effect="draft"),
    ]  # fmt: skip
    rows = model.rows(calls)
    assert [[c.target for c in row.calls] for row in rows] == [["a", "b", "c"], ["d"], ["e"], ["f"]]
    assert model.explored(rows[0].calls) == "2 files, 1 search"


def test_a_call_that_waits_or_never_ran_says_what_it_was_to_do() -> None:
    failed = ToolBlock("c", "write", state="error", effect="draft", done="Drafted")
    assert model.verb(failed) == "Write"
    assert model.verb(ToolBlock("c", "my_tool", state="queued")) == "My tool"
    far = ToolBlock("c", "shop__find_order", state="waiting", verb="shop: find_order")
    assert model.verb(far) == "shop: find_order"
    with language("de"):
        assert model.verb(failed) == "Schreiben"
        assert model.verb(ToolBlock("c", "read", state="queued", done="Read")) == "Lesen"
        assert model.verb(ToolBlock("c", "read", state="done", done="Read")) == "Gelesen"


def test_words_of_rows() -> None:
    assert model.verb(call(state="running")) == "Reading"
    assert model.verb(call(state="done")) == "Read"
    assert model.row_status(call(state="running"), 72.4) == "1:12"
    assert model.row_status(call(state="error", summary="exit 1\nmore"), None) == "exit 1"
    assert model.row_status(call(seconds=2.44), None) == "2.4 s"
    assert model.row_status(call(seconds=0.03), None) == ""
    failed = call(
        "pytest",
        state="error",
        done="Ran",
        summary="exit 1",
        effect="act",
        started=True,
        seconds=14.2,
    )
    assert model.row_status(failed, None) == "Exit 1 · 14 s"
    went_well = call("ls", summary="exit 0", effect="act", started=True, seconds=2.44)
    assert model.row_status(went_well, None) == "2.4 s"
    assert (
        model.spoken_row(model.ToolRow((failed,)), False) == "Ran pytest, failed, exit 1, collapsed"
    )


def test_always_says_what_it_covers() -> None:
    rule = Rule.parse("run_command(pytest *)")
    assert rule_name(rule) == "pytest"
    assert scope(rule) == "pytest"
    assert scope(Rule.parse("run(git push *)")) == "“git push” with any arguments"
    assert scope(Rule.parse("network(curl *)")) == "curl with network"
    assert rule_name(Rule.parse("fetch(https://docs.python.org/*)")) == "docs.python.org"
    assert rule_name(Rule.parse(f"run({'python -c ' + 'x' * 40})")) == "exactly this"
    assert rule_name(Rule.parse("run(ls [*].py)")) == "ls *.py"
    assert scope(Rule.parse("fetch")) == "every call of fetch"
    assert rule_name(Rule.parse("fetch_page")) == "fetch page"
    several = tuple(map(Rule.parse, ("run(git add *)", "run(git commit *)", "run(> out.txt)")))
    assert names(several[:1]) == "git add" and names(several[:2]) == "git add and git commit"
    assert names(several) == "these 3"


def test_errors_offer_what_helps() -> None:
    assert [a.name for a in model.failure_style("bad_key")[2]] == [
        "replace_key",
        "use_another_provider",
    ]
    assert [a.name for a in model.failure_style("internal")[2]] == ["try_again"]


def test_a_screen_reader_is_told_once_how_a_turn_went() -> None:
    assert model.spoken_outcome(TurnComplete("done"), "Coder") == "Coder is done."
    assert model.spoken_outcome(TurnComplete("cancelled"), "Coder") == "Stopped."
    failed = Failed("network", "You’re offline", "Your message is kept.")
    assert model.spoken_outcome(failed, "Coder") == "You’re offline. Your message is kept."
    assert model.spoken_outcome(TurnComplete("error", "You’re offline"), "Coder") == ""
    assert model.spoken_outcome(TextDelta("Hello"), "Coder") == ""


def test_a_refusal_says_why_in_plain_words() -> None:
    """L-7: its category, and the provider's explanation if it gives one."""

    def told(detail: str) -> str:
        return describe_end("refused", detail)

    assert told("cyber: It asks for malware.") == (
        "The model declined to answer (computer security). It asks for malware."
    )
    assert told("other") == "The model declined to answer."
    assert told("PROHIBITED_CONTENT") == "The model declined to answer (prohibited content)."
    assert told("") == told("The model declined to answer.") == "The model declined to answer."
    assert model.spoken_outcome(TurnComplete("refused", "SAFETY"), "Coder").endswith("(safety).")


def test_the_first_sentence_is_the_title() -> None:
    failed = FailureBlock("server", "Gemini had an error of its own. Try 2.5. Later.", "Kept.")
    card = model.error_card(failed)
    assert (card.title, card.detail) == (
        "Gemini had an error of its own", "Try 2.5. Later. Kept.",
    )  # fmt: skip
    assert model.split_title("No end") == ("No end", "")


def test_only_what_ran_ran() -> None:
    """A command that waits, or never began, is “Run”; one that failed or was stopped ran."""

    def word(state: str, effect: str = "act", *, started: bool = True) -> str:
        block = ToolBlock("c", "run", verb="Running", done="Ran", effect=effect)  # type: ignore[arg-type]
        block.state, block.started = state, started  # type: ignore[assignment]
        return model.verb(block)

    assert [word(state, started=False) for state in ("writing", "queued", "waiting")] == 3 * ["Run"]
    assert [word(state) for state in ("running", "done")] == ["Running", "Ran"]
    assert [word(state) for state in ("error", "cancelled")] == ["Ran", "Ran"]
    never = [word(state, started=False) for state in ("denied", "error", "cancelled")]
    assert never == 3 * ["Run"]
    assert word("error", "fetch") == "Run"  # nothing was fetched


def test_what_is_said_of_a_missing_network_is_in_one_language() -> None:
    failed = FailureBlock("network", "Can't reach Anthropic. Check the connection.", "")
    with language("de"):
        words = model.offline_card(failed).detail
    assert "erreichbar" in words and "reach" not in words
