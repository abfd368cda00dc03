"""Routes: find the API a request belongs to, check its key, and answer unusual requests."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Literal, TypeAlias

from .http import HttpRequest
from .request_checks import RequestRefused
from .request_view import ApiName

Action: TypeAlias = Literal["reply", "count", "models", "show", "pull", "delete", "version"]


@dataclass(frozen=True, slots=True)
class Route:
    """What is asked of which API; ``model`` where the path names it."""

    api: ApiName
    action: Action
    model: str = ""


_POSTS: dict[str, tuple[ApiName, Action]] = {
    "/v1/messages": ("anthropic", "reply"),
    "/v1/messages/count_tokens": ("anthropic", "count"),
    "/v1/responses": ("responses", "reply"),
    "/v1/responses/input_tokens": ("responses", "count"),
    "/v1/chat/completions": ("chat", "reply"),
    "/api/chat": ("ollama", "reply"),
    "/api/show": ("ollama", "show"),
    "/api/pull": ("ollama", "pull"),
}
_GEMINI = re.compile(
    r"/(?:v1|v1beta)/models/([^/:]+):(generateContent|streamGenerateContent|countTokens)"
)


def route(request: HttpRequest) -> Route:
    """Raises RequestRefused (404) for anything the simulator does not serve; see ``guess``."""
    path = request.path.rstrip("/")
    if request.method == "POST":
        if path in _POSTS:
            return Route(*_POSTS[path])
        if found := _GEMINI.fullmatch(path):
            action: Action = "count" if found[2] == "countTokens" else "reply"
            return Route("gemini", action, found[1])
    elif request.method == "DELETE" and path == "/api/delete":
        return Route("ollama", "delete")
    elif request.method == "GET":
        if path == "/v1/models" and guess(request) != "gemini":
            return Route(guess(request), "models")
        if path in ("/v1/models", "/v1beta/models"):
            return Route("gemini", "models")
        if path == "/api/tags":
            return Route("ollama", "models")
        if path == "/api/version":
            return Route("ollama", "version")
    raise RequestRefused(
        "route", f"Unknown request URL: {request.method} {request.path}", status=404
    )


def guess(request: HttpRequest) -> ApiName:
    """The API that a request seems to be meant for."""
    if "anthropic-version" in request.headers:
        return "anthropic"
    if request.path.startswith("/api/"):
        return "ollama"
    google = "x-goog-api-key" in request.headers or "key" in request.query
    if google or request.path.startswith("/v1beta/"):
        return "gemini"
    return "responses" if request.path.startswith("/v1/responses") else "chat"


def key_of(request: HttpRequest, api: ApiName) -> str:
    """The key the request carries where this API looks for it; empty if none."""
    if api == "gemini":
        return request.headers.get("x-goog-api-key") or request.query.get("key", "")
    kind, _, token = request.headers.get("authorization", "").partition(" ")
    bearer = token.strip() if kind.lower() == "bearer" else ""
    if api == "anthropic":
        return request.headers.get("x-api-key") or bearer
    return bearer


def authorize(request: HttpRequest, api: ApiName) -> None:
    """Raises RequestRefused, in the provider's words, for no key or one that begins with bad."""
    if api == "ollama":
        return
    key = key_of(request, api)
    if key and not key.startswith("bad"):
        return
    match api:
        case "anthropic":
            message = "invalid x-api-key" if key else "x-api-key header is required"
            raise RequestRefused("auth", message, status=401)
        case "gemini":
            if not key:
                raise RequestRefused(
                    "auth",
                    "Method doesn't allow unregistered callers (callers without established "
                    "identity). Please use API Key or other form of API consumer identity to "
                    "call this API.",
                    status=403,
                )
            raise RequestRefused(
                "auth",
                "API key not valid. Please pass a valid API key.",
                code="API_KEY_INVALID",
            )
        case _:
            message = (
                f"Incorrect API key provided: {_masked(key)}. You can find your API key at "
                "https://platform.openai.com/account/api-keys."
                if key
                else "You didn't provide an API key. You need to provide your API key in an "
                "Authorization header using Bearer auth (i.e. Authorization: Bearer YOUR_KEY)."
            )
            raise RequestRefused(
                "auth", message, status=401, code="invalid_api_key" if key else None
            )


def _masked(key: str) -> str:
    """OpenAI quotes the ends of a wrong key."""
    return key if len(key) < 8 else f"{key[:5]}{'*' * (len(key) - 9)}{key[-4:]}"
