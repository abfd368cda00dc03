"""``agent-studio eval``: cases by variants, graded, recorded and compared (W-58, W-69)."""

from __future__ import annotations

import csv
import json
import re
import sys
from collections import Counter
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from studio.cli.exit_codes import DONE, LIMIT, USAGE
from studio.domain.agents import Caps
from studio.domain.evals import (
    Case,
    Cell,
    Eval,
    EvalReport,
    Grade,
    Grader,
    GraderKind,
    Variant,
)
from studio.domain.jsonvalue import Json
from studio.domain.permissions import Rule
from studio.simulator import RequestView, Text, Turn, Usage, status
from studio.workflows.evals.cost_estimate import CostEstimate
from studio.workflows.evals.eval_file import read_eval, read_eval_text
from studio.workflows.evals.eval_runs import EvalOptions, EvalRuns
from studio.workflows.evals.figures import difference, figures, no_difference, wilson
from studio.workflows.evals.graders import grade
from studio.workflows.runner import Runner
from studio.workflows.workflow_runs import WorkflowRuns
from support.engine_home import EngineHome, engine_home
from support.workflow_home import asked_in

SUMS = """\
---
name: Sums
repeats: 2
budget: {dollars: 5}
prompt: "Add ${{ item.a }} and ${{ item.b }}"
variants:
  - {id: old, title: Adder today, agent: Adder}
  - {id: new, agent: Adder, prompt: "Carefully add ${{ item.a }} and ${{ item.b }}"}
graders:
  - contains: ${{ item.sum }}
cases:
  - id: small
    a: 1
    b: 2
    sum: "3"
    graders:
      - equals: "The sum is ${{ item.a + item.b }}"
      - pattern: "\\\\b3\\\\b"
      - expression: len(item.answer) < 40
      - time: 1d
      - command: 'test ${{ item.answer }} = "The sum is 3"'
  - {id: large, a: 70, b: 50, sum: "120"}
  - {id: judged, a: 5, b: 5, sum: "10", graders: [
      {grader: Judge, prompt: It is polite.}, {pairwise: Judge, prompt: The shorter one.}]}
---
"""


POLITE = """\
---
name: Sums
budget: {dollars: 5}
prompt: Add ${{ item.a }} and 5, please
variants:
  - {id: old, agent: Adder}
  - {id: new, agent: Adder, prompt: "Carefully add ${{ item.a }} and 5"}
graders: [{grader: Judge, prompt: Any.}, {pairwise: Judge, prompt: The shorter.}]
cases: [{id: one, a: 1}, {id: two, a: 5}]
---
"""
ONLY = Caps(dollars=0.0721)
"""For four answers of a thousand tokens, and no verdict."""
TOTAL: Json = {
    "type": "object",
    "properties": {"total": {"type": "integer"}},
    "required": ["total"],
}


class Adder:
    """Adds right if it is told to be careful, else small numbers alone; it judges too."""

    def __init__(self) -> None:
        self.asked: list[str] = []
        self.broken = False

    def __call__(self, view: RequestView) -> Turn:
        words = asked_in(view)
        self.asked.append(words)
        if self.broken and "You " not in words:
            return Turn(faults=[status(400, times=9)])
        if "You judge" in words:
            return Turn(Text(json.dumps({"passed": "please" in words, "reason": "Its tone."})))
        if "You compare" in words:
            return Turn(Text(json.dumps({"better": "same", "reason": "Alike."})))
        found = re.search(r"add (\d+) and (\d+)", words, re.I)
        assert found is not None
        total = int(found[1]) + int(found[2])
        careful = "Carefully" in words
        wrong = total > 50 and not careful
        polite = ", please" if total == 10 and careful else ""
        return Turn(Text(f"The sum is {total - wrong}{polite}"))


def prepare(home: EngineHome, text: str = SUMS) -> Path:
    agents = home.engine.paths.agent_places[0]
    agents.mkdir(parents=True, exist_ok=True)
    for name in ("Adder", "Judge"):
        file = f"---\nname: {name}\ntools: []\n---\nDo as you are told.\n"
        (agents / f"{name.lower()}.md").write_text(file)
    path = home.folder / "evals" / "sums.md"
    path.parent.mkdir(exist_ok=True)
    path.write_text(text)
    return path


