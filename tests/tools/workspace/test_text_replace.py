"""C-5, C-6: what a model copied nearly right lands where it was meant, and nowhere else."""

from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from studio.domain.errors import ToolFailed
from studio.tools.workspace.text_replace import replace
from support.cpu_cost import grows_linearly
from support.edit_cases import TRAPS, WAYS, cases


def test_200_near_misses_land_rightly_and_none_wrongly() -> None:
    """C-5."""
    missed: list[str] = []
    near = cases(WAYS)
    for name, case in near.items():
        try:
            made = replace(case.text, "f", case.old, case.new).text
        except ToolFailed as error:
            missed.append(f"{name}: {error}")
        else:
            assert made == case.result, name
    assert len(near) >= 200
    assert len(missed) * 20 <= len(near), missed


@pytest.mark.parametrize(
    ("text", "old", "ignored"),
    [
        ("a\n  b\n", "  b\n", ""),
        ("a\r\nb\r\n", "a\nb\n", ""),
        ("a  \nb\n", "a\nb\n", "blanks at line ends"),
        ("  a\n    b\n", "a\n  b\n", "indentation"),
        ("x = “a”\n", 'x = "a"\n', "typographic characters"),
        ("  x = “a”\n  b\n", 'x = "a"\nb\n', "indentation and typographic characters"),
        ("a\nb\n", "1\ta\n2\tb\n", "line numbers"),
    ],
)
def test_the_first_rung_that_finds_a_copy_is_told(text: str, old: str, ignored: str) -> None:
    """C-5: exactly, line ends, trailing blanks, indentation, typographic characters."""
    assert replace(text, "f", old, "c\n").ignored == ignored


def test_what_could_be_meant_otherwise_is_refused() -> None:
    """C-5: several places, lines left out, likeness, uneven indentation."""
    for name, case in cases(TRAPS).items():
        with pytest.raises(ToolFailed):
            pytest.fail(f"{name}: {replace(case.text, 'f', case.old, case.new).text}")


@pytest.mark.parametrize(
    ("text", "old", "new", "result"),
    [
        ("a\r\nb\r\n", "a", "1\n2", "1\r\n2\r\nb\r\n"),
        ("x\r\na", "a", "1\n2", "x\r\n1\r\n2"),
        ("a\nb\r\nc\n", "a\nb\nc", "a\nb\nd", "a\nb\r\nd\n"),
        ("a\rb\rc", "a\nb", "1\n2\n3", "1\r2\r3\rc"),
        ("a", "a", "1\n2", "1\n2"),
        ("a\rb\n", "b", "1\n2", "a\rb\n".replace("b", "1\n2")),
        ("a \nb", "a\nb\n", "a\nc\n", "a \nc"),
        ("a \nb\nc\n", "a\nb\n", "", "c\n"),
        ("a\nb\n", "a\r\nb", "c\r\nd", "c\nd\n"),
    ],
)
def test_line_ends_are_those_of_the_lines_replaced(
    text: str, old: str, new: str, result: str
) -> None:
    """C-6: the rest stays byte for byte."""
    assert replace(text, "f", old, new).text == result


@given(
    before=st.text("ab \t\r\n", max_size=20),
    there=st.text("cd \t\r\n", min_size=1, max_size=20),
    after=st.text("ab \t\r\n", max_size=20),
    new=st.text("xy \n", max_size=10),
)
def test_what_stands_around_stays(before: str, there: str, after: str, new: str) -> None:
    """C-6."""
    text = before + there + after
    try:
        made = replace(text, "f", there, new).text
    except ToolFailed:
        assert text.count(there) > 1 or text.find(there, text.find(there) + 1) > 0
        return
    assert made.startswith(before) and made.endswith(after)
    put = made[len(before) : len(made) - len(after)]
    put = re.sub("\r\n|\r", "\n", put)
    if there[0] in " \t":  # more lines may have become deeper
        put, new = (re.sub(r"(?m)^[ \t]+", "", one) for one in (put, new))
    assert put == new


@pytest.mark.parametrize("end", ["", "\n"])
def test_lines_after_a_copy_with_too_little_indentation_are_as_deep(end: str) -> None:
    """C-5: a line that lies further right has the copy in it, blanks and all."""
    text = "def f():\n    if x:\n        return None\n    go()\n"
    made = replace(text, "f", f"    return None{end}", f"    y = 1\n\n    return y{end}")
    assert made.text == "def f():\n    if x:\n        y = 1\n\n        return y\n    go()\n"
    assert made.ignored == "indentation"
    whole = replace("\t\tfoo()\n\t\tbar()\n", "f", "\tfoo()\n\t\tbar()", "\tfoo()\n\t\tbaz()")
    assert whole.text == "\t\tfoo()\n\t\tbaz()\n"


def test_a_line_end_that_the_file_lacks_is_no_line_number() -> None:
    made = replace("a\nb", "f", "b\n", "c\n")
    assert (made.text, made.ignored) == ("a\nc", "")


