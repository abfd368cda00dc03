"""Gemini's batches: ``:batchGenerateContent``, ``/batches`` and the files that they need."""

from __future__ import annotations

import json
import re
from datetime import UTC, datetime

from studio.simulator.batches import Batch, BatchDesk, BatchRequest, json_lines, page
from studio.simulator.endpoint import json_answer
from studio.simulator.http import Frame, HttpRequest, HttpResponse
from studio.simulator.json_read import Body, obj, objs, text
from studio.simulator.request_checks import RequestRefused

MOST_BYTES, MOST_INLINE = 2_000_000_000, 20_000_000
_CREATE = re.compile(r"/v1beta/models/([^/:]+):batchGenerateContent")
_BATCH = re.compile(r"/v1beta/batches(?:/([^/:]+)(:cancel)?)?")
_UPLOAD = re.compile(r"/upload/v1beta/files(?:/([^/]+))?")
_FILE = re.compile(r"/v1beta/files/([^/:]+):download")
_STATES = {
    "open": "BATCH_STATE_RUNNING",
    "cancelling": "BATCH_STATE_RUNNING",
    "failed": "BATCH_STATE_FAILED",
}


def serves(request: HttpRequest) -> bool:
    path = request.path.rstrip("/")
    return any(one.fullmatch(path) for one in (_CREATE, _BATCH, _UPLOAD, _FILE))


def answer(desk: BatchDesk, request: HttpRequest) -> HttpResponse:
    """Raises RequestRefused."""
    path, method = request.path.rstrip("/"), request.method
    if (found := _CREATE.fullmatch(path)) and method == "POST":
        return desk.answered(json_answer(_told(desk, _create(desk, request, found[1]))))
    if (found := _UPLOAD.fullmatch(path)) and method == "POST":
        return _upload(desk, request, found[1])
    if (found := _FILE.fullmatch(path)) and method == "GET":
        if found[1] not in desk.files or request.query.get("alt") != "media":
            raise RequestRefused("model", "File not found.", status=404)
        return HttpResponse([Frame(desk.files[found[1]])], "application/jsonl")
    found = _BATCH.fullmatch(path)
    if found is None:
        raise RequestRefused("route", "Not Found", status=404)
    if found[2]:
        desk.cancel(found[1])
        return json_answer({})
    if found[1]:
        return json_answer(_told(desk, desk.poll(found[1])))
    size, token = int(request.query.get("pageSize", "50")), request.query.get("pageToken", "")
    listed, more = page([*desk.batches.values()], token, size)
    told: Body = {"operations": [_told(desk, one) for one in listed]}
    return json_answer({**told, "nextPageToken": listed[-1].id} if more else told)


def _upload(desk: BatchDesk, request: HttpRequest, id: str | None) -> HttpResponse:
    command = request.headers.get("x-goog-upload-command", "")
    if id is None:
        if request.headers.get("x-goog-upload-protocol") != "resumable" or command != "start":
            raise RequestRefused("params", "Upload protocol is not supported.")
        started = f"upload{len(desk.uploads) + 1}"
        desk.uploads[started] = request.headers.get("x-goog-upload-header-content-length", "")
        host = request.headers.get("host", "127.0.0.1")
        url = f"http://{host}/upload/v1beta/files/{started}"
        return json_answer({}, x_goog_upload_url=url, x_goog_upload_status="active")
    if desk.uploads.get(id) != str(len(request.body)) or command != "upload, finalize":
        raise RequestRefused("params", "The upload does not have the length that was announced.")
    if request.headers.get("x-goog-upload-offset") != "0":
        raise RequestRefused("params", "The upload does not begin where it has to.")
    name = desk.file(request.body, "sim")
    return json_answer({"file": {"name": f"files/{name}", "state": "ACTIVE"}})


def _create(desk: BatchDesk, request: HttpRequest, model: str) -> Batch:
    batch = obj(request.json().get("batch"))
    if unknown := batch.keys() - {"displayName", "inputConfig", "priority", "webhookConfig"}:
        words = f"Unknown name \"{min(unknown)}\" at 'batch': Cannot find field."
        raise RequestRefused("params", words)
    if not text(batch.get("displayName")):
        raise RequestRefused("params", "batch.display_name must be set.")
    given = obj(batch.get("inputConfig"))
    name = text(given.get("fileName"))
    path = f"/v1beta/models/{model}:generateContent"
    if name:
        data = desk.files.get(name.removeprefix("files/"))
        if data is None:
            raise RequestRefused("model", f"File {name} not found.", status=404)
        if len(data) > (desk.plan.most_bytes or MOST_BYTES):
            raise RequestRefused("size", "The file is larger than 2 GB.")
        rows = [(text(one.get("key")), obj(one.get("request"))) for one in _lines(data)]
    else:
        if len(request.body) > MOST_INLINE:
            raise RequestRefused("size", "Request payload size exceeds the limit: 20 MB.")
        listed = objs(obj(given.get("requests")).get("requests"))
        rows = [
            (text(obj(one.get("metadata")).get("key")), obj(one.get("request"))) for one in listed
        ]
    if not rows or len(rows) > (desk.plan.most_requests or len(rows)):
        raise RequestRefused("params", "The number of requests is not supported.")
    if any(not body for _, body in rows):
        raise RequestRefused("params", "Each request needs contents.")
    requests = [BatchRequest(key, body) for key, body in rows]
    about: Body = {**batch, "file": name, "model": f"models/{model}"}
    return desk.add("sim", path, requests, about)


def _lines(data: bytes) -> list[Body]:
    try:
        return [obj(json.loads(line)) for line in data.splitlines() if line.strip()]
    except ValueError:
        raise RequestRefused("json", "The file is not JSONL.") from None


def _told(desk: BatchDesk, batch: Batch) -> Body:
    expired, cancelled = batch.count("expired"), batch.count("canceled")
    whole = len(batch.requests)
    ended = "EXPIRED" if expired == whole else "CANCELLED" if cancelled == whole else "SUCCEEDED"
    metadata: Body = {
        "@type": "type.googleapis.com/google.ai.generativelanguage.v1main.GenerateContentBatch",
        "name": f"batches/{batch.id}",
        "model": batch.about["model"],
        "displayName": batch.about["displayName"],
        "state": _STATES.get(batch.state, f"BATCH_STATE_{ended}"),
        "createTime": datetime.fromtimestamp(batch.created, UTC).isoformat(),
        "batchStats": {"requestCount": str(whole)},
    }
    told: Body = {"name": f"batches/{batch.id}", "metadata": metadata}
    if batch.over:
        metadata["output"] = told["response"] = _output(desk, batch)
        told["done"] = True
    return told


def _output(desk: BatchDesk, batch: Batch) -> Body:
    if not batch.about["file"]:
        made = [{**_answer(one), "metadata": {"key": one.id}} for one in batch.requests]
        return {"inlinedResponses": {"inlinedResponses": made}}
    id = f"out{batch.id}"
    if id not in desk.files:
        frames = json_lines([{"key": one.id, **_answer(one)} for one in batch.requests]).frames
        desk.files[id] = b"".join(frame.data for frame in frames)
    return {"responsesFile": f"files/{id}"}


def _answer(one: BatchRequest) -> Body:
    match one.ending:
        case "succeeded":
            return {"response": one.answer}
        case "errored":
            return {"error": obj(one.answer.get("error"))}
        case "expired":
            return {"error": {"code": 4, "message": "The request was not worked on in time."}}
        case _:
            return {"error": {"code": 1, "message": "The batch was cancelled."}}
