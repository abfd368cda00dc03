"""Anthropic Messages: what is refused about pairs, the end, and thinking sent back."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

from studio.simulator.json_read import Body, objs, text
from studio.simulator.request_view import RequestView
from studio.simulator.rules import Check, RequestRefused, appended, enforce
from studio.simulator.state import ServerState

from . import content as content
from . import output as answers
from . import parameters as parameters
from .parameters import beginning, blocks, element, pairs, placed, runs

# The models that still continue what a last assistant message began.
_PREFILL = re.compile(r"claude-(3|instant|2|\w+-4-[0-5](\D|$)|\w+-4-\d{8})")
_PRESERVED = re.compile(r"sim-preserved|claude-\w+-5-[1-9]")
_THINKING = ("thinking", "redacted_thinking")
REDACTED = "redacted"
"""What the signature of redacted thinking covers: nobody else can read the thought."""


def check(view: RequestView, maker: ServerState) -> None:
    """Raises Refused for the first rule the request breaks."""
    enforce(RULES, HOUSE, view, maker)


def unique_calls(view: RequestView, maker: ServerState) -> None:
    """Within a turn no id comes twice; in a later turn it may."""
    for run in runs(view):
        seen: set[str] = set()
        for index, number, block in run.of("tool_use"):
            id_ = text(block.get("id"))
            if id_ in seen:
                raise RequestRefused(
                    "pairing", f"messages.{index}.content.{number}: `tool_use` ids must be unique"
                )
            seen.add(id_)


def answered_calls(view: RequestView, maker: ServerState) -> None:
    """Every call has a result, first thing in the turn that follows."""
    found = runs(view)
    for run, following in zip(found, [*found[1:], None], strict=False):
        calls = run.of("tool_use") if run.role == "assistant" else []
        answered: set[str] = set()
        for _, _, block in following.blocks if following and following.role == "user" else []:
            if block.get("type") != "tool_result":
                break  # results come first; later ones do not count
            answered.add(text(block.get("tool_use_id")))
        missing = [id_ for _, _, block in calls if (id_ := text(block.get("id"))) not in answered]
        if missing:
            raise RequestRefused(
                "pairing",
                f"messages.{calls[0][0]}: `tool_use` ids were found without `tool_result` blocks "
                f"immediately after: {', '.join(missing)}. Each `tool_use` block must have a "
                "corresponding `tool_result` block in the next message.",
            )


def asked_results(view: RequestView, maker: ServerState) -> None:
    """Every result belongs to a call of the turn just before."""
    for before, run in pairs(view):
        calls = before.of("tool_use") if before and before.role == "assistant" else []
        asked = {text(block.get("id")) for _, _, block in calls}
        for index, number, block in run.of("tool_result") if run.role == "user" else []:
            if (id_ := text(block.get("tool_use_id"))) not in asked:
                raise RequestRefused(
                    "pairing",
                    f"messages.{index}.content.{number}: unexpected `tool_use_id` found in "
                    f"`tool_result` blocks: {id_}. Each `tool_result` block must have a "
                    "corresponding `tool_use` block in the previous message.",
                )


def single_results(view: RequestView, maker: ServerState) -> None:
    """No call has two results."""
    for run in runs(view):
        seen: set[str] = set()
        for index, number, block in run.of("tool_result"):
            id_ = text(block.get("tool_use_id"))
            if id_ in seen:
                raise RequestRefused(
                    "pairing",
                    f"messages.{index}.content.{number}: each tool_use must have a single result. "
                    f"Found multiple `tool_result` blocks with id: {id_}",
                )
            seen.add(id_)


def served_tools(view: RequestView, maker: ServerState) -> None:
    """A server's tool use has its result in the same turn, but for a turn that was paused."""
    found = runs(view)
    for run in found[:-1] if found and found[-1].role == "assistant" else found:
        given = {text(block.get("tool_use_id")) for _, _, block in run.blocks}
        for index, _, block in run.of("server_tool_use"):
            if (id_ := text(block.get("id"))) not in given:
                name = text(block.get("name"))
                raise RequestRefused(
                    "pairing",
                    f"messages.{index}: `{name}` tool use with id `{id_}` was found without a "
                    f"corresponding `{name}_tool_result` block",
                )


