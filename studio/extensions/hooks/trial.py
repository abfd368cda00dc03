"""Hook trial: runs one hook as a turn would, with a made-up cause, to see what it says (K-8)."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import cast

from studio.agent.hooks.answers import HookAnswer
from studio.agent.hooks.running import HookGround, HookRunner
from studio.agent.services import Services
from studio.domain.hooks import Hook, HookEvent, Hooks
from studio.domain.jsonvalue import JsonObject
from studio.tools import Workspace

TOOL = "Bash"
_FACTS: dict[str, JsonObject] = {
    "SessionStart": {"source": "startup", "model": ""},
    "UserPromptSubmit": {"prompt": "Hello"},
    "Notification": {
        "message": "A trial",
        "title": "Agent Studio",
        "notification_type": "permission_prompt",
    },
    "Stop": {"stop_hook_active": False, "last_assistant_message": "Done."},
    "SubagentStop": {"stop_hook_active": False, "last_assistant_message": "Done."},
    "PreCompact": {"trigger": "manual", "custom_instructions": ""},
    "SessionEnd": {"reason": "other"},
}


async def try_hook(
    services: Services,
    hook: Hook,
    folder: Path,
    tool: str = TOOL,
    given: JsonObject | None = None,
) -> HookAnswer:
    """What a hook says to a call of ``tool``, in Claude Code's words, or to its own event."""
    facts: JsonObject = {**_FACTS.get(hook.event, {})}
    if not facts:
        facts |= {"tool_name": tool, "tool_input": given or {"command": "echo hello"}}
        facts |= {"tool_use_id": "trial"}
        facts |= {"tool_response": {"stdout": "hello"}} if hook.event == "PostToolUse" else {}
        facts |= {"error": "exit 1"} if hook.event == "PostToolUseFailure" else {}
    about: JsonObject = {
        "session_id": "trial",
        "transcript_path": "",
        "cwd": str(folder),
        "permission_mode": "default",
    }
    sandbox = await services.sandbox()
    ground = HookGround(Workspace(folder), sandbox, services.keeper, services.environment, about)
    runner = HookRunner(Hooks(), ground)
    # It was asked for just now: what was approved before says nothing.
    return await runner.tell(replace(hook, state="on"), cast("HookEvent", hook.event), facts)
