"""Model choices: the models of all connected providers, in the order in which they are offered."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Literal, TypeAlias

from studio.domain.records import dataclass
from studio.ui.engine_texts import tr_engine

if TYPE_CHECKING:
    from studio.agent.engine import Engine
    from studio.domain.models import ModelInfo

Kind: TypeAlias = Literal["all", "local", "vision"]
"""What a list is narrowed to: models on the person's computers, or that read pictures."""


@dataclass(frozen=True, slots=True)
class ModelChoice:
    """One model that a chat can be given.

    ``local`` says that it runs on the person's computers, for nothing; ``used`` marks the
    chat's own.
    """

    provider: str
    provider_title: str
    info: ModelInfo
    local: bool = False
    favourite: bool = False
    used: bool = False

    @property
    def key(self) -> str:
        """Provider and model, as the settings name it."""
        return f"{self.provider}/{self.info.id}"


def model_choices(engine: Engine, provider: str, model: str) -> list[ModelChoice]:
    """What can be chosen in a chat with this model: favourites first, then its provider's.

    The chat's own model is there even if nobody lists it (P-3).
    """
    from studio.providers.registry import PROVIDERS

    favourites = engine.settings.values.favourite_models
    order = sorted(engine.connected, key=lambda name: name != provider)
    found: list[ModelChoice] = []
    for name in order:
        current = model if name == provider else ""
        offered = engine.offered(name, current)
        if current and all(one.id != current for one in offered):
            offered = [engine.model(name, current), *offered]
        about = PROVIDERS[name]
        for one in offered:
            hosted = about.hosted_suffix and one.id.endswith(about.hosted_suffix)
            found.append(
                ModelChoice(
                    name,
                    tr_engine(about.title),
                    one,
                    local=about.local and not hosted,
                    favourite=f"{name}/{one.id}" in favourites,
                    used=one.id == current,
                )
            )
    return sorted(found, key=lambda one: not one.favourite)


def matching(choices: Iterable[ModelChoice], text: str, kind: Kind = "all") -> list[ModelChoice]:
    """The choices of a kind with all the words of a text in their names."""
    words = text.casefold().split()
    return [
        one
        for one in choices
        if (kind != "local" or one.local)
        and (kind != "vision" or one.info.images)
        and all(
            word in f"{one.info.title} {one.key} {one.provider_title}".casefold() for word in words
        )
    ]


def request_price(info: ModelInfo, tokens: int) -> float | None:
    """Dollars for reading a conversation of so many tokens once, none of them cached."""
    return None if info.input_price is None else info.input_price * tokens / 1_000_000


def toggled(favourites: Sequence[str], key: str) -> list[str]:
    """The favourites with a model added at the end, or taken out."""
    if key in favourites:
        return [one for one in favourites if one != key]
    return [*favourites, key]
