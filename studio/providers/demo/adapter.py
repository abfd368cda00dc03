"""Demo adapter: speaks Chat Completions with a simulator on this computer."""

from __future__ import annotations

from studio.domain.models import ModelInfo
from studio.providers.http import Http
from studio.providers.openai_chat.adapter import CompatibleProvider

from . import PROVIDER


class DemoProvider(CompatibleProvider):
    """Needs no key and no network; every answer is labelled as simulated."""

    def __init__(self, base_url: str, http: Http) -> None:
        super().__init__("demo", base_url, http, name=PROVIDER.name, title="The demo")

    async def models(self) -> list[ModelInfo]:
        return [model for model in await super().models() if model.id.startswith("demo-")]

    def takes_orientation(self, model: str) -> bool:
        """Its rules would take it for the words of the person."""
        return False
