"""Anthropic: reads the messages of a request as blocks, and checks single messages and blocks."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

from studio.simulator.json_read import Body, obj, objs, text
from studio.simulator.request_checks import IMAGES, RequestRefused, decoded, sniffed
from studio.simulator.request_view import RequestView
from studio.simulator.state import ServerState

PLAIN_VERSION = "2023-06-01"


def blocks(message: Body) -> list[Body]:
    """A message's content as blocks."""
    content = message.get("content")
    if isinstance(content, str):
        return [{"type": "text", "text": content}]
    return objs(content)


def placed(view: RequestView) -> list[tuple[str, str, Body]]:
    """Every block with its place in the request, ``messages.N.content.M``, and its role."""
    return view.once(
        "blocks",
        lambda: [
            (f"messages.{index}.content.{number}", text(message.get("role")), block)
            for index, message in enumerate(objs(view.body.get("messages")))
            for number, block in enumerate(blocks(message))
        ],
    )


def inner(view: RequestView) -> list[tuple[str, Body, Body]]:
    """Every block inside a result, with its place and the result it is in."""
    return view.once(
        "inner blocks",
        lambda: [
            (f"{place}.tool_result.content.{number}", part, block)
            for place, _, block in placed(view)
            if block.get("type") == "tool_result"
            for number, part in enumerate(objs(block.get("content")))
        ],
    )


def element(role: str, block: Body) -> Any:
    """One block as the prefix of what follows it sees it: no cache marks, no SDK additions."""
    match block.get("type"):
        case "text":
            return [role, "text", text(block.get("text"))]
        case "tool_use":
            return [role, "tool_use", block.get("id"), block.get("name"), obj(block.get("input"))]
        case "thinking":
            return [role, "thinking", block.get("thinking"), block.get("signature")]
        case _:
            return [role, unmarked(block)]


def unmarked(value: Any) -> Any:
    """The value without cache marks, at any depth."""
    if isinstance(value, list):
        return [unmarked(item) for item in objs(value)]
    if not isinstance(value, dict):
        return value
    return {key: unmarked(item) for key, item in obj(value).items() if key != "cache_control"}


def beginning(body: Body) -> list[Any]:
    """What stands before the first message: the system prompt and the tools."""
    system = body.get("system")
    if isinstance(system, str):
        system = [{"text": system}] if system else []
    found: list[Any] = [["system", text(block.get("text"))] for block in objs(system)]
    return found + [unmarked(tool) for tool in objs(body.get("tools"))]


@dataclass(slots=True)
class Run:
    """A run of messages of one role: blocks with the places they have in the request."""

    role: str
    first: int
    blocks: list[tuple[int, int, Body]] = field(default_factory=list[tuple[int, int, Body]])

    def of(self, kind: str) -> list[tuple[int, int, Body]]:
        """The blocks of one type."""
        return [entry for entry in self.blocks if entry[2].get("type") == kind]


def runs(view: RequestView) -> list[Run]:
    """The messages with neighbours of one role merged."""
    return view.once("runs", lambda: _runs(view))


def _runs(view: RequestView) -> list[Run]:
    found: list[Run] = []
    for index, message in enumerate(objs(view.body.get("messages"))):
        role = text(message.get("role"))
        if not found or found[-1].role != role:
            found.append(Run(role, index))
        found[-1].blocks += [(index, n, block) for n, block in enumerate(blocks(message))]
    return found


def pairs(view: RequestView) -> list[tuple[Run | None, Run]]:
    """Each run with the one before it."""
    found = runs(view)
    return list(zip([None, *found[:-1]], found, strict=False))


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


def wrong_tag(rule: str, place: str, kind: object, expected: Sequence[str] = ()) -> RequestRefused:
    """The refusal of a type that nobody knows there."""
    known = ": " + ", ".join(f"'{name}'" for name in expected) if expected else ""
    return RequestRefused(
        rule,
        f"{place}: Input tag '{kind}' found using 'type' does not match any of the expected "
        f"tags{known}",
    )


