"""Steps that run a command, in the sandbox and by the rules of every command (W-5, W-7)."""

from __future__ import annotations

import shlex
import subprocess
import sys
from pathlib import Path

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from studio.domain.events import Exposed
from studio.domain.jsonvalue import Json
from studio.domain.permissions import Rule
from studio.domain.run_events import RunEvent, StepAsked
from studio.simulator import Text, Turn
from studio.workflows.command_line import fill_command
from studio.workflows.expressions import ExpressionError
from support.engine_home import EngineHome, engine_home
from support.workflow_home import begin, by_words, carry_out, workflow


async def allow(home: EngineHome, *rules: str) -> None:
    for rule in rules:
        await home.engine.services.rules.add(Rule.parse(rule), None)


async def test_w5_a_command_tells_what_it_printed_and_its_exit_code(tmp_path: Path) -> None:
    steps = """\
  - {id: say, agent: Writer, prompt: Say it.}
  - {id: echo, run: 'printf "%s\\n" ${{ steps.say.text }} end', needs: say}
  - {id: fails, run: 'echo out; echo err >&2; exit 3', on_error: continue, needs: echo}
  - {id: slow, run: 'echo begun; sleep 1000', timeout: 1s, on_error: continue, needs: fails}
  - {id: end, set: {code: '${{ steps.fails.outputs.exit_code }}'}}
"""
    script = by_words({"Say it": Turn(Text("a $(touch x); touch y"))})
    async with engine_home(tmp_path, "anthropic", script) as home:
        await allow(home, "run(*)")
        run = await carry_out(await begin(home, workflow(steps)))
        assert run.end is not None and run.end.state == "done", [*run.questions]
        assert run.step("echo").text == "a $(touch x); touch y\nend"
        assert run.step("echo").outputs == {"exit_code": 0}
        fails = run.step("fails")
        assert (fails.text, fails.reason) == ("out\nerr", "It ended with exit 3.")
        assert run.step("end").outputs == {"code": 3}
        slow = run.step("slow")
        assert (slow.text, slow.last.fault if slow.last else "") == ("begun", "timeout")
        assert not (home.folder / "x").exists() and not (home.folder / "y").exists()


async def test_w21_a_command_is_asked_about_refused_and_exposed_as_every_other(
    tmp_path: Path,
) -> None:
    steps = "  - {id: a, run: echo one}\n  - {id: b, run: echo two, on_error: continue, needs: a}\n"
    deny = 'permissions: {deny: ["run(echo two)"]}\n'
    async with engine_home(tmp_path, "anthropic", []) as home:
        runner = await begin(home, workflow(steps, deny))
        run = await carry_out(runner)
        assert run.state == "needs_you"  # nobody was there
        asked: list[RunEvent] = []

        def answer(event: RunEvent) -> None:
            if isinstance(event, StepAsked):
                asked.append(event)
                import asyncio

                answers.append(asyncio.ensure_future(runner.answer(event.question.id, "once")))

        answers: list[object] = []
        run = await carry_out(runner, answer)
        assert run.step("a").text == "one" and len(asked) == 1
        assert isinstance(asked[0], StepAsked)
        assert asked[0].question.text == "Story wants to run a command"
        assert run.step("b").state == "failed" and "not allowed" in run.step("b").reason
        session = await home.engine.sessions.open(run.step("a").session_id)
        exposed = tuple(Exposed(*one) for one in session.transcript.exposed.items())
        last = run.step("a").last
        assert last is not None and last.exposed == exposed


VALUES = st.text(st.characters(exclude_characters="\0", exclude_categories=["Cs"]), max_size=12)
PLACES = ("{}", '"{}"', "'{}'", 'a{}b "c{}d" e', "x=1 {} # {{", '\\"{}', "'\\'{}", '"\\\\"{}')


@pytest.mark.skipif(sys.platform == "win32", reason="a shell of its own")
@given(st.sampled_from(PLACES), VALUES)
@example('"{}"', "$(id)`id`")
@example("{}", "'; id; '")
def test_w7_a_value_is_never_carried_out(place: str, value: str) -> None:
    template = place.replace("{}", "${{ inputs.x }}").replace("{{", "{{", 1)
    if "#" in place:
        template = "x=1 ${{ inputs.x }}"
    names: dict[str, Json] = {"inputs": {"x": value}}
    line = fill_command("printf '<%s>' " + template, names)
    found = subprocess.run(["sh", "-c", line], capture_output=True, check=False)
    expected = shlex.split("printf '<%s>' " + template.replace("${{ inputs.x }}", "VALUE"))[2:]
    told = "".join(f"<{one.replace('VALUE', value)}>" for one in expected)
    assert found.stdout == told.encode() and not found.stderr


@pytest.mark.parametrize(
    "line",
    [
        "echo $(cat ${{ inputs.x }})",
        "echo `${{ inputs.x }}`",
        "cat <<E\n${{ inputs.x }}\nE",
        'echo "$(echo ${{ inputs.x }})"',
        "true # ${{ inputs.x }}",
        "echo $'${{ inputs.x }}'",
    ],
)
def test_w7_no_value_stands_where_quotes_do_not_help(line: str) -> None:
    with pytest.raises(ExpressionError, match="may not stand behind"):
        fill_command(line, {"inputs": {"x": "a"}})
