"""What the composer's menus offer."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from studio.ui.controls import MenuItem
from studio.ui.folders import short_path

if TYPE_CHECKING:
    from studio.agent.studio import Studio

CHOOSE_FOLDER = "…"
SETTINGS = "settings"


def model_key(provider: str, model: str) -> str:
    return f"{provider}/{model}"


def split_key(key: str) -> tuple[str, str]:
    provider, _, model = key.partition("/")
    return provider, model


def model_items(studio: Studio, providers: Sequence[str], current: str) -> list[MenuItem]:
    """The models of every connected provider; the chosen one stays even if unlisted (P-3)."""
    from studio.agent.connections import TITLES

    items: list[MenuItem] = []
    values = studio.settings.values
    for name in providers:
        enabled = values.enabled_models.get(name)
        listed = [
            model
            for model in studio.catalogue.listing(name).models
            if enabled is None or model.id in enabled or model_key(name, model.id) == current
        ]
        known = {model.id for model in listed}
        own = [model for model in values.own_models.get(name, []) if model not in known]
        if not listed and not own:
            continue
        items.append(MenuItem("", TITLES[name]))
        items += [MenuItem(model_key(name, m.id), m.title, detail=_window(m)) for m in listed]
        items += [MenuItem(model_key(name, model), model) for model in own]
    if current and all(item.key != current for item in items):
        items = [MenuItem(current, split_key(current)[1]), *items]
    return [*items, MenuItem("", ""), MenuItem(SETTINGS, "Providers and models…")]


def _window(model: object) -> str:
    tokens = getattr(model, "context_window", None)
    if not tokens:
        return ""
    return f"{tokens / 1_000_000:g}M" if tokens >= 1_000_000 else f"{tokens // 1000}k"


def folder_items(recent: Sequence[str]) -> list[MenuItem]:
    items = [MenuItem(folder, short_path(folder)) for folder in recent]
    return [*items, *([MenuItem("", "")] if items else []), MenuItem(CHOOSE_FOLDER, "Choose…")]
