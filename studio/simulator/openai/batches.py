"""OpenAI's files and batches: ``/v1/files`` and ``/v1/batches``."""

from __future__ import annotations

import json
import re

from studio.simulator.batches import Batch, BatchDesk, BatchRequest, json_lines, page
from studio.simulator.endpoint import json_answer
from studio.simulator.http import Frame, HttpRequest, HttpResponse
from studio.simulator.json_read import Body, obj, text
from studio.simulator.request_checks import RequestRefused

MOST_REQUESTS, MOST_BYTES = 50_000, 200_000_000
DAY = 86_400
ENDPOINTS = ("/v1/responses", "/v1/chat/completions")
_PATH = re.compile(r"/v1/(files|batches)(?:/([^/]+)(?:/(cancel|content))?)?")
_FIELD = re.compile(rb'name="([^"]+)"')


def serves(request: HttpRequest) -> bool:
    return _PATH.fullmatch(request.path.rstrip("/")) is not None


def answer(desk: BatchDesk, request: HttpRequest) -> HttpResponse:
    """Raises RequestRefused."""
    found = _PATH.fullmatch(request.path.rstrip("/"))
    assert found is not None
    match request.method, found[1], found[2], found[3]:
        case "POST", "files", None, None:
            return json_answer(_upload(desk, request))
        case "GET", "files", str(id), "content":
            if id not in desk.files:
                raise RequestRefused("model", f"No such File object: {id}", status=404)
            return HttpResponse([Frame(desk.files[id])], "application/octet-stream")
        case "POST", "batches", None, None:
            return desk.answered(json_answer(_told(desk, _create(desk, request))))
        case "GET", "batches", None, None:
            limit = int(request.query.get("limit", "20"))
            if not 1 <= limit <= 100:
                raise RequestRefused("params", "Invalid 'limit': must be between 1 and 100.")
            batches = [*desk.batches.values()]
            listed, more = page(batches, request.query.get("after", ""), limit)
            told = [_told(desk, one) for one in listed]
            return json_answer({"object": "list", "data": told, "has_more": more})
        case "GET", "batches", str(id), None:
            return json_answer(_told(desk, desk.poll(id)))
        case "POST", "batches", str(id), "cancel":
            return json_answer(_told(desk, desk.cancel(id)))
        case _:
            raise RequestRefused("route", "Not Found", status=404)


def _upload(desk: BatchDesk, request: HttpRequest) -> Body:
    kind = request.headers.get("content-type", "")
    if not kind.startswith("multipart/form-data; boundary="):
        raise RequestRefused("params", "Missing required parameter: 'file'.", param="file")
    mark = b"--" + kind.partition("boundary=")[2].encode()
    fields: dict[str, bytes] = {}
    for part in request.body.split(mark)[1:-1]:
        head, _, value = part.partition(b"\r\n\r\n")
        if name := _FIELD.search(head):
            fields[name[1].decode()] = value.removesuffix(b"\r\n")
    for name in ("purpose", "file"):
        if not fields.get(name):
            raise RequestRefused("params", f"Missing required parameter: '{name}'.", param=name)
    if fields["purpose"] != b"batch":
        raise RequestRefused("params", "Invalid value for 'purpose'.", param="purpose")
    data = fields["file"]
    if len(data) > (desk.plan.most_bytes or MOST_BYTES):
        raise RequestRefused("size", "File is too large. Maximum size is 200 MB.", status=413)
    id = desk.file(data)
    told: Body = {"id": id, "object": "file", "bytes": len(data), "created_at": 0}
    return {**told, "filename": "input.jsonl", "purpose": "batch", "status": "processed"}


def _create(desk: BatchDesk, request: HttpRequest) -> Batch:
    body = request.json()
    if unknown := body.keys() - {
        *("input_file_id", "endpoint", "completion_window", "metadata", "output_expires_after")
    }:
        raise RequestRefused("params", f"Unknown parameter: '{min(unknown)}'.", param=min(unknown))
    endpoint, file = text(body.get("endpoint")), text(body.get("input_file_id"))
    if endpoint not in ENDPOINTS:
        raise RequestRefused("params", f"Invalid value: '{endpoint}'.", param="endpoint")
    if body.get("completion_window") != "24h":
        raise RequestRefused("params", "Invalid value for 'completion_window'.")
    if file not in desk.files:
        raise RequestRefused("params", f"No such File object: {file}", param="input_file_id")
    metadata = obj(body.get("metadata"))
    if len(metadata) > 16 or any(
        len(name) > 64 or not isinstance(value, str) or len(value) > 512
        for name, value in metadata.items()
    ):
        raise RequestRefused("params", "Invalid 'metadata'.", param="metadata")
    requests, wrong = _read(desk, desk.files[file], endpoint)
    return desk.add("batch_", endpoint, requests, body, wrong)


