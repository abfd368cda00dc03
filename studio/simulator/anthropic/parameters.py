"""Anthropic Messages: what is refused about a request's parameters and tools.

An Anthropic request as its rules read it: blocks, runs of one role, the prefix of a block.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

from studio.simulator.json_read import Body, obj, objs, text
from studio.simulator.request_view import RequestView
from studio.simulator.rules import RequestRefused, word_set
from studio.simulator.state import ServerState


def blocks(message: Body) -> list[Body]:
    """A message's content as blocks."""
    content = message.get("content")
    if isinstance(content, str):
        return [{"type": "text", "text": content}]
    return objs(content)


def placed(view: RequestView) -> Iterator[tuple[str, str, Body]]:
    """Every block with its place in the request, ``messages.N.content.M``, and its role."""
    for index, message in enumerate(objs(view.body.get("messages"))):
        for number, block in enumerate(blocks(message)):
            yield f"messages.{index}.content.{number}", text(message.get("role")), block


def inner(view: RequestView) -> Iterator[tuple[str, Body, Body]]:
    """Every block inside a result, with its place and the result it is in."""
    for place, _, block in placed(view):
        if block.get("type") == "tool_result":
            for number, part in enumerate(objs(block.get("content"))):
                yield f"{place}.tool_result.content.{number}", part, block


def element(role: str, block: Body) -> Any:
    """One block as the prefix of what follows it sees it: no cache marks, no SDK additions."""
    match block.get("type"):
        case "text":
            return [role, "text", text(block.get("text"))]
        case "tool_use":
            return [role, "tool_use", block.get("id"), block.get("name"), obj(block.get("input"))]
        case "thinking":
            return [role, "thinking", block.get("thinking"), block.get("signature")]
        case _:
            return [role, unmarked(block)]


def unmarked(value: Any) -> Any:
    """The value without cache marks, at any depth."""
    if isinstance(value, list):
        return [unmarked(item) for item in objs(value)]
    if not isinstance(value, dict):
        return value
    return {key: unmarked(item) for key, item in obj(value).items() if key != "cache_control"}


def beginning(body: Body) -> list[Any]:
    """What stands before the first message: the system prompt and the tools."""
    system = body.get("system")
    if isinstance(system, str):
        system = [{"text": system}] if system else []
    found: list[Any] = [["system", text(block.get("text"))] for block in objs(system)]
    return found + [unmarked(tool) for tool in objs(body.get("tools"))]


@dataclass(slots=True)
class Run:
    """A run of messages of one role: blocks with the places they have in the request."""

    role: str
    first: int
    blocks: list[tuple[int, int, Body]] = field(default_factory=list[tuple[int, int, Body]])

    def of(self, kind: str) -> list[tuple[int, int, Body]]:
        """The blocks of one type."""
        return [entry for entry in self.blocks if entry[2].get("type") == kind]


def runs(view: RequestView) -> list[Run]:
    """The messages with neighbours of one role merged."""
    found: list[Run] = []
    for index, message in enumerate(objs(view.body.get("messages"))):
        role = text(message.get("role"))
        if not found or found[-1].role != role:
            found.append(Run(role, index))
        found[-1].blocks += [(index, n, block) for n, block in enumerate(blocks(message))]
    return found


def pairs(view: RequestView) -> list[tuple[Run | None, Run]]:
    """Each run with the one before it."""
    found = runs(view)
    return list(zip([None, *found[:-1]], found, strict=False))


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
        raise RequestRefused(
            "parameter", "Thinking may not be enabled when tool_choice forces tool use."
        )


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
