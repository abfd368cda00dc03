"""Ollama /api/chat: it refuses little; house rules pair calls and results."""

from __future__ import annotations

from studio.providers.simulator.maker import Maker
from studio.providers.simulator.refused import Refused
from studio.providers.simulator.view import Called, RequestView, Returned
from studio.providers.simulator.wire import obj, objs

_ROLES = ("system", "user", "assistant", "tool")


def check(view: RequestView, maker: Maker) -> None:
    """Raises Refused for the first rule the request breaks."""
    if not view.model:
        raise Refused("parameter", "model is required")
    for message in objs(view.body.get("messages")):
        if message.get("role") not in _ROLES:
            raise Refused("role", f"invalid role: {message.get('role')!r}")
        if not isinstance(message.get("content") or "", str):
            raise Refused(
                "content",
                "json: cannot unmarshal array into Go struct field "
                "ChatRequest.messages.content of type string",
            )
        for call in objs(message.get("tool_calls")):
            if not isinstance(obj(call.get("function")).get("arguments"), dict):
                raise Refused(
                    "content",
                    "json: cannot unmarshal string into Go struct field "
                    "ToolCallFunction.messages.tool_calls.function.arguments of type "
                    "api.ToolCallFunctionArguments",
                )
    if maker.beyond:
        _pairing(view)


def _pairing(view: RequestView) -> None:
    open_: list[Called] = []
    for item in view.items:
        if isinstance(item, Called):
            open_.append(item)
        elif isinstance(item, Returned):
            fits = [c for c in open_ if c.name == item.name and item.id in ("", c.id)]
            if not fits:
                raise Refused("pairing", f"house rule: no open call for a result of {item.name!r}")
            if fits[0] is not open_[0]:
                raise Refused("house", "house rule: results come in call order")
            open_.remove(fits[0])
        elif open_:
            break
    if open_:
        names = ", ".join(call.name for call in open_)
        raise Refused("pairing", f"house rule: calls without results: {names}")
