"""``agent-studio tools``: lists, shows, creates and tries tools (T-1)."""

from __future__ import annotations

import argparse
import json
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, cast

from studio.cli.command_context import CommandContext, chosen_folder
from studio.cli.exit_codes import DENIED, DONE, USAGE
from studio.cli.parser import CommandParser
from studio.domain.errors import ConfigurationError, ToolFailed
from studio.domain.jsonvalue import Json, JsonObject

if TYPE_CHECKING:
    from studio.agent.engine import Engine
    from studio.cli.console import Console
    from studio.domain.drafts import Draft, DraftStatus, FileDraft
    from studio.domain.questions import AskedQuestion
    from studio.domain.tools import Effect
    from studio.tools import Context, Result, Tool

EFFECTS: dict[Effect, str] = {
    "read": "reads in the folder",
    "fetch": "reads from outside the folder, asked about",
    "draft": "proposes file changes",
    "note": "keeps notes, asked about",
    "act": "acts, asked about",
}


def arguments(parser: CommandParser) -> None:
    helps = {
        "list": "all tools, and files that could not be loaded",
        "show": "one tool: what a model is told of it",
        "new": "create a tool file of your own",
        "test": "run a tool in a folder",
    }
    made = parser.add_subcommands(helps)
    for name, one in made.items():
        if name != "list":
            one.add_argument("name", metavar="NAME", help="the tool's name")
        one.add_argument("--json", action="store_true", help="print JSON")
    test = made["test"]
    test.add_argument("--args", default="{}", metavar="JSON", help="its arguments, a JSON object")
    test.add_argument("--folder", type=Path, metavar="DIR", help="default: the current folder")
    test.add_argument("--yes", action="store_true", help="run it without asking, if it acts")


async def run(context: CommandContext, options: argparse.Namespace) -> int:
    """List tools, show one, create one, or try one in a folder."""
    engine, console = await context.engine(), context.console
    match options.what:
        case "list":
            return _list(engine, options, console)
        case "show":
            return await _show(engine, options, console)
        case "new":
            return await _new(engine, options, console)
        case _:
            return await _Trial(engine, options, console).run()


def _list(engine: Engine, options: argparse.Namespace, console: Console) -> int:
    found = engine.toolbox
    if options.json:
        rows: list[JsonObject] = [
            {"name": name, "effect": tool.spec.effect, "origin": _origin(engine, tool)}
            for name, tool in sorted(found.tools.items())
        ]
        console.write_json({"tools": cast("Json", rows), "problems": list(found.problems)})
        return DONE
    width = max(map(len, found.tools), default=0)
    for name, tool in sorted(found.tools.items()):
        console.row(f"{name:<{width}}  {tool.spec.effect:<5}  {_origin(engine, tool)}")
    return DONE  # problems were told when the program began


async def _show(engine: Engine, options: argparse.Namespace, console: Console) -> int:
    tool, spec = _tool(engine, options.name), _tool(engine, options.name).spec
    agents = await engine.agents(Path.cwd())
    users = sorted(n for n, one in agents.by_name.items() if {"*", spec.name} & {*one.tools})
    if options.json:
        told = {**asdict(spec), "origin": _origin(engine, tool), "agents": users}
        console.write_json(told, indent=2)
        return DONE
    limit = f"{spec.time_limit:g} s" if spec.time_limit is not None else "none of its own"
    facts = {
        "Effect": f"{spec.effect} ({EFFECTS[spec.effect]})",
        "From": _origin(engine, tool),
        "Agents": ", ".join(users) or "none; name it in an agent’s file",
        "Target": spec.target or "none",
        "Time limit": limit,
    }
    console.write(f"{spec.name}\n\n{spec.description}\n\n")
    for name, words in facts.items():
        console.row(f"{name + ':':<12}{words}")
    console.write("\n")
    console.write_json(spec.schema, indent=2)
    return DONE


async def _new(engine: Engine, options: argparse.Namespace, console: Console) -> int:
    import asyncio

    from studio.files.folders import private_folder
    from studio.tools.sdk.tool_template import create_tool_file

    folder = await asyncio.to_thread(private_folder, engine.paths.tools)
    path = await asyncio.to_thread(create_tool_file, folder, options.name, engine.tools())
    if options.json:
        console.write_json({"name": options.name, "file": str(path)})
        return DONE
    console.row(f"{path}")
    sample = json.dumps({"path": "README.md"})
    console.say(
        f"Edit it, then try it: agent-studio tools test {options.name} --args '{sample}'",
        "The agents that came with the program can use it. Yours name it, or “own”, in their file.",
    )
    return DONE


def _tool(engine: Engine, name: str) -> Tool:
    tool = engine.tools().get(name)
    if tool is None:
        known = ", ".join(sorted(engine.tools()))
        raise ConfigurationError(f"There is no tool {name}. Known are {known}.")
    return tool


def _origin(engine: Engine, tool: Tool) -> str:
    if tool.built_in:
        return "built in"
    return tool.origin or tool.module or "built in"


