"""Checks outside of the program: keychain, providers, network."""

from __future__ import annotations

import ipaddress
import os
import socket
import time
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from email.utils import parsedate_to_datetime
from functools import partial
from typing import Any
from urllib.parse import urlsplit

from studio.agent.provider_factory import KEYED, ProviderFactory
from studio.domain.errors import ConfigurationError, ProviderError, ProviderFault
from studio.domain.models import PROVIDER_TITLES
from studio.domain.redaction import redact
from studio.processes.daemon_thread import in_daemon_thread
from studio.providers.errors import ErrorFactory
from studio.providers.http import Http
from studio.providers.sse import Endpoint
from studio.storage.config.keychain import ENVIRONMENT, Keychain, Status
from studio.storage.config.settings import Settings, SettingsFile
from studio.storage.paths import Paths

from .finding import Check, Finding, State

LIMIT = 5.0
"""Seconds for a provider."""
PROXIES = ("HTTPS_PROXY", "HTTP_PROXY", "ALL_PROXY")


@dataclass(frozen=True)
class Cloud:
    """The address of a provider's API, and the header for the key with its prefix."""

    base: str
    version: str
    header: str
    prefix: str = ""
    others: Mapping[str, str] = field(default_factory=dict[str, str])


CLOUDS = {
    "anthropic": Cloud(
        "https://api.anthropic.com",
        "/v1",
        "x-api-key",
        others={"anthropic-version": "2023-06-01"},
    ),
    "openai": Cloud("https://api.openai.com", "/v1", "authorization", "Bearer "),
    "gemini": Cloud("https://generativelanguage.googleapis.com", "/v1beta", "x-goog-api-key"),
}
_KEYCHAIN: dict[Status, tuple[State, str, str]] = {
    "ready": ("ok", "works", ""),
    "none": (
        "note",
        "this computer has none that can be used",
        "Set keys as environment variables, like ANTHROPIC_API_KEY, or give them for one session "
        "in the window. On Linux, gnome-keyring or KeePassXC makes a keychain.",
    ),
    "locked": ("warning", "locked", "Unlock it, or set keys as environment variables."),
    "silent": (
        "warning",
        "does not answer, or waits for you in a window of its own",
        "Look for its window, or set keys as environment variables.",
    ),
    "failed": (
        "warning",
        "reports an error",
        "Restart it, or set keys as environment variables.",
    ),
}


class _Plain(Endpoint):
    """A provider's API without its SDK."""

    def __init__(self, border: ErrorFactory, http: Http, headers: Mapping[str, str]) -> None:
        super().__init__(border, http, _fault)
        self._headers = dict(headers)

    def _authorization(self) -> dict[str, str]:
        return self._headers


def _fault(error: object) -> ProviderFault | None:
    """Recognise Gemini's error for a wrong key, which comes with status 400."""
    return "bad_key" if "API_KEY_INVALID" in str(error) else None