def test_pieces_that_come_again_and_again_are_not_compared_for_minutes() -> None:
    """What is compared grows no faster than the text: the cube would take two minutes."""
    made = replace("“" + "ab" * 990 + "\n", "f", '"' + "ab" * 990, "ba a" * 450)
    assert made.text == "ba a" * 450 + "\n"
    lines = [f"l{n % 7} “" for n in range(2_000)]
    old, new = "\n".join(lines).replace("“", '"'), "\n".join(sorted(lines)).replace("“", "'")
    assert replace("\n".join(lines), "f", old, new).text.count("'") == 2_000


@pytest.mark.parametrize(
    ("text", "old", "every"),
    [("aaa", "aa", False), ("aaa", "aa", True), ("x\n \nx\n", "\n", False)],
)
def test_places_that_overlap_are_several(text: str, old: str, every: bool) -> None:
    with pytest.raises(ToolFailed):
        replace(text, "f", old, "b", every=every)


@pytest.mark.parametrize(
    "line",
    [
        "# ... existing code ...",
        "// … rest of the function …",
        "/* unchanged ... */",
        "... (rest of file)",
        "# The rest of the file stays the same",
        "<!-- remaining rows unchanged -->",
        "{/* ... other props ... */}",
        "// ... keep existing code ...",
        "# (keep the rest as is)",
        "# ... (code omitted for brevity)",
        "# same as before",
        "// rest of code here",
        "# ... no changes ...",
        "[... rest of function ...]",
    ],
)
def test_a_text_that_stands_for_others_is_refused(line: str) -> None:
    """C-5."""
    with pytest.raises(ToolFailed, match="as it stands"):
        replace("a\nb\n", "f", "a", f"c\n{line}")
    assert replace(f"a\n{line}\n", "f", f"a\n{line}", f"c\n{line}").text == f"c\n{line}\n"


def test_a_comment_of_dots_stands_for_the_lines_that_are_gone() -> None:
    """C-5."""
    with pytest.raises(ToolFailed, match="as it stands"):
        replace("a\nb\nc\n", "f", "a\nb\nc", "d\n// ...")


@pytest.mark.parametrize(
    ("old", "new", "result"),
    [
        ("2:    go()\n3:    stop()", "    go()\n    halt()", "if a:\n    go()\n    halt()\n"),
        ("2|    go()\n3|    stop()", "    go()\n    halt()", "if a:\n    go()\n    halt()\n"),
        ("2: go()\n3: stop()", "go()\nhalt()", "if a:\n    go()\n    halt()\n"),
        ("3: \n3:     stop()", "x", None),
        ("3:    stop()", "    12:30", "if a:\n    go()\n    12:30\n"),
        ("2\t    go()\n3\t    stop()", "    2\n    3", "if a:\n    2\n    3\n"),
    ],
)
def test_a_blank_after_a_number_is_the_files_where_the_file_has_it(
    old: str, new: str, result: str | None
) -> None:
    """C-5: as ``grep -n`` and others print; no line gets deeper or less deep by it."""
    text = "if a:\n    go()\n    stop()\n"
    if result is None:
        with pytest.raises(ToolFailed):
            replace(text, "f", old, new)
    else:
        assert replace(text, "f", old, new).text == result


@pytest.mark.parametrize(
    "line",
    [
        "# existing users keep their keys",
        "rest = total - paid",
        "return first, ...",
        "other: string;",
        "Other…",
        "# The remaining time, in seconds.",
        "def f(*args: ...) -> None: ...",
        "# unchanged",
        "# ...",
        "# The rest of the codes are here for reference.",
        "# Keep the other hand free.",
    ],
)
def test_a_text_that_stands_for_itself_is_written(line: str) -> None:
    assert line in replace("a\nb\n", "f", "a", f"c\n{line}").text


def test_a_change_of_indentation_that_is_open_is_refused() -> None:
    """C-5: a line of the new text that lies further left than all of the copy."""
    text = "class A:\n    def f(self):\n        return 1\n"
    with pytest.raises(ToolFailed, match="how the new lines are to be indented"):
        replace(text, "f", "      def f(self):\n          return 1", "def f(self):\n  return 2")


@pytest.mark.parametrize("line", ["a", "", "return 1", "  a\r", " \ta “b”"])
def test_what_a_huge_edit_wants_is_looked_for_in_linear_time(line: str) -> None:
    def text(size: int) -> str:
        return f"{line}\n" * size

    def fail(text: str) -> None:
        with pytest.raises(ToolFailed):
            replace(text, "f", f"{text[: len(text) // 2]}b", "new")

    assert grows_linearly(text, fail, 20_000)


@pytest.mark.parametrize("new", ["b", "b\nc"])
def test_many_places_are_replaced_in_linear_time(new: str) -> None:
    def text(size: int) -> str:
        return "foo = 1\nbar\n" * size

    def every(text: str) -> None:
        assert replace(text, "f", "foo", new, every=True).text == text.replace("foo", new)

    assert grows_linearly(text, every, 1_500)
