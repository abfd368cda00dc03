"""What models are told: each rule in each family and form, few tokens, a reason for each (C-23)."""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path

import pytest

from benchmarks.agent.task import read_tasks
from studio.agent import prompts
from studio.agent.agent_files.finder import AgentFiles
from studio.agent.context.token_count import BYTES_PER_TOKEN
from studio.agent.models.family import model_family
from studio.agent.prompts import FAMILY_PARTS, HOUSE, INSTRUCTIONS_CHANGED, MATERIAL
from studio.agent.session.session import Session
from studio.agent.session.system_prompt import SystemPrompt, instructions
from studio.domain.agents import Agent
from studio.domain.events import Event, HistoryBegun, Told
from studio.simulator import RequestView, Text, Turn
from support.engine_home import PROTOCOLS, EngineHome, engine_home, say

ROOT = Path(__file__).parents[2]
COMMON = 900
"""Tokens of the Coder's file and the rules of the house."""
OF_FAMILY = 300
"""Tokens of a family's own part."""
MODELS = {
    "claude": "claude-sonnet-5",
    "gpt": "gpt-5.2",
    "codex": "gpt-5.2-codex",
    "gemini": "gemini-3-pro",
    "open": "sim-model",
}
RULES = {
    "a": "Go on until",
    "b": "question",
    "c": "See a fault before you mend it",
    "d": "command (or source )?that showed it",
    "e": "[Mm]ention faults beside your task",
    "f": "Before a group of calls say in one short line",
    "g": "comment only for a why that the code cannot show, and no document",
    "h": "commit, amend, push, reset",
    "i": "report them|tell the person where they are",
    "j": "Before you use a library, check",
    "k": "three times in the same way|three like failures",
    "l": "A refusal stands",
}
"""Words by which a rule is known, in either form."""
NARROW = "narrowest test first"
YES = Turn(Text("Yes."))


@pytest.fixture(scope="module")
def agents() -> dict[str, Agent]:
    """The agents that come along, by name."""
    found = AgentFiles(ROOT / "resources" / "agents", ROOT / "none").read()
    return found.by_name


def told(agent: Agent, part: str = "open", *, client: str = "", brief: bool = False) -> str:
    return instructions(agent, client, model_family(MODELS[part]), brief=brief)


