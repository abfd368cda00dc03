"""Many items about an Akte: nothing leaves that its mode does not let out (KZ-7, KZ-42, W-57)."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from studio.domain.runs import Run
from studio.simulator import BatchPlan, Text, Turn
from studio.workflows.workflow_runs import RunOptions, WorkflowRuns
from support.engine_home import EngineHome, engine_home
from support.office_home import service, switch_on
from support.workflow_home import carry_out, workflow, write

STORY = workflow(
    """\
  - id: read
    agent: Reader
    via: batch
    for_each: [1, 2, 3]
    on_error: continue
    prompt: "Frage ${{ item }} zu Dörthe Müller."
"""
)


async def run_about(home: EngineHome, subject: str, text: str) -> Run:
    path = write(home.folder, "story", text)
    options = RunOptions({}, provider=home.provider, model="sim-model", subject=subject)
    runner = await WorkflowRuns(home.engine).start(path, home.folder, options)
    runner.yes = True
    return await carry_out(runner)


@pytest.mark.parametrize("mode", ["lokal", "pseudonym", "keine KI"])
async def test_kz7_kz42_items_about_an_akte_go_through_the_gate_and_never_as_a_batch(
    tmp_path: Path, mode: str, kanzlei: Any
) -> None:
    script = [Turn(Text("Gut, [Mandant 1].")) for _ in range(51)]
    async with engine_home(tmp_path, "anthropic", script, batches=BatchPlan()) as home:
        agents = home.engine.paths.agent_places[0]
        agents.mkdir(parents=True, exist_ok=True)
        (agents / "reader.md").write_text("---\nname: Reader\ntools: []\n---\nRead it.\n")
        pack = switch_on(home)
        akten = service(pack, "Akten")
        akte = akten.open(pack.person, "Müller, Dörthe ./. Zwölfbrunn Logistik GmbH")
        akten.set_mode(pack.person, akte, mode)
        run = await run_about(home, akte.address, STORY)
        assert "A pack decides about each request" in run.step("read").reason
        assert not home.asked, "neither a reply nor a batch"
        many = STORY.replace("[1, 2, 3]", str([*range(51)])).replace("via: batch", "via: live")
        run = await run_about(home, akte.address, many)
        sent = "".join(str(one.json) for one in home.asked)
        if mode == "keine KI":
            assert not sent and run.tallies["read"].failed > 0
        elif mode == "pseudonym":
            assert run.tallies["read"].done == 51 and "Frage 50 zu [Mandant 1]" in sent
            assert "Müller" not in sent and "Dörthe" not in sent
        else:  # the provider of this test is on this machine
            assert run.tallies["read"].done == 51 and "Dörthe Müller" in sent
        assert not home.simulator.violations
