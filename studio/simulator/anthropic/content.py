"""Anthropic Messages: what is refused about single messages and blocks."""

from __future__ import annotations

from collections.abc import Iterator

from studio.simulator import media
from studio.simulator.json_read import Body, obj, objs, text
from studio.simulator.request_view import RequestView
from studio.simulator.rules import RequestRefused
from studio.simulator.state import ServerState

from .parameters import PLAIN_VERSION, blocks, inner, placed

_ROLES = ("user", "assistant", "system")
_SOURCES = ("base64", "url", "file")
_IMAGE_LIMIT = 5 * 1024 * 1024
_FILE_LIMIT = 32 * 1024 * 1024
_EVERYWHERE = ("text", "image", "document", "search_result", "container_upload")
_ASSISTANT = ("tool_use", "thinking", "redacted_thinking", "server_tool_use", "compaction")
_RESULT = ("text", "image", "document", "search_result", "tool_reference")
# ``surprise`` is what the simulator's own fault says, and it takes back what it said.
_KEYS: dict[str, str] = {
    "text": "type text citations cache_control",
    "tool_use": "type id name input caller cache_control",
    "tool_result": "type tool_use_id content is_error cache_control",
    "thinking": "type thinking signature",
    "redacted_thinking": "type data",
    "image": "type source cache_control",
    "document": "type source title context citations cache_control",
}


def roles(view: RequestView, maker: ServerState) -> None:
    """Messages are the user's, the assistant's or the system's."""
    for message in objs(view.body.get("messages")):
        if (role := message.get("role")) not in _ROLES:
            raise RequestRefused(
                "role",
                f'messages: Unexpected role "{role}". Allowed roles are "user" or "assistant".',
            )


def content_given(view: RequestView, maker: ServerState) -> None:
    """No message is empty but a last one of the assistant's."""
    messages = objs(view.body.get("messages"))
    for index, message in enumerate(messages):
        last = message.get("role") == "assistant" and index == len(messages) - 1
        if not message.get("content") and not last:
            raise RequestRefused(
                "empty",
                f"messages.{index}: all messages must have non-empty content except for the "
                "optional final assistant message",
            )


def text_given(view: RequestView, maker: ServerState) -> None:
    """No text is empty, in results neither."""
    for block in _texts(view):
        if not block.get("text"):
            raise RequestRefused("empty", "messages: text content blocks must be non-empty")


def text_not_blank(view: RequestView, maker: ServerState) -> None:
    """No text is nothing but whitespace."""
    for _, _, block in placed(view):
        if block.get("type") == "text" and (said := text(block.get("text"))) and not said.strip():
            raise RequestRefused(
                "empty", "messages: text content blocks must contain non-whitespace text"
            )


def _texts(view: RequestView) -> Iterator[Body]:
    for message in objs(view.body.get("messages")):
        if message.get("content"):  # an empty one is another rule's
            yield from (block for block in blocks(message) if block.get("type") == "text")
    yield from (block for _, block, _ in inner(view) if block.get("type") == "text")


def known_blocks(view: RequestView, maker: ServerState) -> None:
    """Blocks have types that the API knows."""
    for place, _, block in placed(view):
        kind = text(block.get("type"))
        server = kind.endswith(("_tool_result", "_tool_use")) or kind.startswith("surprise")
        if kind not in (*_EVERYWHERE, *_ASSISTANT, "tool_result") and not server:
            raise RequestRefused(
                "content",
                f"{place}: Input tag '{kind}' found using 'type' does not match any of the "
                "expected tags",
            )


def results_are_the_users(view: RequestView, maker: ServerState) -> None:
    """Only the user answers calls."""
    for place, role, block in placed(view):
        if block.get("type") == "tool_result" and role != "user":
            raise RequestRefused(
                "pairing",
                f"{_message(place)}: `tool_result` blocks can only be in `user` messages",
            )


def calls_are_the_assistants(view: RequestView, maker: ServerState) -> None:
    """Only the assistant calls."""
    for place, role, block in placed(view):
        if block.get("type") == "tool_use" and role != "assistant":
            raise RequestRefused(
                "pairing",
                f"{_message(place)}: `tool_use` blocks can only be in `assistant` messages",
            )


def thinking_is_the_assistants(view: RequestView, maker: ServerState) -> None:
    """Only the assistant thinks."""
    for place, role, block in placed(view):
        if block.get("type") in ("thinking", "redacted_thinking") and role != "assistant":
            raise RequestRefused(
                "content",
                f"{_message(place)}: `{block['type']}` blocks can only be in `assistant` messages",
            )


def _message(place: str) -> str:
    return place.partition(".content")[0]


def system_is_text(view: RequestView, maker: ServerState) -> None:
    """A system message in the middle holds nothing but text."""
    for place, role, block in placed(view):
        if role == "system" and block.get("type") != "text":
            raise RequestRefused(
                "content", f"{place}: system messages can only contain text blocks"
            )


def input_is_an_object(view: RequestView, maker: ServerState) -> None:
    """A call's input travels as an object."""
    for place, _, block in placed(view):
        if block.get("type") == "tool_use" and not isinstance(block.get("input"), dict):
            raise RequestRefused(
                "content", f"{place}.tool_use.input: Input should be a valid dictionary"
            )


def no_citations_of_the_user(view: RequestView, maker: ServerState) -> None:
    """Since version 2026-10-21 the user's text cites nothing."""
    for place, role, block in placed(view):
        cites = block.get("type") == "text" and bool(block.get("citations"))
        if cites and role == "user" and view.version > PLAIN_VERSION:
            raise RequestRefused("parameter", f"{place}.citations: not supported on user text")


