"""The names of models: what a client's name stands for, and which names there are (S-3)."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from studio.agent.engine import Engine
from studio.domain.agents import Agent
from studio.providers.registry import PROVIDER_TITLES

from .contract import BadRequest, ListedModel

AGENT = "agent/"
"""What stands before an agent's name."""
PLAIN = "Plain"
"""The agent that is nothing but the model."""
LONGEST = 300
"""Characters of a name; providers have ids of a hundred."""
_PATIENCE = 5.0
"""Seconds in which providers that were never asked may list their models."""


@dataclass(frozen=True, slots=True)
class ModelTarget:
    """The agent and model that answer.

    ``chosen``: the client named the model, so no routing changes it (L-13).
    """

    agent: str
    provider: str
    model: str
    chosen: bool


async def resolve_model(engine: Engine, name: str, folder: Path) -> ModelTarget:
    """Return the agent and model of a name.

    ``agent/NAME`` or ``PROVIDER/MODEL``, as they are listed; an agent's name
    alone and the id of a model that a connected provider lists are understood
    too. Raises BadRequest for any other, ConfigurationError where an agent has
    no model.
    """
    wanted = name.strip()
    if len(wanted) > LONGEST or not wanted.isprintable():  # it is shown in the window
        raise _unknown(name)
    provider, _, model = wanted.partition("/")
    if provider in PROVIDER_TITLES and model:
        return ModelTarget(PLAIN, provider, model, chosen=True)
    marked = wanted.casefold().startswith(AGENT)
    agent = (await engine.agents(folder)).get(wanted[len(AGENT) :] if marked else wanted)
    if agent is not None and (marked or agent.trusted):  # no stranger's may pass for a model
        choice = await engine.choose(agent=agent.name, folder=folder)
        return ModelTarget(choice.agent, choice.provider, choice.model, chosen=False)
    provider = "" if marked or not wanted else await _listing(engine, wanted)
    if not provider:
        raise _unknown(name)
    return ModelTarget(PLAIN, provider, wanted, chosen=True)


async def _listing(engine: Engine, model: str) -> str:
    """The connected provider that lists a model of this id; empty if none does."""
    first = engine.settings.values.default_provider
    providers = sorted(engine.connected, key=lambda name: name != first)
    await engine.catalogue.load()
    if found := _lists(engine, providers, model):
        return found
    unasked = [name for name in providers if not engine.catalogue.listing(name).models]
    with suppress(TimeoutError):
        asking = asyncio.gather(*map(engine.list_models, unasked), return_exceptions=True)
        await asyncio.wait_for(asking, _PATIENCE)
    return _lists(engine, unasked, model)


def _lists(engine: Engine, providers: Sequence[str], model: str) -> str:
    own = engine.settings.values.own_models
    for name in providers:
        listed = engine.catalogue.listing(name).models
        if model in own.get(name, ()) or any(one.id == model for one in listed):
            return name
    return ""


def _unknown(name: str) -> BadRequest:
    shown = name if len(name) <= 100 else f"{name[:99]}…"
    return BadRequest(
        f"The model “{shown}” does not exist here. GET /v1/models lists those that do: "
        "agent/NAME and PROVIDER/MODEL.",
        status=404,
        param="model",
        code="model_not_found",
    )


OWNER = "agent-studio"


async def list_models(engine: Engine, folder: Path) -> list[ListedModel]:
    """List agents by name, then the enabled models of connected providers.

    The list is what the catalogue knows now; a provider whose list is old is asked
    again in the background.
    """
    await engine.refresh_lists()
    found = await engine.agents(folder)
    agents = sorted(
        (one for one in found.by_name.values() if one.name != PLAIN), key=lambda one: one.name
    )
    return [
        *(ListedModel(f"{AGENT}{one.name}", _title(one), OWNER) for one in agents),
        *(model for provider in engine.connected for model in _models(engine, provider)),
    ]


def _title(agent: Agent) -> str:
    return f"{agent.name} ({agent.whose.lower()})" if agent.whose else agent.name


def _models(engine: Engine, provider: str) -> list[ListedModel]:
    title = PROVIDER_TITLES.get(provider, provider)
    return [
        ListedModel(f"{provider}/{model.id}", f"{model.title} ({title})", provider)
        for model in engine.offered(provider)
    ]
