"""``agent-studio agents``: which there are, what one may do, begin one, check them all (T-6)."""

from __future__ import annotations

import argparse
import asyncio
from collections.abc import Callable
from dataclasses import asdict
from pathlib import Path

from studio.agent.agent_files import PROJECT_AGENTS, AgentFiles, create_agent_file
from studio.agent.engine import Engine
from studio.agent.permission.content_filter import kinds_of
from studio.agent.permission.policy import Policy
from studio.cli.console import Console
from studio.cli.exit_codes import DONE, USAGE
from studio.domain.agents import Agent
from studio.domain.errors import ConfigurationError
from studio.domain.models import PROVIDER_TITLES
from studio.domain.permissions import Rule
from studio.storage.paths import private_folder

ROLES = {
    "all": "every tool it has",
    "edits": "reads, drafts of files, notes",
    "notes": "reads, notes",
    "reads": "only reads",
}


async def agents(studio: Engine, options: argparse.Namespace, console: Console) -> int:
    """``list``, ``show``, ``new`` or ``check``."""
    if options.what == "new":
        return await _new(studio, options, console)
    folder: Path = (options.folder or Path.cwd()).resolve()
    if not folder.is_dir():
        raise ConfigurationError(f"The folder {folder} is not there.")
    match options.what:
        case "list":
            return await _list(studio, folder, options, console)
        case "show":
            return await _show(studio, folder, options, console)
        case _:
            return await _check(studio, folder, options, console)


async def _list(studio: Engine, folder: Path, options: argparse.Namespace, console: Console) -> int:
    found = await studio.agents(folder)
    rows = sorted(found.by_name.values(), key=lambda agent: agent.name.casefold())
    if options.json:
        listed = [
            {"name": one.name, "description": one.description, "origin": _origin(studio, one)}
            for one in rows
        ]
        console.write_json({"agents": listed, "problems": list(found.problems)})
        return DONE
    width = max((len(one.name) for one in rows), default=0)
    places = max((len(_origin(studio, one)) for one in rows), default=0)
    for one in rows:
        origin = f"{_origin(studio, one):<{places}}"
        console.write(f"{one.name:<{width}}  {origin}  {one.description}".rstrip() + "\n")
    for problem in found.problems:
        console.say(f"Agent skipped: {problem}")
    return DONE


async def _show(studio: Engine, folder: Path, options: argparse.Namespace, console: Console) -> int:
    one = await studio.agent(options.name, folder)
    tools = _tools(studio, one)
    if options.json:
        fields = asdict(one)
        fields["permissions"] = {
            verdict: [str(rule) for rule in one.permissions if rule.verdict == verdict]
            for verdict in ("allow", "ask", "deny")
        }
        console.write_json({**fields, "offered": tools, "origin": _origin(studio, one)}, indent=2)
        return DONE
    limits = studio.limits(one, one.mode)
    steps = "1 step" if limits.steps == 1 else f"{limits.steps} steps"
    facts = {
        "From": f"{_origin(studio, one)}, {one.source}",
        "Model": " on ".join(
            filter(None, (one.model, PROVIDER_TITLES.get(one.provider, one.provider)))
        )
        or "your choice",
        "Mode": f"{one.mode}, {steps} and {limits.seconds:g} s at most",
        "May": ROLES[one.role],
        "Tools": ", ".join(tools) or "none",
        "Effort": one.effort or "",
        "Temperature": f"{one.temperature:g}" if one.temperature is not None else "",
        "Caps": _caps(one),
        "Masks": ", ".join(one.mask),
        **{
            f"{verdict.capitalize()}s" if verdict != "deny" else "Refuses": ", ".join(
                str(rule) for rule in one.permissions if rule.verdict == verdict
            )
            for verdict in ("allow", "ask", "deny")
        },
    }
    console.write(f"{one.name}\n\n" + (f"{one.description}\n\n" if one.description else ""))
    for name, words in facts.items():
        if words:
            console.write(f"{name + ':':<13}{words}\n")
    console.write(f"\n{one.prompt}\n")
    return DONE


async def _new(studio: Engine, options: argparse.Namespace, console: Console) -> int:
    folder = await asyncio.to_thread(private_folder, studio.paths.agents)
    known = await studio.agents()
    path = await asyncio.to_thread(create_agent_file, folder, options.name, list(known.by_name))
    if options.json:
        console.write_json({"name": options.name, "file": str(path)})
        return DONE
    console.write(f"{path}\n")
    console.say("Edit it, then look for mistakes: agent-studio agents check")
    return DONE


async def _check(
    studio: Engine, folder: Path, options: argparse.Namespace, console: Console
) -> int:
    problems: list[str] = []
    count = 0
    for place in (studio.paths.resources / "agents", studio.paths.agents, folder / PROJECT_AGENTS):
        found = await AgentFiles(place, place / "nowhere").load()
        count += await asyncio.to_thread(_files, place)
        problems += found.problems
        for one in found.by_name.values():
            problems += await asyncio.to_thread(_mistakes, one, set(studio.tools()))
    if options.json:
        console.write_json({"files": count, "problems": problems})
        return USAGE if problems else DONE
    for problem in problems:
        console.write(f"{problem}\n")
    if problems:
        return USAGE
    console.say(f"{count} agent files, no mistakes.")
    return DONE


def _files(folder: Path) -> int:
    return len(list(folder.glob("*.md")))


def _mistakes(one: Agent, tools: set[str]) -> list[str]:
    """What is well written, but names something that is not there."""
    lines = Path(one.source).read_text("utf-8-sig").splitlines()
    found: list[str] = []

    def look(key: str, mistake: Callable[[], str]) -> None:
        if words := mistake():
            number = next((n for n, line in enumerate(lines, 1) if line.startswith(key)), 1)
            found.append(f"{one.source}, line {number}: {words}")

    def provider() -> str:
        known = one.provider in ("", *PROVIDER_TITLES)
        return "" if known else f"there is no provider {one.provider}: {', '.join(PROVIDER_TITLES)}"

    def unknown() -> str:
        names = [name for name in one.tools if name != "*" and name not in tools]
        return f"there is no tool {', '.join(names)}" if names else ""

    def masks() -> str:
        try:
            kinds_of(one.mask)
        except ConfigurationError as error:
            return str(error).rstrip(".")
        return ""

    def rules() -> str:
        names = [rule.tool for rule in one.permissions if _nowhere(rule, tools)]
        return f"a rule is about {', '.join(names)}, and there is no such tool" if names else ""

    look("provider", provider)
    look("tools", unknown)
    look("mask", masks)
    look("permissions", rules)
    return found


def _nowhere(rule: Rule, tools: set[str]) -> bool:
    return rule.tool != "*" and rule.tool not in tools


def _tools(studio: Engine, one: Agent) -> list[str]:
    """Names of the tools that the model is told of."""
    policy = Policy("ask", {"agent": one.permissions}, role=one.role, tools=one.tools)
    return sorted(name for name, tool in studio.tools().items() if policy.offers(tool.spec))


def _origin(studio: Engine, one: Agent) -> str:
    folder = Path(one.source).parent
    if folder == studio.paths.resources / "agents":
        return "built in"
    return "yours" if folder == studio.paths.agents else "this folder"


def _caps(one: Agent) -> str:
    tokens = f"{one.caps.tokens:,} tokens" if one.caps.tokens else ""
    dollars = f"${one.caps.dollars:,.2f}" if one.caps.dollars else ""
    return ", ".join(filter(None, (tokens, dollars)))
