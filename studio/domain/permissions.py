"""Permission: rules by tool and argument pattern, questions, answers (T-7)."""

from __future__ import annotations

import re
from dataclasses import dataclass
from fnmatch import fnmatchcase
from typing import Literal, TypeAlias

Verdict: TypeAlias = Literal["allow", "ask", "deny"]
Answer: TypeAlias = Literal["once", "session", "folder", "always", "deny"]
"""``session``, ``folder`` and ``always`` also keep the question's rule, for that scope."""
Layer: TypeAlias = Literal["built-in", "person", "project", "agent", "session", "turn"]
"""Who a rule is from, weakest voice first: the program, the person's standing
rules, a file in the folder, the agent's file, this session, this one turn."""

_RULE = re.compile(r"^\s*([A-Za-z_][\w.-]*|\*)\s*(?:\((.*)\))?\s*$", re.S)
_RUNNERS = (
    r"sudo|doas|su|env|xargs|nohup|nice|time|timeout|watch|eval|exec|command|builtin|source"
    r"|sh|bash|zsh|dash|ksh|fish|cmd|powershell|pwsh"
)
"""Programs that run another one, named by their arguments."""
_SHELL = re.compile(
    r"[;&|<>`$(){}\n\r\\!]|\s(?:sudo|env|xargs|sh|bash)(?:\s|$)"
    rf"|^\s*(?:\S*/)?(?:{_RUNNERS})(?:\s|$)"
)
_PARTS = re.compile(r"[;&|\n\r(){}`]+")
_BEFORE = re.compile(rf"\s*(?:(?:\S*/)?(?:{_RUNNERS})\s+|\w+=\S*\s+)*")


@dataclass(frozen=True, slots=True)
class Rule:
    """``tool`` or ``tool(pattern)`` and what it decides.

    The pattern is a glob over the call's target (a path, a command). A command
    that a shell would split, redirect or substitute is never matched by an
    ``allow`` pattern other than ``*``: "pytest *" does not cover
    ``pytest; rm x``. The other way round a ``deny`` or ``ask`` pattern matches
    if any part of the command line does: "rm *" speaks about it. A shell has
    more ways to hide a command than a pattern can see.
    """

    verdict: Verdict
    tool: str
    pattern: str = "*"

    @classmethod
    def parse(cls, text: str, verdict: Verdict = "allow") -> Rule:
        """Read ``tool`` or ``tool(pattern)``; raises ValueError that says the form."""
        match = _RULE.match(text)
        if match is None:
            raise ValueError(f"“{text}” is not a rule. Write TOOL or TOOL(PATTERN).")
        return cls(verdict, match[1], match[2] if match[2] is not None else "*")

    def __str__(self) -> str:
        return self.tool if self.pattern == "*" else f"{self.tool}({self.pattern})"

    def matches(self, tool: str, target: str, *, command: bool = False) -> bool:
        """Whether this rule speaks about a call of ``tool`` on ``target``."""
        if self.tool not in ("*", tool):
            return False
        if self.pattern == "*":
            return True
        if not command:
            return self._fits(target)
        if self.verdict == "allow":
            return not _SHELL.search(target) and self._fits(target)
        parts = [target, *_PARTS.split(target)]
        return any(self._fits(_BEFORE.sub("", part, count=1).strip()) for part in parts)

    def _fits(self, target: str) -> bool:
        if fnmatchcase(target, self.pattern):
            return True
        return self.pattern.endswith(" *") and target == self.pattern[:-2]


@dataclass(frozen=True, slots=True)
class Question:
    """One question to the person, before a tool may act.

    ``detail`` is shown whole and never shortened (the full command). ``reason``
    is the agent's own, ``why`` says why it is asked. ``always`` is the rule that
    "Always" would add, None where only this one call can be allowed; ``covers``
    are other calls of this session that it would have allowed. ``facts`` are
    short lines: folder, network, limit.
    """

    id: str
    call_id: str
    tool: str
    title: str
    detail: str
    reason: str = ""
    always: Rule | None = None
    facts: tuple[tuple[str, str], ...] = ()
    why: str = ""
    covers: tuple[str, ...] = ()
