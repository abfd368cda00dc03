"""The model catalogue: asks providers for their models and caches the lists (P-3).

There is one ``Listing`` for each provider. It is never empty because an answer is
missing: while a refresh runs it is the last list for this key, and after any failure
the list built into the program, with the reason.
"""

from __future__ import annotations

import asyncio
import hashlib
import json
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import Literal, Protocol, TypeAlias

from studio.domain.aio import BackgroundTasks
from studio.domain.codec import encode
from studio.domain.errors import StudioError
from studio.domain.models import ModelInfo
from studio.domain.records import dataclass
from studio.files.atomic_write import write_atomically

from .model_facts import apply_own_facts, fill_missing_facts, is_retired, listable, read_model

ListingState: TypeAlias = Literal["idle", "loading", "ready", "failed"]
Own: TypeAlias = Callable[[str], Mapping[str, ModelInfo]]
"""Of a provider: the person's own entries by the model's id, None where they say nothing."""
FAILED_REST = 30.0
"""Seconds in which programs do not ask again of their own accord for a list that failed."""
KEPT_KEYS = 4
"""Lists remembered for each provider: one for each of the last keys."""


class Lister(Protocol):
    """What the catalogue needs of a provider."""

    async def prepare(self) -> None: ...
    async def models(self) -> list[ModelInfo]: ...


@dataclass(frozen=True, slots=True)
class Listing:
    """The models of one provider as they are known now.

    ``reason`` says why the list is the built-in or a remembered one. Times are
    the clock's: when the list was fetched, when the running refresh began, when it failed.
    """

    models: tuple[ModelInfo, ...] = ()
    state: ListingState = "idle"
    reason: str = ""
    fetched_at: float | None = None
    started_at: float | None = None
    failed_at: float | None = None


@dataclass(frozen=True, slots=True)
class _Cached:
    models: tuple[ModelInfo, ...]
    fetched_at: float


def key_digest(name: str, key: str, address: str = "") -> str:
    """The digest that stands for a key in the cache; the key cannot be read from it."""
    return hashlib.sha256("\0".join((name, address, key)).encode()).hexdigest()


