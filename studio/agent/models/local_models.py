"""Local models: model files of this computer, fetched, listed and deleted, by the settings."""

from __future__ import annotations

import asyncio
import os
import shutil
from collections.abc import Callable, Mapping
from contextlib import suppress
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING

from studio.domain.errors import ConfigurationError
from studio.domain.records import dataclass
from studio.providers.model_files import TOKEN
from studio.storage.config.keychain import Keychain
from studio.storage.config.settings import SettingsFile
from studio.storage.paths import Paths

if TYPE_CHECKING:
    from studio.providers.computer_memory import Memory
    from studio.providers.model_files.downloads import Downloads
    from studio.providers.model_files.folder import BegunFile, ModelFile, Source
    from studio.providers.model_files.hub import Hub, HubModel, Recommended

BUILT_IN = "builtin"
"""The provider that runs these files."""


@dataclass(frozen=True, slots=True)
class Machine:
    """What this computer has; ``memory`` is None where it cannot be told, bytes of disk too."""

    cores: int
    memory: Memory | None
    disk_free: int | None


class LocalModels:
    """The folder of model files. What it needs is imported when it is first asked.

    ``environment`` makes that of child processes, without keys.
    """

    def __init__(
        self,
        paths: Paths,
        settings: SettingsFile,
        keychain: Keychain,
        environment: Callable[[], Mapping[str, str]],
    ) -> None:
        self._paths = paths
        self._settings = settings
        self._keychain = keychain
        self._environment = environment

    @property
    def folder(self) -> Path:
        """Where files are fetched to: the person's choice, else the program's own."""
        chosen = self._settings.values.models_folder
        return Path(chosen) if chosen else self._paths.model_files

    def set_folder(self, folder: Path) -> None:
        """Fetch to this folder from now on; files in another stay where they are."""
        own = folder == self._paths.model_files
        self._settings.values.models_folder = "" if own else str(folder)

    @cached_property
    def downloads(self) -> Downloads:
        """Those since the program began."""
        from studio.providers.model_files.downloads import Downloads

        return Downloads(self._environment())

    @cached_property
    def _hub(self) -> Hub:
        from studio.providers.model_files.hub import Hub

        return Hub()

    async def files(self) -> tuple[list[ModelFile], list[BegunFile]]:
        """Files that can be run, and downloads that were begun."""

        def look(folder: Path) -> tuple[list[ModelFile], list[BegunFile]]:
            from studio.providers.model_files.folder import begun_files, model_files

            return model_files(folder), begun_files(folder)

        return await asyncio.to_thread(look, self.folder)

    async def search(self, words: str) -> list[HubModel]:
        """Raises HubProblem."""
        hub = await asyncio.to_thread(lambda: self._hub)
        return await hub.search(words, await self._token())

    async def find(self, name: str) -> Source:
        """The file that ``OWNER/REPOSITORY`` offers, or ``OWNER/REPOSITORY/FILE`` itself.

        Raises ConfigurationError and HubProblem.
        """
        from studio.providers.model_files.folder import Source, title_of

        owner, _, rest = name.strip().strip("/").partition("/")
        repo, _, file = rest.partition("/")
        if not owner or not repo:
            raise ConfigurationError(
                "Name a repository of Hugging Face, Qwen/Qwen3-4B-GGUF for example."
            )
        if not file:
            hub = await asyncio.to_thread(lambda: self._hub)
            return await hub.offered(f"{owner}/{repo}", await self._token())
        source = Source(f"{owner}/{repo}", file, title=title_of(repo))
        try:
            _ = source.name
        except ValueError as error:
            raise ConfigurationError(f"{file} is no GGUF file.") from error
        return source

    async def recommended(self) -> Recommended:
        """The list that ships; raises ConfigurationError if it is damaged."""

        def read() -> Recommended:
            from studio.providers.model_files.hub import recommended

            return recommended(self._paths.resources / "local_models.json")

        try:
            return await asyncio.to_thread(read)
        except (OSError, ValueError) as error:
            raise ConfigurationError("The list of recommended models cannot be read.") from error

    async def machine(self) -> Machine:
        return await asyncio.to_thread(_machine, self.folder)

    async def get(self, source: Source) -> None:
        """Begin a download, or go on with one; ``downloads`` tells of it."""
        token = await self._token()
        self.downloads.start(source, self.folder, token)

    async def delete(self, path: Path) -> None:
        """Delete a file and its record; settings that name it forget it. Raises OSError."""
        from studio.providers.model_files.folder import SUFFIX, delete

        await asyncio.to_thread(delete, path)
        values = self._settings.values
        if values.builtin_model == str(path):
            values.builtin_model = ""
        if values.default_model.get(BUILT_IN) == path.name.removesuffix(SUFFIX):
            del values.default_model[BUILT_IN]

    async def aclose(self) -> None:
        """End downloads; what was fetched is kept."""
        if "downloads" in self.__dict__:
            await self.downloads.aclose()

    async def _token(self) -> str:
        return await self._keychain.get(TOKEN) or ""


def _machine(folder: Path) -> Machine:
    from studio.providers.computer_memory import Memory

    free = None
    for place in (folder, *folder.parents):
        if place.is_dir():
            with suppress(OSError):
                free = shutil.disk_usage(place).free
            break
    return Machine(os.cpu_count() or 1, Memory.of_this_computer(), free)
