"""The routes of the server: which paths there are, and which dialect is spoken on each."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from starlette.datastructures import Headers
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Match, Route
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from studio.agent.engine import Engine
from studio.domain.jsonvalue import JsonObject

from . import request_body
from .client_runs import ClientRuns
from .contract import BadRequest, ListedModel
from .dialects import DIALECTS, dialect_of
from .dialects.base import Dialect
from .errors import ApiError, error_from_exception
from .idempotency import IdempotentResponses
from .mcp.http import METHODS, PATH
from .model_names import list_models
from .remote_pictures import fetch_pictures, remote_pictures
from .response_stream import HttpResponse
from .stored_responses import StoredResponses
from .token_count import count_tokens

_LONGEST = 200
"""Characters of a path that are said back."""


class Routes:
    """The application behind the access checks of ``auth`` (ASGI)."""

    def __init__(
        self,
        engine: Engine,
        responses: IdempotentResponses,
        stored: StoredResponses,
        runs: ClientRuns,
        folder: Path,
        mcp: ASGIApp,
    ) -> None:
        """``folder`` is where agents work for clients. ``mcp`` answers those that speak MCP."""
        self._engine = engine
        self._responses = responses
        self._stored = stored
        self._runs = runs
        self._folder = folder
        paths = [dialect.path for dialect in DIALECTS.values()]
        counts = [dialect.count_path for dialect in DIALECTS.values() if dialect.count_path]
        self._routes = [
            *(Route(path, self._answer, methods=["POST"]) for path in paths),
            Route("/health", self._health),
            Route("/v1/models", self._models),
            Route("/v1/models/{name:path}", self._model),
            *(Route(path, self._counted, methods=["POST"]) for path in counts),
            Route("/v1/runs", self._all_runs, methods=["GET", "POST"]),
            Route("/v1/runs/{run}", self._run),
            Route("/v1/runs/{run}/cancel", self._cancelled_run, methods=["POST"]),
            Route("/v1/responses/{answer}/cancel", self._cancelled_answer, methods=["POST"]),
            Route("/v1/responses/{answer}", self._stored_answer, methods=["GET", "DELETE"]),
            Route(PATH, mcp, methods=METHODS),
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
        """An error in the shape of the API that the request is for."""
        dialect = _dialect(scope)
        body = dialect.error_body(
            fault.message,
            status=(status := dialect.statuses.get(fault.status, fault.status)),
            code=fault.code,
            param=fault.param,
        )
        if dialect.request_id_field:
            body[dialect.request_id_field] = scope["state"]["request"]
        headers = fault.headers()
        if status == 401:
            headers["www-authenticate"] = "Bearer"
        if status == 405:  # RFC 9110, 15.5.6: it says what would be taken
            headers["allow"] = scope["state"]["allowed"]
        return JSONResponse(body, status, headers)

    async def _answer(self, request: Request) -> Response | HttpResponse:
        """One request for an answer, in any of the APIs."""
        scope, dialect = request.scope, _dialect(request.scope)
        data, body, big = await self._body(request)
        api_request = await request_body.run_off_loop(lambda: dialect.read_request(body), big=big)
        if big:
            api_request = replace(api_request, big=True)
        run = await self._responses.run(
            api_request,
            dialect.name,
            data,
            key=request.headers.get("idempotency-key", "").strip(),
            client=scope["state"]["client"],
        )
        if api_request.background and not api_request.stream:
            parts = await run.after(0)
            if run.fault is not None:
                return self.refuse(scope, run.fault)
            writer = dialect.response_writer(api_request, run.about, body)
            for part in parts:
                writer.take(part)
            return JSONResponse(writer.body())
        return HttpResponse(
            run,
            lambda: dialect.response_writer(api_request, run.about, body),
            lambda fault: self.refuse(scope, fault),
            stream=api_request.stream,
            ping=dialect.ping,
        )

    async def _body(self, request: Request) -> tuple[bytes, JsonObject, bool]:
        """The bytes of a request, its JSON with what it names, and whether that may be big."""
        limit = self._engine.settings.values.server_body_limit
        data = await request_body.read(request.receive, limit)
        body = await request_body.read_from(data, lambda: request_body.parse(data))
        dialect = _dialect(request.scope)
        if ids := dialect.references(body):
            body = dialect.with_items(body, await self._stored.items(ids))
        if pictures := await request_body.read_from(data, lambda: remote_pictures(body)):
            await fetch_pictures(self._engine, self._folder, pictures)
        return data, body, bool(ids or pictures) or len(data) > request_body.BIG

    async def _health(self, _: Request) -> Response:
        return JSONResponse({"status": "ok"})

    async def _models(self, request: Request) -> Response:
        return JSONResponse(_dialect(request.scope).models_body(await self._listed()))

    async def _listed(self) -> list[ListedModel]:
        return [*await list_models(self._engine, self._folder), *await self._runs.listed()]

    async def _model(self, request: Request) -> Response:
        name = request.path_params["name"]
        for one in await self._listed():
            if one.id == name:
                return JSONResponse(_dialect(request.scope).model_body(one))
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

    async def _cancelled_answer(self, request: Request) -> Response:
        return JSONResponse(await self._stored.cancel(request.path_params["answer"]))

    async def _all_runs(self, request: Request) -> Response:
        if request.method != "POST":
            return JSONResponse(await self._runs.list())
        _, body, _ = await self._body(request)
        return JSONResponse(await self._runs.start(body), 201)

    async def _run(self, request: Request) -> Response:
        return JSONResponse(await self._runs.get(request.path_params["run"]))

    async def _cancelled_run(self, request: Request) -> Response:
        return JSONResponse(await self._runs.cancel(request.path_params["run"]))

    async def _counted(self, request: Request) -> Response:
        _, body, big = await self._body(request)
        dialect = _dialect(request.scope)
        api_request = await request_body.run_off_loop(
            lambda: dialect.read_count_request(body), big=big
        )
        tokens = await count_tokens(self._engine, api_request, self._folder)
        return JSONResponse(dialect.count_body(tokens))


def _dialect(scope: Scope) -> Dialect:
    return dialect_of(scope["path"], Headers(scope=scope))
