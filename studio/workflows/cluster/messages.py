"""Cluster messages: write requests, answers and errors as JSON, and read them."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any, cast, get_args

from studio.domain.errors import ProviderError, ProviderFault
from studio.domain.jsonvalue import JsonObject
from studio.domain.models import ModelInfo, Usage
from studio.providers.base import Reply, Request

VERSION = 1
"""Of these messages: both sides have to have the same."""


def request_message(request: Request) -> JsonObject:
    """A request of an agent without tools."""
    return asdict(request)


def read_request(told: Any) -> Request:
    """Raises ValueError for what is none."""
    try:
        values: dict[str, Any] = {**told, "stop": tuple(told["stop"]), "tools": ()}
        if (known := told["facts"]) is not None:
            efforts = known["efforts"]
            facts: dict[str, Any] = {**known, "efforts": efforts and tuple(efforts)}
            values["facts"] = ModelInfo(**facts)
        return Request(**values)
    except (KeyError, TypeError) as error:
        raise ValueError("no request") from error


def reply_message(text: str, reply: Reply) -> JsonObject:
    return {
        "text": text,
        "items": [*reply.items],
        "stop": reply.stop,
        "usage": cast("JsonObject", asdict(reply.usage)),
        "detail": reply.detail,
        "cost": reply.cost,
        "stopped_at": reply.stopped_at,
    }


def read_reply(told: JsonObject) -> tuple[str, Reply]:
    """Raises ValueError for what is none."""
    try:
        usage = Usage(**cast("dict[str, int]", told["usage"]))
        if any(type(count) is not int or count < 0 for count in asdict(usage).values()):
            raise ValueError("no usage")
        cost = told["cost"]
        if not isinstance(told["text"], str) or not isinstance(cost, float | int | None):
            raise ValueError("no answer")
        return told["text"], Reply(
            [*cast("list[JsonObject]", told["items"])],
            stop=cast("Any", told["stop"]),
            usage=usage,
            detail=str(told["detail"]),
            cost=cost,
            stopped_at=str(told["stopped_at"]),
        )
    except (KeyError, TypeError) as error:
        raise ValueError("no answer") from error


def error_message(error: ProviderError) -> JsonObject:
    return {
        "fault": error.fault,
        "reason": str(error),
        "status": error.status,
        "retry_after": error.retry_after,
    }


def read_error(told: JsonObject, provider: str) -> ProviderError:
    fault, wait, status = told.get("fault"), told.get("retry_after"), told.get("status")
    return ProviderError(
        fault if fault in get_args(ProviderFault) else "protocol",  # type: ignore[arg-type]
        str(told.get("reason", "")),
        provider=provider,
        status=status if isinstance(status, int) else None,
        retry_after=float(wait) if isinstance(wait, int | float) else None,
    )
