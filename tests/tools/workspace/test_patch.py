"""C-8: patches in the form of OpenAI's models land where they were meant, and nowhere else."""

from __future__ import annotations

import re
import shlex
from difflib import SequenceMatcher

import pytest
from hypothesis import given
from hypothesis import strategies as st

from studio.domain.errors import NothingRead, ToolFailed
from studio.tools.workspace.patch import FileChange, parse_patch, patch_in_command, patched
from support.edit_cases import CHANGES, TRAPS, WAYS, Case, cases


def update(body: str) -> list[FileChange]:
    return parse_patch(f"*** Begin Patch\n*** Update File: f\n{body}\n*** End Patch\n")


def landed(text: str, body: str) -> str:
    return patched(text, "f", update(body)[0].hunks)[0]


def as_hunk(case: Case) -> str:
    """The case as a model writes it into a patch: what is equal as context."""
    old, new = (re.split("\r\n|\n", text) for text in (case.old, case.new))
    lines: list[str] = ["@@"]
    for tag, a, b, c, d in SequenceMatcher(None, old, new, autojunk=False).get_opcodes():
        if tag == "equal":
            lines += [f" {line}" for line in old[a:b]]
        else:
            lines += [f"-{line}" for line in old[a:b]] + [f"+{line}" for line in new[c:d]]
    return "\n".join(lines)


def test_200_near_misses_land_rightly_as_hunks_and_none_wrongly() -> None:
    """C-5, C-8."""
    missed: list[str] = []
    near = cases(WAYS)
    for name, case in near.items():
        try:
            made = landed(case.text, as_hunk(case))
        except ToolFailed as error:
            missed.append(f"{name}: {error}")
        else:
            assert made == case.result, name
    assert len(near) >= 200
    assert len(missed) * 20 <= len(near), missed


def test_hunks_that_could_be_meant_otherwise_are_refused() -> None:
    """C-5, C-8."""
    for name, case in cases(TRAPS).items():
        with pytest.raises(ToolFailed):
            pytest.fail(f"{name}: {landed(case.text, as_hunk(case))}")


TWICE = """\
class A:
    def run(self):
        step()
        return 1

    def stop(self):
        return 1


class B:
    def run(self):
        step()
        return 1
"""


@pytest.mark.parametrize(
    ("body", "line"),
    [
        ("@@ class B:\n         step()\n-        return 1\n+        return 2", 13),
        ("@@ class B\n@@ def run(self):\n-        return 1\n+        return 2", 13),
        ("@@ class A:\n@@     def stop(self):\n-        return 1\n+        return 2", 7),
        ("@@ def stop\n-        return 1\n+        return 2", 7),
        ("@@ -1,2 +1,2 @@ class B:\n         step()\n-        return 1\n+        return 2", 13),
        ("@@\n         step()\n-        return 1\n+        return 2\n \n     def stop(self):", 4),
        ("@@\n-        return 1\n+        return 2\n*** End of File", 13),
        ("@@ class B:\n@@ def run(self):\n-  return 1\n+  return 2", 13),
        ("@@ class Gone:\n     def stop(self):\n-        return 1\n+        return 2", 7),
    ],
)
def test_anchors_and_the_end_of_the_file_lead_to_the_place(body: str, line: int) -> None:
    """C-8."""
    lines = TWICE.split("\n")
    lines[line - 1] = "        return 2"
    assert landed(TWICE, body) == "\n".join(lines)


@pytest.mark.parametrize(
    "body",
    [
        "@@\n         step()\n-        return 1\n+        return 2",
        "@@ def run(self):\n-        return 1\n+        return 2",
        "@@ class A:\n-        return 1\n+        return 2",
        "@@ def run(self):\n+        first()",
    ],
)
def test_a_place_that_is_not_the_only_one_is_refused(body: str) -> None:
    """C-8: Codex would take the first of these."""
    with pytest.raises(ToolFailed, match=r"2 times|2 lines"):
        landed(TWICE, body)


