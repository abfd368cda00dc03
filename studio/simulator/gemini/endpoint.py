"""Gemini generateContent: whole responses as chunks, CRLF, calls in one piece."""

from __future__ import annotations

from typing import Any

from studio.simulator.endpoint import (
    Endpoint,
    json_answer,
    raw_arguments,
    strings,
    usage_of,
    whole,
    words,
)
from studio.simulator.faults import Fault
from studio.simulator.http import Frame, HttpRequest, HttpResponse
from studio.simulator.json_read import Body, arguments, compact, obj, objs, text
from studio.simulator.request_checks import RequestRefused
from studio.simulator.request_view import Called, Item, Offered, RequestView, Returned, Said
from studio.simulator.script import Call, ServerTool, Stop, Text, Think, Turn, Usage
from studio.simulator.state import ServerState

from . import tool_call_checks as tool_calls
from .request_checks import call_of, calling, config_of, member, response_of

_STOPS: dict[Stop, str] = {
    "max_tokens": "MAX_TOKENS",
    "context_exceeded": "MAX_TOKENS",
    "refusal": "PROHIBITED_CONTENT",
    "content_filter": "PROHIBITED_CONTENT",
    "safety": "SAFETY",
    "malformed_function_call": "MALFORMED_FUNCTION_CALL",
}
_STATUS = {
    400: "INVALID_ARGUMENT",
    401: "UNAUTHENTICATED",
    403: "PERMISSION_DENIED",
    404: "NOT_FOUND",
    408: "DEADLINE_EXCEEDED",
    409: "ABORTED",
    413: "INVALID_ARGUMENT",
    429: "RESOURCE_EXHAUSTED",
    500: "INTERNAL",
    503: "UNAVAILABLE",
    504: "DEADLINE_EXCEEDED",
}
_KINDS = {
    "overloaded": (503, "The model is overloaded. Please try again later."),
    "rate_limit": (429, "Resource has been exhausted (e.g. check quota)."),
    "server": (500, "An internal error has occurred."),
    "invalid_request": (400, "Request contains an invalid argument."),
    "timeout": (504, "The request timed out."),
}


