"""Provider descriptors: everything the rest of the program needs to know of a provider.

A descriptor is plain data. Reading it imports neither an adapter nor an SDK.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import field
from importlib import import_module
from typing import TYPE_CHECKING, Literal, Protocol, TypeAlias, cast

from studio.domain.records import dataclass

if TYPE_CHECKING:
    from .base import Provider
    from .http import Http

KeyNeed: TypeAlias = Literal["needed", "optional", "none"]


class AdapterClass(Protocol):
    """Makes an adapter; adapter classes are called this way."""

    def __call__(self, key: str, base_url: str, http: Http) -> Provider: ...


@dataclass(frozen=True, slots=True)
class Probe:
    """How to ask for the model list without the SDK, whose import takes longer than the answer.

    ``path`` is the API's version below the address. The key is sent in ``header``,
    after ``prefix``.
    """

    path: str
    header: str
    prefix: str = ""
    headers: Mapping[str, str] = field(default_factory=dict[str, str])


@dataclass(frozen=True, slots=True, kw_only=True)
class ProviderDescriptor:
    """One provider: what it is called, what it needs, and where its adapter is."""

    name: str
    """The name in settings, saved sessions and on the command line. Never change it."""
    title: str
    """The name on the screen."""
    adapter: str = ""
    """``module:Class`` of the adapter, imported with the first request.

    Empty for a provider that ``agent.bootstrap`` starts inside this program.
    """
    ready: bool = False
    """Whether it can be used without a key and without an address."""
    local: bool = False
    """Whether its models run on the person's computers, for nothing."""
    hosted_suffix: str = ""
    """How the names of those models end that are not ``local`` after all."""
    in_settings: bool = True
    """Whether the settings have a section for it."""
    icon: str = ""
    """The name of a drawing; without one the first letter of the title is shown."""

    key: KeyNeed = "needed"
    key_variables: tuple[str, ...] = ()
    """Environment variables with a key, in the order in which they are read."""
    key_hint: str = ""
    """What the empty key field shows."""
    key_prefixes: tuple[str, ...] = ()
    """How its keys begin."""

    connected_setting: str = ""
    """The name of the setting that says that the person uses it, where it needs no key."""

    address: str = ""
    """What the empty address field shows."""
    address_variable: str = ""
    """The environment variable with an address."""
    address_needed: bool = False
    """Whether there is no usual address."""
    address_key_variables: tuple[str, ...] = ()
    """Variables with a key for the server that ``address_variable`` names, and for no other."""
    start_command: str = ""
    """What starts the server, where the person runs it."""

    probe: Probe | None = None
    price_table: str | None = None
    """The provider's name in the tables of genai-prices. Empty to look a model up by its name
    alone, None if there are no prices."""
    telemetry_name: str = ""
    """The name in OpenTelemetry's conventions where it is not ``name``."""

    def load(self) -> AdapterClass:
        """Import the adapter. Call it in a thread."""
        module, _, name = self.adapter.partition(":")
        return cast("AdapterClass", getattr(import_module(module), name))
