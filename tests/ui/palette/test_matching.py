"""The palette's matching: a few letters find a text, best first, in thousands of them."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from studio.ui.palette.matching import SCATTERED, MatchIndex, folded

TEXTS = ["Rename chat", "Fix flaky retry test", "Review: split auth module", "Zürich über alles",
         "New chat", "Prepare the release", "snake_case_reader"]  # fmt: skip


def found(query: str, most: int = 10) -> list[str]:
    return [TEXTS[match.index] for match in MatchIndex(TEXTS).find(query, most)]


def strong(query: str) -> str:
    """The best text, its matching letters in brackets."""
    match = MatchIndex(TEXTS).find(query, 1)[0]
    text = TEXTS[match.index]
    return "".join(f"[{c}]" if n in match.letters else c for n, c in enumerate(text))


def test_beginnings_of_words_come_first_then_initials_then_letters() -> None:
    assert found("re") == [
        "Rename chat", "Fix flaky retry test", "Review: split auth module", "Prepare the release",
        "snake_case_reader",
    ]  # fmt: skip
    assert found("re", 2) == ["Rename chat", "Fix flaky retry test"]
    assert strong("nc") == "[N]ew [c]hat"
    assert strong("flak") == "Fix [f][l][a][k]y retry test"
    assert strong("fxrt") == "[F]i[x] flaky [r]e[t]ry test"
    assert found("ename") == ["Rename chat"]
    assert found("qqq") == []
    assert found("") == TEXTS


def test_accents_and_capitals_do_not_matter() -> None:
    assert found("ZURICH") == found("zürich") == ["Zürich über alles"]
    assert strong("ub") == "Zürich [ü][b]er alles"


@given(st.lists(st.text("abA \n._é", max_size=8), max_size=6), st.text("abé .[", max_size=4))
def test_all_texts_with_the_letters_in_order_are_found(texts: list[str], query: str) -> None:
    wanted = [letter for letter in folded(query) if letter != " "]

    def has(text: str) -> bool:
        rest = iter(folded(text))
        return all(letter in rest for letter in wanted)

    matches = MatchIndex(texts).find(query, 100)
    expected = {n for n, text in enumerate(texts) if has(text)}
    indexes = {match.index for match in matches}
    assert indexes == expected if len(wanted) >= SCATTERED else indexes <= expected
    for match in matches:
        shown = [folded(texts[match.index])[at] for at in sorted(match.letters)]
        assert [letter for letter in shown if letter != " "] == wanted


def test_syllables_of_korean_are_letters() -> None:
    index = MatchIndex(["한국", "호가"])
    assert [match.index for match in index.find("한", 5)] == [0]
