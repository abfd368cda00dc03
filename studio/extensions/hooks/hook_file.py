"""Hook file: reads a file of hooks, as Claude Code's settings have them (K-8).

Nothing in it is an error for the rest: what cannot be run here is kept, with the reason.
"""

from __future__ import annotations

import shlex
from collections.abc import Iterator

from studio.agent.hooks.matching import matcher_problem
from studio.domain.extensions import Finding
from studio.domain.hooks import HOOK_EVENTS, MOST_SECONDS, Hook, HookPlace
from studio.domain.jsonvalue import Json, JsonObject, as_object, as_text
from studio.mcp.jsonc import read_jsonc

MAX_BYTES = 200_000
MOST_HOOKS = 200
MOST_COMMAND = 20_000
"""Characters of one command."""
NO_MATCHER = ("UserPromptSubmit", "Stop")
"""Events that have nothing that a matcher could be about."""
_READ = {"type", "command", "timeout", "args", "async", "statusMessage", "once"}


def parse_hooks(
    data: bytes, path: str, place: HookPlace, root: str = ""
) -> tuple[list[Hook], list[Finding]]:
    """The hooks of a file, and what is wrong with it; never raises."""
    if len(data) > MAX_BYTES:
        return [], [Finding(path, f"the file is larger than {MAX_BYTES:,} bytes", left_out=True)]
    try:
        value = read_jsonc(data.decode("utf-8-sig")) if data.strip() else {}
    except UnicodeDecodeError:
        return [], [Finding(path, "this is not UTF-8 text", left_out=True)]
    except (ValueError, RecursionError) as error:
        return [], [Finding(path, str(error), left_out=True)]
    if not isinstance(value, dict):
        return [], [Finding(path, "this is no JSON object", left_out=True)]
    found: list[Hook] = []
    findings: list[Finding] = []
    if value.get("disableAllHooks") is True:
        findings.append(Finding(path, "it switches all of its hooks off"))
        return found, findings
    for event, matcher, given in _entries(value, path, findings):
        if len(found) == MOST_HOOKS:
            words = f"only the first {MOST_HOOKS} hooks are read"
            findings.append(Finding(path, words, left_out=True))
            break
        found.append(_hook(event, matcher, given, path, place, root))
    return found, findings


def _entries(
    value: JsonObject, path: str, findings: list[Finding]
) -> Iterator[tuple[str, str, JsonObject]]:
    """Each event with a matcher and a hook."""
    inner = value.get("hooks")
    events = inner if isinstance(inner, dict) else {} if "hooks" in value else value
    for event, groups in events.items():
        if event in ("description", "$schema", "version", "disableAllHooks"):
            continue
        for group in groups if isinstance(groups, list) else [groups]:
            hooks = group.get("hooks") if isinstance(group, dict) else None
            if not isinstance(hooks, list):
                words = f"{event}: hooks stand in a list under “hooks”"
                findings.append(Finding(path, words, left_out=True))
                continue
            matcher = as_text(as_object(group).get("matcher"))
            for one in hooks:
                yield event, matcher, as_object(one)


def _hook(
    event: str, matcher: str, given: JsonObject, path: str, place: HookPlace, root: str
) -> Hook:
    command = as_text(given.get("command")).strip()
    arguments = given.get("args")
    if command and isinstance(arguments, list):
        command = shlex.join([command, *(str(one) for one in arguments)])
    seconds, told = _seconds(given.get("timeout"))
    if given.get("async") is True:
        told = "It is waited for, although it asks not to be."
    why = _never(event, matcher, given, command)
    shown = command or as_text(given.get("prompt")) or as_text(given.get("url"))
    return Hook(
        event,
        shown[:MOST_COMMAND],
        place,
        path,
        "" if event in NO_MATCHER else matcher,
        seconds,
        state="never" if why else "new",
        reason=why or told,
        root=root,
    )


def _never(event: str, matcher: str, given: JsonObject, command: str) -> str:
    """Why a hook is not run here; empty if it is."""
    kind = given.get("type", "command")
    if event not in HOOK_EVENTS:
        return f"The event {event[:60]} does not happen here."
    if kind != "command":
        return f"Hooks of the type {str(kind)[:60]} are not run here, only commands."
    if not command or "\0" in command:
        return "It has no command."
    if len(command) > MOST_COMMAND:
        return f"Its command is longer than {MOST_COMMAND:,} characters."
    if "if" in given:
        return "Its condition “if” is not known here."
    if as_text(given.get("shell")) not in ("", "bash", "sh"):
        return f"The shell {as_text(given.get('shell'))[:60]} is not used here."
    if wrong := matcher_problem(matcher):
        return wrong
    return ""


def _seconds(value: Json) -> tuple[float, str]:
    """The limit of a hook, and what is told of that."""
    if isinstance(value, bool) or not isinstance(value, int | float) or not value > 0:
        return MOST_SECONDS, ""
    if value > MOST_SECONDS:
        return MOST_SECONDS, f"It has {MOST_SECONDS:g} s, although it asks for more."
    return float(value), ""
