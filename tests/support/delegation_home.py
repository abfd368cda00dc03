"""Agents that start others, in a studio of their own, with the simulator as their model."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from pathlib import Path

from studio.domain.jsonvalue import Json
from studio.simulator import Call, RequestView, Said, Text, Turn
from studio.simulator.request_view import Returned

Reply = Turn | Callable[[RequestView], Turn]


def agent(name: str, keys: str = "", tools: str = "read, write, edit, list, run, ask") -> str:
    """The text of an agent's file, which says “You are NAME.”."""
    more = f"{keys}\n" if keys else ""
    return (
        f"---\nname: {name}\ndescription: Is {name}\ntools: [{tools}]\n{more}---\nYou are {name}.\n"
    )


def save(folder: Path, *texts: str) -> None:
    """Put agents into a folder of agents."""
    folder.mkdir(parents=True, exist_ok=True)
    for text in texts:
        name = text.split("name: ", 1)[1].split("\n", 1)[0].lower()
        (folder / f"{name}.md").write_text(text)


def delegate(name: str, task: str, **more: Json) -> Call:
    return Call("delegate", {"agent": name, "task": task, **more})


def cast(**parts: Sequence[Reply]) -> Callable[[RequestView], Turn]:
    """A script with the replies of each agent, anew for every session; the last one stays."""
    spoken: Counter[tuple[str, str]] = Counter()

    def script(view: RequestView) -> Turn:
        name = next(name for name in parts if f"You are {name}." in view.system)
        said = next(o.text for o in view.items if isinstance(o, Said) and o.role == "user")
        key = name, said
        spoken[key] += 1
        reply = parts[name][min(spoken[key], len(parts[name])) - 1]
        return reply if isinstance(reply, Turn) else reply(view)

    return script


def results(view: RequestView) -> list[str]:
    """What the calls of a session returned so far."""
    return [one.text for one in view.items if isinstance(one, Returned)]


def says(text: str) -> Turn:
    return Turn(Text(text))


def repeats(view: RequestView) -> Turn:
    """An answer with all results so far."""
    return says("\n\n".join(results(view)))
