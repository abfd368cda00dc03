"""Model names: finds the provider and the model that a name stands for, for every door.

A name is a model's id or ``PROVIDER/ID``. The model that is found has the id that was asked
for: no other model answers in its place.
"""

from __future__ import annotations

import asyncio
import re
import time
from collections.abc import Awaitable, Sequence
from contextlib import suppress
from difflib import get_close_matches
from typing import Protocol

from studio.domain.aio import BackgroundTasks
from studio.domain.errors import ConfigurationError, StudioError
from studio.domain.records import dataclass
from studio.providers.catalogue import Catalogue, Listing
from studio.providers.registry import EMBEDDED, KEYED, PROVIDERS
from studio.storage.config.settings import SettingsFile

from .provider_factory import ProviderFactory

LONGEST = 300
"""Characters of a name; providers have ids of a hundred."""
PATIENCE = 5.0
"""Seconds in which providers may list their models."""
PAUSE = 30.0
"""Seconds in which a provider is not asked again because of a name that it does not list."""
NEAREST = 3
_DATE = re.compile(r"[-@](?:\d{8}|\d{4}-\d\d-\d\d|latest)$")
_LATEST = ":latest"
"""What Ollama adds to a name without a tag."""


class UnknownModel(ConfigurationError):
    """No model has the name. The text says which are near, or what is missing."""


@dataclass(frozen=True, slots=True)
class FoundModel:
    """A provider, and the id of a model there."""

    provider: str
    model: str


class AskForList(Protocol):
    """Brings the list of a provider up to date; with ``refresh`` also one that is new."""

    def __call__(self, name: str, *, refresh: bool) -> Awaitable[Listing]: ...


