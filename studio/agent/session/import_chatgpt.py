"""Import of ChatGPT's export: a tree of messages for each conversation.

The branch that was shown last comes first, every other one after it, as the versions that the
person made by editing a message or asking again. Marks of citations become links.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from typing import Any, TypeAlias

from studio.domain.jsonvalue import JsonObject
from studio.domain.messages import Block, File, Image, Reasoning, Text, ToolCall, ToolResult

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

MOST_LEAVES = 1_000
"""Ends of branches that are looked at."""
MOST_BYTES = 200_000_000
"""Bytes of the files of one conversation; an archive may name one file any number of times."""
GetFile: TypeAlias = Callable[[str, str], Image | File | None]
"""Finds a file of the archive by its id; the second text is its name."""

_MARKED = re.compile("\ue200([^\ue201]*)\ue201")
_SEPARATOR = "\ue202"
_PRIVATE = re.compile("[\ue200-\ue2ff]")
_BRACKETED = re.compile(r"【\d+(?::\d+)?†[^】]*】")
_UNEXPLAINED = re.compile(rf" ?{_BRACKETED.pattern}")
_MAY_BE_EMPTY = ("text", "code", "execution_output", "tether_browsing_display")
_HIDDEN = ("user_editable_context", "model_editable_context", "reasoning_recap")


def read_chatgpt(data: JsonObject, get_file: GetFile) -> Iterator[PortableConversation]:
    """The shown branch of a conversation, then the others; raises as the data are damaged."""
    nodes: dict[str, Body] = data["mapping"]  # type: ignore[assignment]
    shown = data.get("current_node") or _newest(nodes)
    branches = [_branch(nodes, shown)]
    every = [name for name, node in nodes.items() if not node.get("children") and name != shown]
    leaves = every[:MOST_LEAVES]
    more = len(every) - len(leaves)
    seen = set(map(id, branches[0]))
    for leaf in leaves:
        last = next(_upwards(nodes, leaf), None)
        if last is None or id(last) in seen:  # a tree: then all of it is in one already
            continue
        if len(branches) == MOST_VERSIONS:
            more += 1
            continue
        branches.append(_branch(nodes, leaf))
        seen.update(map(id, branches[-1]))
    title = text_of(data.get("title"))
    files = _Bounded(get_file)
    for number, branch in enumerate(branches, 1):
        left: list[str] = [f"{more} more versions"] if more > 0 and number == 1 else []
        messages = [part for one in branch for part in _Message(one, files.get, left).parts()]
        yield ImportedConversation(
            title=title if number == 1 else version_title(title, number),
            messages=joined(messages),
            provider="openai",
            model=_model(branch),
            updated=seconds(data.get("update_time") or data.get("create_time")),
            id=text_of(data.get("conversation_id") or data.get("id")) if number == 1 else "",
            left_out=tuple(dict.fromkeys(left)),
            archived=number > 1 or data.get("is_archived") is True,
            teller="ChatGPT",
        )


def _branch(nodes: dict[str, Body], at: object) -> list[Body]:
    """The visible messages from the root to a node."""
    return list(_upwards(nodes, at))[::-1]


def _upwards(nodes: dict[str, Body], at: object) -> Iterator[Body]:
    seen: set[str] = set()
    while isinstance(at, str) and at in nodes and at not in seen:
        seen.add(at)
        message = nodes[at].get("message")
        if message and not _hidden(message):
            yield message
        at = nodes[at].get("parent")


def _newest(nodes: dict[str, Body]) -> str:
    leaves = [name for name, node in nodes.items() if not node.get("children")]
    return leaves[-1] if leaves else ""


def _hidden(message: Body) -> bool:
    return (
        message["author"]["role"] == "system"
        or bool(_facts(message).get("is_visually_hidden_from_conversation"))
        or message["content"].get("content_type") in _HIDDEN
    )


def _facts(message: Body) -> Body:
    return message.get("metadata") or {}


def _model(branch: Sequence[Body]) -> str:
    """The model of the last answer that names one."""
    named = (text_of(_facts(one).get("model_slug")) for one in reversed(branch))
    return next(filter(None, named), "")


class _Bounded:
    """Finds files until one conversation has enough of them."""

    def __init__(self, get_file: GetFile) -> None:
        self._get_file = get_file
        self._left = MOST_BYTES

    def get(self, file_id: str, name: str) -> Image | File | None:
        found = self._get_file(file_id, name) if self._left > 0 else None
        self._left -= len(found.data) if found is not None else 0
        return found


class _Message:
    """Reads one message; what is not in the export is named in its place and in ``left``."""

    def __init__(self, message: Body, get_file: GetFile, left: list[str]) -> None:
        self._message = message
        self._get_file = get_file
        self._left = left
        self._role = message["author"]["role"]

    def parts(self) -> list[Found]:
        """The message as one of a side, or as a call with its pictures."""
        content, facts = self._message["content"], _facts(self._message)
        person = self._role == "user"
        blocks: list[Block] = []
        pictures: list[Image] = []
        for block in self._blocks(content):
            if isinstance(block, Image | File) and not person:
                if isinstance(block, Image):
                    pictures.append(block)
                else:
                    blocks.append(self._lost(f"The file “{block.name}”"))
            else:
                blocks.append(block)
        if person:
            held = sum(isinstance(one, Image | File) for one in blocks)
            for one in list_of(facts.get("attachments")):
                name = text_of(one.get("name"))
                found = self._get_file(text_of(one.get("id")), name)
                if isinstance(found, Image) and held:
                    continue  # it is one of the pictures in the message
                blocks.append(found or self._lost(f"The file “{name}”"))
            return [("user", blocks)]
        if pictures:  # no model says pictures, but calls have them as their result
            call = f"picture-{text_of(self._message.get('id')) or 'of-chatgpt'}"
            name = text_of(self._message["author"].get("name")).partition(".")[0] or "picture"
            return [
                ("assistant", [*blocks, ToolCall(call, name, {})]),
                ("user", [ToolResult(call, name, tuple(pictures))]),
            ]
        return [("assistant", blocks)]

    def _blocks(self, content: Body) -> Iterator[Block]:
        kind = content.get("content_type")
        if kind == "thoughts":
            for one in list_of(content.get("thoughts")):
                words = [text_of(one.get("summary")), text_of(one.get("content"))]
                yield Reasoning("\n\n".join(filter(None, words)))
        elif "parts" in content:
            for part in list_of(content["parts"]):
                yield (
                    Text(self._cited(text_of(part))) if isinstance(part, str) else self._part(part)
                )
        else:
            text = text_of(content.get("text") or content.get("result"))
            if screen := content.get("screenshot"):
                yield self._part(screen)
            elif not text and kind not in _MAY_BE_EMPTY:
                self._left.append(f"A part of the kind {text_of(kind) or 'without a name'}")
            page = link(content.get("title"), content.get("url"))
            fence = kind in ("code", "execution_output") and text
            yield Text(fenced(text) if fence else self._cited(f"{text}\n\n{page}".strip()))

    def _part(self, part: Body) -> Block:
        kind = text_of(part.get("content_type"))
        if kind == "audio_transcription":
            return Text(text_of(part.get("text")))
        what = "picture" if "image" in kind else "recording" if "audio" in kind else "part"
        pointer = text_of(part.get("asset_pointer"))
        return self._get_file(pointer, "") or self._lost(f"A {what}")

    def _lost(self, what: str) -> Text:
        self._left.append(what)
        return Text(f"[{what}{' that' if what.startswith('A ') else ''} is not in the export.]")

    def _cited(self, text: str) -> str:
        """The text of an answer with links in the place of marks of citations."""
        if self._role == "user" or not (_PRIVATE.search(text) or "【" in text):
            return text
        facts = _facts(self._message)
        for one in list_of(facts.get("content_references")):
            mark = text_of(one.get("matched_text"))
            if _PRIVATE.search(mark) or _BRACKETED.fullmatch(mark):
                text = text.replace(mark, _reference(one))
        for one in list_of(facts.get("citations")):
            at, end = one.get("start_ix"), one.get("end_ix")
            source: Body = one.get("metadata") or {}
            if isinstance(at, int) and isinstance(end, int) and 0 <= at < end:
                mark = text_of(_original(self._message))[at:end]
                if _BRACKETED.fullmatch(mark):
                    text = text.replace(mark, link(source.get("title"), source.get("url")))
        text = _MARKED.sub(lambda mark: _named(mark[1]), text)
        return _PRIVATE.sub("", _UNEXPLAINED.sub("", text))


def _original(message: Body) -> str:
    """The text that the places of citations count in."""
    parts = message["content"].get("parts") or [""]
    return parts[0] if isinstance(parts[0], str) else ""


def _reference(reference: Body) -> str:
    """A reference as links to its pages, else the words that stand for it."""
    pages: list[Body] = list_of(reference.get("items"))
    links = [link(one.get("title"), one.get("url")) for one in [*pages, reference]]
    if found := [one for one in dict.fromkeys(links) if one]:
        return f" ({', '.join(found)})"
    return text_of(reference.get("alt")) or text_of(reference.get("name"))


def _named(mark: str) -> str:
    """What a mark says that no reference explains: the name of a thing, the title of a page."""
    kind, *rest = mark.split(_SEPARATOR)
    if kind == "url" and rest:
        return rest[0]
    if kind == "entity" and rest:
        words: list[Any] = re.findall(r'"((?:[^"\\]|\\.)*)"', rest[0])
        return words[1] if len(words) > 1 else ""
    return ""
