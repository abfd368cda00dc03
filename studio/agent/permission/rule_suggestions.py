"""Rule suggestions: finds the narrow, reusable rules that “always” adds for a call (T-7)."""

from __future__ import annotations

import re

from studio.domain.jsonvalue import JsonObject
from studio.domain.permissions import Rule, escaped
from studio.domain.tools import ToolSpec

from .command_parts import CommandPart
from .path_scope import addresses_of
from .policy import COMMAND, NETWORK, Policy, target_of
from .rulebook import Decision
from .shell_lexer import DYNAMIC

MOST_RULES = 5
"""More rules at once are not suggested: nobody would read them."""
_SUBCOMMANDS = frozenset(
    """
    apt apt-get brew bun cargo composer conda dnf docker dotnet gem gh git go gradle helm hg
    jj kubectl make mix mvn npm pdm pip pip3 pnpm podman poetry rustup svn swift systemctl
    terraform uv yarn
    """.split()  # noqa: SIM905 (one a line would be a page)
)
"""Programs with subcommands: the first argument names one."""
_RUN = frozenset({"run", "exec", "x", "dlx", "bisect", "rebase", "submodule", "filter-branch"})
_INTERPRETERS = frozenset(
    """
    python pypy ipython node nodejs ruby irb perl php lua luajit deno bun tsx ts-node rscript julia
    tclsh wish guile racket ghci runghc scala jshell groovy elixir erl swipl octave awk gawk mawk
    nawk sed vi vim nvim view ex ed emacs nano less more man sqlite psql mysql bc dc m4 jrunscript
    """.split()  # noqa: SIM905 (one a line would be a page)
)
"""Programs that run code from their arguments or from typed keys."""


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
    """The narrowest reusable rule: a program with its subcommand and any arguments."""
    if part.file or part.exact or part.pinned.endswith("="):
        return _exact_rule(tool, part)
    if part.pinned:
        return Rule("allow", tool, f"{part.pinned} *") if part.pinned.isprintable() else None
    words = part.text.split(" ")
    name = words[0].rpartition("/")[2]
    if re.sub(r"[\d.]+$", "", name).lower() in _INTERPRETERS and len(words) > 1:
        if words[1:2] == ["-m"] and len(words) > 2 and re.fullmatch(r"[\w.]+", words[2]):
            return Rule("allow", tool, f"{words[0]} -m {words[2]} *")
        if re.fullmatch(r"[\w./-]+", words[1]) and not words[1].startswith("-"):
            return Rule("allow", tool, f"{words[0]} {words[1]} *")
        return _exact_rule(tool, part)
    if name in _SUBCOMMANDS and len(words) > 1:
        if not re.fullmatch(r"\w[\w:-]*", words[1]) or words[1] in _RUN:
            return _exact_rule(tool, part)
        return Rule("allow", tool, f"{words[0]} {words[1]} *")
    if words[0] in ("[", "[["):  # literal without a closing bracket
        return Rule("allow", tool, f"{words[0]} *")
    return Rule("allow", tool, f"{escaped(words[0])} *")


def _exact_rule(tool: str, part: CommandPart) -> Rule | None:
    known = DYNAMIC not in part.text and part.text.isprintable()
    return Rule("allow", tool, escaped(part.text)) if known else None
