"""The models that a file can name, by provider, as lines of a menu."""

from __future__ import annotations

from studio.agent.engine import Engine
from studio.providers.registry import PROVIDER_TITLES
from studio.ui.translation import tr
from studio.ui.widgets import MenuItem

MOST = 40
"""Models that are listed of one provider."""


def model_names(engine: Engine) -> list[str]:
    """The models of all connected providers, each as “provider/model”."""
    return [f"{one}/{model.id}" for one in engine.connected for model in engine.offered(one)]


def model_items(engine: Engine) -> list[MenuItem]:
    """Their keys are “provider/model”; the first leaves the choice to the chat."""
    items = [MenuItem("/", tr("The chat’s choice"))]
    for provider in engine.connected:
        if offered := engine.offered(provider):
            items.append(MenuItem("", PROVIDER_TITLES.get(provider, provider)))
            items += [MenuItem(f"{provider}/{one.id}", one.title) for one in offered[:MOST]]
    return items
