"""The commands of the command line: one module each, and their registry.

A command's module has two functions: ``arguments`` adds its arguments to a parser, ``run``
does the work and returns an exit code. To add a command, add the module, its line in
``COMMANDS`` and its line here; see docs/extending/command.md. A module is imported when its
command is named, and imports the engine, asyncio and other large modules only inside of
functions: ``--help`` and Tab would wait for them.

- ``acp``: lets an editor work with the agents.
- ``agents``: lists, shows, creates and checks agent files.
- ``audit``: lists tool calls and who allowed them.
- ``batch``: runs a workflow over many items, shows how far they are, writes their results.
- ``chat``: opens a conversation in the terminal.
- ``cluster``: lets other computers work on items, and works for another one.
- ``completion``: prints the shell scripts for Tab, and answers what Tab offers.
- ``config``: shows and changes settings.
- ``doctor``: checks what the program needs.
- ``drafts``: lists drafts and carries out decisions about them.
- ``eval``: measures agents, models and prompts on cases, and compares what came of it.
- ``export``: writes conversations to a file.
- ``hooks``: lists hooks, tries one, switches it, takes over those of Claude Code.
- ``import_``: makes sessions of conversations in files.
- ``keys``: keeps, tests and removes API keys.
- ``mcp``: adds, switches, tries and calls servers of the Model Context Protocol.
- ``memory``: lists, searches and shows notes, and decides about proposed ones.
- ``mission``: begins missions, and looks after them.
- ``models``: lists a provider's models, fetches and deletes models of this computer.
- ``packs``: lists, installs, updates, switches and removes packs.
- ``permissions``: lists, adds and tests permission rules.
- ``run``: runs one turn and prints it.
- ``serve``: starts the HTTP server.
- ``sessions``: finds, shows, renames and deletes sessions, undoes what a turn changed.
- ``simulate``: starts the provider simulator.
- ``skills``: lists, shows and checks skills and commands, begins a skill.
- ``templates``: lists, shows and edits templates of messages.
- ``tools``: lists, shows, creates and tries tools.
- ``usage``: adds up tokens and costs.
- ``workflow``: checks and runs workflows of many agents, and looks after their runs.
"""

from __future__ import annotations

from argparse import SUPPRESS
from functools import partial
from importlib import import_module
from keyword import iskeyword
from types import ModuleType

from studio import __version__
from studio.cli.parser import CommandParser, HelpFormatter

COMMANDS = {
    "run": "say something to an agent: one turn",
    "chat": "talk with an agent in the terminal",
    "doctor": "look at everything the program needs, and say what to do",
    "sessions": "find, show, delete saved sessions, undo what a turn changed",
    "drafts": "look at drafts of files, and decide about them",
    "permissions": "say what agents may do without asking",
    "audit": "look at every call of a tool, and who allowed it",
    "usage": "add up what requests used and cost",
    "tools": "look at tools, write one, try one",
    "mcp": "look at MCP servers, add one, switch it on, try it",
    "templates": "keep messages with places, for run -t",
    "skills": "look at skills and commands, write one, check them",
    "hooks": "look at commands that are told what agents do, approve one, try it",
    "packs": "look at packs of all these, install one, update it",
    "agents": "look at agents, write one, check them",
    "memory": "look at notes for later chats, and decide about proposed ones",
    "workflow": "run workflows of many agents, and look for mistakes in them",
    "batch": "do a step for each of many items, and write the results to a file",
    "eval": "measure agents, models and prompts on your cases",
    "cluster": "let other computers work on many items with keys of their own",
    "mission": "let agents work in cycles until your checks pass",
    "keys": "keep API keys in your system’s keychain, test them, remove them",
    "models": "list a provider's models",
    "export": "write conversations to a file",
    "import": "take conversations from files, also of ChatGPT and Claude",
    "config": "look at settings, and change them",
    "completion": "make Tab complete this command in your shell",
    "serve": "let other programs talk with your agents (OpenAI’s and Anthropic’s APIs)",
    "acp": "let an editor work with your agents (Agent Client Protocol)",
    "simulate": "run the provider simulator",
}
"""Each command with the line that the help has about it, in the help's order."""


def load_command(name: str) -> ModuleType:
    """Import the module of a command: ``import_`` for the name ``import``."""
    module = f"{name}_" if iskeyword(name) else name.replace("-", "_")
    return import_module(f"{__name__}.{module}")


def build_parser() -> CommandParser:
    """The parser of the whole command line; without a command the window opens."""
    root = CommandParser(
        prog="agent-studio",
        description="Work with AI agents. Without a command the window opens.",
        formatter_class=HelpFormatter,
        epilog="The options of a command: agent-studio COMMAND --help",
    )
    root.add_argument("--version", action="version", version=f"Agent Studio {__version__}")
    root.add_argument(
        "--quick-ask", action="store_true", help="ask in the window with one line, and exit"
    )
    root.add_argument("--smoke", metavar="PICTURE", help=SUPPRESS)  # see studio/ui/app/smoke.py
    commands = root.add_subparsers(dest="command", metavar="COMMAND")
    for name, text in COMMANDS.items():
        commands.add_parser(name, help=text, add_arguments=partial(_add_arguments, name))
    return root


def _add_arguments(name: str, parser: CommandParser) -> None:
    load_command(name).arguments(parser)