def roles(view: RequestView, state: ServerState) -> None:
    """Messages are the user's, the assistant's or the system's."""
    for message in objs(view.body.get("messages")):
        if (role := message.get("role")) not in _ROLES:
            raise RequestRefused(
                "role",
                f'messages: Unexpected role "{role}". Allowed roles are "user" or "assistant".',
            )


def content_given(view: RequestView, state: ServerState) -> None:
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


def text_given(view: RequestView, state: ServerState) -> None:
    """No text is empty, in results neither."""
    for block in _texts(view):
        if not block.get("text"):
            raise RequestRefused("empty", "messages: text content blocks must be non-empty")


def text_not_blank(view: RequestView, state: ServerState) -> None:
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


def known_blocks(view: RequestView, state: ServerState) -> None:
    """Blocks have types that the API knows."""
    for place, _, block in placed(view):
        kind = text(block.get("type"))
        server = kind.endswith(("_tool_result", "_tool_use")) or kind.startswith("surprise")
        if kind not in (*_EVERYWHERE, *_ASSISTANT, "tool_result") and not server:
            raise wrong_tag("content", place, kind)


def results_are_the_users(view: RequestView, state: ServerState) -> None:
    """Only the user answers calls."""
    _check_owner(view, "pairing", ("tool_result",), "user")


def calls_are_the_assistants(view: RequestView, state: ServerState) -> None:
    """Only the assistant calls."""
    _check_owner(view, "pairing", ("tool_use",), "assistant")


def thinking_is_the_assistants(view: RequestView, state: ServerState) -> None:
    """Only the assistant thinks."""
    _check_owner(view, "content", ("thinking", "redacted_thinking"), "assistant")


def _check_owner(view: RequestView, rule: str, kinds: Sequence[str], owner: str) -> None:
    for place, role, block in placed(view):
        if (kind := block.get("type")) in kinds and role != owner:
            message = place.partition(".content")[0]
            raise RequestRefused(
                rule, f"{message}: `{kind}` blocks can only be in `{owner}` messages"
            )


def system_is_text(view: RequestView, state: ServerState) -> None:
    """A system message in the middle holds nothing but text."""
    for place, role, block in placed(view):
        if role == "system" and block.get("type") != "text":
            raise RequestRefused(
                "content", f"{place}: system messages can only contain text blocks"
            )


def input_is_an_object(view: RequestView, state: ServerState) -> None:
    """A call's input travels as an object."""
    for place, _, block in placed(view):
        if block.get("type") == "tool_use" and not isinstance(block.get("input"), dict):
            raise RequestRefused(
                "content", f"{place}.tool_use.input: Input should be a valid dictionary"
            )


def no_citations_of_the_user(view: RequestView, state: ServerState) -> None:
    """Since version 2026-10-21 the user's text cites nothing."""
    for place, role, block in placed(view):
        cites = block.get("type") == "text" and bool(block.get("citations"))
        if cites and role == "user" and view.version > PLAIN_VERSION:
            raise RequestRefused("parameter", f"{place}.citations: not supported on user text")


def no_documents_of_the_assistant(view: RequestView, state: ServerState) -> None:
    """Since version 2026-10-21 the assistant shows no documents."""
    for place, role, block in placed(view):
        if block.get("type") == "document" and role == "assistant" and view.version > PLAIN_VERSION:
            raise RequestRefused("content", f"{place}: document blocks are not allowed here")


def result_content(view: RequestView, state: ServerState) -> None:
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


def result_blocks(view: RequestView, state: ServerState) -> None:
    """A result holds text, pictures, documents and what searches find."""
    for place, block, _ in inner(view):
        if block.get("type") not in _RESULT:
            raise wrong_tag("content", place, block.get("type"), sorted(_RESULT))


