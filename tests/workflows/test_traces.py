"""Runs, their agents and what these start are one trace (W-71)."""

from __future__ import annotations

from pathlib import Path

from studio.simulator import Call, RequestView, Returned, Text, Turn
from support.engine_home import engine_home
from support.otlp_collector import about, collector
from support.workflow_home import asked_in, begin, carry_out, workflow, write

BELOW = workflow("  - {id: look, agent: Researcher, prompt: Look.}")
ABOVE = workflow(
    "  - {id: work, agent: Coder, prompt: Work.}\n  - {id: more, needs: work, workflow: below}"
)


def script(view: RequestView) -> Turn:
    asked = asked_in(view)
    if "Work." in asked and not any(isinstance(one, Returned) for one in view.items):
        return Turn(Call("delegate", {"agent": "Researcher", "task": "Find it."}))
    return Turn(Text("Done."))


async def test_w71_a_run_is_one_trace(tmp_path: Path) -> None:
    with collector() as at:
        async with engine_home(tmp_path, "anthropic", script) as home:
            home.engine.settings.values.trace_endpoint = at.url
            write(home.folder, "below", BELOW)
            run = await carry_out(await begin(home, ABOVE))
            assert run.end is not None and run.end.state == "done", run.end
            await home.engine.telemetry.close()
    spans = {span.span_id: span for span in at.spans}
    assert len({span.trace_id for span in spans.values()}) == 1

    def line(span_id: bytes) -> list[str]:
        span = spans[span_id]
        name = span.name
        if step := about(span).get("agent_studio.step"):
            name += f" ({step})"
        return [*(line(span.parent_span_id) if span.parent_span_id else []), name]

    lines = {" > ".join(line(one)) for one, span in spans.items() if "chat" not in span.name}
    top = "invoke_workflow Story"
    assert lines == {
        top,
        f"{top} > invoke_agent Coder (work)",
        f"{top} > invoke_agent Coder (work) > execute_tool delegate",
        f"{top} > invoke_agent Coder (work) > execute_tool delegate > invoke_agent Researcher",
        f"{top} > invoke_workflow Story (more)",
        f"{top} > invoke_workflow Story (more) > invoke_agent Researcher (look)",
    }
    [whole] = [about(one) for one in spans.values() if not one.parent_span_id]
    assert whole["agent_studio.run"] == run.id and whole["agent_studio.state"] == "done"
