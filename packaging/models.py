"""Brings the prices in resources/models.json up to date: python packaging/models.py

Prices are those of the installed genai-prices, as they are today, without the
tiers of very large requests. A context window is filled in where there is
none: the tables round theirs. The other facts are read off the providers' own
pages by hand, see docs/models.md; null is for what nobody says.
"""

from __future__ import annotations

import json
from dataclasses import fields
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from genai_prices.data_snapshot import get_snapshot
from genai_prices.types import ModelPrice, TieredPrices

from studio.domain.models import ModelInfo

FILE = Path(__file__).parent.parent / "resources" / "models.json"
TABLES = {"anthropic": "anthropic", "openai": "openai", "gemini": "google"}
PRICES = {
    "input_price": "input_mtok",
    "output_price": "output_mtok",
    "cache_read_price": "cache_read_mtok",
    "cache_write_price": "cache_write_mtok",
}
ORDER = [field.name for field in fields(ModelInfo) if field.name != "source"]
OPEN = [field.name for field in fields(ModelInfo) if field.default is None]
"""Facts that may be unknown, and then are null."""


def refreshed(data: dict[str, Any], now: datetime) -> dict[str, Any]:
    """The list with the prices of a day; models that the tables do not know stay as they are."""
    providers = {
        name: [_refreshed(name, model, now) for model in models]
        for name, models in data["providers"].items()
    }
    return {"date": f"{now:%Y-%m}", "providers": providers}


def written(data: dict[str, Any]) -> str:
    """The file's text: a line a model."""
    providers = ",\n".join(
        f'    "{name}": ['
        + ",".join(f"\n      {json.dumps(model, ensure_ascii=False)}" for model in models)
        + ("\n    ]" if models else "]")
        for name, models in data["providers"].items()
    )
    return f'{{\n  "date": "{data["date"]}",\n  "providers": {{\n{providers}\n  }}\n}}\n'


def _refreshed(provider: str, model: dict[str, Any], now: datetime) -> dict[str, Any]:
    facts = dict(model)
    if provider in TABLES:
        try:
            tables = get_snapshot()
            _, listed = tables.find_provider_model(model["id"], None, TABLES[provider], None)
        except LookupError:
            print(f"{provider}/{model['id']} is not in the tables")
        else:
            prices = listed.get_prices(now)
            facts |= {ours: _base(prices, theirs) for ours, theirs in PRICES.items()}
            facts["context_window"] = facts.get("context_window") or listed.context_window
    whole = provider in TABLES
    return {
        name: facts.get(name)
        for name in ORDER
        if facts.get(name) is not None or (whole and name in OPEN)
    }


def _base(prices: ModelPrice, key: str) -> float | None:
    price = getattr(prices, key)
    if price is None:
        return None
    return float(price.base if isinstance(price, TieredPrices) else price)


if __name__ == "__main__":
    data = json.loads(FILE.read_text(encoding="utf-8"))
    FILE.write_text(written(refreshed(data, datetime.now(UTC))), encoding="utf-8")
