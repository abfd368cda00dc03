"""``agent-studio mcp``: lists, adds, switches, tries and calls MCP servers, and is one (M-25)."""

from __future__ import annotations

import argparse
import json
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, cast

from studio.cli.command_context import CommandContext
from studio.cli.exit_codes import DENIED, DONE, USAGE
from studio.cli.parser import CommandParser
from studio.domain.errors import ConfigurationError, ToolFailed
from studio.domain.jsonvalue import Json, JsonObject

if TYPE_CHECKING:
    from studio.agent.engine import Engine
    from studio.agent.servers.server_calls import ToolView
    from studio.agent.servers.server_tools import ServerView
    from studio.cli.console import Console
    from studio.domain.questions import AskForm, ServerAnswer, ServerQuestion
    from studio.mcp.confinement import Confinement
    from studio.mcp.entries import ServerEntry
    from studio.mcp.results import ServerResult

REST = argparse.REMAINDER


def arguments(parser: CommandParser) -> None:
    made = parser.add_subcommands(
        {
            "list": "all servers, also those of this folder",
            "add": "add a server: a command, or an address",
            "import": "list the servers that other programs know, or take them",
            "remove": "remove a server, and what is remembered of it",
            "on": "switch a server on after a look at what it runs, or some of its tools",
            "off": "switch a server off, or some of its tools",
            "test": "start a server and say what is wrong with it",
            "tools": "the tools of a server, with what is odd about them",
            "call": "call a tool of a server",
            "login": "sign in to a server, in your browser",
            "logout": "sign out of a server",
            "logs": "what a server wrote on standard error",
            "get-uv": "fetch uv, which starts servers from PyPI and the Python of packs",
            "serve": "offer your agents and workflows to a program that speaks MCP",
        }
    )
    made["get-uv"].description = (
        "Fetch uv from PyPI, 20 MB, into the folder of this program. A uv that you have is taken "
        "before it."
    )
    for name, one in made.items():
        if name in ("serve", "get-uv"):
            continue
        if name not in ("list", "import"):
            one.add_argument("name", metavar="NAME", help="the server's name")
        if name != "add":
            one.add_argument("--folder", type=Path, metavar="DIR", help="default: the current one")
        one.add_argument("--json", action="store_true", help="print JSON")
    taken = made["import"]
    taken.add_argument("names", nargs="*", metavar="NAME", help="which to take; without: a list")
    taken.add_argument("--all", action="store_true", help="take all that are not here yet")
    taken.add_argument("--from", dest="file", type=Path, metavar="FILE", help="of one file alone")
    add = made["add"]
    add.add_argument("--env", action="append", default=[], metavar="NAME=VALUE", help="a variable")
    add.add_argument("--header", action="append", default=[], metavar="NAME=VALUE", help="a header")
    add.add_argument("--cwd", default="", metavar="DIR", help="the folder that it runs in")
    add.add_argument("--sse", action="store_true", help="the address speaks the older SSE")
    add.add_argument("--each-folder", action="store_true", help="one process for each folder")
    add.add_argument("start", nargs=REST, metavar="COMMAND", help="the command, or the address")
    for name in ("on", "off"):
        made[name].add_argument("tools", nargs="*", metavar="TOOL", help="by the server's own name")
        made[name].add_argument(
            "--sampling", action="store_true", help="only whether it may ask for a model's answers"
        )
    made["on"].add_argument(
        "--sandbox",
        choices=("none", "offline", "network"),
        help="where a server on this computer runs: in the sandbox without or with network",
    )
    made["on"].add_argument("--yes", action="store_true", help="without asking")
    login = made["login"]
    login.add_argument("--client-id", default="", metavar="ID", help="as you registered it there")
    login.add_argument("--scope", default="", metavar="WORDS", help="rights beside the usual ones")
    login.add_argument("--no-browser", action="store_true", help="only print the address")
    marks = made["tools"].add_mutually_exclusive_group()
    marks.add_argument("--reads", metavar="TOOL", help="say that a tool only reads")
    marks.add_argument("--acts", metavar="TOOL", help="take that back")
    serve = made["serve"]
    serve.description = (
        "Be an MCP server on standard input and output: list_agents, ask_agent, run_workflow. "
        "Other programs start this command."
    )
    serve.add_argument(
        "--folder", type=Path, metavar="DIR", help="where agents work; default: your setting"
    )
    call = made["call"]
    call.add_argument("tool", metavar="TOOL", help="by the server's own name")
    call.add_argument("--args", default="{}", metavar="JSON", help="its arguments, a JSON object")
    call.add_argument("--yes", action="store_true", help="without asking")


