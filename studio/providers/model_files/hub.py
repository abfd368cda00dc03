"""The hub: searches Hugging Face for models that run here, and reads the recommended ones.

Of each repository one file is offered: the one whose weights have about four bits, which is
the usual balance of size and quality. A model in several parts is offered by its first.
"""

from __future__ import annotations

import asyncio
import importlib
import json
import os
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar
from urllib.parse import quote

from studio.domain.errors import StudioError
from studio.domain.jsonvalue import Json, JsonObject, as_count, as_object, as_objects, as_text
from studio.providers.http import import_alone

from .folder import SUFFIX, Source, quantization, title_of
from .gguf import parts_of, speaks_of_tools

T = TypeVar("T")

FOUND = 12
"""Repositories of one search."""
_AT_ONCE = 6
_SECONDS = 10.0
_PREFERRED = ("Q4_K_M", "UD-Q4_K_XL", "MXFP4", "Q4_K_S", "IQ4_XS", "Q4_0", "Q5_K_M", "Q8_0")
_PROJECTORS = ("Q8_0", "F16", "BF16", "F32")
"""Kinds of files by which a model sees, the preferred one first."""
_LICENCES = {"apache-2.0": "Apache 2.0", "mit": "MIT", "other": "", "unknown": ""}


class HubProblem(StudioError):
    """The hub could not be asked; the text says why."""


@dataclass(frozen=True, slots=True)
class HubModel:
    """A model that can be fetched; ``tools`` is None where it is not known."""

    source: Source
    owner: str = ""
    licence: str = ""
    """Empty for one that has no usual name."""
    line: str = ""
    """What it is good for, in a few words."""
    tools: bool | None = None
    gated: bool = False
    date: str = ""
    """When it was recommended, as ``2026-11``; empty where it is not."""
    active_bytes: int = 0
    """Bytes of the weights that take part in a token; 0 where they are not known."""

    @property
    def quantization(self) -> str:
        return quantization(self.source.file)

    @property
    def sees(self) -> bool:
        """Whether it reads pictures."""
        return bool(self.source.projector)


@dataclass(frozen=True, slots=True)
class Recommended:
    """A list that ships with the program."""

    models: tuple[HubModel, ...]

    @property
    def date(self) -> str:
        """When its newest entry was made, as ``2026-11``; empty for no entries."""
        return max((model.date for model in self.models), default="")


def endpoint() -> str:
    """The hub's address: ``HF_ENDPOINT``, else huggingface.co."""
    return os.environ.get("HF_ENDPOINT", "").strip().rstrip("/") or "https://huggingface.co"


def recommended(file: Path) -> Recommended:
    """Read the list; raises OSError or ValueError. Blocks."""
    data = as_object(json.loads(file.read_text("utf-8")))
    return Recommended(
        tuple(
            HubModel(
                Source(
                    as_text(entry.get("repo")),
                    as_text(entry.get("file")),
                    as_count(entry.get("size")),
                    title=as_text(entry.get("title")),
                    projector=as_text(entry.get("projector")),
                ),
                as_text(entry.get("owner")),
                as_text(entry.get("licence")),
                as_text(entry.get("line")),
                entry.get("tools") is True,
                date=as_text(entry.get("date")),
                active_bytes=as_count(entry.get("active") or entry.get("size")),
            )
            for entry in as_objects(data.get("models"))
        ),
    )


class Hub:
    """Searches; one search at a time, because the library has one session for all."""

    def __init__(self) -> None:
        self._lock = asyncio.Lock()

    async def search(self, words: str, token: str = "") -> list[HubModel]:
        """Models whose name has these words, the most fetched first; raises HubProblem."""
        async with self._lock:
            return await asyncio.to_thread(_ask, lambda hub: _search(hub, words.strip()), token)

    async def offered(self, repo: str, token: str = "") -> Source:
        """The file that a repository offers; raises HubProblem."""
        async with self._lock:
            info: JsonObject = {"id": repo}
            found = await asyncio.to_thread(_ask, lambda hub: _model(hub, info), token)
        if found is None:
            raise HubProblem(f"Hugging Face has no model {repo} that could be run here.")
        return found.source


def _search(session: _Session, words: str) -> list[HubModel]:
    query = {"search": words, "filter": "gguf", "sort": "downloads", "limit": str(FOUND)}
    wanted = [("expand", name) for name in ("gguf", "gated", "tags")]
    found = as_objects(session.get("/api/models", [*query.items(), *wanted]))
    with ThreadPoolExecutor(_AT_ONCE) as threads:
        models = [threads.submit(_model, session, info) for info in found]
        return [found for model in models if (found := model.result()) is not None]