def served_results(view: RequestView, maker: ServerState) -> None:
    """What a search found comes back as it was sealed."""
    for place, _, block in placed(view):
        if block.get("type") != "web_search_tool_result":
            continue
        for number, row in enumerate(objs(block.get("content"))):
            sealed = text(row.get("encrypted_content"))
            if not maker.signer.verify(sealed, row.get("url"))[0]:
                raise RequestRefused(
                    "echo",
                    f"{place}.content.{number}: Invalid `encrypted_content` in `search_result` "
                    "block",
                )


def no_prefill(view: RequestView, maker: ServerState) -> None:
    """The newer models begin their reply themselves."""
    if _begun(view) is not None and not _PREFILL.match(view.model):
        raise RequestRefused(
            "prefill",
            "This model does not support assistant message prefill. The conversation must end "
            "with a user message.",
        )


def no_trailing_space(view: RequestView, maker: ServerState) -> None:
    """A beginning of the reply does not end in whitespace."""
    final = _begun(view) or []
    said = text(final[-1].get("text")) if final and final[-1].get("type") == "text" else ""
    if said != said.rstrip():
        raise RequestRefused(
            "empty", "messages: final assistant content cannot end with trailing whitespace"
        )


def _begun(view: RequestView) -> list[Body] | None:
    """The blocks of a last assistant message that the reply is to go on from, if there is one."""
    found = runs(view)
    last = [block for _, _, block in found[-1].blocks] if found else []
    paused = any(block.get("type") == "server_tool_use" for block in last)
    # A paused turn is sent back as it is.
    return None if not found or found[-1].role != "assistant" or paused else last


def latest_thinking(view: RequestView, maker: ServerState) -> None:
    """What the newest reply thought is not edited."""
    for place in _edited(view, maker):
        raise RequestRefused(
            "echo",
            f"{place}: `thinking` or `redacted_thinking` blocks in the latest assistant message "
            "cannot be modified. These blocks must remain as they were in the original response.",
        )


def genuine_thinking(view: RequestView, maker: ServerState) -> None:
    """Thinking comes back with its own signature and unchanged."""
    edited = _edited(view, maker)
    for place, _, block in placed(view):
        if block.get("type") not in _THINKING or place in edited:
            continue
        if not maker.signer.verify(_signature(block), _thought(block))[0]:
            kind = text(block.get("type"))
            field = "signature" if kind == "thinking" else "data"
            raise RequestRefused("echo", f"{place}: Invalid `{field}` in `{kind}` block")


def _edited(view: RequestView, maker: ServerState) -> list[str]:
    """Where the newest reply holds thoughts under signatures made here for others."""
    latest = next((run for run in reversed(runs(view)) if run.role == "assistant"), None)
    return [
        f"messages.{index}.content.{number}"
        for index, number, block in (latest.blocks if latest else [])
        if block.get("type") in _THINKING
        and maker.signer.made(_signature(block))
        and not maker.signer.verify(_signature(block), _thought(block))[0]
    ]


def bound_thinking(view: RequestView, maker: ServerState) -> None:
    """Where thinking is preserved it comes back behind what it was thought about."""
    if parameters.binding(view) == "drop_block":
        return
    for place, reason in _loose(view, maker):
        if reason == "prefix_binding_mismatch":
            raise RequestRefused(
                "echo",
                f"{place}: Invalid `signature` in `thinking` block. The block is bound to a "
                "different conversation. Remove the block, or set "
                '`thinking.block_binding.prefix_mismatch_behavior` to "drop_block".',
            )


def _signature(block: Body) -> str:
    return text(block.get("signature") or block.get("data"))


def _thought(block: Body) -> str:
    return text(block.get("thinking")) if block.get("type") == "thinking" else REDACTED


