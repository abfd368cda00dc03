"""The kinds of recorded exchanges: replies, errors, lists of models, and what no adapter uses."""

from __future__ import annotations

from typing import Any

import pytest

from studio.domain.errors import ProviderFault
from support.recorded_exchanges import Exchange, exchanges

ELSEWHERE = {
    "anthropic-anthropic_count_tokens_with_adaptive_thinking_and_output_tools-0": "counts tokens",
    "google-google_model_usage_limit_not_exceeded-0": "counts tokens",
    "openai-responses_count_tokens_with_tools-0": "counts tokens",
    "google-google_model_cached_content-0": "makes an explicit cache; ours is the implicit one",
    "google-google_model_cached_content-3": "deletes an explicit cache",
}
"""Exchanges with endpoints that no adapter calls, and what they do."""

FAULTS: dict[str, tuple[ProviderFault, str]] = {
    "anthropic-anthropic_explicit_effort_xhigh_unsupported_model_errors-0": (
        "bad_request",
        "does not support effort level",
    ),
    "anthropic-model_name_suggestion-anthropic-0": ("not_found", "claude-sonet-4-5"),
    "deepseek-deepseek_responses_rejects_interleaved_function_calls-0": (
        "bad_history",
        "No tool output found",
    ),
    "google-model_name_suggestion-google-0": ("not_found", "gemini-3.6-flahs"),
    # An error inside a stream that began with a 200.
    "groq-tool_use_failed_error_streaming-0": ("bad_request", "Tool call validation failed"),
    "openai-model_name_suggestion-openai-chat-0": ("not_found", "gpt-5.2-proo"),
    "openai-multimodal_tool_return_matrix-direct-binary-audio-openai_chat-1": (
        "bad_request",
        "Content blocks are expected",
    ),
    "openai-openai_o1_mini_system_role-developer-0": ("bad_request", "Unsupported value"),
    "openai-openai_responses_model_http_error-0": ("bad_request", "temperature"),
    "openai-openai_responses_thinking_with_modified_history-1": (
        "bad_history",
        "without its required following item",
    ),
    "openrouter-openrouter_errors_raised-0": ("rate_limited", "limiting"),
    "openrouter-openrouter_errors_raised-1": ("rate_limited", "limiting"),
    "openrouter-openrouter_errors_raised-2": ("rate_limited", "limiting"),
}
"""What each recorded error means, and words that the person has to see."""


def is_list(exchange: Exchange) -> bool:
    return exchange.method == "GET" and exchange.path.endswith("/models")


REPLIES = [
    exchange
    for exchange in exchanges()
    if exchange.id not in ELSEWHERE and exchange.id not in FAULTS and not is_list(exchange)
]


def each(found: list[Exchange]) -> list[Any]:
    return [pytest.param(exchange, id=exchange.id) for exchange in found]
