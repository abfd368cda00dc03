"""The paths of the server, and which API speaks on which."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import TypeAlias

from starlette.datastructures import Headers
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Match, Route
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from studio.agent.engine import Engine
from studio.domain.jsonvalue import JsonObject

from . import request_body
from .contract import ApiRequest, BadRequest, Dialect, DialectName
from .errors import ApiError, error_from_exception
from .idempotency import IdempotentResponses
from .model_names import ListedModel, anthropic_list, list_models, openai_list
from .response_stream import HttpResponse
from .stored_responses import StoredResponses

PINGS: Mapping[DialectName, bytes] = {
    "chat": b": ping\n\n",
    "responses": b": ping\n\n",
    "messages": b'event: ping\ndata: {"type": "ping"}\n\n',
}
"""What fills a pause: a comment, or the API's own event for that."""
PATHS: Mapping[str, DialectName] = {
    "/v1/chat/completions": "chat",
    "/v1/responses": "responses",
    "/v1/messages": "messages",
}
_LONGEST = 200
"""Characters of a path that are said back."""
ANTHROPIC = "anthropic-version"
"""The header that Anthropic's clients send with everything."""

Counting: TypeAlias = Callable[[ApiRequest], Awaitable[int]]
"""How many tokens a request has, about; raises BadRequest."""


