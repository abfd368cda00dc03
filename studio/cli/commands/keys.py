"""``agent-studio keys``: keeps API keys in the keychain, tests and removes them (P-4)."""

from __future__ import annotations

import argparse
import os
from typing import TYPE_CHECKING

from studio.cli.command_context import CommandContext
from studio.cli.exit_codes import DONE
from studio.cli.parser import CommandParser
from studio.domain.errors import ConfigurationError

if TYPE_CHECKING:
    from studio.agent.engine import Engine
    from studio.cli.console import Console

COMPATIBLE = "openai-compatible"
"""The provider that is named by the address of its server, too."""
LONGEST = 65_536
"""Bytes of a key at most."""
_SOURCES = {
    "keychain": "in the keychain",
    "session": "for this session",
    "command": "from the command in key_command",
    "environment": "from the environment",
    "": "none",
}


def arguments(parser: CommandParser) -> None:
    parser.description = (
        "Keep API keys in your system's keychain, where the window has them too. A key is read "
        "from standard input or asked for, and is never an argument: other programs and your "
        "shell's history would have it. Where there is no keychain, set an environment variable, "
        "or a command that prints the key: config set key_command.NAME 'pass show NAME'."
    )
    helps = {
        "list": "whose keys there are, and where they come from",
        "set": "keep a key",
        "test": "ask the provider whether it takes the key",
        "remove": "delete a key from the keychain",
    }
    for name, one in parser.add_subcommands(helps).items():
        if name != "list":
            about = "such as anthropic, or the address of an OpenAI-compatible server"
            one.add_argument("name", metavar="KEY", help=about)
        if name == "set":  # taken, so that no error repeats it
            one.add_argument("key", nargs="*", help=argparse.SUPPRESS)
        if name == "list":
            one.add_argument("--json", action="store_true", help="print JSON")


async def run(context: CommandContext, options: argparse.Namespace) -> int:
    """List keys, or keep, test or remove one."""
    if options.what == "set" and options.key:
        raise ConfigurationError(
            "A key is no argument: other programs and your shell's history would have it. Type it "
            f"when you are asked, or pipe it in: … | agent-studio keys set {options.name}"
        )
    engine, console = await context.engine(), context.console
    if options.what == "list":
        return await _list(engine, console, as_json=options.json)
    name, address = _named(options.name)
    known = engine.providers.base_url(name)
    if address and options.what != "set" and address.rstrip("/") != known.rstrip("/"):
        there = f"The server in the settings is {known}." if known else "The settings name none."
        raise ConfigurationError(f"There is no key for {address}. {there}")
    match options.what:
        case "set":
            return await _set(engine, console, name, address)
        case "test":
            return await _test(engine, console, name)
        case _:
            return await _remove(engine, console, name)


def _named(word: str) -> tuple[str, str]:
    """The name of a key, and the address of its server where the person gave that.

    Raises ConfigurationError for a name that nothing has.
    """
    from studio.providers.registry import KEY_TITLES

    if "://" in word:
        from .config import check_address

        check_address(word)
        return COMPATIBLE, word
    if word not in KEY_TITLES:
        raise ConfigurationError(
            f"No key is called {word}. Known are {', '.join(KEY_TITLES)}, and the address of an "
            "OpenAI-compatible server."
        )
    return word, ""


async def _list(engine: Engine, console: Console, *, as_json: bool) -> int:
    from studio.providers.registry import KEY_TITLES, PROVIDERS

    rows: list[dict[str, str]] = []
    for name, title in KEY_TITLES.items():
        found = await (
            engine.providers.key(name) if name in PROVIDERS else engine.keychain.get(name)
        )
        source = engine.keychain.source(name) or ("environment" if found else "")
        address = engine.providers.base_url(name)
        problem = engine.keychain.commands.problem(name)
        rows.append(
            {"key": name, "title": title, "source": source, "address": address, "problem": problem}
        )
    if as_json:
        console.write_json(rows)
        return DONE
    width = max(len(row["key"]) for row in rows)
    for row in rows:
        address = f"  {row['address']}" if row["address"] else ""
        console.row(f"{row['key']:<{width}}  {_SOURCES[row['source']]}{address}")
    for problem in filter(None, [*(row["problem"] for row in rows), engine.keychain.problem]):
        console.say(problem)
    return DONE


