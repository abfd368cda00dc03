"""What the engine composed, in the person's language."""

from __future__ import annotations

import ast
import re
from collections.abc import Sequence
from pathlib import Path

import studio
from studio.agent.budget import OverBudget
from studio.agent.loop.user_messages import describe_end
from studio.agent.permission.policy import Policy
from studio.agent.permission.rule_suggestions import warning_about
from studio.domain.agents import Caps
from studio.domain.permissions import Rule
from studio.tools.builtin.run import run
from studio.ui.engine_texts import TEMPLATES, tr_engine
from studio.workflows.run_accounts import out_of_time
from studio.workflows.step_tries import YOU_SAID
from studio.workflows.unsure_actions import REPEATED
from support.languages import language

ROOMS = (
    *("agent", "domain", "extensions", "files", "mcp", "providers", "storage", "tools"),
    "workflows",
)


def composed(path: Path) -> set[str]:
    """The texts of a module, their values as ``\\0``."""
    found: set[str] = set()
    for node in ast.walk(ast.parse(path.read_text("utf-8"))):
        if isinstance(node, ast.JoinedStr):
            parts = (v.value if isinstance(v, ast.Constant) else "\0" for v in node.values)
            found.add("".join(str(part) for part in parts))
        elif isinstance(node, ast.Constant) and isinstance(node.value, str):
            found.add(re.sub(r"\{\w*\}", "\0", node.value))
    return found


def letters(text: str) -> int:
    return len(re.findall("[A-Za-z]", re.sub(r"\{\w+\}", "", text)))


def fits(template: str, parts: list[str]) -> bool:
    """Whether a text with these parts around its values can be what the template stands for."""
    if not all(part in template for part in parts):
        return False
    pattern = ".*".join(map(re.escape, parts))
    return re.fullmatch(pattern, template, re.DOTALL) is not None


def test_each_template_is_one_that_the_engine_writes() -> None:
    package = Path(studio.__file__).parent
    paths = [path for room in ROOMS for path in (package / room).rglob("*.py")]
    texts = {text for path in paths for text in composed(path)}
    shipped = package.parent / "resources"
    for file in (*shipped.glob("agents/*.md"), *shipped.glob("workflows/*.md")):
        texts |= set(re.findall(r"description: ([^}\n]+)", file.read_text("utf-8")))
    starts = {text[:1].upper() + text[1:] for text in texts if "\0" not in text}
    pieces = [text.split("\0") for text in texts if letters(text) > 2]
    gone: list[str] = []
    for template in TEMPLATES:
        start = template.partition(" {")[0]  # “your rule”, put before the rule
        written = start[:1].upper() + start[1:] in starts or letters(template) < 3
        written |= template.rpartition("}")[2] in starts  # “ or more”
        if not written and not any(fits(template, parts) for parts in pieces):
            gone.append(template)
    assert not gone, "\n".join(gone)


def test_m18_why_a_server_cannot_be_reached_is_told_in_the_persons_language() -> None:
    with language("de"):
        told = tr_engine("a.example:9 cannot be reached: nothing answers there.")
        assert told == "a.example:9 ist nicht zu erreichen: dort antwortet nichts."


def test_values_are_put_into_the_translation() -> None:
    capped = str(OverBudget("day", Caps(dollars=5.0), "dollars"))
    with language("de"):
        assert tr_engine("Anthropic rejected the API key.") == (
            "Anthropic hat den API-Schlüssel abgelehnt."
        )
        small = "qwen3 reads only 8,192 tokens, so it works without: run, web_fetch."
        assert "ohne: run, web_fetch" in tr_engine(small)
        at = "Anthropic rejected the API key. The key ending in 7Q4A does not work at 127.0.0.1:1."
        assert tr_engine(at).endswith("der auf 7Q4A endet, gilt nicht bei 127.0.0.1:1.")
        said = "Anthropic rejected the API key. invalid x-api-key"
        assert tr_engine(said).endswith("abgelehnt. invalid x-api-key"), "their own words stay"
        assert tr_engine(capped).startswith("Deine Grenze von 5,00\N{NO-BREAK SPACE}$ für heute")
        found = ["1 line", "1,200 lines", "3 entries", "2 matches or more"]
        assert [tr_engine(text) for text in found] == [
            "1 Zeile", "1.200 Zeilen", "3 Einträge", "2 Treffer oder mehr",
        ]  # fmt: skip
        damage = "This chat can only be read: 1 entry cannot be read. Continue in a new chat."
        assert tr_engine(damage).startswith("Dieser Chat lässt sich nur lesen: 1 Eintrag ist nicht")
        refused = (
            "The server shop may not have the secret mcp/mail/KEY: servers of a folder have none, "
            "and no server has one of another."
        )
        assert tr_engine(refused).startswith("Der Server shop darf das Geheimnis mcp/mail/KEY")
        assert tr_engine(describe_end("cancelled", "")) == "Angehalten."
        assert tr_engine("There is no provider demo. Known are openai.").startswith(
            "Es gibt keinen"
        )
        shipped = Path(studio.__file__).parents[1] / "resources"
        for file in (*shipped.glob("agents/*.md"), *shipped.glob("workflows/*.md")):
            for words in re.findall(r"description: ([^}\n]+)", file.read_text("utf-8")):
                assert tr_engine(words) != words
        assert tr_engine("A text of nobody.") == "A text of nobody."
    assert tr_engine(said) == said


