"""Message Batches: ``/v1/messages/batches``."""

from __future__ import annotations

import re
from collections.abc import Sequence
from datetime import UTC, datetime

from studio.simulator.batches import Batch, BatchDesk, BatchRequest, json_lines, page
from studio.simulator.endpoint import json_answer
from studio.simulator.http import HttpRequest, HttpResponse
from studio.simulator.json_read import Body, obj, objs, text
from studio.simulator.request_checks import RequestRefused

MOST_REQUESTS, MOST_BYTES = 100_000, 256_000_000
DAY = 86_400.0
_ID = re.compile(r"[a-zA-Z0-9_-]{1,64}")
_PATH = re.compile(r"/v1/messages/batches(?:/([^/]+)(?:/(cancel|results))?)?")


def serves(request: HttpRequest) -> bool:
    return _PATH.fullmatch(request.path.rstrip("/")) is not None


def answer(desk: BatchDesk, request: HttpRequest) -> HttpResponse:
    """Raises RequestRefused."""
    found = _PATH.fullmatch(request.path.rstrip("/"))
    assert found is not None
    match request.method, found[1], found[2]:
        case "POST", None, None:
            return desk.answered(json_answer(_told(_create(desk, request))))
        case "GET", None, None:
            query = request.query
            limit = int(query.get("limit", "20"))
            if not 1 <= limit <= 1000:
                raise RequestRefused("params", "limit: must be between 1 and 1000")
            listed, more = page([*desk.batches.values()], query.get("after_id", ""), limit)
            ids = [desk.poll(one.id).id for one in listed]
            return json_answer(
                {
                    "data": [_told(one) for one in listed],
                    "has_more": more,
                    "first_id": ids[0] if ids else None,
                    "last_id": ids[-1] if ids else None,
                }
            )
        case "GET", id, None:
            return json_answer(_told(desk.poll(id or "")))
        case "POST", id, "cancel":
            return json_answer(_told(desk.cancel(id or "")))
        case "GET", id, "results":
            batch = desk.batches.get(id or "")
            if batch is None or not batch.over:
                words = "Message Batch has not ended; results are not yet available"
                raise RequestRefused("model", words, status=404)
            return json_lines([_result(one) for one in reversed(batch.requests)])
        case _:
            raise RequestRefused("route", "Not Found", status=404)


def _create(desk: BatchDesk, request: HttpRequest) -> Batch:
    if len(request.body) > (desk.plan.most_bytes or MOST_BYTES):
        raise RequestRefused("size", "Request exceeds the maximum size", status=413)
    body = request.json()
    given = objs(body.get("requests"))
    _check(given, desk.plan.most_requests or MOST_REQUESTS)
    requests = [BatchRequest(text(one["custom_id"]), obj(one["params"])) for one in given]
    return desk.add("msgbatch_", "/v1/messages", requests, {})


def _check(given: Sequence[Body], most: int) -> None:
    if not given:
        raise RequestRefused("params", "requests: List should have at least 1 item")
    if len(given) > most:
        raise RequestRefused("params", f"requests: List should have at most {most} items")
    seen: set[str] = set()
    for at, one in enumerate(given):
        id = one.get("custom_id")
        if not isinstance(id, str) or not _ID.fullmatch(id):
            words = "String should match pattern '^[a-zA-Z0-9_-]{1,64}$'"
            raise RequestRefused("params", f"requests.{at}.custom_id: {words}")
        if id in seen:
            raise RequestRefused("params", f"requests.{at}.custom_id: duplicate custom_id: {id}")
        seen.add(id)
        if unknown := one.keys() - {"custom_id", "params"}:
            words = "Extra inputs are not permitted"
            raise RequestRefused("params", f"requests.{at}.{min(unknown)}: {words}")
        if not isinstance(one.get("params"), dict):
            raise RequestRefused("params", f"requests.{at}.params: Field required")
        if obj(one["params"]).get("stream"):
            words = "streaming is not supported in batches"
            raise RequestRefused("params", f"requests.{at}.params.stream: {words}")


def _told(batch: Batch) -> Body:
    over = batch.over
    endings = ("succeeded", "errored", "expired", "canceled")
    counts: Body = {name: batch.count(name) if over else 0 for name in endings}
    counts["processing"] = 0 if over else len(batch.requests)
    states = {"open": "in_progress", "cancelling": "canceling"}
    return {
        "id": batch.id,
        "type": "message_batch",
        "processing_status": states.get(batch.state, "ended"),
        "request_counts": counts,
        "created_at": _time(batch.created),
        "expires_at": _time(batch.created + DAY),
        "ended_at": _time(batch.created) if over else None,
        "archived_at": None,
        "cancel_initiated_at": None,
        "results_url": f"/v1/messages/batches/{batch.id}/results" if over else None,
    }


def _result(one: BatchRequest) -> Body:
    match one.ending:
        case "succeeded":
            result: Body = {"type": "succeeded", "message": one.answer}
        case "errored":
            result = {"type": "errored", "error": one.answer}
        case _:
            result = {"type": one.ending}
    return {"custom_id": one.id, "result": result}


def _time(seconds: float) -> str:
    return datetime.fromtimestamp(seconds, UTC).isoformat().replace("+00:00", "Z")
