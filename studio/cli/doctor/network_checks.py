"""Checks of the keychain, providers and the network."""

from __future__ import annotations

import ipaddress
import os
import socket
import time
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import replace
from email.utils import parsedate_to_datetime
from functools import partial
from typing import Any
from urllib.parse import urlsplit

from studio.agent.models.provider_factory import ProviderFactory
from studio.domain.errors import ConfigurationError, ProviderError, ProviderFault, StorageError
from studio.domain.redaction import redact
from studio.mcp.entries import EntriesFile, ServerEntry
from studio.mcp.sign_ins import SignIns, place_of
from studio.processes.daemon_thread import in_daemon_thread
from studio.providers.descriptor import ProviderDescriptor
from studio.providers.errors import ErrorFactory
from studio.providers.http import Http
from studio.providers.registry import KEY_VARIABLES, KEYED, PROVIDERS
from studio.providers.sse import Endpoint
from studio.storage.config.key_command import KeyCommands
from studio.storage.config.keychain import Keychain, Status
from studio.storage.config.settings import Settings, SettingsFile
from studio.storage.paths import Paths

from . import Check, Finding, State

LIMIT = 5.0
"""Seconds for a provider, unless the person gives more or less."""
PROXIES = ("HTTPS_PROXY", "HTTP_PROXY", "ALL_PROXY")