async def _set(engine: Engine, console: Console, name: str, address: str) -> int:
    """Keep a key; raises ConfigurationError with the other ways where there is no keychain."""
    from studio.storage.config.keychain import KeychainUnavailable

    key, keychain = await _read_key(console, name), engine.keychain
    before = await keychain.get(name) if address else None
    before = before if keychain.source(name) == "keychain" else None
    try:
        await keychain.set(name, key)
    except KeychainUnavailable as error:
        raise ConfigurationError(f"{keychain.problem} {_other_ways(name)}") from error
    if address:
        engine.settings.values.base_urls[name] = address
        try:
            await engine.settings.save()
        except BaseException:  # the server before gets no key of this one
            await (keychain.set(name, before) if before else keychain.delete(name))
            raise
    words = f"agent-studio keys test {name}"
    console.say(f"The key is in the keychain. To try it: {words}")
    return DONE


async def _read_key(console: Console, name: str) -> str:
    """What the person types or pipes in; raises ConfigurationError if that is no key."""
    from studio.cli.console import read_stdin

    if console.interactive:
        text = await console.secret(f"API key of {name}, not shown: ") or ""
    else:
        text = (await read_stdin()).decode("utf-8", "replace")
    key = text.strip()
    if not key:
        raise ConfigurationError("There is no key. Type it when you are asked, or pipe it in.")
    if len(key) > LONGEST or not (key.isascii() and key.isprintable()) or " " in key:
        raise ConfigurationError("This is no key: a key is one word of letters and digits.")
    return key


def ways_to_give_key(name: str) -> str:
    """What the person can do where there is no key, as commands."""
    return f"In a terminal: agent-studio keys set {name}. {_other_ways(name)}"


def _other_ways(name: str) -> str:
    from studio.providers.registry import PROVIDERS

    known = PROVIDERS.get(name)
    variables = (*known.key_variables, *known.address_key_variables) if known else ()
    command = f"agent-studio config set key_command.{name} 'pass show {name}'"
    first = f"Set {variables[0]} in the environment, or name" if variables else "Name"
    return f"{first} a command that prints the key: {command}"


async def _test(engine: Engine, console: Console, name: str) -> int:
    """Ask the provider for its models; raises ProviderError if it does not take the key."""
    from studio.providers.registry import KEY_TITLES, PROVIDERS

    if name not in PROVIDERS:
        raise ConfigurationError(f"The key of {KEY_TITLES[name]} cannot be tested before its use.")
    key = await engine.providers.key(name)
    if not key and PROVIDERS[name].key == "needed":
        problem = engine.keychain.commands.problem(name)
        problem = problem or f"There is no API key for {KEY_TITLES[name]}."
        raise ConfigurationError(f"{problem} {ways_to_give_key(name)}")
    await engine.providers.test(name, key)
    source = _SOURCES[engine.keychain.source(name) or ("environment" if key else "")]
    console.say(f"{KEY_TITLES[name]} takes the key {source}." if key else "It needs no key.")
    return DONE


async def _remove(engine: Engine, console: Console, name: str) -> int:
    from studio.storage.config.keychain import KeychainUnavailable

    try:
        await engine.keychain.delete(name)
    except KeychainUnavailable as error:
        text = f"{engine.keychain.problem} {await _elsewhere(engine, name)}"
        raise ConfigurationError(text) from error
    console.say("The key is not in the keychain any more.")
    if await engine.keychain.get(name):
        console.say(await _elsewhere(engine, name))
    return DONE


async def _elsewhere(engine: Engine, name: str) -> str:
    """Where a key that is in no keychain comes from, and how it is taken away there."""
    from studio.providers.registry import PROVIDERS

    await engine.keychain.get(name)
    match engine.keychain.source(name):
        case "environment":
            known = PROVIDERS.get(name)
            variables = (*known.key_variables, *known.address_key_variables) if known else ()
            found = [one for one in variables if os.environ.get(one, "").strip()]
            return f"A key still comes from the environment: unset {' '.join(found)}"
        case "command":
            return f"A key still comes from a command: agent-studio config unset key_command.{name}"
        case _:
            return "The key may still be there."
