"""What an editor sends with a message, as blocks that go to the model."""

from __future__ import annotations

import base64
import binascii
from collections.abc import Sequence
from pathlib import PurePosixPath
from typing import Any, TypeAlias
from urllib.parse import unquote, urlsplit

from acp import RequestError
from acp.schema import (
    AudioContentBlock,
    BlobResourceContents,
    EmbeddedResourceContentBlock,
    ImageContentBlock,
    ResourceContentBlock,
    TextContentBlock,
    TextResourceContents,
)

from studio.domain.messages import File, Image, Said, Text

Content: TypeAlias = (
    TextContentBlock
    | ImageContentBlock
    | AudioContentBlock
    | ResourceContentBlock
    | EmbeddedResourceContentBlock
)


def said(prompt: Sequence[Content]) -> list[Said]:
    """Raises RequestError for what no model here can be given."""
    return [_block(block) for block in prompt]


def _block(block: Content) -> Said:
    match block:
        case TextContentBlock():
            return Text(block.text)
        case ImageContentBlock():
            return Image(block.mime_type, _bytes(block.data))
        case ResourceContentBlock():  # the agent reads it with its own tools
            return Text(f"[{block.name}]({_place(block.uri)})")
        case EmbeddedResourceContentBlock():
            return _embedded(block.resource)
        case AudioContentBlock():
            raise invalid("Sound cannot be sent to an agent.")


def _embedded(resource: TextResourceContents | BlobResourceContents) -> Said:
    name = _place(resource.uri)
    media_type = resource.mime_type or "text/plain"
    if isinstance(resource, TextResourceContents):
        return File(name, media_type, resource.text.encode("utf-8", "replace"))
    data = _bytes(resource.blob)
    if media_type.startswith("image/"):
        return Image(media_type, data)
    return File(PurePosixPath(name).name or "file", media_type, data)


def _place(uri: str) -> str:
    """The path of a ``file:`` address; any other as it is."""
    parts = urlsplit(uri)
    return unquote(parts.path) if parts.scheme == "file" else uri


def _bytes(data: str) -> bytes:
    try:
        return base64.b64decode(data, validate=True)
    except (binascii.Error, ValueError) as error:
        raise invalid("The data of a picture or file is not base64.") from error


def invalid(text: str, **data: Any) -> RequestError:
    """An error that the editor shows."""
    return RequestError(-32602, text, data or None)
