"""Anthropic: checks parameters, tools, and what the answer is to be like."""

from __future__ import annotations

import re
from typing import Any

from studio.simulator.json_read import Body, array, obj, objs, text
from studio.simulator.request_checks import LIMITS, RequestRefused, has_type, schema_parts, word_set
from studio.simulator.request_view import RequestView
from studio.simulator.state import ServerState

from .message_checks import PLAIN_VERSION, placed, wrong_tag

BINDING_BETA = "thinking-binding-controls-2026-08-01"
_EFFORTS = ("low", "medium", "high", "xhigh", "max")
_MEMORY = "memory_20250818"
_MEMORY_KEYS = {
    *("type", "name", "cache_control", "allowed_callers", "defer_loading", "strict"),
    "input_examples",
}
_THINKING = ("adaptive", "between_tools", "disabled", "enabled")
_PROPERTY = re.compile(r"[a-zA-Z0-9_.-]{1,64}")
TOOL_NAME = re.compile(r"[a-zA-Z0-9_-]{1,128}")
# The most that a reply of a model may hold; other names take any number.
_OUTPUT = (("claude-opus-5", 128_000), ("claude-sonnet-5", 64_000), ("claude-haiku", 64_000))
_PARAMETERS = word_set(
    "betas billing_policy cache_control compaction container context_management diagnostics "
    "fallbacks inference_geo max_tokens mcp_servers messages metadata model output_config "
    "service_tier speed stop_sequences stream system thinking thread tool_choice tools "
    "user_profile_id"
)


def limit_given(view: RequestView, state: ServerState) -> None:
    """Every request says how long the reply may be."""
    if "max_tokens" not in view.body:
        raise RequestRefused("parameter", "max_tokens: Field required")


def limit_in_range(view: RequestView, state: ServerState) -> None:
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


def some_messages(view: RequestView, state: ServerState) -> None:
    """There is something to answer."""
    if not objs(view.body.get("messages")):
        raise RequestRefused("empty", "messages: at least one message is required")


def no_sampling(view: RequestView, state: ServerState) -> None:
    """Since version 2026-10-21 there are no sampling parameters."""
    for name in ("temperature", "top_p", "top_k"):
        if view.version > PLAIN_VERSION and view.body.get(name) is not None:
            raise RequestRefused(
                "parameter",
                f"{name}: sampling parameters are not supported in version {view.version}",
            )


def effort_known(view: RequestView, state: ServerState) -> None:
    """The effort is one of the known levels."""
    effort = obj(view.body.get("output_config")).get("effort")
    if effort is not None and effort not in _EFFORTS:
        raise RequestRefused(
            "parameter",
            "output_config.effort: Input should be 'low', 'medium', 'high', 'xhigh' or 'max'",
        )


def effort_supported(view: RequestView, state: ServerState) -> None:
    """Older models know fewer levels."""
    effort = obj(view.body.get("output_config")).get("effort")
    if effort == "xhigh" and re.match(r"claude-(opus|sonnet|haiku)-4-[0-6](\D|$)", view.model):
        raise RequestRefused(
            "parameter",
            "This model does not support effort level 'xhigh'. Supported levels: high, low, max, "
            "medium.",
        )


def thinking_known(view: RequestView, state: ServerState) -> None:
    """The kind of thinking is one of the known ones."""
    thinking = view.body.get("thinking")
    kind = obj(thinking).get("type")
    if thinking is not None and kind not in _THINKING:
        raise wrong_tag("parameter", "thinking", kind, _THINKING)


def thinking_budget(view: RequestView, state: ServerState) -> None:
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


def thinking_unforced(view: RequestView, state: ServerState) -> None:
    """A reply that must call a tool cannot think first."""
    forced = obj(view.body.get("tool_choice")).get("type") in ("any", "tool")
    if forced and obj(view.body.get("thinking")).get("type") == "enabled":
        raise RequestRefused(
            "parameter", "Thinking may not be enabled when tool_choice forces tool use."
        )


def binding_beta(view: RequestView, state: ServerState) -> None:
    """What is done about unbound thinking is said with a beta header only."""
    if "block_binding" in obj(view.body.get("thinking")) and BINDING_BETA not in view.beta:
        raise RequestRefused("parameter", "thinking.block_binding: Extra inputs are not permitted")


def binding_known(view: RequestView, state: ServerState) -> None:
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


def tools_unique(view: RequestView, state: ServerState) -> None:
    """No two tools of one name."""
    names = [text(tool.get("name")) for tool in objs(view.body.get("tools"))]
    if len(names) != len(set(names)):
        raise RequestRefused("parameter", "tools: Tool names must be unique.")


def tools_named(view: RequestView, state: ServerState) -> None:
    """A tool's name is plain and not too long."""
    for index, tool in enumerate(objs(view.body.get("tools"))):
        if "name" in tool and not TOOL_NAME.fullmatch(text(tool["name"])):
            raise RequestRefused(
                "parameter",
                f"tools.{index}.custom.name: String should match pattern "
                "'^[a-zA-Z0-9_-]{1,128}$'",
            )


