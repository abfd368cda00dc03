"""``agent-studio agents``: lists, shows, creates and checks agent files (T-6)."""

from __future__ import annotations

import argparse
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING

from studio.cli.command_context import CommandContext, chosen_folder
from studio.cli.exit_codes import DONE, USAGE
from studio.cli.parser import CommandParser

if TYPE_CHECKING:
    from studio.agent.agent_files.name_check import KnownNames
    from studio.agent.engine import Engine
    from studio.agent.frontmatter import Problem
    from studio.cli.console import Console
    from studio.domain.agents import Agent, Origin

ROLES = {
    "all": "every tool it has",
    "edits": "reads, drafts of files, notes",
    "notes": "reads, notes",
    "reads": "only reads",
}

ORIGINS: dict[Origin, str] = {
    "shipped": "built in",
    "own": "yours",
    "folder": "this folder",
    "pack": "a pack",
}


def arguments(parser: CommandParser) -> None:
    helps = {
        "list": "all agents",
        "show": "one agent: what it may do, where it is from",
        "new": "create an agent file of your own",
        "check": "look for mistakes in every agent file",
        "schema": "print the JSON Schema of an agent's frontmatter, for editors",
    }
    for name, one in parser.add_subcommands(helps).items():
        if name in ("show", "new"):
            one.add_argument("name", metavar="NAME", help="the agent's name")
        if name == "schema":
            continue
        if name != "new":
            one.add_argument(
                "--folder", type=Path, metavar="DIR", help="default: the current folder"
            )
        one.add_argument("--json", action="store_true", help="print JSON")


async def run(context: CommandContext, options: argparse.Namespace) -> int:
    """List agents, show one, create one, check every agent file, or print their schema."""
    if options.what == "schema":
        from studio.agent.agent_files.keys import json_schema

        context.console.write_json(json_schema(), indent=2)
        return DONE
    engine, console = await context.engine(), context.console
    if options.what == "new":
        return await _new(engine, options, console)
    folder = chosen_folder(options)
    match options.what:
        case "list":
            return await _list(engine, folder, options, console)
        case "show":
            return await _show(engine, folder, options, console)
        case _:
            return await _check(engine, folder, options, console)


async def _list(engine: Engine, folder: Path, options: argparse.Namespace, console: Console) -> int:
    from studio.agent.permission.invisible_characters import escape_invisible

    found = await engine.agents(folder)
    rows = sorted(found.by_name.values(), key=lambda agent: agent.name.casefold())
    if options.json:
        listed = [
            {
                "name": one.name,
                "description": one.description,
                "origin": ORIGINS[one.origin],
                "trusted": one.trusted,
            }
            for one in rows
        ]
        console.write_json({"agents": listed, "problems": list(found.problems)})
        return DONE
    width = max((len(one.name) for one in rows), default=0)
    places = max((len(_origin(one)) for one in rows), default=0)
    for one in rows:
        origin = f"{_origin(one):<{places}}"
        line = f"{one.name:<{width}}  {origin}  {one.description}".rstrip()
        console.row(escape_invisible(line))
    for problem in found.problems:
        console.say(f"Agent skipped: {problem}")
    return DONE


async def _show(engine: Engine, folder: Path, options: argparse.Namespace, console: Console) -> int:
    from studio.agent.permission.invisible_characters import escape_invisible
    from studio.providers.registry import PROVIDER_TITLES

    one = await engine.agent(options.name, folder)
    tools = _tools(engine, one)
    rules = {
        verdict: [str(rule) for rule in one.permissions if rule.verdict == verdict]
        for verdict in ("allow", "ask", "deny")
    }
    if options.json:
        told = {
            **asdict(one),
            "permissions": rules,
            "offered": tools,
            "origin": ORIGINS[one.origin],
        }
        console.write_json(told, indent=2)
        return DONE
    limits = engine.limits(one, one.mode)
    steps = "1 step" if limits.steps == 1 else f"{limits.steps} steps"
    provider = PROVIDER_TITLES.get(one.provider, one.provider)
    facts = {
        "From": f"{_origin(one)}, {one.source}",
        "Model": " on ".join(filter(None, (one.model, provider))) or "your choice",
        "Mode": f"{one.mode}, {steps} and {limits.seconds:g} s at most",
        "May": ROLES[one.role],
        "Tools": ", ".join(tools) or "none",
        "Effort": one.effort or "",
        "Temperature": f"{one.temperature:g}" if one.temperature is not None else "",
        "Caps": _caps(one),
        "Masks": ", ".join(one.mask),
        "Allows": ", ".join(rules["allow"]),
        "Asks": ", ".join(rules["ask"]),
        "Refuses": ", ".join(rules["deny"]),
    }
    for text in filter(None, (one.name, one.description)):
        console.row(text)
        console.write("\n")
    for name, words in facts.items():
        if words:
            console.row(f"{name + ':':<13}{escape_invisible(words)}")
    console.write(f"\n{escape_invisible(one.prompt)}\n")
    return DONE


