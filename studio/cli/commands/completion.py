"""``agent-studio completion``: prints the shells' scripts for Tab, and answers what Tab offers.

The script calls this program with the words of the line so far. The offers come from
the parser and from what is stored. Libraries were tried and lost: shtab's scripts are
static, so they offer no sessions, agents or models; argcomplete inserts names unquoted in
PowerShell (an agent's name can be a stranger's), passes control characters on, and needs
the parser's internals as well (docs/decisions.md).
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, cast

from studio.cli.command_context import CommandContext
from studio.cli.parser import CommandParser
from studio.storage import completion_index
from studio.storage.completion_index import Named
from studio.storage.paths import Paths

from . import build_parser

FILES = ":files"
"""The line that asks the shell to complete names of files."""
WIDTH = 70

_BASH = r"""_agent_studio() {
    local line
    COMPREPLY=()
    while IFS= read -r line; do
        if [[ $line == :files ]]; then
            compopt -o default 2>/dev/null
        else
            line=${line%%$'\t'*}
            COMPREPLY+=("$(printf %q "$line")")
        fi
    done < <("$1" completion bash -- "${COMP_WORDS[@]:1:COMP_CWORD}" 2>/dev/null)
}
complete -F _agent_studio agent-studio
"""
_ZSH = r"""#compdef agent-studio
_agent_studio() {
    local line
    local -a found
    for line in "${(@f)$("$words[1]" completion zsh -- "${(@)words[2,CURRENT]}" 2>/dev/null)}"; do
        if [[ $line == :files ]]; then
            _files
        elif [[ -n $line ]]; then
            found+=("${${line%%$'\t'*}//:/\\:}:${line#*$'\t'}")
        fi
    done
    (( $#found )) && _describe -V agent-studio found
}
compdef _agent_studio agent-studio
"""
_FISH = r"""function __agent_studio
    set -l words (commandline -opc)
    set -l current (commandline -ct)
    set -l program $words[1]
    set -e words[1]
    for line in (command $program completion fish -- $words "$current" 2>/dev/null)
        if test "$line" = ':files'
            __fish_complete_path "$current"
        else
            echo $line
        end
    end
end
complete -c agent-studio -f -k -a '(__agent_studio)'
"""
_POWERSHELL = r"""Register-ArgumentCompleter -Native -CommandName agent-studio -ScriptBlock {
    param($current, $line, $at)
    $words = @($line.CommandElements | Select-Object -Skip 1 |
        Where-Object { $_.Extent.EndOffset -lt $at } | ForEach-Object { $_.ToString().Trim("'") })
    & agent-studio completion powershell -- @words "=$current" | ForEach-Object {
        $name, $about = $_ -split "`t", 2
        if ($name -ne ':files') {
            $plain = $name -match '^[\w./:=+-]+$'
            $quoted = "'" + ($name -replace '[\u0027\u2018-\u201b]', '$0$0') + "'"
            $shown = if ($plain) { $name } else { $quoted }
            if (-not $about) { $about = $name }
            [System.Management.Automation.CompletionResult]::new(
                $shown, $name, 'ParameterValue', $about)
        }
    }
}
"""
SCRIPTS = {"bash": _BASH, "zsh": _ZSH, "fish": _FISH, "powershell": _POWERSHELL}


def arguments(parser: CommandParser) -> None:
    parser.description = (
        "Print what makes Tab complete commands, options, agents, sessions and models in a shell. "
        'bash: put eval "$(agent-studio completion bash)" into ~/.bashrc; zsh the same into '
        "~/.zshrc, after compinit; fish: agent-studio completion fish | source; PowerShell: "
        "agent-studio completion powershell | Out-String | Invoke-Expression."
    )
    parser.add_argument("shell", choices=[*SCRIPTS], metavar="SHELL", help=", ".join(SCRIPTS))
    words = parser.add_argument("words", nargs=argparse.REMAINDER, help=argparse.SUPPRESS)
    words.required = False  # what is typed so far; nobody types this


async def run(context: CommandContext, options: argparse.Namespace) -> int:
    """Do what ``complete`` does; the program's start calls that directly, to be quick."""
    return complete(options)


def complete(options: argparse.Namespace) -> int:
    """Print a shell's script or, given the words of a line, the offers for the last word."""
    words: list[str] = options.words
    if not words:
        sys.stdout.write(SCRIPTS[options.shell])
        return 0
    words = words[1:] if words[0] == "--" else words
    if options.shell == "powershell" and words:  # it drops an empty word
        words = [*words[:-1], words[-1].removeprefix("=")]
    cut = 0
    if options.shell == "bash":
        words, cut = _joined(words)
    lines = [
        name[cut:] if name == FILES else f"{name[cut:]}\t{_shown(about)[:WIDTH]}"
        for name, about in offered(words, Paths.default(), Path.cwd())
        if name.isprintable()  # another may be a stranger's: a terminal would obey it
    ]
    text = "".join(f"{line}\n" for line in lines)
    sys.stdout.buffer.write(text.encode("utf-8", "replace"))
    return 0


def _shown(about: str) -> str:
    """A description on one line, without codes that a terminal would obey."""
    line = " ".join(about.split())
    return "".join(one if one.isprintable() else "\N{REPLACEMENT CHARACTER}" for one in line)


def offered(words: list[str], paths: Paths, folder: Path) -> list[Named]:
    """The offers for the last of these words, with a description each.

    ``FILES`` asks the shell to complete names of files itself.
    """
    *before, current = words or [""]
    line = _Line(build_parser())
    for word in before:
        line.take(word)
    option, equals, _ = current.partition("=")
    if line.waits is not None:
        found = _values(line, line.waits, paths, folder)
    elif equals and option.startswith("--") and (action := line.option(option)) is not None:
        line.waits = action
        whole = ((f"{option}={n}", about) for n, about in _values(line, action, paths, folder))
        return [one for one in whole if one[0].startswith(current)]
    elif current.startswith("-") and not line.ended:
        found = line.options()
    else:
        found = _values(line, line.positional(), paths, folder)
    begins = current.casefold()
    return [one for one in found if one[0] == FILES or one[0].casefold().startswith(begins)]


@dataclass(slots=True)
class _Line:
    """Reads the words of a command line so far, in the way of the parser."""

    parser: CommandParser
    commands: list[str] = field(default_factory=list[str])
    values: dict[str, str] = field(default_factory=dict[str, str])
    waits: argparse.Action | None = None
    """The option that the next word is the value of."""
    ended: bool = False
    """Whether ``--`` came: no options follow."""
    lost: bool = False
    """Whether a word is no command, so that nothing can be offered."""
    count: int = 0

    def take(self, word: str) -> None:
        if self.waits is not None:
            if word == "=":  # bash makes it a word
                return
            self.values[self.waits.dest] = word
            self.waits = None
        elif word == "--" and not self.ended:
            self.ended = True
        elif word.startswith("-") and word != "-" and not self.ended:
            name, equals, value = word.partition("=")
            action = self.option(name)
            if action is not None:
                self.values[action.dest] = value
                self.waits = action if action.nargs != 0 and not equals else None
        elif (commands := self._subcommands()) is not None:
            found = commands.choices.get(word)
            self.lost |= found is None
            if found is not None:
                self.parser = found
                found.define_arguments()
                self.commands.append(word)
                self.count = 0
        else:
            self.count += 1

    def option(self, name: str) -> argparse.Action | None:
        return next((one for one in self._actions() if name in one.option_strings), None)

    def options(self) -> list[Named]:
        """The long options, without given ones that count only once."""
        found: list[Named] = []
        for one in self._actions():
            again = one.dest not in self.values or isinstance(one.default, list)
            if one.option_strings and one.help != argparse.SUPPRESS and again and not self.lost:
                found.append((one.option_strings[-1], (one.help or "").replace("%%", "%")))
        return found

    def positional(self) -> argparse.Action | None:
        """The argument for the next word that is no option."""
        actions = [one for one in self._actions() if not one.option_strings]
        if self.lost or not actions:
            return None
        if self.count < len(actions):
            return actions[self.count]
        return actions[-1] if actions[-1].nargs in ("*", "+") else None

    def _actions(self) -> list[argparse.Action]:
        return self.parser._actions  # pyright: ignore[reportPrivateUsage] (argparse tells it no other way)

    def _subcommands(self) -> argparse._SubParsersAction[CommandParser] | None:  # pyright: ignore[reportPrivateUsage]
        for one in self._actions():
            if isinstance(one, argparse._SubParsersAction):  # pyright: ignore[reportPrivateUsage]
                return cast("Any", one)
        return None


def _values(
    line: _Line, action: argparse.Action | None, paths: Paths, folder: Path
) -> Iterable[Named]:
    if action is None:
        return []
    if isinstance(action, argparse._SubParsersAction):  # pyright: ignore[reportPrivateUsage]
        named = cast("Any", action)._choices_actions  # the help of each, in order
        return [(one.dest, one.help or "") for one in named]
    if action.choices is not None:
        return [(str(one), "") for one in action.choices]
    if action.type is Path:
        return [(FILES, "")]
    return _stored(action, line, paths, folder)


def _stored(action: argparse.Action, line: _Line, paths: Paths, folder: Path) -> Iterable[Named]:
    """Stored names for an argument, found by the word that the help has for it."""
    match line.commands[0] if line.commands else "", action.metavar:
        case (_, "AGENT") | ("agents", "NAME"):
            folders = [paths.resources / "agents", paths.agents]
            return completion_index.agents(folders, folder / ".agents" / "agents")
        case _, "MODEL":
            given, built_in = line.values.get("provider"), paths.resources / "models.json"
            provider = given or completion_index.default_provider(paths.settings)
            return completion_index.models(paths.models, built_in, paths.settings, provider)
        case "drafts", "ID" if action.dest == "ids":
            return completion_index.drafts(paths.database)
        case "sessions", "ID" if line.commands[1] == "restore":
            return completion_index.sessions(paths.database, in_bin=True)
        case _, "ID":
            sessions = completion_index.sessions(paths.database)
            return [*sessions, ("last", "the session used last")]
        case "keys", "KEY":
            from studio.providers.registry import KEY_TITLES

            return KEY_TITLES.items()
        case _, "TEMPLATE":
            return completion_index.templates(paths.templates)
        case "config", "KEY":
            from studio.storage.config.settings import field_types

            return [(name, "") for name in field_types()]
        case _, "SCHEMA":
            return [(FILES, "")]
        case _:
            return []


def _joined(words: list[str]) -> tuple[list[str], int]:
    """Join the words that bash split at ``:`` and ``=``.

    Also returns how many characters of the last word bash does not want back.
    """
    out: list[str] = []
    glue = False
    cut = 0
    for index, word in enumerate(words):
        last = index == len(words) - 1
        if word == ":" and out and index:
            out[-1] += word
            glue, cut = True, len(out[-1]) if last else 0
        elif glue:
            cut = len(out[-1]) if last else 0
            out[-1] += word
            glue = False
        else:
            out.append(word)
    if out and out[-1] == "=":  # nothing of the value is there yet
        out.append("")
    return out, cut
