"""Anthropic: checks that calls and results pair up, and how the history ends.

Holds the table of all of Anthropic's checks, in the order in which they run.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from studio.simulator.json_read import Body, objs, text
from studio.simulator.request_checks import Check, RequestRefused, appended
from studio.simulator.request_view import RequestView
from studio.simulator.state import ServerState

from . import message_checks as messages
from . import parameter_checks as parameters
from . import thinking_checks as thinking
from .message_checks import pairs, placed, runs

_ID = re.compile(r"[a-zA-Z0-9_-]+")


def calls_well_named(view: RequestView, state: ServerState) -> None:
    """Calls in the history have plain names and ids."""
    for place, _, block in placed(view):
        if block.get("type") != "tool_use":
            continue
        if not _ID.fullmatch(text(block.get("id"))):
            raise RequestRefused(
                "content", f"{place}.tool_use.id: String should match pattern '^[a-zA-Z0-9_-]+$'"
            )
        if not parameters.TOOL_NAME.fullmatch(text(block.get("name"))):
            raise RequestRefused(
                "content",
                f"{place}.tool_use.name: String should match pattern '^[a-zA-Z0-9_-]{{1,128}}$'",
            )


# The models that still continue what a last assistant message began.
_PREFILL = re.compile(r"claude-(3|instant|2|\w+-4-[0-5](\D|$)|\w+-4-\d{8})")


def unique_calls(view: RequestView, state: ServerState) -> None:
    """Within a turn no id comes twice; in a later turn it may."""
    for place, _ in _repeated(view, "tool_use", "id"):
        raise RequestRefused("pairing", f"{place}: `tool_use` ids must be unique")


def _repeated(view: RequestView, kind: str, key: str) -> Iterator[tuple[str, str]]:
    """Where an id comes again within a turn."""
    for run in runs(view):
        seen: set[str] = set()
        for index, number, block in run.of(kind):
            if (id_ := text(block.get(key))) in seen:
                yield f"messages.{index}.content.{number}", id_
            seen.add(id_)


def answered_calls(view: RequestView, state: ServerState) -> None:
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


def asked_results(view: RequestView, state: ServerState) -> None:
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


def single_results(view: RequestView, state: ServerState) -> None:
    """No call has two results."""
    for place, id_ in _repeated(view, "tool_result", "tool_use_id"):
        raise RequestRefused(
            "pairing",
            f"{place}: each tool_use must have a single result. Found multiple `tool_result` "
            f"blocks with id: {id_}",
        )


def served_tools(view: RequestView, state: ServerState) -> None:
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


def served_results(view: RequestView, state: ServerState) -> None:
    """What a search found comes back as it was sealed."""
    for place, _, block in placed(view):
        if block.get("type") != "web_search_tool_result":
            continue
        for number, row in enumerate(objs(block.get("content"))):
            sealed = text(row.get("encrypted_content"))
            if not state.signer.verify(sealed, row.get("url"))[0]:
                raise RequestRefused(
                    "echo",
                    f"{place}.content.{number}: Invalid `encrypted_content` in `search_result` "
                    "block",
                )


def no_prefill(view: RequestView, state: ServerState) -> None:
    """The newer models begin their reply themselves."""
    if _begun(view) is not None and not _PREFILL.match(view.model):
        raise RequestRefused(
            "prefill",
            "This model does not support assistant message prefill. The conversation must end "
            "with a user message.",
        )


def no_trailing_space(view: RequestView, state: ServerState) -> None:
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


def one_message_a_turn(view: RequestView, state: ServerState) -> None:
    """House rule: no two messages of one role in a row."""
    for run in runs(view):
        if len({entry[0] for entry in run.blocks}) > 1:
            raise RequestRefused("house", f"house rule: consecutive {run.role} messages")


def results_in_order(view: RequestView, state: ServerState) -> None:
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
    parameters.choice_known,
    parameters.choice_of_tools,
    parameters.choice_free,
    parameters.thinking_unforced,
    parameters.stops_are_texts,
    parameters.one_way_of_sampling,
    parameters.form_known,
    parameters.form_supported,
    parameters.binding_beta,
    parameters.binding_known,
    parameters.tools_unique,
    parameters.tools_named,
    parameters.memory_is_declared,
    parameters.tools_have_schemas,
    parameters.few_cache_marks,
    parameters.cache_marks_fit,
    messages.roles,
    messages.content_given,
    messages.known_blocks,
    messages.text_given,
    messages.text_not_blank,
    messages.results_are_the_users,
    messages.calls_are_the_assistants,
    messages.thinking_is_the_assistants,
    messages.system_is_text,
    messages.input_is_an_object,
    calls_well_named,
    messages.no_citations_of_the_user,
    messages.no_documents_of_the_assistant,
    messages.result_content,
    messages.result_blocks,
    messages.errors_are_text,
    messages.sources_known,
    messages.base64_sound,
    messages.pictures,
    messages.pictures_not_large,
    messages.documents,
    unique_calls,
    answered_calls,
    asked_results,
    single_results,
    served_tools,
    served_results,
    no_prefill,
    no_trailing_space,
    thinking.latest_thinking,
    thinking.genuine_thinking,
    thinking.bound_thinking,
)
HOUSE: tuple[Check, ...] = (
    parameters.known_parameters,
    messages.known_keys,
    one_message_a_turn,
    results_in_order,
    appended,
)