class GeminiEndpoint(Endpoint):
    """``:generateContent`` and ``:streamGenerateContent``, of v1 and v1beta."""

    name = "gemini"
    rules = tool_calls.RULES
    house = tool_calls.HOUSE
    too_long = (
        "The input token count ({size}) exceeds the maximum number of tokens allowed ({window})."
    )

    def view(self, request: HttpRequest, body: Body) -> RequestView:
        items: list[Item] = []
        for content in objs(body.get("contents")):
            items += _items(content)
        system = obj(member(body, "systemInstruction"))
        config = config_of(body)
        rows: list[Any] = [[system, body.get("tools")]]
        for content in objs(body.get("contents")):
            rows += [[content.get("role"), part] for part in objs(content.get("parts"))]
        return RequestView(
            api="gemini",
            model="",
            stream=request.path.endswith(":streamGenerateContent"),
            items=items,
            tools=[
                Offered(
                    text(one.get("name")),
                    text(one.get("description")),
                    obj(member(one, "parametersJsonSchema") or one.get("parameters")),
                )
                for tool in objs(body.get("tools"))
                for one in objs(member(tool, "functionDeclarations"))
            ],
            system="\n".join(text(part.get("text")) for part in objs(system.get("parts"))),
            body=body,
            rows=rows,
            breakpoints=range(len(rows)),
            stops=strings(config.get("stopSequences")),
            limit=whole(config.get("maxOutputTokens")),
            may_call=calling(body).get("mode") != "NONE",
            version=request.path.split("/")[1],
            include_usage=request.query.get("alt") == "sse",
        )

    def render(self, turn: Turn, view: RequestView, state: ServerState) -> HttpResponse:
        base: Body = {"modelVersion": view.model, "responseId": state.id("", 22)}
        usage = usage_of(turn, view)
        # The prompt's count jumps late, as it was seen to.
        early = _usage(usage, prompt=usage.inp // 2, out=0)
        late = _usage(usage, prompt=usage.inp, out=usage.out - usage.reasoning)
        pieces = self._parts(turn, view, state)
        finish = _STOPS.get(turn.stop, "STOP")
        if turn.stop == "safety" and not turn.parts:
            blocked = {**base, "promptFeedback": {"blockReason": "SAFETY"}, "usageMetadata": early}
            return self._send(view, [(blocked, 0.0)])
        if not view.stream:
            parts = _merged([part for part, _ in pieces])
            return json_answer(_grounded(_candidate(base, parts, late, finish), turn))
        chunks = [(_candidate(base, [part], early), weight) for part, weight in pieces]
        closing: list[Body] = [] if turn.stop in ("empty", "max_tokens") else [{"text": ""}]
        last = _grounded(_candidate(base, closing, late, finish), turn)
        return self._send(view, [*chunks, (last, 0.0)])

    def _send(self, view: RequestView, chunks: list[tuple[Body, float]]) -> HttpResponse:
        if not view.stream:
            return json_answer(chunks[0][0])
        if view.include_usage:  # alt=sse
            frames = [_event(body, weight) for body, weight in chunks]
            return HttpResponse(frames, content_type="text/event-stream")
        rows = [compact(body) for body, _ in chunks]
        frames = [
            Frame((("[" if n == 0 else ",\r\n") + row).encode()) for n, row in enumerate(rows)
        ]
        return HttpResponse([*frames, Frame(b"]\r\n")])

    def _parts(self, turn: Turn, view: RequestView, state: ServerState) -> list[tuple[Body, float]]:
        found: list[tuple[Body, float]] = []
        signs = tool_calls.signs(view.model)
        ids = tool_calls.gives_ids(view.model, state.replies)
        signed = False
        for part in () if turn.stop == "empty" else turn.parts:
            match part:
                case Think(redacted=True):
                    pass  # only its signature tells of it
                case Think(thought):
                    found += [({"text": piece, "thought": True}, 1.0) for piece in words(thought)]
                case Text(said):
                    found += [({"text": piece}, 1.0) for piece in words(said)]
                case Call():
                    call: Body = {"name": part.name, "args": arguments(raw_arguments(part))}
                    if ids:
                        call["id"] = part.id or state.id("", 8)
                    body: Body = {"functionCall": call}
                    if signs and not signed:
                        body["thoughtSignature"] = state.signer.sign(tool_calls.payload(body))
                        signed = True
                    found.append((body, 8.0))
                case ServerTool():
                    pass  # told by the metadata of the last chunk
        if signs and not signed and found:
            # A signature may come on a last, empty text.
            last: Body = {"text": ""}
            found.append(
                ({**last, "thoughtSignature": state.signer.sign(tool_calls.payload(last))}, 0)
            )
        return found

    def no_model(self, view: RequestView) -> RequestRefused:
        return RequestRefused(
            "model",
            f"models/{view.model} is not found for API version {view.version}, or is not "
            "supported for generateContent. Call ModelService.ListModels to see the list of "
            "available models and their supported methods.",
            status=404,
        )

    def count(self, tokens: int) -> Body:
        return {"totalTokens": tokens}

    def failure(self, refused: RequestRefused) -> HttpResponse:
        info = {
            "reason": refused.code,
            "domain": "googleapis.com",
            "metadata": {"service": "generativelanguage.googleapis.com"},
        }
        return _failed(refused.status, str(refused), "ErrorInfo", info if refused.code else {})

    def status(self, fault: Fault) -> HttpResponse:
        message = next((words for code, words in _KINDS.values() if code == fault.code), None)
        info: Body = {}
        if (after := fault.retry_after) is not None:  # Google says the wait in the body.
            info = {"retryDelay": after if isinstance(after, str) else f"{after:g}s"}
        answer = _failed(fault.code, message or "The request failed.", "RetryInfo", info)
        answer.headers.update(fault.headers)
        return answer

    def error_frame(self, kind: str, variant: str) -> Frame:
        code, message = _KINDS[kind]
        return _event({"error": {"code": code, "message": message, "status": _STATUS[code]}})

    def unknown(self, kind: str) -> list[Frame]:
        if kind == "event":
            return [_event({"surprise": {"kind": "new"}})]
        content: Body = {"role": "model", "parts": [{"surprise": {"kind": "new"}}]}
        return [_event({"candidates": [{"content": content, "index": 0}]})]


def _failed(code: int, message: str, kind: str, info: Body) -> HttpResponse:
    """An error; ``info`` is the detail of this kind, if there is one."""
    error: Body = {"code": code, "message": message, "status": _STATUS.get(code, "UNKNOWN")}
    if info:
        error["details"] = [{"@type": f"type.googleapis.com/google.rpc.{kind}", **info}]
    return json_answer({"error": error}, code)


def _items(content: Body) -> list[Item]:
    role = "assistant" if content.get("role") == "model" else "user"
    items: list[Item] = []
    said: list[str] = []
    for part in objs(content.get("parts")):
        if call := call_of(part):
            items.append(
                Called(text(call.get("id")), text(call.get("name")), obj(call.get("args")))
            )
        elif result := response_of(part):
            answer = obj(result.get("response"))
            error = "error" in answer and len(answer) == 1
            items.append(
                Returned(text(result.get("id")), text(result.get("name")), _words(answer), error)
            )
        elif text(part.get("text")) and part.get("thought") is not True:
            said.append(text(part.get("text")))
    if said:
        spoken = Said("assistant" if role == "assistant" else "user", "".join(said))
        items.insert(0 if role == "assistant" else len(items), spoken)
    return items


def _words(response: Body) -> str:
    for value in response.values():
        if isinstance(value, str) and len(response) == 1:
            return value
    return compact(response)


def _merged(parts: list[Body]) -> list[Body]:
    """A whole response holds its text in one part, not in the pieces of a stream."""
    found: list[Body] = []
    for part in parts:
        plain = set(part) <= {"text", "thought"}
        before = found[-1] if found else {}
        if plain and "text" in before and before.keys() == part.keys():
            found[-1] = {**before, "text": text(before["text"]) + text(part["text"])}
        else:
            found.append(part)
    return found


def _candidate(base: Body, parts: list[Body], usage: Body, finish: str | None = None) -> Body:
    content: Body = {"parts": parts, "role": "model"} if parts else {"role": "model"}
    candidate: Body = {"content": content, "index": 0}
    if finish:
        candidate["finishReason"] = finish
    return {"candidates": [candidate], "usageMetadata": usage, **base}


def _grounded(response: Body, turn: Turn) -> Body:
    """The response with what the turn's searches found."""
    for part in turn.parts:
        if isinstance(part, ServerTool):
            objs(response["candidates"])[0]["groundingMetadata"] = {
                "webSearchQueries": [part.query],
                "groundingChunks": [
                    {"web": {"uri": row.url, "title": row.title}} for row in part.found
                ],
                "searchEntryPoint": {"renderedContent": "<div>Simulated.</div>"},
            }
    return response


def _usage(usage: Usage, *, prompt: int, out: int) -> Body:
    found: Body = {
        "promptTokenCount": prompt,
        "candidatesTokenCount": out,
        "totalTokenCount": prompt + out + usage.reasoning,
        "promptTokensDetails": [{"modality": "TEXT", "tokenCount": prompt}],
    }
    if usage.reasoning:
        found["thoughtsTokenCount"] = usage.reasoning
    if usage.cache_read:
        found["cachedContentTokenCount"] = usage.cache_read
    return found


def _event(body: Any, tokens: float = 0.0) -> Frame:
    return Frame(f"data: {compact(body)}\r\n\r\n".encode(), tokens)
