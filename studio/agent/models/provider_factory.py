"""The provider factory: makes providers from settings, keys and the environment."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable

from studio.domain.errors import ConfigurationError, ProviderError
from studio.domain.models import ModelInfo
from studio.domain.records import dataclass
from studio.providers.base import Provider
from studio.providers.descriptor import ProviderDescriptor
from studio.providers.http import Http, from_environment
from studio.providers.reachability import is_reachable
from studio.providers.registry import KEYED, PROVIDERS
from studio.storage.config.keychain import Keychain
from studio.storage.config.settings import SettingsFile


@dataclass(frozen=True, slots=True)
class EmbeddedProvider:
    """A provider inside this program, started on first use: the model, the demo."""

    start: Callable[[], Awaitable[Provider]]
    stop: Callable[[], Awaitable[None]]


@dataclass(frozen=True, slots=True)
class _Later:
    """A provider that has to be started before it can be asked."""

    start: Callable[[], Awaitable[Provider]]

    async def prepare(self) -> None:
        await (await self.start()).prepare()

    async def models(self) -> list[ModelInfo]:
        return await (await self.start()).models()


class ProviderFactory:
    """Makes each provider once, and again when its key or address changed."""

    def __init__(
        self,
        settings: SettingsFile,
        keychain: Keychain,
        http: Http,
        local: dict[str, EmbeddedProvider],
    ) -> None:
        self._settings = settings
        self._keychain = keychain
        self.http = http
        self._local = local
        self._made: dict[str, tuple[str, str, Provider]] = {}
        self._starting = asyncio.Lock()

    async def provider(self, name: str) -> Provider:
        """Ready to use. Raises ProviderError(no_key) or ConfigurationError."""
        _descriptor(name)
        if name in self._local:
            async with self._starting:
                return await self._local[name].start()
        key = await self.key(name)
        if not key and name in KEYED:
            raise self.no_key(name)
        return await self._cached(name, key, self.base_url(name))

    async def key(self, name: str) -> str:
        """From the keychain, else the environment; an empty string if there is none.

        ``OPENAI_API_KEY`` belongs to the server that ``OPENAI_BASE_URL`` names, to no other.
        """
        if key := await self._keychain.get(name):
            return key
        if name not in PROVIDERS or self._settings.values.base_urls.get(name):
            return ""
        return from_environment(*PROVIDERS[name].address_key_variables)

    def no_key(self, name: str) -> ProviderError:
        """What to say where a key is missing: which ways there are, and which one failed."""
        descriptor = PROVIDERS[name]
        variable = f", or set {descriptor.key_variables[0]}" if descriptor.key_variables else ""
        text = f"There is no API key for {descriptor.title}. Add one in the settings{variable}."
        problem = self._keychain.commands.problem(name)
        return ProviderError("no_key", " ".join(filter(None, [problem, text])), provider=name)

    def base_url(self, name: str) -> str:
        """The person's setting, else the environment's; empty for the vendor's own."""
        if chosen := self._settings.values.base_urls.get(name, ""):
            return chosen
        variable = PROVIDERS[name].address_variable if name in PROVIDERS else ""
        return from_environment(variable) if variable else ""

    async def reachable(self, name: str) -> bool:
        """Whether the provider's server takes connections; one inside this program always does."""
        if name in self._local or name not in PROVIDERS:
            return True
        return await is_reachable(self.base_url(name) or PROVIDERS[name].address)

    def make(self, name: str, key: str, base_url: str) -> Provider:
        """A provider with a key that is not stored: to test one that is being typed."""
        descriptor = _descriptor(name)
        if descriptor.address_needed and not base_url:
            raise ConfigurationError(
                f"The {descriptor.title} provider has no address. "
                f"Set its base URL in the settings, or {descriptor.address_variable}."
            )
        return descriptor.load()(key, base_url, self.http)

    async def is_connected(self, name: str) -> bool:
        """Whether a provider has what it needs: a key, an address, or the person's setting."""
        descriptor = PROVIDERS[name]
        if descriptor.ready:
            return True
        if descriptor.key == "needed":
            return bool(await self.key(name))
        setting = descriptor.connected_setting
        if setting and getattr(self._settings.values, setting):
            return True
        return bool(self.base_url(name))

    def lister(self, name: str, key: str, base_url: str) -> Provider | _Later:
        """Like ``make``, of any provider, to ask for its models alone."""
        if name in self._local:
            return _Later(lambda: self.provider(name))
        return self.make(name, key, base_url or self.base_url(name))

    async def test(self, name: str, key: str) -> None:
        """One call with a key that is not stored yet; raises ProviderError if it fails."""
        await self.make(name, key, self.base_url(name)).models()

    async def default(self) -> str:
        """The person's choice, else the first with a key, else the built-in model."""
        if chosen := self._settings.values.default_provider:
            return chosen
        for name in KEYED:
            if await self.key(name):
                return name
        return "builtin"

    async def stop(self, name: str) -> None:
        """Stop one inside this program; the next request starts it again."""
        async with self._starting:
            await self._local[name].stop()

    async def close(self) -> None:
        """Stop the providers inside this program."""
        for local in self._local.values():
            await local.stop()

    async def _cached(self, name: str, key: str, base_url: str) -> Provider:
        if self._stale(name, key, base_url):
            # Its first time imports the adapter.
            provider = await asyncio.to_thread(self.make, name, key, base_url)
            if self._stale(name, key, base_url):
                self._made[name] = (key, base_url, provider)
        return self._made[name][2]

    def _stale(self, name: str, key: str, base_url: str) -> bool:
        made = self._made.get(name)
        return made is None or made[:2] != (key, base_url)


def _descriptor(name: str) -> ProviderDescriptor:
    if name not in PROVIDERS:
        raise ConfigurationError(f"There is no provider {name}. Known are {', '.join(PROVIDERS)}.")
    return PROVIDERS[name]
