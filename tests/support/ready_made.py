"""What every engine of the tests would make anew and alike: made once in each process of tests.

These are the empty database, the process that starts commands, and the test whether the system's
sandbox works: three quarters of the time of a short turn. Whoever tests one of them makes its own.
"""

from __future__ import annotations

import functools
import sqlite3
from contextlib import closing
from pathlib import Path

from studio.agent.engine import Engine
from studio.app import build
from studio.processes.bubblewrap import Bubblewrap
from studio.processes.keeper import Keeper
from studio.processes.sandbox import Sandbox, find_sandbox
from studio.processes.sandbox_mounts import VisiblePaths
from studio.storage.config.settings import SettingsFile
from studio.storage.connection import Schema
from studio.storage.migrations import MIGRATIONS
from studio.storage.paths import Paths


class _SharedKeeper(Keeper):
    """A keeper that other engines go on using when one closes it."""

    def close(self) -> None:
        return


@functools.cache
def _keeper() -> Keeper:
    return _SharedKeeper()


@functools.cache
def _tested() -> Sandbox:
    return find_sandbox(_keeper())


@functools.cache
def _empty_database() -> bytes:
    with closing(sqlite3.connect(":memory:", isolation_level=None)) as db:
        db.execute("BEGIN")
        Schema(MIGRATIONS).migrate(db)
        db.execute("COMMIT")
        return db.serialize()


def begin_database(paths: Paths) -> None:
    """Put an empty database where there is none yet."""
    if not paths.database.exists():
        paths.data.mkdir(parents=True, exist_ok=True)
        paths.database.touch(0o600)
        paths.database.write_bytes(_empty_database())


async def ready_engine(paths: Paths, settings: SettingsFile) -> Engine:
    """The engine on what is stored there, which starts commands as all others do."""
    begin_database(paths)
    engine = await build(paths, settings)
    services, tested = engine.services, _tested()
    probe = services.sandbox_probe
    services.keeper = probe._keeper = _keeper()
    pool = services.servers.servers
    pool._keeper = pool._programs._keeper = _keeper()
    if isinstance(tested, Bubblewrap):
        places = VisiblePaths(Path.home(), probe._private)
        probe._found = (True, Bubblewrap(tested._program, places, scoped=tested._scoped))
    return engine
