"""Pack keys: encrypts the records of a pack, shows and takes their key (KZ-44)."""

from __future__ import annotations

import argparse
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import TYPE_CHECKING

from studio.cli.exit_codes import DENIED, DONE
from studio.domain.errors import ConfigurationError
from studio.processes.daemon_thread import in_daemon_thread
from studio.storage.pack_key import from_paper, is_encrypted, on_paper
from studio.storage.pack_records import PackRecords

if TYPE_CHECKING:
    from studio.agent.engine import Engine

    from .console import Console


async def change_key(engine: Engine, console: Console, options: argparse.Namespace) -> int:
    """Do what ``packs encrypt``, ``decrypt`` and ``key`` say."""
    console.require_a_person()
    records, sealed = await in_daemon_thread(lambda: _records(engine, options.id))
    words, file = records.words, records.path

    def sheet(key: str) -> str:
        return words.sheet.format(file=file, key=on_paper(key))

    if options.what == "encrypt":
        key = await in_daemon_thread(lambda: records.encrypt(sealed(), anew=options.new_key))
        names = await in_daemon_thread(lambda: _plain_copies(file))
        copies = words.copies.format(names=", ".join(names)) if names else ""
        told = "\n\n".join(filter(None, (sheet(key), words.outside, copies)))
        if options.json:
            console.write_json({"id": options.id, "encrypted": True, "copies": names})
        console.say(told) if options.json else console.write(f"{told}\n")
    elif options.what == "decrypt":
        question = f"Have the records of {options.id} in {file} unencrypted?"
        if not await console.agrees(question, options):
            return DENIED
        await in_daemon_thread(records.decrypt)
        console.say(f"{options.id}: its records are not encrypted now")
    elif options.show:
        console.write(sheet(await in_daemon_thread(records.key)) + "\n")
    else:
        try:
            key = from_paper(await _typed(console))
        except ValueError as error:
            raise ConfigurationError(words.mistyped) from error
        await in_daemon_thread(lambda: records.take_key(key, sealed()))
        console.say(f"{options.id}: its key is in the keychain")
    return DONE


def _plain_copies(file: Path) -> list[str]:
    """The copies beside a database from before it was encrypted. Blocks."""
    found = file.parent.glob(f"{file.name}.before-*")
    return sorted(one.name for one in found if not is_encrypted(one))


async def _typed(console: Console) -> str:
    from studio.cli.console import read_stdin

    if console.interactive:
        return await console.secret("Key, not shown: ") or ""
    return (await read_stdin()).decode("utf-8", "replace")


def _records(engine: Engine, pack: str) -> tuple[PackRecords, Callable[[], Iterable[Path]]]:
    """The records of a pack that is on and runs in the program, and what says which files are
    sealed; raises ConfigurationError."""
    home = engine.services.packs.homes.get(pack)
    records = home.records if home is not None else None
    if home is None or not isinstance(records, PackRecords):
        raise ConfigurationError(
            f"{pack} is not on, keeps no records, or runs in a process of its own, which never "
            "gets a key."
        )
    find = home.loaded.pack.sealed
    return records, lambda: find(home) if find is not None else ()
