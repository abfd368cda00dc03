"""``agent-studio permissions``: the person's rules, and which folders they trust."""

from __future__ import annotations

import argparse
import json
from pathlib import Path

from studio.agent.permission.rules import Trust, rule_of
from studio.agent.studio import Studio
from studio.domain.errors import ConfigurationError
from studio.domain.permissions import Verdict

from .console import Console
from .exits import DONE

_TRUST: dict[Trust, str] = {
    "nothing": "",
    "untrusted": "What the files in .agents allow does not count: you do not trust this folder.",
    "changed": "The files in .agents changed since you trusted this folder: what they allow "
    "does not count.",
    "trusted": "You trust the files in .agents.",
}


async def permissions(studio: Studio, options: argparse.Namespace, console: Console) -> int:
    """Runs one of the subcommands; raises ConfigurationError for what is wrong."""
    rules = studio.rules
    folder: Path | None = getattr(options, "folder", None)
    if folder is not None and not folder.is_dir() and options.what != "untrust":
        raise ConfigurationError(f"The folder {folder} is not there.")
    match options.what:
        case "list":
            await _list(studio, folder or Path.cwd(), console, as_json=options.json)
        case "add":
            verdict: Verdict = "deny" if options.deny else "ask" if options.ask else "allow"
            rule = rule_of(options.rule, studio.tools(), verdict)
            await rules.add(rule, folder)
            console.say(f"Added: {verdict} {rule}{f' in {folder.resolve()}' if folder else ''}")
        case "remove":
            await rules.remove(options.number)
            console.say(f"Removed: rule {options.number}")
        case "test":
            call = rule_of(options.call, studio.tools())
            target = "" if call.pattern == "*" else call.pattern
            found = await studio.explain(call.tool, target, folder or Path.cwd(), options.agent)
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


async def _list(studio: Studio, folder: Path, console: Console, *, as_json: bool) -> None:
    standing = await studio.rules.list()
    layers = await studio.rules.layers(folder)
    project = layers.rules.get("project", ())
    if as_json:
        rows = [
            {"id": one.id, "verdict": one.rule.verdict, "rule": str(one.rule), "folder": one.folder}
            for one in standing
        ]
        files = [{"verdict": rule.verdict, "rule": str(rule)} for rule in project]
        found = {"rules": rows, "project": files, "trust": layers.trust}
        console.write(f"{json.dumps(found)}\n")
        return
    for one in standing:
        where = f"  in {one.folder}" if one.folder else ""
        console.write(f"{one.id:4}  {one.rule.verdict:5}  {one.rule}{where}\n")
    for rule in project:
        console.write(f"   –  {rule.verdict:5}  {rule}  in this folder’s .agents\n")
    if not standing and not project:
        console.say("There are no rules yet.")
    if text := layers.notice or _TRUST[layers.trust]:
        console.say(text)
