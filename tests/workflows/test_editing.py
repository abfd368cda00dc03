"""Steps are added, connected, renamed and removed in the text, and nothing else (W-11, W-61)."""

from __future__ import annotations

import random

import pytest

from studio.domain.errors import ConfigurationError
from studio.workflows.editing import add_step, connect, disconnect, free_id, remove_step, rename
from studio.workflows.reader import read_workflow_text

FILE = """\
---
name: "Notes"   # what it is for
steps:
  - id: plan
    agent: Planner
  - {id: notes, needs: [plan], agent: Writer, prompt: "On ${{ steps.plan.text }}"} # short

  # now the tests
  - id: test
    needs: plan
    agent: Tester
    prompt: plan well
    redo:
      from: plan
      when: steps.plan.text == 'plan'
      max: 3
  - id: ok
    needs:
      - test
      - notes
    approve: Write?
---
Words before.

## plan
Plan it, after ${{ steps.plan }}, steps.plan stays.
"""


def steps(text: str) -> dict[str, tuple[str, ...]]:
    found = read_workflow_text(text).workflow
    assert found is not None
    return {step.id: step.needs for step in found.steps}


def lines(text: str) -> list[str]:
    return text.splitlines()


@pytest.mark.parametrize("end", ["\n", "\r\n"])
def test_w61_edits_touch_only_their_own_words(end: str) -> None:
    text = FILE.replace("\n", end)
    added = add_step(text, "more", ["agent: Writer", 'prompt: "x"'], "notes")
    assert list(steps(added)) == ["plan", "notes", "more", "test", "ok"]
    new = [f"  - id: more{end}", f"    needs: notes{end}", f"    agent: Writer{end}"]
    assert "".join(new) in added
    assert added.replace("".join([*new, f'    prompt: "x"{end}']), "") == text
    assert list(steps(add_step(text, "last", ["set: {a: 1}"])))[-1] == "last"

    for first, second, words in (
        ("notes", "plan", "    needs: notes"),
        ("test", "notes", "  - {id: notes, needs: [plan, test], agent: Writer"),
        ("notes", "test", "    needs: [plan, notes]"),
        ("plan", "ok", "      - plan"),
    ):
        made = connect(text, first, second)
        assert any(line.startswith(words) for line in lines(made)), made
        assert first in steps(made)[second]
        assert sum(one != two for one, two in zip(lines(text), lines(made), strict=False)) >= 1
    assert disconnect(connect(text, "notes", "plan"), "notes", "plan") == text
    assert steps(disconnect(text, "plan", "test"))["test"] == ()
    assert steps(disconnect(text, "notes", "ok"))["ok"] == ("test",)

    gone = remove_step(text, "test")
    assert list(steps(gone)) == ["plan", "notes", "ok"] and steps(gone)["ok"] == ("notes",)
    assert "# now the tests" in gone and "## plan" in gone


def test_w61_a_step_is_renamed_everywhere() -> None:
    made = rename(FILE, "plan", "outline")
    assert "  - id: outline\n" in made and "needs: [outline]" in made
    assert "from: outline\n" in made and "when: steps.outline.text == 'plan'" in made
    assert '"On ${{ steps.outline.text }}"' in made and "prompt: plan well" in made
    assert "## outline\nPlan it, after ${{ steps.outline }}, steps.plan stays." in made
    assert rename(made, "outline", "plan") == FILE


def test_w61_what_cannot_be_done_says_why() -> None:
    for wrong, words in (
        (lambda: rename(FILE, "plan", "test"), "There is a step test already"),
        (lambda: rename(FILE, "plan", "1 x"), "begins with a letter"),
        (lambda: connect(FILE, "plan", "plan"), "another one"),
        (lambda: disconnect(FILE, "test", "notes"), "by what it says"),
        (lambda: add_step("---\nsteps: [{id: a, run: x}]\n---\n", "b", ["run: y"]), "in the text"),
        (lambda: remove_step("---\nsteps:\n  - {id: a, run: x}\n---\n", "a"), "at least one"),
        (lambda: rename("no dashes", "a", "b"), "First mend"),
    ):
        with pytest.raises(ConfigurationError, match=words):
            wrong()
    assert free_id(FILE, "plan") == "plan2" and free_id(FILE, "new") == "new"


def test_w11_random_edits_change_only_steps() -> None:
    """Comments, quotes, blank lines and the body survive any order of edits. PRE-17."""
    for seed in range(150):
        chance, text = random.Random(seed), FILE
        for count in range(6):
            ids = list(steps(text))
            first, second = chance.choice(ids), chance.choice(ids)
            edit = chance.randrange(4)
            try:
                if edit == 0:
                    text = add_step(text, free_id(text, f"n{count}"), ["run: ls"], first)
                elif edit == 1:
                    text = connect(text, first, second)
                elif edit == 2:
                    text = disconnect(text, first, second)
                else:
                    text = rename(text, first, f"r{seed}_{count}")
            except ConfigurationError:
                continue
        for words in ('name: "Notes"   # what it is for', "# short", "# now the tests", "Words"):
            assert words in text, (seed, text)
        assert read_workflow_text(text).workflow is not None