class ModelNames:
    """Finds models by their names."""

    def __init__(
        self,
        settings: SettingsFile,
        catalogue: Catalogue,
        providers: ProviderFactory,
        ask: AskForList,
    ) -> None:
        self._settings = settings
        self._catalogue = catalogue
        self._providers = providers
        self._ask = ask
        self._asked: dict[str, float] = {}
        self._asking: dict[str, asyncio.Task[None]] = {}
        self._tasks = BackgroundTasks()

    async def find(self, name: str, provider: str = "", *, first: str = "") -> FoundModel:
        """The model of this name: at ``provider``, or at any that is connected.

        Where several have the id, ``first`` comes first, by default the person's provider for
        new chats. What a provider outside this program does not list is asked of it as well,
        if the provider was named: lists are not always complete.

        Raises UnknownModel.
        """
        wanted = name.strip()
        if not wanted or len(wanted) > LONGEST or not wanted.isprintable():
            raise UnknownModel(f"“{_short(name)}” is no name of a model.")
        head, _, rest = wanted.partition("/")
        if head not in PROVIDERS:
            rest = ""
        if provider:
            return await self._at(provider, head, rest, wanted)
        if not rest:
            return await self._anywhere(wanted, first)
        if not await self._providers.is_connected(head):
            for other in await self._connected(first):  # some have ids that look like that
                if self._lists(other, wanted):
                    return FoundModel(other, wanted)
        return await self._at(head, head, rest, wanted)

    async def reachable(self, name: str) -> FoundModel | None:
        """The model of this name at a provider that is connected; None if there is none.

        A name that ends with ``*`` stands for the first listed model that begins so.
        """
        if name.endswith("*"):
            wanted, connected = name[:-1].casefold(), await self._connected("")
            await self._list([one for one in connected if not self._ids(one)])
            found = (
                FoundModel(provider, id_)
                for provider in connected
                for id_ in self._ids(provider)
                if id_.casefold().startswith(wanted)
            )
            return next(found, None)
        try:
            one = await self.find(name)
        except UnknownModel:
            return None
        return one if await self._providers.is_connected(one.provider) else None

    async def close(self) -> None:
        """Ask for no more lists; who is waiting for one goes on without it."""
        await self._tasks.aclose()

    async def hint(self, name: str, provider: str = "") -> str:
        """A sentence with the names of models that are like this one; empty if none is.

        Where none of those that can be used is, those of the other providers are told.
        """
        names = [provider] if provider else await self._connected("")
        others = [] if provider else [one for one in PROVIDERS if one not in names]
        for providers, more in ((names, ""), (others, " (not connected)")):
            if found := self._nearest(name, provider, providers):
                several = "names are" if len(found) > 1 else "name is"
                return f"The nearest {several} {', '.join(found)}{more}."
        return ""

    def _nearest(self, name: str, provider: str, names: Sequence[str]) -> list[str]:
        """The names that are most like this one, of those of some providers."""
        ids = {f"{one}/{id_}".casefold(): f"{one}/{id_}" for one in names for id_ in self._ids(one)}
        bare = {id_.partition("/")[2]: shown for id_, shown in ids.items()}
        wanted = name.casefold().removeprefix(f"{provider}/")
        near = [
            *(bare[one] for one in get_close_matches(wanted, bare, NEAREST)),
            *(ids[one] for one in get_close_matches(wanted, ids, NEAREST)),
        ]
        found = list(dict.fromkeys(near))[:NEAREST]
        if not found and provider in EMBEDDED:
            found = list(ids.values())[:NEAREST]
        return found

    async def _at(self, provider: str, head: str, rest: str, wanted: str) -> FoundModel:
        """The model at a provider that was named; ``head`` may be its name or another’s."""
        if provider not in PROVIDERS:
            known = ", ".join(PROVIDERS)
            raise UnknownModel(f"There is no provider {provider}. Known are {known}.")
        listed = self._lists(provider, wanted)
        if rest and head == provider and not listed:
            wanted = rest
        elif rest and not listed and (provider in KEYED or provider in EMBEDDED):
            raise UnknownModel(
                f"{wanted} is a model of {PROVIDERS[head].title}, not of "
                f"{PROVIDERS[provider].title}. Name one provider."
            )
        if provider in EMBEDDED and not self._lists(provider, wanted):
            await self._list([provider])
            if not self._lists(provider, wanted):
                raise UnknownModel(
                    f"{PROVIDERS[provider].title} has no model {_short(wanted)}. "
                    f"{await self.hint(wanted, provider)}".rstrip()
                )
        return FoundModel(provider, wanted)

    async def _anywhere(self, wanted: str, first: str) -> FoundModel:
        connected = await self._connected(first)
        await self._catalogue.load()
        await self._list(connected[:1], outside=True)
        found = self._found(connected, wanted)
        if found is None:
            await self._list([one for one in connected if one not in EMBEDDED])
            found = self._found(connected, wanted)
        if found is None:
            await self._list([one for one in connected if one in EMBEDDED])
            found = self._found(connected, wanted) or self._dated(connected, wanted)
        if found is None:
            await self._list([one for one in connected if one not in EMBEDDED], again=True)
            found = self._found(connected, wanted)
        if found is not None:
            return found
        missing = self._found(list(PROVIDERS), wanted) or self._dated(list(PROVIDERS), wanted)
        if missing is not None and missing.provider in KEYED:
            raise UnknownModel(
                f"{self._providers.no_key(missing.provider)} It is needed for {wanted}."
            )
        text = f"There is no model {_short(wanted)} here. {await self.hint(wanted)}".rstrip()
        if outside := next((one for one in connected if one not in EMBEDDED), ""):
            text += f" One that is in no list is named with its provider: {outside}/MODEL."
        raise UnknownModel(text)

    async def _connected(self, first: str) -> list[str]:
        """The providers that can be used, the one that is asked first at the top."""
        first = first or self._settings.values.default_provider
        names = sorted(PROVIDERS, key=lambda name: name != first)
        return [name for name in names if await self._providers.is_connected(name)]

    def _found(self, providers: Sequence[str], wanted: str) -> FoundModel | None:
        for name in providers:
            if self._lists(name, wanted):
                return FoundModel(name, wanted)
            if name == "ollama" and self._lists(name, wanted + _LATEST):
                return FoundModel(name, wanted + _LATEST)
        return None

    def _dated(self, providers: Sequence[str], wanted: str) -> FoundModel | None:
        """The provider of a dated name whose undated one is listed, or the reverse."""
        for name in providers:
            if any(_undated(wanted) == _undated(id_) for id_ in self._ids(name)):
                return FoundModel(name, wanted)
        return None

    def _lists(self, provider: str, model: str) -> bool:
        own = self._settings.values.own_models.get(provider, ())
        return model in own or self._catalogue.lists(provider, model)

    def _ids(self, provider: str) -> list[str]:
        listed = [model.id for model in self._catalogue.listing(provider).models]
        return [*listed, *self._settings.values.own_models.get(provider, ())]

    async def _list(
        self, providers: Sequence[str], *, outside: bool = False, again: bool = False
    ) -> None:
        """Ask for lists that are not there yet, for ``PATIENCE`` seconds at the most.

        Who comes while a provider is being asked waits for the same answer.
        ``outside``: only those of other programs and services, and only where nothing is known.
        ``again``: also those that are older than ``PAUSE``, which may lack a new model.
        """
        waiting: list[asyncio.Task[None]] = []
        for name in providers:
            listing = self._catalogue.listing(name)
            old = listing.fetched_at is not None and time.time() - listing.fetched_at >= PAUSE
            known = listing.state == "ready" and not (again and old)
            if known or (outside and (name in EMBEDDED or self._ids(name))):
                continue
            now = time.monotonic()
            if name not in self._asking and (
                listing.state in ("ready", "loading")
                or now - self._asked.get(name, -PAUSE) >= PAUSE
            ):
                self._asked[name] = now
                self._asking[name] = self._tasks.start(self._bring(name, refresh=again))
            if name in self._asking:
                waiting.append(self._asking[name])
        if waiting:
            await asyncio.wait(waiting)

    async def _bring(self, name: str, *, refresh: bool) -> None:
        try:
            with suppress(TimeoutError, StudioError, OSError):
                async with asyncio.timeout(PATIENCE):
                    await self._ask(name, refresh=refresh)
        finally:
            del self._asking[name]


def _undated(name: str) -> str:
    """The name without the date or the word that say which version of a model it is."""
    return _DATE.sub("", name)


def _short(name: str) -> str:
    return name if len(name) <= 100 else f"{name[:99]}…"
