"""Hook answers: what a hook says by its exit code and its output, as Claude Code reads it (K-8).

Exit code 2 refuses, with the reason in the second stream. With exit code 0 an output that begins
with a brace is JSON; before a message and at the start of a chat other output is for the agent.
"""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Literal, TypeAlias

from studio.domain.hooks import Hook
from studio.domain.jsonvalue import (
    Json,
    JsonObject,
    as_object,
    as_text,
    repair_surrogates,
    sanitize_json,
)
from studio.domain.records import dataclass
from studio.processes.piped_command import MOST, PipedResult

Verdict: TypeAlias = Literal["", "allow", "ask", "deny"]
REFUSES = 2
CANNOT_RUN = 126
"""From this code on the shell says that it could not run something, or what ended it."""
MOST_WORDS = 10_000
"""Characters of one text of a hook."""
MOST_DEPTH = 50
_SPOKEN = ("SessionStart", "UserPromptSubmit")
"""Events in which plain output is for the agent."""


@dataclass(frozen=True, slots=True)
class HookAnswer:
    """What one hook said. ``reason`` belongs to ``verdict``; for the agent if that can go on.

    ``context`` is more for the agent, ``message`` for the person. ``arguments`` are the input that
    it wants for the call, in its words. ``ends`` is why the turn is to end. ``fault`` is what went
    wrong, and then nothing else counts; ``failed`` if it did not come to a decision at all.
    """

    hook: Hook
    verdict: Verdict = ""
    reason: str = ""
    context: str = ""
    message: str = ""
    arguments: JsonObject | None = None
    ends: str | None = None
    fault: str = ""
    failed: bool = False
    seconds: float = 0.0
    code: int | None = None
    output: str = ""
    """All that it printed, to look at."""


def answer_of(hook: Hook, event: str, result: PipedResult) -> HookAnswer:
    """What a hook that ended says."""
    output, errors = _text(result.output), _text(result.errors)
    said = replace(
        HookAnswer(hook), seconds=result.seconds, code=result.code, output=_cut(output or errors)
    )
    if result.cut == "time":
        return replace(said, fault=f"took more than {hook.seconds:g} s and was ended", failed=True)
    if result.cut == "flood":
        return replace(said, fault=f"printed more than {MOST:,} bytes and was ended", failed=True)
    if result.code == REFUSES:
        return replace(said, verdict="deny", reason=_cut(errors) or "It gave no reason.")
    if result.code != 0:
        first = errors.splitlines()[0] if errors else ""
        ended = f"exit {result.code}" if result.code > 0 else f"ended by signal {-result.code}"
        failed = result.code >= CANNOT_RUN or result.code < 0
        fault = f"{ended}: {first}" if first else ended
        return replace(said, fault=_cut(fault, 300), failed=failed)
    if not output.startswith("{"):
        return replace(said, context=_cut(output)) if event in _SPOKEN else said
    try:
        given = json.loads(output)
    except (ValueError, RecursionError):
        return replace(said, fault="printed JSON that cannot be read", failed=True)
    if _deep(given):
        return replace(said, fault="printed JSON that is nested too deep", failed=True)
    return _spoken(said, event, as_object(given))


def _spoken(said: HookAnswer, event: str, given: JsonObject) -> HookAnswer:
    """What the JSON says that is meant for this event."""
    own = as_object(given.get("hookSpecificOutput"))
    named = own.get("hookEventName", event)
    own = own if named == event else {}
    said = replace(
        said,
        message=_words(given.get("systemMessage")),
        context=_words(own.get("additionalContext")),
    )
    if given.get("continue") is False:
        said = replace(said, ends=_words(given.get("stopReason")))
    verdict = {"approve": "allow", "allow": "allow", "block": "deny", "deny": "deny"}
    decision, reason = as_text(given.get("decision")), _words(given.get("reason"))
    if event == "PreToolUse":
        wanted = as_text(own.get("permissionDecision")) or decision
        if wanted not in ("", "ask", *verdict):
            return replace(said, fault=f"decided {wanted[:30]}, which is no decision", failed=True)
        reason = _words(own.get("permissionDecisionReason")) or reason
        found = "ask" if wanted == "ask" else verdict.get(wanted, "")
        said = replace(said, verdict=found, reason=reason)
        return _changing(said, own.get("updatedInput"))
    if event == "PermissionRequest":
        chosen = as_object(own.get("decision"))
        wanted = as_text(chosen.get("behavior"))
        said = replace(said, verdict=verdict.get(wanted, ""), reason=_words(chosen.get("message")))
        if chosen.get("interrupt") is True and wanted == "deny":
            said = replace(said, ends=said.reason)
        return _changing(said, chosen.get("updatedInput"))
    if decision == "block":
        return replace(said, verdict="deny", reason=reason or "It gave no reason.")
    return said


def _changing(said: HookAnswer, wanted: Json) -> HookAnswer:
    if wanted is None:
        return said
    if not isinstance(wanted, dict):
        return replace(said, fault="wants an input that is no object", failed=True)
    return replace(said, arguments=as_object(sanitize_json(wanted)))


def _words(value: Json) -> str:
    return _cut(repair_surrogates(value).strip()) if isinstance(value, str) else ""


def _cut(text: str, most: int = MOST_WORDS) -> str:
    return text if len(text) <= most else f"{text[:most]} […]"


def _text(data: bytes) -> str:
    return repair_surrogates(data.decode("utf-8", "replace").replace("\0", "")).strip()


def _deep(value: Json, level: int = 0) -> bool:
    if level > MOST_DEPTH:
        return True
    inner = value.values() if isinstance(value, dict) else value if isinstance(value, list) else ()
    return any(_deep(one, level + 1) for one in inner)
