"""Import of Claude's export: a list of messages for each conversation, which may be a tree."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any, cast

from studio.domain.jsonvalue import JsonObject
from studio.domain.messages import Block, File, Reasoning, Text
from studio.domain.sessions import title_of

from .import_export import PortableConversation
from .import_values import (
    MOST_VERSIONS,
    Body,
    Found,
    ImportedConversation,
    fenced,
    joined,
    link,
    list_of,
    seconds,
    text_of,
    version_title,
)


def read_claude(data: JsonObject) -> Iterator[PortableConversation]:
    """The branch that was shown last, then the others; raises as the data are damaged."""
    messages: list[Body] = data["chat_messages"]  # type: ignore[assignment]
    branches, more = _branches(messages, text_of(data.get("current_leaf_message_uuid")))
    title = text_of(data.get("name")).strip() or _first_words(branches[0])
    for number, branch in enumerate(branches, 1):
        left: list[str] = [f"{more} more versions"] if more > 0 and number == 1 else []
        found = [_message(one, left) for one in branch]
        yield ImportedConversation(
            title=title if number == 1 else version_title(title, number),
            messages=joined(found),
            provider="anthropic",
            model=text_of(data.get("model")),
            updated=seconds(data.get("updated_at") or data.get("created_at")),
            id=text_of(data.get("uuid")) if number == 1 else "",
            left_out=tuple(dict.fromkeys(left)),
            archived=number > 1,
            teller="Claude",
        )


def _branches(messages: list[Body], shown: str) -> tuple[list[list[Body]], int]:
    """The ways from the first message to each last one, and how many more there are.

    It is one where nothing says what follows.
    """
    known = {text_of(one.get("uuid")): one for one in messages}
    parents = {name: text_of(one.get("parent_message_uuid")) for name, one in known.items()}
    if len(known) != len(messages) or not any(one in known for one in parents.values()):
        return [messages], 0
    followed = set(parents.values())
    leaves = [name for name in known if name not in followed]
    last = shown if shown in known else next(reversed(leaves), "")
    found: list[list[Body]] = []
    for leaf in list(dict.fromkeys([last, *leaves]))[:MOST_VERSIONS]:
        branch: list[Body] = []
        at, seen = leaf, set[str]()
        while at in known and at not in seen:
            seen.add(at)
            branch.append(known[at])
            at = parents[at]
        found.append(branch[::-1])
    return [one for one in found if one] or [messages], max(0, len(leaves) - MOST_VERSIONS)


def _first_words(branch: list[Body]) -> str:
    """The title of a chat that Claude gave no name; empty where the person wrote nothing."""
    texts = (text_of(one.get("text")) for one in branch if one.get("sender") == "human")
    words = next(filter(str.strip, texts), "")
    return title_of([Text(words)]) if words else ""


def _message(message: Body, left: list[str]) -> Found:
    sender = message["sender"]
    if sender not in ("human", "assistant"):
        raise ValueError(f"a message is from {sender!r:.40}")
    blocks: list[Block] = []
    for one in list_of(message.get("attachments")):
        words = text_of(one.get("extracted_content"))
        name = text_of(one.get("file_name")) or "attachment"
        blocks.append(File(name, "text/plain", words.encode()) if words else _lost(name, left))
    for one in list_of(message.get("files")):
        blocks.append(_lost(text_of(one.get("file_name")), left))
    content = message.get("content") or [{"type": "text", "text": message.get("text")}]
    for part in list_of(content):
        blocks += _part(part, left)
    return "user" if sender == "human" else "assistant", blocks


def _part(part: Body, left: list[str]) -> list[Block]:
    match part.get("type"):
        case "text":
            return [Text(_cited(part))]
        case "thinking":
            return [Reasoning(text_of(part.get("thinking")))]
        case "tool_use" | "tool_result":
            said = part.get("input") if part["type"] == "tool_use" else part.get("content")
            return [Text(f"{text_of(part.get('name'))}\n\n{fenced(_of_tool(said))}")]
        case "token_budget" | "flag":  # nothing that was said
            return []
        case kind:
            left.append(f"A part of the kind {text_of(kind) or 'without a name'}")
            return []


def _of_tool(said: Any) -> str:
    """What a tool was given or returned: texts as they are, such as an artifact's, else JSON."""
    match said:
        case str():
            return text_of(said)
        case [{"text": _}, *_]:
            return "\n\n".join(_page(one) for one in cast("list[Body]", said))
        case {"content": str() as text, **rest}:
            return f"{_json(rest)}\n\n{text_of(text)}"
        case _:
            return _json(said)


def _page(one: Body) -> str:
    """What a tool returned, such as a text below the page that it is from."""
    if "text" not in one:
        return _json(one)
    return "\n".join(filter(None, (text_of(one.get(name)) for name in ("title", "url", "text"))))


def _json(value: Any) -> str:
    return text_of(json.dumps(value, ensure_ascii=False))


def _cited(part: Body) -> str:
    """A text with a link behind each place that cites a page."""
    text = text_of(part.get("text"))
    found: dict[int, list[str]] = {}
    for one in list_of(part.get("citations")):
        details: Body = one.get("details") or {}
        words = link(details.get("title"), one.get("url") or details.get("url"))
        end = one.get("end_index")
        if words and isinstance(end, int) and 0 <= end <= len(text):
            found.setdefault(end, []).append(words)
    for end in sorted(found, reverse=True):
        text = f"{text[:end]} ({', '.join(dict.fromkeys(found[end]))}){text[end:]}"
    return text


def _lost(name: str, left: list[str]) -> Text:
    left.append(f"The file “{name}”")
    return Text(f"[The file “{name}” is not in the export.]")
