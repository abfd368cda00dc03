"""The token count of a history by its parts: counted by the provider, estimated for the rest.

The provider's figure for the last request is taken as it is. What was appended
since is estimated from its characters, scaled so that the estimate fits that
figure (L-10). Pictures and documents are estimated from their size.
"""

from __future__ import annotations

import base64
import binascii
import json
import re
from collections import Counter
from collections.abc import Collection, Iterator, Sequence
from typing import Literal, Protocol, TypeAlias, get_args

from studio.domain.jsonvalue import Json, JsonObject
from studio.domain.ledger import Sent
from studio.domain.models import Usage
from studio.domain.records import dataclass
from studio.domain.tools import ToolSpec
from studio.providers.base import Request
from studio.providers.media import pixels

PIXELS = 750
"""Pixels of a picture per token (Anthropic's figure; other providers' are similar)."""
PICTURE = (85, 1_600)
"""Tokens of the smallest and of the largest picture: providers scale down what is larger."""
UNKNOWN_PICTURE = 1_000
PAGE = 2_000
"""Tokens of a page of a PDF: its words and its picture (Anthropic says 1,500 to 3,000)."""
PAGE_BYTES = 50_000
"""Bytes of a page, for documents that do not tell their number of pages."""
_HEAD = 65_536  # of base64: a picture's size is near its beginning
_SAMPLE = 1_000_000
_PAGE = re.compile(rb"/Type\s*/Page\b")
_BASE64 = re.compile(r"[A-Za-z0-9+/_-]{32}")