async def ran(
    home: EngineHome, capsys: pytest.CaptureFixture[str], *more: str, code: int = DONE
) -> dict[str, Any]:
    words = ("eval", "run", "sums", "--folder", str(home.folder), "--model", "sim-model")
    capsys.readouterr()
    found = await home.command(*words, "--provider", home.provider, "--json", *more)
    told = capsys.readouterr()
    assert found == code, told.err
    return json.loads(told.out)


@pytest.mark.skipif(sys.platform == "win32", reason="the command is one of a POSIX shell")
async def test_w58_variants_are_graded_compared_and_taken_from_the_record(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    script = Adder()
    async with engine_home(tmp_path, "anthropic", script) as home:
        path = prepare(home)
        await home.engine.services.rules.add(Rule.parse("run(*)"), None)
        first = await ran(home, capsys)
        passed = {(one["variant"], one["case"], one["number"]): one for one in first["cells"]}
        assert len(passed) == 12 and all(one["fresh"] for one in first["cells"])
        good = {key[:2] for key, one in passed.items() if one["passed"]}
        assert good == {("old", "small"), ("new", "small"), ("new", "large"), ("new", "judged")}
        kinds = [one["kind"] for one in passed["old", "small", 1]["grades"]]
        assert kinds == ["equals", "pattern", "expression", "time", "command", "contains"]
        old, new = first["variants"]
        assert (old["passed"], new["passed"], old["cases"]) == (1, 3, 3)
        assert first["differences"][0]["better"] == ["large", "judged"]
        assert first["differences"][0]["verdict"] == "unclear"  # of three cases, nobody can tell
        judged = [words for words in script.asked if "You " in words]
        assert len(judged) == 2 * 2 + 2, "the baseline is compared with nothing"

        # All comes from the record; a rate that is too low is an exit code.
        before = len(script.asked)
        again = await ran(home, capsys, "--fail-under", "50", code=USAGE)
        assert len(script.asked) == before and again["dollars"] == 0
        assert not any(one["fresh"] for one in again["cells"])
        assert [one["passed"] for one in again["variants"]] == [1, 3]
        await ran(home, capsys, "--fail-under", "90%", "--variant", "new")

        # What was changed is asked again, and nothing else.
        text = path.read_text()
        path.write_text(text.replace("a: 70, b: 50", "a: 60, b: 60"))
        await ran(home, capsys)
        assert len(script.asked) == before + 4
        path.write_text(text.replace('sum: "120"', 'sum: "119"'))  # only the grader is another
        regraded = await ran(home, capsys)
        assert len(script.asked) == before + 4
        assert [one["passed"] for one in regraded["variants"]] == [2, 2]
        adder = home.engine.paths.agent_places[0] / "adder.md"
        adder.write_text(adder.read_text() + "Add well.\n")
        path.write_text(text)
        changed = await ran(home, capsys, "--variant", "new")
        assert all(one["fresh"] for one in changed["cells"])

        # Two that ran, side by side, and what a person reads.
        sides = (f"{regraded['id']}:new", f"{changed['id'][:8]}")
        assert await home.command("eval", "compare", *sides, "--json") == DONE
        found = json.loads(capsys.readouterr().out)
        assert found["better"] == ["large"] and found["worse"] == []
        assert await home.command("eval", "show", first["id"][:8]) == DONE
        shown = capsys.readouterr().out
        assert "Adder today (anthropic/sim-model): 33%, 6% to 79%, 1 of 3 cases" in shown
        assert "large: old ××  new ✓✓ ↑ flip" in shown
        assert "old, try 1: contains: It does not contain “120”." in shown
        assert not home.simulator.violations


async def test_w58_variants_are_agents_and_models_too(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Each cell is asked of its own variant's agent and model, so often as there are repeats."""
    text = """\
---
repeats: 3
budget: {dollars: 5}
prompt: Say who you are.
variants:
  - {id: first, agent: Adder}
  - {id: agent, agent: Judge}
  - {id: model, agent: Adder, model: anthropic/sim-other}
graders: [{contains: "${{ item.word }}"}]
cases: [{id: one, word: "Adder of sim-model"}, {id: two, word: sim-other}]
---
"""
    asked = Counter[str]()

    def script(view: RequestView) -> Turn:
        name = "Judge" if "a judge" in view.system else "Adder"
        asked[said := f"{name} of {view.model}"] += 1
        return Turn(Text(f"I am the {said}."))

    async with engine_home(tmp_path, "anthropic", script) as home:
        prepare(home, text)
        judge = home.engine.paths.agent_places[0] / "judge.md"
        judge.write_text("---\nname: Judge\ntools: []\n---\nYou are a judge.\n")
        found = await ran(home, capsys)
        cells = {(one["variant"], one["case"]): one["passed"] for one in found["cells"]}
        assert {key for key, passed in cells.items() if passed} == {
            ("first", "one"),
            ("model", "two"),
        }
        assert len(found["cells"]) == 3 * 2 * 3
        assert asked == {
            "Adder of sim-model": 6,
            "Judge of sim-model": 6,
            "Adder of sim-other": 6,
        }


async def test_w58_an_estimate_has_what_agents_that_judge_cost(tmp_path: Path) -> None:
    """From earlier verdicts if there are any, else from answers of the same model."""
    script = Adder()

    def priced(view: RequestView) -> Turn:
        judged = "You " in asked_in(view)
        return Turn(*script(view).parts, usage=Usage(1_000, out=2_000 if judged else 1_000))

    async with engine_home(tmp_path, "anthropic", priced) as home:
        path = prepare(home, POLITE)
        runs = WorkflowRuns(home.engine)
        evals = EvalRuns(home.engine, runs)
        model = "claude-sonnet-4-5"
        options = EvalOptions(Caps(dollars=5.0), home.provider, model)

        async def drive(runner: Runner) -> None:
            runner.attended = False
            await runner.carry_out()
            await runs.close(runner)

        async def estimate(fresh: bool = False, last: EvalReport | None = None) -> CostEstimate:
            one = read_eval(path)
            wanted = replace(options, fresh=fresh)
            return await evals.estimate(one, path, home.folder, wanted, last)

        blank = await estimate()
        assert (blank.asked, blank.verdicts, blank.basis) == (4, 6, "")  # nothing is known yet
        answer, verdict = 0.003 + 0.015, 0.003 + 0.030
        # Broken off before the verdicts: they are at what answers cost.
        await evals.run(read_eval(path), path, home.folder, replace(options, caps=ONLY), drive)
        begun = await estimate()
        assert (begun.asked, begun.basis) == (0, "answers") and begun.verdicts
        assert begun.dollars == pytest.approx(begun.verdicts * answer)
        _, report = await evals.run(read_eval(path), path, home.folder, options, drive)
        told = [one.dollars for each in report.cells for one in each.grades if one.dollars]
        assert told and told == pytest.approx([verdict] * len(told))
        assert await evals.last_report(path) == report
        await evals.store.begin("broken", "adding", str(path), str(home.folder))  # off at once
        assert await evals.last_report(path) == report
        done = await estimate(last=report)
        assert (done.asked, done.verdicts) == (0, 0)
        again = await estimate(fresh=True, last=report)
        assert (again.asked, again.verdicts, again.basis) == (4, 6, "verdicts")
        assert again.judged == len(told)
        assert again.dollars == pytest.approx(4 * answer + 6 * verdict)
        # All prompts are others: the record has nothing of them, the report has.
        path.write_text(path.read_text().replace("and 5", "and 4"))
        other = await estimate(last=report)
        assert (other.asked, other.basis) == (4, "verdicts")
        assert other.dollars == pytest.approx(again.dollars)


async def test_w58_an_estimate_counts_the_verdicts_that_a_new_baseline_brings(
    tmp_path: Path,
) -> None:
    """All answers of the others are in the record: what compares them is asked anew."""
    script = Adder()
    async with engine_home(tmp_path, "anthropic", script) as home:
        path = prepare(home, POLITE.replace("budget", "repeats: 2\nbudget"))
        path.write_text(path.read_text().replace("[{grader", "[contains: sum, {grader"))
        runs = WorkflowRuns(home.engine)
        evals = EvalRuns(home.engine, runs)
        options = EvalOptions(Caps(tokens=100_000), home.provider, "sim-model")

        async def drive(runner: Runner) -> None:
            runner.attended = False
            await runner.carry_out()
            await runs.close(runner)

        async def asked() -> tuple[int, int]:
            one = read_eval(path)
            told = await evals.estimate(one, path, home.folder, options, None)
            before = len(script.asked)
            await evals.run(one, path, home.folder, options, drive)
            new = script.asked[before:]
            judged = sum("You " in words for words in new)
            assert (told.asked, told.verdicts) == (len(new) - judged, judged)
            return told.asked, told.verdicts

        assert await asked() == (8, 8 + 4)
        assert await asked() == (0, 0)
        path.write_text(path.read_text().replace("and 5, please", "and 5, at once"))
        assert await asked() == (4, 4 + 4), "the baseline is another"
        first = 'variants:\n  - {id: top, agent: Adder, prompt: "Well add ${{ item.a }} and 5"}\n'
        path.write_text(path.read_text().replace("variants:\n", first))
        assert await asked() == (4, 4 + 8), "a new one is at the top"


async def test_w58_the_terminal_says_no_figure_of_what_has_no_result(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    script = Adder()
    async with engine_home(tmp_path, "anthropic", script) as home:
        prepare(home, POLITE)
        words = ["eval", "run", "sums", "--folder", str(home.folder), "--model", "sim-model"]
        words += ["--provider", home.provider, "--cell", "one"]
        script.broken = True
        await home.command(*words)
        shown = capsys.readouterr().out
        assert "2 cases, 1 try each, 0 of 4 from the record" in shown
        assert "new (anthropic/sim-model): no cell has a result\n" in shown
        assert "new is not compared with old: no case has a result from both.\n" in shown
        assert " compared with old: unclear" not in shown
        script.broken = False
        assert await home.command(*words, "--tokens", "100000") == LIMIT
        assert "1 of 1 cases, no price known, " in capsys.readouterr().out


async def test_w58_it_is_told_with_which_variant_others_are_compared(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    text = SUMS.replace("variants:\n", "variants:\n  - {id: first, agent: Adder}\n")
    async with engine_home(tmp_path, "anthropic", Adder()) as home:
        prepare(home, text)
        words = ["eval", "run", "sums", "--folder", str(home.folder), "--model", "sim-model"]
        words += ["--provider", home.provider, "--cell", "large", "--tokens", "100000"]
        for more, said, row in (
            ((), "", "old compared with first: unclear"),
            (("old", "new"), "compared with old, not with first", "new compared with old: unclear"),
            (("new",), "new is compared with no other: first is left out", ""),
        ):
            chosen = [part for one in more for part in ("--variant", one)]
            await home.command(*words, *chosen)
            told = capsys.readouterr()
            assert said in told.err and row in told.out
            assert said or "compared" not in told.err
            assert 'Adder today, {"case": "large", ' in told.err or more, "its case is named"


async def test_w58_a_limit_leaves_the_rest_to_another_run_and_none_is_refused(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    script = Adder()
    cases = "".join(f"  - {{id: c{n}, a: {n}, b: 1, sum: '{n + 1}'}}\n" for n in range(60))
    text = (
        "---\nprompt: Add ${{ item.a }} and ${{ item.b }}\nvariants: [{id: one, agent: Adder}]\n"
        f"graders: [{{contains: '${{{{ item.sum }}}}'}}]\ncases:\n{cases}---\n"
    )
    async with engine_home(tmp_path, "anthropic", script) as home:
        prepare(home, text)
        words = ("eval", "run", "sums", "--folder", str(home.folder), "--model", "sim-model")
        assert await home.command(*words, "--provider", home.provider) == USAGE
        assert "has no cap" in capsys.readouterr().err
        # Nobody says yes to more than the sample of 20; these are in the record all the same.
        part = await ran(home, capsys, "--dollars", "5", code=4)
        assert part["state"] == "unfinished" and len(script.asked) == 20
        assert sum(one["answered"] for one in part["cells"]) == 20
        # As if the program had ended before it kept them: the next one takes them over.
        await home.engine.database.execute("DELETE FROM eval_record")
        whole = await ran(home, capsys, "--dollars", "5", "--yes")
        assert whole["state"] == "done" and len(script.asked) == 60
        assert sum(one["fresh"] for one in whole["cells"]) == 40
        # The other words of a case are 60 new answers: a limit that is reached is an exit code.
        path = home.folder / "evals" / "sums.md"
        path.write_text(path.read_text().replace("prompt: Add", "prompt: Now add"))
        await ran(home, capsys, "--tokens", "200", code=LIMIT)


@pytest.mark.parametrize(
    ("kind", "target", "item", "wrong"),
    [
        ("schema", TOTAL, {"answer": '{"total": 3}'}, ""),
        ("schema", TOTAL, {"answer": '{"total": "3"}'}, "It does not fit the schema"),
        ("schema", TOTAL, {"answer": "It is 3."}, "It does not fit the schema"),
        ("cost", 0.01, {"answer": "", "dollars": 0.01}, ""),
        ("cost", 0.01, {"answer": "", "dollars": 0.02}, "It cost $0.02"),
        ("cost", 0.01, {"answer": "", "dollars": None}, "No price is known for its model."),
    ],
)
def test_w58_graders_of_a_schema_and_of_a_cost(
    kind: GraderKind, target: Json, item: dict[str, Json], wrong: str
) -> None:
    found = grade(Grader(kind, target), item)
    assert found.passed is (not wrong)
    assert found.words.startswith(wrong)


def test_w58_intervals_are_wilsons_and_a_flip_is_a_changed_majority() -> None:
    # The figures of the picture: 89 of 120, and 18 cases better, 4 worse.
    assert [round(one, 3) for one in wilson(89, 120)] == [0.657, 0.812]
    assert wilson(0, 0) == (0.0, 1.0) and round(wilson(10, 10)[0], 3) == 0.722
    assert round(no_difference(18, 4), 4) == 0.0043 and no_difference(0, 0) == 1.0

    def cells(variant: str, case: str, *passed: bool) -> list[Cell]:
        return [
            Cell(variant, case, at, "", True, (Grade("equals", "", one),), dollars=cost)
            for at, (one, cost) in enumerate(zip(passed, (0.1, 0.3, 0.2), strict=False), 1)
        ]

    one = Eval("E", (Case("x"), Case("y")), (Variant("a", "A"), Variant("b", "A")), 3)
    made = [*cells("a", "x", True, False, False), *cells("b", "x", True, True, False)]
    made += [*cells("a", "y", True, True, True), *cells("b", "y", True, True, False)]
    report = EvalReport(one, {}, tuple(made))
    found = difference(report, report, "a", "b")
    assert (found.better, found.worse) == (("x",), ())  # y is weaker, and its majority the same
    assert figures(report, "b").passed == 2 and figures(report, "a").passed == 1
    assert figures(report, "a").dollars == pytest.approx(0.2)
    # A try without a verdict counts nowhere, and half of the tries is not most.
    open_ = Cell("a", "x", 4, "", True, (Grade("command", "", None),))
    half = Cell("a", "x", 5, "", True, (Grade("equals", "", True),))
    more = EvalReport(one, {}, (*made, open_, half))
    assert figures(more, "a").tries == 7 and figures(more, "a").passed == 1


def test_w58_mistakes_in_the_file_are_told_at_their_lines() -> None:
    text = SUMS.replace("  - {id: large", "  - {id: small").replace("- time: 1d", "- tiem: 1d")
    text = text.replace("prompt: It is polite.", "title: polite")
    _, problems = read_eval_text(text.replace("\\\\b3\\\\b", "(3"))
    told = {one.line: one.message for one in problems}
    assert "the id “small” is there more than once" in " ".join(told.values())
    assert "a grader has no key “tiem”" in told[20]
    assert "this is no pattern" in told[18] and "needs a “prompt”" in told[24]


async def test_w58_one_cell_is_asked_again_and_results_are_exported(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """The record has all: what is asked is the cell that was chosen, and the judge of it."""
    script = Adder()
    async with engine_home(tmp_path, "anthropic", script) as home:
        prepare(
            home,
            SUMS.replace("      - command: 'test ${{ item.answer }} = \"The sum is 3\"'\n", ""),
        )
        first = await ran(home, capsys)
        script.asked.clear()
        again = await ran(home, capsys, "--cell", "judged:new")
        fresh = [(one["variant"], one["case"]) for one in again["cells"] if one["fresh"]]
        assert fresh == [("new", "judged")] * 2 and again["state"] == "done"
        assert len(script.asked) == 6, "two answers, two grades, two comparisons"
        assert again["variants"][0] == first["variants"][0], "the others are as they were"

        # Without a variant it is a case of all of them.
        script.asked.clear()
        every = await ran(home, capsys, "--cell", "large", "--cell", "small:old")
        assert [one["fresh"] for one in every["cells"] if one["case"] == "large"] == [True] * 4
        assert len(script.asked) == 6, "a case of both, and a cell"

        # Where nobody answers, what there was stands, and the eval says so.
        script.broken = True
        code = await home.command(
            *("eval", "run", "sums", "--folder", str(home.folder), "--model", "sim-model"),
            *("--provider", home.provider, "--cell", "large:old"),
        )
        told = capsys.readouterr()
        assert code != DONE and "2 of 12 cells gave no new answer." in told.err, told
        script.broken = False

        # A case or a variant that is not there is told; nothing is begun.
        for name, words in (("huge:old", "no case huge"), ("large:best", "no variant best")):
            assert (
                await home.command(
                    "eval", "run", "sums", "--cell", name, "--folder", str(home.folder)
                )
                == USAGE
            )
            assert words in capsys.readouterr().err
        assert len(await home.engine.services.database.rows("SELECT id FROM eval_runs")) == 4

        # Each try is a line; no text that a model wrote is a formula of a spreadsheet.
        capsys.readouterr()
        assert await home.command("eval", "export", first["id"]) == DONE
        lines = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
        assert len(lines) == 12 and lines[0]["graders"][0]["kind"] == "equals"
        by = {(one["case"], one["variant"], one["try"]): one for one in lines}
        assert (
            by["large", "old", 2]["result"] == "failed"
            and by["large", "new", 1]["result"] == "passed"
        )
        place = tmp_path / "sums.csv"
        assert await home.command("eval", "export", again["id"], "-o", str(place)) == DONE
        with place.open(encoding="utf-8", newline="") as file:
            rows = list(csv.DictReader(file))
        assert len(rows) == 12 and {one["model"] for one in rows} == {"anthropic/sim-model"}
        wrong = next(one for one in rows if (one["case"], one["variant"]) == ("large", "old"))
        assert wrong["answer"] == "The sum is 119" and wrong["reason"].startswith(
            "contains: It does"
        )
        assert wrong["recorded"] == "true"

        # An answer without a chat is one that goes on, with what the variant was told before it.
        chat_id = by["large", "new", 2]["chat"]
        assert await home.command("eval", "chat", first["id"], "large:new", "--try", "2") == DONE
        assert capsys.readouterr().out.strip() == chat_id
        await home.engine.sessions.delete(chat_id)
        assert await home.command("eval", "chat", first["id"], "large:new", "--try", "2") == DONE
        chat = await home.engine.sessions.open(capsys.readouterr().out.strip())
        assert [one.text for one in chat.transcript.messages()] == [
            "Carefully add 70 and 50",
            "The sum is 120",
        ]
        assert (chat.info.agent, chat.info.title) == ("Adder", "Sums: large")
        assert await home.command("eval", "chat", first["id"], "large:new", "--try", "3") == USAGE
        assert "Name one try of Sums" in capsys.readouterr().err
