"""``agent-studio eval run`` at a terminal: what it will cost is said before it begins (W-58)."""

from __future__ import annotations

import json
from pathlib import Path

from studio.cli.exit_codes import DENIED, DONE
from studio.simulator import RequestView, Text, Turn
from studio.storage.paths import Paths
from support.command import at_provider
from support.terminal_emulator import at_terminal

WRITER = """\
---
name: Writer
description: Writes.
---
Write.
"""
EVAL = """\
---
name: Capitals
budget: {tokens: 100000}
prompt: What is the capital of ${{ item.land }}?
variants: [{id: plain, agent: Writer}]
graders: [{contains: "${{ item.city }}"}]
cases:
  - {id: fr, land: France, city: Paris}
  - {id: au, land: Australia, city: Canberra}
---
"""


def answers(view: RequestView) -> Turn:
    return Turn(Text("Paris, or Canberra."))


async def test_w58_what_an_eval_will_cost_is_said_before_it_begins(tmp_path: Path) -> None:
    """W-69: as in the window; with a no it does not begin, and --yes needs no answer."""
    async with at_provider(tmp_path, "ollama", answers) as (terminal, _):
        agents = Paths.below(terminal.home).agents
        agents.mkdir(parents=True, exist_ok=True)
        (agents / "writer.md").write_text(WRITER)
        (terminal.folder / "evals").mkdir()
        (terminal.folder / "evals" / "capitals.md").write_text(EVAL)
        run = "eval", "run", "capitals", "--provider", "ollama", "--model", "m"
        async with at_terminal(terminal, *run, rows=40) as person:
            text = await person.until("Begin? [y]es, [n]o:")
            assert "It asks 2 of 2 cells. What that costs is not known." in text
            person.type("n\r")
            assert await person.end() == DENIED
        assert not json.loads((await terminal("eval", "list", "--json")).out)["runs"]
        async with at_terminal(terminal, *run, rows=40) as person:
            await person.until("Begin?")
            person.type("y\r")
            text = await person.until("2 of 2 cases")
            assert await person.end() == DONE
        async with at_terminal(terminal, *run, rows=40) as person:
            text = await person.until("2 of 2 cases")
            assert await person.end() == DONE
            assert "The record has all answers: no agent is asked for one." in text
            assert "Begin?" not in text
