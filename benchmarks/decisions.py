"""What permission costs: 1,000 decisions against 500 rules.

    python benchmarks/decisions.py [rounds]

The calls are those of a long turn: 100 different ones, most of them commands
of several parts, each ten times; and, apart, 1,000 that were never seen
before. Beside it the simplest thing that could be done, in the same round: a
``fnmatch`` of each whole command against each pattern, until one fits.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Sequence
from fnmatch import fnmatchcase

from measure import Row, middle, quick, show

from studio.agent.permission.policy import Policy
from studio.domain.jsonvalue import JsonObject
from studio.domain.permissions import Rule
from studio.tools.builtin.run import run

DECISIONS = 1000
GOAL = "< 5 ms"


def rules() -> list[Rule]:
    made = [Rule("allow", "run", f"program{n} sub{n % 7} *") for n in range(380)]
    made += [Rule("deny", "run", f"program{n} push --force*") for n in range(60)]
    made += [Rule("ask", "run", f"program{n} deploy *") for n in range(60)]
    return made


def command(n: int) -> str:
    one = f"program{n % 380} sub{n % 380 % 7} --option value{n}"
    return (one, f"{one} && {one} 2>&1", f"{one} | {one}", f"{one} $(program1 sub1 x)")[n % 4]


def decide(policy: Policy, calls: Sequence[JsonObject]) -> float:
    began = time.perf_counter()
    for call in calls:
        policy.decide(run.spec, call)
    return (time.perf_counter() - began) * 1000


def simplest(patterns: Sequence[str], calls: Sequence[JsonObject]) -> float:
    began = time.perf_counter()
    for call in calls:
        text = str(call["command"])
        any(fnmatchcase(text, pattern) for pattern in patterns)
    return (time.perf_counter() - began) * 1000


def rows(rounds: int) -> list[Row]:
    made = rules()
    patterns = [rule.pattern for rule in made]
    known: list[JsonObject] = [{"command": command(n % 100)} for n in range(DECISIONS)]
    policy = Policy("ask", {"person": made})
    decide(policy, known)
    warm: list[float] = []
    fresh: list[float] = []
    base: list[float] = []
    for number in range(rounds):
        new: list[JsonObject] = [
            {"command": command(1000 * (number + 1) + n)} for n in range(DECISIONS)
        ]
        base.append(simplest(patterns, known))
        warm.append(decide(policy, known))
        fresh.append(decide(policy, new))
    against = "fnmatch with each pattern"
    return [
        Row("1,000 decisions, 500 rules", middle(warm), middle(base), "ms", GOAL, against),
        Row("1,000 never seen before", middle(fresh), middle(base), "ms", "", against),
    ]


def main() -> None:
    counts = [int(x) for x in sys.argv[1:] if x.isdigit()]
    show(rows(counts[0] if counts else 5 if quick() else 15))


if __name__ == "__main__":
    main()