def blob_tokens(text: str) -> int:
    """Tokens of a picture or document in base64 or a data URL; 0 for other text."""
    is_url = text.startswith("data:")
    media = text[5:100].partition(";")[0] if is_url else ""
    body = text.partition(",")[2] if is_url else text
    if not is_url and not _BASE64.match(body):
        return 0
    if "pdf" in media or body.startswith("JVBERi"):  # %PDF-
        return _pages(body) * PAGE
    size = pixels(_decoded(body[:_HEAD]))
    if size is None:
        return UNKNOWN_PICTURE
    least, most = PICTURE
    return min(max(size[0] * size[1] // PIXELS, least), most)


def _pages(body: str) -> int:
    """The number of pages of a PDF; a guess from its size if its list of pages is compressed.

    Of a large document only the beginning is read, as a sample.
    """
    found = len(_PAGE.findall(_decoded(body[:_SAMPLE])))
    size = len(body) * 3 // 4
    return found * max(len(body), _SAMPLE) // _SAMPLE or max(1, size // PAGE_BYTES)


def _decoded(text: str) -> bytes:
    try:
        return base64.b64decode(text[: len(text) // 4 * 4], altchars=b"-_" if "_" in text else None)
    except binascii.Error:
        return b""


PartKind: TypeAlias = Literal["instructions", "tools", "messages", "files", "results", "summary"]
KINDS: tuple[PartKind, ...] = get_args(PartKind)
_RESULTS = ("tool_result", "function_call_output", "custom_tool_call_output")
BYTES_PER_TOKEN = 4
"""Approximate bytes of text per token."""
MARGIN = 1.5
"""How many times the estimated tokens what nobody counted probably has at the most."""
OVERHEAD = 16
"""Tokens that an item may have beside its words."""
MAX_RATIO = 4.0
"""The largest accepted ratio between a provider's count and the estimate."""

_UNREAD = frozenset(("signature", "thoughtSignature", "encrypted_content"))
_IGNORED_KEYS = _UNREAD | frozenset(
    [
        "cache_control",
        "media_type",
        "id",
        "call_id",
        "tool_use_id",
        "tool_call_id",
        "type",
        "role",
        "status",
        "mimeType",
        "detail",
    ]
)
"""Keys of values that do not count as text for the model."""
_BLOBS = frozenset(("data", "image_url", "url", "file_data", "images"))
_MARKED = re.compile(r"<(file|summary)\b[^<>\n]*>\n")
"""The beginning of a part inside a text: an attached text file, the summary."""

Weights: TypeAlias = "Counter[PartKind]"


@dataclass(frozen=True, slots=True)
class ContextPart:
    """One part of the context; ``tokens`` of all parts add up to the whole."""

    kind: PartKind
    tokens: int


@dataclass(frozen=True, slots=True)
class RequestTokens:
    """Tokens that a request sends: ``likely`` no more than these, and ``most`` in no case more."""

    likely: int
    most: int


class EstimatedHistory(Protocol):
    """What the estimator reads of a history; see ``NativeHistory``."""

    epoch: int
    items: list[JsonObject]
    chain: list[str]
    system: str
    tools: list[ToolSpec]


class TokenEstimator:
    """The estimator of one session. It estimates each item once: a history only grows.

    ``ratio`` is the number of real tokens per estimated token.
    """

    def __init__(self) -> None:
        self.ratio = 1.0
        self._history_key: tuple[int, str] = (0, "")
        self._scale = ItemEstimator(())
        self._head = 0
        self._part_weights: Weights = Counter()
        self._cumulative: list[int] = [0]
        """Estimated tokens up to each item, the head first."""
        self._cumulative_most: list[int] = [0]
        """The same at the most, without the head."""

    def unweighed(self, history: EstimatedHistory) -> int:
        """How many items are not estimated yet."""
        known = len(self._cumulative) - 1 if self._is_of(history) else 0
        return len(history.items) - known

    def total(self, history: EstimatedHistory, sent: Sent | None, usage: Usage) -> int:
        """Tokens of the next request; ``sent`` and ``usage`` are the last one's."""
        self._weigh(history)
        whole = self._cumulative[-1]
        counted = self._counted(history, sent, usage)
        if counted is None:
            return round(self.ratio * whole)
        known = self._cumulative[counted]
        if known:
            self.ratio = min(max(usage.input / known, 1 / MAX_RATIO), MAX_RATIO)
        return usage.input + round(self.ratio * (whole - known))

    def bounds(self, history: EstimatedHistory, sent: Sent | None, usage: Usage) -> RequestTokens:
        """Tokens of the next request, of which some may be uncounted.

        What the provider has counted is known. Of the rest each byte of a text may be one at the
        most; what the program writes itself, the system prompt and the tools, has two at least to
        each. A picture or document has what its size tells.
        """
        tokens = self.total(history, sent, usage)
        counted = self._counted(history, sent, usage)
        known = usage.input if counted is not None else 0
        most = usage.input if counted is not None else 2 * self._head
        most += self._cumulative_most[-1] - self._cumulative_most[counted or 0]
        return _request_tokens(known, tokens - known, most)

    def parts(
        self, history: EstimatedHistory, sent: Sent | None, usage: Usage
    ) -> list[ContextPart]:
        """The same by parts, those that are nothing left out."""
        tokens = self.total(history, sent, usage)
        return _distribute(self._part_weights, tokens)

    @property
    def head(self) -> int:
        """Tokens of system prompt and tools of the last estimated history."""
        return round(self.ratio * self._head)

    def of(self, history: EstimatedHistory, items: Sequence[JsonObject]) -> int:
        """Tokens of a history with the same system prompt and tools, and these items."""
        self._weigh(history)
        scale = ItemEstimator(history.tools)
        return round(self.ratio * (self._head + sum(scale.weigh(i).total() for i in items)))

    def _weigh(self, history: EstimatedHistory) -> None:
        if not self._is_of(history):
            self._history_key = (history.epoch, history.chain[0])
            self._scale = ItemEstimator(history.tools)
            self._part_weights = Counter()
            self._part_weights["instructions"] = _text_tokens(history.system)
            self._part_weights["tools"] = sum(map(tool_tokens, history.tools))
            self._head = self._part_weights.total()
            self._cumulative = [self._head]
            self._cumulative_most = [0]
        for item in history.items[len(self._cumulative) - 1 :]:
            weights, most = self._scale.weigh_with_most(item)
            self._part_weights += weights
            self._cumulative.append(self._cumulative[-1] + weights.total())
            self._cumulative_most.append(self._cumulative_most[-1] + most)

    def _is_of(self, history: EstimatedHistory) -> bool:
        of = (history.epoch, history.chain[0])
        return of == self._history_key and len(self._cumulative) <= len(history.items) + 1

    def _counted(self, history: EstimatedHistory, sent: Sent | None, usage: Usage) -> int | None:
        """How many items the provider has counted; None if it was another history."""
        if sent is None or not usage.input or sent.items >= len(history.chain):
            return None
        return sent.items if history.chain[sent.items] == sent.prefix else None


class ItemEstimator:
    """Estimates the tokens of native items of any protocol, in order.

    A result has the kind of its call, which comes before it.
    """

    def __init__(self, tools: Collection[ToolSpec]) -> None:
        self._readers = {spec.name for spec in tools if _reads_files(spec)}
        self._names: dict[str, str] = {}
        self._blobs = 0
        """Tokens of the pictures and documents until now."""

    def weigh_with_most(self, item: Json) -> tuple[Weights, int]:
        """The weights of an item, and the tokens that it has at the most."""
        before = self._blobs
        weights = self.weigh(item)
        blobs = self._blobs - before
        texts = BYTES_PER_TOKEN * (weights.total() - blobs)
        return weights, blobs + texts + _unread_bytes(item) + OVERHEAD

    def weigh(self, item: Json) -> Weights:
        weights: Weights = Counter()
        self._walk(item, "messages", "", weights)
        return weights

    def _walk(self, value: Json, kind: PartKind, key: str, weights: Weights) -> None:
        if isinstance(value, str):
            self._words(value, kind, key, weights)
        elif isinstance(value, dict):
            self._remember_call(value)
            kind = self._kind(value, kind)
            for name, inner in value.items():
                if name not in _IGNORED_KEYS:
                    self._walk(inner, kind, name, weights)
        elif isinstance(value, list):
            for inner in value:
                self._walk(inner, kind, key, weights)
        elif value is not None:
            weights[kind] += 1

    def _words(self, text: str, kind: PartKind, key: str, weights: Weights) -> None:
        if key in _BLOBS and (tokens := blob_tokens(text)):
            weights["files"] += tokens
            self._blobs += tokens
            return
        if kind == "messages" and "</" in text:
            for name, part in _marked(text):
                size = _text_tokens(part)
                weights["files" if name == "file" else "summary"] += size
                weights["messages"] -= size
        weights[kind] += _text_tokens(text)

    def _remember_call(self, value: JsonObject) -> None:
        """Remember the name of a call."""
        inner = value.get("function") or value.get("functionCall")
        name = inner.get("name") if isinstance(inner, dict) else value.get("name")
        if isinstance(name, str):
            for found in (value.get("id"), value.get("call_id")):
                if isinstance(found, str):
                    self._names[found] = name

    def _kind(self, value: JsonObject, kind: PartKind) -> PartKind:
        is_result = (
            value.get("type") in _RESULTS
            or value.get("role") == "tool"
            or "functionResponse" in value
        )
        if not is_result:
            return kind
        response = value.get("functionResponse")
        name = response.get("name") if isinstance(response, dict) else value.get("tool_name")
        for key in ("tool_use_id", "call_id", "tool_call_id"):
            found = value.get(key)
            name = name or (self._names.get(found) if isinstance(found, str) else None)
        return "files" if name in self._readers else "results"


def tool_tokens(spec: ToolSpec) -> int:
    """Estimated tokens of what a model is told of a tool."""
    about: list[Json] = [spec.name, spec.description, spec.schema]
    return _text_tokens(json.dumps(about, ensure_ascii=False))


def tokens_of_request(request: Request) -> RequestTokens:
    """Tokens of a single request, which nobody counted."""
    scale = ItemEstimator(request.tools)
    estimate = _text_tokens(request.system)
    most = BYTES_PER_TOKEN * estimate + OVERHEAD
    for item in request.history:
        weights, most_of_item = scale.weigh_with_most(item)
        estimate += weights.total()
        most += most_of_item
    return _request_tokens(0, estimate, most)


def _request_tokens(known: int, estimate: int, most: int) -> RequestTokens:
    """Of ``known`` tokens and an ``estimate`` of the others."""
    likely = known + round(MARGIN * estimate)
    return RequestTokens(likely, max(most, likely))


def _unread_bytes(value: Json) -> int:
    """Bytes of what a provider keeps of its thinking in an item."""
    if isinstance(value, dict):
        kept = sum(len(x) for name, x in value.items() if name in _UNREAD and isinstance(x, str))
        return kept + sum(_unread_bytes(x) for x in value.values())
    return sum(map(_unread_bytes, value)) if isinstance(value, list) else 0


def _reads_files(spec: ToolSpec) -> bool:
    return spec.effect == "read" and spec.target == "path"


def _text_tokens(text: str) -> int:
    """Estimated tokens of a text, by its bytes: other scripts have more bytes and tokens."""
    size = len(text) if text.isascii() else len(text.encode("utf-8", "replace"))
    return -(-size // BYTES_PER_TOKEN)


def _distribute(weights: Weights, tokens: int) -> list[ContextPart]:
    """Distribute the tokens over the parts by weight, so that they add up exactly."""
    whole = weights.total()
    if whole <= 0:
        return []
    parts: list[ContextPart] = []
    seen = given = 0
    for kind in KINDS:
        seen += weights[kind]
        share = round(tokens * seen / whole) - given
        given += share
        if share > 0:
            parts.append(ContextPart(kind, share))
    return parts


def _marked(text: str) -> Iterator[tuple[str, str]]:
    """The marked parts of a text with their names; linear in it, whatever is left open."""
    at = 0
    open_names: set[str] = set()
    for found in _MARKED.finditer(text):
        name, end = found[1], f"\n</{found[1]}>"
        if found.start() < at or name in open_names:
            continue
        close = text.find(end, found.end())
        if close < 0:
            open_names.add(name)
            continue
        at = close + len(end)
        yield name, text[found.start() : at]
