"""tau2 itself runs a task through the server, from its words to its reward (C-30).

    TAU2=PATH/tau2 TAU2_DATA_DIR=PATH/data .venv/bin/python -m pytest tests/benchmarks/test_tau2_run.py

Agent and user are simulated models, so that nothing is said about any model.
"""

from __future__ import annotations

import asyncio
import json
import os
import sys
import uuid
from asyncio.subprocess import DEVNULL, PIPE, STDOUT
from pathlib import Path

import pytest

from studio.simulator import Call, RequestView, Simulator, Text, Turn
from support.command import KEY_VARIABLES, ROOT, URL_VARIABLES
from support.engine_home import KEY, PROTOCOLS

TAU2 = os.environ.get("TAU2", "")
WISH, DONE = "Please create the task “Important Meeting” for user_1.", "I have created it."


def talking(title: str):
    """A model that is the user, or the agent who creates a task of this title."""
    called = False

    def play(view: RequestView) -> Turn:
        nonlocal called
        said = json.dumps(view.body, ensure_ascii=False)
        if "User Simulation Guidelines" in said:
            return Turn(Text("###STOP###" if DONE in said else WISH))
        if called:
            return Turn(Text(DONE))
        called = True
        return Turn(Call("create_task", {"user_id": "user_1", "title": title}))

    return play


@pytest.mark.skipif(not TAU2, reason="TAU2 names no program.")
@pytest.mark.parametrize(
    ("provider", "title", "reward"),
    [*((one, "Important Meeting", 1.0) for one in PROTOCOLS), ("anthropic", "Lunch", 0.0)],
)
async def test_tau2_rates_a_conversation(
    tmp_path: Path, provider: str, title: str, reward: float
) -> None:
    """C-30: the right call is paid for, another one is not."""
    async with Simulator(talking(title), pace=False) as simulator:
        serve = await asyncio.create_subprocess_exec(
            *(sys.executable, "-m", "studio", "serve", "--port", "0"),
            *("--token-file", str(tmp_path / "token")),
            cwd=ROOT,
            env={
                **os.environ,
                "AGENT_STUDIO_HOME": str(tmp_path / "home"),
                URL_VARIABLES[provider]: simulator.url(PROTOCOLS[provider]),  # type: ignore[arg-type]
                KEY_VARIABLES.get(provider, "UNUSED"): KEY,
            },
            stdout=PIPE,
        )
        try:
            assert serve.stdout is not None
            address = (await serve.stdout.readline()).decode().split()[-1]
            token = (tmp_path / "token").read_text().strip()
            given = json.dumps({"api_base": address, "api_key": token, "temperature": 0})
            model, run = f"openai/{provider}/sim-model", f"agent-studio-{uuid.uuid4().hex[:8]}"
            tau2 = await asyncio.create_subprocess_exec(
                *(TAU2, "run", "--domain", "mock", "--task-ids", "create_task_1"),
                *("--num-trials", "1", "--max-concurrency", "1", "--save-to", run),
                *("--agent-llm", model, "--agent-llm-args", given),
                *("--user-llm", model, "--user-llm-args", given),
                env={**os.environ, "LITELLM_LOCAL_MODEL_COST_MAP": "True"},
                stdin=DEVNULL,
                stdout=PIPE,
                stderr=STDOUT,
            )
            said, _ = await tau2.communicate()
        finally:
            serve.terminate()
            await serve.wait()
        assert not simulator.violations
    words = said.decode().split()
    assert words[words.index("Average") + 1] == "Reward", said.decode()
    assert float(words[words.index("Average") + 2]) == reward