def _ask(question: Callable[[_Session], T], token: str) -> T:
    """What ``question`` returns. Blocks; the first time imports the library."""
    session = import_alone(lambda: _Session(token))
    import httpx2
    from huggingface_hub.errors import HfHubHTTPError

    try:
        return question(session)
    except HfHubHTTPError as error:
        status = error.response.status_code
        if status == 401:
            raise HubProblem("Hugging Face rejected your token. Replace it.") from error
        if status == 429:
            raise HubProblem("Hugging Face asks to wait. Search again in a minute.") from error
        raise HubProblem(f"Hugging Face answered with an error (HTTP {status}).") from error
    except (httpx2.HTTPError, OSError) as error:
        raise HubProblem("Hugging Face could not be reached. Check the network.") from error
    except ValueError as error:
        raise HubProblem("What Hugging Face answered could not be read.") from error
    finally:
        session.close()


class _Session:
    """The library's connections, asked without its own retries, which take half a minute."""

    def __init__(self, token: str) -> None:
        hub: Any = importlib.import_module("huggingface_hub")
        self._client = hub.get_session()
        self._headers: dict[str, str] = hub.utils.build_hf_headers(token=token or False)
        self._check = hub.utils.hf_raise_for_status
        self.close: Callable[[], object] = hub.close_session

    def get(self, path: str, query: Sequence[tuple[str, str]] = ()) -> Json:
        """Raises HfHubHTTPError, httpx2.HTTPError, and ValueError for what is no JSON."""
        answer = self._client.get(
            endpoint() + path, params=list(query), headers=self._headers, timeout=_SECONDS
        )
        self._check(answer)
        found: Json = answer.json()
        return found


def _model(session: _Session, info: JsonObject) -> HubModel | None:
    """None for a repository without a file that could be run here."""
    from huggingface_hub.errors import HfHubHTTPError

    repo = as_text(info.get("id"))
    try:
        answer = session.get(f"/api/models/{quote(repo)}/tree/main", [("recursive", "true")])
    except HfHubHTTPError:
        return None
    files = {as_text(file.get("path")): file for file in as_objects(answer)}
    sizes = {path: as_count(file.get("size")) for path, file in files.items()}
    chosen = choose(sizes)
    if not chosen:
        return None
    projector = choose_projector(sizes, chosen)
    parts = [as_object(files[part].get("lfs")) for part in parts_of(chosen)]
    owner, _, name = repo.partition("/")
    size = sum(as_count(part.get("size")) for part in parts) + sizes.get(projector, 0)
    digest = as_text(parts[0].get("oid")) if len(parts) == 1 else ""
    template = as_object(info.get("gguf")).get("chat_template")
    tags = info.get("tags")
    return HubModel(
        Source(repo, chosen, size, digest, title_of(name), projector),
        owner,
        _licence([as_text(tag) for tag in tags] if isinstance(tags, list) else []),
        tools=speaks_of_tools(template) if isinstance(template, str) else None,
        gated=bool(info.get("gated")),
    )


def choose(sizes: dict[str, int]) -> str:
    """The file to offer, of names and their sizes; empty where there is none.

    Of a model in parts the first, where none is missing.
    """
    whole = {name: parts_of(name) for name in sizes if _runs(name)}
    names = [
        name
        for name, parts in whole.items()
        if name == parts[0] and all(part in sizes for part in parts)
    ]
    by_kind: dict[str, str] = {}
    for name in names:
        by_kind.setdefault(quantization(name), name)
    for kind in _PREFERRED:
        if kind in by_kind:
            return by_kind[kind]
    return min(names, key=lambda name: sum(sizes[part] for part in whole[name]), default="")


def choose_projector(sizes: dict[str, int], model: str) -> str:
    """The file by which a model sees pictures, of all names and sizes; empty where it does not."""
    folder = model.rpartition("/")[0]
    beside = [name for name in sizes if _is_projector(name)]
    beside = [name for name in beside if name.rpartition("/")[0] == folder] or beside
    kinds = {kind: place for place, kind in enumerate(_PROJECTORS)}

    def rank(name: str) -> tuple[int, int]:
        return kinds.get(quantization(name), len(kinds)), sizes[name]

    return min(beside, key=rank, default="")


def _is_projector(name: str) -> bool:
    base = name.rsplit("/", 1)[-1].lower()
    return "mmproj" in base and base.endswith(SUFFIX)


def _runs(name: str) -> bool:
    """Whether a file is of a model, and no part of one that sees or drafts."""
    base = name.rsplit("/", 1)[-1].lower()
    other = _is_projector(name) or "imatrix" in base
    try:
        return base.endswith(SUFFIX) and not other and bool(Source("", name).name)
    except ValueError:
        return False


def _licence(tags: Sequence[str]) -> str:
    """“Apache 2.0” from “license:apache-2.0”."""
    for tag in tags:
        if tag.startswith("license:"):
            licence = tag.removeprefix("license:")
            return _LICENCES.get(licence, licence)
    return ""
