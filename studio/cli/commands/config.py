"""``agent-studio config``: shows and changes settings by name, with checks."""

from __future__ import annotations

import argparse
import json
import re
from pathlib import Path
from types import UnionType
from typing import TYPE_CHECKING, Any, Literal, Union, cast, get_args, get_origin

from studio.cli.command_context import CommandContext
from studio.cli.exit_codes import DONE
from studio.cli.parser import CommandParser
from studio.domain.errors import ConfigurationError

if TYPE_CHECKING:
    from studio.cli.console import Console
    from studio.storage.config.settings import Settings, SettingsFile
    from studio.storage.paths import Paths

UNSHOWN = ("window_geometry",)
"""Settings that are not listed: bytes of Qt."""
KEYS = (
    "API keys are no settings: they are in your system’s keychain. Add one with agent-studio keys "
    "set PROVIDER, or set ANTHROPIC_API_KEY, OPENAI_API_KEY or GEMINI_API_KEY."
)
_KEY_LIKE = re.compile(r"(?:^|[._-])(?:api[._-]?)?(?:key|token|secret|password)s?$", re.I)
_WORDS = {"true": True, "on": True, "yes": True, "false": False, "off": False, "no": False}


def arguments(parser: CommandParser) -> None:
    parser.description = (
        "Settings by name, as in settings.json; an entry of a group is GROUP.NAME, like "
        "base_urls.ollama. API keys are no settings: they are in your keychain."
    )
    helps = {
        "list": "all settings",
        "get": "one setting",
        "set": "change a setting",
        "unset": "give a setting its standard value again, or drop an entry of a group",
        "path": "where the file is",
    }
    for name, one in parser.add_subcommands(helps).items():
        if name in ("get", "set", "unset"):
            one.add_argument("key", metavar="KEY", help="its name")
        if name == "set":
            one.add_argument("value", metavar="VALUE", help="a word, a number, true, false or JSON")
        if name != "path":
            one.add_argument("--json", action="store_true", help="print JSON")


async def run(context: CommandContext, options: argparse.Namespace) -> int:
    """List settings, print one, change one, or print where the file is."""
    settings, console = await context.settings(), context.console
    if settings.notice:
        console.say(settings.notice)
    match options.what:
        case "path":
            console.row(f"{settings.path}")
        case "list":
            _list(settings.values, options, console)
        case "get":
            _put(_value(settings.values, options.key), options, console)
        case "unset":
            console.require_a_person()
            await _unset(settings, options, console)
        case _:
            console.require_a_person()  # a setting may let agents do more
            await _set(settings, context.paths, options, console)
    return DONE


def _list(values: Settings, options: argparse.Namespace, console: Console) -> None:
    from studio.storage.config.settings import Settings, field_types

    shown = {name: _shown(getattr(values, name)) for name in field_types() if name not in UNSHOWN}
    if options.json:
        console.write_json(shown, indent=2)
        return
    standard = Settings()
    for name, value in shown.items():
        mark = "" if getattr(values, name) == getattr(standard, name) else "  (changed)"
        console.row(f"{name} = {_words(value)}{mark}")


def _put(value: object, options: argparse.Namespace, console: Console) -> None:
    if options.json:
        console.write_json(_shown(value))
    else:
        console.write(f"{_words(_shown(value))}\n")


async def _set(
    settings: SettingsFile, paths: Paths, options: argparse.Namespace, console: Console
) -> None:
    import asyncio

    from studio.storage.config.model_overrides import read_overrides

    name, _, entry = options.key.partition(".")
    hint = _kind(options.key)
    value = _read(options.key, options.value, hint)
    await asyncio.to_thread(_check, name, value, entry, paths)
    if entry:
        group = cast("dict[str, object]", getattr(settings.values, name))
        setattr(settings.values, name, {**group, entry: value})
    else:
        setattr(settings.values, name, value)
    if problems := read_overrides(settings.values.models)[1] if name == "models" else []:
        raise ConfigurationError(" ".join(problems))
    await settings.save()
    if options.json:
        console.write_json({options.key: _shown(value)})
    else:
        console.say(f"{options.key} = {_words(_shown(value))}")


async def _unset(settings: SettingsFile, options: argparse.Namespace, console: Console) -> None:
    from studio.storage.config.settings import Settings

    _value(settings.values, options.key)  # says what is wrong with the name
    name, _, entry = options.key.partition(".")
    if entry:
        group = cast("dict[str, object]", getattr(settings.values, name))
        value: object = {one: group[one] for one in group if one != entry}
    else:
        value = getattr(Settings(), name)
    setattr(settings.values, name, value)
    await settings.save()
    if options.json:
        console.write_json({name: _shown(value)})
    else:
        console.say(f"{name} = {_words(_shown(value))}")


def _kind(key: str) -> Any:
    """The type of a setting, or of an entry of a group; raises ConfigurationError."""
    from studio.storage.config.settings import field_types

    name, _, entry = key.partition(".")
    hint = field_types().get(name)
    if hint is None:
        from difflib import get_close_matches

        if _KEY_LIKE.search(key):
            raise ConfigurationError(KEYS)
        close = get_close_matches(name, field_types(), n=1)
        hint = f" Did you mean {close[0]}?" if close else " To see all: agent-studio config list"
        raise ConfigurationError(f"There is no setting {name}.{hint}")
    if not entry:
        return hint
    if get_origin(hint) is not dict:
        raise ConfigurationError(f"{name} has no entries. Use {name} alone.")
    return get_args(hint)[1]


