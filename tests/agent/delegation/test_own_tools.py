"""Tools that an agent's file defines (W-2), and children that ended without their caller (W-17)."""

from __future__ import annotations

from pathlib import Path

import pytest

from studio.domain.events import ToolFinished
from studio.domain.jsonvalue import Json
from studio.simulator import Call, RequestView, Turn
from support.delegation_home import agent, cast, delegate, repeats, results, save, says
from support.engine_home import PROTOCOLS, engine_home, say
from support.workflow_home import asked_in

DEFINE = """define:
  - name: count_in
    description: Counts words
    prompt: Count the words in ${{ file }}.
    parameters: {properties: {file: {type: string}, most: {type: integer}}, required: [file]}
    returns: {type: object, properties: {n: {type: integer}}, required: [n]}
    model: PROVIDER/other-model
  - {name: look_up, description: Looks something up, agent: Helper}
  - {name: release, description: Releases, workflow: release.md}
  - {name: read, description: Takes the name of a tool, prompt: x}
  - {name: LONGEST, description: Has the longest name, prompt: x}
  - {name: _a-b9, description: Has every sign that a name may have, prompt: x}"""
LONGEST = "x" * 64


@pytest.mark.parametrize("provider", PROTOCOLS)
async def test_w2_tools_of_an_agents_own_run_as_children(tmp_path: Path, provider: str) -> None:
    """PRE-7, PRE-32."""
    seen: dict[str, RequestView] = {}

    def lead(view: RequestView) -> Turn:
        if "Count the words" in asked_in(view):
            seen["count"] = view
            return says('{"n": 3}')
        seen.setdefault("lead", view)
        if results(view):
            return repeats(view)
        arguments: dict[str, Json] = {"file": "a.txt", "most": 5}
        return Turn(Call("count_in", arguments), Call("look_up", {}))  # type: ignore[arg-type]

    script = cast(Lead=[lead], Helper=[says("It is so.")])
    async with engine_home(tmp_path, provider, script) as home:
        save(
            home.engine.paths.agents,
            agent("Lead", DEFINE.replace("PROVIDER", provider).replace("LONGEST", LONGEST)),
            agent("Helper"),
        )
        session = await home.session("Lead")
        events = await say(session)
        names = seen["lead"].tool_names
        assert {"count_in", "look_up", LONGEST, "_a-b9"} <= set(names) and "release" in names
        assert names.count("read") == 1 and "delegate" not in names
        assert seen["count"].model == "other-model"
        asked = asked_in(seen["count"])
        assert "in a.txt." in asked and '"most": 5' in asked
        texts = {o.text.split("\n")[0] for o in events if isinstance(o, ToolFinished)}
        assert texts == {'{"n": 3}', "It is so."}
        assert not [one for one in events if isinstance(one, ToolFinished) and one.is_error]
        assert not home.simulator.violations, "every provider takes these names"
        assert not home.simulator.violations


async def test_w17_an_open_call_gets_the_result_of_a_child_that_finished(tmp_path: Path) -> None:
    """The program ended after the child had, and before its caller knew."""
    script = cast(Lead=[Turn(delegate("Helper", "x")), says("First.")], Helper=[says("It is so.")])
    async with engine_home(tmp_path, "anthropic", script) as home:
        save(home.engine.paths.agents, agent("Lead", "agents: [Helper]"), agent("Helper"))
        session = await home.session("Lead")
        await say(session)
        call = session.transcript.last_calls[0]
        call.state = "cancelled"
        late = await home.engine.delegation.late_results(session.info.id, [call])
        (result,) = late
        assert isinstance(result, ToolFinished) and result.call_id == call.call_id
        assert result.text.startswith("It is so.\n[Helper (child ")
        call.state = "done"
        assert not await home.engine.delegation.late_results(session.info.id, [call])
