"""Anthropic Messages: what is refused about a request's parameters and tools."""

from __future__ import annotations

import re
from typing import Any

from studio.providers.simulator.maker import ServerState
from studio.providers.simulator.refused import RequestRefused
from studio.providers.simulator.view import RequestView
from studio.providers.simulator.wire import Body, obj, objs, text

from .anthropic_reading import placed
from .table import word_set

PLAIN_VERSION = "2023-06-01"
BINDING_BETA = "thinking-binding-controls-2026-08-01"
_EFFORTS = ("low", "medium", "high", "xhigh", "max")
_THINKING = ("adaptive", "between_tools", "disabled", "enabled")
_NAME = re.compile(r"[a-zA-Z0-9_-]{1,128}")
_ID = re.compile(r"[a-zA-Z0-9_-]+")
# The most that a reply of a model may hold; other names take any number.
_OUTPUT = (("claude-opus-5", 128_000), ("claude-sonnet-5", 64_000), ("claude-haiku", 64_000))
_PARAMETERS = word_set(
    "betas billing_policy cache_control compaction container context_management diagnostics "
    "fallbacks inference_geo max_tokens mcp_servers messages metadata model output_config "
    "service_tier speed stop_sequences stream system thinking thread tool_choice tools "
    "user_profile_id"
)


def limit_given(view: RequestView, maker: ServerState) -> None:
    """Every request says how long the reply may be."""
    if "max_tokens" not in view.body:
        raise RequestRefused("parameter", "max_tokens: Field required")


def limit_in_range(view: RequestView, maker: ServerState) -> None:
    """The reply's limit is a number that the model can reach."""
    limit = view.body.get("max_tokens", 1)
    if not isinstance(limit, int) or isinstance(limit, bool):
        raise RequestRefused("parameter", "max_tokens: Input should be a valid integer")
    if limit < 0:
        raise RequestRefused("parameter", "max_tokens: Input should be greater than or equal to 0")
    most = next((tokens for start, tokens in _OUTPUT if view.model.startswith(start)), limit)
    if limit > most:
        raise RequestRefused(
            "parameter",
            f"max_tokens: {limit} > {most}, which is the maximum allowed number of output tokens "
            f"for {view.model}",
        )


def some_messages(view: RequestView, maker: ServerState) -> None:
    """There is something to answer."""
    if not objs(view.body.get("messages")):
        raise RequestRefused("empty", "messages: at least one message is required")


def no_sampling(view: RequestView, maker: ServerState) -> None:
    """Since version 2026-10-21 there are no sampling parameters."""
    for name in ("temperature", "top_p", "top_k"):
        if view.version > PLAIN_VERSION and view.body.get(name) is not None:
            raise RequestRefused(
                "parameter",
                f"{name}: sampling parameters are not supported in version {view.version}",
            )


def effort_known(view: RequestView, maker: ServerState) -> None:
    """The effort is one of the known levels."""
    effort = obj(view.body.get("output_config")).get("effort")
    if effort is not None and effort not in _EFFORTS:
        raise RequestRefused(
            "parameter",
            "output_config.effort: Input should be 'low', 'medium', 'high', 'xhigh' or 'max'",
        )


def effort_supported(view: RequestView, maker: ServerState) -> None:
    """Older models know fewer levels."""
    effort = obj(view.body.get("output_config")).get("effort")
    if effort == "xhigh" and re.match(r"claude-(opus|sonnet|haiku)-4-[0-6](\D|$)", view.model):
        raise RequestRefused(
            "parameter",
            "This model does not support effort level 'xhigh'. Supported levels: high, low, max, "
            "medium.",
        )


def thinking_known(view: RequestView, maker: ServerState) -> None:
    """The kind of thinking is one of the known ones."""
    thinking = view.body.get("thinking")
    kind = obj(thinking).get("type")
    if thinking is not None and kind not in _THINKING:
        known = ", ".join(f"'{name}'" for name in _THINKING)
        raise RequestRefused(
            "parameter",
            f"thinking: Input tag '{kind}' found using 'type' does not match any of the expected "
            f"tags: {known}",
        )


def thinking_budget(view: RequestView, maker: ServerState) -> None:
    """A budget for thinking is at least 1,024 tokens and less than the reply's limit."""
    thinking = obj(view.body.get("thinking"))
    if thinking.get("type") != "enabled":
        return
    budget, limit = thinking.get("budget_tokens"), view.body.get("max_tokens")
    if not isinstance(budget, int):
        raise RequestRefused("parameter", "thinking.enabled.budget_tokens: Field required")
    if budget < 1024:
        raise RequestRefused(
            "parameter",
            "thinking.enabled.budget_tokens: Input should be greater than or equal to 1024",
        )
    if isinstance(limit, int) and budget >= limit:
        raise RequestRefused(
            "parameter",
            "`max_tokens` must be greater than `thinking.budget_tokens`. Please consult our "
            "documentation at https://docs.claude.com/en/docs/build-with-claude/"
            "extended-thinking#max-tokens-and-context-window-size",
        )


