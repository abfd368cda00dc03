"""Permissions: defines rules by tool and argument pattern, questions and answers (T-7)."""

from __future__ import annotations

import re
from functools import lru_cache
from typing import Literal, TypeAlias

from studio.domain.records import dataclass
from studio.domain.server_names import is_pattern_of

Verdict: TypeAlias = Literal["allow", "ask", "deny"]
Answer: TypeAlias = Literal["once", "session", "folder", "always", "deny"]
"""``session``, ``folder`` and ``always`` also keep the question's rule, for that scope."""
Layer: TypeAlias = Literal["built-in", "person", "project", "agent", "session", "turn", "server"]
"""The source of a rule, lowest precedence first: the program, the person's standing rules,
a file in the folder, the agent's file, this session, this turn, and the person's rules for
clients of the server."""

_RULE = re.compile(r"^\s*([A-Za-z_][\w.-]*|[A-Za-z][\w-]*__[\w-]*\*|\*)\s*(?:\((.*)\))?\s*$", re.S)


@dataclass(frozen=True, slots=True)
class Rule:
    """A rule ``tool`` or ``tool(pattern)`` with its verdict.

    The pattern is a glob over the call's target: a path, or one part of a
    command line. A ``tool`` that ends with ``__*`` is any of a server (M-13). In the
    pattern ``*`` matches any text including slashes, ``**/`` any number of folders,
    ``?`` and ``[…]`` one character.
    """

    verdict: Verdict
    tool: str
    pattern: str = "*"

    @classmethod
    def parse(cls, text: str, verdict: Verdict = "allow") -> Rule:
        """Parse ``tool`` or ``tool(pattern)``; raises ValueError with the right form."""
        match = _RULE.match(text)
        if match is None:
            raise ValueError(f"“{text}” is not a rule. Write TOOL or TOOL(PATTERN).")
        pattern = (match[2] or "").strip()
        if pattern.count("**/") > 3:
            raise ValueError(f"“{text}” has **/ more than three times.")
        if match[2] is not None and not pattern:
            raise ValueError(f"“{text}” has an empty pattern. Write TOOL for all of its calls.")
        return cls(verdict, match[1], pattern or "*")

    def __str__(self) -> str:
        return self.tool if self.pattern == "*" else f"{self.tool}({self.pattern})"

    def matches(self, text: str, *, fold: bool = False) -> bool:
        """Whether the pattern matches the whole ``text``; ``git *`` matches ``git`` too.

        ``fold`` ignores case. A NUL in the text stands for a part that is not known yet; only
        ``*`` matches it.
        """
        return _regex(self.pattern, fold).fullmatch(text) is not None


def covers(name: str, tool: str, server: str = "") -> bool:
    """Whether a name in a rule or a list of tools means a tool: ``*``, ``run``, ``git__*``.

    The last one means tools of the server ``git`` alone. A name tells nothing of that: a server
    ``git__evil`` may have one that begins in the same way.
    """
    if name in ("*", tool):
        return True
    ours = bool(server) and name.endswith("*") and tool.startswith(name[:-1])
    return ours and is_pattern_of(name, server)


@lru_cache(maxsize=8192)
def _regex(pattern: str, fold: bool) -> re.Pattern[str]:
    flags = re.S | re.I if fold else re.S
    whole = pattern.removesuffix(" *")
    rest = "(?: .*)?" if whole != pattern else ""
    try:
        return re.compile("|".join(f"{_expression(one)}{rest}" for one in _readings(whole)), flags)
    except re.error:  # a range the wrong way round, say
        return re.compile(re.escape(pattern), flags)


def _readings(pattern: str) -> list[str]:
    """The pattern with each ``**/`` before other stars once as nothing, once as ``*/``.

    As one optional part after another they would be tried in every combination of places.
    """
    found, at = [""], 0
    while at < len(pattern):
        if pattern.startswith("**/", at) and len(found) < 8:
            found = [one + folders for one in found for folders in ("", "*/")]
            at += 3
        elif pattern[at] == "*":
            break
        else:
            one = _CHARACTERS.match(pattern, at)
            end = one.end() if one else at + 1
            found = [text + pattern[at:end] for text in found]
            at = end
    return [text + pattern[at:] for text in dict.fromkeys(found)]


def _expression(pattern: str) -> str:
    """Atomic groups prevent backtracking into a middle star, so many stars stay fast."""
    pieces: list[list[str]] = [[]]
    at = 0
    while at < len(pattern):
        if pattern[at] == "*":
            pieces.append([])
            at += 1
        elif pattern[at] == "?":
            pieces[-1].append("[^\0]")
            at += 1
        elif one := _CHARACTERS.match(pattern, at):
            inside = re.sub(r"[\\\[&~|]", r"\\\g<0>", one[2])
            pieces[-1].append(f"(?!\0)[{'^' if one[1] else ''}{inside}]")
            at = one.end()
        else:
            pieces[-1].append(re.escape(pattern[at]))
            at += 1
    first, *others = ["".join(piece) for piece in pieces]
    middle = "".join(f"(?>.*?{piece})" for piece in others[:-1] if piece)
    last = f".*{others[-1]}" if others else ""
    return first + middle + last


_CHARACTERS = re.compile(r"\[(!?)(\]?[^\]]*)\]")


def escaped(text: str) -> str:
    """A pattern that matches only ``text``."""
    return re.sub(r"[*?[]", r"[\g<0>]", text)


@dataclass(frozen=True, slots=True)
class Question:
    """One question to the person, before a tool may act.

    ``detail``, for example the full command, is never shortened. ``reason`` is the agent's
    reason for the call, ``why`` the reason for the question. ``always`` lists the rules that
    "Always" would add, one for each part of a command that needs one; it is empty if only this
    call can be allowed. ``covers`` lists other calls of this session that these rules would
    have allowed, ``warning`` what they let run that they do not say. ``facts`` are pairs of a
    name and a short line: folder, network, limit.
    """

    id: str
    call_id: str
    tool: str
    title: str
    detail: str
    reason: str = ""
    always: tuple[Rule, ...] = ()
    facts: tuple[tuple[str, str], ...] = ()
    why: str = ""
    covers: tuple[str, ...] = ()
    warning: str = ""
