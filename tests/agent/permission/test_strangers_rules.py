"""Rules of a folder that is not trusted: they only take away (T-6, T-7)."""

from __future__ import annotations

import itertools
from pathlib import Path

from studio.agent.permission.policy import Policy
from studio.agent.permission.rule_suggestions import suggest_rules
from studio.domain.agents import PermissionMode
from studio.domain.jsonvalue import JsonObject
from studio.domain.permissions import Layer, Rule
from studio.tools import Workspace
from studio.tools.discovery import discover


def test_t6_a_strangers_question_takes_no_refusal_away(tmp_path: Path) -> None:
    """A folder's ``ask`` counts before it is trusted, so it may make nothing easier."""
    tools = discover(folders=[]).tools
    calls: list[tuple[str, JsonObject]] = [
        ("run", {"command": command, "network": network})
        for command in ("curl x", "rm a", "git push", "a $(b)", "if x; then", "", "echo > /etc/x")
        for network in (False, True)
    ]
    calls += [(tool, {"path": path}) for tool in ("read", "list", "search", "outline", "write", "edit")
              for path in ("a", ".env", "../x", "/etc/passwd", ".git/config")]  # fmt: skip
    calls += [("fetch", {"url": "https://a.example/x"}), ("web_search", {"query": "a"})]
    person = [Rule.parse(text, verdict) for text, verdict in (
        ("network", "deny"), ("run(rm *)", "deny"), ("run(git *)", "ask"), ("read(.env)", "ask"),
        ("run(curl *)", "allow"), ("write", "allow"), ("fetch(https://b.example/*)", "deny"),
    )]  # fmt: skip
    strangers = [Rule("ask", name) for name in (*tools, "network", "*")]
    modes: tuple[PermissionMode, ...] = ("ask", "auto", "plan")
    layers: tuple[Layer, ...] = ("project", "agent")
    order = ("allow", "ask", "deny")
    for mode, layer in itertools.product(modes, layers):
        for kept in ([], person[:1], person):
            alone = Policy(mode, {"person": kept}, workspace=Workspace(tmp_path))
            both = {"person": kept, layer: strangers}
            asked = Policy(mode, both, workspace=Workspace(tmp_path))
            for name, call in calls:
                network = call.get("network") is True
                before = alone.decide(tools[name].spec, call, network=network)
                after = asked.decide(tools[name].spec, call, network=network)
                assert order.index(after.verdict) >= order.index(before.verdict), (mode, name, call)
                assert not suggest_rules(asked, tools[name].spec, call, after, network=network)
