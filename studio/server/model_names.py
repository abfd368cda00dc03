"""The names of models: what a client's name stands for, and which names there are (S-3)."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from studio.agent.engine import Engine
from studio.agent.models.names import LONGEST, UnknownModel
from studio.domain.agents import Agent
from studio.providers.registry import PROVIDER_TITLES

from .contract import BadRequest, ListedModel

AGENT = "agent/"
"""What stands before an agent's name."""
_LISTED = "GET /v1/models lists those that do: agent/NAME, workflow/NAME and PROVIDER/MODEL."
PLAIN = "Plain"
"""The agent that is nothing but the model."""


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
    alone and what ``ModelNames.find`` knows are understood too. Raises BadRequest
    for any other, ConfigurationError where an agent has no model.
    """
    wanted = name.strip()
    if len(wanted) > LONGEST or not wanted.isprintable():  # it is shown in the window
        raise _unknown(name)
    marked = wanted.casefold().startswith(AGENT)
    head, _, model = wanted.partition("/")
    if head in PROVIDER_TITLES and model:  # no agents have to be read
        return await _named(engine, name)
    agents = await engine.services.agents_of_files(folder)
    agent = agents.get(wanted[len(AGENT) :] if marked else wanted)
    if agent is not None and (marked or agent.trusted):  # no stranger's may pass for a model
        choice = await engine.choose(agent=agent, folder=folder)
        return ModelTarget(choice.agent, choice.provider, choice.model, chosen=False)
    if marked:
        raise _unknown(name)
    return await _named(engine, name)


async def _named(engine: Engine, name: str) -> ModelTarget:
    try:
        found = await engine.model_names.find(name)
    except UnknownModel as error:
        raise _unknown(name, str(error)) from error
    return ModelTarget(PLAIN, found.provider, found.model, chosen=True)


def _unknown(name: str, reason: str = "") -> BadRequest:
    shown = name if len(name) <= 100 else f"{name[:99]}…"
    return BadRequest(
        f"{reason or f'The model “{shown}” does not exist here.'} {_LISTED}",
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