class NetworkChecks:
    """Checks that wait for other programs and computers; no finding contains a key."""

    def __init__(self, paths: Paths, values: Settings, *, offline: bool) -> None:
        settings = SettingsFile(paths.settings)
        settings.values = values
        self.dates: list[tuple[float, float]] = []
        """Pairs of this computer's time and a provider's at the same moment."""
        self._values = values
        self._offline = offline
        self._keychain = Keychain(deadline=2.5)
        self._http = Http(connect_seconds=LIMIT, read_seconds=LIMIT)
        self._connections = ProviderFactory(settings, self._keychain, self._http, {})
        self._records_times = False

    async def close(self) -> None:
        await self._http.aclose()

    async def keychain_state(self) -> Finding:
        await self._keychain.get(KEYED[0])
        state, text, advice = _KEYCHAIN.get(self._keychain.status, ("note", "not tried", ""))
        return Finding("Keychain", state, text, advice)

    def providers(self) -> list[Check]:
        """A check for each provider outside of the program."""
        names = [*KEYED, "openai-compatible", "ollama"]
        late = "Look at the network, and at the address in the settings."
        return [
            Check(PROVIDER_TITLES[name], partial(self._provider, name), seconds=LIMIT, late=late)
            for name in names
        ]

    async def _provider(self, name: str) -> Finding:
        title = PROVIDER_TITLES[name]
        key, address = await self._connections.key(name), self._connections.base_url(name)
        chosen = self._values.default_provider == name
        if not key and name in KEYED:
            advice = f"Add one in the settings, or set {ENVIRONMENT[name][0]}." if chosen else ""
            return Finding(title, "warning" if chosen else "note", "no key", advice)
        if name == "openai-compatible" and not address:
            advice = "Set its base URL in the settings, or OPENAI_BASE_URL." if chosen else ""
            return Finding(title, "warning" if chosen else "note", "no address", advice)
        told = ", ".join(filter(None, [self._source(name, key), address and _host(address)]))
        if self._offline:
            return Finding(title, "note", f"{told or 'usual address'}; not asked (--offline)")
        return await self._ask(name, key, address, told)

    async def _ask(self, name: str, key: str, address: str, told: str) -> Finding:
        """Ask a provider for its models."""
        title, told = PROVIDER_TITLES[name], f"{told}; " if told else ""
        await self._record_times()
        try:
            models = await self._models(name, key, address)
        except (ProviderError, ConfigurationError) as error:
            text = redact(f"{told}{error}", key)
            used = self._values.ollama_connected or address or name != "ollama"
            if not used:
                return Finding(title, "note", "not running here")
            return Finding(title, "warning", text, self._advice(name, error))
        return Finding(title, "ok", f"{told}answers" + (f": {models}" if models else ""))

    async def _models(self, name: str, key: str, address: str) -> str:
        """The number of models in words; empty for a cloud that answers.

        The clouds are asked without their SDKs, which take longer to import than the
        answer takes. Raises ProviderError or ConfigurationError.
        """
        if (cloud := CLOUDS.get(name)) is not None:
            base = (address or cloud.base).rstrip("/").removesuffix(cloud.version) + cloud.version
            border = ErrorFactory(name, PROVIDER_TITLES[name], base, key)
            headers = {cloud.header: f"{cloud.prefix}{key}", **cloud.others}
            await _Plain(border, self._http, headers).get("/models")
            return ""
        models = await self._connections.make(name, key, address).models()
        return "1 model" if len(models) == 1 else f"{len(models)} models"

    def _source(self, name: str, key: str) -> str:
        """Where the key comes from, in words."""
        if not key:
            return ""
        if self._keychain.source(name) == "keychain":
            return "key from the keychain"
        names = ENVIRONMENT.get(name, ENVIRONMENT["openai"])
        variable = next((one for one in names if os.environ.get(one, "").strip()), names[0])
        return f"key from {variable}"

    def _advice(self, name: str, error: Exception) -> str:
        fault = error.fault if isinstance(error, ProviderError) else ""
        if fault in ("bad_key", "forbidden", "no_key"):
            variable = ENVIRONMENT.get(name, ENVIRONMENT["openai"])[0]
            where = "in the settings"
            if self._keychain.source(name) != "keychain":
                where = f"in {variable}"
            return f"Put another key {where}."
        if fault == "no_credit":
            return "Add credit to the account."
        if fault in ("network", "protocol", "not_found"):
            if name == "ollama":
                return "Start it: ollama serve"
            return "Look at the network, and at the address in the settings."
        return "Try again in a while." if fault else ""

    async def network(self) -> Finding:
        """Check proxies of the environment, and whether host names are resolved."""
        name, told = "Network", list[str]()
        for variable in PROXIES:
            value = os.environ.get(variable) or os.environ.get(variable.lower()) or ""
            if not value.strip():
                continue
            where = _host(value)
            if not where:
                advice = f"Write it like http://host:port, or unset {variable}."
                return Finding(name, "warning", f"{variable} is not an address", advice)
            told.append(f"{variable} is {where}")
        if not told:
            told.append("no proxy")
        hosts = await self._hosts()
        if self._offline:
            return Finding(name, "ok", f"{'; '.join(told)}; not used (--offline)")
        lost = [host for host in hosts if not await _resolved(host)]
        if lost:
            text = f"{'; '.join(told)}; the address of {', '.join(lost)} is not found"
            advice = "Look at the connection and at the name server (DNS)."
            if told != ["no proxy"]:
                return Finding(name, "note", text, "With a proxy that can be meant.")
            return Finding(name, "warning", text, advice)
        found = f"addresses are found: {', '.join(hosts)}" if hosts else "no provider to look for"
        return Finding(name, "ok", f"{'; '.join(told)}; {found}")

    async def _hosts(self) -> list[str]:
        """The host names of the providers in use, without addresses that need no DNS."""
        hosts: list[str] = []
        for name in (*KEYED, "openai-compatible", "ollama"):
            address = self._connections.base_url(name)
            if name in KEYED and not address and not await self._connections.key(name):
                continue
            with suppress(ValueError):
                host = (
                    urlsplit(address).hostname
                    if address
                    else urlsplit(CLOUDS[name].base).hostname
                    if name in CLOUDS
                    else ""
                )
                if host and host != "localhost" and not _is_number(host):
                    hosts.append(host)
        return list(dict.fromkeys(hosts))

    async def _record_times(self) -> None:
        """Record the times that providers send with their answers."""
        if self._records_times:
            return
        self._records_times = True
        client = await self._http.client()

        async def note(response: Any) -> None:
            with suppress(ValueError, TypeError):
                theirs = parsedate_to_datetime(response.headers.get("date", "")).timestamp()
                self.dates.append((time.time(), theirs))

        client.event_hooks["response"].append(note)


def _host(address: str) -> str:
    """The host and port of an address, without a password; empty if it is no address."""
    try:
        parts = urlsplit(address if "://" in address else f"//{address}")
        port = f":{parts.port}" if parts.port else ""
        return f"{parts.hostname}{port}" if parts.hostname else ""
    except ValueError:
        return ""


def _is_number(host: str) -> bool:
    try:
        ipaddress.ip_address(host)
    except ValueError:
        return False
    return True


async def _resolved(host: str) -> bool:
    try:
        return bool(await in_daemon_thread(lambda: socket.getaddrinfo(host, 443)))
    except (OSError, UnicodeError):
        return False
