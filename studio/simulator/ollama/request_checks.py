"""Ollama: checks the little that ``/api/chat`` refuses, and in house rules that calls and results
pair up.
"""

from __future__ import annotations

from collections.abc import Iterator

from studio.simulator.json_read import Body, array, compact, obj, objs
from studio.simulator.request_checks import (
    Check,
    RequestRefused,
    appended,
    decoded,
    one_message_a_turn,
    plain_schemas,
    word_set,
)
from studio.simulator.request_view import Called, RequestView, Returned
from studio.simulator.state import ServerState

_ROLES = ("system", "user", "assistant", "tool")
_LEVELS = ("low", "medium", "high", "max")
_WHOLE = ("num_ctx", "num_predict", "num_keep", "seed", "top_k", "repeat_last_n", "num_batch")
_FLOAT = ("temperature", "top_p", "min_p", "repeat_penalty", "presence_penalty")
_PARAMETERS = word_set(
    "model messages tools stream format options keep_alive think truncate shift logprobs "
    "top_logprobs"
)
# What each listed model can do; a name that is not listed can do everything.
_ABLE = {
    "demo-fast": ("completion", "tools"),
    "demo-tools": ("completion", "tools"),
    "demo-thinker": ("completion", "tools", "thinking"),
    "sim-plain": ("completion",),
    "sim-embed": ("embedding",),
}


def capabilities(model: str) -> tuple[str, ...]:
    """What the model can do."""
    everything = ("completion", "tools", "thinking", "vision")
    return _ABLE.get(model.removesuffix(":latest"), everything)


def _messages(view: RequestView) -> list[Body]:
    return objs(view.body.get("messages"))


def _type_error(value: object, field: str, wanted: str) -> RequestRefused:
    kinds = ((dict, "object"), (list, "array"), (str, "string"), (bool, "bool"))
    kind = next((name for one, name in kinds if isinstance(value, one)), "number")
    return RequestRefused(
        "content",
        f"json: cannot unmarshal {kind} into Go struct field {field} of type {wanted}",
    )


def model_given(view: RequestView, state: ServerState) -> None:
    """The request names a model."""
    if not view.model:
        raise RequestRefused("parameter", "model is required")


def can_chat(view: RequestView, state: ServerState) -> None:
    """The model is one that talks."""
    if "completion" not in capabilities(view.model):
        raise RequestRefused("parameter", f'"{view.model}" does not support chat')


def can_use_tools(view: RequestView, state: ServerState) -> None:
    """Tools are offered to models that can use them."""
    if objs(view.body.get("tools")) and "tools" not in capabilities(view.model):
        raise RequestRefused(
            "parameter", f"registry.ollama.ai/library/{view.model} does not support tools"
        )


def think_known(view: RequestView, state: ServerState) -> None:
    """Thinking is on, off, or at a level."""
    think = view.body.get("think")
    if think is not None and not isinstance(think, bool) and think not in _LEVELS:
        raise RequestRefused(
            "parameter",
            f'invalid think value: "{think}" (must be "high", "medium", "low", "max", true, or '
            "false)",
        )


def can_think(view: RequestView, state: ServerState) -> None:
    """Thinking is asked of models that can."""
    if view.body.get("think") and "thinking" not in capabilities(view.model):
        raise RequestRefused("parameter", f'"{view.model}" does not support thinking')


def roles(view: RequestView, state: ServerState) -> None:
    """Messages have roles that the API knows."""
    for message in _messages(view):
        if message.get("role") not in _ROLES:
            raise RequestRefused("role", f"invalid role: {message.get('role')!r}")


def content_is_text(view: RequestView, state: ServerState) -> None:
    """Content, thinking and names are strings."""
    for message in _messages(view):
        for key in ("content", "thinking", "tool_name", "tool_call_id"):
            if not isinstance(value := message.get(key) or "", str):
                raise _type_error(value, f"ChatRequest.messages.{key}", "string")


def _calls(view: RequestView) -> Iterator[Body]:
    for message in _messages(view):
        for call in objs(message.get("tool_calls")):
            yield obj(call.get("function"))


def arguments_are_objects(view: RequestView, state: ServerState) -> None:
    """A call's arguments travel as an object."""
    for function in _calls(view):
        if not isinstance(value := function.get("arguments"), dict):
            raise _type_error(
                value,
                "ToolCallFunction.messages.tool_calls.function.arguments",
                "api.ToolCallFunctionArguments",
            )


