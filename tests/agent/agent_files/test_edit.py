"""Changes to an agent's text: only the words of the value change (W-11)."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from studio.agent.agent_files.edit import Edit, add_item, remove_item, set_value
from studio.agent.agent_files.parser import parse_agent, read_agent_text
from studio.domain.errors import ConfigurationError

FILE = """\
---
# who it is
name: Proof reader   # never Proofreader
"description":   'Finds mistakes'
tools: [list, read,   # to look
        search]
permissions:
  # nothing that runs
  deny:
    - run  # not even git
    - "fetch(*.example)"
mode:    # the program's own
hue: rust
---

# Reader

You read: texts.  --- \n"""

NAMES = ("list", "read", "search", "run", "ask", "own", "fetch", "write")
NAMED = ("Ann", '"Ann"', "'Ann'", "Ann B")
DESCRIBED = ("Reads", "|-\n  Reads", ">\n  Reads", "a\n  b")
BODIES = ("Do.", "", "# A\n---\nb", "é🙂")
TEXTS = st.one_of(
    st.sampled_from(
        ["Coder", "yes", "1e3", "null", "a: b", "#x", "- y", "“q”", "it's", '"', " a "]
    ),
    st.text(st.characters(blacklist_categories=["Cs"]), max_size=12),
)


@st.composite
def files(draw: st.DrawFn) -> str:
    """Files as people write them: any style, order, comments and line ends."""
    comments = iter(range(1_000))

    def comment(more: str = "") -> str:
        return f"{more}# note {next(comments):03}" if draw(st.booleans()) else ""

    def names() -> list[str]:
        return draw(st.lists(st.sampled_from(NAMES), unique=True, min_size=1, max_size=4))

    def listed(indent: str) -> str:
        found = names()
        style = draw(st.sampled_from(["flow", "lines", "block"]))
        if style == "flow":
            return f" [{', '.join(found)}]{comment('  ')}\n"
        if style == "lines":
            lines = [f"{indent}  {one},{comment(' ')}\n" for one in found]
            return f" [{comment(' ')}\n{''.join(lines)}{indent} ]\n"
        return "\n" + "".join(f"{indent}  - {one}{comment('  ')}\n" for one in found)

    parts = [
        f"name: {draw(st.sampled_from(NAMED))}{comment(' ')}\n",
        f"description: {draw(st.sampled_from(DESCRIBED))}\n",
        f"steps:{draw(st.sampled_from([' 3', '   12', '']))}{comment('  ')}\n",
        f"tools:{listed('')}",
        f"mask: email, phone{comment('  ')}\n",
        f"permissions:{comment(' ')}\n  deny:{listed('  ')}  ask:{listed('  ')}",
    ]
    chosen = draw(st.permutations(parts))[: draw(st.integers(1, len(parts)))]
    mixed = [piece for part in chosen for piece in (f"{comment()}\n", part)]
    text = f"---\n{''.join(mixed)}---\n{draw(st.sampled_from(BODIES))}\n"
    return text.replace("\n", draw(st.sampled_from(["\n", "\r\n"])))


def changed(text: str, edit: Edit) -> str:
    """The text after an edit: all outside the span is as it was, and every comment is there."""
    after = edit.apply(text)
    assert after.startswith(text[: edit.start]) and after.endswith(text[edit.end :])
    for note in text.split("note ")[1:]:
        assert f"# note {note[:3]}" in after
    assert after.count("\r\n") == after.count("\n") or "\r" not in text
    return after


def values(text: str) -> dict[str, Any]:
    found = read_agent_text(text)
    assert found.frontmatter is not None
    return {entry.key: entry.value() for entry in found.frontmatter.entries}


@settings(max_examples=60)
@given(files(), st.sampled_from(["name", "description", "model", "steps", "hue"]), TEXTS)
def test_w11_a_value_changes_and_nothing_else(text: str, key: str, words: str) -> None:
    """Also where the key was not there, and back."""
    before = values(text)
    after = changed(text, set_value(text, key, words))
    assert values(after) == {**before, key: words}
    if key in before:
        assert list(values(after)) == list(before)
    again = set_value(after, key, 12)
    assert values(changed(after, again)) == {**before, key: 12}
    if len(before) > 1 or key not in before:
        gone = changed(after, set_value(after, key, None))
        assert values(gone) == {name: one for name, one in before.items() if name != key}
        if key not in before:
            assert gone == text


@settings(max_examples=60)
@given(files(), st.sampled_from(NAMES), st.sampled_from([("tools",), ("permissions", "deny")]))
def test_w11_an_item_comes_and_goes(text: str, item: str, path: Any) -> None:
    def listed(text: str) -> list[str]:
        found: Any = values(text)
        for key in path:
            found = (found or {}).get(key)
        return list(found or [])

    before = listed(text)
    rest = {key: one for key, one in values(text).items() if key != path[0]}
    if item in before:
        less = changed(text, remove_item(text, path, item))
        assert listed(less) == [one for one in before if one != item]
        text, before = less, listed(less)
    more = changed(text, add_item(text, path, item))
    assert listed(more) == [*before, item]
    assert {key: one for key, one in values(more).items() if key != path[0]} == rest
    back = changed(more, remove_item(more, path, item))
    assert listed(back) == before


def test_the_words_around_stay_to_the_letter() -> None:
    for edit, old, new in (
        (set_value(FILE, "name", "Reader: two"), "Proof reader  ", '"Reader: two"  '),
        (set_value(FILE, "description", "Finds"), "'Finds mistakes'", "Finds"),
        (set_value(FILE, "mode", "inline"), "mode:  ", "mode: inline  "),
        (set_value(FILE, "hue", None), "hue: rust\n", ""),
        (set_value(FILE, "effort", None), "hue", "hue"),
        (set_value(FILE, "model", "m-1"), "tools: [", "model: m-1\ntools: ["),
        (set_value(FILE, "dollars", 1.5), "hue: rust", "dollars: 1.5\nhue: rust"),
        (add_item(FILE, ("tools",), "own"), "search]", "search, own]"),
        (remove_item(FILE, ("tools",), "list"), "[list, ", "["),
        (remove_item(FILE, ("tools",), "search"), "        search]", "        ]"),
        (remove_item(FILE, ("permissions", "deny"), "run"), "- run  # not", "# not"),
        (add_item(FILE, ("permissions", "ask"), "read"), "mode:", "  ask: [read]\nmode:"),
    ):
        assert edit.apply(FILE) == FILE.replace(old, new), old
        parse_agent(edit.apply(FILE), Path("x.md"))
    bare = "---\n{name: A, hue: rust}\n---\nDo.\n"
    assert set_value(bare, "name", "B").apply(bare) == bare.replace("A,", "B,")
    assert set_value(bare, "steps", 3).apply(bare) == bare.replace("rust", "rust, steps: 3")
    assert set_value(bare, "hue", None).apply(bare) == bare.replace(", hue: rust", "")
    empty = "---\n# to be done\n---\nDo.\n"
    assert set_value(empty, "name", "A").apply(empty) == empty.replace("done\n", "done\nname: A\n")


def test_what_would_touch_other_words_is_refused() -> None:
    for text in (
        "---\nname: &n A\ndescription: *n\n---\nDo.\n",  # would change the name as well
        "---\n? name\n: A\ndescription: {a: [b]}\n---\nDo.\n",
    ):
        with pytest.raises(ConfigurationError, match="in the text"):
            set_value(text, "description", "C")
    with pytest.raises(ConfigurationError, match=r"First mend the text, line 2"):
        set_value("---\nname: [\n---\nDo.\n", "name", "A")
    for text in ("---\npermissions: [a]\n---\nDo.\n", "---\npermissions: a\n---\nDo.\n"):
        for change in (add_item, remove_item):
            with pytest.raises(ConfigurationError, match="in the text"):
                change(text, ("permissions", "deny"), "a")
