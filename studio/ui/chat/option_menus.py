"""What the composer's menus offer."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from studio.ui.formatting import short_path
from studio.ui.widgets import MenuItem

if TYPE_CHECKING:
    from studio.agent.engine import Engine
    from studio.domain.models import Effort, ModelInfo

CHOOSE_FOLDER = "…"
OPEN_SETTINGS = "settings"
MOST_FLAT = 10
"""As many models of other providers are seen at once, without a menu in the menu."""


def model_key(provider: str, model: str) -> str:
    return f"{provider}/{model}"


def split_key(key: str) -> tuple[str, str]:
    provider, _, model = key.partition("/")
    return provider, model


def model_items(
    studio: Engine, providers: Sequence[str], current: str, thinking: Sequence[MenuItem]
) -> list[MenuItem]:
    """The models of every connected provider; the chosen one stays even if unlisted (P-3).

    The chosen one's provider comes first, and then ``thinking``, a section of
    its own. The others have menus of their own where all would be too long.
    """
    from studio.domain.models import PROVIDER_TITLES

    sections: dict[str, list[MenuItem]] = {}
    chosen, model = split_key(current)
    for name in providers:
        if offered := studio.offered(name, model if name == chosen else ""):
            sections[name] = [
                MenuItem(model_key(name, one.id), one.title, detail=_window(one)) for one in offered
            ]
    first = sections.pop(chosen, [])
    items = [MenuItem("", PROVIDER_TITLES[chosen]), *first] if first else []
    if current and all(item.key != current for item in first):
        items = [MenuItem(current, model), *items]
    items += thinking
    if sum(map(len, sections.values())) <= MOST_FLAT:
        for name, section in sections.items():
            items += [MenuItem("", PROVIDER_TITLES[name]), *section]
    elif sections:
        items.append(MenuItem("", "Other providers"))
        items += [MenuItem(n, PROVIDER_TITLES[n], items=tuple(s)) for n, s in sections.items()]
    return [*items, MenuItem("", ""), MenuItem(OPEN_SETTINGS, "Providers and models…")]


EFFORT_WORDS: dict[Effort, str] = {
    "none": "Off",
    "minimal": "Minimal",
    "low": "Low",
    "medium": "Medium",
    "high": "High",
    "xhigh": "Extra high",
    "max": "Maximum",
}
_EFFORT = "effort "


def effort_items(model: ModelInfo, current: Effort | None) -> list[MenuItem]:
    """How much the model can be made to think; nothing for one that does not."""
    offered = efforts(model)
    if not offered:
        return []
    return [
        MenuItem("", "Thinking"),
        MenuItem(_EFFORT, "Default", checked=current is None),
        *(MenuItem(_EFFORT + e, EFFORT_WORDS[e], checked=e == current) for e in offered),
    ]


def efforts(model: ModelInfo) -> tuple[Effort, ...]:
    """What can be chosen; of a model nobody knows, what most have."""
    if model.efforts is None:
        return () if model.reasoning is False else ("low", "medium", "high")
    return model.efforts


def is_effort(key: str) -> bool:
    return key.startswith(_EFFORT)


def effort_of(key: str) -> Effort | None:
    """What a line of the menu stands for; None for the default."""
    return next((effort for effort in EFFORT_WORDS if _EFFORT + effort == key), None)


TURN_MODES: dict[str, tuple[str, str]] = {
    "": ("As the agent’s file says", ""),
    "inline": ("Inline", "Short: ends soon and hands back to you"),
    "background": ("Background", "Longer, beside what else you do"),
}
_MODE = "mode "


def turn_mode_items(current: str) -> list[MenuItem]:
    """How long the next messages of a chat may take, below its agents."""
    return [
        MenuItem("", "Mode"),
        *(
            MenuItem(_MODE + mode, words, detail=about, checked=mode == current)
            for mode, (words, about) in TURN_MODES.items()
        ),
    ]


def turn_mode_of(key: str) -> str | None:
    """The mode that a line of the agents' menu stands for; None for an agent's."""
    return next((mode for mode in TURN_MODES if _MODE + mode == key), None)


def _window(model: object) -> str:
    tokens = getattr(model, "context_window", None)
    if not tokens:
        return ""
    return f"{round(tokens / 1_000_000, 2):g}M" if tokens >= 1_000_000 else f"{tokens // 1000}k"


def folder_items(recent: Sequence[str]) -> list[MenuItem]:
    items = [MenuItem(folder, short_path(folder)) for folder in recent]
    return [*items, *([MenuItem("", "")] if items else []), MenuItem(CHOOSE_FOLDER, "Choose…")]
