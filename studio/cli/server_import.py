"""Lists and takes the MCP servers that other programs know (M-23)."""

from __future__ import annotations

import asyncio
import os
import sys
from argparse import Namespace
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from studio.domain.errors import ConfigurationError, StudioError
from studio.files.unpacking import UnpackError

from .exit_codes import DONE, USAGE

if TYPE_CHECKING:
    from studio.agent.engine import Engine
    from studio.mcp.importing.formats import ForeignFile
    from studio.mcp.importing.found import Found

    from .console import Console


async def import_servers(
    engine: Engine, options: Namespace, console: Console, folder: Path | None
) -> int:
    """List what other programs know, or take what is named; their files stay as they are.

    Raises ConfigurationError where the keychain refuses a key: nothing is written then.
    """
    from studio.mcp.importing.taking import same_server, take

    bundles = engine.services.servers.servers.bundles
    files = await asyncio.to_thread(_files, options.file, folder, bundles)
    known = [*(await engine.services.servers.refresh()).by_name.values()]
    found = [one for file in files for one in file.found]
    here = [any(same_server(one.entry, entry) for entry in known) for one in found]
    if not options.names and not options.all:
        return _list(files, found, here, console, as_json=options.json)
    names = {one.entry.name for one in found}
    if missing := [name for name in options.names if name not in names]:
        listed = ", ".join(sorted(names)) or "none"
        raise ConfigurationError(f"No other program knows {', '.join(missing)}. Known: {listed}.")
    chosen = [
        one
        for one, is_here in zip(found, here, strict=True)
        if not is_here and (options.all or one.entry.name in options.names)
    ]

    async def keep(name: str, secret: str) -> None:
        try:
            await engine.keep_key(name, secret)
        except StudioError as error:
            raise ConfigurationError(f"{error} Nothing of it was imported.") from error

    try:
        entries = await take(chosen, engine.services.servers.file, keep)
    except UnpackError as error:
        raise ConfigurationError(f"{error} Nothing of it was imported.") from error
    if options.json:
        console.write_json([entry.name for entry in entries])
    else:
        for entry in entries:
            console.row(f"{entry.name}: imported, and off")
        if entries:
            console.say("Look at one and switch it on: agent-studio mcp on NAME")
    for one in chosen:
        if one.problem:
            console.say(f"{one.entry.name} is left out: {one.problem}")
    return DONE if entries or not any(one.problem for one in chosen) else USAGE


def _files(file: Path | None, folder: Path | None, bundles: Path) -> list[ForeignFile]:
    from studio.mcp.importing.formats import find_files, read_path
    from studio.mcp.importing.found import Surroundings

    around = Surroundings(Path.home(), dict(os.environ), sys.platform, folder, bundles)
    return [read_path(file, around)] if file is not None else find_files(around)


def _list(
    files: Sequence[ForeignFile],
    found: Sequence[Found],
    here: Sequence[bool],
    console: Console,
    *,
    as_json: bool,
) -> int:
    states = {id(one): is_here for one, is_here in zip(found, here, strict=True)}
    if as_json:
        console.write_json(
            [
                {
                    "program": file.title,
                    "file": str(file.path),
                    "name": one.entry.name,
                    "runs": one.entry.shown,
                    "here": states[id(one)],
                    "missing": [gap.name for gap in one.missing],
                    "left_out": list(one.omitted),
                    "problem": one.problem,
                }
                for file in files
                for one in file.found
            ],
            indent=2,
        )
        return DONE
    for file in files:
        console.row(f"{file.title}  {file.path}")
        if file.problem:
            console.say(file.problem)
        for one in file.found:
            mark = "here already" if states[id(one)] else one.problem or one.entry.shown
            console.row(f"  {one.entry.name}  {mark}")
            for gap in one.missing:
                console.row(f"    ! {gap.name} is missing")
            if one.omitted:
                console.row(f"    ! Left out: {', '.join(one.omitted)}")
    if not files:
        console.say("No other program on this computer has servers.")
    else:
        console.say("Take some: agent-studio mcp import NAME, or --all")
    return DONE
