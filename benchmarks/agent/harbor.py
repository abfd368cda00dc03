"""Harbor: runs the program on tasks of Harbor, such as Terminal-Bench, in their containers (C-29).

    PYTHONPATH=. harbor run -d terminal-bench@2.0 -m anthropic/claude-sonnet-5 \
        --agent benchmarks.agent.harbor:AgentStudio --ak budget=2.00

Harbor has a Python environment of its own, so nothing of the program is imported here.
"""

from __future__ import annotations

import json
import os
import shlex
import shutil
import tempfile
from pathlib import Path
from typing import Any

from harbor.agents.base import BaseAgent  # type: ignore[import]  # Harbor is installed by hand

ROOT = Path(__file__).parents[2]
PLACE = "/opt/agent-studio"
SOURCE = ("studio", "resources", "packaging/terminal", "pyproject.toml", "LICENSE")
"""What is copied into the container, and installed there."""
INSTALL = f"""set -e
if ! command -v curl >/dev/null; then
    apt-get update -qq && apt-get install -y -qq --no-install-recommends curl ca-certificates
fi >/dev/null
export UV_INSTALL_DIR={PLACE}/uv UV_NO_MODIFY_PATH=1 UV_PYTHON_INSTALL_DIR={PLACE}/python
curl -LsSf https://astral.sh/uv/install.sh | sh
{PLACE}/uv/uv venv -q --python 3.12 --python-preference only-managed {PLACE}/venv
{PLACE}/uv/uv pip install -q --python {PLACE}/venv/bin/python {PLACE}/source/packaging/terminal
chmod -R a+rX {PLACE}
"""
EVENTS = "agent-studio.jsonl"
SETTINGS = {
    "sandbox": False,  # the container is one
    "throwaway": True,  # else a command that could send out what was read would be asked about
    "write_titles": False,
    "long_dollars": 0.0,  # Harbor's time and ``budget`` bound it
    "day_dollars": 0.0,
}
PROVIDERS = {"google": "gemini"} | {
    name: name for name in ("anthropic", "openai", "gemini", "ollama", "openai-compatible")
}
"""Ours by Harbor's names; any other is a server that is compatible with OpenAI's."""
VARIABLES = {
    "anthropic": ("ANTHROPIC_API_KEY", "ANTHROPIC_BASE_URL"),
    "openai": ("OPENAI_API_KEY", "OPENAI_BASE_URL"),
    "gemini": ("GEMINI_API_KEY", "GOOGLE_API_KEY", "GOOGLE_GEMINI_BASE_URL"),
    "openai-compatible": ("OPENAI_API_KEY", "OPENAI_BASE_URL"),
    "ollama": ("OLLAMA_HOST",),
}
LIMIT, DENIED = 3, 4
"""Exit codes of turns that ended in order, at a limit or without a permission."""


