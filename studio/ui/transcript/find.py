"""Find: which blocks of a transcript show the words that are looked for, free of Qt.

It looks at texts as they are shown, without the marks of markdown, a slice of time after the
other, so that the longest chat stops nothing.
"""

from __future__ import annotations

import re
import time
import unicodedata
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cache
from typing import assert_never

from studio.agent.loop.user_messages import describe_end
from studio.domain.blocks import (
    AgentBlock,
    DraftBlock,
    EndBlock,
    FailureBlock,
    FilesBlock,
    NoticeBlock,
    PlanBlock,
    ReasoningBlock,
    RetryBlock,
    SummaryBlock,
    TextBlock,
    ToolBlock,
    TranscriptBlock,
    UserBlock,
)
from studio.domain.messages import File
from studio.tools.drafts.diff import unified_diff
from studio.ui.engine_texts import tr_engine
from studio.ui.markdown.blocks import Block
from studio.ui.markdown.parser import parse, plain

from .model import awaits_reply, has_no_row

_MARKUP = str.maketrans("", "", "*_~`\\>|#[]")
_LINK = re.compile(r"\]\([^()\n]*\)")
_HIDES = re.compile(r"[\[<&\\$]|```|~~~")
_WORD = re.compile(r"[^\W\d_]+")
_RUN = re.compile(r"[^\W_]+")