def tokens(text: str) -> int:
    return -(-len(text.encode()) // BYTES_PER_TOKEN)


def sentences(text: str) -> list[str]:
    """The sentences of a text, each on one line; bullets are no part of them."""
    lines = [line.removeprefix("- ") for line in re.split(r"\n(?=- )|\n\n", text)]
    joined = [" ".join(line.split()) for line in lines if line.strip()]
    return [one for line in joined for one in re.split(r"(?<=[.!?]) (?=[A-Z])", line)]


@pytest.mark.parametrize("brief", [False, True])
@pytest.mark.parametrize("part", MODELS)
def test_c23_each_rule_is_told_to_each_family(
    agents: dict[str, Agent], part: str, *, brief: bool
) -> None:
    """C-23: a to l, f to none of the Codex models."""
    assert model_family(MODELS[part]).part == part
    text = told(agents["Coder"], part, brief=brief)
    found = {letter for letter, words in RULES.items() if re.search(words, text)}
    assert found == set(RULES) - ({"f"} if part == "codex" else set())
    assert NARROW in text and FAMILY_PARTS[model_family(MODELS[part]).part] in text


@pytest.mark.parametrize("brief", [False, True])
def test_c23_they_keep_to_a_budget(agents: dict[str, Agent], *, brief: bool) -> None:
    """C-23: 900 tokens of common rules, 300 of a family, and much fewer in a small window."""
    for name, agent in agents.items():
        common = tokens(told(agent, brief=brief).replace(FAMILY_PARTS["open"], ""))
        print(f"{name}, {'brief' if brief else 'long'}: {common} tokens")
        assert common <= (600 if brief else COMMON)
    for part, words in FAMILY_PARTS.items():
        print(f"{part}: {tokens(words)} tokens")
        assert tokens(words) <= OF_FAMILY


def test_nothing_of_a_folder_or_a_day_is_in_them(agents: dict[str, Agent]) -> None:
    """C-17: they are the same for everybody."""
    for agent in agents.values():
        for part in MODELS:
            for brief in (False, True):
                text = told(agent, part, brief=brief)
                assert not re.search(r"\d{2}|/|[{}]", text), text


def test_an_agent_is_told_what_it_can_do() -> None:
    """C-23: nobody hears of commits who has no commands, nor of drafts who only reads."""
    reader = Agent("Reader", prompt="Read.", tools=("read",))
    text = told(reader)
    assert "draft" not in text and "commit" not in text and "A refusal stands" in text
    writer = told(replace(reader, tools=("read", "write")))
    assert "draft" in writer and "commit" not in writer
    everything = told(Agent("Coder", prompt="Work.", tools=("*",)))
    assert everything == told(Agent("Coder", prompt="Work.", tools=("read", "run")))
    assert "commit" in everything and "draft" in everything
    for role, same in (("edits", writer), ("reads", text)):
        assert told(Agent("C", prompt="Read.", tools=("*",), role=role)) == same  # type: ignore[arg-type]
    assert told(Agent("Poet", prompt="In verse.", tools=())) == f"In verse.\n\n{MATERIAL}"
    assert told(Agent("Plain", tools=())) == "" and told(Agent("P", tools=()), client="Hi") == "Hi"
    assert told(reader, client="Hi").startswith(f"{text}\n\n")


async def system_of(home: EngineHome, session: Session) -> str:
    native = await home.engine.store.native(session.info.id)
    assert native is not None
    return native.system


def notes(events: list[Event]) -> list[str]:
    return [one.text for one in events if isinstance(one, Told) and one.topic == "instructions"]


@pytest.mark.parametrize(
    ("provider", "part", "window"),
    [
        ("anthropic", "claude", 200_000),
        ("openai", "gpt", 200_000),
        ("openai", "codex", 200_000),
        ("gemini", "gemini", 200_000),
        ("ollama", "open", 32_000),
        ("ollama", "open", 8_192),
        ("openai-compatible", "open", 4_096),
        ("openai-compatible", "open", None),
    ],
)
async def test_c23_the_model_gets_its_form(
    tmp_path: Path, agents: dict[str, Agent], provider: str, part: str, window: int | None
) -> None:
    """C-23: over the wire; a window that nobody knows gets all of it."""
    model, heard = MODELS[part], list[str]()

    def script(view: RequestView) -> Turn:
        heard.append(view.system)
        return YES

    async with engine_home(tmp_path, provider, script) as home:
        if window:
            home.engine.settings.values.models[f"{provider}/{model}"] = {"context_window": window}
        events = await say(await home.session(model=model))
        brief = window is not None and window <= 8_192
        assert heard == [told(agents["Coder"], part, brief=brief)]
        assert not notes(events) and not home.simulator.violations


@pytest.mark.parametrize("provider", PROTOCOLS)
async def test_h9_a_chat_of_an_older_version_is_told_once(tmp_path: Path, provider: str) -> None:
    """H-9, C-23: its system prompt stays byte for byte, and nothing is refused, nor told again."""
    old = "You are a careful software engineer.\n\nYou work in a folder of the person's."
    async with engine_home(tmp_path, provider, [YES]) as home:
        session = await home.session()
        await say(session)
        kept = session.info.id
        stored = await home.engine.store.native(kept)
        assert stored is not None
        new = stored.system
        await home.engine.store.begin_epoch(
            kept, provider, stored.protocol, "sim-model", old, stored.tools, stored.items, why=""
        )
    heard: list[str] = []

    def script(view: RequestView) -> Turn:
        heard.append(view.system)
        return YES

    for number in range(2):
        async with engine_home(tmp_path, provider, script, seed=number + 1) as home:
            session = await home.engine.sessions.open(kept)
            events = await say(session, "And now?") + await say(session, "And now?")
            expected = [INSTRUCTIONS_CHANGED.format(instructions=new)] if number == 0 else []
            assert notes(events) == expected
            assert not home.simulator.violations
            assert all(one.status == 200 for one in home.asked)
            assert await system_of(home, session) == old
    assert all(one.startswith(old) for one in heard) and len(heard) == 4


async def test_another_length_is_no_news(tmp_path: Path) -> None:
    """H-9: a window that turns out smaller or larger changes nothing in a chat that has begun."""
    async with engine_home(tmp_path, "openai-compatible", [YES] * 4) as home:
        session = await home.session()
        models = home.engine.settings.values.models
        assert not notes(await say(session))
        system = await system_of(home, session)
        for window in (8_192, 64_000):
            models["openai-compatible/sim-model"] = {"context_window": window}
            assert not notes(await say(session))
        assert await system_of(home, session) == system


def test_another_length_of_changed_instructions_is_no_news_either() -> None:
    """H-9: nor where they were told in a note."""
    prompt = SystemPrompt("ask", "Long.", "Brief.", frozenset())
    (note,) = prompt.untold({}, "Old.", [])
    assert note.text == INSTRUCTIONS_CHANGED.format(instructions="Long.")
    turned = SystemPrompt("ask", "Brief.", "Long.", frozenset())
    for one in (prompt, turned):
        assert not one.untold({"instructions": note.text}, "Old.", [])
        assert not one.untold({}, "Long. And a client's.", [])
    other = SystemPrompt("ask", "Other.", "O.", frozenset())
    assert [one.topic for one in other.untold({"instructions": note.text}, "Old.", [])] == [
        "instructions"
    ]


async def test_h9_another_family_gets_its_own_history(tmp_path: Path) -> None:
    """H-9, C-23: a change of model begins a new one, so nothing is told of other instructions."""
    async with engine_home(tmp_path, "openai", [YES] * 3) as home:
        session = await home.session(model=MODELS["gpt"])
        assert not notes(await say(session))
        for part in ("codex", "gpt"):
            await session.change(model=MODELS[part])
            events = await say(session)
            assert any(isinstance(event, HistoryBegun) for event in events) and not notes(events)
            asks_for_words = re.search(RULES["f"], await system_of(home, session))
            assert bool(asks_for_words) == (part == "gpt")
        assert not home.simulator.violations


# The page with the reasons

ROW = re.compile(r"^\| (.+?) \| (.+?) \|(?: (.*?) ?\|)?$", re.M)


def rows(page: str, heading: str) -> list[tuple[str, str, str]]:
    """The rows of the table below a heading, without those at its top."""
    section = page.split(f"\n## {heading}\n")[1].split("\n## ")[0]
    return ROW.findall(section)[2:]


def test_each_sentence_has_a_reason(agents: dict[str, Agent]) -> None:
    """C-23: the page and the prompts have the same sentences, in order."""
    page = (ROOT / "docs" / "prompts.md").read_text()
    expected = {
        "The rules of the house": [(r.name, one) for r in HOUSE for one in sentences(r.text)],
        "In a small window": [(r.name, r.brief) for r in HOUSE],
        "Families": [(p, one) for p, words in FAMILY_PARTS.items() for one in sentences(words)],
        "Agents without tools": [("i", MATERIAL)],
    }
    for heading, pairs in expected.items():
        found = rows(page, heading)
        assert [row[:2] for row in found] == pairs
        assert heading == "In a small window" or all(len(row[2]) > 10 for row in found)
    for name, agent in agents.items():
        if agent.prompt:
            found = rows(page, name)
            assert [row[1] for row in found] == sentences(agent.prompt)
            assert all(row[0] in {"–", *RULES} and len(row[2]) > 10 for row in found)
    of_coder = {row[0] for row in (*rows(page, "Coder"), *rows(page, "The rules of the house"))}
    assert of_coder >= set(RULES)


def test_each_text_of_the_loop_has_a_reason() -> None:
    """C-23: and none is named that is not there."""
    page = (ROOT / "docs" / "prompts.md").read_text()
    texts = {
        name
        for name, value in vars(prompts).items()
        if name.isupper()
        and isinstance(value, str | dict)
        and name not in ("FAMILY_PARTS", "PROGRESS")
    }
    found = rows(page, "What the loop tells it")
    assert {row[0].strip("`") for row in found} == texts and len(found) == len(texts)
    assert all(len(row[1]) > 10 for row in found)


def test_the_page_names_the_task_of_each_rule() -> None:
    """C-23, C-27: the tasks with an attempt that breaks the rule."""
    page = (ROOT / "docs" / "prompts.md").read_text()
    broken: dict[str, set[str]] = {}
    for task in read_tasks():
        for attempt in task.wrong:
            if attempt.rule:
                broken.setdefault(attempt.rule, set()).add(task.name)
    found = rows(page, "Which task shows a rule")
    assert {row[0]: set(row[1].split(", ")) for row in found} == broken
    assert broken.keys() == RULES.keys()