class AgentStudio(BaseAgent):
    """The agent Coder. ``budget`` is for each task, as in ``run --budget``."""

    def __init__(
        self,
        *arguments: Any,
        budget: str = "",
        effort: str = "",
        agent: str = "Coder",
        **named: Any,
    ) -> None:
        super().__init__(*arguments, **named)
        self._budget = str(budget)
        self._effort = effort
        self._agent = agent

    @staticmethod
    def name() -> str:
        return "agent-studio"

    def version(self) -> str:
        text = (ROOT / "studio" / "__init__.py").read_text(encoding="utf-8")
        return text.partition('__version__ = "')[2].partition('"')[0]

    async def setup(self, environment: Any) -> None:
        """Install this checkout in the container. Raises RuntimeError with what was said."""
        with tempfile.TemporaryDirectory() as folder:
            source = Path(folder, "source")
            for name in SOURCE:
                target = source / name
                target.parent.mkdir(parents=True, exist_ok=True)
                if (ROOT / name).is_dir():
                    left_out = shutil.ignore_patterns("__pycache__")
                    shutil.copytree(ROOT / name, target, ignore=left_out)
                else:
                    shutil.copy(ROOT / name, target)
            await environment.exec(f"mkdir -p {PLACE}/source", user="root")
            await environment.upload_dir(source, f"{PLACE}/source")
        done = await environment.exec(INSTALL, user="root")
        if done.return_code:
            raise RuntimeError(f"Agent Studio was not installed: {_end(done)}")

    async def run(self, instruction: str, environment: Any, context: Any) -> None:
        """Run one turn in the container's folder. Raises RuntimeError where none ended in order."""
        logs = getattr(self, "environment_logs_dir", "/logs/agent")
        done = await environment.exec(self._command(instruction, str(logs)), env=self._variables())
        last = await environment.exec(f"tail -n 1 {logs}/{EVENTS}")
        fill(context, last.stdout or "")
        if done.return_code not in (0, LIMIT, DENIED):
            raise RuntimeError(f"agent-studio ended with {done.return_code}: {_end(done)}")

    def populate_context_post_run(self, context: Any) -> None:
        """What was used until Harbor's own time limit, of the steps that had ended."""
        place = Path(self.logs_dir, EVENTS)
        if context.n_input_tokens is None and place.is_file():
            fill(context, place.read_text(encoding="utf-8", errors="replace"))

    @property
    def _model(self) -> tuple[str, str]:
        """The provider in the program's words, and the model's id."""
        provider, _, model = (self.model_name or "").partition("/")
        if not model:
            raise ValueError("Name the model as PROVIDER/ID, like anthropic/claude-sonnet-5.")
        return PROVIDERS.get(provider, "openai-compatible"), model

    def _command(self, instruction: str, logs: str) -> str:
        provider, model = self._model
        words = [
            *(f"{PLACE}/venv/bin/agent-studio", "run", "--json", "--mode", "long"),
            *("--provider", provider, "--model", model, "--agent", self._agent),
            *("--permission", "auto", "--allow", "run", "--allow", "job"),
            *(("--budget", self._budget) if self._budget else ()),
            *(("--effort", self._effort) if self._effort else ()),
            "-",
        ]
        settings = shlex.quote(json.dumps(SETTINGS))
        return (
            f"mkdir -p {logs} /tmp/agent-studio && "
            f"printf %s {settings} > /tmp/agent-studio/settings.json && "
            f"printf %s {shlex.quote(instruction)} | "
            f"AGENT_STUDIO_HOME=/tmp/agent-studio {shlex.join(words)} > {logs}/{EVENTS}"
        )

    def _variables(self) -> dict[str, str]:
        """Key and address of the provider alone, from Harbor's settings or the environment."""
        known = {**os.environ, **getattr(self, "_extra_env", {})}
        return {name: known[name] for name in VARIABLES[self._model[0]] if name in known}


def fill(context: Any, events: str) -> None:
    """Put what was used into Harbor's context: from the last event, else from the steps."""
    found: list[dict[str, Any]] = []
    for line in events.splitlines():
        try:
            found.append(json.loads(line))
        except ValueError:  # the last one of a program that was ended
            continue
    if not found:
        return
    last = found[-1] if found[-1]["event"] == "turn_complete" else None
    ended = [last] if last else [event for event in found if event["event"] == "step_ended"]
    usages = [event["usage"] for event in ended]
    context.n_input_tokens = sum(usage["input"] for usage in usages)
    context.n_cache_tokens = sum(usage["cache_read"] for usage in usages)
    context.n_output_tokens = sum(usage["output"] for usage in usages)
    context.cost_usd = last["dollars"] if last else None
    context.metadata = {"end": last["reason"] if last else "cut", "steps": len(ended)}
    if last:
        context.metadata |= {"steps": last["steps"], "detail": last["detail"]}


def _end(done: Any) -> str:
    return ((done.stderr or "") + (done.stdout or "")).strip()[-2_000:]
