"""Results: reads what a server's tool returns into plain values (M-11)."""

from __future__ import annotations

import base64
import binascii
import json
from collections.abc import Sequence
from dataclasses import field
from typing import cast

from studio.domain.jsonvalue import Json, JsonObject, as_object, as_objects, as_text
from studio.domain.messages import Image
from studio.domain.records import dataclass

MOST_PARTS = 1_000
"""Parts of a result that are read."""
MOST_PICTURES = 10
"""Pictures of a result that a model gets: they stay in its history, and providers take few."""
_FOR_ADDRESSES = str.maketrans("-_", "+/")
"""Some servers write base64 as it is in addresses."""
PICTURES = ("image/png", "image/jpeg", "image/gif", "image/webp")
MOST_ROWS, MOST_COLUMNS = 100, 12
"""Of a structured result that is shown as a table."""


@dataclass(frozen=True, slots=True)
class Blob:
    """Bytes that no model reads as they are: sound, an archive, a picture of an odd kind."""

    name: str
    media_type: str
    data: bytes


@dataclass(frozen=True, slots=True)
class Link:
    """A resource that a result refers to."""

    uri: str
    name: str = ""
    description: str = ""
    media_type: str = ""


@dataclass(frozen=True, slots=True)
class ServerResult:
    """What a tool returned. Images are as the server sent them: not yet scaled.

    ``text`` is for the model. ``for_person`` is text that the server wants no model to have.
    ``structured`` is shown; it is in ``text`` where no other text says it. ``summary`` is one line.
    """

    text: str = ""
    images: tuple[Image, ...] = ()
    blobs: tuple[Blob, ...] = ()
    links: tuple[Link, ...] = ()
    structured: Json = field(default=None, hash=False)
    is_error: bool = False
    summary: str = ""
    for_person: str = ""


def read_result(raw: JsonObject) -> ServerResult:
    """Read the ``CallToolResult`` of the protocol, of any revision. Wrong parts are told."""
    reader = _Reader()
    parts = as_objects(raw.get("content"))
    for part in parts[:MOST_PARTS]:
        reader.add(part)
    if len(parts) > MOST_PARTS:
        reader.texts.append(f"[… {len(parts) - MOST_PARTS:,} more parts are left out …]")
    structured = raw.get("structuredContent")
    if structured is not None and not any(text.strip() for text in reader.texts):
        reader.texts.append(json.dumps(structured, ensure_ascii=False, indent=1))
    text = "\n\n".join(reader.texts)
    summary = reader.summary(text)
    if (rows := _rows(structured)) and text.lstrip()[:1] in ("[", "{"):  # JSON says nothing
        summary = f"{len(rows)} row{'s'[: len(rows) > 1]}"
    return ServerResult(
        text,
        tuple(reader.images),
        tuple(reader.blobs),
        tuple(reader.links),
        structured,
        raw.get("isError") is True,
        summary,
        "\n\n".join(reader.for_person),
    )


def read_resource(raw: JsonObject) -> tuple[Blob, ...]:
    """Read the ``ReadResourceResult`` of the protocol: the parts, each with its address (M-21)."""
    found: list[Blob] = []
    for part in as_objects(raw.get("contents"))[:MOST_PARTS]:
        uri, kind = as_text(part.get("uri")), as_text(part.get("mimeType"))
        if isinstance(part.get("text"), str):
            data = as_text(part["text"]).encode("utf-8", "replace")
            found.append(Blob(uri, kind or "text/plain", data))
        elif (data := _decoded(as_text(part.get("blob")))) is not None:
            found.append(Blob(uri, kind or "application/octet-stream", data))
    return tuple(found)


def read_prompt(raw: JsonObject) -> ServerResult:
    """Read the ``GetPromptResult`` of the protocol; who says what is told where both speak."""
    reader = _Reader()
    messages = as_objects(raw.get("messages"))[:MOST_PARTS]
    both = any(one.get("role") == "assistant" for one in messages)
    for message in messages:
        if both:
            reader.texts.append("Assistant:" if message.get("role") == "assistant" else "User:")
        content = message.get("content")
        for part in as_objects(content if isinstance(content, list) else [content]):
            reader.add(part)
    text = "\n\n".join([*reader.texts, *reader.for_person])
    parts = tuple(reader.images), tuple(reader.blobs), tuple(reader.links)
    return ServerResult(text, *parts, summary=reader.summary(text))


