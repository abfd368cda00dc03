"""``agent-studio templates``: lists, shows and edits templates of messages."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import TYPE_CHECKING

from studio.cli.command_context import CommandContext
from studio.cli.exit_codes import DONE
from studio.cli.parser import CommandParser
from studio.domain.errors import ConfigurationError

if TYPE_CHECKING:
    from studio.cli.console import Console


def arguments(parser: CommandParser) -> None:
    parser.description = (
        "Templates are messages with places such as $input, for run -t NAME. Each is a markdown "
        "file in the folder templates, beside the settings."
    )
    helps = {
        "list": "all templates",
        "show": "print a template",
        "edit": "open one in your editor, $VISUAL or $EDITOR; a new one begins with a sample",
    }
    for name, one in parser.add_subcommands(helps).items():
        if name == "list":
            one.add_argument("--json", action="store_true", help="print JSON")
        else:
            one.add_argument("name", metavar="TEMPLATE")


async def run(context: CommandContext, options: argparse.Namespace) -> int:
    """List templates, print one, or edit one."""
    import asyncio

    from studio.cli.templates import template_path

    folder, console = context.paths.templates, context.console
    if options.what == "list":
        await _list(folder, console, as_json=options.json)
        return DONE
    path = template_path(folder, options.name)
    if options.what == "edit":
        await _edit(context, path)
        return DONE
    try:
        console.write(await asyncio.to_thread(path.read_text, "utf-8-sig"))
    except (OSError, UnicodeDecodeError) as error:
        raise ConfigurationError(f"There is no template {options.name} in {folder}.") from error
    return DONE


async def _list(folder: Path, console: Console, *, as_json: bool) -> None:
    import asyncio

    from studio.cli.templates import read_template, template_names

    names = await asyncio.to_thread(template_names, folder)
    rows: list[dict[str, str]] = []
    for name in names:
        try:
            about = (await asyncio.to_thread(read_template, folder, name)).description
        except ConfigurationError as error:
            console.say(str(error))
            about = ""
        rows.append({"name": name, "description": about})
    if as_json:
        console.write_json(rows)
        return
    width = max(map(len, names), default=0)
    for row in rows:
        console.row(f"{row['name']:<{width}}  {row['description']}".rstrip())
    if not rows:
        console.say("There are no templates yet. To begin one: agent-studio templates edit NAME")


async def _edit(context: CommandContext, path: Path) -> None:
    """Open a template in the person's editor; raises ConfigurationError for mistakes in it."""
    import asyncio

    from studio.cli.drafts_edit import editor_command, run_editor
    from studio.cli.templates import SAMPLE, read_template
    from studio.files.folders import private_folder

    if not context.console.interactive:
        raise ConfigurationError(f"An editor needs a terminal. The template is {path}.")
    editor = editor_command(f"or change {path} yourself")
    engine = await context.engine()
    await asyncio.to_thread(private_folder, path.parent)
    if not path.exists():
        await asyncio.to_thread(path.write_text, SAMPLE, "utf-8")
    await run_editor([*editor, str(path)], engine.environment())
    found = await asyncio.to_thread(read_template, path.parent, path.stem)
    places = " ".join(f"${place}" for place in found.places)
    context.console.say(f"{path}{f': places {places}' if places else ''}")
