"""Text about providers and models: keys, prices, sizes and dates in words."""

from __future__ import annotations

from studio.domain.models import ModelInfo
from studio.providers.registry import PROVIDERS
from studio.ui.formatting import day

RESELLERS = ("sk-or-",)
"""Keys that begin like OpenAI's and are another's."""


def provider_of_key(key: str) -> str:
    """The provider whose keys begin like this one, or nothing."""
    found = key.strip()
    if found.startswith(RESELLERS):
        return ""
    prefixes = [(prefix, one.name) for one in PROVIDERS.values() for prefix in one.key_prefixes]
    return next((name for prefix, name in _longest(prefixes) if found.startswith(prefix)), "")


def masked(key: str, dots: int = 14) -> str:
    """A key with its beginning and its last four characters: enough to tell it from others."""
    key = key.strip()
    if len(key) < 12:
        return "•" * 14
    prefixes = [(prefix, "") for one in PROVIDERS.values() for prefix in one.key_prefixes]
    head = next((prefix for prefix, _ in _longest(prefixes) if key.startswith(prefix)), "")
    return f"{head}{'•' * dots}{key[-4:]}"


def _longest(prefixes: list[tuple[str, str]]) -> list[tuple[str, str]]:
    return sorted(prefixes, key=lambda pair: -len(pair[0]))


def tokens(count: int | None) -> str:
    """A context window: 200k, 1M."""
    if not count:
        return ""
    if count >= 1_000_000:
        return f"{count / 1_000_000:.1f}".removesuffix(".0") + "M"
    return f"{round(count / 1000)}k" if count >= 1000 else str(count)


def price(dollars_in: float | None, dollars_out: float | None) -> str:
    """Dollars for a million tokens, in and out: $3 / $15, $0.075 / $0.30."""
    if dollars_in is None or dollars_out is None:
        return ""

    def money(value: float) -> str:
        if value == int(value):
            return f"${value:.0f}"
        exact = f"${value:.3f}"
        return exact[:-1] if exact.endswith("0") else exact

    return f"{money(dollars_in)} / {money(dollars_out)}"


def abilities(model: ModelInfo) -> str:
    """What a model is known to do: reads pictures and PDF, calls tools, thinks."""
    reads = [word for word, able in (("pictures", model.images), ("PDF", model.documents)) if able]
    does = [
        f"reads {' and '.join(reads)}" if reads else "",
        "calls tools" if model.tools else "",
        "thinks" if model.reasoning else "",
    ]
    return ", ".join(word for word in does if word)


def mark(model: ModelInfo) -> str:
    """What sets a model apart in a list: Yours, Until 1 Dec 2026, Deprecated."""
    if model.source == "yours":
        return "Yours"
    if model.lifecycle not in ("", "deprecated"):
        return ""
    if model.retires:
        return f"Until {day(model.retires)}"
    return "Deprecated" if model.lifecycle else ""