def no_documents_of_the_assistant(view: RequestView, maker: ServerState) -> None:
    """Since version 2026-10-21 the assistant shows no documents."""
    for place, role, block in placed(view):
        if block.get("type") == "document" and role == "assistant" and view.version > PLAIN_VERSION:
            raise RequestRefused("content", f"{place}: document blocks are not allowed here")


def result_content(view: RequestView, maker: ServerState) -> None:
    """A result holds a string or a list of blocks that is not empty, or nothing at all."""
    for place, _, block in placed(view):
        if block.get("type") != "tool_result" or "content" not in block:
            continue
        content = block["content"]
        if not isinstance(content, (str, list)):
            raise RequestRefused(
                "content", f"{place}.tool_result.content: Input should be a valid string or list"
            )
        if content == []:
            raise RequestRefused(
                "empty", f"{place}.tool_result.content: content blocks must be non-empty"
            )


def result_blocks(view: RequestView, maker: ServerState) -> None:
    """A result holds text, pictures, documents and what searches find."""
    for place, block, _ in inner(view):
        if block.get("type") not in _RESULT:
            raise RequestRefused(
                "content",
                f"{place}: Input tag '{block.get('type')}' found using 'type' does not match any "
                "of the expected tags: 'document', 'image', 'search_result', 'text', "
                "'tool_reference'",
            )


def errors_are_text(view: RequestView, maker: ServerState) -> None:
    """A result that tells an error shows no pictures."""
    for place, block, result in inner(view):
        if result.get("is_error") is True and block.get("type") != "text":
            raise RequestRefused(
                "content",
                f"{place.partition('.tool_result')[0]}.tool_result: all content must be type "
                "`text` if `is_error` is true",
            )


def pictures(view: RequestView, maker: ServerState) -> None:
    """A picture is JPEG, PNG, GIF or WebP, and what it says it is."""
    for place, source in _sources(view, "image"):
        kind, data = text(source.get("media_type")), media.decoded(source.get("data"))
        if kind not in media.IMAGES:
            raise RequestRefused(
                "media",
                f"{place}.source.base64.media_type: Input should be 'image/jpeg', 'image/png', "
                "'image/gif' or 'image/webp'",
            )
        if data and (seen := media.sniffed(data)) and seen != kind:
            raise RequestRefused(
                "media",
                f"{place}.source.base64.data: The image was specified using the {kind} media "
                f"type, but the image appears to be a {seen} image",
            )


def pictures_not_large(view: RequestView, maker: ServerState) -> None:
    """A picture has at most 5 MB, counted as it travels."""
    for place, source in _sources(view, "image"):
        if (size := len(text(source.get("data")))) > _IMAGE_LIMIT:
            raise RequestRefused(
                "media",
                f"{place}.source.base64: image exceeds 5 MB maximum: {size} bytes > "
                f"{_IMAGE_LIMIT} bytes",
            )


def documents(view: RequestView, maker: ServerState) -> None:
    """A document is a PDF of at most 32 MB."""
    for place, source in _sources(view, "document"):
        if source.get("media_type") != "application/pdf":
            raise RequestRefused(
                "media",
                f"{place}.source.base64.media_type: Input should be 'application/pdf'",
            )
        data = media.decoded(source.get("data"))
        if data and media.sniffed(data) not in ("", "application/pdf"):
            raise RequestRefused(
                "media", f"{place}.source.base64.data: The PDF specified was not valid."
            )
        if len(text(source.get("data"))) > _FILE_LIMIT:
            raise RequestRefused("media", f"{place}.source.base64: PDF exceeds 32 MB maximum")


def base64_sound(view: RequestView, maker: ServerState) -> None:
    """What travels as base64 is base64, and something."""
    for kind in ("image", "document"):
        for place, source in _sources(view, kind):
            if media.decoded(source.get("data")) is None:
                raise RequestRefused("media", f"{place}.source.base64: invalid base64 data")


def sources_known(view: RequestView, maker: ServerState) -> None:
    """A picture or a document comes from somewhere."""
    for place, block in _media(view):
        kind = obj(block.get("source")).get("type")
        more = ("text", "content") if block.get("type") == "document" else ()
        if kind not in (*_SOURCES, *more):
            raise RequestRefused(
                "media",
                f"{place}.source: Input tag '{kind}' found using 'type' does not match any of the "
                "expected tags",
            )


def _media(view: RequestView) -> Iterator[tuple[str, Body]]:
    everything = [(place, block) for place, _, block in placed(view)]
    everything += [(place, block) for place, block, _ in inner(view)]
    for place, block in everything:
        if (kind := block.get("type")) in ("image", "document"):
            yield f"{place}.{kind}", block


def _sources(view: RequestView, kind: str) -> Iterator[tuple[str, Body]]:
    """The sources in base64 of one kind of block, in results too."""
    for place, block in _media(view):
        source = obj(block.get("source"))
        if block.get("type") == kind and source.get("type") == "base64":
            yield place, source


def known_keys(view: RequestView, maker: ServerState) -> None:
    """House rule: blocks hold nothing that the API has no name for."""
    for place, _, block in placed(view):
        kind = text(block.get("type"))
        for key in block:
            if kind in _KEYS and key not in _KEYS[kind].split():
                raise RequestRefused(
                    "house", f"{place}.{kind}.{key}: Extra inputs are not permitted"
                )
