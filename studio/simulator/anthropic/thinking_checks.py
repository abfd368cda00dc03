"""Anthropic: checks that thinking comes back with its own signature, unchanged and in its place."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

from studio.simulator.json_read import Body, objs, text
from studio.simulator.request_checks import RequestRefused
from studio.simulator.request_view import RequestView
from studio.simulator.state import ServerState

from .message_checks import beginning, blocks, element, placed, runs
from .parameter_checks import binding

_PRESERVED = re.compile(r"sim-preserved|claude-\w+-5-[1-9]")
_THINKING = ("thinking", "redacted_thinking")
REDACTED = "redacted"
"""What the signature of redacted thinking covers: nobody else can read the thought."""


def latest_thinking(view: RequestView, state: ServerState) -> None:
    """What the newest reply thought is not edited."""
    for place in _edited(view, state):
        raise RequestRefused(
            "echo",
            f"{place}: `thinking` or `redacted_thinking` blocks in the latest assistant message "
            "cannot be modified. These blocks must remain as they were in the original response.",
        )


def genuine_thinking(view: RequestView, state: ServerState) -> None:
    """Thinking comes back with its own signature and unchanged."""
    edited = _edited(view, state)
    for place, _, block in placed(view):
        if block.get("type") not in _THINKING or place in edited:
            continue
        if not state.signer.verify(_signature(block), _thought(block))[0]:
            kind = text(block.get("type"))
            field = "signature" if kind == "thinking" else "data"
            raise RequestRefused("echo", f"{place}: Invalid `{field}` in `{kind}` block")


def _edited(view: RequestView, state: ServerState) -> list[str]:
    """Where the newest reply holds thoughts under signatures made here for others."""
    latest = next((run for run in reversed(runs(view)) if run.role == "assistant"), None)
    return [
        f"messages.{index}.content.{number}"
        for index, number, block in (latest.blocks if latest else [])
        if block.get("type") in _THINKING
        and state.signer.made(_signature(block))
        and not state.signer.verify(_signature(block), _thought(block))[0]
    ]


def bound_thinking(view: RequestView, state: ServerState) -> None:
    """Where thinking is preserved it comes back behind what it was thought about."""
    if binding(view) == "drop_block":
        return
    for place, reason in _loose(view, state):
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


def _walk(view: RequestView, state: ServerState) -> list[tuple[str, str, Any]]:
    return view.once("walk", lambda: list(_elements(view, state)))


def _elements(view: RequestView, state: ServerState) -> Iterator[tuple[str, str, Any]]:
    """Each block's place, why the model does not see it (mostly empty), and its element.

    Thinking of another model is left out without an error; so is, where it is
    preserved, thinking behind another prefix, with the rest of its row.
    """
    preserved = _PRESERVED.match(view.model) is not None
    before = [*_beginning(view)]
    for index, message in enumerate(objs(view.body.get("messages"))):
        role, row = text(message.get("role")), ""
        for number, block in enumerate(blocks(message)):
            reason = ""
            if block.get("type") in _THINKING:
                signature = _signature(block)
                own, bound = state.signer.verify(signature, _thought(block), before)
                if own and state.signer.stage(signature) != view.model:
                    reason = "model_binding_mismatch"
                elif preserved and (row or (own and not bound)):
                    reason = row = "prefix_binding_mismatch"
            else:
                row = ""
            part = element(role, block)
            if not reason:
                before.append(part)
            yield f"messages.{index}.content.{number}", reason, part


def _loose(view: RequestView, state: ServerState) -> list[tuple[str, str]]:
    return [(place, reason) for place, reason, _ in _walk(view, state) if reason]


def transformations(view: RequestView, state: ServerState) -> list[Body]:
    """What the model does not see of the request's thinking, as a reply reports it."""
    return [
        {"type": "thinking_dropped", "path": place, "reason": reason}
        for place, reason in _loose(view, state)
    ]


def _beginning(view: RequestView) -> list[Any]:
    return view.once("beginning", lambda: beginning(view.body))


def prefix(view: RequestView, state: ServerState) -> list[Any]:
    """Everything the reply follows."""
    return _beginning(view) + [part for _, reason, part in _walk(view, state) if not reason]
