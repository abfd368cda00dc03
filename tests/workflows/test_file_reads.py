"""Expressions that read the folder: its files, and the rows of tables in it (W-7)."""

from __future__ import annotations

from pathlib import Path

import pytest

from studio.domain.permissions import Rule
from studio.domain.run_events import RunEvent, StepFinished
from studio.tools import Workspace
from studio.workflows.expressions import ExpressionError, parse_expression
from studio.workflows.file_reads import FileReads
from studio.workflows.items.sources import read_items
from support.engine_home import EngineHome, engine_home
from support.workflow_home import begin, by_words, carry_out, states, workflow


async def value(home: EngineHome, expression: str, rules: tuple[Rule, ...] = ()) -> object:
    reads = FileReads(home.engine, str(home.folder), rules)
    parsed = parse_expression(expression)
    return await reads.having(lambda: parsed.evaluate({}, reads.functions))


async def test_w7_files_and_rows_are_read(tmp_path: Path) -> None:
    """Names in their order, rows by their heads, and nothing that a rule hides."""
    async with engine_home(tmp_path, "anthropic", []) as home:
        for name, text in {
            "b.md": "B",
            "a.md": "A",
            "deep/c.md": "C",
            "table.csv": 'name;sum\nAda;3\n"B; C";4\n',
            "plain.csv": "name,note\nAda,x\n",
            "lines.jsonl": '{"n": 1}\n\n[2]\n',
        }.items():
            (home.folder / name).parent.mkdir(parents=True, exist_ok=True)
            (home.folder / name).write_text(text)
        assert await value(home, "files('*.md')") == ["a.md", "b.md", "deep/c.md"]
        hidden = (Rule.parse("read(deep/*)", "deny"),)
        assert await value(home, "files('*.md')", hidden) == ["a.md", "b.md"]
        assert await value(home, "rows('table.csv')") == [
            {"name": "Ada", "sum": "3"},
            {"name": "B; C", "sum": "4"},
        ]
        assert await value(home, "rows('plain.csv')[0].note") == "x"
        assert await value(home, "rows('lines.jsonl')") == [{"n": 1}, [2]]
        with pytest.raises(ExpressionError, match="a rule keeps it"):
            await value(home, "rows('lines.jsonl')", (Rule.parse("read(*.jsonl)", "deny"),))
        for wrong, why in (
            ("rows('gone.csv')", "gone.csv"),
            ("rows('../secret.csv')", "outside"),
            ("rows('/etc/passwd')", "outside"),
            ("rows('a.md')", "it reads .csv"),
            ("rows('deep/c.md')", "it reads .csv"),
            ("files(3)", "takes a text"),
        ):
            with pytest.raises(ExpressionError, match=why):
                await value(home, wrong)
        (home.folder / "bad.jsonl").write_text('{"n": 1}\n{"n": \n')
        with pytest.raises(ExpressionError, match="line 2"):
            await value(home, "rows('bad.jsonl')")


async def test_w53_a_row_with_more_values_than_names_loses_none_silently(tmp_path: Path) -> None:
    """An unquoted comma moves values to other columns: it is said in which line."""
    async with engine_home(tmp_path, "anthropic", []) as home:
        table = home.folder / "table.csv"
        table.write_text('name,sum\n"A\nB",1\nC,1,200\n')
        with pytest.raises(ExpressionError, match="line 4 has more values"):
            await value(home, "rows('table.csv')")
        workspace = Workspace(home.folder)
        with pytest.raises(ExpressionError, match="line 4 has more values"):
            [*read_items(workspace, "rows", "table.csv")]
        table.write_text("name,sum\nC,1,\nD\n")  # an empty one more, or fewer, lose nothing
        found = [{"name": "C", "sum": "1"}, {"name": "D", "sum": ""}]
        assert await value(home, "rows('table.csv')") == found
        assert [row for row, _ in read_items(workspace, "rows", "table.csv")] == found


async def test_w7_a_step_sees_the_folder_as_it_is_when_it_starts(tmp_path: Path) -> None:
    """Items, values and conditions; and what strangers may have written is passed on (T-9)."""
    text = workflow(
        """\
  - {id: count, set: {files: "${{ len(files('*.txt')) }}"}}
  - id: each
    needs: count
    for_each: ${{ files('*.txt') }}
    agent: Researcher
    prompt: Read ${{ item }}
  - {id: none, needs: each, if: "len(files('*.md')) > 0", agent: Researcher, prompt: Never}
"""
    )
    script = by_words({"Read one.txt": "One.", "Read two.txt": "Two."})
    async with engine_home(tmp_path, "anthropic", script) as home:
        (home.folder / "one.txt").write_text("one")

        def add(event: RunEvent) -> None:
            if isinstance(event, StepFinished) and event.step == "count":
                (home.folder / "two.txt").write_text("two")

        run = await carry_out(await begin(home, text), add)
        assert run.end is not None and run.end.state == "done", (run.end, states(run))
        assert run.step("count").outputs == {"files": 1}
        assert [run.step("each", key).text for key in run.items["each"]] == ["One.", "Two."]
        assert run.step("none").state == "skipped"
        last = run.step("count").last
        assert last is not None and "untrusted" in {one.exposure for one in last.exposed}
