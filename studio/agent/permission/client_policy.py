"""The policy for clients limits what an agent may do for a client of the server (S-4).

Reading in the folder is allowed. Everything else is a permission question. Only the rules that the
person made for clients allow more; their other rules, the agent's file and the project's rules do
not.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import cast, get_args

from studio.domain.errors import ConfigurationError
from studio.domain.permissions import Rule, Verdict

from .policy import Policy
from .rules import parse_rule


def client_policy(given: Mapping[str, Sequence[str]], tools: Collection[str]) -> Policy:
    """The limits of one turn, in its folder; ``given`` are the texts of rules by verdict.

    Raises ConfigurationError for a rule that cannot be parsed. Such a rule may be one that
    denies, so nothing is done for clients then.
    """
    rules: list[Rule] = []
    for verdict, texts in given.items():
        if verdict not in get_args(Verdict):
            raise ConfigurationError(
                f"“{verdict}” in the rules for the server’s clients is no verdict. "
                f"Known are {', '.join(get_args(Verdict))}."
            )
        rules += [parse_rule(text, tools, cast("Verdict", verdict)) for text in texts]
    return Policy("ask", {"server": rules}, cautious=True)
