"""The registry of providers: names each one once, for the whole program.

A new provider is its folder, a line in ``FOLDERS`` and one in the package's docstring; see
``docs/extending/provider.md``.
"""

from __future__ import annotations

from importlib import import_module

from .descriptor import ProviderDescriptor
from .model_files import TOKEN

FOLDERS = (
    "anthropic",
    "openai",
    "gemini",
    "openai_chat",
    "ollama",
    "local_model",
    "demo",
)
"""Folders in this package, in the order in which people see the providers."""


def _descriptor(folder: str) -> ProviderDescriptor:
    found: object = import_module(f"studio.providers.{folder}").PROVIDER
    assert isinstance(found, ProviderDescriptor)
    return found


PROVIDERS = {found.name: found for found in map(_descriptor, FOLDERS)}
PROVIDER_TITLES = {name: found.title for name, found in PROVIDERS.items()}
EMBEDDED = tuple(name for name, found in PROVIDERS.items() if not found.adapter)
"""Providers that ``agent.bootstrap`` starts inside this program."""
KEYED = tuple(name for name, found in PROVIDERS.items() if found.key == "needed")
"""Providers that cannot be used without a key."""
KEY_TITLES = {
    **{name: one.title for name, one in PROVIDERS.items() if one.key != "none"},
    "brave": "Brave Search",
    "tavily": "Tavily",
    TOKEN: "Hugging Face",
}
"""Whose keys are kept, by their names: providers, search engines, the source of models."""
KEY_VARIABLES = {name: found.key_variables for name, found in PROVIDERS.items()}
"""The environment variables with a provider's key."""