def test_lines_above_an_anchor_are_not_meant() -> None:
    """C-8: as the only ones of their kind, too; the model meant a place that is not there."""
    text = TWICE.replace("class B:", "class C:\n    def go(self):\n        return 2\n\n\nclass B:")
    hunk = "@@ class C:\n     def stop(self):\n-        return 1\n+        return 3"
    with pytest.raises(
        ToolFailed, match="at line 6 of f, which is not below its line “@@ class C:”"
    ):
        landed(text, hunk)
    assert landed(text, hunk.replace("@@ class C:", "@@ def run(self):"))  # it is after that


def test_whole_lines_are_meant() -> None:
    """C-8: a line is not found inside of another one."""
    assert landed("max = 1\nx = 1\n", "-x = 1\n+x = 2") == "max = 1\nx = 2\n"
    with pytest.raises(ToolFailed, match="not in f"):
        landed("max = 1\n", "-x = 1\n+x = 2")


@pytest.mark.parametrize(
    ("text", "body", "result"),
    [
        ("a\r\nb\r\n", "+c\n+d", "a\r\nb\r\nc\r\nd\r\n"),
        ("a\nb", "+c", "a\nb\nc"),
        ("", "+c", "c\n"),
        (
            "def f():\n    return 1\n",
            "@@ def f():\n+    go()",
            "def f():\n    go()\n    return 1\n",
        ),
        ("a\nb\nc\n", " a\n-b\n\n", "a\nc\n"),
        ("a\n\n\nb\n", " a\n \n-\n b", "a\n\nb\n"),
        ("a\nb\n\n\n", "@@\n-b\n+c\n*** End of File", "a\nc\n\n\n"),
        ("1\n2\n3\n4\n5\n", "-5\n+five\n@@\n-1\n+one", "one\n2\n3\n4\nfive\n"),
    ],
)
def test_lines_are_added_and_removed_as_the_file_has_them(
    text: str, body: str, result: str
) -> None:
    """C-6, C-8."""
    assert landed(text, body) == result


def test_a_note_says_how_lines_differed() -> None:
    """C-8."""
    hunks = update("@@\n-  b\n+  B\n@@\n-d\n+D")[0].hunks
    after, notes = patched("a\n    b\nc\nd\n", "f", hunks)
    assert after == "a\n    B\nc\nD\n"
    assert notes == ["In line 2 of f hunk 1 was found but for indentation."]


def test_an_error_names_the_hunk_and_what_is_there() -> None:
    """C-8."""
    with pytest.raises(ToolFailed, match=r"Hunk 2 \(line 6 of the patch\) is not in f\. .* line 3"):
        landed("a\nb\nc\nd\n", "@@\n-a\n+A\n@@\n-c\n-x\n+C")


def test_a_whole_envelope_is_read() -> None:
    """C-8."""
    found = parse_patch(
        "```\n*** Begin Patch\n*** Add File: new.py\n+import os\n+\n+os.abort()\n"
        "*** Update File: old.py\n*** Move to: kept.py\n@@ def f():\n-a\n+b\n"
        "*** Delete File: gone.py\n*** Update File: only.py\n*** Move to: moved.py\n"
        "*** End Patch\n```"
    )
    assert [(one.kind, one.path, one.to) for one in found] == [
        ("add", "new.py", ""),
        ("update", "old.py", "kept.py"),
        ("delete", "gone.py", ""),
        ("update", "only.py", "moved.py"),
    ]
    assert found[0].text == "import os\n\nos.abort()\n"
    assert found[1].hunks[0].anchors == ["def f():"]


@pytest.mark.parametrize(
    ("patch", "why"),
    [
        ("", "begins with"),
        ("--- a\n+++ b\n", "begins with"),
        ("*** Begin Patch\n*** End Patch", "changes no file"),
        ("*** Begin Patch\n*** Update File: f\n@@\n-a\n+b", "cut off"),
        ("*** Begin Patch\n*** Update File: f\n*** End Patch", "says nothing"),
        ("*** Begin Patch\n*** Update File:\n-a\n*** End Patch", "names no file"),
        ("*** Begin Patch\n*** Add File: f\nimport os\n*** End Patch", "begins with “\\+”"),
        ("*** Begin Patch\n*** Delete File: f\n-a\n*** End Patch", "has no lines"),
        ("*** Begin Patch\n@@\n-a\n*** End Patch", "before it a line"),
        ("*** Begin Patch\n*** Update File: f\n@@\n-a\nb\n*** End Patch", "begins with a blank"),
        ("*** Begin Patch\n*** Update File: f\n*** End of File\n*** End Patch", "before it"),
    ],
)
def test_what_is_no_patch_says_why(patch: str, why: str) -> None:
    """C-8: one that was cut off changes nothing."""
    with pytest.raises(NothingRead, match=why):
        parse_patch(patch)


