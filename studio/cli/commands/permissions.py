"""``agent-studio permissions``: lists, adds, removes and tests rules; trusts folders (T-7)."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

from studio.cli.command_context import CommandContext
from studio.cli.exit_codes import ASK, DENIED, DONE
from studio.cli.parser import SESSION, CommandParser, number
from studio.domain.errors import ConfigurationError

if TYPE_CHECKING:
    from studio.agent.engine import Engine
    from studio.agent.permission.rules import Trust
    from studio.cli.console import Console
    from studio.domain.permissions import Rule, Verdict
    from studio.domain.sessions import SessionInfo

_TRUST: dict[Trust, str] = {
    "nothing": "",
    "untrusted": "What the files in .agents allow does not count: you do not trust this folder.",
    "changed": "The files in .agents changed since you trusted this folder: what they allow "
    "does not count.",
    "trusted": "You trust the files in .agents.",
}

_CODES: dict[Verdict, int] = {"allow": DONE, "ask": ASK, "deny": DENIED}
"""What ``test`` ends with; wrong use has another code, or a typing error would look like an
answer."""


def arguments(parser: CommandParser) -> None:
    made = parser.add_subcommands(
        {
            "list": "your rules, and those of this folder or a session",
            "add": "add a rule: 'TOOL' or 'TOOL(PATTERN)'",
            "remove": "remove a rule",
            "test": "what would happen if an agent asked; ends with 0 allow, 4 deny, 5 ask",
            "trust": "let the files in a folder's .agents widen what agents may do",
            "untrust": "take that back",
        }
    )
    listing, add, remove, test, *trusting = made.values()
    listing.add_argument("--json", action="store_true", help="print JSON")
    add.add_argument("rule", metavar="RULE", help="'run(pytest *)', for example; it allows")
    verdict = add.add_mutually_exclusive_group()
    verdict.add_argument("--deny", action="store_true", help="refuse what it matches")
    verdict.add_argument("--ask", action="store_true", help="always ask about what it matches")
    remove.add_argument("number", type=number, metavar="N", help="its number in the list")
    test.add_argument("call", metavar="CALL", help="'run(git push)', for example")
    agent = "default: the session’s, your setting, Coder"
    test.add_argument("--agent", metavar="AGENT", default="", help=agent)
    test.add_argument("--json", action="store_true", help="print JSON")
    for one in (listing, add, test):
        default = "everywhere" if one is add else "the current folder"
        where = one.add_mutually_exclusive_group()
        where.add_argument("--folder", type=Path, metavar="DIR", help=f"default: {default}")
        where.add_argument("--session", metavar="ID", help=f"of one session: {SESSION}")
    remove.add_argument("--session", metavar="ID", help=f"of one session: {SESSION}")
    for one in trusting:
        one.add_argument("folder", type=Path, metavar="DIR")


async def run(context: CommandContext, options: argparse.Namespace) -> int:
    from studio.agent.permission.policy import COMMAND
    from studio.agent.permission.rule_suggestions import warning_about
    from studio.agent.permission.rules import SessionRules, parse_rule

    engine, console = await context.engine(), context.console
    rules = engine.rules
    folder: Path | None = getattr(options, "folder", None)
    if folder is not None and not folder.is_dir() and options.what != "untrust":
        raise ConfigurationError(f"The folder {folder} is not there.")
    named: str | None = getattr(options, "session", None)
    chat = None if named is None else await _session(engine, named)
    of_chat = SessionRules(engine.store.rules, chat.id) if chat else None
    match options.what:
        case "list":
            await _list(engine, chat or folder or Path.cwd(), console, as_json=options.json)
        case "add":
            verdict: Verdict = "deny" if options.deny else "ask" if options.ask else "allow"
            tools = engine.tools()
            if verdict == "allow":
                console.require_a_person()
            rule = parse_rule(options.rule, tools, verdict)
            if of_chat is not None:
                await of_chat.add(rule)
            else:
                await rules.add(rule, folder)
            where = f" in {folder.resolve()}" if folder else " in this session" if chat else ""
            console.say(f"Added: {verdict} {rule}{where}")
            spec = tools[rule.tool].spec if rule.tool in tools else None
            about_commands = spec is None or spec.target == COMMAND  # all tools, or the network
            if about_commands and (warning := warning_about([rule])):
                console.say(warning)
        case "remove":
            await (of_chat or rules).remove(options.number)
            console.say(f"Removed: rule {options.number}")
        case "test":
            call = parse_rule(options.call, engine.tools())
            target = "" if call.pattern == "*" else call.pattern
            found = await engine.explain(
                call.tool, target, chat or folder or Path.cwd(), options.agent
            )
            if options.json:
                said = {
                    "verdict": found.verdict,
                    "why": found.why,
                    "rule": str(found.rule) if found.rule else None,
                    "layer": found.layer,
                }
                console.write_json(said)
            else:
                console.row(f"{found.verdict}: {found.why}")
            return _CODES[found.verdict]
        case "trust":
            assert folder is not None
            console.require_a_person()
            offer = await engine.trust_offer(folder.resolve())
            await rules.trust(folder.resolve(), offer.digest)
            console.say("\n".join([f"Trusted: {folder.resolve()}", *offer.effects]))
        case _:
            assert folder is not None
            await rules.untrust(folder)
            console.say(f"Not trusted: {folder.resolve()}, from the next message on")
    return DONE


async def _session(engine: Engine, start: str) -> SessionInfo:
    from studio.cli.saved_sessions import find_session_id

    info = await engine.store.get(await find_session_id(engine, start))
    if info is None:
        raise ConfigurationError(f"There is no session {start}.")
    return info


async def _list(
    engine: Engine, where: Path | SessionInfo, console: Console, *, as_json: bool
) -> None:
    """Print the person's rules, those in a folder's files, and those of a session."""
    folder = where if isinstance(where, Path) else Path(where.folder)
    standing = await engine.rules.list()
    layers = await engine.rules.layers(folder)
    project = layers.rules.get("project", ())
    given = [] if isinstance(where, Path) else await engine.store.rules.of(where.id)
    agent: Sequence[Rule] = ()
    if not isinstance(where, Path):
        with suppress(ConfigurationError):  # an agent that is gone has no rules
            agent = (await engine.agent(where.agent, folder)).permissions
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
        console.write_json(found)
        return
    for one in standing:
        console.row(_line(str(one.id), one.rule, f"in {one.folder}" if one.folder else ""))
    for rule in project:
        console.row(_line("–", rule, "in this folder’s .agents"))
    for rule in agent:
        console.row(_line("–", rule, "in the agent’s file"))
    for one in given:
        console.row(_line(str(one.id), one.rule, "in this session (--session)"))
    if not (standing or project or agent or given):
        console.say("There are no rules yet.")
    for text in layers.notices or filter(None, [_TRUST[layers.trust]]):
        console.say(text)


def _plain(rules: Sequence[Rule]) -> list[dict[str, object]]:
    return [{"verdict": rule.verdict, "rule": str(rule)} for rule in rules]


def _line(number: str, rule: Rule, where: str) -> str:
    return f"{number:>4}  {rule.verdict:5}  {rule}{f'  {where}' if where else ''}"