def _read(desk: BatchDesk, data: bytes, endpoint: str) -> tuple[list[BatchRequest], str]:
    """The requests of a file, and what is wrong with it: that is found after the answer."""
    requests: list[BatchRequest] = []
    seen: set[str] = set()
    models: set[str] = set()
    lines = data.splitlines()
    most = desk.plan.most_requests or MOST_REQUESTS
    if len(lines) > most:
        return [], f"The batch has {len(lines)} requests, which exceeds the limit of {most}."
    for number, line in enumerate(lines, 1):
        try:
            one = obj(json.loads(line))
        except ValueError:
            return [], f"Line {number}: This line is not parseable as valid JSON."
        id, body = text(one.get("custom_id")), obj(one.get("body"))
        if not id or one.keys() != {"custom_id", "method", "url", "body"}:
            return [], f"Line {number}: missing or unknown fields."
        if id in seen:
            return [], f"Line {number}: The custom_id '{id}' for this request is a duplicate."
        if one["method"] != "POST" or one["url"] != endpoint:
            return [], f"Line {number}: The provided method or URL is not supported."
        if body.get("stream"):
            return [], f"Line {number}: streaming is not supported in batches."
        seen.add(id)
        models.add(text(body.get("model")))
        requests.append(BatchRequest(id, body))
    if len(models) > 1:
        return [], "All requests of a batch have to be for one model."
    return requests, "" if requests else "The file is empty."


def _told(desk: BatchDesk, batch: Batch) -> Body:
    done, failed = batch.count("succeeded"), batch.count("errored")
    expired, cancelled = batch.count("expired"), batch.count("canceled")
    status = {"open": "in_progress", "cancelling": "cancelling", "failed": "failed"}.get(
        batch.state, "expired" if expired else "cancelled" if cancelled else "completed"
    )
    files = dict.fromkeys(("output_file_id", "error_file_id"), None)
    if batch.state == "over":
        passed = [one for one in batch.requests if one.ending == "succeeded"]
        others = [one for one in batch.requests if one.ending != "succeeded"]
        if passed:
            files["output_file_id"] = _results(desk, batch, passed, "output")
        if others:
            files["error_file_id"] = _results(desk, batch, others, "error")
    wrong = [{"code": "invalid", "message": batch.wrong, "param": None, "line": None}]
    return {
        "id": batch.id,
        "object": "batch",
        "endpoint": batch.path,
        "completion_window": "24h",
        "status": status,
        "input_file_id": text(batch.about.get("input_file_id")),
        **files,
        "errors": {"object": "list", "data": wrong} if batch.wrong else None,
        "created_at": int(batch.created),
        "expires_at": int(batch.created) + DAY,
        "request_counts": {"total": len(batch.requests), "completed": done, "failed": failed},
        "metadata": batch.about.get("metadata"),
    }


def _results(desk: BatchDesk, batch: Batch, some: list[BatchRequest], kind: str) -> str:
    id = f"file-{kind}-{batch.id}"
    if id not in desk.files:
        frames = json_lines([_line(one, number) for number, one in enumerate(some)]).frames
        desk.files[id] = b"".join(frame.data for frame in frames)
    return id


def _line(one: BatchRequest, number: int) -> Body:
    line: Body = {"id": f"batch_req_{number}", "custom_id": one.id, "response": None, "error": None}
    if one.ending in ("succeeded", "errored"):
        answer: Body = {"status_code": one.status, "request_id": f"req_{number}"}
        line["response"] = {**answer, "body": one.answer}
    else:
        code = "batch_expired" if one.ending == "expired" else "batch_cancelled"
        words = "This request could not be executed before the completion window expired."
        line["error"] = {"code": code, "message": words}
    return line
