"""The hub: speaks Hugging Face's interface, for what the program asks of it.

    async with HubSimulator({"owner/model-GGUF": HubRepo({"model-Q4_K_M.gguf": data})}) as hub:
        ...  # HF_ENDPOINT=hub.endpoint

Lists, trees, and files with their digests behind a redirect to another host, ``localhost``.
Parts of a file by Range; 416 for a part that is not there.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Mapping
from dataclasses import dataclass, field

from .http import Exchange, Frame, HttpRequest, HttpResponse
from .json_read import Body
from .routes import guess
from .script import Pace
from .simulator import Simulator

COMMIT = "0123456789abcdef0123456789abcdef01234567"
_RESOLVE = re.compile(r"/([^/]+/[^/]+)/resolve/[^/]+/(.+)")
_TREE = re.compile(r"/api/models/([^/]+/[^/]+)/tree/[^/]+/?")
_STORED = re.compile(r"/stored/([^/]+/[^/]+)/(.+)")
_RANGE = re.compile(r"bytes=(\d+)-(\d*)")
_FRAME = 65_536


@dataclass(slots=True)
class HubRepo:
    """A repository: its files, and what is wrong with it.

    ``wrong`` is sent in place of a file's bytes; ``cut_at`` are the bytes of the file at
    which the next answers break off, one each; ``ignores_ranges`` is how many of the next are
    sent from the start whatever is asked for; ``refuses`` is the status with which all are
    refused; ``rate`` is in bytes a second.
    """

    files: dict[str, bytes] = field(default_factory=dict[str, bytes])
    template: str = ""
    licence: str = "apache-2.0"
    gated: bool = False
    wrong: bytes = b""
    cut_at: list[int] = field(default_factory=list[int])
    ignores_ranges: int = 0
    refuses: int = 0
    rate: float = 0.0


class HubSimulator(Simulator):
    """The server, with these repositories. The token “good” opens the gated ones."""

    def __init__(self, repos: Mapping[str, HubRepo]) -> None:
        super().__init__([])
        self.repos = dict(repos)
        self.authorized: list[str] = []
        """The paths of requests that carried a token."""

    @property
    def endpoint(self) -> str:
        """What ``HF_ENDPOINT`` is to be."""
        return f"http://127.0.0.1:{self.port}"

    def answer(self, request: HttpRequest) -> tuple[Exchange, HttpResponse, Pace | None]:
        exchange = self._record(request)
        exchange.api = guess(request)
        if "authorization" in request.headers:
            self.authorized.append(request.path)
        answer = self._hub_answer(request)
        exchange.status = answer.status
        if request.method == "HEAD":  # nothing follows the head
            answer.frames, answer.ending = [], "cut"
        return exchange, answer, None

    def _hub_answer(self, request: HttpRequest) -> HttpResponse:
        path = request.path
        if path.rstrip("/") == "/api/models":
            return _answer(self._list(request.query))
        if found := _TREE.fullmatch(path):
            repo = self.repos.get(found[1])
            return _refused(404, "RepoNotFound") if repo is None else _answer(_tree(repo))
        if found := _RESOLVE.fullmatch(path):
            return self._resolve(found[1], found[2], request)
        if found := _STORED.fullmatch(path):
            repo = self.repos[found[1]]
            if repo.refuses:
                return _refused(repo.refuses, "")
            return _file(repo, repo.files[found[2]], request.headers.get("range", ""))
        return _refused(404, "")

    def _list(self, query: Mapping[str, str]) -> list[Body]:
        words = query.get("search", "").lower()
        most = int(query.get("limit", "1000"))
        found: list[Body] = []
        for name, repo in self.repos.items():
            if words in name.lower() and len(found) < most:
                one: Body = {
                    "_id": "0",
                    "id": name,
                    "modelId": name,
                    "gated": "manual" if repo.gated else False,
                    "downloads": 1,
                    "tags": ["gguf", f"license:{repo.licence}"],
                    "gguf": {"chat_template": repo.template, "context_length": 8192},
                }
                found.append(one)
        return found

    def _resolve(self, name: str, file: str, request: HttpRequest) -> HttpResponse:
        repo = self.repos.get(name)
        token = request.headers.get("authorization", "").removeprefix("Bearer ")
        if repo is None:  # it does not say whether there is one that is private
            return _refused(401, "RepoNotFound")
        if repo.gated and token != "good":
            return _refused(403 if token else 401, "GatedRepo")
        if file not in repo.files:
            return _refused(404, "EntryNotFound")
        data = repo.files[file]
        headers = {
            "x-repo-commit": COMMIT,
            "x-linked-size": str(len(data)),
            "x-linked-etag": f'"{hashlib.sha256(data).hexdigest()}"',
            "etag": '"' + "0" * 40 + '"',
            "location": f"http://localhost:{self.port}/stored/{name}/{file}",
        }
        return HttpResponse([], "text/plain", 302, headers)


def _tree(repo: HubRepo) -> list[Body]:
    found: list[Body] = []
    for path, data in repo.files.items():
        oid, size = hashlib.sha256(data).hexdigest(), len(data)
        one: Body = {
            "type": "file",
            "path": path,
            "size": size,
            "oid": oid[:40],
            "lfs": {"oid": oid, "size": size, "pointerSize": 134},
        }
        found.append(one)
    return found


def _file(repo: HubRepo, data: bytes, wanted: str) -> HttpResponse:
    size, headers, status, start = len(data), {"accept-ranges": "bytes"}, 200, 0
    body = repo.wrong or data
    found = _RANGE.fullmatch(wanted)
    if found and repo.ignores_ranges:
        repo.ignores_ranges -= 1
    elif found:
        start = int(found[1])
        if start >= size:
            return HttpResponse([], "text/plain", 416, {"content-range": f"bytes */{size}"})
        status, headers["content-range"] = 206, f"bytes {start}-{size - 1}/{size}"
    cut = repo.cut_at.pop(0) if repo.cut_at else size
    body = body[start : max(start, cut)]
    frames = [Frame(body[at : at + _FRAME]) for at in range(0, len(body), _FRAME)]
    ending = "cut" if cut < size else "clean"
    kind = "application/octet-stream"
    return HttpResponse(frames, kind, status, headers, ending, rate=repo.rate)


def _answer(value: object) -> HttpResponse:
    return HttpResponse([Frame(json.dumps(value).encode())])


def _refused(status: int, code: str) -> HttpResponse:
    headers = {"x-error-code": code, "x-error-message": code}
    return HttpResponse([Frame(b'{"error":"refused"}')], status=status, headers=headers)
