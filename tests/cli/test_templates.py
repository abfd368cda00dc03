"""Templates: messages with places, for ``run -t``, and the command that lists and edits them (S-5)."""

from __future__ import annotations

import json
import sys
from argparse import Namespace
from io import BytesIO, TextIOWrapper
from pathlib import Path

import pytest

from studio.cli.templates import SAMPLE, Template, read_template
from studio.domain.errors import ConfigurationError
from studio.simulator import Text, Turn
from support.command import Command, screen
from support.engine_home import engine_home

REVIEW = """---
description: Looks at a change
model: m
system: Be strict.
options:
  temperature: 0
defaults:
  tone: kind
---
Review in a $tone tone, for ${who}, it costs $$5 or $6:

$input
"""


async def test_a_template_makes_the_message_and_chooses_who_answers(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    async with engine_home(tmp_path, "openai-compatible", lambda _: Turn(Text("Fine."))) as one:
        folder = one.engine.paths.templates
        folder.mkdir()
        (folder / "review.md").write_text(REVIEW)
        (folder / "broken.md").write_text("---\nmood: x\n---\nHi")
        base = ("run", "--provider", "openai-compatible", "--folder", str(one.folder), "--quiet")
        (tmp_path / "typed").write_bytes(b"+ x = 1\n")
        with (tmp_path / "typed").open() as typed:
            monkeypatch.setattr(sys, "stdin", typed)
            assert await one.command(*base, "-t", "review", "-p", "who=Ann") == 0
        sent = one.asked[-1].json
        assert (sent["model"], sent["temperature"]) == ("m", 0)
        assert "Be strict." in str(sent["messages"][0])
        said = sent["messages"][-1]["content"].partition("</orientation>\n\n")[2]
        assert said == "Review in a kind tone, for Ann, it costs $5 or $6:\n\n+ x = 1"

        monkeypatch.setattr(sys, "stdin", TextIOWrapper(BytesIO()))
        words = (
            "-t",
            "review",
            "-p",
            "who=Ann",
            "-p",
            "tone=dry",
            "-o",
            "temperature=1",
            "-m",
            "n",
        )
        assert await one.command(*base, *words, "y = 2") == 0  # the command line goes first
        sent = one.asked[-1].json
        assert (sent["model"], sent["temperature"]) == ("n", 1)
        assert "a dry tone" in str(sent["messages"]) and "y = 2" in str(sent["messages"])
        asked = len(one.asked)
        for wrong, told in (
            (("-t", "review", "x"), "needs -p who=…"),
            (("-t", "review", "-p", "who=A", "-p", "why=B", "x"), "has no place $why"),
            (("-t", "nothing", "x"), "There are: broken, review."),
            (("-t", "../settings", "x"), "is no name of a template"),
            (("-t", "broken", "x"), "there is no key mood"),
        ):
            capsys.readouterr()
            assert await one.command(*base, *wrong) == 1
            assert told in capsys.readouterr().err
        assert len(one.asked) == asked
        assert await one.command("templates", "list", "--json") == 0
        rows = json.loads(capsys.readouterr().out)
        assert [row["description"] for row in rows] == ["", "Looks at a change"]
        assert await one.command("templates", "show", "review") == 0
        assert capsys.readouterr().out == REVIEW
        assert await one.command("templates", "edit", "review") == 1
        assert str(folder / "review.md") in capsys.readouterr().err


def test_provider_and_model_of_a_template_go_together() -> None:
    """A model that the person names is never asked of the template's provider."""
    template = Template("t", "$input", provider="anthropic", model="claude-sonnet-5")
    for provider, model, chosen in (
        (None, None, ("anthropic", "claude-sonnet-5")),
        (None, "gpt-5.5", (None, "gpt-5.5")),
        ("openai", None, ("openai", None)),
        ("anthropic", None, ("anthropic", "claude-sonnet-5")),
        ("openai", "gpt-5.5", ("openai", "gpt-5.5")),
    ):
        options = Namespace(
            provider=provider, model=model, agent=None, effort=None, system=None, option=[]
        )
        template.apply(options)
        assert (options.provider, options.model) == chosen


def test_places_and_mistakes(tmp_path: Path) -> None:
    plain = Template("t", "Translate.")
    assert plain.fill("Hello", ()) == "Translate.\n\nHello" and not plain.wants_input
    assert plain.fill("", ()) == "Translate."
    assert Template("t", "A $input b $input").fill("x $who", ()) == "A x $who b x $who"
    assert Template("t", "$input", defaults={"input": "d"}).fill("", ()) == "d"
    for text, words in (
        ("---\n- a\n---\n", "key: value"),
        ("---\neffort: huge\n---\n", "effort is one of"),
        ("---\nmodel: 7\n---\n", "model is a text"),
        ("---\noptions:\n  heat: 1\n---\n", "an option is NAME=VALUE"),
        ("---\ndefaults: x\n---\n", "name: value"),
        ("---\na: [\n---\n", "line "),
    ):
        (tmp_path / "t.md").write_text(text)
        with pytest.raises(ConfigurationError, match=words):
            read_template(tmp_path, "t")
    (tmp_path / "t.md").write_text(SAMPLE)
    assert read_template(tmp_path, "t").places == ["language", "input"]


async def test_a_new_template_begins_with_a_sample(tmp_path: Path) -> None:
    terminal = Command(tmp_path, EDITOR="sed -i s/three/four/")
    async with screen(terminal, "templates", "edit", "summary") as person:
        await person.until("summary.md: places $language $input")
        assert await person.end() == 0
    file = terminal.home / "templates" / "summary.md"
    assert file.read_text() == SAMPLE.replace("three", "four")