async def run(context: CommandContext, options: argparse.Namespace) -> int:
    """List servers, add or remove one, switch it, try it, call one of its tools, or be one."""
    if options.what == "serve":
        return await context.run_external(options)
    command = _Command(await context.engine(), options, context.console)
    return await getattr(command, f"do_{options.what.replace('-', '_')}")()


class _Command:
    def __init__(self, engine: Engine, options: argparse.Namespace, console: Console) -> None:
        self._engine = engine
        self._servers = engine.services.servers
        self._options = options
        self._console = console

    @property
    def _folder(self) -> Path:
        folder: Path = getattr(self._options, "folder", None) or Path.cwd()
        return folder.resolve()

    async def _views(self) -> list[ServerView]:
        """All servers, with those of the folder if the person trusts it."""
        import asyncio

        def look() -> tuple[list[ServerView], tuple[str, ...]]:
            layers = self._engine.rules.read_layers(self._folder)
            entries = self._servers.read(layers.files, trusted=layers.trusted)
            return self._servers.views(entries, self._engine.tools()), entries.problems

        views, problems = await asyncio.to_thread(look)
        self._servers.show(view.entry for view in views)
        if problems:
            self._console.say(*problems)
        return views

    async def _view(self) -> ServerView:
        views = await self._views()
        for view in views:
            if view.entry.name == self._options.name:
                return view
        known = ", ".join(view.entry.name for view in views) or "none"
        raise ConfigurationError(f"There is no server {self._options.name}. Known are: {known}.")

    async def do_get_uv(self) -> int:
        self._console.require_a_person()
        await self._engine.fetch_uv()
        self._console.say(f"uv is in {self._engine.paths.programs}, for this program alone.")
        return DONE

    async def do_list(self) -> int:
        views = await self._views()
        if self._options.json:
            self._console.write_json([_server_row(view) for view in views], indent=2)
            return DONE
        width = max((len(view.entry.name) for view in views), default=0)
        for view in views:
            self._console.row(f"{view.entry.name:<{width}}  {_state(view):<22}  {view.entry.shown}")
        if not views:
            self._console.say("There is no server. Add one: agent-studio mcp add NAME COMMAND")
        return DONE

    async def do_add(self) -> int:
        from studio.domain.errors import StudioError
        from studio.mcp.entries import ServerEntry, parse_entry
        from studio.mcp.importing.hiding import Hiding

        options = self._options
        words: Sequence[str] = options.start[1:] if options.start[:1] == ["--"] else options.start
        if not words:
            raise ConfigurationError("Say what starts the server, or its address.")
        if options.name in {view.entry.name for view in await self._views()}:
            raise ConfigurationError(f"There is a server {options.name} already. Remove it first.")
        hiding = Hiding(options.name, self._engine.environment())
        far = words[0].startswith(("http://", "https://"))
        if far and len(words) > 1:
            raise ConfigurationError("An address stands last: options come before the name.")
        pairs = {
            name: {key: hiding.variable(key, value) for key, value in _pairs(given)}
            for name, given in (("env", options.env), ("header", options.header))
        }
        entry = ServerEntry(
            options.name,
            "" if far else words[0],
            hiding.arguments(words[1:]),
            pairs["env"],
            options.cwd,
            hiding.address(words[0]) if far else "",
            pairs["header"],
            ("sse" if options.sse else "http") if far else "stdio",
            by_folder=options.each_folder,
        )
        try:
            from studio.mcp.entries import described

            parse_entry(entry.name, described(entry))
        except ValueError as error:
            raise ConfigurationError(f"The server {entry.name} {error}.") from error
        for name, secret in hiding.secrets.items():
            try:
                await self._engine.keep_key(name, secret)
            except StudioError as error:
                raise ConfigurationError(
                    f"{error} Put it into a variable, and ${{VARIABLE}} in its place."
                ) from error
        await self._servers.put(entry)
        self._told(entry, "added, and off")
        self._console.say(f"Look at it and switch it on: {_typed('on', entry)}")
        return DONE

    async def do_import(self) -> int:
        from studio.cli.server_import import import_servers

        folder = self._folder if self._options.folder else None
        return await import_servers(self._engine, self._options, self._console, folder)

    async def do_remove(self) -> int:
        from studio.mcp.entries import HOST, PACK

        view = await self._view()
        if view.entry.place:
            place = view.entry.place
            if place.startswith((PACK, HOST)):
                raise ConfigurationError(
                    f"{view.entry.name} is a server of the pack {place.partition(':')[2]}. "
                    "Switch it off, or remove the pack."
                )
            raise ConfigurationError(
                f"{view.entry.name} is a server of the folder {place}. "
                "Switch it off, or remove it from the file there."
            )
        await self._servers.remove(view.entry)
        from studio.mcp.entries import key_prefix, keychain_names
        from studio.storage.config.keychain import KeychainUnavailable

        for name in keychain_names(view.entry):
            if name.startswith(key_prefix(view.entry.name)):
                try:
                    await self._engine.keychain.delete(name)
                except KeychainUnavailable:
                    self._console.say(f"The keychain cannot be used, and may still have {name}.")
        self._told(view.entry, "removed")
        return DONE

    async def do_on(self) -> int:
        view = await self._view()
        entry = view.entry
        if self._options.sampling:
            return await self._let_sample(entry, True)
        if self._options.tools:
            return await self._switch_tools(view, off=False)
        if (where := self._options.sandbox) is not None:
            if not entry.command:
                raise ConfigurationError(f"{entry.name} does not run on this computer.")
            entry = replace(entry, sandbox="" if where == "none" else where)
        if entry.runs and not view.changed and entry == view.entry:
            self._told(entry, "on")
            return DONE
        from studio.agent.servers.facts import shown_server

        may = await self._reach(entry)
        shown = shown_server(replace(view, entry=entry), may)
        self._console.say(*shown, *await self._rules(view))
        if not await self._console.agrees(f"Let {entry.name} run?", self._options):
            return DENIED
        shown = {name: view.known.pins[name] for name in view.changed}
        entry = await self._servers.switch_on(entry, shown)
        return await self._try(entry, "on")

    async def do_off(self) -> int:
        view = await self._view()
        if self._options.sampling:
            return await self._let_sample(view.entry, False)
        if self._options.tools:
            return await self._switch_tools(view, off=True)
        await self._servers.switch_off(view.entry)
        self._told(view.entry, "off")
        return DONE

    async def _reach(self, entry: ServerEntry) -> Confinement | None:
        """What a server on this computer may reach in the sandbox."""
        import asyncio

        if not entry.command:
            return None
        return await asyncio.to_thread(self._servers.servers.confinement, entry)

    async def _let_sample(self, entry: ServerEntry, on: bool) -> int:
        """Whether it may ask for answers of the chat's model (M-20)."""
        await self._servers.say(replace(entry, sampling=on))
        words = "may ask for answers of a model" if on else "may ask no model for answers"
        self._told(entry, words)
        return DONE

    async def _switch_tools(self, view: ServerView, *, off: bool) -> int:
        names = [_tool(view, name).tool.name for name in self._options.tools]
        await self._servers.switch_tools(view.entry, names, off=off)
        self._told(view.entry, f"{', '.join(sorted(names))} {'off' if off else 'on'}")
        return DONE

    async def _rules(self, view: ServerView) -> list[str]:
        """The person's rules that will hold for it: they are by name."""
        from studio.domain.permissions import covers
        from studio.domain.server_names import is_pattern_of

        server = view.entry.name
        rules = [one.rule for one in await self._engine.rules.list()]
        found = [
            f"{rule.verdict} {rule}"
            for rule in rules
            if rule.tool == "*"
            or is_pattern_of(rule.tool, server)  # its tools may not be known yet
            or any(covers(rule.tool, one.name, server) for one in view.tools)
        ]
        return [f"Your rules for it: {', '.join(found)}"] if found else []

    async def do_test(self) -> int:
        return await self._try((await self._view()).entry, "works")

    async def _try(self, entry: ServerEntry, word: str) -> int:
        from studio.agent.servers.advice import advice
        from studio.agent.servers.facts import shown_flags
        from studio.mcp.faults import ServerFailed

        try:
            known = await self._servers.connect(entry, self._folder)
        except ServerFailed as error:
            if self._options.json:
                self._console.write_json(
                    {"name": entry.name, "state": "failed", "kind": error.kind, "why": str(error)}
                    | {"advice": advice(error, entry)}
                )
            else:
                known = error.kind in ("sign_in", "rights")  # it says what to do
                self._console.say(
                    f"{entry.name}: {error}", *([] if known else [advice(error, entry)])
                )
            return USAGE
        view = await self._view()
        left_out = [one for one in view.tools if one.withheld]
        if self._options.json:
            self._console.write_json(_server_row(view))
            return DONE
        who = " ".join(filter(None, (known.lists.server, known.lists.version)))
        self._console.row(f"{entry.name}: {word}, {_tool_count(view)} ({who})")
        for one in left_out:
            self._console.say(f"{one.tool.name} is left out: {one.withheld}")
        for one in view.tools:
            self._console.say(*shown_flags(one))
        self._console.say(*known.lists.problems)
        return DONE

    async def do_tools(self) -> int:
        from studio.agent.servers.facts import shown_difference

        view = await self._view()
        entry = view.entry
        if name := self._options.reads or self._options.acts:
            _tool(view, name)
            marked = entry.reads - {name} if self._options.acts else entry.reads | {name}
            await self._servers.say(replace(entry, reads=marked))
            view = await self._view()
        if self._options.json:
            self._console.write_json([_tool_row(one) for one in view.tools], indent=2)
            return DONE
        if not view.known.fetched:
            self._console.say(f"What it offers is not known yet: {_typed('on', entry)}")
        for one in view.tools:
            state = "off" if one.off else "withheld" if one.withheld else "reads" * one.reads
            self._console.row(f"{one.name}  {state or 'asks'}  {one.tokens} tokens")
            words = " ".join(one.tool.description.split())
            self._console.row(f"    {words[:200]}")
            claims = [name for name, said in one.tool.annotations.items() if said is True]
            if claims:
                self._console.row(f"    It claims: {', '.join(claims)}")
            for note in filter(None, (one.withheld, *one.flags, *one.notes)):
                self._console.row(f"    ! {note}")
            if one.before is not None:
                self._console.write("".join(f"    {line}\n" for line in shown_difference(one)))
        return DONE

    async def do_call(self) -> int:
        view, options = await self._view(), self._options
        tool = _tool(view, options.tool)
        given = _arguments(options.args)
        if tool.withheld or tool.off:
            raise ConfigurationError(f"{tool.tool.name}: {tool.withheld or 'It is switched off.'}")
        self._console.say(f"{tool.name} {json.dumps(given, ensure_ascii=False)}")
        if not await self._console.agrees("Call it?", self._options):
            return DENIED
        from studio.mcp.naming import pool_name

        try:
            result = await self._servers.servers.call(
                pool_name(view.entry),
                tool.tool.name,
                given,
                folder=self._folder,
                seconds=view.entry.seconds,
                ask=self._asking(view.entry),
            )
        except ToolFailed as error:
            raise ConfigurationError(str(error)) from error
        self._result(result)
        return USAGE if result.is_error else DONE

    def _asking(self, entry: ServerEntry) -> AskForm:
        """What asks the person what the server wants to know; it is declined where nobody is."""
        from studio.agent.servers.questions import readable
        from studio.cli.questions import ask_form
        from studio.domain.questions import DECLINED, nobody_fills_in

        if not self._console.interactive or self._options.json:
            return nobody_fills_in

        async def ask(question: ServerQuestion) -> ServerAnswer:
            if question.prompt is not None:  # no model is here to answer
                return DECLINED
            return await ask_form(self._console, readable(question, entry.name))

        return ask

    def _result(self, result: ServerResult) -> None:
        if self._options.json:
            self._console.write_json(
                {
                    "text": result.text,
                    "is_error": result.is_error,
                    "structured": result.structured,
                    "images": [image.media_type for image in result.images],
                    "files": [blob.media_type for blob in result.blobs],
                    "links": [link.uri for link in result.links],
                }
            )
            return
        self._console.write(f"{result.text}\n")
        self._console.end_line()
        more = [f"A picture, {image.media_type}" for image in result.images]
        more += [f"A file, {blob.media_type}" for blob in result.blobs]
        self._console.say(*more, "Failed" if result.is_error else "Done")

    async def do_login(self) -> int:
        from studio.cli.server_login import log_in

        entry = (await self._view()).entry
        await log_in(self._engine, entry, self._options, self._console)
        return await self._try(entry, "signed in")

    async def do_logout(self) -> int:
        from studio.mcp.naming import pool_name

        entry = (await self._view()).entry
        was = await self._servers.servers.sign_out(pool_name(entry))
        self._told(entry, "signed out" if was else "was not signed in")
        return DONE

    async def do_logs(self) -> int:
        import asyncio

        from studio.mcp.naming import pool_name

        view = await self._view()
        path = self._servers.servers.log_file(pool_name(view.entry))

        def read() -> str:
            return path.read_text("utf-8", "replace") if path.exists() else ""

        text = await asyncio.to_thread(read)
        if self._options.json:
            self._console.write_json({"file": str(path), "text": text})
        elif text:
            self._console.write(text)
        else:
            self._console.say(f"{view.entry.name} has written nothing.")
        return DONE

    def _told(self, entry: ServerEntry, what: str) -> None:
        if self._options.json:
            self._console.write_json({"name": entry.name, "on": entry.runs, "what": what})
        else:
            self._console.row(f"{entry.name}: {what}")


