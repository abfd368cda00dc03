"""What requests cost (P-5): a model's own prices first, then the tables', or not known."""

from __future__ import annotations

import sys
from dataclasses import replace
from pathlib import Path
from subprocess import run

import pytest

from studio.domain.models import NO_USAGE, ModelInfo, Usage
from studio.providers.pricing import cache_loss, is_local, request_cost
from studio.simulator import Text, Turn
from support.engine_home import engine_home, say

MILLION = 1_000_000
HALF_CACHED = Usage(input=100_000, cache_read=50_000, output=1_000)


def test_p5_the_tables_price_input_output_and_the_cache() -> None:
    # 50,000 at $4, 50,000 from the cache at $0.20, 1,000 out at $20
    assert request_cost("anthropic", "claude-opus-5-5", HALF_CACHED) == pytest.approx(
        0.2 + 0.01 + 0.02
    )
    written = Usage(input=100_000, cache_write=100_000)
    assert request_cost("anthropic", "claude-opus-5-5", written) == pytest.approx(0.5)
    assert request_cost("anthropic", "claude-opus-5-5-20260910", HALF_CACHED) == pytest.approx(0.23)
    assert request_cost("anthropic", "claude-opus-5-5", NO_USAGE) == 0.0


def test_p5_a_large_request_costs_more_for_each_token() -> None:
    assert request_cost("openai", "gpt-6.1-sol", Usage(input=200_000)) == pytest.approx(0.4)
    assert request_cost("openai", "gpt-6.1-sol", Usage(input=400_000)) == pytest.approx(1.6)
    # A price that came from the tables does not take their tiers away.
    facts = ModelInfo("gpt-6.1-sol", input_price=2.0, output_price=10.0)
    assert request_cost("openai", "gpt-6.1-sol", Usage(input=400_000), facts) == pytest.approx(1.6)


def test_p5_a_price_of_one_s_own_comes_before_the_tables() -> None:
    facts = ModelInfo("claude-opus-5-5", input_price=1.0)
    used = Usage(input=MILLION, output=MILLION)
    assert request_cost("anthropic", "claude-opus-5-5", used, facts) == pytest.approx(1.0 + 20.0)
    mine = ModelInfo("mine", input_price=3.0, output_price=1.0)
    assert request_cost("openai", "mine", used, mine) == pytest.approx(4.0)
    # A cache nobody has a price for is paid like any input, so the estimate is not too low.
    cached = Usage(input=MILLION, cache_read=MILLION)
    assert request_cost("openai", "mine", cached, mine) == pytest.approx(3.0)
    priced = ModelInfo("mine", input_price=3.0, output_price=1.0, cache_read_price=0.5)
    assert request_cost("openai", "mine", cached, priced) == pytest.approx(0.5)
    assert request_cost("openai-compatible", "mine:free", used, ModelInfo("", input_price=0, output_price=0)) == 0.0  # fmt: skip


@pytest.mark.parametrize(
    ("provider", "model"),
    [
        ("openai", "gpt-99"),
        ("anthropic", ""),
        ("gemini", "gemma-3"),  # in the tables, without a price
        ("openai-compatible", "my-own-model"),
        ("openai-compatible", "nobody/nothing"),
        ("ollama", "gpt-oss:120b-cloud"),
        ("ollama", "kimi-k2.5:cloud"),
        ("no-such-provider", "gpt-5.5"),
    ],
)
def test_p5_no_price_is_not_a_price_of_nothing(provider: str, model: str) -> None:
    assert request_cost(provider, model, HALF_CACHED) is None
    assert request_cost(provider, model, HALF_CACHED, ModelInfo(model)) is None
    assert request_cost(provider, model, HALF_CACHED, ModelInfo(model, input_price=1.0)) is None
    assert cache_loss(provider, model, 1000) == 0.0


def test_p5_local_models_are_free_and_need_no_tables() -> None:
    for provider, model in [("builtin", "smollm2"), ("ollama", "qwen3:4b"), ("simulator", "x")]:
        assert is_local(provider, model)
        assert request_cost(provider, model, HALF_CACHED) == 0.0
        assert cache_loss(provider, model, 1000) == 0.0
    code = """
import sys
from studio.domain.models import Usage
from studio.providers.pricing import request_cost
assert request_cost("ollama", "qwen3:4b", Usage(input=5)) == 0.0
assert "genai_prices" not in sys.modules
"""
    run([sys.executable, "-c", code], check=True)


def test_p5_compatible_servers_are_priced_by_the_model_s_name() -> None:
    used = Usage(input=MILLION)
    assert request_cost("openai-compatible", "anthropic/claude-opus-5.5", used) == pytest.approx(
        4.0
    )
    assert request_cost("openai-compatible", "gpt-5.5", Usage(input=1000)) == pytest.approx(0.005)


def test_counts_that_cannot_be_have_no_price() -> None:
    assert request_cost("openai", "gpt-5.5", Usage(input=10, cache_read=20)) is None


def test_h9_what_a_broken_cache_costs() -> None:
    # $4 in full, $0.20 from the cache
    assert cache_loss("anthropic", "claude-opus-5-5", MILLION) == pytest.approx(3.8)
    facts = ModelInfo("mine", input_price=3.0, output_price=1.0, cache_read_price=0.5)
    assert cache_loss("openai", "mine", MILLION, facts) == pytest.approx(2.5)
    no_discount = ModelInfo("mine", input_price=3.0, output_price=1.0, cache_read_price=9.0)
    assert cache_loss("openai", "mine", MILLION, no_discount) == 0.0


async def test_p5_an_entry_in_the_settings_reaches_the_request_and_its_price(
    tmp_path: Path,
) -> None:
    """From the file to the facts of a request, and to what the chat costs."""
    async with engine_home(tmp_path, "anthropic", [Turn(Text("Well."))]) as home:
        engine = home.engine
        engine.settings.values.models["anthropic/sim-model"] = {
            "context_window": 64_000,
            "input_price": 10,
            "output_price": 0,
            "tools": True,
        }
        facts = engine.model("anthropic", "sim-model")
        assert (facts.source, facts.context_window, facts.tools) == ("yours", 64_000, True)
        assert "sim-model" in {one.id for one in engine.catalogue.listing("anthropic").models}
        session = await home.session()
        await say(session, "Hello")
        (entry,) = await engine.store.ledger(session.info.id)
        assert await engine.usage_costs.costs([entry]) == [
            pytest.approx(entry.usage.input / 100_000)
        ]
        engine.settings.values.models.clear()
        assert await engine.usage_costs.costs([entry]) == [None]
        assert await engine.usage_costs.costs([replace(entry, cost=0.25)]) == [0.25]
