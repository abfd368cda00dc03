"""The command line of what is kept: conversations, agents, settings."""

from __future__ import annotations

import argparse
from pathlib import Path


def export(export: argparse.ArgumentParser) -> None:
    export.description = (
        "Write conversations to standard output or a file: as JSON with everything that was said "
        "and done, pictures and files too, which import takes back; or as markdown, to read."
    )
    export.add_argument("ids", nargs="*", metavar="ID", help="ids, their first letters, or “last”")
    export.add_argument("--all", action="store_true", help="all conversations")
    export.add_argument("--format", choices=["json", "md"], default="json", help="default: json")
    export.add_argument("--output", type=Path, metavar="FILE", help="default: standard output")


def bring(bring: argparse.ArgumentParser) -> None:
    bring.description = (
        "Make a session of each conversation in a file: what export wrote, conversations.json of "
        "ChatGPT or Claude, or a list of messages with role and content. What is here already is "
        "skipped. Of a file with a mistake nothing is taken."
    )
    bring.add_argument("files", nargs="+", type=Path, metavar="FILE", help="JSON files")
    bring.add_argument("--folder", type=Path, metavar="DIR", help="the folder they go on in")
    bring.add_argument("--json", action="store_true", help="print JSON")


def agents(agents: argparse.ArgumentParser) -> None:
    what = agents.add_subparsers(dest="what", required=True, metavar="WHAT")
    made = {
        "list": what.add_parser("list", help="all agents"),
        "show": what.add_parser("show", help="one agent: what it may do, where it is from"),
        "new": what.add_parser("new", help="begin an agent file of your own"),
        "check": what.add_parser("check", help="look for mistakes in every agent file"),
    }
    for name, one in made.items():
        if name in ("show", "new"):
            one.add_argument("name", metavar="NAME", help="the agent's name")
        if name != "new":
            one.add_argument(
                "--folder", type=Path, metavar="DIR", help="default: the current folder"
            )
        one.add_argument("--json", action="store_true", help="print JSON")


def config(config: argparse.ArgumentParser) -> None:
    config.description = (
        "Settings by name, as in settings.json; an entry of a group is GROUP.NAME, like "
        "base_urls.ollama. API keys are no settings: they are in your keychain."
    )
    what = config.add_subparsers(dest="what", required=True, metavar="WHAT")
    made = {
        "list": what.add_parser("list", help="all settings"),
        "get": what.add_parser("get", help="one setting"),
        "set": what.add_parser("set", help="change a setting"),
        "path": what.add_parser("path", help="where the file is"),
    }
    for name, one in made.items():
        if name in ("get", "set"):
            one.add_argument("key", metavar="KEY", help="its name")
        if name == "set":
            one.add_argument("value", metavar="VALUE", help="a word, a number, true, false or JSON")
        if name != "path":
            one.add_argument("--json", action="store_true", help="print JSON")


def completion(completion: argparse.ArgumentParser) -> None:
    completion.description = (
        "Print what makes Tab complete commands, options, agents, sessions and models in a shell. "
        'bash: put eval "$(agent-studio completion bash)" into ~/.bashrc; zsh the same into '
        "~/.zshrc, after compinit; fish: agent-studio completion fish | source; PowerShell: "
        "agent-studio completion powershell | Out-String | Invoke-Expression."
    )
    shells = ("bash", "zsh", "fish", "powershell")
    completion.add_argument("shell", choices=shells, metavar="SHELL", help=", ".join(shells))
    words = completion.add_argument("words", nargs=argparse.REMAINDER, help=argparse.SUPPRESS)
    words.required = False  # what is typed so far; nobody types this