class _TrialDrafts:
    """The drafts of a trial, which are shown and never written."""

    def __init__(self) -> None:
        self.drafts: list[Draft] = []

    def draft_of(self, path: str) -> FileDraft | None:
        from studio.domain.drafts import FileDraft

        files = (one for one in self.drafts if isinstance(one, FileDraft))
        return next((one for one in files if path in one.paths), None)

    def waiting(self, *, of_turn: bool) -> Sequence[FileDraft]:
        return ()

    async def propose(self, draft: Draft, *more: Draft) -> DraftStatus:
        for new in (draft, *more):
            self.drafts = [*(one for one in self.drafts if not one.keys & new.keys), new]
        return "waiting"

    async def withdraw(self, draft: Draft) -> None:
        self.drafts = [one for one in self.drafts if one.id != draft.id]


class _Trial:
    """A trial: one call of a tool, made by the person."""

    def __init__(self, engine: Engine, options: argparse.Namespace, console: Console) -> None:
        self._engine = engine
        self._options = options
        self._console = console
        self._person = console.interactive and not options.json

    async def run(self) -> int:
        import asyncio
        import time

        from studio.tools import Context, Workspace

        tool = _tool(self._engine, self._options.name)
        given = _arguments(self._options.args)
        folder = chosen_folder(self._options)
        try:
            arguments = await asyncio.to_thread(tool.check, given)
        except ToolFailed as failure:
            raise ConfigurationError(str(failure)) from failure
        if not await self._allowed(tool, arguments, folder):
            return DENIED
        proposed = _TrialDrafts()
        context = Context(
            workspace=await asyncio.to_thread(Workspace, folder),
            drafts=proposed,
            emit=self._emit,
            ask_all=self._ask,
            environment=self._engine.environment(),
            keeper=self._engine.services.keeper,
        )
        began = time.monotonic()
        result = await _call(tool, context, arguments)
        await self._print(result, time.monotonic() - began, proposed.drafts)
        return USAGE if result.is_error else DONE

    async def _allowed(self, tool: Tool, arguments: JsonObject, folder: Path) -> bool:
        if tool.spec.effect in ("read", "draft") or self._options.yes:
            return True
        if not self._person:
            self._console.say(
                f"{tool.spec.name} needs your permission, and nobody is here to ask. "
                "To run it: --yes"
            )
            return False
        shown = json.dumps(arguments, indent=2, ensure_ascii=False)
        self._console.say(f"{tool.spec.name} in {folder}", *shown.split("\n"))
        line = await self._console.line("Run it? [y]es, [n]o: ")
        return line is not None and line.strip().lower() in ("y", "yes")

    def _emit(self, text: str) -> None:
        self._console.say(*text.rstrip("\n").split("\n"))

    async def _ask(self, questions: Sequence[AskedQuestion]) -> str:
        from studio.agent.permission.approval import answers_text
        from studio.cli.questions import ask_questions

        answers = await ask_questions(self._console, questions) if self._person else []
        if not answers:
            raise ToolFailed("Nobody is here to answer.")
        return answers_text(questions, [*answers, *[""] * (len(questions) - len(answers))])

    async def _print(self, result: Result, seconds: float, drafts: Sequence[Draft]) -> None:
        import asyncio

        from studio.domain.drafts import draft_label

        text = await asyncio.to_thread(lambda: result.text)
        changes = [await asyncio.to_thread(_change, draft) for draft in drafts]
        if self._options.json:
            self._console.write_json(
                {
                    "text": text,
                    "is_error": result.is_error,
                    "summary": result.summary,
                    "sources": list(result.sources),
                    "images": [image.media_type for image in result.images],
                    "seconds": round(seconds, 3),
                    "drafts": changes,
                }
            )
            return
        self._console.write(f"{text}\n")
        self._console.end_line()
        for draft in changes:
            place = draft_label(draft["path"], draft["target"])
            head = f"Draft, not written: {draft['action']} {place}"
            self._console.say("", head, *draft["diff"].split("\n"))
        summary = [f"Summary: {result.summary}"] if result.summary else []
        sources = [f"Sources: {', '.join(result.sources)}"] if result.sources else []
        state = "Failed" if result.is_error else "Done"
        self._console.say(*summary, *sources, f"{state} in {seconds:.2f} s")


async def _call(tool: Tool, context: Context, arguments: JsonObject) -> Result:
    """Call the tool as a turn would, within its time limit; a failure is a result too."""
    import asyncio

    from studio.tools import Result

    limit = tool.spec.time_limit
    timer = asyncio.timeout(limit)
    try:
        async with timer:
            return await tool.call(context, arguments)
    except ToolFailed as failure:
        return Result(str(failure), is_error=True)
    except TimeoutError:
        if not timer.expired():
            raise
        return Result(f"Timed out after {limit:g} s.", is_error=True)


def _arguments(text: str) -> JsonObject:
    try:
        found = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise ConfigurationError(f"--args is no JSON: {error}") from error
    if not isinstance(found, dict):
        raise ConfigurationError('--args must be a JSON object, like {"path": "README.md"}')
    return cast("JsonObject", found)


def _change(draft: Draft) -> dict[str, str]:
    from studio.tools.drafts.diff import unified_diff

    about = draft.describe()
    signs = {"add": "+", "del": "-", "fold": ""}
    lines = [f"{signs.get(row.kind, ' ')}{row.text}" for row in unified_diff(draft)]
    return {
        "path": about.name,
        "action": about.action,
        "target": about.target,
        "diff": "\n".join(lines),
    }
