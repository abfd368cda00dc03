"""W-21 as a property: no agent of a random tree may do what one above it forbids."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from studio.agent.permission.policy import Policy
from studio.domain.agents import PermissionMode, Role
from studio.domain.permissions import Rule, Verdict
from studio.domain.tools import ToolSpec

SPECS = (
    ToolSpec("read", "", {}, effect="read", target="path"),
    ToolSpec("write", "", {}, effect="draft", target="path"),
    ToolSpec("fetch", "", {}, effect="fetch", target="url"),
    ToolSpec("run", "", {}, effect="act", target="command"),
)
TARGETS = ("a.txt", "b/c.txt", "https://example.org/", "git push", "ls -l")
STRICT = {"allow": 0, "ask": 1, "deny": 2}
rules = st.builds(
    Rule,
    st.sampled_from(("allow", "ask", "deny")),
    st.sampled_from([spec.name for spec in SPECS]),
    st.sampled_from(("*", "a.txt", "b/*", "git *", "git push", "https://*")),
)
agents = st.tuples(
    st.sampled_from(("ask", "auto", "plan")),
    st.sampled_from(("all", "edits", "notes", "reads")),
    st.lists(rules, max_size=4),
)


def policy_of(mode: PermissionMode, role: Role, given_rules: list[Rule]) -> Policy:
    return Policy(mode, {"agent": given_rules}, role=role)


def verdict(policy: Policy, spec: ToolSpec, target: str) -> Verdict:
    return policy.decide(spec, {spec.target: target}).verdict


@given(st.lists(agents, min_size=2, max_size=5), rules)
def test_w21_no_tree_allows_what_one_above_denies(
    line: list[tuple[PermissionMode, Role, list[Rule]]], later: Rule
) -> None:
    """Also not by a rule that the person gives a child for the chat. PRE-15."""
    alone = [policy_of(*one) for one in line]
    ceiling = alone[0].for_children()
    for own in alone[1:]:
        policy = own.within(ceiling)
        for one in (policy, policy.adding("session", later)):
            for spec in SPECS:
                for target in TARGETS:
                    found = STRICT[verdict(one, spec, target)]
                    if STRICT[verdict(ceiling, spec, target)] == STRICT["deny"]:
                        assert found == STRICT["deny"], (spec.name, target)
                    if one is policy:
                        assert found >= STRICT[verdict(ceiling, spec, target)]
                        assert found >= STRICT[verdict(own, spec, target)]
        ceiling = policy.for_children()