_KEYCHAIN: dict[Status, tuple[State, str, str]] = {
    "ready": ("ok", "works", ""),
    "none": (
        "note",
        "this computer has none that can be used",
        "Set keys as environment variables, like ANTHROPIC_API_KEY, name commands that print them "
        "(key_command in the settings), or give them for one session in the window. On Linux, "
        "gnome-keyring or KeePassXC makes a keychain.",
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
"""The state of the keychain check, its text and its advice."""


class _Plain(Endpoint):
    """A provider's API without its SDK."""

    def __init__(self, errors: ErrorFactory, http: Http, headers: Mapping[str, str]) -> None:
        super().__init__(errors, http, _fault)
        self._headers = dict(headers)

    def _authorization(self) -> dict[str, str]:
        return self._headers


def _fault(error: object) -> ProviderFault | None:
    """Recognise Gemini's error for a wrong key, which comes with status 400."""
    return "bad_key" if "API_KEY_INVALID" in str(error) else None


class NetworkChecks:
    """Checks that wait for other programs and computers; no finding contains a key."""

    def __init__(
        self, paths: Paths, values: Settings, seconds: float | None, *, offline: bool
    ) -> None:
        settings = SettingsFile(paths.settings)
        settings.values = values
        self.dates: list[tuple[float, float]] = []
        """Pairs of this computer's time and a provider's at the same moment."""
        self._values = values
        self._paths = paths
        self._offline = offline
        limit = seconds or LIMIT
        commands = KeyCommands(lambda: values.key_command, limit / 2)
        self._keychain = Keychain(deadline=limit / 2, variables=KEY_VARIABLES, commands=commands)
        self._http = Http(connect_seconds=limit, read_seconds=limit)
        self._connections = ProviderFactory(settings, self._keychain, self._http, {})
        self._records_times = False

    async def close(self) -> None:
        await self._http.aclose()

    async def keychain(self) -> Finding:
        """Ask the system's keychain for a key."""
        await self._keychain.get(KEYED[0])
        return Finding("Keychain", *_KEYCHAIN.get(self._keychain.status, ("note", "not tried", "")))

    async def servers(self, local: Callable[[], Finding]) -> Finding:
        """What ``local`` finds of the MCP servers, and whose sign-in is over (M-22)."""
        found = await in_daemon_thread(local)
        ended = [
            one for one in await in_daemon_thread(self._at_addresses) if await self._ended(one)
        ]
        if not ended:
            return found
        told = "; ".join(f"{one.name}: its sign-in is over" for one in ended)
        advice = found.advice or f"Sign in: agent-studio mcp login {ended[0].name}"
        return replace(found, state="warning", text=f"{found.text}; {told}", advice=advice)

    def _at_addresses(self) -> list[ServerEntry]:
        """The servers that are on, and that a person can be signed in to."""
        try:
            found = EntriesFile(self._paths.servers, self._paths.data / "servers.json").read()
        except StorageError:
            return []
        return [one for one in found.by_name.values() if one.runs and one.may_sign_in]

    async def _ended(self, entry: ServerEntry) -> bool:
        sign_ins = SignIns(self._keychain, self._paths.data / "sign-ins")
        known = await sign_ins.read(place_of(entry.name, entry.url))
        return known is not None and not known.is_signed_in

    def providers(self) -> list[Check]:
        """A check for each provider outside of the program."""
        late = "Look at the network, and at the address in the settings."
        return [
            Check(one.title, partial(self._provider, one), seconds=LIMIT, late=late)
            for one in PROVIDERS.values()
            if one.adapter
        ]

    async def _provider(self, one: ProviderDescriptor) -> Finding:
        name, title = one.name, one.title
        key, address = await self._connections.key(name), self._connections.base_url(name)
        chosen = self._values.default_provider == name
        if not key and one.key == "needed":
            advice = f"Add one in the settings, or set {one.key_variables[0]}." if chosen else ""
            problem = self._keychain.commands.problem(name)
            bad = chosen or bool(problem)
            return Finding(title, "warning" if bad else "note", problem or "no key", advice)
        if one.address_needed and not address:
            advice = f"Set its base URL in the settings, or {one.address_variable}."
            shown = advice if chosen else ""
            return Finding(title, "warning" if chosen else "note", "no address", shown)
        told = ", ".join(filter(None, [self._source(one, key), address and _host(address)]))
        if self._offline:
            return Finding(title, "note", f"{told or 'usual address'}; not asked (--offline)")
        return await self._ask(one, key, address, told)

    async def _ask(self, one: ProviderDescriptor, key: str, address: str, told: str) -> Finding:
        """Ask a provider for its models."""
        title, told = one.title, f"{told}; " if told else ""
        await self._record_times()
        try:
            models = await self._models(one, key, address)
        except (ProviderError, ConfigurationError) as error:
            text = redact(f"{told}{error}", key)
            if one.local and not await self._connections.is_connected(one.name):
                return Finding(title, "note", "not running here")
            return Finding(title, "warning", text, self._advice(one, error))
        return Finding(title, "ok", f"{told}answers" + (f": {models}" if models else ""))

    async def _models(self, one: ProviderDescriptor, key: str, address: str) -> str:
        """The number of models in words; empty for a provider with a probe that answers.

        Raises ProviderError or ConfigurationError.
        """
        if (probe := one.probe) is not None:
            base = (address or one.address).rstrip("/").removesuffix(probe.path) + probe.path
            errors = ErrorFactory(one.name, one.title, base, key)
            headers = {probe.header: f"{probe.prefix}{key}", **probe.headers}
            await _Plain(errors, self._http, headers).get("/models")
            return ""
        models = await self._connections.make(one.name, key, address).models()
        return "1 model" if len(models) == 1 else f"{len(models)} models"

    def _source(self, one: ProviderDescriptor, key: str) -> str:
        """Where the key comes from, in words."""
        if not key:
            return ""
        source = self._keychain.source(one.name)
        if source in ("keychain", "command"):
            return f"key from the {source}" + (" in key_command" if source == "command" else "")
        names = _variables(one)
        variable = next((name for name in names if os.environ.get(name, "").strip()), names[0])
        return f"key from {variable}"

    def _advice(self, one: ProviderDescriptor, error: Exception) -> str:
        fault = error.fault if isinstance(error, ProviderError) else ""
        if fault in ("bad_key", "forbidden", "no_key"):
            where = "in the settings"
            if (source := self._keychain.source(one.name)) != "keychain":
                where = f"in {_variables(one)[0]}" if source != "command" else "where that reads it"
            return f"Put another key {where}."
        if fault == "no_credit":
            return "Add credit to the account."
        if fault in ("network", "protocol", "not_found"):
            if one.start_command:
                return f"Start it: {one.start_command}"
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
                return Finding(name, "note", text, "With a proxy this may be intended.")
            return Finding(name, "warning", text, advice)
        found = f"addresses are found: {', '.join(hosts)}" if hosts else "no provider to look for"
        return Finding(name, "ok", f"{'; '.join(told)}; {found}")

    async def _hosts(self) -> list[str]:
        """The host names of the providers in use, without addresses that need no DNS."""
        hosts: list[str] = []
        for one in PROVIDERS.values():
            address, keyed = self._connections.base_url(one.name), one.key == "needed"
            if not address and not (keyed and await self._connections.key(one.name)):
                continue
            with suppress(ValueError):
                host = urlsplit(address or one.address).hostname
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


def _variables(one: ProviderDescriptor) -> tuple[str, ...]:
    """Environment variables to name; OpenAI's for a provider that has none."""
    own = (*one.key_variables, *one.address_key_variables)
    return own or PROVIDERS["openai"].key_variables


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
