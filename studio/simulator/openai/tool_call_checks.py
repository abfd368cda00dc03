"""OpenAI Responses: checks that calls and outputs pair up, and that reasoning comes back unchanged.

Holds the table of all checks of Responses, in the order in which they run.

An id of the simulator is ``family`` (40 hex digits, one for each reply), the
item's index and the index of the reasoning it belongs to (two digits each,
``ff`` for none), so that nothing has to be remembered to check an echo.
"""

from __future__ import annotations

import re

from studio.simulator.json_read import Body, objs, text
from studio.simulator.openai_chat import parameter_checks
from studio.simulator.openai_chat.parameter_checks import refuse
from studio.simulator.request_checks import Check, RequestRefused, appended
from studio.simulator.request_view import RequestView
from studio.simulator.state import ServerState

from . import request_checks as request
from .request_checks import rows

_ID = re.compile(r"(?:msg|fc|ctc|ws)_([0-9a-f]{40})[0-9a-f]{2}([0-9a-f]{2})")


def make_id(family: str, index: int, reasoning: str) -> str:
    """An id without its prefix."""
    return f"{family}{index:02x}{reasoning or 'ff'}"


def encrypt(item: Body, following: Body, state: ServerState, stage: str, model: str) -> str:
    """What stands for the reasoning's content; it names the item that follows it."""
    follower = text(following.get("call_id")) or text(following.get("id"))
    return state.signer.sign(_payload(item), stage=f"{stage}:{model}:{follower}")


def _payload(item: Body) -> object:
    return [item.get("id"), [text(part.get("text")) for part in objs(item.get("summary"))]]


_KINDS = (
    ("function_call", "function call"),
    ("custom_tool_call", "custom tool call"),
)
"""The two kinds of calls, as items and in errors; each has outputs of its own kind."""


def called_outputs(view: RequestView, state: ServerState) -> None:
    """Every output belongs to a call of its kind, anywhere in the input."""
    for kind, words in _KINDS:
        calls = _call_ids(view, kind)
        for call_id in _call_ids(view, f"{kind}_output"):
            if call_id not in calls:
                raise refuse(
                    "pairing", f"No tool call found for {words} output with call_id {call_id}."
                )


def answered_calls(view: RequestView, state: ServerState) -> None:
    """Every call has an output of its kind, anywhere in the input."""
    for kind, words in _KINDS:
        outputs = _call_ids(view, f"{kind}_output")
        for call_id in _call_ids(view, kind):
            if call_id not in outputs:
                raise refuse("pairing", f"No tool output found for {words} {call_id}.")


def single_outputs(view: RequestView, state: ServerState) -> None:
    """No call has more outputs than there are calls of its id."""
    for kind, _ in _KINDS:
        calls, outputs = _call_ids(view, kind), _call_ids(view, f"{kind}_output")
        for call_id in dict.fromkeys(calls):
            if outputs.count(call_id) > calls.count(call_id):
                raise refuse("pairing", f"Duplicate item found with id {call_id}.")


def single_calls(view: RequestView, state: ServerState) -> None:
    """No id is called more often than it is answered."""
    for kind, _ in _KINDS:
        calls, outputs = _call_ids(view, kind), _call_ids(view, f"{kind}_output")
        for call_id in dict.fromkeys(calls):
            if calls.count(call_id) > outputs.count(call_id) > 0:
                raise refuse("pairing", f"Duplicate item found with id {call_id}.")


def _call_ids(view: RequestView, kind: str) -> list[str]:
    return [text(row.get("call_id")) for row in rows(view) if row.get("type") == kind]


def stored_reasoning(view: RequestView, state: ServerState) -> None:
    """Reasoning without its content must have been stored here."""
    for _, row in _reasoning(view):
        id_ = text(row.get("id"))
        if not row.get("encrypted_content") and id_ not in state.stored:
            raise RequestRefused(
                "echo",
                f"Item with id '{id_}' not found. Items are not persisted when `store` is set to "
                "false. Try again with `store` set to true, or remove this item from your input.",
                status=404,
                param="input",
            )


