"""Rule suggestions: finds the narrow, reusable rules that “always” adds for a call (T-7)."""

from __future__ import annotations

import re
from collections.abc import Sequence

from studio.domain.jsonvalue import JsonObject
from studio.domain.permissions import Rule, escaped
from studio.domain.server_names import SERVER_SIGN
from studio.domain.tools import ToolSpec

from .command_parts import CommandPart
from .path_scope import addresses_of
from .policy import COMMAND, NETWORK, Policy, target_of
from .program_facts import reach_of
from .rulebook import Decision
from .shell_lexer import DYNAMIC

MOST_RULES = 5
"""More rules at once are not suggested: nobody would read them."""
_PLAIN = re.compile(r"[\w./:+@%,\[-]+", re.A)


def suggest_rules(
    policy: Policy,
    spec: ToolSpec,
    arguments: JsonObject,
    decision: Decision,
    *,
    network: bool = False,
) -> tuple[Rule, ...]:
    """The rules that would have allowed this call; none where only this one can be.

    It is one rule, or for a command one for each part that needs it. There is none
    over a rule that says ask, none for what is unclear, and none if there would be
    more than ``MOST_RULES``. May touch the disk: call it in a thread.
    """
    if decision.verdict != "ask" or decision.insists or decision.rule is not None:
        return ()
    target = target_of(spec, arguments)
    found: list[Rule | None]
    if spec.target == COMMAND:
        tool = NETWORK if network else spec.name
        found = [_narrow_rule(tool, part) for part in decision.parts]
    elif decision.opens is not None:
        inside = "/*" if decision.opens.is_dir() else ""
        found = [Rule("allow", spec.name, f"{escaped(decision.opens.as_posix())}{inside}")]
    elif spec.effect == "fetch" and "://" in target:
        address = re.match(r"https?://[^/\s?#*\[@]+/", addresses_of(target)[0])
        found = [Rule("allow", spec.name, f"{address[0]}*") if address else None]
    else:
        found = [Rule("allow", spec.name)]
    rules = tuple(dict.fromkeys(rule for rule in found if rule is not None))
    if None in found or len(rules) > MOST_RULES:
        return ()
    with_rules = policy.adding("session", *rules)
    enough = with_rules.decide(spec, arguments, network=network).verdict == "allow"
    return rules if enough else ()


def _narrow_rule(tool: str, part: CommandPart) -> Rule | None:
    """The narrowest reusable rule: a program that may have any arguments, or exactly this."""
    if part.file or part.exact or part.pinned.endswith("="):
        return _exact_rule(tool, part)
    if part.pinned:
        return Rule("allow", tool, f"{part.pinned} *") if part.pinned.isprintable() else None
    words = part.text.split(" ")
    reach = reach_of(words)
    kept = words[: reach.words]
    if reach.kind == "any" or not all(map(_PLAIN.fullmatch, kept)):
        return _exact_rule(tool, part)
    first = kept[0] if kept[0] in ("[", "[[") else escaped(kept[0])  # literal without a bracket
    return Rule("allow", tool, " ".join([first, *kept[1:], "*"]))


def _exact_rule(tool: str, part: CommandPart) -> Rule | None:
    known = DYNAMIC not in part.text and part.text.isprintable()
    return Rule("allow", tool, escaped(part.text)) if known else None


def warning_about(rules: Sequence[Rule]) -> str:
    """What rules for commands let run that they do not say, for the person; mostly empty.

    The worst of it: a rule that lets more run is not hidden by one before it.
    """
    codes: list[str] = []
    any_program = ""
    for rule in rules:
        if rule.verdict != "allow" or SERVER_SIGN in rule.tool:
            continue
        plain = re.sub(r"\[([*?[])\]", r"\1", rule.pattern)
        if escaped(plain) == rule.pattern and plain not in ("[ *", "[[ *"):
            continue
        before = rule.pattern.split("*")[0].split(" ")[:-1]
        if not before:
            return f"{rule} lets the agent run any program."
        reach = reach_of(before)
        name = " ".join(before[: reach.words])
        if reach.kind == "any":
            words = f"With other arguments {name} may run any program or write any file."
            any_program = any_program or words
        if reach.kind == "code":
            codes.append(name)
    if any_program or not codes:
        return any_program
    verb = "runs" if len(codes) == 1 else "run"
    them = "this rule lets it" if len(codes) == 1 else "these rules let them"
    return f"{' and '.join(codes)} {verb} code of the folder: {them} run any program."