@given(
    st.sampled_from(sorted(CHANGES)),
    st.text("ab \t\r\n“x", max_size=40),
    st.text("ab \t\r\n“x", max_size=40),
)
def test_other_bytes_stay(name: str, before: str, after: str) -> None:
    """C-6, C-8: whatever stands around the hunk's lines."""
    change = CHANGES[name]
    text = f"{before}\n{change.text}\n{after}"
    case = Case(text, change.old, change.new, None)
    try:
        made = landed(text, as_hunk(case))
    except ToolFailed:
        return
    ends = "\r\n" if "\r\n" in text else "\n"
    assert made.replace(ends, "\n") == f"{before}\n{change.result}\n{after}".replace(ends, "\n")
    assert made.startswith(before) and made.endswith(after)


@given(st.text("*@+- \nabBeginPatchEndUpdateFile:", max_size=200))
def test_any_text_is_a_patch_or_an_error_in_words(patch: str) -> None:
    """C-8."""
    try:
        found = parse_patch(f"*** Begin Patch\n*** Update File: f\n{patch}\n*** End Patch")
        for change in found:
            patched("a\nb\n", "f", change.hunks)
    except ToolFailed as error:
        assert str(error)


@pytest.mark.parametrize(
    "command",
    [
        "apply_patch",
        "apply_patch <<'EOF'\n*** Begin Patch\nEOF\npytest",
        "echo a; apply_patch <<'EOF'\n*** Begin Patch\nEOF",
        'apply_patch "$(cat patch)"',
        "git apply <<'EOF'\n*** Begin Patch\nEOF",
    ],
)
def test_a_command_that_does_more_is_none_for_the_tool(command: str) -> None:
    """C-8."""
    assert patch_in_command(command) == ""


@pytest.mark.parametrize("shell", [[], ["bash", "-lc"], ["sh", "-c"], ["/bin/zsh", "-lc"]])
def test_a_patch_is_found_in_the_words_of_a_command(shell: list[str]) -> None:
    """C-8, C-21: as models give them that were trained on lists of words."""
    patch = "*** Begin Patch\n*** Update File: f\n@@\n-it's\n+it \\'' is\n*** End Patch"
    for line in (f"apply_patch <<'EOF'\n{patch}\nEOF", shlex.join(["apply_patch", patch])):
        assert patch_in_command(shlex.join([*shell, line]) if shell else line) == patch
        assert patch_in_command(f"{shlex.join([*(shell or ['sh', '-c']), line])}; ls") == ""
    backslash = patch.replace("'", "'\\''")
    assert patch_in_command(f"apply_patch '{backslash}'") == patch


@pytest.mark.parametrize("blanks", ["\n", " ", "\n "])
def test_any_command_is_looked_through_in_linear_time(blanks: str) -> None:
    """C-8: on the event loop; a quadratic search would not come to its end."""
    command = f"apply_patch <<EOF\n{blanks * 1_000_000}x"
    assert patch_in_command(command) == ""
    patch = "*** Begin Patch\n*** Delete File: f\n*** End Patch"
    assert patch_in_command(f"apply_patch <<EOF\n{patch}\n \tEOF\n\n") == patch
    for quoted in ("x'\"'\"'" * 300_000, f"{blanks}'\\''" * 300_000, "x" * 1_000_000):
        assert patch_in_command(f"bash -lc 'apply_patch '{quoted}") == ""
        assert patch_in_command(f"apply_patch '{quoted}") == ""


def test_anchors_that_fit_every_line_lead_nowhere() -> None:
    """C-8: one inside of the other, over and over; the hunk is looked for everywhere."""
    text = "".join(f"{' ' * depth}a\n" for depth in range(6_000)) + "end\n"
    anchors = "@@ a\n" * 8
    assert landed(text, f"{anchors}-end\n+END\n") == text.replace("end", "END")
    with pytest.raises(ToolFailed, match="only adds lines"):
        landed(text, f"{anchors}+END\n")