@dataclass(frozen=True, slots=True)
class Wanted:
    """What is looked for: ``text`` as it stands, or each of its words, also with accents.

    ``case`` tells capitals from small letters, ``whole`` finds whole words only.
    """

    text: str
    case: bool = False
    whole: bool = False
    each_word: bool = False

    def pattern(self) -> re.Pattern[str] | None:
        """What matches it in a text as it is shown; None if nothing is wanted."""
        words = self.text.split()
        if not words:
            return None
        if self.each_word:
            longest_first = sorted(set(words), key=len, reverse=True)
            found = "|".join(map(_with_accents, longest_first))
        else:
            found = r"\s+".join(map(re.escape, words))
        if self.whole:
            found = rf"(?<!\w)(?:{found})(?!\w)"
        return re.compile(found, 0 if self.case else re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class FoundAt:
    """One hit: the block's index, and which of the block's hits it is, from 0."""

    block: int
    ordinal: int = 0


class Find:
    """The hits of one search in the blocks of a transcript, which may grow meanwhile.

    ``look`` looks at blocks for a while; ``changed`` says that blocks are different now.
    """

    def __init__(self, blocks: Sequence[TranscriptBlock], wanted: Wanted) -> None:
        self.blocks, self.wanted = blocks, wanted
        self.pattern = wanted.pattern()
        self.counts: list[int] = []
        """Hits in each block, as far as it was looked at."""
        self._needles = _needles(wanted)
        self._pending: set[int] = set()
        self._order: list[int] = []
        """Indexes of blocks to look at, the next one last; some may be looked at already."""
        self.changed(())

    # -- looking ------------------------------------------------------------------

    def begin_at(self, block: int) -> None:
        """Look at this block first, then at those below it."""
        order = [*range(block, len(self.counts)), *range(min(block, len(self.counts)))]
        self._order = order[::-1]

    def changed(self, indexes: Iterable[int]) -> None:
        """These blocks have changed; there may be new ones at the end."""
        known = len(self.counts)
        self.counts += [0] * (len(self.blocks) - known)
        again = {index for index in indexes if index < known}
        again.update(range(known, len(self.blocks)))
        self._order += sorted(again - self._pending, reverse=True)
        self._pending |= again

    def look(self, seconds: float) -> bool:
        """Look at blocks for so long; whether all of them are looked at now."""
        end = time.perf_counter() + seconds
        while self._order:
            self._look_at(self._order.pop())
            if time.perf_counter() > end:
                break
        return self.done

    def _look_at(self, index: int) -> int:
        if index in self._pending:
            self._pending.remove(index)
            self.counts[index] = self._count(index)
        return self.counts[index]

    def _count(self, index: int) -> int:
        block, pattern = self.blocks[index], self.pattern
        if pattern is None or not self._may_have(block):
            return 0
        titled = int(self.has_title_hit(block))
        if isinstance(block, ToolBlock) and is_merged(self.blocks, index):
            return titled
        if isinstance(block, TextBlock) and (count := self._count_in_source(block.text)) >= 0:
            return count
        return titled + sum(1 for text in shown_texts(block) for _ in pattern.finditer(text))

    def _count_in_source(self, text: str) -> int:
        """The hits in markdown whose source tells them; -1 where it has to be read.

        It tells them for a word where nothing hides text, and no mark is inside a hit.
        """
        if self.pattern is None or not _WORD.fullmatch(self.wanted.text) or _HIDES.search(text):
            return -1
        count = len(self.pattern.findall(text))
        return count if count == len(self.pattern.findall(text.translate(_MARKUP))) else -1

    def _may_have(self, block: TranscriptBlock) -> bool:
        """Whether it is worth reading the block's markdown."""
        if isinstance(block, DraftBlock):
            about = block.draft.describe()
            text = "\n".join((block.draft.label, about.before or "", about.after or ""))
        elif isinstance(block, TextBlock | UserBlock | SummaryBlock):
            text = block.text
            if "](" in text:
                text += _LINK.sub("", text)  # words may go on after a link
        else:
            return True
        text = text.translate(_MARKUP)
        if "&" in text:
            return True  # perhaps the name of a character
        if self.wanted.each_word:
            text = _without_accents(text)
        text = text.lower()
        return any(all(run in text for run in runs) for runs in self._needles)

    # -- what was found -------------------------------------------------------------

    @property
    def done(self) -> bool:
        return not self._pending

    @property
    def total(self) -> int:
        """Hits found so far."""
        return sum(self.counts)

    def number(self, at: FoundAt) -> int:
        """Which of all hits it is, from 1."""
        return sum(self.counts[: at.block]) + at.ordinal + 1

    def first_from(self, block: int) -> FoundAt | None:
        """The first hit in this block or below it, else the first of all."""
        order = [*range(block, len(self.counts)), *range(min(block, len(self.counts)))]
        return next((FoundAt(index) for index in order if self.counts[index] > 0), None)

    def step(self, at: FoundAt, by: int) -> FoundAt | None:
        """The next hit, or with ``by`` -1 the one before; goes on at the other end."""
        here = self.counts[at.block] if at.block < len(self.counts) else 0
        if 0 <= at.ordinal + by < here:
            return FoundAt(at.block, at.ordinal + by)
        size = len(self.counts)
        for away in range(1, size + 1):
            index = (at.block + by * away) % size
            if self.counts[index] > 0:
                return FoundAt(index, 0 if by > 0 else self.counts[index] - 1)
        return None

    def has_title_hit(self, block: TranscriptBlock) -> bool:
        """Whether the first hit of a block is in its title, not in what it shows below."""
        return bool(self.pattern and self.pattern.search(title_of(block)))

    def block_with(self, line: str) -> int | None:
        """The first block whose source has a line, as a search over all chats quotes it."""
        line = line.strip("…").strip()
        if not line:
            return None
        sources = enumerate(map(source_of, self.blocks))
        return next((index for index, text in sources if line in text), None)

    def hit_near(self, index: int, line: str) -> FoundAt | None:
        """The hit of a block that is in or after a line of its source; None if it has none."""
        if not self._look_at(index) or self.pattern is None:
            return None
        before = source_of(self.blocks[index]).partition(line.strip("…").strip())[0]
        passed = sum(1 for _ in self.pattern.finditer(before))
        return FoundAt(index, min(passed, self.counts[index] - 1))


def is_merged(blocks: Sequence[TranscriptBlock], index: int) -> bool:
    """Whether a call is shown in one row with others, which does not show what they returned."""
    if not is_read(blocks[index]):
        return False
    for by in (1, -1):
        at = index + by
        while 0 <= at < len(blocks) and has_no_row(blocks[at]):
            at += by
        if 0 <= at < len(blocks) and is_read(blocks[at]):
            return True
    return False


def is_read(block: TranscriptBlock) -> bool:
    """Whether it is a finished reading, which goes into one row with others beside it."""
    return (
        isinstance(block, ToolBlock)
        and (block.effect, block.state) == ("read", "done")
        and not block.asks
        and not block.external
    )


def title_of(block: TranscriptBlock) -> str:
    """What stands in a block's row, painted in one line; empty if all of it is text."""
    match block:
        case ToolBlock():
            return "" if awaits_reply(block) or has_no_row(block) else block.target
        case DraftBlock():
            return block.draft.label
        case _:
            return ""


def shown_texts(block: TranscriptBlock) -> list[str]:
    """The pieces of text that a block shows when all of it is opened, from the top."""
    match block:
        case UserBlock():
            return texts_of(plain(block.text))
        case TextBlock():
            return texts_of(parse(block.text))
        case ReasoningBlock():
            return block.text.strip().split("\n\n")
        case SummaryBlock():
            return texts_of(plain(block.text))
        case ToolBlock() if awaits_reply(block):
            first, *others = block.asks
            if others:  # the choices of one of them are open at a time
                return [one.text for one in block.asks]
            said = (text for one in first.choices for text in (one.text, one.about) if text)
            return [first.text, *said]
        case ToolBlock():
            return [] if has_no_row(block) else [block.output]
        case NoticeBlock():
            return [tr_engine(block.text)]
        case EndBlock():
            return [tr_engine(describe_end(block.reason, block.detail))]
        case DraftBlock():
            lines = unified_diff(block.draft) if block.draft.describe().rewrites else []
            return [line.text for line in lines if line.kind != "fold"]
        case PlanBlock():
            return [item.text for item in block.plan.items] + [block.plan.why] * bool(
                block.plan.why
            )
        case FailureBlock() | RetryBlock() | AgentBlock() | FilesBlock():
            return []
        case _:
            assert_never(block)


def source_of(block: TranscriptBlock) -> str:
    """All words of a block that a search over all chats may quote."""
    match block:
        case UserBlock():
            names = [part.name for part in block.said if isinstance(part, File)]
            return "\n\n".join([block.text, *names])
        case TextBlock() | ReasoningBlock() | SummaryBlock() | NoticeBlock():
            return block.text
        case ToolBlock():
            values = [value for value in block.arguments.values() if isinstance(value, str)]
            said = (*(line for one in block.asks for line in one.lines), block.reply or "")
            return "\n".join((block.name, block.target, *values, block.output, *said))
        case PlanBlock():
            return "\n".join([*block.plan.lines, block.plan.why])
        case DraftBlock():
            about = block.draft.describe()
            return f"{about.name}\n{about.after}"
        case _:
            return ""


def texts_of(blocks: Sequence[Block]) -> list[str]:
    """The pieces of text that blocks show, from the top."""
    out: list[str] = []
    for block in blocks:
        if block.kind == "table":
            out += [cell[0] for row in block.rows for cell in row]
        else:  # a picture is found by the words that describe it
            out.append(block.text)
    return out


def _needles(wanted: Wanted) -> list[list[str]]:
    """Runs of letters of which a text has one list whole, if it has what is wanted."""
    text = _without_accents(wanted.text) if wanted.each_word else wanted.text
    pieces = text.lower().split() if wanted.each_word else [text.lower()]
    return [_RUN.findall(piece) for piece in pieces]


def _without_accents(text: str) -> str:
    if text.isascii():
        return text
    return "".join(c for c in unicodedata.normalize("NFD", text) if not unicodedata.combining(c))


@cache
def _accented() -> dict[str, str]:
    """Letters with accents by the letter without."""
    found: dict[str, str] = {}
    for letter in map(chr, range(0xC0, 0x250)):
        base = unicodedata.normalize("NFD", letter)[0]
        if base != letter:
            found[base.lower()] = found.get(base.lower(), "") + letter
    return found


def _with_accents(word: str) -> str:
    """A pattern for a word that finds its letters with and without accents."""
    return "".join(
        f"[{re.escape(letter)}{_accented().get(letter.lower(), '')}]"
        if letter.isalpha()
        else re.escape(letter)
        for letter in _without_accents(word)
    )