def memory_is_declared(view: RequestView, state: ServerState) -> None:
    """The memory tool has the one name its models know, and no schema of the client's."""
    for index, tool in enumerate(objs(view.body.get("tools"))):
        if tool.get("type") != _MEMORY:
            continue
        place = f"tools.{index}.{_MEMORY}"
        if tool.get("name") != "memory":
            raise RequestRefused("parameter", f"{place}.name: Input should be 'memory'")
        if extra := sorted(tool.keys() - _MEMORY_KEYS):
            raise RequestRefused("parameter", f"{place}.{extra[0]}: Extra inputs are not permitted")


def tools_have_schemas(view: RequestView, state: ServerState) -> None:
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
        if any(word in tool["input_schema"] for word in ("oneOf", "allOf", "anyOf")):
            raise RequestRefused(
                "parameter",
                f"tools.{index}.custom.input_schema: input_schema does not support oneOf, allOf, "
                "or anyOf at the top level",
            )
        for part in schema_parts(tool["input_schema"]):
            if not all(_PROPERTY.fullmatch(name) for name in obj(part.get("properties"))):
                raise RequestRefused(
                    "parameter",
                    f"tools.{index}.custom.input_schema.properties: Property keys should match "
                    "pattern '^[a-zA-Z0-9_.-]{1,64}$'",
                )


def few_cache_marks(view: RequestView, state: ServerState) -> None:
    """At most four blocks are marked for the cache."""
    if (found := marks(view.body)) > 4:
        raise RequestRefused(
            "cache", f"A maximum of 4 blocks with cache_control may be provided. Found {found}."
        )


def cache_marks_fit(view: RequestView, state: ServerState) -> None:
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


def known_parameters(view: RequestView, state: ServerState) -> None:
    """House rule: nothing is sent that the API has no name for."""
    for key in view.body:
        if key not in _PARAMETERS:
            raise RequestRefused("house", f"{key}: Extra inputs are not permitted")


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
_CHOICES = ("auto", "any", "tool", "none")
_MODEL = re.compile(r"claude-[a-z]+-(\d+)(?:-(\d))?(?!\d)")


def _choice(view: RequestView) -> str:
    return text(obj(view.body.get("tool_choice")).get("type"))


def choice_known(view: RequestView, state: ServerState) -> None:
    """What is said of calling tools is one of four."""
    choice = view.body.get("tool_choice")
    if choice is not None and _choice(view) not in _CHOICES:
        raise wrong_tag("tools", "tool_choice", _choice(view), _CHOICES)


def choice_of_tools(view: RequestView, state: ServerState) -> None:
    """There is something to choose from, and the named tool is among it."""
    choice = obj(view.body.get("tool_choice"))
    if choice and not view.tools:
        raise RequestRefused("tools", "tool_choice may only be specified while providing tools.")
    if _choice(view) == "tool" and choice.get("name") not in view.tool_names:
        raise RequestRefused("tools", f"Tool '{choice.get('name')}' not found in provided tools")


def choice_free(view: RequestView, state: ServerState) -> None:
    """Models from Claude 5.1 on cannot be made to call."""
    found = _MODEL.match(view.model)
    newest = found is not None and (int(found[1]), int(found[2] or 0)) >= (5, 1)
    if newest and _choice(view) in ("any", "tool"):
        raise RequestRefused(
            "tools", 'tool_choice: type "tool" and "any" are not supported for this model.'
        )


def stops_are_texts(view: RequestView, state: ServerState) -> None:
    """Stop sequences are strings of more than blanks."""
    stops = view.body.get("stop_sequences")
    if stops is None:
        return
    if not isinstance(stops, list):
        raise RequestRefused("parameter", "stop_sequences: Input should be a valid list")
    for number, stop in enumerate(array(stops)):
        if not isinstance(stop, str):
            raise RequestRefused(
                "parameter", f"stop_sequences.{number}: Input should be a valid string"
            )
        if not stop.strip():
            raise RequestRefused(
                "parameter", "stop_sequences: each stop sequence must contain non-whitespace"
            )


def one_way_of_sampling(view: RequestView, state: ServerState) -> None:
    """Many models take a temperature or a top_p, not both."""
    if view.body.get("temperature") is not None and view.body.get("top_p") is not None:
        raise RequestRefused(
            "parameter",
            "`temperature` and `top_p` cannot both be specified for this model. Please use only "
            "one.",
        )


def form_known(view: RequestView, state: ServerState) -> None:
    """An answer's form is a schema."""
    form = obj(view.body.get("output_config")).get("format")
    if form is None:
        return
    if obj(form).get("type") != "json_schema":
        raise RequestRefused(
            "parameter", "output_config.format.type: Input should be 'json_schema'"
        )
    if not isinstance(obj(form).get("schema"), dict):
        raise RequestRefused("parameter", "output_config.format.schema: Field required")


def form_supported(view: RequestView, state: ServerState) -> None:
    """Objects of a schema are closed, and it has no limits that cannot be held."""
    form = obj(obj(view.body.get("output_config")).get("format"))
    for part in schema_parts(form.get("schema")):
        kind = text(part.get("type"))
        if has_type(part, "object") and part.get("additionalProperties") is not False:
            raise _not_held(
                "For 'object' type, 'additionalProperties' must be explicitly set to false"
            )
        for key in part:
            if key in LIMITS and not (key == "minItems" and part[key] in (0, 1)):
                raise _not_held(f"For '{kind}' type, property '{key}' is not supported")


def _not_held(words: str) -> RequestRefused:
    return RequestRefused("schema", f"output_config.format.schema: {words}")