def errors_are_text(view: RequestView, state: ServerState) -> None:
    """A result that tells an error shows no pictures."""
    for place, block, result in inner(view):
        if result.get("is_error") is True and block.get("type") != "text":
            raise RequestRefused(
                "content",
                f"{place.partition('.tool_result')[0]}.tool_result: all content must be type "
                "`text` if `is_error` is true",
            )


def pictures(view: RequestView, state: ServerState) -> None:
    """A picture is JPEG, PNG, GIF or WebP, and what it says it is."""
    for place, source in _sources(view, "image"):
        kind, data = text(source.get("media_type")), decoded(source.get("data"))
        if kind not in IMAGES:
            raise RequestRefused(
                "media",
                f"{place}.source.base64.media_type: Input should be 'image/jpeg', 'image/png', "
                "'image/gif' or 'image/webp'",
            )
        if data and (seen := sniffed(data)) and seen != kind:
            raise RequestRefused(
                "media",
                f"{place}.source.base64.data: The image was specified using the {kind} media "
                f"type, but the image appears to be a {seen} image",
            )


def pictures_not_large(view: RequestView, state: ServerState) -> None:
    """A picture has at most 5 MB, counted as it travels."""
    for place, source in _sources(view, "image"):
        if (size := len(text(source.get("data")))) > _IMAGE_LIMIT:
            raise RequestRefused(
                "media",
                f"{place}.source.base64: image exceeds 5 MB maximum: {size} bytes > "
                f"{_IMAGE_LIMIT} bytes",
            )


def documents(view: RequestView, state: ServerState) -> None:
    """A document is a PDF of at most 32 MB."""
    for place, source in _sources(view, "document"):
        if source.get("media_type") != "application/pdf":
            raise RequestRefused(
                "media",
                f"{place}.source.base64.media_type: Input should be 'application/pdf'",
            )
        data = decoded(source.get("data"))
        if data and sniffed(data) not in ("", "application/pdf"):
            raise RequestRefused(
                "media", f"{place}.source.base64.data: The PDF specified was not valid."
            )
        if len(text(source.get("data"))) > _FILE_LIMIT:
            raise RequestRefused("media", f"{place}.source.base64: PDF exceeds 32 MB maximum")


def base64_sound(view: RequestView, state: ServerState) -> None:
    """What travels as base64 is base64, and something."""
    for kind in ("image", "document"):
        for place, source in _sources(view, kind):
            if decoded(source.get("data")) is None:
                raise RequestRefused("media", f"{place}.source.base64: invalid base64 data")


def sources_known(view: RequestView, state: ServerState) -> None:
    """A picture or a document comes from somewhere."""
    for place, block in _media(view):
        kind = obj(block.get("source")).get("type")
        more = ("text", "content") if block.get("type") == "document" else ()
        if kind not in (*_SOURCES, *more):
            raise wrong_tag("media", f"{place}.source", kind)


def _media(view: RequestView) -> list[tuple[str, Body]]:
    return view.once(
        "media",
        lambda: [
            (f"{place}.{kind}", block)
            for place, block in [
                *((place, block) for place, _, block in placed(view)),
                *((place, block) for place, block, _ in inner(view)),
            ]
            if (kind := block.get("type")) in ("image", "document")
        ],
    )


def _sources(view: RequestView, kind: str) -> Iterator[tuple[str, Body]]:
    """The sources in base64 of one kind of block, in results too."""
    for place, block in _media(view):
        source = obj(block.get("source"))
        if block.get("type") == kind and source.get("type") == "base64":
            yield place, source


def known_keys(view: RequestView, state: ServerState) -> None:
    """House rule: blocks hold nothing that the API has no name for."""
    for place, _, block in placed(view):
        kind = text(block.get("type"))
        for key in block:
            if kind in _KEYS and key not in _KEYS[kind].split():
                raise RequestRefused(
                    "house", f"{place}.{kind}.{key}: Extra inputs are not permitted"
                )