def _tool_count(view: ServerView) -> str:
    count = len(view.tools)
    return f"{count} tool{'' if count == 1 else 's'}"


def _typed(word: str, entry: ServerEntry) -> str:
    """What the person types about a server."""
    import shlex

    return f"agent-studio mcp {word} {shlex.quote(entry.name)}"


def _state(view: ServerView) -> str:
    entry, state = view.entry, view.state
    if not entry.on:
        return "off"
    if not entry.runs:
        return "changed, off"
    if view.changed:
        return f"{len(view.changed)} changed"
    if state.kind in ("failed", "sign_in"):
        return state.kind.replace("_", " ")
    return f"on, {_tool_count(view)}" if view.known.fetched else "on, not known yet"


def _server_row(view: ServerView) -> JsonObject:
    entry = view.entry
    return {
        "name": entry.name,
        "state": _state(view),
        "on": entry.runs,
        "sandbox": entry.sandbox or "none",
        "runs": entry.shown,
        "variables": [*entry.environment, *entry.headers],
        "folder": entry.place,
        "tools": len(view.tools),
        "tokens": view.tokens,
        "changed": [*view.changed],
        "left_out": [one.tool.name for one in view.tools if one.withheld],
    }


def _tool_row(view: ToolView) -> JsonObject:
    return {
        "name": view.name,
        "tool": view.tool.name,
        "description": view.tool.description,
        "schema": view.tool.schema,
        "claims": view.tool.annotations,
        "reads": view.reads,
        "off": view.off,
        "withheld": view.withheld,
        "notes": [*view.flags, *view.notes],
        "before": view.before,
        "tokens": view.tokens,
    }


def _tool(view: ServerView, name: str) -> ToolView:
    for one in view.tools:
        if name in (one.tool.name, one.name):
            return one
    known = ", ".join(one.tool.name for one in view.tools) or "none"
    raise ConfigurationError(f"{view.entry.name} has no tool {name}. Known are: {known}.")


def _pairs(given: Sequence[str]) -> list[tuple[str, str]]:
    found: list[tuple[str, str]] = []
    for one in given:
        name, equals, value = one.partition("=")
        if not (name and equals):
            raise ConfigurationError(f"“{one}” is not NAME=VALUE.")
        found.append((name, value))
    return found


def _arguments(text: str) -> JsonObject:
    try:
        found = cast("Json", json.loads(text))
    except (ValueError, RecursionError) as error:
        raise ConfigurationError(f"--args is no JSON: {error}") from error
    if not isinstance(found, dict):
        raise ConfigurationError('--args must be a JSON object, like {"path": "README.md"}')
    return found
