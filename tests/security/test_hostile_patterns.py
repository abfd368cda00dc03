"""No regular expression of the program can be made to take for ever (quadratic or worse).

Each is given texts that repeat what it repeats. The time is processor time of this thread, and
is compared with that of other expressions and of shorter texts: it does not matter how fast
the machine is, or how busy.
"""

from __future__ import annotations

import os
import re
import time

from support import nightly
from support.patterns import Pattern, hard_inputs, patterns

SIZE = 400
LINEAR = 8.0
"""So many times what a plain expression takes is harmless, whatever the growth."""
LENGTHS = (2_000, 8_000)
"""Characters of the texts for which the growth of the time is measured: more than any
expression repeats at most."""
STEEP = 8.0
"""A growth that is not linear (4); quadratic is 16."""
SHORT_TEXTS = {
    "studio/simulator/": "stands in for a provider, in demos and tests",
    "studio/storage/config/keychain.py": "names of environment variables",
    "studio/storage/completion_index.py": "the first 4,000 characters of an agent file",
    "studio/cli/chat/mentions.py": "the last 1,000 characters of what the person types",
    "studio/providers/text_call_dialects.py": "matches at the places that a mark was found",
}
"""Modules whose texts are short, or the person's own, and those that match at places found before."""
ALWAYS = (
    "studio/agent/session/model_router.py",
    "studio/agent/context/token_count.py",
    "studio/agent/permission/program_options.py",
    "studio/providers/local_model/",
)
"""Modules whose expressions were slow once; those of all others take minutes, and are for the night."""


def seconds(pattern: Pattern, text: str, times: int = 1) -> float:
    best = float("inf")
    for _ in range(times):
        began = time.thread_time()
        pattern.run(text)
        best = min(best, time.thread_time() - began)
    return best


def steep(pattern: Pattern, plain: float) -> str:
    """What to repeat so that the time grows faster than the length; empty if there is nothing."""
    for one in hard_inputs(pattern):
        if seconds(pattern, one.text(SIZE)) <= LINEAR * plain:
            continue
        short, long = map(one.text, LENGTHS)
        if all(seconds(pattern, long) > STEEP * seconds(pattern, short, 3) for _ in range(3)):
            return repr(one)
    return ""


def test_the_time_of_each_grows_with_the_text_and_not_faster() -> None:
    plain = seconds(Pattern("", re.compile("(?:a|b)x"), frozenset({"search"})), "a" * SIZE, 50)
    found = patterns()
    assert len(found) > 200
    tried = ("",) if os.environ.get("HYPOTHESIS_PROFILE") == nightly.PROFILE else ALWAYS
    slow = {
        one.where: (one.expression.pattern, text)
        for one in found
        if one.where.startswith(tried)
        and not one.where.startswith(tuple(SHORT_TEXTS))
        and (text := steep(one, plain))
    }
    assert slow == {}


def test_a_quadratic_one_is_found() -> None:
    plain = seconds(Pattern("", re.compile("(?:a|b)x"), frozenset({"search"})), "a" * SIZE, 50)
    for text in (r"\b[\w.-]+/", r"^\s*-", r"[a-z]+\d+x"):
        one = Pattern("", re.compile(text, re.M), frozenset({"search"}))
        # A measure may be off where others use the processor's caches; not each of ten.
        assert any(steep(one, plain) for _ in range(10)), text