def pictures(view: RequestView, state: ServerState) -> None:
    """Pictures are bare base64."""
    for message in _messages(view):
        images: object = message.get("images") or []
        if not isinstance(images, list):
            raise _type_error(images, "ChatRequest.messages.images", "[]api.ImageData")
        for image in array(images):
            if decoded(image) is None:
                raise RequestRefused("media", "illegal base64 data at input byte 0")


def can_see(view: RequestView, state: ServerState) -> None:
    """Pictures are shown to models that see."""
    seen = any(message.get("images") for message in _messages(view))
    if seen and "vision" not in capabilities(view.model):
        raise RequestRefused("media", f'"{view.model}" does not support image input')


def options_typed(view: RequestView, state: ServerState) -> None:
    """Options are numbers of the right kind."""
    options: object = view.body.get("options") or {}
    if not isinstance(options, dict):
        raise _type_error(options, "ChatRequest.options", "map[string]interface {}")
    for name, value in obj(options).items():
        number = isinstance(value, int | float) and not isinstance(value, bool)
        if name in _WHOLE and (not number or value != int(value)):
            raise RequestRefused("parameter", f'option "{name}" must be of type integer')
        if name in _FLOAT and not number:
            raise RequestRefused("parameter", f'option "{name}" must be of type float32')
        if name == "stop" and not isinstance(value, list):
            raise RequestRefused("parameter", 'option "stop" must be of type array')


def form_known(view: RequestView, state: ServerState) -> None:
    """The answer's form is "json" or a schema."""
    form = view.body.get("format")
    if form is not None and form not in ("", "json") and not isinstance(form, dict):
        raise RequestRefused(
            "parameter",
            f'invalid format: {compact(form)}; expected "json" or a valid JSON Schema object',
        )


def _open(view: RequestView) -> Iterator[tuple[Called | Returned | None, list[Called]]]:
    """Each result with the calls that are open before it; None where others may be open."""
    open_: list[Called] = []
    for item in view.items:
        if isinstance(item, Called):
            open_.append(item)
        elif isinstance(item, Returned):
            yield item, open_
            fits = [call for call in open_ if _fits(call, item)]
            open_ = [call for call in open_ if call is not (fits or [None])[0]]
        elif open_:
            break
    yield None, open_


def _fits(call: Called, item: Returned) -> bool:
    return call.name == item.name and item.id in ("", call.id)


def asked_results(view: RequestView, state: ServerState) -> None:
    """House rule: every result belongs to an open call, which may have left a full window."""
    if view.left_out:
        return
    for item, open_ in _open(view):
        if isinstance(item, Returned) and not any(_fits(call, item) for call in open_):
            raise RequestRefused(
                "pairing", f"house rule: no open call for a result of {item.name!r}"
            )


def results_in_order(view: RequestView, state: ServerState) -> None:
    """House rule: results come in the order of their calls."""
    for item, open_ in _open(view):
        if not isinstance(item, Returned):
            continue
        fits = [call for call in open_ if _fits(call, item)]
        if fits and fits[0] is not open_[0]:
            raise RequestRefused("house", "house rule: results come in call order")


def answered_calls(view: RequestView, state: ServerState) -> None:
    """House rule: every call has a result before other words."""
    for item, open_ in _open(view):
        if item is None and open_:
            names = ", ".join(call.name for call in open_)
            raise RequestRefused("pairing", f"house rule: calls without results: {names}")


def known_parameters(view: RequestView, state: ServerState) -> None:
    """House rule: nothing is sent that the API has no name for."""
    for key in view.body:
        if key not in _PARAMETERS:
            raise RequestRefused("house", f"house rule: unknown parameter {key!r}")


RULES: tuple[Check, ...] = (
    model_given,
    can_chat,
    can_use_tools,
    think_known,
    can_think,
    roles,
    content_is_text,
    arguments_are_objects,
    pictures,
    can_see,
    options_typed,
    form_known,
)
HOUSE: tuple[Check, ...] = (
    known_parameters,
    plain_schemas,
    asked_results,
    results_in_order,
    answered_calls,
    one_message_a_turn,
    appended,
)
