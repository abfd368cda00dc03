"""Pack verbs: runs the commands that packs bring, and changes what is set for packs (KZ-9)."""

from __future__ import annotations

import argparse
import json
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

from studio.agent.packs import PackHome
from studio.domain.errors import ConfigurationError, ToolFailed
from studio.domain.forms import fields_of
from studio.domain.jsonvalue import JsonObject, as_object, as_text
from studio.processes.daemon_thread import in_daemon_thread
from studio.tools import Context, Workspace
from studio.tools.packs.settings import settings_schema, stored, write_settings
from studio.tools.packs.verbs import Verb
from studio.tools.sdk.result import Result, plain

from .exit_codes import DONE, USAGE
from .parser import CommandParser

if TYPE_CHECKING:
    from studio.agent.engine import Engine

    from .console import Console

_KINDS: dict[str, Any] = {"integer": int, "number": float, "string": str}


async def run_verb(engine: Engine, console: Console, pack: str, words: Sequence[str]) -> int:
    """Run a command of a pack; raises ConfigurationError or ToolFailed."""
    home = _home(engine, pack)
    verbs = {one.name: one for one in await in_daemon_thread(lambda: _verbs(home))}
    if not verbs:
        raise ConfigurationError(f"The pack {pack} brings no commands for the terminal.")
    options = _parser(home, verbs).parse_args(words)
    verb = verbs[options.what]
    spec = verb.tool.spec
    if verb.changes:
        console.require_a_person()
    given: JsonObject = {
        name: value
        for name in as_object(spec.schema["properties"])
        if (value := getattr(options, name)) is not None
    }
    person = await in_daemon_thread(home.open)
    if not home.allows(spec.name, person):
        raise ToolFailed(f"{person.name} may not use {verb.name} as “{person.role}”.")
    context = Context(
        Workspace(Path.cwd()),
        emit=lambda text: console.say(text.rstrip("\n")),
        person=person,
        home=home,
    )
    result = await verb.tool.call(context, given)
    if options.json:
        console.write_json(plain(result.value), indent=2)
    else:
        console.write(_for_people(plain(result.value), result.text).rstrip("\n") + "\n")
    return USAGE if result.is_error else DONE


def _for_people(value: object, text: str) -> str:
    """A list of things with a line for each, one thing with a line for each of its facts."""
    items = cast("list[object]", value) if isinstance(value, list) else []
    if items and all(isinstance(one, dict) for one in items):
        things = cast("list[dict[str, object]]", items)
        return "\n".join("  ".join(map(_in_words, one.values())) for one in things)
    if isinstance(value, dict):
        facts = cast("dict[str, object]", value)
        return "\n".join(f"{name}: {_in_words(fact)}".rstrip() for name, fact in facts.items())
    return "Nothing." if value == [] else text


def _in_words(value: object) -> str:
    items = cast("list[object]", value) if isinstance(value, list) else None
    if items is not None and all(isinstance(one, str) for one in items):
        return "".join(f"\n  {one}" for one in items)
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)


def _verbs(home: PackHome) -> Sequence[Verb]:
    try:
        return home.loaded.pack.all_verbs()
    except Exception as error:  # a pack's own code
        problem = f"The commands of the pack {home.id} could not be loaded: {error}"
        raise ConfigurationError(problem) from error


def _home(engine: Engine, pack: str) -> PackHome:
    home = engine.services.packs.homes.get(pack)
    if home is None:
        known = ", ".join(engine.services.packs.homes) or "none"
        raise ConfigurationError(
            f"There is no pack {pack} whose Python runs in the program. On are: {known}. "
            "All packs: agent-studio packs list"
        )
    return home


def _parser(home: PackHome, verbs: dict[str, Verb]) -> CommandParser:
    """A subcommand for each verb: what it needs is an argument, all else an option."""
    parser = CommandParser(prog=f"agent-studio {home.id}", description=home.loaded.name)
    about = {name: one.tool.spec.description for name, one in verbs.items()}
    made = parser.add_subcommands({name: text.replace("%", "%%") for name, text in about.items()})
    for name, one in made.items():
        one.description = about[name]
        schema = verbs[name].tool.spec.schema
        needed = schema.get("required", [])
        for key, value in as_object(schema["properties"]).items():
            _add(one, key, as_object(value), isinstance(needed, list) and key in needed)
        one.add_argument("--json", action="store_true", help="print JSON")
    return parser


def _add(parser: CommandParser, name: str, schema: JsonObject, needed: bool) -> None:
    kind, text = schema.get("type"), as_text(schema.get("description")).replace("%", "%%")
    option = f"--{name.replace('_', '-')}"
    more: dict[str, Any] = {"help": text, "dest": name, "default": None}
    if kind == "boolean":
        parser.add_argument(option, action=argparse.BooleanOptionalAction, **more)
        return
    metavar = name.upper()
    if isinstance(schema.get("enum"), list):
        more["choices"] = schema["enum"]
    if kind == "array":
        kind = as_object(schema.get("items")).get("type")
        more["nargs"] = "+" if needed else "*"
    more["type"] = _KINDS.get(as_text(kind), _json)
    if needed:
        del more["dest"], more["default"]
        parser.add_argument(name, metavar=metavar, **more)
    else:
        parser.add_argument(option, metavar=metavar, **more)


def _json(text: str) -> Any:
    try:
        return json.loads(text)
    except ValueError:
        return text


async def change_settings(engine: Engine, console: Console, options: argparse.Namespace) -> int:
    """Print the settings of a pack, or change one."""
    home = _home(engine, options.id)
    kind = home.loaded.pack.settings
    if kind is None:
        raise ConfigurationError(f"The pack {options.id} has no settings.")
    fields = {one.name: one for one in fields_of(settings_schema(kind))}
    if options.name and options.name not in fields:
        raise ConfigurationError(
            f"There is no setting {options.name}. Known are: {', '.join(fields)}."
        )
    if options.value is not None:
        console.require_a_person()
        try:
            value = fields[options.name].read(options.value)
        except ValueError as error:
            raise ConfigurationError(str(error)) from error
        file = home.settings_file
        await in_daemon_thread(lambda: write_settings(kind, file, {options.name: value}))
    kept = await in_daemon_thread(lambda: stored(home.settings_file))
    shown = {name: kept.get(name, one.default) for name, one in fields.items()}
    if options.name:
        shown = {options.name: shown[options.name]}
    if options.json:
        console.write_json(shown, indent=2)
        return DONE
    for name, value in shown.items():
        console.row(f"{name} = {Result(value).text}")
    return DONE
