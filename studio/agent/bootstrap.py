"""The bootstrap: opens what is stored, builds all parts and puts them into the engine.

Importing this takes longer than showing an empty window, so it is imported in a
thread, see ``studio.app.build``.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from pathlib import Path
from sqlite3 import Connection
from typing import TYPE_CHECKING

from studio.domain.errors import StorageError
from studio.processes.environment import child_environment
from studio.providers.base import Provider
from studio.providers.catalogue import Catalogue
from studio.providers.http import Http
from studio.providers.local_model import has_weights
from studio.providers.model_facts import load_snapshot
from studio.providers.model_files import TOKEN, TOKEN_VARIABLES
from studio.providers.registry import KEY_VARIABLES
from studio.storage.config.key_command import KeyCommands
from studio.storage.config.keychain import Keychain
from studio.storage.config.settings import SettingsFile
from studio.storage.database import Database
from studio.storage.migrations import MIGRATIONS
from studio.storage.paths import Paths

from .engine import Engine
from .extension_sources import ExtensionSources
from .models.local_models import BUILT_IN
from .models.provider_factory import EmbeddedProvider, ProviderFactory

if TYPE_CHECKING:
    from studio.providers.demo.adapter import DemoProvider
    from studio.simulator import Simulator
    from studio.storage.recovery.salvage import Losses


def mend_sessions(db: Connection, losses: Losses) -> str:
    """Mend the chats of a damaged database; imported only then."""
    from studio.storage.sessions.mending import mend

    return mend(db, losses)


async def build(paths: Paths, settings: SettingsFile, sources: ExtensionSources) -> Engine:
    """Open what is stored and make every piece; raises StorageError.

    ``sources`` finds and runs what others bring.
    """
    try:
        await asyncio.to_thread(paths.create)
    except OSError as error:
        if not paths.data.is_dir():
            raise StorageError(
                f"The folder {paths.data} cannot be made: {error.strerror}. "
                "The variable AGENT_STUDIO_HOME can name another place."
            ) from error
    settings.values.forget_folders(paths.owns)  # earlier versions kept the demo's among them
    database = Database(paths.database, MIGRATIONS, mend=mend_sessions)
    await database.open()
    http = Http()
    keychain = Keychain(
        variables={**KEY_VARIABLES, TOKEN: TOKEN_VARIABLES},
        commands=KeyCommands(lambda: settings.values.key_command),
    )
    made, snapshot = await asyncio.to_thread(load_snapshot, paths.resources / "models.json")
    if not has_weights():  # the light package has neither them nor an engine for them
        snapshot = {name: models for name, models in snapshot.items() if name != BUILT_IN}
    catalogue = Catalogue(
        paths.models, snapshot, own=lambda name: settings.values.model_facts(name)
    )
    local = {"simulator": _demo(http), "builtin": _builtin(paths, settings, keychain)}
    engine = Engine(
        paths=paths,
        settings=settings,
        keychain=keychain,
        database=database,
        catalogue=catalogue,
        providers=ProviderFactory(settings, keychain, http, local),
        snapshot_date=made,
        sources=sources,
    )
    await asyncio.to_thread(engine.services.prepare_tools)
    return engine


def _demo(http: Http) -> EmbeddedProvider:
    """The simulator inside this program, started with the first request."""
    running: list[tuple[Provider, Simulator]] = []

    def load() -> tuple[Simulator, type[DemoProvider]]:
        from studio.providers.demo.adapter import DemoProvider
        from studio.simulator import Simulator, demo_script

        return Simulator(demo_script, seed=None), DemoProvider

    async def start() -> Provider:
        """Raises OSError if this computer gives no port on loopback."""
        if not running:
            simulator, make = await asyncio.to_thread(load)
            await simulator.start()
            running.append((make(simulator.url("chat"), http), simulator))
        return running[0][0]

    async def stop() -> None:
        while running:
            await running.pop()[1].stop()

    return EmbeddedProvider(start, stop)


def _builtin(paths: Paths, settings: SettingsFile, keychain: Keychain) -> EmbeddedProvider:
    """The built-in model, in a child process that starts with the first request."""
    made: list[tuple[tuple[str, str], Provider, Callable[[], Awaitable[None]]]] = []

    def make(chosen: str, folder: str) -> tuple[Provider, Callable[[], Awaitable[None]]]:
        from studio.providers.local_model.adapter import LocalModelProvider, ModelProcess

        path = Path(chosen) if chosen else None
        environment = child_environment(secrets=keychain.known())
        model = ModelProcess(path, paths.resources, environment)
        provider = LocalModelProvider(model, Path(folder) if folder else paths.model_files)
        return provider, provider.aclose

    async def start() -> Provider:
        chosen = (settings.values.builtin_model, settings.values.models_folder)
        if made and made[0][0] != chosen:
            await stop()
        if not made:  # the first time imports it
            made.append((chosen, *await asyncio.to_thread(make, *chosen)))
        return made[0][1]

    async def stop() -> None:
        while made:
            await made.pop()[2]()

    return EmbeddedProvider(start, stop)