def genuine_reasoning(view: RequestView, state: ServerState) -> None:
    """Encrypted content is what came with the item's end, and its summary is unchanged."""
    for _, row in _reasoning(view):
        sealed = text(row.get("encrypted_content"))
        if not sealed:
            continue
        stage = state.signer.stage(sealed).partition(":")[0]
        genuine = state.signer.verify(sealed, _payload(row))[0]
        if stage not in ("done", "completed") or not genuine:
            raise RequestRefused(
                "echo",
                f"The encrypted content {sealed[:4]}...{sealed[-4:]} could not be verified. "
                "Reason: Encrypted content could not be decrypted or parsed.",
                code="invalid_encrypted_content",
            )


def followed_reasoning(view: RequestView, state: ServerState) -> None:
    """Reasoning stands before the item it led to. A call may lack its id, a message may not."""
    for following, row in _reasoning(view):
        sealed = text(row.get("encrypted_content"))
        follower = state.signer.stage(sealed).rpartition(":")[2] if sealed else ""
        if sealed and (
            not follower
            or follower not in (text(following.get("call_id")), text(following.get("id")))
        ):
            raise refuse(
                "echo",
                f"Item '{text(row.get('id'))}' of type 'reasoning' was provided without its "
                "required following item.",
            )


def _reasoning(view: RequestView) -> list[tuple[Body, Body]]:
    """Each reasoning item behind the item that follows it, which may be empty."""
    found = rows(view)
    return [
        (following, row)
        for row, following in zip(found, [*found[1:], Body()], strict=False)
        if row.get("type") == "reasoning"
    ]


def led_by_reasoning(view: RequestView, state: ServerState) -> None:
    """What came from reasoning comes back with it, where it has its id."""
    given = {text(row.get("id")) for row in rows(view) if row.get("type") == "reasoning"}
    for row in rows(view):
        found = _ID.fullmatch(text(row.get("id")))
        if found is None or found[2] == "ff":
            continue
        needed = f"rs_{found[1]}{found[2]}ff"
        if needed not in given:
            raise refuse(
                "echo",
                f"Item '{row['id']}' of type '{row.get('type', 'message')}' was provided without "
                f"its required 'reasoning' item: '{needed}'.",
            )


def transformations(view: RequestView, state: ServerState) -> list[Body]:
    """Reasoning that the model does not see: another model's."""
    found: list[Body] = []
    for _, row in _reasoning(view):
        sealed = text(row.get("encrypted_content"))
        model = state.signer.stage(sealed).partition(":")[2].rpartition(":")[0] if sealed else ""
        if model and model != view.model:
            found.append(
                {
                    "id": row.get("id"),
                    "type": "reasoning",
                    "action": "removed",
                    "reason": "model_mismatch",
                }
            )
    return found


def outputs_in_order(view: RequestView, state: ServerState) -> None:
    """House rule: outputs come in the order of their calls, before anything else."""
    open_: list[str] = []
    for row in rows(view):
        kind, call_id = row.get("type", "message"), text(row.get("call_id"))
        if kind in ("function_call", "custom_tool_call"):
            open_.append(call_id)
        elif kind in ("function_call_output", "custom_tool_call_output"):
            if call_id != (open_ or [""])[0]:
                raise refuse("house", "house rule: results come in call order")
            open_.pop(0)
        elif kind == "message" and row.get("role") != "assistant" and open_:
            raise refuse("house", "house rule: results come before other words")


RULES: tuple[Check, ...] = (
    request.no_earlier_response,
    request.limit_in_range,
    parameter_checks.effort,
    parameter_checks.temperature,
    parameter_checks.top_p,
    request.no_stops,
    parameter_checks.choice_known,
    parameter_checks.choice_of_tools,
    parameter_checks.form_known,
    parameter_checks.schema_named,
    parameter_checks.schema_supported,
    request.json_mentioned,
    request.tools_named,
    request.custom_tools,
    request.tools_well_named,
    request.some_input,
    request.known_items,
    request.id_prefixes,
    request.unique_ids,
    request.strings,
    request.parts_by_role,
    request.output_parts,
    request.pictures,
    request.files,
    called_outputs,
    answered_calls,
    single_outputs,
    single_calls,
    stored_reasoning,
    genuine_reasoning,
    followed_reasoning,
    led_by_reasoning,
)
HOUSE: tuple[Check, ...] = (
    request.known_parameters,
    request.phases_kept,
    request.one_message_a_turn,
    outputs_in_order,
    appended,
)
