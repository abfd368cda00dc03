"""From a provider's words to one fault with plain words (L-12, H-5)."""

from __future__ import annotations

import pytest

from studio.domain.errors import RETRYABLE, ProviderError
from studio.providers.errors import (
    ErrorFactory,
    apply_retry_advice,
    error_message,
    fault_of_bad_request,
    is_bad_history,
)

REJECTED = (
    # Anthropic
    "messages.4: `tool_use` ids were found without `tool_result` blocks immediately after: t1. "
    "Each `tool_use` block must have a corresponding `tool_result` block in the next message.",
    "messages.2.content.0: unexpected `tool_use_id` found in `tool_result` blocks: t9. Each "
    "`tool_result` block must have a corresponding `tool_use` block in the previous message.",
    "messages.1.content.2: `tool_use` ids must be unique",
    "messages.3.content.1: each tool_use must have a single result. Found multiple `tool_result` "
    "blocks with id: t1",
    "messages.1: `tool_result` blocks can only be in `user` messages",
    "messages.1.content.0: Invalid `signature` in `thinking` block",
    "messages.1.content.0: Invalid `signature` in `thinking` block. The block is bound to a "
    "different conversation.",
    "messages.3.content.0: `thinking` or `redacted_thinking` blocks in the latest assistant "
    "message cannot be modified. These blocks must remain as they were in the original response.",
    "messages.1.content.0.type: Expected `thinking` or `redacted_thinking`, but found `tool_use`.",
    "messages: text content blocks must be non-empty",
    "messages.2: all messages must have non-empty content except for the optional final "
    "assistant message",
    "This model does not support assistant message prefill. The conversation must end with a "
    "user message.",
    "messages.1: role 'system' must precede an 'assistant' message or end the array",
    # Gemini
    "Please ensure that the number of function response parts is equal to the number of function "
    "call parts of the function call turn.",
    "Please ensure that function call turn comes immediately after a user turn or after a "
    "function response turn.",
    "Please ensure that function response turn comes immediately after a function call turn.",
    "Function call is missing a thought_signature in functionCall parts. This is required.",
    "Corrupted thought signature.",
    "Unable to submit request because it must include at least one parts field, which describes "
    "the prompt input.",
    # OpenAI
    "No tool output found for function call call_1.",
    "No tool call found for function call output with call_id call_1.",
    "Item 'rs_1' of type 'reasoning' was provided without its required following item.",
    "Item 'fc_1' of type 'function_call' was provided without its required 'reasoning' item: 'rs'",
    "Duplicate item found with id rs_1. Remove duplicate items from your input and try again.",
    "An assistant message with 'tool_calls' must be followed by tool messages responding to each",
    "Invalid parameter: messages with role 'tool' must be a response to a preceeding message with "
    "'tool_calls'.",
    "Item with id 'rs_1' not found. Items are not persisted when `store` is set to false.",
)


@pytest.mark.parametrize("words", REJECTED)
def test_h5_a_rejected_history_is_recognised(words: str) -> None:
    assert is_bad_history(words)
    assert fault_of_bad_request(words) == "bad_history"
    errors = ErrorFactory("anthropic", "Anthropic", "https://x")
    body = {"type": "error", "error": {"type": "invalid_request_error", "message": words}}
    error = errors.from_response(400, body, {})
    assert error.fault == "bad_history"
    assert str(error).startswith("Anthropic did not accept the conversation's history. ")
    assert error.fault not in RETRYABLE


@pytest.mark.parametrize(
    "words",
    [
        "max_tokens: Field required",
        "temperature: sampling parameters are not supported in version 2026-10-21",
        "messages.0.content.1.image.source.base64.data: image exceeds 5 MB maximum",
        "tools: Tool names must be unique.",
        "Unknown name \"x\": Cannot find field.",
        "The model `gpt-9` does not exist or you do not have access to it.",
        "Budget 0 is invalid. This model only works in thinking mode.",
        "thinking.enabled.budget_tokens: Input should be greater than or equal to 1024",
        "",
    ],
)  # fmt: skip
def test_other_rejections_are_not_about_the_history(words: str) -> None:
    assert fault_of_bad_request(words) == "bad_request"


def test_a_long_conversation_is_not_a_broken_one() -> None:
    assert fault_of_bad_request("prompt is too long: 210000 tokens > 200000 maximum") == "too_long"


@pytest.mark.parametrize(
    "words",
    [
        "prompt is too long: 212345 tokens > 200000 maximum",
        "This model's maximum context length is 200000 tokens. However, your messages resulted in "
        "212345 tokens. Please reduce the length of the messages.",
        "This endpoint's maximum context length is 200000 tokens. However, you requested about "
        "212345 tokens (200000 of text input, 12345 in the output).",
        "The input token count (212345) exceeds the maximum number of tokens allowed (200000).",
        "The input token count is 212345 but model only supports up to 200000.",
        "request (212345 tokens) exceeds the available context size (200000 tokens), try it",
    ],
)
def test_l12_a_full_chat_tells_the_tokens_it_needs_and_has(words: str) -> None:
    error = ErrorFactory("x", "X", "https://x").from_response(
        400, {"error": {"message": words}}, {}
    )
    assert error.fault == "too_long"
    assert str(error) == "The conversation needs 212,345 tokens. The model takes 200,000."


def test_l12_a_full_chat_without_figures_quotes_the_provider() -> None:
    words = "Your input exceeds the context window of this model."
    error = ErrorFactory("x", "X", "https://x").from_response(400, words, {})
    assert str(error) == f"The conversation is too long for this model. {words}"


def test_l12_the_servers_word_on_another_try() -> None:
    never, always = {"x-should-retry": "false"}, {"x-should-retry": "true"}
    assert apply_retry_advice("rate_limited", {}, "Slow down.") == "rate_limited"
    limited = ErrorFactory("x", "X", "https://x").error("rate_limited", "Slow down.")
    assert str(limited) == "X is limiting requests. Slow down."
    assert apply_retry_advice("rate_limited", never, "Slow down.") == "forbidden"
    assert apply_retry_advice("server", never, "") == "bad_request"
    assert apply_retry_advice("bad_request", always, "") == "server"
    assert apply_retry_advice("bad_key", always, "") == "bad_key"
    # A limit on spending comes as 429 too, without a wait: waiting does not help.
    words = "This request would exceed your organization's monthly spend limit."
    assert apply_retry_advice("rate_limited", {}, words) == "no_credit"
    error = ErrorFactory("x", "X", "https://x").from_response(
        503, "busy", {"x-should-retry": "false"}
    )
    assert isinstance(error, ProviderError)
    assert error.fault not in RETRYABLE


def test_of_a_providers_words_only_so_many_are_looked_at() -> None:
    """Each is searched for what it may mean, and megabytes of them took long."""
    words = "x" * 1_000_000
    for body in (words, {"error": {"message": words}}, {"message": words}):
        assert 0 < len(error_message(body)) <= 20_000