def test_a_code_ends_where_the_next_sentence_begins() -> None:
    """Section 6: what a server said last is said in German too."""
    with language("de"):
        said = tr_engine("It ended with exit code 3. It said last: ID is not set.")
    assert said == "Er endete mit dem Code 3. Zuletzt schrieb er: ID is not set."


def test_a_value_is_never_translated_by_itself() -> None:
    """What an agent or a folder is called must not change in a question."""
    with language("de"):
        assert tr_engine("Running wants to run a command") == "Running will einen Befehl ausführen"
        assert "No network" in tr_engine("It reads No network, outside the folder.")
        odd = "Your rule run(a refuses it. *) asks about it."
        assert tr_engine(odd) == "Deine Regel run(a refuses it. *) fragt danach."


def test_a_long_text_is_shown_as_it_is() -> None:
    """It is none of the engine's; to look through an imported one would take seconds."""
    long = "The key is empty. " * 3_000
    with language("de"):
        assert tr_engine(long) == long


def test_what_a_rule_lets_run_is_said_in_german() -> None:
    with language("de"):
        for pattern in ("*", "pytest *", "tar *"):
            said = warning_about([Rule("allow", "run", pattern)])
            assert said and tr_engine(said) != said, said
        assert tr_engine(warning_about([Rule("allow", "run", "pytest *")])) == (
            "pytest führt Code des Ordners aus: Diese Regel erlaubt jedes Programm."
        )


def test_what_a_run_says_is_said_in_german() -> None:
    """W-6, W-16, W-20, W-26: also of several runs that it waits for."""
    capped = [str(OverBudget(cap, Caps(dollars=5.0), "dollars")) for cap in ("run", "step")]
    ahead = "Story, run 1, Story, run 3"
    with language("de"):
        for said in (
            *capped,
            out_of_time(1),
            out_of_time(60),
            YOU_SAID,
            REPEATED,
            f"It waits for {ahead}.",
            "It was left out, because Story, run 1 is not over.",
            f"It was left out, because {ahead} are not over.",
            "Story, run 5, took its place.",
            "It was not merged.",
            "It was stopped after 90 s.",
            "1 file waits for you as drafts.",
            "2 files wait for you as drafts.",
            "The group of concurrency cannot be told: there is no input x.",
            "The agent has used $4.00 of your limit of $5.00 for this run. May it go on?",
            "The agent has used $4.00 of your limit of $5.00 for this step. May it go on?",
        ):
            assert tr_engine(said) != said, said
        assert tr_engine("Story, run 5, took its place.").startswith("Story, Lauf 5, ")
        assert "60 Minuten" in tr_engine(out_of_time(60))


def test_parts_of_a_command_are_listed_in_the_persons_language() -> None:
    parts = ("ls", "put a and b", "rm x", "df", "id")
    texts = [why_asked(parts[:count]) for count in (2, 3, 5)]
    assert texts == [
        "No rule allows “ls” and “put a and b”.",
        "No rule allows “ls”, “put a and b” and “rm x”.",
        "No rule allows “ls”, “put a and b”, “rm x” and 2 more.",
    ]
    with language("de"):
        assert [tr_engine(text) for text in (*texts, "No rule allows “ls”.")] == [
            "Keine Regel erlaubt „ls“ und „put a and b“.",
            "Keine Regel erlaubt „ls“, „put a and b“ und „rm x“.",
            "Keine Regel erlaubt „ls“, „put a and b“, „rm x“ und 2 weitere.",
            "Keine Regel erlaubt „ls“.",
        ]


def why_asked(parts: Sequence[str]) -> str:
    """What the policy says of a line of commands that no rule names."""
    return Policy("ask").explain(run.spec, " && ".join(parts)).why
