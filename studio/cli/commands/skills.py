"""``agent-studio skills``: lists, shows, checks, begins and imports skills, allows wishes."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from studio.cli.command_context import CommandContext, chosen_folder
from studio.cli.exit_codes import DONE, USAGE
from studio.cli.parser import CommandParser
from studio.domain.errors import ConfigurationError

if TYPE_CHECKING:
    from studio.agent.engine import Engine
    from studio.agent.permission.wishes import Wish
    from studio.cli.console import Console
    from studio.domain.extensions import Extension, Extensions


def arguments(parser: CommandParser) -> None:
    parser.description = (
        "Skills are instructions that an agent opens when a task fits, commands are messages that "
        "you call by /name. A folder's own count once you trust it."
    )
    helps = {
        "list": "all skills and commands that can be used in a folder",
        "show": "print one, with where it is from and what it would like to use",
        "allow": "allow what its allowed-tools wish for, without a question, as rules of yours",
        "revoke": "take these rules back",
        "check": "look for mistakes in every file, also in a folder that you do not trust",
        "new": "create a skill of your own, or with --here one of the folder's",
        "import": "copy the skills in a folder or a zip file to your own, or with --here here",
    }
    for name, one in parser.add_subcommands(helps).items():
        if name in ("show", "allow", "revoke", "new"):
            one.add_argument("name", metavar="NAME", help="its name, without the slash")
        if name == "import":
            one.add_argument("source", type=Path, metavar="PATH", help="a folder or a zip file")
        if name in ("new", "import"):
            one.add_argument("--here", action="store_true", help="in the folder's .agents/skills")
        one.add_argument("--folder", type=Path, metavar="DIR", help="default: the current folder")
        one.add_argument("--json", action="store_true", help="print JSON")


async def run(context: CommandContext, options: argparse.Namespace) -> int:
    """List skills and commands, show one, decide about its wish, check all, or begin a skill."""
    import asyncio

    from studio.agent.permission.wishes import wish_of

    folder = chosen_folder(options)
    engine, console = await context.engine(), context.console
    if options.what == "import":
        from studio.extensions.skill_importing import import_skills

        place = _place(engine, folder, here=options.here)
        done = await asyncio.to_thread(import_skills, options.source, place)
        if options.json:
            console.write_json({"copied": list(done.names), "problems": list(done.problems)})
        else:
            copied = ", ".join(done.names) or "nothing"
            console.say("\n".join((f"Copied: {copied}", *done.problems)))
        return DONE
    if options.what == "new":
        from studio.extensions.new_skill import write_skill

        place = _place(engine, folder, here=options.here)
        path = await asyncio.to_thread(write_skill, place, options.name)
        if options.json:
            console.write_json({"name": options.name, "path": str(path)})
        else:
            console.say(f"Written: {path}. Say in it what to do, and when.")
        return DONE
    if options.what == "check":
        found = await asyncio.to_thread(engine.services.sources.extensions, folder, True)
        return _check(found, console, as_json=options.json)
    found = (await engine.services.extensions(folder)).without_prompts
    if options.what == "list":
        await _list(engine, folder, found, console, as_json=options.json)
        return DONE
    one = _called(found, options.name)
    wish = wish_of(one, engine.tools(), folder)
    if options.what != "show":
        await _decide(engine, wish, console, allow=options.what == "allow")
    if options.json:
        console.write_json({**_facts(one), **await _wish_facts(engine, wish), "body": one.body})
    elif options.what == "show":
        _show(one, await _wish_lines(engine, wish), console)
    else:
        console.say("\n".join(await _wish_lines(engine, wish)))
    return DONE


def _place(engine: Engine, folder: Path, *, here: bool) -> Path:
    """Where new skills are written: to the folder's, or to the person's own."""
    return folder / ".agents" / "skills" if here else engine.paths.config / "skills"


async def _list(
    engine: Engine, folder: Path, found: Extensions, console: Console, *, as_json: bool
) -> None:
    if as_json:
        console.write_json([_facts(one) for one in found.found])
        return
    names = [f"/{one.name}" for one in found.found]
    width = max(map(len, names), default=0)
    for name, one in zip(names, found.found, strict=True):
        whose = "this folder’s " if one.place == "folder" else ""
        whose = f"the pack {one.pack}’s " if one.pack else whose
        console.row(f"{name:<{width}}  {whose}{one.kind}: {one.description}".rstrip())
    if not names:
        console.say("There are no skills or commands. To begin one: agent-studio skills new NAME")
    layers = await engine.rules.layers(folder)
    if layers.trust in ("untrusted", "changed") and layers.files.prose:
        console.say("What this folder brings is left out: you do not trust it.")
    if left := sum(one.left_out for one in found.findings):
        console.say(f"{left} left out. Why: agent-studio skills check")


def _called(found: Extensions, name: str) -> Extension:
    one = found.get(name.lstrip("/"))
    if one is None:
        known = ", ".join(one.name for one in found.found) or "none"
        raise ConfigurationError(f"There is no skill or command {name}. Known are: {known}.")
    return one


async def _decide(engine: Engine, wish: Wish, console: Console, *, allow: bool) -> None:
    """Make rules of a wish, or take them back."""
    if not allow:
        await wish.take_back(engine.rules)
        return
    console.require_a_person()
    if not wish.rules:
        raise ConfigurationError("It wishes for nothing that could be a rule.")
    if asking := await wish.overruled(engine.rules):
        console.say(f"This counts over rules of yours that ask: {', '.join(map(str, asking))}")
    await wish.give(engine.rules)
    if wish.warning:
        console.say(wish.warning)


async def _wish_lines(engine: Engine, wish: Wish) -> list[str]:
    """What is allowed of a wish, what is not, and what cannot be; none where it has no wish."""
    from studio.agent.permission.invisible_characters import escape_line

    given = [str(one.rule) for one in await wish.given(engine.rules)]
    open_ = [str(one) for one in wish.rules if str(one) not in given]
    where = f" in {wish.folder}" if wish.folder else ""
    facts = (
        (f"Allowed without a question{where}", given),
        ("Would like to use without a question", open_),
        ("Has no counterpart here", [escape_line(one) for one in wish.unknown]),
    )
    lines = [f"{about}: {', '.join(words)}" for about, words in facts if words]
    return lines or ["It wishes for nothing."]


async def _wish_facts(engine: Engine, wish: Wish) -> dict[str, object]:
    return {
        "rules": [str(one) for one in wish.rules],
        "allowed": [str(one.rule) for one in await wish.given(engine.rules)],
        "without_counterpart": list(wish.unknown),
    }


def _show(one: Extension, wish: Sequence[str], console: Console) -> None:
    console.row(f"/{one.name} {one.hint}".rstrip())
    console.row(one.description)
    console.row(one.path)
    if one.wishes:
        for line in wish:
            console.row(line)
        console.say(f"A wish allows nothing. To allow it: agent-studio skills allow {one.name}")
    console.write(f"\n{one.body}")
    console.end_line()


def _check(found: Extensions, console: Console, *, as_json: bool) -> int:
    if as_json:
        console.write_json(
            [
                {"path": one.path, "problem": one.words, "left_out": one.left_out}
                for one in found.findings
            ]
        )
    else:
        for one in found.findings:
            console.row(f"{one}{' (left out)' if one.left_out else ''}")
        skills, all_ = len(found.skills), len(found.found)
        both = f"{_count(skills, 'skill')} and {_count(all_ - skills, 'command')}"
        console.say(f"{both} can be used.")
    return USAGE if any(one.left_out for one in found.findings) else DONE


def _count(number: int, name: str) -> str:
    return f"{number} {name}{'' if number == 1 else 's'}"


def _facts(one: Extension) -> dict[str, object]:
    return {
        "name": one.name,
        "kind": one.kind,
        "description": one.description,
        "path": one.path,
        "place": one.place,
        "pack": one.pack,
        "argument_hint": one.hint,
        "for_model": one.for_model,
        "for_person": one.for_person,
        "wishes": list(one.wishes),
    }