class Routes:
    """The application behind the gate (ASGI); see ``Approvals``."""

    def __init__(
        self,
        studio: Engine,
        replays: IdempotentResponses,
        dialects: Mapping[DialectName, Dialect],
        count: Counting,
        stored: StoredResponses,
        folder: Path,
    ) -> None:
        """``folder`` is where agents work for clients."""
        self._studio = studio
        self._replays = replays
        self._dialects = dialects
        self._count = count
        self._stored = stored
        self._folder = folder
        self._routes = [
            Route("/health", self._health),
            Route("/v1/models", self._models),
            Route("/v1/models/{name:path}", self._model),
            Route("/v1/messages/count_tokens", self._counted, methods=["POST"]),
            Route("/v1/responses/input_tokens", self._counted, methods=["POST"]),
            Route("/v1/responses/{answer}", self._stored_answer, methods=["GET", "DELETE"]),
            *(Route(path, _Answered(self._answer), methods=["POST"]) for path in PATHS),
        ]

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        begun = False

        async def sending(message: Message) -> None:
            nonlocal begun
            begun = True
            await send(message)

        try:
            fault = await self._routed(scope, receive, sending)
        except request_body.Gone:
            return
        except Exception as error:
            if begun:
                raise
            fault = error_from_exception(error)
        if fault is not None:
            await self.refuse(scope, fault)(scope, receive, send)

    async def _routed(self, scope: Scope, receive: Receive, send: Send) -> ApiError | None:
        """Returns what is wrong if nothing was sent."""
        allowed: set[str] = set()
        for route in self._routes:
            match, found = route.matches(scope)
            if match is Match.FULL:
                scope.update(found)
                await route.app(scope, receive, send)
                return None
            if match is Match.PARTIAL:
                allowed |= route.methods or set()
        path, method = scope["path"][:_LONGEST], scope["method"]
        if allowed:
            scope["state"]["allowed"] = ", ".join(sorted(allowed))
            return ApiError(f"{path} does not take {method}.", 405, "method_not_allowed")
        return ApiError(f"There is no {path} here.{self._advice(scope)}", 404, "not_found")

    def _advice(self, scope: Scope) -> str:
        """What to do where the client seems to have a wrong base URL, or a slash too many."""
        path = scope["path"]
        if not path.startswith("/v1/") or path.startswith("/v1/v1/"):
            return (
                " The base URL ends with /v1 for OpenAI’s libraries, and without it for "
                "Anthropic’s."
            )
        bare = {**scope, "path": path.rstrip("/")}
        if path.endswith("/") and any(
            route.matches(bare)[0] is not Match.NONE for route in self._routes
        ):
            return " Leave out the “/” at the end."
        return ""

    def refuse(self, scope: Scope, fault: ApiError) -> Response:
        """An error in the shape of the API that was asked."""
        door = _door(scope)
        status = 529 if door == "messages" and fault.status == 503 else fault.status
        body = self._dialects[door].error(
            fault.message, status=status, code=fault.code, param=fault.param
        )
        if door == "messages":
            body["request_id"] = scope["state"]["request"]
        headers = fault.headers()
        if status == 401:
            headers["www-authenticate"] = "Bearer"
        if status == 405:  # RFC 9110, 15.5.6: it says what would be taken
            headers["allow"] = scope["state"]["allowed"]
        return JSONResponse(body, status, headers)

    async def _answer(self, scope: Scope, receive: Receive, send: Send) -> None:
        """One request for an answer, in any of the APIs."""
        headers, door = Headers(scope=scope), PATHS[scope["path"]]
        data, body = await self._body(receive)
        dialect, big = self._dialects[door], len(data) > request_body.BIG
        asked = await request_body.run_off_loop(
            lambda: replace(dialect.asked(body), big=big), big=big
        )
        run = await self._replays.run(
            asked,
            door,
            data,
            key=headers.get("idempotency-key", "").strip(),
            client=scope["state"]["client"],
        )
        delivery = HttpResponse(
            run,
            lambda: dialect.speak(asked, run.about, body),
            stream=asked.stream,
            ping=PINGS[door],
        )
        fault = await delivery(receive, send)
        if fault is not None:
            await self.refuse(scope, fault)(scope, receive, send)

    async def _body(self, receive: Receive) -> tuple[bytes, JsonObject]:
        data = await request_body.read(receive, self._studio.settings.values.server_body_limit)
        return data, await request_body.parsed(data)

    async def _health(self, _: Request) -> Response:
        return JSONResponse({"status": "ok"})

    async def _models(self, request: Request) -> Response:
        found = await list_models(self._studio, self._folder)
        body = anthropic_list(found) if ANTHROPIC in request.headers else openai_list(found)
        return JSONResponse(body)

    async def _model(self, request: Request) -> Response:
        name = request.path_params["name"]
        for one in await list_models(self._studio, self._folder):
            if one.id == name:
                return JSONResponse(_alone(one, request))
        raise BadRequest(
            "There is no such model here.", status=404, param="model", code="model_not_found"
        )

    async def _stored_answer(self, request: Request) -> Response:
        answer = request.path_params["answer"]
        if request.method == "DELETE":
            return JSONResponse(await self._stored.delete(answer))
        if request.query_params.get("stream") == "true":
            raise BadRequest("A stored answer comes in one piece, not as a stream.", param="stream")
        return JSONResponse(await self._stored.get(answer))

    async def _counted(self, request: Request) -> Response:
        data, body = await self._body(request.receive)
        door = _door(request.scope)
        if door == "messages":
            body = {**body, "max_tokens": 1}  # needed there, and nothing is written
        asked = await request_body.read_from(data, lambda: self._dialects[door].asked(body))
        tokens = await self._count(asked)
        kind = {"object": "response.input_tokens"} if door == "responses" else {}
        return JSONResponse({**kind, "input_tokens": tokens})


class _Answered:
    """What is ASGI itself, for routes that would take a function for a simpler kind."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        await self._app(scope, receive, send)


def _door(scope: Scope) -> DialectName:
    """Whose shape an error has: the path's API, or the one that the client seems to speak."""
    path = scope["path"]
    for known, door in PATHS.items():
        if path == known or path.startswith(f"{known}/"):
            return door
    return "messages" if ANTHROPIC in Headers(scope=scope) else "chat"


def _alone(model: ListedModel, request: Request) -> JsonObject:
    return model.anthropic() if ANTHROPIC in request.headers else model.openai()
