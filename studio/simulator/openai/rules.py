"""OpenAI Responses: what is refused.

An id of the simulator is ``family`` (40 hex digits, one for each reply), the
item's index and the index of the reasoning it belongs to (two digits each,
``ff`` for none), so that nothing has to be remembered to check an echo.
"""

from __future__ import annotations

import re

from studio.simulator.json_read import Body, objs, text
from studio.simulator.request_view import RequestView
from studio.simulator.rules import Check, RequestRefused, appended, enforce
from studio.simulator.state import ServerState

from . import content as content
from .content import refuse, rows

_ID = re.compile(r"(?:msg|fc|ws)_([0-9a-f]{40})[0-9a-f]{2}([0-9a-f]{2})")


def make_id(family: str, index: int, reasoning: str) -> str:
    """An id without its prefix."""
    return f"{family}{index:02x}{reasoning or 'ff'}"


def encrypt(item: Body, following: Body, maker: ServerState, stage: str, model: str) -> str:
    """What stands for the reasoning's content; it names the item that follows it."""
    follower = text(following.get("call_id")) or text(following.get("id"))
    return maker.signer.sign(_payload(item), stage=f"{stage}:{model}:{follower}")


def _payload(item: Body) -> object:
    return [item.get("id"), [text(part.get("text")) for part in objs(item.get("summary"))]]


def check(view: RequestView, maker: ServerState) -> None:
    """Raises Refused for the first rule the request breaks."""
    enforce(RULES, HOUSE, view, maker)


def called_outputs(view: RequestView, maker: ServerState) -> None:
    """Every output belongs to a call, anywhere in the input."""
    calls = _call_ids(view, "function_call")
    for call_id in _call_ids(view, "function_call_output"):
        if call_id not in calls:
            raise refuse(
                "pairing",
                f"No tool call found for function call output with call_id {call_id}.",
            )


def answered_calls(view: RequestView, maker: ServerState) -> None:
    """Every call has an output, anywhere in the input."""
    outputs = _call_ids(view, "function_call_output")
    for call_id in _call_ids(view, "function_call"):
        if call_id not in outputs:
            raise refuse("pairing", f"No tool output found for function call {call_id}.")


def single_outputs(view: RequestView, maker: ServerState) -> None:
    """No call has more outputs than there are calls of its id."""
    calls, outputs = (
        _call_ids(view, "function_call"),
        _call_ids(view, "function_call_output"),
    )
    for call_id in dict.fromkeys(calls):
        if outputs.count(call_id) > calls.count(call_id):
            raise refuse("pairing", f"Duplicate item found with id {call_id}.")


def single_calls(view: RequestView, maker: ServerState) -> None:
    """No id is called more often than it is answered."""
    calls, outputs = (
        _call_ids(view, "function_call"),
        _call_ids(view, "function_call_output"),
    )
    for call_id in dict.fromkeys(calls):
        if calls.count(call_id) > outputs.count(call_id) > 0:
            raise refuse("pairing", f"Duplicate item found with id {call_id}.")


def _call_ids(view: RequestView, kind: str) -> list[str]:
    return [text(row.get("call_id")) for row in rows(view) if row.get("type") == kind]


def stored_reasoning(view: RequestView, maker: ServerState) -> None:
    """Reasoning without its content must have been stored here."""
    for _, row in _reasoning(view):
        id_ = text(row.get("id"))
        if not row.get("encrypted_content") and id_ not in maker.stored:
            raise RequestRefused(
                "echo",
                f"Item with id '{id_}' not found. Items are not persisted when `store` is set to "
                "false. Try again with `store` set to true, or remove this item from your input.",
                status=404,
                param="input",
            )


def genuine_reasoning(view: RequestView, maker: ServerState) -> None:
    """Encrypted content is what came with the item's end, and its summary is unchanged."""
    for _, row in _reasoning(view):
        sealed = text(row.get("encrypted_content"))
        if not sealed:
            continue
        stage = maker.signer.stage(sealed).partition(":")[0]
        genuine = maker.signer.verify(sealed, _payload(row))[0]
        if stage not in ("done", "completed") or not genuine:
            raise RequestRefused(
                "echo",
                f"The encrypted content {sealed[:4]}...{sealed[-4:]} could not be verified. "
                "Reason: Encrypted content could not be decrypted or parsed.",
                code="invalid_encrypted_content",
            )


def followed_reasoning(view: RequestView, maker: ServerState) -> None:
    """Reasoning stands before the item it led to. A call may lack its id, a message may not."""
    for following, row in _reasoning(view):
        sealed = text(row.get("encrypted_content"))
        follower = maker.signer.stage(sealed).rpartition(":")[2] if sealed else ""
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


def led_by_reasoning(view: RequestView, maker: ServerState) -> None:
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


def transformations(view: RequestView, maker: ServerState) -> list[Body]:
    """Reasoning that the model does not see: another model's."""
    found: list[Body] = []
    for _, row in _reasoning(view):
        sealed = text(row.get("encrypted_content"))
        model = maker.signer.stage(sealed).partition(":")[2].rpartition(":")[0] if sealed else ""
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


def outputs_in_order(view: RequestView, maker: ServerState) -> None:
    """House rule: outputs come in the order of their calls, before anything else."""
    open_: list[str] = []
    for row in rows(view):
        kind, call_id = row.get("type", "message"), text(row.get("call_id"))
        if kind == "function_call":
            open_.append(call_id)
        elif kind == "function_call_output":
            if call_id != (open_ or [""])[0]:
                raise refuse("house", "house rule: results come in call order")
            open_.pop(0)
        elif kind == "message" and row.get("role") != "assistant" and open_:
            raise refuse("house", "house rule: results come before other words")


RULES: tuple[Check, ...] = (
    content.no_earlier_response,
    content.limit_in_range,
    content.effort,
    content.temperature,
    content.top_p,
    content.no_stops,
    content.choice_known,
    content.choice_of_tools,
    content.form_known,
    content.schema_named,
    content.schema_supported,
    content.json_mentioned,
    content.tools_named,
    content.tools_well_named,
    content.some_input,
    content.known_items,
    content.id_prefixes,
    content.unique_ids,
    content.strings,
    content.parts_by_role,
    content.output_parts,
    content.pictures,
    content.files,
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
    content.known_parameters,
    content.phases_kept,
    content.one_message_a_turn,
    outputs_in_order,
    appended,
)
