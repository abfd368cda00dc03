"""What clients can ask for: every agent, and every model that is set up (S-3)."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

from studio.agent.studio import Engine
from studio.domain.jsonvalue import Json, JsonObject
from studio.domain.providers import PROVIDER_TITLES

from .naming import AGENT, PLAIN

OWNER = "agent-studio"
SINCE = 1_767_225_600
"""2026-01-01: APIs want a time of making, which nobody knows of most models."""


@dataclass(frozen=True, slots=True)
class ListedModel:
    """One name that a client can send as ``model``."""

    id: str
    title: str
    owner: str

    def openai(self) -> JsonObject:
        """OpenAI has no ``name``; what lets people choose shows it, as Open WebUI does."""
        return {
            "id": self.id,
            "object": "model",
            "created": SINCE,
            "owned_by": self.owner,
            "name": self.title,
        }

    def anthropic(self) -> JsonObject:
        made = datetime.fromtimestamp(SINCE, UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
        return {
            "type": "model",
            "id": self.id,
            "display_name": self.title,
            "created_at": made,
        }


async def list_models(studio: Engine, folder: Path) -> list[ListedModel]:
    """Agents by name, then the models of connected providers that the person offers.

    What the catalogue knows now: a provider is asked again, where its list is
    old, and not waited for.
    """
    await studio.refresh_lists()
    found = await studio.agents(folder)
    agents = sorted(name for name in found.by_name if name != PLAIN)
    return [
        *(ListedModel(f"{AGENT}{name}", name, OWNER) for name in agents),
        *(model for provider in studio.connected for model in _models(studio, provider)),
    ]


def _models(studio: Engine, provider: str) -> list[ListedModel]:
    title = PROVIDER_TITLES.get(provider, provider)
    return [
        ListedModel(f"{provider}/{model.id}", f"{model.title} ({title})", provider)
        for model in studio.offered(provider)
    ]


def openai_list(models: list[ListedModel]) -> JsonObject:
    return {"object": "list", "data": [model.openai() for model in models]}


def anthropic_list(models: list[ListedModel]) -> JsonObject:
    data: list[Json] = [model.anthropic() for model in models]
    ids = [model.id for model in models]
    return {
        "data": data,
        "has_more": False,
        "first_id": ids[0] if ids else None,
        "last_id": ids[-1] if ids else None,
    }
