"""Gemini: checks that calls and responses pair up, and the thought signatures on them.

Holds the table of all of Gemini's checks, in the order in which they run.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise
from typing import Any

from studio.simulator.json_read import Body, obj, objs, text
from studio.simulator.request_checks import Check, RequestRefused, appended
from studio.simulator.request_view import RequestView
from studio.simulator.state import ServerState, decode

from . import request_checks as request
from .request_checks import call_of, contents, member, response_of

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
# What the documentation gives for histories that were led elsewhere.
_DUMMIES = ("skip_thought_signature_validator", "context_engineering_is_the_way_to_go")


def signs(model: str) -> bool:
    """Whether this model signs what it says, and demands the signature back."""
    return model.startswith(("sim-gemini-3", "gemini-3", "demo-thinker"))


def gives_ids(model: str, replies: int) -> bool:
    """Whether this reply's calls carry ids."""
    if model == "sim-gemini-3-mixed":
        return replies % 2 == 1
    return not model.startswith(("sim-gemini-25", "gemini-2"))


def payload(part: Body) -> Any:
    """What a signature on this part covers."""
    if call := call_of(part):
        return ["call", call.get("name"), obj(call.get("args"))]
    return ["text", text(part.get("text"))]


_Turn = tuple[str, list[Body]]


def _turns(view: RequestView) -> Iterator[tuple[_Turn, _Turn, _Turn]]:
    """Runs of one role, merged: each between its neighbours."""
    turns: list[_Turn] = []
    for one in contents(view):
        role = text(one.get("role")) or "user"
        if turns and turns[-1][0] == role:
            turns[-1][1].extend(objs(one.get("parts")))
        else:
            turns.append((role, objs(one.get("parts"))))
    none: _Turn = ("", [])
    yield from zip([none, *turns], turns, [*turns[1:], none], strict=False)


def _calls(turn: _Turn) -> list[Body]:
    return [call for part in turn[1] if (call := call_of(part))]


def _answers(turn: _Turn) -> list[Body]:
    return [answer for part in turn[1] if (answer := response_of(part))]


def responses_are_the_users(view: RequestView, state: ServerState) -> None:
    """The model answers no calls."""
    for _, turn, _ in _turns(view):
        if turn[0] == "model" and _answers(turn):
            raise RequestRefused("pairing", _RESPONSE)


def calls_are_the_models(view: RequestView, state: ServerState) -> None:
    """The user calls nothing."""
    for _, turn, _ in _turns(view):
        if turn[0] != "model" and _calls(turn):
            raise RequestRefused("pairing", _CALL)


def calls_after_words(view: RequestView, state: ServerState) -> None:
    """A call never comes first."""
    for before, turn, _ in _turns(view):
        if turn[0] == "model" and _calls(turn) and not before[0]:
            raise RequestRefused("pairing", _CALL)


def responses_after_calls(view: RequestView, state: ServerState) -> None:
    """A response follows a turn with calls."""
    for before, turn, _ in _turns(view):
        if turn[0] == "user" and _answers(turn) and not _calls(before):
            raise RequestRefused("pairing", _RESPONSE)


def equal_counts(view: RequestView, state: ServerState) -> None:
    """As many responses as calls."""
    for calls, answers in _pairs(view):
        if len(calls) != len(answers):
            raise RequestRefused("pairing", _EQUAL)


def same_names(view: RequestView, state: ServerState) -> None:
    """The responses are to the functions that were called."""
    for calls, answers in _pairs(view):
        if len(calls) == len(answers) and _sorted(calls, "name") != _sorted(answers, "name"):
            raise RequestRefused("pairing", _EQUAL)


def same_ids(view: RequestView, state: ServerState) -> None:
    """Where calls have ids, the responses have the same."""
    for calls, answers in _pairs(view):
        ids = _sorted(calls, "id")
        if any(ids) and len(ids) == len(answers) and ids != _sorted(answers, "id"):
            raise RequestRefused("pairing", _EQUAL)