def _value(values: Settings, key: str) -> object:
    _kind(key)
    name, _, entry = key.partition(".")
    value: object = getattr(values, name)
    if not entry:
        return value
    group = cast("dict[str, object]", value)
    if entry not in group:
        known = ", ".join(sorted(group)) or "none"
        raise ConfigurationError(f"{name} has no entry {entry}. There are: {known}.")
    return group[entry]


def _read(key: str, text: str, hint: Any) -> object:
    """Parse a text as a value of this type; raises ConfigurationError with what it takes."""
    from studio.storage.config.settings import matches_type

    value: object = text
    if key.startswith("key_command.") and not text.lstrip().startswith("["):
        value = _split(text)
    elif hint is not str and get_origin(hint) is not Literal:
        try:
            value = _WORDS.get(text.strip().lower()) if hint is bool else json.loads(text)
        except (ValueError, RecursionError):
            is_list = get_origin(hint) is list and get_args(hint)[0] is str
            value = [one.strip() for one in text.split(",")] if is_list and text else text
    if get_origin(hint) is list and not text.strip():
        value = []
    if hint is float and matches_type(value, float):
        value = float(cast("float", value))
    if not matches_type(value, hint):
        raise ConfigurationError(f"{key} is {_takes(hint)}, not “{text}”.")
    return value


def _split(text: str) -> list[str]:
    """The words of a command, as a shell takes them apart; raises ConfigurationError."""
    from studio.cli.drafts_edit import command_words

    try:
        return command_words(text)
    except ValueError as error:
        raise ConfigurationError(f"The command cannot be taken apart: {error}.") from error


def _takes(hint: Any) -> str:
    origin, parts = get_origin(hint), get_args(hint)
    if origin is Literal:
        return f"one of {', '.join(map(str, parts))}"
    if origin in (Union, UnionType):
        return " or ".join(_takes(part) for part in parts)
    if origin is list:
        return "a list, like one,two"
    if origin is dict or hint is object:
        return 'a JSON object, like {"name": …}'
    return {bool: "true or false", int: "a whole number", float: "a number"}.get(hint, "a text")


def _check(name: str, value: Any, entry: str, paths: Paths) -> None:
    """Check what the type does not cover; raises ConfigurationError. Reads files: for a thread."""
    if type(value) in (int, float) and not 0 <= value < 1e9:
        raise ConfigurationError(f"{name} is a number from 0 on.")
    entries: dict[str, Any] = {entry: value} if entry else value
    match name:
        case "default_provider":
            _provider(value)
        case "base_urls" | "default_model" | "enabled_models" | "own_models":
            for provider in entries:
                _provider(provider)
            for url in entries.values() if name == "base_urls" else ():
                check_address(url)
        case "routing_model" | "tiers":
            for model in filter(None, entries.values()):
                _model(model)
        case "key_command":
            for one, words in entries.items():
                _key_command(one, words)
        case "searxng_url" | "trace_endpoint":
            check_address(value)
        case "mask":
            from studio.agent.permission.content_filter import parse_kinds

            parse_kinds(value)
        case "default_agent":
            _agent(value, paths)
        case "builtin_model" if value and not Path(value).is_file():
            raise ConfigurationError(f"There is no file {value}.")
        case _:
            pass


def _provider(name: str) -> None:
    from studio.providers.registry import PROVIDER_TITLES

    if name and name not in PROVIDER_TITLES:
        raise ConfigurationError(
            f"There is no provider {name}. Known are {', '.join(PROVIDER_TITLES)}."
        )


def _model(name: str) -> None:
    provider, _, model = name.partition("/")
    if not model:
        raise ConfigurationError(f"A model is named as PROVIDER/MODEL here, not as {name}.")
    _provider(provider)


def check_address(url: str) -> None:
    from urllib.parse import urlsplit

    try:
        parts = urlsplit(url)
        good = parts.scheme in ("http", "https") and bool(parts.hostname)
        secret = parts.password is not None
    except ValueError:
        good, secret = False, False
    if url and not good:
        raise ConfigurationError(f"“{url}” is no address. One looks like http://127.0.0.1:11434")
    if secret:
        raise ConfigurationError("An address with a password is not kept in a file.")


def _key_command(name: str, words: list[str]) -> None:
    import shutil

    from studio.providers.registry import KEY_TITLES

    if name not in KEY_TITLES:
        raise ConfigurationError(f"No key is called {name}. Known are {', '.join(KEY_TITLES)}.")
    if not words or shutil.which(words[0]) is None:
        said = f"no program {words[0]}" if words else "no word in it"
        raise ConfigurationError(f"The command for {name} cannot be run: there is {said}.")


def _agent(name: str, paths: Paths) -> None:
    from studio.agent.agent_files.finder import AgentFiles

    found = AgentFiles(paths.resources / "agents", *paths.agent_places).read()
    if name and found.get(name) is None:
        known = ", ".join(sorted(found.by_name))
        raise ConfigurationError(f"There is no agent {name}. Known are {known}.")


def _shown(value: object) -> Any:
    """The value for display, without secrets such as a password in an address."""
    from studio.domain.redaction import without_secrets

    match value:
        case str():
            return without_secrets(value)
        case list():
            return [_shown(one) for one in cast("list[object]", value)]
        case dict():
            return {name: _shown(one) for name, one in cast("dict[str, object]", value).items()}
        case _:
            return value


def _words(value: object) -> str:
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
