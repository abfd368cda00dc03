"""Gemini generateContent: what is refused."""

from __future__ import annotations

from typing import Any

from studio.providers.simulator.maker import Maker
from studio.providers.simulator.refused import Refused
from studio.providers.simulator.signing import decode
from studio.providers.simulator.view import RequestView
from studio.providers.simulator.wire import Body, obj, objs, text

_EQUAL = (
    "Please ensure that the number of function response parts is equal to the number of function "
    "call parts of the function call turn."
)
_CALL = (
    "Please ensure that function call turn comes immediately after a user turn or after a "
    "function response turn."
)
_RESPONSE = (
    "Please ensure that function response turn comes immediately after a function call turn."
)
_PARTS = (
    "Unable to submit request because it must include at least one parts field, which describes "
    "the prompt input."
)
# What the documentation gives for histories that were led elsewhere.
_DUMMIES = ("skip_thought_signature_validator", "context_engineering_is_the_way_to_go")


def signs(model: str) -> bool:
    """Whether this model signs what it says and wants it back."""
    return model.startswith(("sim-gemini-3", "gemini-3", "demo-thinker"))


def gives_ids(model: str, replies: int) -> bool:
    """Whether this reply's calls carry ids."""
    if model == "sim-gemini-3-mixed":
        return replies % 2 == 1
    return not model.startswith(("sim-gemini-25", "gemini-2"))


def call_of(part: Body) -> Body:
    """A part's function call in either spelling; empty if it is none."""
    return obj(part.get("functionCall") or part.get("function_call"))


def response_of(part: Body) -> Body:
    """A part's function response in either spelling; empty if it is none."""
    return obj(part.get("functionResponse") or part.get("function_response"))


def payload(part: Body) -> Any:
    """What a signature on this part covers."""
    if call := call_of(part):
        return ["call", call.get("name"), obj(call.get("args"))]
    return ["text", text(part.get("text"))]


def check(view: RequestView, maker: Maker) -> None:
    """Raises Refused for the first rule the request breaks."""
    contents = objs(view.body.get("contents"))
    if not contents:
        raise Refused("empty", "* GenerateContentRequest.contents: contents is not specified\n")
    for index, content in enumerate(contents):
        _shape(index, content)
    _pairing(_turns(contents), maker.beyond)
    if signs(view.model):
        _signatures(contents, maker)


def _shape(index: int, content: Body) -> None:
    if content.get("role", "user") not in ("user", "model"):
        raise Refused("role", "Please use a valid role: user, model.")
    parts = objs(content.get("parts"))
    if not parts:
        raise Refused("empty", _PARTS)
    for number, part in enumerate(parts):
        if not set(part) - {"thought", "thoughtSignature", "thought_signature", "partMetadata"}:
            raise Refused(
                "empty",
                f"* GenerateContentRequest.contents[{index}].parts[{number}].data: required oneof "
                "field 'data' must have one initialized field\n",
            )


def _turns(contents: list[Body]) -> list[tuple[str, list[Body]]]:
    """Runs of one role, merged."""
    turns: list[tuple[str, list[Body]]] = []
    for content in contents:
        role = text(content.get("role")) or "user"
        parts = objs(content.get("parts"))
        if turns and turns[-1][0] == role:
            turns[-1][1].extend(parts)
        else:
            turns.append((role, list(parts)))
    return turns


def _pairing(turns: list[tuple[str, list[Body]]], ordered: bool) -> None:
    for index, (role, parts) in enumerate(turns):
        calls = [call for part in parts if (call := call_of(part))]
        answers = [answer for part in parts if (answer := response_of(part))]
        if role == "model":
            if answers:
                raise Refused("pairing", _RESPONSE)
            if calls and index == 0:
                raise Refused("pairing", _CALL)
            if calls:
                following = turns[index + 1][1] if index + 1 < len(turns) else []
                _match(calls, [a for part in following if (a := response_of(part))], ordered)
        else:
            before = turns[index - 1][1] if index else []
            if calls:
                raise Refused("pairing", _CALL)
            if answers and not any(call_of(part) for part in before):
                raise Refused("pairing", _RESPONSE)


def _match(calls: list[Body], answers: list[Body], ordered: bool) -> None:
    """As many answers as calls, of the same names, and of the same ids where calls have them."""
    asked = [text(call.get("name")) for call in calls]
    answered = [text(answer.get("name")) for answer in answers]
    if sorted(asked) != sorted(answered):
        raise Refused("pairing", _EQUAL)
    ids = [text(call.get("id")) for call in calls if call.get("id")]
    given = [text(answer.get("id")) for answer in answers if answer.get("id")]
    if ids and sorted(ids) != sorted(given):
        raise Refused("pairing", _EQUAL)
    if ordered and (asked != answered or (ids and ids != given)):
        raise Refused("house", "house rule: results come in call order")


def _signatures(contents: list[Body], maker: Maker) -> None:
    """In the current turn, each step's first call is signed, and no signature is broken."""
    start = 0
    for index, content in enumerate(contents):
        parts = objs(content.get("parts"))
        if content.get("role") != "model" and any(not response_of(part) for part in parts):
            start = index
    fresh = True
    for index, content in enumerate(contents[start:], start):
        if content.get("role") != "model":
            fresh = True
            continue
        for part in objs(content.get("parts")):
            signature = text(part.get("thoughtSignature") or part.get("thought_signature"))
            call = call_of(part)
            if call and fresh and not signature:
                raise Refused(
                    "echo",
                    "Function call is missing a thought_signature in functionCall parts. This is "
                    "required for tools to work correctly, and missing thought_signature may lead "
                    "to degraded model performance. Additional data, function call "
                    f"`default_api:{text(call.get('name'))}` , position {index + 1}. Please refer "
                    "to https://ai.google.dev/gemini-api/docs/thought-signatures for more details.",
                )
            if call:
                fresh = False
            if signature and not _genuine(signature, part, maker):
                raise Refused("echo", "Corrupted thought signature.")


def _genuine(signature: str, part: Body, maker: Maker) -> bool:
    if signature in _DUMMIES or decode(signature).decode("latin-1") in _DUMMIES:
        return True
    return maker.signer.verify(signature, payload(part))[0]