def table_of(value: Json) -> tuple[tuple[str, ...], ...]:
    """The rows of a structured result that is a list of objects, or holds one and little else.

    The first row has the names of the columns. Empty for any other result.
    """
    rows = _rows(value)[:MOST_ROWS]
    columns = tuple(dict.fromkeys(key for row in rows for key in row))[:MOST_COLUMNS]
    if not columns:
        return ()
    return columns, *(tuple(_cell(row.get(key)) for key in columns) for row in rows)


def _rows(value: Json) -> Sequence[JsonObject]:
    if isinstance(value, dict):
        lists = [one for one in value.values() if isinstance(one, list)]
        if len(lists) != 1 or len(value) > 3:
            return ()
        value = lists[0]
    if not isinstance(value, list) or not all(isinstance(v, dict) for v in value):
        return ()
    return cast("list[JsonObject]", value)


def _cell(value: Json) -> str:
    if value is None:
        return ""
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)


class _Reader:
    def __init__(self) -> None:
        self.texts: list[str] = []
        self.for_person: list[str] = []
        self.images: list[Image] = []
        self.blobs: list[Blob] = []
        self.links: list[Link] = []

    def add(self, part: JsonObject) -> None:
        texts = self.for_person if _for_person_alone(part) else self.texts
        match part.get("type"):
            case "text":
                texts.append(as_text(part.get("text")))
            case "image" | "audio":
                self._bytes("", as_text(part.get("mimeType")), as_text(part.get("data")), texts)
            case "resource_link":
                self._link(part, texts)
            case "resource":
                inner = as_object(part.get("resource"))
                uri = as_text(inner.get("uri"))
                if isinstance(inner.get("text"), str):
                    texts.append(f"{uri}\n{inner['text']}".strip())
                else:
                    data, kind = as_text(inner.get("blob")), as_text(inner.get("mimeType"))
                    self._bytes(uri.rsplit("/", 1)[-1], kind, data, texts)
            case other:
                texts.append(f"[a part of the kind {str(other)[:40]}, which cannot be read]")

    def summary(self, text: str) -> str:
        """The first line, or what there is besides text."""
        for line in text.splitlines():
            if any(letter.isalnum() for letter in line):
                return line.strip()[:120]
        counts = ((self.images, "picture"), (self.blobs, "file"), (self.links, "link"))
        words = [f"{len(list_)} {word}{'s'[: len(list_) > 1]}" for list_, word in counts if list_]
        return ", ".join(words)

    def _bytes(self, name: str, media_type: str, encoded: str, texts: list[str]) -> None:
        data = _decoded(encoded)
        if data is None:
            texts.append(f"[{media_type or 'data'} that is not base64]")
            return
        kind = media_type.partition(";")[0].strip().lower()
        if kind in PICTURES and texts is self.texts and len(self.images) < MOST_PICTURES:
            self.images.append(Image(kind, data))
        else:
            if kind in PICTURES:
                name = name or f"picture.{kind.rpartition('/')[2]}"
            self.blobs.append(Blob(name, kind or "application/octet-stream", data))

    def _link(self, part: JsonObject, texts: list[str]) -> None:
        link = Link(
            as_text(part.get("uri")),
            as_text(part.get("title")) or as_text(part.get("name")),
            as_text(part.get("description")),
            as_text(part.get("mimeType")),
        )
        self.links.append(link)
        texts.append(f"{link.name}: {link.uri}" if link.name else link.uri)


def _decoded(encoded: str) -> bytes | None:
    """Bytes in base64; None for what is none."""
    try:
        plain = "".join(encoded.split()).translate(_FOR_ADDRESSES).rstrip("=")
        return base64.b64decode(plain + "=" * (-len(plain) % 4), validate=True)
    except (binascii.Error, ValueError):
        return None


def _for_person_alone(part: JsonObject) -> bool:
    return as_object(part.get("annotations")).get("audience") == ["user"]
