"""``agent-studio workflow``: checks workflow files, prints the schema of their format (W-69)."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import TYPE_CHECKING

from studio.cli.command_context import CommandContext
from studio.cli.exit_codes import DONE, USAGE
from studio.cli.parser import CommandParser
from studio.domain.errors import ConfigurationError

if TYPE_CHECKING:
    from studio.agent.frontmatter import Problem
    from studio.cli.console import Console
    from studio.workflows.workflow_check import KnownNames


def arguments(parser: CommandParser) -> None:
    helps = {
        "check": "look for mistakes in workflow files",
        "schema": "print the JSON Schema of a workflow's frontmatter, for editors",
    }
    found = parser.add_subcommands(helps)
    check = found["check"]
    check.add_argument("files", nargs="+", type=Path, metavar="FILE", help="a workflow's file")
    check.add_argument("--folder", type=Path, metavar="DIR", help="default: the current folder")
    check.add_argument("--json", action="store_true", help="print JSON")


async def run(context: CommandContext, options: argparse.Namespace) -> int:
    """Check workflow files, or print the schema of their format."""
    console = context.console
    if options.what == "schema":
        from studio.workflows.reader import json_schema

        console.write_json(json_schema(), indent=2)
        return DONE
    folder: Path = (options.folder or Path.cwd()).resolve()
    if not folder.is_dir():
        raise ConfigurationError(f"The folder {folder} is not there.")
    return await _check(context, folder, options, console)


async def _check(
    context: CommandContext, folder: Path, options: argparse.Namespace, console: Console
) -> int:
    import asyncio

    from studio.workflows.workflow_check import KnownNames

    engine = await context.engine()
    agents = await engine.agents(folder)
    known = KnownNames(list(agents.by_name), tools=list(engine.tools()))
    found = {path: await asyncio.to_thread(_problems, path, known) for path in options.files}
    if options.json:
        console.write_json(
            {
                str(path): [
                    {
                        "line": one.line,
                        "column": one.column,
                        "message": one.message,
                        "fix": one.fix,
                        "warning": one.warning,
                    }
                    for one in problems
                ]
                for path, problems in found.items()
            }
        )
    else:
        for path, problems in found.items():
            for one in problems:
                kind = "warning: " if one.warning else ""
                console.row(f"{path}:{one.line}:{one.column}: {kind}{one.message}")
    errors = sum(not one.warning for problems in found.values() for one in problems)
    if not any(found.values()) and not options.json:
        files = "1 workflow file" if len(found) == 1 else f"{len(found)} workflow files"
        console.say(f"{files}, no mistakes.")
    return USAGE if errors else DONE


def _problems(path: Path, known: KnownNames) -> tuple[Problem, ...]:
    """Raises ConfigurationError for a file that cannot be read."""
    from studio.workflows.reader import read_workflow_text
    from studio.workflows.workflow_check import check_workflow

    try:
        text = path.read_text("utf-8-sig")
    except OSError as error:
        raise ConfigurationError(f"{path} cannot be read: {error.strerror}.") from error
    except UnicodeDecodeError as error:
        raise ConfigurationError(f"{path} is not a text in UTF-8.") from error
    return check_workflow(read_workflow_text(text, path.stem, str(path)), known).problems
