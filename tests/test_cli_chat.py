"""``agent-studio chat``: the real program at a real pseudo-terminal, over the strict simulator."""

from __future__ import annotations

from pathlib import Path

from glass import sitting
from house import asked
from terminal import at_provider

from studio.providers.simulator import Call, Text, Turn

BASE = ("chat", "--provider", "ollama", "--model", "m")
"""The protocol without an SDK: the process starts in no time."""


def run(command: str) -> Call:
    return Call("run", {"command": command})


async def test_two_turns_and_a_question(tmp_path: Path) -> None:
    """S-5, T-7: markdown is laid out, a question is answered, the conversation goes on."""
    script = [
        Turn(Text("Hello **you**.\n\n```python\nx = 1\n```\n"), run("echo one"), stop="tool_use"),
        Turn(Text("Done."), stop="end"),
        Turn(Text("And again."), stop="end"),
    ]
    async with at_provider(tmp_path, "ollama", script) as (terminal, simulator):
        async with sitting(terminal, *BASE) as person:
            await person.until("›")
            person.type("hello\r")
            text = await person.until("Allow? [y]es once, this [s]ession, this [f]older")
            assert "Hello you.\n\n  x = 1\n" in text  # printed before the question
            assert "Coder wants to run a command\n    echo one\n" in text
            assert "No rule allows this command." in text
            person.type("y\r")
            text = await person.until("Done.")
            assert "✓ Ran echo one  exit 0" in text
            person.type("more\r")
            await person.until("And again.")
            await person.until(lambda glass: "Ctrl-C stops" not in glass.shown[-1])
            person.type("\x04")
            assert await person.end() == 0
            assert "To go on: agent-studio chat --session " in person.glass.text
        assert "hello" in str(asked(simulator)[2].json) and len(asked(simulator)) == 3
        assert not simulator.violations
