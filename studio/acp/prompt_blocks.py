"""Prompt blocks turn what an editor sends with a message into blocks for the model."""

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

from studio.agent.attachments import attach_bytes, attach_picture, check_total_size
from studio.domain.errors import ConfigurationError
from studio.domain.messages import Said, Text

Content: TypeAlias = (
    TextContentBlock
    | ImageContentBlock
    | AudioContentBlock
    | ResourceContentBlock
    | EmbeddedResourceContentBlock
)


async def read_prompt(prompt: Sequence[Content]) -> list[Said]:
    """Read a prompt; raises RequestError for unsupported content and for an empty prompt."""
    try:
        found = [block for one in prompt if (block := await _block(one)) is not None]
        check_total_size(found)
    except ConfigurationError as error:
        raise invalid(str(error)) from error
    if not found:
        raise invalid("There is nothing to send. Write a message first.")
    return found


def named_files(prompt: Sequence[Content]) -> list[str]:
    """The paths of the files that a prompt names or quotes."""
    uris = [one.uri for one in prompt if isinstance(one, ResourceContentBlock)]
    uris += [one.resource.uri for one in prompt if isinstance(one, EmbeddedResourceContentBlock)]
    return [_place(uri) for uri in uris if uri.startswith("file:")]


async def _block(block: Content) -> Said | None:
    match block:
        case TextContentBlock():
            return Text(block.text) if block.text.strip() else None
        case ImageContentBlock():
            return await attach_picture(_bytes(block.data))
        case ResourceContentBlock():  # the agent reads it with its own tools
            return Text(f"[{block.name}]({_place(block.uri)})")
        case EmbeddedResourceContentBlock():
            return await _embedded(block.resource)
        case AudioContentBlock():
            raise invalid("Sound cannot be sent to an agent.")


async def _embedded(resource: TextResourceContents | BlobResourceContents) -> Said:
    name = _place(resource.uri)
    if isinstance(resource, TextResourceContents):
        return await attach_bytes(name, resource.text.encode("utf-8", "replace"))
    return await attach_bytes(PurePosixPath(name).name or "file", _bytes(resource.blob))


def _place(uri: str) -> str:
    """The path of a ``file:`` address; any other as it is."""
    try:
        parts = urlsplit(uri)
    except ValueError:
        return uri
    return unquote(parts.path) if parts.scheme == "file" else uri


def _bytes(data: str) -> bytes:
    try:
        return base64.b64decode(data, validate=True)
    except (binascii.Error, ValueError) as error:
        raise invalid("The data of a picture or file is not base64.") from error


def invalid(text: str, **data: Any) -> RequestError:
    """An error that the editor shows."""
    return RequestError(-32602, text, data or None)
