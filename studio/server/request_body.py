"""The reader of request bodies limits their size and time, and parses strict JSON."""

from __future__ import annotations

import asyncio
import json
import math
import re
from collections.abc import Callable
from typing import TypeVar

from starlette.types import Receive

from studio.domain.jsonvalue import Json, JsonObject

from .contract import BadRequest

T = TypeVar("T")

DEEPEST = 100
"""Levels of lists and objects within each other."""
PATIENCE = 30.0
"""Seconds for which a client may send nothing of a body that it has announced."""
LONGEST = 120.0
"""Seconds for a whole body, since it takes one of the places for requests."""
MOST = 30_000
"""Objects in a body: some thousands of messages, which is more than any model reads."""
BRACKETS = 250_000
"""The most square brackets in a body, those in its texts too: a million tokens or so."""
BIG = 100_000
"""Bytes from which on a body is read in a thread, and so is what is made of it."""
_HALF = re.compile(rb"\\u[dD][89a-fA-F]")
"""Written so, half of a character can come in ASCII; elsewhere UTF-8 forbids it."""


class Gone(Exception):
    """The client disconnected; nobody waits for a response."""


async def read(receive: Receive, limit: int) -> bytes:
    """Read the whole body; raises BadRequest (413, 408) and Gone."""
    found = bytearray()
    loop = asyncio.get_running_loop()
    end = loop.time() + LONGEST
    try:
        async with asyncio.timeout(min(PATIENCE, LONGEST)) as patience:
            while True:
                message = await receive()
                if message["type"] == "http.disconnect":
                    raise Gone
                found += message.get("body", b"")
                if len(found) > limit:
                    raise too_large(limit)
                if not message.get("more_body", False):
                    return bytes(found)
                patience.reschedule(min(loop.time() + PATIENCE, end))
    except TimeoutError:
        raise BadRequest("The request did not arrive in time.", status=408) from None


def too_large(limit: int) -> BadRequest:
    return BadRequest(
        f"The request is larger than {limit:,} bytes.", status=413, code="request_too_large"
    )


async def read_from(data: bytes, work: Callable[[], T]) -> T:
    """Return the result of ``work``, done in a thread where the body is big."""
    return await run_off_loop(work, big=len(data) > BIG)


async def run_off_loop(work: Callable[[], T], *, big: bool) -> T:
    """Return the result of ``work``; ``big`` work is done in a thread, so that nobody waits."""
    return await asyncio.to_thread(work) if big else work()


def parse(data: bytes) -> JsonObject:
    """Parse strict JSON: UTF-8, no lone surrogates, finite numbers, limited nesting."""
    try:
        text = data.decode()
    except UnicodeDecodeError as error:
        raise _broken(f"it is not UTF-8 at byte {error.start}") from None
    if data.count(b"[") > BRACKETS:  # a list takes thirty times the memory of its two bytes
        raise _too_many("square brackets", BRACKETS)
    try:
        value: Json = json.loads(
            text,
            object_hook=_counted(),
            parse_constant=_constant,
            parse_float=_number,
            parse_int=_whole_number,
        )
    except RecursionError:
        raise _too_deep() from None
    except json.JSONDecodeError as error:
        raise _broken(f"{error.msg} at line {error.lineno}, column {error.colno}") from None
    except ValueError as error:  # a number without end; our own words
        raise _broken(str(error).partition(";")[0]) from None
    _check(value, halves=_HALF.search(data) is not None)
    if not isinstance(value, dict):
        raise BadRequest("The body has to be a JSON object.", code="invalid_json")
    return value


def _counted() -> Callable[[JsonObject], JsonObject]:
    """Counts the objects of a body while it is read; raises BadRequest for one too many."""
    left = iter(range(MOST))

    def met(value: JsonObject) -> JsonObject:
        if next(left, None) is None:
            raise _too_many("objects", MOST)
        return value

    return met


def _check(value: Json, halves: bool) -> None:
    """Raise BadRequest for JSON that is nested too deeply, and for lone surrogates."""
    level = [value]
    depth = 0
    while level:
        if depth > DEEPEST:
            raise _too_deep()
        if halves:
            for one in level:
                _whole(one)
        level = [
            inner
            for one in level
            if isinstance(one, list | dict)
            for inner in (one if isinstance(one, list) else one.values())
            if halves or isinstance(inner, list | dict)
        ]
        depth += 1


def _whole(value: Json) -> None:
    texts = [value] if isinstance(value, str) else value if isinstance(value, dict) else ()
    try:
        for text in texts:
            text.encode()
    except UnicodeEncodeError:
        raise _broken("it holds half of a character (a lone surrogate)") from None


def _number(text: str) -> float:
    value = float(text)
    if not math.isfinite(value):
        raise ValueError("a number is too large")
    return value


def _whole_number(text: str) -> int:
    """In Python, so that a thread which reads millions of them lets others run between two."""
    return int(text)


def _constant(text: str) -> float:
    raise ValueError(f"{text} is no JSON")


def _broken(why: str) -> BadRequest:
    return BadRequest(f"The body is not valid JSON: {why}.", code="invalid_json")


def _too_many(what: str, most: int) -> BadRequest:
    why = f"The request has more than {most:,} {what}."
    return BadRequest(why, status=413, code="request_too_large")


def _too_deep() -> BadRequest:
    return BadRequest(f"The body is nested more than {DEEPEST} levels deep.", code="invalid_json")
