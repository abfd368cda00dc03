"""``agent-studio permissions``: the person's rules, and which folders they trust."""

from __future__ import annotations

import argparse
import json
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path

from studio.agent.engine import Engine
from studio.agent.permission.rules import Trust, parse_rule
from studio.agent.permission.visible_text import escape_invisible
from studio.agent.session.session_rules import SessionRules
from studio.cli.console import Console
from studio.cli.exit_codes import DONE
from studio.domain.errors import ConfigurationError
from studio.domain.permissions import Rule, Verdict
from studio.domain.sessions import SessionInfo

from .sessions import find_session_id

_TRUST: dict[Trust, str] = {
    "nothing": "",
    "untrusted": "What the files in .agents allow does not count: you do not trust this folder.",
    "changed": "The files in .agents changed since you trusted this folder: what they allow "
    "does not count.",
    "trusted": "You trust the files in .agents.",
}


async def permissions(studio: Engine, options: argparse.Namespace, console: Console) -> int:
    """Runs one of the subcommands; raises ConfigurationError for what is wrong."""
    rules = studio.rules
    folder: Path | None = getattr(options, "folder", None)
    if folder is not None and not folder.is_dir() and options.what != "untrust":
        raise ConfigurationError(f"The folder {folder} is not there.")
    named: str | None = getattr(options, "session", None)
    chat = None if named is None else await _session(studio, named)
    of_chat = SessionRules(studio.store.rules, chat.id) if chat else None
    match options.what:
        case "list":
            await _list(studio, chat or folder or Path.cwd(), console, as_json=options.json)
        case "add":
            verdict: Verdict = "deny" if options.deny else "ask" if options.ask else "allow"
            rule = parse_rule(options.rule, studio.tools(), verdict)
            if of_chat is not None:
                await of_chat.add(rule)
            else:
                await rules.add(rule, folder)
            where = f" in {folder.resolve()}" if folder else " in this session" if chat else ""
            console.say(f"Added: {verdict} {rule}{where}")
        case "remove":
            await (of_chat or rules).remove(options.number)
            console.say(f"Removed: rule {options.number}")
        case "test":
            call = parse_rule(options.call, studio.tools())
            target = "" if call.pattern == "*" else call.pattern
            found = await studio.explain(
                call.tool, target, chat or folder or Path.cwd(), options.agent
            )
            if options.json:
                said = {
                    "verdict": found.verdict,
                    "why": found.why,
                    "rule": str(found.rule) if found.rule else None,
                    "layer": found.layer,
                }
                console.write(f"{json.dumps(said)}\n")
            else:
                console.write(f"{found.verdict}: {found.why}\n")
        case "trust":
            assert folder is not None
            await rules.trust(folder.resolve())
            console.say(f"Trusted: {folder.resolve()}")
        case _:
            assert folder is not None
            await rules.untrust(folder)
            console.say(f"Not trusted: {folder.resolve()}")
    return DONE


async def _session(studio: Engine, start: str) -> SessionInfo:
    info = await studio.store.get(await find_session_id(studio, start))
    if info is None:
        raise ConfigurationError(f"There is no session {start}.")
    return info


async def _list(
    studio: Engine, where: Path | SessionInfo, console: Console, *, as_json: bool
) -> None:
    """The person's rules, those of a folder's files, and of a session its own."""
    folder = where if isinstance(where, Path) else Path(where.folder)
    standing = await studio.rules.list()
    layers = await studio.rules.layers(folder)
    project = layers.rules.get("project", ())
    given = [] if isinstance(where, Path) else await studio.store.rules.of(where.id)
    agent: Sequence[Rule] = ()
    if not isinstance(where, Path):
        with suppress(ConfigurationError):  # an agent that is gone has no rules
            agent = (await studio.agent(where.agent, folder)).permissions
    if as_json:
        rows = [
            {"id": one.id, "verdict": one.rule.verdict, "rule": str(one.rule), "folder": one.folder}
            for one in standing
        ]
        found = {"rules": rows, "project": _plain(project), "trust": layers.trust}
        if not isinstance(where, Path):
            numbers = [{"id": one.id} for one in given]
            plain = _plain([one.rule for one in given])
            found["agent"] = _plain(agent)
            found["session"] = [number | rule for number, rule in zip(numbers, plain, strict=True)]
        console.write(f"{json.dumps(found)}\n")
        return
    for one in standing:
        console.write(_line(str(one.id), one.rule, f"in {one.folder}" if one.folder else ""))
    for rule in project:
        console.write(_line("–", rule, "in this folder’s .agents"))
    for rule in agent:
        console.write(_line("–", rule, "in the agent’s file"))
    for one in given:
        console.write(_line(str(one.id), one.rule, "in this session (--session)"))
    if not (standing or project or agent or given):
        console.say("There are no rules yet.")
    if text := layers.notice or _TRUST[layers.trust]:
        console.say(text)


def _plain(rules: Sequence[Rule]) -> list[dict[str, object]]:
    return [{"verdict": rule.verdict, "rule": str(rule)} for rule in rules]


def _line(number: str, rule: Rule, where: str) -> str:
    written = escape_invisible(str(rule)).replace("\n", "\\n")
    return f"{number:>4}  {rule.verdict:5}  {written}{f'  {where}' if where else ''}\n"
