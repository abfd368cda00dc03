"""Rule suggestions: finds the narrow, reusable rule that “always” adds for a command."""

from __future__ import annotations

import re

from studio.domain.permissions import Rule, escaped

from .command_parts import CommandPart
from .shell_lexer import DYNAMIC

_SUBCOMMANDS = frozenset(
    """
    apt apt-get brew bun cargo composer conda dnf docker dotnet gem gh git go gradle helm hg
    jj kubectl make mix mvn npm pdm pip pip3 pnpm podman poetry rustup svn swift systemctl
    terraform uv yarn
    """.split()  # noqa: SIM905 (one a line would be a page)
)
"""Programs that are many in one: the first argument says which."""
_RUN = frozenset({"run", "exec", "x", "dlx", "bisect", "rebase", "submodule", "filter-branch"})
_CODE = frozenset(
    """
    python pypy ipython node nodejs ruby irb perl php lua luajit deno bun tsx ts-node rscript julia
    tclsh wish guile racket ghci runghc scala jshell groovy elixir erl swipl octave awk gawk mawk
    nawk sed vi vim nvim view ex ed emacs nano less more man sqlite psql mysql bc dc m4 jrunscript
    """.split()  # noqa: SIM905 (one a line would be a page)
)
"""Programs that run what their arguments, or keys, say."""


def rule_of(tool: str, part: CommandPart) -> Rule | None:
    """The narrowest rule that is of use again: a program with its subcommand and any arguments."""
    if part.file or part.exact or part.pinned.endswith("="):
        return _exactly(tool, part)
    if part.pinned:
        return Rule("allow", tool, f"{part.pinned} *") if part.pinned.isprintable() else None
    words = part.text.split(" ")
    name = words[0].rpartition("/")[2]
    if re.sub(r"[\d.]+$", "", name).lower() in _CODE and len(words) > 1:
        if words[1:2] == ["-m"] and len(words) > 2 and re.fullmatch(r"[\w.]+", words[2]):
            return Rule("allow", tool, f"{words[0]} -m {words[2]} *")
        if re.fullmatch(r"[\w./-]+", words[1]) and not words[1].startswith("-"):
            return Rule("allow", tool, f"{words[0]} {words[1]} *")
        return _exactly(tool, part)
    if name in _SUBCOMMANDS and len(words) > 1:
        if not re.fullmatch(r"\w[\w:-]*", words[1]) or words[1] in _RUN:
            return _exactly(tool, part)
        return Rule("allow", tool, f"{words[0]} {words[1]} *")
    if words[0] in ("[", "[["):  # stand for themselves where no bracket closes them
        return Rule("allow", tool, f"{words[0]} *")
    return Rule("allow", tool, f"{escaped(words[0])} *")


def _exactly(tool: str, part: CommandPart) -> Rule | None:
    known = DYNAMIC not in part.text and part.text.isprintable()
    return Rule("allow", tool, escaped(part.text)) if known else None
