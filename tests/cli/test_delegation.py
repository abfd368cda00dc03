"""Agents that start others, as the terminal shows them: ``chat`` and ``run`` (W-22, W-32)."""

from __future__ import annotations

from pathlib import Path

from studio.simulator import Call, RequestView, Turn
from studio.storage.paths import Paths
from support.command import at_provider
from support.delegation_home import agent, cast, delegate, repeats, results, save, says
from support.engine_home import reply_requests
from support.terminal_emulator import TerminalEmulator, at_terminal

GATE = "while [ ! -e go ]; do sleep 0.02; done"
BASE = ("--provider", "ollama", "--model", "m", "--agent", "Lead")
LEAD = agent("Lead", "agents: [Helper]")


def at_rest(glass: TerminalEmulator) -> bool:
    """Whether the agent is done."""
    return "/help" in glass.shown[-1]


def helper(view: RequestView) -> Turn:
    if results(view) or view.last_user != "Count the files":
        return says("There are 7.")
    return Turn(Call("ask", {"question": "Which folder?"}))


async def test_w32_children_at_the_terminal(tmp_path: Path) -> None:
    """A question with its path, rows, one in the background; then ``run``, where nobody is."""
    calls = (delegate("Helper", "Count the files"), delegate("Helper", "Go", background=True))
    script = cast(Lead=[Turn(*calls), Turn(Call("wait", {})), repeats], Helper=[helper])
    async with at_provider(tmp_path, "ollama", script) as (terminal, _):
        save(Paths.below(terminal.home).agents, LEAD, agent("Helper"))
        async with at_terminal(terminal, "chat", *BASE, rows=40) as person:
            await person.until("›")
            person.type("hello\r")
            text = await person.until("Allow?")
            assert "Lead wants to start Helper in the background\n    Go\n" in text
            assert "ollama/m, At most $1.25" in text
            person.type("y\r")
            text = await person.until("Answer:")
            assert "Helper: Which folder?\n" in text
            assert "◌ Helper: Count the files\n" in text
            person.type("this one\r")
            text = await person.until("✓ Waited for  all have ended")
            assert "✓ Helper: Go  started" in text
            assert "✓ Helper: Count the files  done, " in text
            await person.until("There are 7.")
            person.type("\x04")
            assert await person.end() == 0
        ended = await terminal("run", *BASE, "hello again")
        assert "· Delegating to Helper: Count the files" in ended.err
        assert "  Helper: Waits for you" in ended.err
        assert "Nobody is here to ask. To allow it: --allow 'delegate(Helper)'" in ended.err
        assert "There are 7." in ended.out and "did not allow this" in ended.out


async def test_w22_an_agent_in_the_background_asks_at_the_terminal_after_the_turn(
    tmp_path: Path,
) -> None:
    """Also W-38: its end is told."""
    script = cast(
        Lead=[Turn(delegate("Helper", "Go", background=True)), says("Later.")],
        Helper=[
            Turn(Call("run", {"command": GATE})),
            Turn(Call("ask", {"question": "Which folder?"})),
            repeats,
        ],
    )
    free = 'permissions: {allow: ["run(*)", delegate]}'
    async with at_provider(tmp_path, "ollama", script) as (terminal, _):
        agents = Paths.below(terminal.home).agents
        save(agents, agent("Lead", f"agents: [Helper]\n{free}"), agent("Helper", free))
        async with at_terminal(terminal, "chat", *BASE, rows=40) as person:
            await person.until("›")
            person.type("hello\r")
            await person.until("Later.")
            await person.until(lambda glass: "/help" in glass.shown[-1])
            (terminal.folder / "go").touch()
            text = await person.until("Answer:")
            assert "Helper, in the background, asks:" in text and "Which folder?" in text
            person.type("this one\r")
            await person.until("Helper, in the background, is done.")
            person.type("\x04")
            assert await person.end() == 0


HANDOFFS = """handoffs:
  - {label: Build it, agent: Helper, prompt: Do the plan above., send: true}
  - {label: Nobody, agent: Nobody}
  - {label: Look again, agent: Critic, prompt: Look at the plan.}"""


async def test_w1_handoffs_are_offered_at_the_terminal(tmp_path: Path) -> None:
    """By number, to agents that are there; what is not to be sent stands in the prompt."""
    script = [says("A plan."), says("Built."), says("Planned anew.")]
    async with at_provider(tmp_path, "ollama", script) as (terminal, simulator):
        save(Paths.below(terminal.home).agents, agent("Lead", HANDOFFS), agent("Helper"))
        save(Paths.below(terminal.home).agents, agent("Critic"))
        async with at_terminal(terminal, "chat", *BASE, rows=40) as person:
            await person.until("›")
            person.type("/handoff 1\r")
            await person.until("hands over to nobody now")
            person.type("plan it\r")
            await person.until("What may come next: 1 Build it (Helper), 2 Look again (Critic).")
            await person.until(at_rest)
            person.type("/handoff 3\r")
            await person.until(lambda glass: glass.text.count("What may come next") == 2)
            await person.until(at_rest)
            person.type("/handoff 1\r")
            await person.until("Built.")
            await person.until(at_rest)
            asked = str(reply_requests(simulator)[-1].json)
            assert "Do the plan above." in asked and "You are Helper" in asked
            person.type("/agent Lead\r")
            await person.until("Agent: Lead")
            person.type("/handoff 2\r")
            await person.until("› Look at the plan.")
            assert len(reply_requests(simulator)) == 2, "it is not sent"
            person.type("\x03\x04")
