"""``agent-studio hooks``: lists hooks, tries one, switches it, takes over those of Claude Code."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import TYPE_CHECKING

from studio.cli.command_context import CommandContext, chosen_folder
from studio.cli.exit_codes import DONE, USAGE
from studio.cli.parser import CommandParser
from studio.domain.errors import ConfigurationError

if TYPE_CHECKING:
    from studio.agent.engine import Engine
    from studio.agent.hooks.answers import HookAnswer
    from studio.cli.console import Console
    from studio.domain.hooks import Hook, Hooks
    from studio.domain.jsonvalue import JsonObject


def arguments(parser: CommandParser) -> None:
    parser.description = (
        "Hooks are commands that are told what a chat does, and may refuse it. Each runs once you "
        "switched it on as it is now; a folder's own also need your trust in it."
    )
    helps = {
        "list": "all hooks that count in a folder, and those that are not run, with the reason",
        "test": "run one with a made-up call, and show what it says",
        "on": "approve what a hook runs now, and switch it on",
        "off": "switch a hook off",
        "import": "take over the hooks of Claude Code's settings; they are off until you approve",
    }
    for name, one in parser.add_subcommands(helps).items():
        if name in ("test", "on", "off"):
            one.add_argument("id", metavar="ID", help="the beginning of its id, as listed")
        if name == "test":
            one.add_argument("--tool", default="Bash", help="the tool that it is asked about")
            one.add_argument("--input", metavar="JSON", help="the tool's input, a JSON object")
        if name == "import":
            one.add_argument("file", nargs="?", type=Path, help="default: those in ~/.claude")
            one.add_argument(
                "--here", action="store_true", help="the folder's own, to its .agents/hooks.json"
            )
        one.add_argument("--folder", type=Path, metavar="DIR", help="default: the current folder")
        one.add_argument("--json", action="store_true", help="print JSON")


async def run(context: CommandContext, options: argparse.Namespace) -> int:
    """List hooks, try or switch one, or take over those of Claude Code."""
    import asyncio

    from studio.extensions.hooks.finder import HookFinder

    folder = chosen_folder(options)
    engine, console = await context.engine(), context.console
    if options.what == "import":
        return await _import(engine, folder, options, console)
    found, layers = await engine.services.hooks(folder)
    if options.what == "list":
        _list(found, console, as_json=options.json)
        waits = layers.trust in ("untrusted", "changed") and layers.files.hooks is not None
        if waits and not options.json:
            console.say("The hooks of this folder are left out: you do not trust it.")
        return DONE
    hook = found.get(options.id)
    if hook is None:
        known = ", ".join(one.id for one in found.found) or "none"
        raise ConfigurationError(f"There is no hook {options.id}. Known are: {known}.")
    if options.what == "test":
        return await _test(engine, hook, folder, options, console)
    on = options.what == "on"
    if on:
        console.require_a_person()
    await asyncio.to_thread(HookFinder(engine.paths).switch, hook, on)
    state = "on" if on else "off"
    if options.json:
        console.write_json({**_facts(hook), "state": state})
    else:
        console.say(f"{hook.event} {hook.command} is {state}.")
    return DONE


def _list(found: Hooks, console: Console, *, as_json: bool) -> None:
    if as_json:
        console.write_json(
            {
                "hooks": [_facts(one) for one in found.found],
                "problems": [{"path": one.path, "problem": one.words} for one in found.findings],
            }
        )
        return
    for one in found.found:
        matcher = f"({one.matcher})" if one.matcher else ""
        console.row(f"{one.id}  {_STATES[one.state]:<9}  {one.event}{matcher}  {one.command}")
        if one.reason:
            console.row(f"              {one.reason}")
    for finding in found.findings:
        console.row(str(finding))
    if any(one.state in ("new", "changed") for one in found.found):
        console.say("To approve one as it is now, and switch it on: agent-studio hooks on ID")
    if not found.found:
        console.say(
            "There are no hooks. To take over those of Claude Code: agent-studio hooks import"
        )


_STATES = {"new": "waits", "on": "on", "off": "off", "changed": "changed", "never": "not run"}


async def _test(
    engine: Engine, hook: Hook, folder: Path, options: argparse.Namespace, console: Console
) -> int:
    from studio.extensions.hooks.trial import try_hook

    if hook.state == "never":
        raise ConfigurationError(f"This hook is not run here. {hook.reason}")
    given = _input(options.input)
    answer = await try_hook(engine.services, hook, folder, options.tool, given)
    if options.json:
        console.write_json({**_facts(hook), "answer": _said(answer)})
    else:
        console.row(f"{hook.event} {hook.command}")
        for name, value in _said(answer).items():
            if value not in ("", None, False):
                console.row(f"  {name}: {value}")
    return USAGE if answer.fault else DONE


def _input(text: str | None) -> JsonObject | None:
    import json
    from typing import cast

    if text is None:
        return None
    try:
        value = json.loads(text)
    except ValueError as error:
        raise ConfigurationError(f"--input is no JSON: {error}.") from error
    if not isinstance(value, dict):
        raise ConfigurationError("--input is no JSON object.")
    return cast("JsonObject", value)


async def _import(
    engine: Engine, folder: Path, options: argparse.Namespace, console: Console
) -> int:
    import asyncio

    from studio.extensions.hooks.finder import HookFinder
    from studio.extensions.hooks.importing import settings_of, take_over, target_in

    home = folder if options.here else engine.paths.home
    sources = [options.file] if options.file else await asyncio.to_thread(settings_of, home)
    if not sources:
        raise ConfigurationError(f"There are no settings of Claude Code in {home / '.claude'}.")
    target = target_in(folder) if options.here else HookFinder(engine.paths).own
    done = await asyncio.to_thread(take_over, sources, target)
    if options.json:
        hooks = [_facts(one) for one in done.hooks]
        console.write_json({"target": str(target), "hooks": hooks})
        return DONE
    for one in done.hooks:
        left = f": not run here. {one.reason}" if one.state == "never" else ""
        console.row(f"{one.event} {one.command}{left}")
    if not done.hooks:
        console.say("There is nothing that you do not have already.")
    else:
        console.say(f"Taken over to {target}. Each waits: agent-studio hooks list")
    return DONE


def _said(answer: HookAnswer) -> dict[str, object]:
    return {
        "decision": answer.verdict,
        "reason": answer.reason,
        "for_agent": answer.context,
        "message": answer.message,
        "input": answer.arguments,
        "ends_turn": answer.ends is not None,
        "fault": answer.fault,
        "code": answer.code,
        "seconds": round(answer.seconds, 3),
        "output": answer.output,
    }


def _facts(one: Hook) -> dict[str, object]:
    return {
        "id": one.id,
        "event": one.event,
        "matcher": one.matcher,
        "command": one.command,
        "place": one.place,
        "pack": one.pack,
        "path": one.path,
        "state": one.state,
        "seconds": one.seconds,
        "files": list(one.files),
        "reason": one.reason,
    }