class Catalogue:
    """Listings of all providers; belongs to one event loop.

    ``snapshot`` holds the built-in models by provider, ``own`` gives the person's
    entries as they are now. ``debounce``, ``max_age`` and ``patience`` (the
    longest wait for an answer) are in seconds.
    """

    def __init__(
        self,
        cache_file: Path,
        snapshot: Mapping[str, Sequence[ModelInfo]],
        clock: Callable[[], float] = time.time,
        debounce: float = 0.5,
        max_age: float = 300.0,
        patience: float = 10.0,
        own: Own = lambda name: {},
    ) -> None:
        self._file = cache_file
        self._built_in = {
            name: tuple(replace(model, source="built-in") for model in models)
            for name, models in snapshot.items()
        }
        self._clock = clock
        self._debounce = debounce
        self._max_age = max_age
        self._patience = patience
        self._own = own
        self._listings: dict[str, Listing] = {}
        self._cache: dict[str, dict[str, _Cached]] = {}
        self._digests: dict[str, str] = {}
        self._tasks: dict[str, asyncio.Task[None]] = {}
        self._background = BackgroundTasks()
        self._subscribers: list[Callable[[str], None]] = []
        self._loaded: asyncio.Task[None] | None = None
        self._disk = asyncio.Lock()

    def listing(self, name: str) -> Listing:
        """What is known of a provider's models now, the person's own among them.

        Those that the provider has retired are left out, unless the person
        has an entry for them.
        """
        listing, own = self._shown(name), self._own(name)
        today = self._today()
        models = [
            apply_own_facts(model, own.get(model.id))
            for model in listing.models
            if model.id in own or not is_retired(model, today)
        ]
        listed = {model.id for model in models}
        models += [self._unlisted(name, id_) for id_ in own if id_ not in listed]
        return replace(listing, models=tuple(models))

    def lists(self, name: str, model_id: str) -> bool:
        """Whether the listing has a model."""
        if model_id in self._own(name):
            return True
        for model in self._shown(name).models:
            if model.id == model_id:
                return not is_retired(model, self._today())
        return False

    def chosen(self, name: str, model_id: str) -> tuple[ModelInfo, ...]:
        """The provider's models, the chosen one among them even if nobody lists it."""
        models = self.listing(name).models
        if not model_id or any(model.id == model_id for model in models):
            return models
        return (self.model(name, model_id), *models)

    def model(self, name: str, model_id: str) -> ModelInfo:
        """The facts about one model; an unknown model is its id and nothing more (P-5)."""
        for model in (*self._shown(name).models, *self._built_in.get(name, ())):
            if model.id == model_id:
                return apply_own_facts(model, self._own(name).get(model_id))
        return self._unlisted(name, model_id)

    def failed_lately(self, name: str) -> bool:
        """Whether a list failed so short ago that it would most likely fail again."""
        failed = self._shown(name).failed_at
        return failed is not None and 0 <= self._clock() - failed < FAILED_REST

    def _today(self) -> str:
        return time.strftime("%Y-%m-%d", time.gmtime(self._clock()))

    def _shown(self, name: str) -> Listing:
        """The provider's own list, or the built-in one."""
        return self._listings.get(name) or self._listed(name, None)

    def _unlisted(self, name: str, model_id: str) -> ModelInfo:
        """A model that is in no list, with what the person entered about it."""
        model = fill_missing_facts(
            ModelInfo(model_id, source="yours"), self._built_in.get(name, ())
        )
        return apply_own_facts(model, self._own(name).get(model_id))

    def subscribe(self, callback: Callable[[str], None]) -> Callable[[], None]:
        """Call ``callback(provider)`` after each change; returns what ends that."""
        self._subscribers.append(callback)

        def unsubscribe() -> None:
            if callback in self._subscribers:
                self._subscribers.remove(callback)

        return unsubscribe

    def key_typed(self, name: str, make: Callable[[], Lister], key: str, address: str = "") -> None:
        """The key (or address) in the settings changed; asks once the typing rests."""
        self._begin(name, make, key_digest(name, key, address), self._debounce, force=False)

    def refresh(
        self,
        name: str,
        make: Callable[[], Lister],
        key: str,
        force: bool = False,
        address: str = "",
    ) -> None:
        """Ask now, unless an answer for this key is younger than ``max_age``.

        A running request for the same key is left to finish; ``force`` begins anew.
        """
        digest = key_digest(name, key, address)
        running = name in self._tasks and self._digests.get(name) == digest
        if force or not running:
            self._begin(name, make, digest, 0.0, force)

    def cancel(self, name: str) -> None:
        """Stop a running refresh; the list stays as it is shown."""
        if self._stop(name):
            listing = self._shown(name)
            state: ListingState = "idle" if listing.fetched_at is None else "ready"
            self._show(name, replace(listing, state=state, started_at=None))

    async def load(self) -> None:
        """Read the lists of the last run. A missing or damaged file is no list."""
        if self._loaded is None:
            self._loaded = self._background.start(self._read())
        await asyncio.shield(self._loaded)

    async def close(self) -> None:
        """Stop everything; what was fetched is on disk when this returns."""
        for name in list(self._tasks):
            self._stop(name)
        await self._background.settled()

    def _begin(
        self, name: str, make: Callable[[], Lister], digest: str, delay: float, force: bool
    ) -> None:
        self._stop(name)
        self._digests[name] = digest
        self._show_loading(name, digest)
        self._tasks[name] = self._background.start(self._refresh(name, make, digest, delay, force))

    def _stop(self, name: str) -> bool:
        task = self._tasks.pop(name, None)
        if task is not None:
            task.cancel()
        return task is not None

    def _current(self, name: str) -> bool:
        """Whether the running task is the one whose answer is still wanted."""
        return self._tasks.get(name) is asyncio.current_task()

    async def _refresh(
        self, name: str, make: Callable[[], Lister], digest: str, delay: float, force: bool
    ) -> None:
        await asyncio.sleep(delay)
        await self.load()
        if not self._current(name):
            return
        cached = self._cache.get(name, {}).get(digest)
        if cached is not None and not force:
            if 0 <= self._clock() - cached.fetched_at < self._max_age:
                self._finish(name, self._listed(name, cached))
                return
            self._show_loading(name, digest)
        listing = await self._ask(name, make, cached)
        if not self._current(name):
            return  # an answer for an older key
        if listing.state == "ready" and listing.fetched_at is not None:
            self._remember(name, digest, listing)
        self._finish(name, listing)
        if listing.state == "ready":
            await self._write()

    async def _ask(self, name: str, make: Callable[[], Lister], cached: _Cached | None) -> Listing:
        try:
            lister = make()
            await lister.prepare()  # of an SDK that is imported nobody waits for an answer
            async with asyncio.timeout(self._patience):
                found = listable(await lister.models())
        except TimeoutError:
            reason = f"No answer in {self._patience:g} s"
            listing = replace(self._listed(name, cached), state="failed", reason=reason)
            return replace(listing, failed_at=self._clock())
        except StudioError as error:
            return self._failed(name, str(error))
        except Exception:  # a fault of a provider's adapter is no reason to lose the list
            return self._failed(name, "The list could not be read.")
        return self._listed(name, _Cached(tuple(found), self._clock()))

    def _listed(self, name: str, cached: _Cached | None) -> Listing:
        """Fetched models first, then built-in ones that are not among them."""
        known = self._built_in.get(name, ())
        if cached is None:
            return Listing(known)
        fetched: dict[str, ModelInfo] = {}
        for model in cached.models:
            fetched.setdefault(
                model.id, fill_missing_facts(replace(model, source="fetched"), known)
            )
        more = [model for model in known if model.id not in fetched]
        return Listing((*fetched.values(), *more), "ready", fetched_at=cached.fetched_at)

    def _failed(self, name: str, reason: str) -> Listing:
        return Listing(self._built_in.get(name, ()), "failed", reason, failed_at=self._clock())

    def _remember(self, name: str, digest: str, listing: Listing) -> None:
        assert listing.fetched_at is not None
        own = tuple(model for model in listing.models if model.source == "fetched")
        lists = self._cache.setdefault(name, {})
        lists.pop(digest, None)
        lists[digest] = _Cached(own, listing.fetched_at)
        while len(lists) > KEPT_KEYS:
            del lists[next(iter(lists))]

    def _show_loading(self, name: str, digest: str) -> None:
        cached = self._cache.get(name, {}).get(digest)
        listing = self._listed(name, cached)
        self._show(name, replace(listing, state="loading", started_at=self._clock()))

    def _finish(self, name: str, listing: Listing) -> None:
        self._tasks.pop(name, None)
        self._show(name, listing)

    def _show(self, name: str, listing: Listing) -> None:
        self._listings[name] = listing
        for callback in tuple(self._subscribers):
            callback(name)

    async def _read(self) -> None:
        for name, lists in (await asyncio.to_thread(_read_cache, self._file)).items():
            mine = self._cache.setdefault(name, {})
            for digest, cached in lists.items():
                mine.setdefault(digest, cached)

    async def _write(self) -> None:
        data = json.dumps(
            {
                "version": 1,
                "lists": {
                    name: {
                        digest: {
                            "fetched_at": cached.fetched_at,
                            "models": [encode(model) for model in cached.models],
                        }
                        for digest, cached in lists.items()
                    }
                    for name, lists in self._cache.items()
                },
            },
            ensure_ascii=False,
        )
        async with self._disk:
            await asyncio.shield(asyncio.to_thread(_write_cache, self._file, data))


def _read_cache(path: Path) -> dict[str, dict[str, _Cached]]:
    try:
        data = json.loads(path.read_text(encoding="utf-8"))
        return {
            str(name): {
                str(digest): _Cached(
                    tuple(read_model(entry) for entry in cached["models"]),
                    float(cached["fetched_at"]),
                )
                for digest, cached in lists.items()
            }
            for name, lists in data["lists"].items()
        }
    except (OSError, ValueError, KeyError, TypeError, AttributeError):
        return {}


def _write_cache(path: Path, data: str) -> None:
    with suppress(OSError):  # a full disk costs only the next start its list
        write_atomically(path, data.encode())