def thinking_unforced(view: RequestView, maker: ServerState) -> None:
    """A reply that must call a tool cannot think first."""
    forced = obj(view.body.get("tool_choice")).get("type") in ("any", "tool")
    if forced and obj(view.body.get("thinking")).get("type") == "enabled":
        raise RequestRefused("parameter", "Thinking may not be enabled when tool_choice forces tool use.")


def binding_beta(view: RequestView, maker: ServerState) -> None:
    """What is done about unbound thinking is said with a beta header only."""
    if "block_binding" in obj(view.body.get("thinking")) and BINDING_BETA not in view.beta:
        raise RequestRefused("parameter", "thinking.block_binding: Extra inputs are not permitted")


def binding_known(view: RequestView, maker: ServerState) -> None:
    """Unbound thinking is an error or is dropped."""
    if binding(view) not in ("error", "drop_block"):
        raise RequestRefused(
            "parameter",
            "thinking.block_binding.prefix_mismatch_behavior: Input should be 'error' or "
            "'drop_block'",
        )


def binding(view: RequestView) -> str:
    """What the request wants done about thinking that is bound to another conversation."""
    wanted = obj(obj(view.body.get("thinking")).get("block_binding"))
    return text(wanted.get("prefix_mismatch_behavior") or "error")


def tools_unique(view: RequestView, maker: ServerState) -> None:
    """No two tools of one name."""
    names = [text(tool.get("name")) for tool in objs(view.body.get("tools"))]
    if len(names) != len(set(names)):
        raise RequestRefused("parameter", "tools: Tool names must be unique.")


def tools_named(view: RequestView, maker: ServerState) -> None:
    """A tool's name is plain and not too long."""
    for index, tool in enumerate(objs(view.body.get("tools"))):
        if "name" in tool and not _NAME.fullmatch(text(tool["name"])):
            raise RequestRefused(
                "parameter",
                f"tools.{index}.custom.name: String should match pattern "
                "'^[a-zA-Z0-9_-]{1,128}$'",
            )


def tools_have_schemas(view: RequestView, maker: ServerState) -> None:
    """A tool of one's own takes an object."""
    for index, tool in enumerate(objs(view.body.get("tools"))):
        if tool.get("type", "custom") != "custom":
            continue
        if not isinstance(tool.get("input_schema"), dict):
            raise RequestRefused("parameter", f"tools.{index}.custom.input_schema: Field required")
        if obj(tool["input_schema"]).get("type") != "object":
            raise RequestRefused(
                "parameter", f"tools.{index}.custom.input_schema.type: Input should be 'object'"
            )


def calls_well_named(view: RequestView, maker: ServerState) -> None:
    """Calls in the history have plain names and ids."""
    for place, _, block in placed(view):
        if block.get("type") != "tool_use":
            continue
        if not _ID.fullmatch(text(block.get("id"))):
            raise RequestRefused(
                "content", f"{place}.tool_use.id: String should match pattern '^[a-zA-Z0-9_-]+$'"
            )
        if not _NAME.fullmatch(text(block.get("name"))):
            raise RequestRefused(
                "content",
                f"{place}.tool_use.name: String should match pattern '^[a-zA-Z0-9_-]{{1,128}}$'",
            )


def few_cache_marks(view: RequestView, maker: ServerState) -> None:
    """At most four blocks are marked for the cache."""
    if (found := marks(view.body)) > 4:
        raise RequestRefused(
            "cache", f"A maximum of 4 blocks with cache_control may be provided. Found {found}."
        )


def cache_marks_fit(view: RequestView, maker: ServerState) -> None:
    """Thinking cannot be marked, and an entry lives five minutes or an hour."""
    for place, _, block in placed(view):
        if "cache_control" not in block:
            continue
        if block.get("type") in ("thinking", "redacted_thinking"):
            raise RequestRefused(
                "cache", f"{place}.{block['type']}.cache_control: Extra inputs are not permitted"
            )
        if obj(block["cache_control"]).get("ttl", "5m") not in ("5m", "1h"):
            raise RequestRefused(
                "cache",
                f"{place}.{block.get('type')}.cache_control.ephemeral.ttl: Input should be '5m' "
                "or '1h'",
            )


def marks(value: Any, top: bool = True) -> int:
    """Blocks with ``cache_control``, at any depth; a call's own input does not count."""
    if isinstance(value, list):
        return sum(marks(item, False) for item in objs(value))
    if not isinstance(value, dict):
        return 0
    body: Body = obj(value)
    own = int(not top and bool(body.get("cache_control")))
    return own + sum(marks(item, False) for key, item in body.items() if key not in _OPAQUE)


_OPAQUE = ("input", "input_schema", "cache_control")


def known_parameters(view: RequestView, maker: ServerState) -> None:
    """House rule: nothing is sent that the API has no name for."""
    for key in view.body:
        if key not in _PARAMETERS:
            raise RequestRefused("house", f"{key}: Extra inputs are not permitted")