def _pairs(view: RequestView) -> list[tuple[list[Body], list[Body]]]:
    return [
        (calls, _answers(following))
        for _, turn, following in _turns(view)
        if turn[0] == "model" and (calls := _calls(turn))
    ]


def _sorted(rows: list[Body], key: str) -> list[str]:
    return sorted(text(row.get(key)) for row in rows)


def _current(view: RequestView) -> list[tuple[int, Body]]:
    """The contents since the person's last words, with their places."""
    found = list(enumerate(contents(view)))
    start = 0
    for index, one in found:
        parts = objs(one.get("parts"))
        if one.get("role") != "model" and any(not response_of(part) for part in parts):
            start = index
    return found[start:]


def signed_calls(view: RequestView, state: ServerState) -> None:
    """In the current turn, each step's first call is signed."""
    fresh = True
    for index, one in _current(view) if signs(view.model) else ():
        if one.get("role") != "model":
            fresh = True
            continue
        for part in objs(one.get("parts")):
            if not (call := call_of(part)):
                continue
            if fresh and not _signature(part):
                raise RequestRefused(
                    "echo",
                    "Function call is missing a thought_signature in functionCall parts. This is "
                    "required for tools to work correctly, and missing thought_signature may lead "
                    "to degraded model performance. Additional data, function call "
                    f"`default_api:{text(call.get('name'))}` , position {index + 1}. Please refer "
                    "to https://ai.google.dev/gemini-api/docs/thought-signatures for more details.",
                )
            fresh = False


def genuine_signatures(view: RequestView, state: ServerState) -> None:
    """In the current turn no signature is broken or on something else."""
    for _, one in _current(view) if signs(view.model) else ():
        for part in objs(one.get("parts")):
            signature = _signature(part)
            if signature and not _genuine(signature, part, state):
                raise RequestRefused("echo", "Corrupted thought signature.")


def _signature(part: Body) -> str:
    return text(member(part, "thoughtSignature"))


def _genuine(signature: str, part: Body, state: ServerState) -> bool:
    if signature in _DUMMIES or decode(signature).decode("latin-1") in _DUMMIES:
        return True
    return state.signer.verify(signature, payload(part))[0]


def responses_in_order(view: RequestView, state: ServerState) -> None:
    """House rule: responses come in the order of their calls."""
    for calls, answers in _pairs(view):
        for key in ("name", "id"):
            if [text(call.get(key)) for call in calls] != [text(row.get(key)) for row in answers]:
                raise RequestRefused("house", "house rule: results come in call order")


def one_content_a_turn(view: RequestView, state: ServerState) -> None:
    """House rule: no two contents of one role in a row."""
    found = [text(one.get("role")) or "user" for one in contents(view)]
    for role, following in pairwise(found):
        if role == following:
            raise RequestRefused("house", f"house rule: consecutive {role} contents")


RULES: tuple[Check, ...] = (
    request.some_contents,
    request.roles,
    request.parts_given,
    request.parts_have_data,
    request.base64_sound,
    request.media_types,
    request.args_are_objects,
    request.responses_are_objects,
    request.functions_named,
    request.functions_described,
    request.functions_unique,
    request.level_or_budget,
    request.levels,
    request.level_supported,
    request.budgets,
    request.temperature,
    request.mode_known,
    request.mode_of_functions,
    request.names_with_any,
    request.names_declared,
    request.stops_are_texts,
    request.top_p,
    request.form_known,
    request.schema_is_json,
    request.form_without_functions,
    responses_are_the_users,
    calls_are_the_models,
    calls_after_words,
    responses_after_calls,
    equal_counts,
    same_names,
    same_ids,
    signed_calls,
    genuine_signatures,
)
HOUSE: tuple[Check, ...] = (
    request.known_parameters,
    request.known_keys,
    one_content_a_turn,
    responses_in_order,
    appended,
)