def _walk(view: RequestView, maker: ServerState) -> Iterator[tuple[str, str, Any]]:
    """Each block's place, why the model does not see it (mostly empty), and its element.

    Thinking of another model is left out without an error; so is, where it is
    preserved, thinking behind another prefix, with the rest of its row.
    """
    preserved = _PRESERVED.match(view.model) is not None
    before = beginning(view.body)
    for index, message in enumerate(objs(view.body.get("messages"))):
        role, row = text(message.get("role")), ""
        for number, block in enumerate(blocks(message)):
            reason = ""
            if block.get("type") in _THINKING:
                signature = _signature(block)
                own, bound = maker.signer.verify(signature, _thought(block), before)
                if own and maker.signer.stage(signature) != view.model:
                    reason = "model_binding_mismatch"
                elif preserved and (row or (own and not bound)):
                    reason = row = "prefix_binding_mismatch"
            else:
                row = ""
            part = element(role, block)
            if not reason:
                before.append(part)
            yield f"messages.{index}.content.{number}", reason, part


def _loose(view: RequestView, maker: ServerState) -> list[tuple[str, str]]:
    return [(place, reason) for place, reason, _ in _walk(view, maker) if reason]


def transformations(view: RequestView, maker: ServerState) -> list[Body]:
    """What the model does not see of the request's thinking, as a reply reports it."""
    return [
        {"type": "thinking_dropped", "path": place, "reason": reason}
        for place, reason in _loose(view, maker)
    ]


def prefix(view: RequestView, maker: ServerState) -> list[Any]:
    """Everything the reply follows."""
    return beginning(view.body) + [part for _, reason, part in _walk(view, maker) if not reason]


def one_message_a_turn(view: RequestView, maker: ServerState) -> None:
    """House rule: no two messages of one role in a row."""
    for run in runs(view):
        if len({entry[0] for entry in run.blocks}) > 1:
            raise RequestRefused("house", f"house rule: consecutive {run.role} messages")


def results_in_order(view: RequestView, maker: ServerState) -> None:
    """House rule: results come in the order of their calls."""
    for before, run in pairs(view):
        calls = [text(block.get("id")) for _, _, block in before.of("tool_use")] if before else []
        results = [text(block.get("tool_use_id")) for _, _, block in run.of("tool_result")]
        if calls and results != calls:
            raise RequestRefused("house", "house rule: results come in call order")


RULES: tuple[Check, ...] = (
    parameters.limit_given,
    parameters.limit_in_range,
    parameters.some_messages,
    parameters.no_sampling,
    parameters.effort_known,
    parameters.effort_supported,
    parameters.thinking_known,
    parameters.thinking_budget,
    answers.choice_known,
    answers.choice_of_tools,
    answers.choice_free,
    parameters.thinking_unforced,
    answers.stops_are_texts,
    answers.one_way_of_sampling,
    answers.form_known,
    answers.form_supported,
    parameters.binding_beta,
    parameters.binding_known,
    parameters.tools_unique,
    parameters.tools_named,
    parameters.tools_have_schemas,
    parameters.few_cache_marks,
    parameters.cache_marks_fit,
    content.roles,
    content.content_given,
    content.known_blocks,
    content.text_given,
    content.text_not_blank,
    content.results_are_the_users,
    content.calls_are_the_assistants,
    content.thinking_is_the_assistants,
    content.system_is_text,
    content.input_is_an_object,
    parameters.calls_well_named,
    content.no_citations_of_the_user,
    content.no_documents_of_the_assistant,
    content.result_content,
    content.result_blocks,
    content.errors_are_text,
    content.sources_known,
    content.base64_sound,
    content.pictures,
    content.pictures_not_large,
    content.documents,
    unique_calls,
    answered_calls,
    asked_results,
    single_results,
    served_tools,
    served_results,
    no_prefill,
    no_trailing_space,
    latest_thinking,
    genuine_thinking,
    bound_thinking,
)
HOUSE: tuple[Check, ...] = (
    parameters.known_parameters,
    content.known_keys,
    one_message_a_turn,
    results_in_order,
    appended,
)
