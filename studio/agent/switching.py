"""What a new native history leaves out, in words for the person (H-7)."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

from studio.domain.messages import File, Image, Message, Reasoning, Said, ToolResult

NAMED = 5
"""So many files are named; more would fill the screen."""


def carried_over(
    model: str, messages: Sequence[Message], refuses: Callable[[Said], str], *, thought: bool
) -> str:
    """``Now on gpt-6.1. Everything was carried over except …``

    ``refuses`` says why ``model`` cannot read a picture or a file. ``thought``
    is whether the history before held reasoning: not all of it is shown.
    """
    left_out: list[str] = []
    if thought or any(isinstance(b, Reasoning) for m in messages for b in m.blocks):
        left_out.append("what the earlier model thought")
    if unreadable := _unreadable([one for one in _enclosed(messages) if refuses(one)]):
        left_out.append(f"{_listed(unreadable)} that this model cannot read")
    # With a comma, or it would not be clear what the last words belong to.
    rest = f" except {', and '.join(left_out)}" if left_out else ""
    return f"Now on {model}. Everything was carried over{rest}."


def _enclosed(messages: Sequence[Message]) -> Iterator[Image | File]:
    """Pictures and files of both sides, in order."""
    for message in messages:
        for block in message.blocks:
            if isinstance(block, Image | File):
                yield block
            elif isinstance(block, ToolResult):
                yield from (part for part in block.content if isinstance(part, Image))


def _unreadable(enclosed: Sequence[Image | File]) -> list[str]:
    """``2 pictures``, ``plan.pdf``, ``3 more files``."""
    pictures = sum(isinstance(one, Image) for one in enclosed)
    names = list(dict.fromkeys(one.name for one in enclosed if isinstance(one, File)))
    found = [_counted(pictures, "picture")] if pictures else []
    found += names[:NAMED]
    if len(names) > NAMED:
        found.append(_counted(len(names) - NAMED, "more file"))
    return found


def _counted(count: int, thing: str) -> str:
    return f"{count} {thing}" if count == 1 else f"{count} {thing}s"


def _listed(things: Sequence[str]) -> str:
    *some, last = things
    return f"{', '.join(some)} and {last}" if some else last
