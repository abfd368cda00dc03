"""What requests cost, from the genai-prices tables that ship with the program."""

from __future__ import annotations

from studio.domain.models import ModelInfo, Usage

_PROVIDERS = {"anthropic": "anthropic", "openai": "openai", "gemini": "google"}


def cost(provider: str, model: str, usage: Usage) -> float:
    """US dollars, an estimate; 0.0 for local models and where no price is known.

    Imports its tables on first use, so call it in a thread.
    """
    known = _PROVIDERS.get(provider)
    if known is None or not usage.total:
        return 0.0
    import genai_prices

    try:
        priced = genai_prices.calc_price(
            genai_prices.Usage(
                input_tokens=usage.input,
                cache_read_tokens=usage.cache_read,
                cache_write_tokens=usage.cache_write,
                output_tokens=usage.output,
            ),
            model,
            provider_id=known,
        )
    except (LookupError, ValueError):
        return 0.0
    return float(priced.total_price)


def cache_loss(provider: str, model: str, tokens: int, facts: ModelInfo | None = None) -> float:
    """US dollars it costs that this many tokens were not read from the cache; an estimate."""
    whole = cost(provider, model, Usage(input=tokens))
    cached = cost(provider, model, Usage(input=tokens, cache_read=tokens))
    return max((whole or 0.0) - (cached or 0.0), 0.0)
