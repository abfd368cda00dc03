"""Import and export of conversations in the program's own JSON (H-2)."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from typing import TypeVar, cast

from studio.domain.blocks import (
    AgentBlock,
    NoticeBlock,
    TextBlock,
    ToolBlock,
    UserBlock,
    all_messages,
)
from studio.domain.codec import decode, encode
from studio.domain.events import Event
from studio.domain.jsonvalue import JsonObject
from studio.domain.ledger import canonical_json
from studio.domain.messages import File, Image, Message, Text, with_distinct_calls
from studio.domain.records import dataclass
from studio.domain.redaction import without_keys
from studio.domain.sessions import SessionInfo
from studio.domain.transcript import Transcript

MARK = "agent_studio"
VERSION = 1
T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class PortableConversation:
    """What was said and done, with what is known of it.

    ``id`` and ``folder`` are those where it was written, ``updated`` is in
    seconds since the epoch; each is empty, or 0, where the file does not say.
    """

    title: str
    messages: tuple[Message, ...]
    instructions: str = ""
    agent: str = ""
    provider: str = ""
    model: str = ""
    folder: str = ""
    updated: float = 0.0
    id: str = ""
    subject: str = ""
    """What it is about, as a pack writes it: that says who may see it, here too (KZ-7)."""

    @property
    def digest(self) -> str:
        """The same for the same words and deeds."""
        content = [self.title, self.instructions, encode(self.messages)]
        return hashlib.sha256(canonical_json(content).encode()).hexdigest()


def conversation_of(info: SessionInfo, events: Iterable[Event]) -> PortableConversation:
    """A stored session, whole: also what was summed up for the model."""
    return PortableConversation(
        title=info.title,
        messages=with_distinct_calls(all_messages(Transcript(events).blocks)),
        instructions=info.instructions,
        agent=info.agent,
        provider=info.provider,
        model=info.model,
        folder=info.folder,
        updated=info.updated,
        id=info.id,
        subject=info.subject,
    )


def as_json(conversations: Sequence[PortableConversation], keys: Sequence[str] = ()) -> JsonObject:
    """Our own form. ``keys`` are the person's; where one was said it is not written."""
    bodies = [without_keys(encode(one), keys) for one in conversations]
    return {MARK: VERSION, "conversations": bodies}


def as_markdown(info: SessionInfo, transcript: Transcript, line: Callable[[str], str] = str) -> str:
    """A session to read: the messages, and a line for each tool call.

    ``line`` makes a line fit for where it is shown.
    """
    last = f"{info.agent} on {info.model}"
    out = [line(f"# {info.title or 'New chat'}"), line(f"{last}, in {info.folder}")]
    for block in transcript.blocks:
        match block:
            case UserBlock():
                sent = [one for one in block.said if not isinstance(one, Text)]
                names = [line(f"> {_attached(one)}") for one in sent]
                out.append("\n\n".join(filter(None, ["## You", *names, block.text])))
            case AgentBlock() if (who := f"{block.agent} on {block.model}") != last:
                out.append(line(f"## {who}"))
                last = who
            case TextBlock():
                out.append(block.text.strip())
            case ToolBlock():
                out.append(line(f"> {_tool_line(block)}"))
            case NoticeBlock():
                out.append(f"*{block.text}*")
            case _:
                pass
    return "\n\n".join(out) + "\n"


def _attached(one: Image | File) -> str:
    return f"File: {one.name}" if isinstance(one, File) else "Picture"


def _tool_line(block: ToolBlock) -> str:
    target = " ".join(block.target.split())
    row = block.done if block.state == "done" else block.name
    return f"{row or block.name} `{target}` — {block.summary or block.state}"


def of_json(data: JsonObject) -> list[PortableConversation]:
    """Read our own form; ValueError says which conversation is wrong and why."""
    if data.get(MARK) != VERSION:
        raise ValueError(f"it is of version {data.get(MARK)}, which this program cannot read")
    bodies = data.get("conversations")
    if not isinstance(bodies, list):
        raise ValueError("its list of conversations is missing")
    found: list[PortableConversation] = []
    for number, body in enumerate(bodies, 1):
        try:
            one = cast("PortableConversation", decode(PortableConversation, body))
        except (ValueError, TypeError, RecursionError) as error:
            raise ValueError(f"conversation {number}: {error}") from error
        found.append(replace(one, messages=with_distinct_calls(one.messages)))
    return found
