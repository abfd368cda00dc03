"""``agent-studio batch``: many items from the terminal (W-54, W-55, W-69)."""

from __future__ import annotations

import csv
import json
from pathlib import Path

import pytest

from studio.cli.exit_codes import DENIED, DONE, USAGE
from studio.simulator import RequestView, Text, Turn
from support.engine_home import EngineHome, engine_home
from support.workflow_home import asked_in, workflow, write

INVOICES = workflow(
    """\
  - id: read
    agent: Reader
    for_each: ${{ rows("invoices.csv") }}
    outputs: {type: object, required: [total], properties: {total: {type: number}, note: {}}}
    on_error: continue
    prompt: "Invoice ${{ item.number }}"
"""
)


def reads(view: RequestView) -> Turn:
    number = int(asked_in(view).partition("Invoice ")[2].split()[0])
    if number == 50:
        return Turn(Text("Broken."))
    return Turn(Text(json.dumps({"total": number, "note": "=1+1"})))


def prepare(home: EngineHome) -> None:
    lines = ["number,vendor", *(f"{number},Vendor {number}" for number in range(60))]
    (home.folder / "invoices.csv").write_text("\n".join(lines))
    agents = home.engine.paths.agent_places[0]
    agents.mkdir(parents=True, exist_ok=True)
    (agents / "reader.md").write_text("---\nname: Reader\ntools: []\n---\nRead it.\n")
    write(home.folder, "invoices", INVOICES)


async def test_w54_w69_run_status_retry_and_export(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    async with engine_home(tmp_path, "anthropic", reads) as home:
        prepare(home)
        begin = ("batch", "run", "invoices", "--folder", str(home.folder), "--model", "sim-model")
        begin = (*begin, "--provider", home.provider)
        assert await home.command(*begin, "--yes") == USAGE
        assert "--yes needs a limit for the run: add --dollars N" in capsys.readouterr().err
        assert await home.command(*begin) == DENIED  # nobody is here to say yes
        told = capsys.readouterr().err
        assert "20 of 60 items tried. Run the rest?" in told
        assert "    20 passed, 0 failed." in told, "what the answer rests on (W-55)"
        assert len(home.asked) == 20
        run_id = told.partition("workflow resume ")[2].split()[0]
        going_on = ("workflow", "resume", run_id, "--yes", "--dollars", "5")
        assert await home.command(*going_on) == DONE
        assert "59 of 60 done" not in capsys.readouterr().out
        assert await home.command("batch", "status", run_id) == DONE
        shown = capsys.readouterr().out
        assert "60 of 60 done, 1 failed" in shown and "1  Answer not valid: " in shown
        table = tmp_path / "out.csv"
        assert await home.command("batch", "export", run_id, "-o", str(table)) == DONE
        with table.open(newline="") as file:
            rows = list(csv.DictReader(file))
        assert [row["number"] for row in rows] == [str(number) for number in range(60)]
        assert rows[3]["total"] == "3" and rows[3]["state"] == "done"
        assert rows[3]["note"] == "'=1+1"  # no formula of a model
        capsys.readouterr()
        assert await home.command("batch", "export", run_id, "--only", "failed") == DONE
        (line,) = capsys.readouterr().out.splitlines()
        assert json.loads(line)["item"] == {"number": "50", "vendor": "Vendor 50"}
        before = len(home.asked)
        assert await home.command("batch", "retry", run_id, "--yes") == USAGE
        capsys.readouterr()
        assert await home.command("batch", "retry", run_id) == DONE
        assert len(home.asked) == before + 3
        assert not home.simulator.violations
