"""OpenAI Responses: what is refused.

An id of the simulator is ``family`` (40 hex digits, one for each reply), the
item's index and the index of the reasoning it belongs to (two digits each,
``ff`` for none), so that nothing has to be remembered to check an echo.
"""

from __future__ import annotations

import re
from typing import Any

from studio.providers.simulator.maker import Maker
from studio.providers.simulator.refused import Refused
from studio.providers.simulator.view import RequestView
from studio.providers.simulator.wire import Body, array, objs, text

_ID = re.compile(r"(?:msg|fc)_([0-9a-f]{40})[0-9a-f]{2}([0-9a-f]{2})")
_PREFIX = {"message": "msg", "function_call": "fc", "reasoning": "rs"}


def make_id(family: str, index: int, reasoning: str) -> str:
    """An id without its prefix."""
    return f"{family}{index:02x}{reasoning or 'ff'}"


def encrypt(item: Body, following: Body, maker: Maker, stage: str) -> str:
    """What stands for the reasoning's content; it names the item that follows it."""
    payload = [item["id"], [text(part.get("text")) for part in objs(item.get("summary"))]]
    follower = text(following.get("call_id")) or text(following.get("id"))
    return maker.signer.sign(payload, stage=f"{stage}:{follower}")


def check(view: RequestView, maker: Maker) -> None:
    """Raises Refused for the first rule the request breaks."""
    body = view.body
    if body.get("previous_response_id"):
        raise Refused(
            "stored",
            f"Previous response with id '{body['previous_response_id']}' not found.",
            param="previous_response_id",
            code="previous_response_not_found",
        )
    limit = body.get("max_output_tokens")
    if isinstance(limit, int) and limit < 16:
        raise Refused(
            "limit",
            "Invalid 'max_output_tokens': integer below minimum value. Expected a value >= 16, "
            f"but got {limit} instead.",
            param="max_output_tokens",
            code="integer_below_min_value",
        )
    for index, tool in enumerate(objs(body.get("tools"))):
        if tool.get("type") == "function" and not tool.get("name"):
            raise Refused(
                "tools",
                f"Missing required parameter: 'tools[{index}].name'.",
                param=f"tools[{index}].name",
                code="missing_required_parameter",
            )
    if not isinstance(body.get("input"), str):
        rows = objs(body.get("input"))
        if not rows:
            raise Refused(
                "empty",
                "Missing required parameter: 'input'.",
                param="input",
                code="missing_required_parameter",
            )
        _ids(rows)
        _content(rows)
        _pairing(rows)
        _reasoning(rows, maker)
        _followed(rows)


def _refuse(rule: str, message: str, param: str = "input", code: str | None = None) -> Refused:
    return Refused(rule, message, param=param, code=code)


def _ids(rows: list[Body]) -> None:
    seen: set[str] = set()
    for index, row in enumerate(rows):
        id_ = row.get("id")
        prefix = _PREFIX.get(text(row.get("type")) or "message")
        if not isinstance(id_, str) or prefix is None:
            continue
        if not id_.startswith(prefix):
            raise _refuse(
                "id",
                f"Invalid 'input[{index}].id': '{id_}'. Expected an ID that begins with "
                f"'{prefix}'.",
                f"input[{index}].id",
                "invalid_value",
            )
        if id_ in seen:
            raise _refuse(
                "id",
                f"Duplicate item found with id {id_}. Remove duplicate items from your input "
                "and try again.",
            )
        seen.add(id_)


def _content(rows: list[Body]) -> None:
    for index, row in enumerate(rows):
        kind = row.get("type", "message")
        name = {"function_call": "arguments", "function_call_output": "output"}.get(str(kind), "")
        value: Any = row.get(name)
        lists = kind == "function_call_output" and isinstance(value, list)
        if name and not isinstance(value, str) and not lists:
            raise _refuse(
                "content",
                f"Invalid type for 'input[{index}].{name}': expected a string, but got "
                f"{_kind(value)} instead.",
                f"input[{index}].{name}",
                "invalid_type",
            )
        if kind == "message" and not isinstance(row.get("content"), str):
            wrong = {"user": ("output_text", "refusal"), "assistant": ("input_text", "input_image")}
            for number, part in enumerate(objs(array(row.get("content")))):
                if part.get("type") in wrong.get(text(row.get("role")), ()):
                    raise _refuse(
                        "content",
                        f"Invalid value: '{part['type']}'. Supported values are: "
                        + (
                            "'output_text' and 'refusal'."
                            if row.get("role") == "assistant"
                            else "'input_text', 'input_image', and 'input_file'."
                        ),
                        f"input[{index}].content[{number}]",
                        "invalid_value",
                    )


def _kind(value: Any) -> str:
    if value is None:
        return "null"
    return "an object" if isinstance(value, dict) else "an array"


def _pairing(rows: list[Body]) -> None:
    """Calls and outputs pair by ``call_id`` across the whole input."""
    calls = [text(row.get("call_id")) for row in rows if row.get("type") == "function_call"]
    outputs = [
        text(row.get("call_id")) for row in rows if row.get("type") == "function_call_output"
    ]
    for call_id in outputs:
        if call_id not in calls:
            raise _refuse(
                "pairing",
                f"No tool call found for function call output with call_id {call_id}.",
            )
    for call_id in calls:
        if call_id not in outputs:
            raise _refuse("pairing", f"No tool output found for function call {call_id}.")
    for call_id in set(calls):
        if calls.count(call_id) != outputs.count(call_id):
            raise _refuse("pairing", f"Duplicate item found with id {call_id}.")


def _reasoning(rows: list[Body], maker: Maker) -> None:
    for index, row in enumerate(rows):
        if row.get("type") != "reasoning":
            continue
        id_ = text(row.get("id"))
        sealed = text(row.get("encrypted_content"))
        following = rows[index + 1] if index + 1 < len(rows) else {}
        if not sealed:
            if id_ in maker.stored:
                continue
            raise Refused(
                "stored",
                f"Item with id '{id_}' not found. Items are not persisted when `store` is set to "
                "false. Try again with `store` set to true, or remove this item from your input.",
                status=404,
                param="input",
            )
        payload = [id_, [text(part.get("text")) for part in objs(row.get("summary"))]]
        stage, _, follower = maker.signer.stage(sealed).partition(":")
        if stage not in ("done", "completed") or not maker.signer.verify(sealed, payload)[0]:
            raise Refused(
                "echo",
                f"The encrypted content {sealed[:4]}...{sealed[-4:]} could not be verified. "
                "Reason: Encrypted content could not be decrypted or parsed.",
                code="invalid_encrypted_content",
            )
        # A call may lack its id; a message must keep it.
        if not follower or follower not in (
            text(following.get("call_id")),
            text(following.get("id")),
        ):
            raise _refuse(
                "echo",
                f"Item '{id_}' of type 'reasoning' was provided without its required following "
                "item.",
            )


def _followed(rows: list[Body]) -> None:
    given = {text(row.get("id")) for row in rows if row.get("type") == "reasoning"}
    for row in rows:
        found = _ID.fullmatch(text(row.get("id")))
        if found is None or found[2] == "ff":
            continue
        needed = f"rs_{found[1]}{found[2]}ff"
        if needed not in given:
            raise _refuse(
                "echo",
                f"Item '{row['id']}' of type '{row.get('type', 'message')}' was provided without "
                f"its required 'reasoning' item: '{needed}'.",
            )
