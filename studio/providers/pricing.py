"""Pricing: computes what a request costs, by the model's own prices or the genai-prices tables."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime
from functools import lru_cache
from typing import TYPE_CHECKING

from studio.domain.models import ModelInfo, Usage

from .http import import_alone
from .registry import PROVIDERS

if TYPE_CHECKING:
    from genai_prices import types
    from genai_prices.data_snapshot import DataSnapshot

_FIELDS = {
    "input_price": "input_mtok",
    "output_price": "output_mtok",
    "cache_read_price": "cache_read_mtok",
    "cache_write_price": "cache_write_mtok",
}
"""The names of the prices here, and in the tables."""


def request_cost(
    provider: str, model: str, usage: Usage, facts: ModelInfo | None = None
) -> float | None:
    """US dollars of one request, an estimate; None where no price is known.

    A price in ``facts`` (the person's, or the provider's own) comes before the
    tables' price. A price in ``facts`` that equals one of the tables was copied
    from there; then the tables' price holds, which has tiers and dates. A tier
    is chosen by the size of one request, so do not pass the sum of many requests.
    Imports the tables on first use: call it in a thread.
    """
    return request_costs(provider, model, (usage,), facts)[0]


def request_costs(
    provider: str, model: str, usages: Sequence[Usage], facts: ModelInfo | None = None
) -> list[float | None]:
    """The same of several requests to one model."""
    if is_local(provider, model):
        return [0.0] * len(usages)
    prices = _prices(provider, model, facts)
    return [None if prices is None else _cost(prices, usage) for usage in usages]


def _cost(prices: types.ModelPrice, usage: Usage) -> float | None:
    from genai_prices import Usage as Counted

    counted = Counted(
        input_tokens=usage.input,
        cache_read_tokens=usage.cache_read,
        cache_write_tokens=usage.cache_write,
        output_tokens=usage.output,
    )
    try:
        return float(prices.calc_price(counted)["total_price"])
    except ValueError:  # more tokens from the cache than were sent, for example
        return None


def cache_loss(provider: str, model: str, tokens: int, facts: ModelInfo | None = None) -> float:
    """US dollars it costs that this many tokens were not read from the cache; an estimate.

    0.0 where no price is known, or where the cache makes nothing cheaper.
    """
    asked = Usage(input=tokens), Usage(input=tokens, cache_read=tokens)
    whole, cached = request_costs(provider, model, asked, facts)
    return max(whole - cached, 0.0) if whole is not None and cached is not None else 0.0


@lru_cache(maxsize=1)
def tier_sizes() -> tuple[int, ...]:
    """Tokens sent above which a request to some model has other prices, fewest first.

    A model's requests between two of them all have the same prices. Imports the
    tables: call it in a thread.
    """
    tables = _tables()
    from genai_prices.types import TieredPrices

    found = set[int]()
    for model in (model for provider in tables.providers for model in provider.models):
        for price in (price for prices in _at_all_dates(model) for price in vars(prices).values()):
            if isinstance(price, TieredPrices):
                found.update(tier.start for tier in price.tiers)
    return tuple(sorted(found))


def is_local(provider: str, model: str) -> bool:
    """Whether a model runs on the person's machines, for nothing; Ollama has hosted ones too."""
    known = PROVIDERS.get(provider)
    if known is None or not known.local:
        return False
    return not (known.hosted_suffix and model.endswith(known.hosted_suffix))


def tables_read() -> bool:
    """Whether the tables were read, so that no price takes more than half a millisecond."""
    return _tables.cache_info().currsize > 0


@lru_cache(maxsize=1)
def _tables() -> DataSnapshot:
    """The tables of genai-prices; read with the first price, and not beside an SDK's import."""

    def read() -> DataSnapshot:
        from genai_prices.data_snapshot import get_snapshot

        return get_snapshot()

    return import_alone(read)


def _prices(provider: str, model: str, facts: ModelInfo | None) -> types.ModelPrice | None:
    """The prices in force now; None unless both directions have one."""
    given = {ours: getattr(facts, ours) for ours in _FIELDS if facts is not None}
    given = {ours: price for ours, price in given.items() if price is not None}
    _tables()
    from decimal import Decimal

    from genai_prices.types import ModelPrice

    listed = _listed(provider, model)
    prices = dict[str, "Decimal | types.TieredPrices | None"]()
    if listed is not None:
        prices = vars(listed.get_prices(datetime.now(UTC))).copy()
    for ours, price in given.items():
        theirs = _FIELDS[ours]
        if listed is None or price not in _bases(listed, theirs):
            prices[theirs] = Decimal(str(price))
    known = prices.get("input_mtok") is not None and prices.get("output_mtok") is not None
    return ModelPrice(**prices) if known else None


@lru_cache(maxsize=1024)
def _listed(provider: str, model: str) -> types.ModelInfo | None:
    """The tables' entry; servers that imitate OpenAI are looked up by the model's id.

    ``maker/model`` is how OpenRouter names models; other names tell their maker.
    """
    known = PROVIDERS.get(provider)
    if known is None or known.price_table is None:
        return None
    table = known.price_table or ("openrouter" if "/" in model else None)
    try:
        return _tables().find_provider_model(model, None, table, None)[1]
    except LookupError:
        return None


def _bases(listed: types.ModelInfo, key: str) -> set[float]:
    """What the tables have as a price at any date, without the tiers."""
    from genai_prices.types import TieredPrices

    found = [getattr(prices, key) for prices in _at_all_dates(listed)]
    return {
        float(price.base if isinstance(price, TieredPrices) else price)
        for price in found
        if price is not None
    }


def _at_all_dates(listed: types.ModelInfo) -> list[types.ModelPrice]:
    every = listed.prices
    return [one.prices for one in every] if isinstance(every, list) else [every]