async def _new(engine: Engine, options: argparse.Namespace, console: Console) -> int:
    import asyncio

    from studio.agent.agent_files.finder import create_agent_file
    from studio.files.folders import private_folder

    folder = await asyncio.to_thread(private_folder, engine.paths.agents)
    known = await engine.agents()
    path = await asyncio.to_thread(create_agent_file, folder, options.name, list(known.by_name))
    if options.json:
        console.write_json({"name": options.name, "file": str(path)})
        return DONE
    console.row(f"{path}")
    console.say("Edit it, then look for mistakes: agent-studio agents check")
    return DONE


async def _check(
    engine: Engine, folder: Path, options: argparse.Namespace, console: Console
) -> int:
    import asyncio

    from studio.agent.agent_files.finder import AgentFiles
    from studio.agent.agent_files.name_check import KnownNames
    from studio.agent.folder_files import AGENT_PLACES
    from studio.providers.registry import PROVIDER_TITLES

    problems: list[str] = []
    hints: list[str] = []
    count = 0
    known = await engine.agents(folder)
    servers = await asyncio.to_thread(engine.services.servers.names, folder)
    names = KnownNames(
        engine.tools(), list(PROVIDER_TITLES), agents=list(known.by_name), servers=servers
    )
    own = (engine.paths.resources / "agents", *engine.paths.agent_places)
    places = [(place, ".md") for place in own]
    places += [(folder / place, ending) for place, ending in AGENT_PLACES]
    for place, ending in dict.fromkeys(places):
        found = await AgentFiles(place).load()
        count += await asyncio.to_thread(_files, place, ending)
        problems += found.problems
        for one in found.by_name.values():
            for problem in await asyncio.to_thread(_mistakes, one, names):
                told = hints if problem.hint else problems
                told.append(f"{one.source}, {problem}")
    problems = list(dict.fromkeys([*problems, *known.problems]))  # also of a name that is taken
    if options.json:
        console.write_json({"files": count, "problems": problems, "hints": hints})
        return USAGE if problems else DONE
    for problem in problems:
        console.row(problem)
    for hint in hints:
        console.say(f"Hint: {hint}")
    if problems:
        return USAGE
    console.say(f"{count} agent files, no mistakes.")
    return DONE


def _files(folder: Path, ending: str) -> int:
    return len(list(folder.glob(f"*{ending}")))


def _mistakes(one: Agent, known: KnownNames) -> tuple[Problem, ...]:
    """Find what an agent names and what does not exist."""
    from studio.agent.agent_files.name_check import check_agent

    path = Path(one.source)
    return check_agent(path.read_text("utf-8-sig"), known, path).problems


def _tools(engine: Engine, one: Agent) -> list[str]:
    """The names of the tools that the model is offered."""
    from studio.agent.permission.policy import Policy

    policy = Policy("ask", {"agent": one.permissions}, role=one.role, tools=one.tools)
    return sorted(name for name, tool in engine.tools().items() if policy.offers(tool.spec))


def _origin(one: Agent) -> str:
    return ORIGINS[one.origin] + ("" if one.trusted else ", not trusted")


def _caps(one: Agent) -> str:
    tokens = f"{one.caps.tokens:,} tokens" if one.caps.tokens else ""
    dollars = f"${one.caps.dollars:,.2f}" if one.caps.dollars else ""
    return ", ".join(filter(None, (tokens, dollars)))
