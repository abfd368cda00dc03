"""Imports: makes workflows and agents of what people have in other programs (W-12).

Read are goose's recipes, and folders of Markdown Agent Studio with ``agents`` and ``workflows``.
Nothing of them is an error: what has no counterpart is named, and widens no right.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path, PurePosixPath
from typing import cast

from studio.agent.frontmatter import read_frontmatter
from studio.agent.yaml_text import construct_yaml, load_yaml
from studio.domain.errors import ConfigurationError
from studio.domain.jsonvalue import Json, JsonObject, as_object, as_objects, as_text

LARGEST = 1_000_000
"""Bytes of a file that is read."""
MOST_FILES = 500
_ENDINGS = (".yaml", ".yml", ".json")
_PLACE = re.compile(r"\{\{\s*([A-Za-z_]\w*)\s*(\|[^}]*)?\}\}")
_HEADING = re.compile(r"^ {0,3}#{1,2}(?!#)", re.M)
_STATEMENT = re.compile(r"\{%.*?%\}", re.S)
_FIELD = re.compile(r"(?<![\w${])\{([A-Za-z_][\w-]*)(?:\.([A-Za-z_]\w*))?\}")
_TYPES = {"string": "string", "number": "number", "boolean": "boolean", "file": "file"}
_PROVIDERS = {"anthropic": "anthropic", "openai": "openai", "google": "gemini", "ollama": "ollama"}
_TOOLS: Mapping[str, tuple[str, ...]] = {
    "vfs_read": ("read",),
    "vfs_write": ("write", "edit"),
    "vfs_list": ("list", "glob"),
    "vfs_delete": ("delete",),
    "web_search": ("web_search",),
    "web_fetch": ("fetch",),
    "memory_read": ("notes_read", "notes_detail"),
    "memory_write": ("remember",),
    "knowledge_query": ("recall", "notes_detail"),
    "knowledge_contribute": ("remember",),
    "blackboard_read": ("board_read",),
    "blackboard_write": ("board_write",),
    "publish": ("post",),
    "subscribe": ("inbox",),
    "task_queue_read": ("board_read",),
    "task_queue_write": ("task_add", "task_take", "task_done"),
}
_STARTERS = ("spawn_agent", "delegate")
_RIGHTS = (
    "safety_mode",
    "mode",
    "reads",
    "writes",
    "permissions",
    "gloves_off_triggers",
    "glovesOffTriggers",
)


@dataclass(slots=True)
class Imported:
    """Files by their place below ``.agents``, and what was left out, in words."""

    files: dict[str, str] = field(default_factory=dict[str, str])
    left_out: dict[str, list[str]] = field(default_factory=dict[str, list[str]])
    """By the name of the file that it stood in."""

    def leave_out(self, name: str, what: str) -> None:
        found = self.left_out.setdefault(name, [])
        if what not in found:
            found.append(what)


def import_from(path: Path) -> Imported:
    """Read a recipe, or a folder of the predecessor or of recipes. Blocks.

    Raises ConfigurationError where there is nothing to import.
    """
    made = Imported()
    if path.is_dir():
        files = sorted(one for one in path.glob("*") if one.suffix in _ENDINGS)
        agents = sorted(path.glob("agents/*.md"))
        workflows = sorted(path.glob("workflows/*.md"))
        for one in files[:MOST_FILES]:
            _recipe(_read(one), one.name, made)
        names = {one.stem: _agent(_read(one), one, made) for one in agents[:MOST_FILES]}
        for one in workflows[:MOST_FILES]:
            _workflow(_read(one), one, names, made)
        beside = (one.name for one in path.iterdir() if one.is_dir())
        for name in sorted(set(beside) & {"memory", "artifacts", "skills", "knowledge"}):
            made.leave_out(f"{name}/", "these files stay where they are")
    elif path.suffix in _ENDINGS:
        _recipe(_read(path), path.name, made)
    elif path.suffix == ".md" and path.parent.name == "workflows":
        agents = sorted(path.parent.parent.glob("agents/*.md"))
        names = {one.stem: _agent_name(_read(one), one) for one in agents[:MOST_FILES]}
        _workflow(_read(path), path, names, made)
    elif path.suffix == ".md":
        _agent(_read(path), path, made)
    if not made.files:
        raise ConfigurationError(
            f"{path} has nothing to import. Name a recipe of goose (.yaml, .json), a folder with "
            "recipes, or one of Markdown Agent Studio with agents/*.md and workflows/*.md."
        )
    return made


def _read(path: Path) -> str:
    """Raises ConfigurationError."""
    try:
        if path.stat().st_size > LARGEST:
            raise ConfigurationError(f"{path} is larger than {LARGEST:,} bytes.")
        return path.read_text("utf-8-sig")
    except OSError as error:
        raise ConfigurationError(f"{path} cannot be read: {error.strerror}.") from error
    except UnicodeDecodeError as error:
        raise ConfigurationError(f"{path} is not a text in UTF-8.") from error


def _file(made: Imported, folder: str, stem: str, values: JsonObject, body: str) -> None:
    """Add a file, under a name that no other one has."""
    name = re.sub(r"[^a-z0-9]+", "-", stem.casefold()).strip("-")[:60] or "imported"
    place, number = f"{folder}/{name}.md", 1
    while place in made.files:
        number += 1
        place = f"{folder}/{name}-{number}.md"
    lines = [f"{key}: {_written(value)}" for key, value in values.items()]
    made.files[place] = "\n".join(["---", *lines, "---", body.strip(), ""])


def _written(value: Json) -> str:
    """A value in YAML; a date, which YAML reads without being asked, is a text."""
    return json.dumps(value, ensure_ascii=False, default=str)


def _quoted(text: str) -> str:
    """A foreign text in which nothing is an expression of ours."""
    return text.replace("${{", "${{ '${{' }}")


def _told(step: JsonObject, prompt: str) -> str:
    """The section of a step's prompt; one with headings of its own stands at the step."""
    if _HEADING.search(prompt):
        step["prompt"] = prompt
        return ""
    return f"## {step['id']}\n\n{prompt}"


# goose


def _recipe(text: str, name: str, made: Imported) -> None:
    """A recipe becomes a workflow of one step; an unreadable or other file is left out."""
    try:
        whole = as_object(load_yaml(text))
    except ValueError as error:
        made.leave_out(name, f"it cannot be read: {error}")
        return
    recipe = as_object(whole.get("recipe")) or whole
    task = [as_text(recipe.get(key)).strip() for key in ("instructions", "prompt")]
    if not any(task):
        made.leave_out(name, "it is no recipe")
        return
    inputs = _parameters(recipe, name, made)

    def place(found: re.Match[str]) -> str:
        if found[2]:
            made.leave_out(name, f"the filter in {found[0]}")
        inputs.setdefault(found[1], {"type": "string", "required": True})
        return f"${{{{ inputs.{found[1]} }}}}"

    said = _quoted("\n\n".join(filter(None, task)))
    if _STATEMENT.search(said):
        made.leave_out(name, "conditions and loops in its texts ({% … %})")
    said = _PLACE.sub(place, _STATEMENT.sub("", said))
    extensions = [as_text(one.get("name")) for one in as_objects(recipe.get("extensions"))]
    step: JsonObject = {"id": "task", "title": "Task"}
    step["agent"] = "Coder" if not extensions or "developer" in extensions else "Assistant"
    for one in extensions:
        if one not in ("developer", "todo"):
            made.leave_out(name, f"the extension {one}: connect its server in the settings")
    _settings(recipe, name, step, made)
    if schema := as_object(as_object(recipe.get("response")).get("json_schema")):
        step["outputs"] = schema
    for one in as_objects(recipe.get("sub_recipes")):
        below = as_text(one.get("name")) or as_text(one.get("path"))
        made.leave_out(name, f"the sub-recipe {below}: import it, and add a step with its workflow")
    if recipe.get("retry"):
        made.leave_out(name, "retry: its commands check nothing here, see “redo”")
    known = {"version", "title", "description", "instructions", "prompt", "parameters", "response"}
    known |= {"extensions", "settings", "sub_recipes", "retry"}
    for key in recipe.keys() - known:
        made.leave_out(name, key)
    title = as_text(recipe.get("title")) or PurePosixPath(name).stem
    values: JsonObject = {"name": title}
    if about := as_text(recipe.get("description")):
        values["description"] = about
    if inputs:
        values["inputs"] = cast("Json", inputs)
    body = _told(step, said)
    _file(made, "workflows", title, {**values, "steps": [step]}, body)


def _parameters(recipe: JsonObject, name: str, made: Imported) -> dict[str, JsonObject]:
    inputs: dict[str, JsonObject] = {}
    for one in as_objects(recipe.get("parameters")):
        key, kind = as_text(one.get("key")), as_text(one.get("input_type"))
        if not re.fullmatch(r"[A-Za-z_]\w*", key):
            made.leave_out(name, f"the parameter “{key}”: no input can be called so")
            continue
        found: JsonObject = {"type": _TYPES.get(kind, "string")}
        if kind == "select" and (choices := one.get("options")):
            found = {"type": "enum", "choices": choices}
        elif kind not in (*_TYPES, "date", "select", ""):
            made.leave_out(name, f"the type {kind} of the parameter {key}, which is a text here")
        if about := as_text(one.get("description")):
            found["description"] = about
        if (default := one.get("default")) is not None:
            found["default"] = _typed(default, as_text(found["type"]))
        elif one.get("requirement") in ("required", "user_prompt"):
            found["required"] = True
        inputs[key] = found
    return inputs


def _typed(value: Json, kind: str) -> Json:
    """A default, which goose writes as a text, as a value of its type."""
    if isinstance(value, str) and kind in ("number", "boolean"):
        try:
            return cast("Json", json.loads(value))
        except ValueError:
            return value
    return value if isinstance(value, str) or kind != "string" else _plain(value)


def _plain(value: Json) -> str:
    """What is no text, as one: 2026-01-01 as it is written, the rest as JSON."""
    written = _written(value)
    return written[1:-1] if written.startswith('"') else written


def _settings(recipe: JsonObject, name: str, step: JsonObject, made: Imported) -> None:
    settings = as_object(recipe.get("settings"))
    provider, model = (as_text(settings.get(f"goose_{key}")) for key in ("provider", "model"))
    if model:
        known = _PROVIDERS.get(provider, "")
        step["model"] = f"{known}/{model}" if known else model
        if provider and not known:
            made.leave_out(name, f"the provider {provider}")
    for key in settings.keys() - {"goose_provider", "goose_model"}:
        made.leave_out(name, f"{key}: set it in an agent of your own")


# Markdown Agent Studio


def _matter(text: str, name: str, made: Imported) -> tuple[JsonObject, str]:
    try:
        matter = read_frontmatter(text)
        values = as_object(construct_yaml(matter.root)) if matter.root is not None else {}
    except ValueError as error:
        made.leave_out(name, f"it cannot be read: {error}")
        return {}, ""
    return values, text[matter.body :]


def _agent_name(text: str, path: Path) -> str:
    values, _ = _matter(text, path.name, Imported())
    return as_text(values.get("name")) or path.stem


def _agent(text: str, path: Path, made: Imported) -> str:
    """Add an agent; returns its name."""
    name = path.name
    given, prompt = _matter(text, name, made)
    values: JsonObject = {"name": as_text(given.get("name")) or path.stem}
    for key in ("description", "model"):
        if value := as_text(given.get(key)):
            values[key] = value
    listed = given.get("tools")
    entries = listed if isinstance(listed, list) else []
    allowed = given.get("allowed_tools")
    wanted = allowed if isinstance(allowed, list) and allowed else entries
    blocked = given.get("blocked_tools")
    tools: list[Json] = []
    for one in wanted:
        if not isinstance(one, str) or one in (blocked if isinstance(blocked, list) else ()):
            continue
        if one in _STARTERS:
            values["agents"] = ["*"]
        elif one == "signal_parent":
            pass  # what an agent says at its end goes back by itself
        elif one in _TOOLS:
            tools += [tool for tool in _TOOLS[one] if tool not in tools]
        else:
            made.leave_out(name, f"the tool {one}")
    for one in blocked if isinstance(blocked, list) else ():
        if one not in entries and one not in wanted:
            made.leave_out(name, f"the blocked tool {one}")
    if given.keys() & {"tools", "allowed_tools", "blocked_tools"}:
        values["tools"] = tools  # also where nothing is left: no list would mean all of them
    if defined := list(_defined(entries, name, made)):
        values["define"] = defined
    for key in given.keys() & set(_RIGHTS):
        made.leave_out(name, f"{key}: you are asked instead, and your rules count")
    known = {"name", "id", "description", "model", "tools", "allowed_tools", "blocked_tools"}
    for key in given.keys() - known - set(_RIGHTS):
        made.leave_out(name, key)
    _file(made, "agents", path.stem, values, prompt)
    return as_text(values["name"])


def _defined(entries: list[Json], name: str, made: Imported) -> Iterator[Json]:
    """The tools that an agent's file defines."""
    for one in entries:
        if not isinstance(one, dict):
            continue
        parameters = as_object(one.get("parameters"))
        if not (as_text(one.get("name")) and as_text(one.get("prompt"))):
            made.leave_out(name, "a tool without a name or a prompt")
            continue

        def argument(found: re.Match[str], known: JsonObject = parameters) -> str:
            return f"${{{{ {found[1]} }}}}" if found[1] in known and not found[2] else found[0]

        tool: JsonObject = {
            "name": one["name"],
            "description": as_text(one.get("description")) or as_text(one["name"]),
            "prompt": _FIELD.sub(argument, as_text(one["prompt"])),
            "parameters": {"properties": parameters, "required": [*parameters]},
        }
        if returns := as_object(one.get("result_schema")):
            tool["returns"] = returns
        if model := as_text(one.get("model")):
            tool["model"] = model
        yield tool


def _workflow(text: str, path: Path, agents: Mapping[str, str], made: Imported) -> None:
    name = path.name
    given, _ = _matter(text, name, made)
    steps = as_objects(given.get("steps"))
    ids = {as_text(one.get("id")) for one in steps}
    inputs: dict[str, Json] = {}

    def place(found: re.Match[str]) -> str:
        whole, part = found[1], found[2]
        if whole in ids:
            key = "text" if part in (None, "result", "output", "text") else f"outputs.{part}"
            return f"${{{{ steps.{whole}.{key} }}}}"
        if part:
            return found[0]
        inputs.setdefault(whole.replace("-", "_"), {"type": "string", "required": True})
        return f"${{{{ inputs.{whole.replace('-', '_')} }}}}"

    made_steps: list[Json] = []
    sections: list[str] = []
    for one in steps:
        id = as_text(one.get("id"))
        stem = PurePosixPath(as_text(one.get("agent"))).stem
        step: JsonObject = {"id": id, "agent": agents.get(stem, stem or "Assistant")}
        if (needs := one.get("depends_on")) and needs:
            step["needs"] = needs
        for key in one.keys() - {"id", "agent", "depends_on", "prompt"}:
            made.leave_out(name, f"{key} of the step {id}")
        prompt = _FIELD.sub(place, _quoted(as_text(one.get("prompt"))))
        if section := _told(step, prompt):
            sections.append(section)
        made_steps.append(step)
    if not made_steps:
        made.leave_out(name, "it has no steps")
        return
    for key in given.keys() - {"name", "description", "steps"}:
        made.leave_out(name, key)
    values: JsonObject = {"name": as_text(given.get("name")) or path.stem}
    if about := as_text(given.get("description")):
        values["description"] = about
    if inputs:
        values["inputs"] = inputs
    _file(made, "workflows", path.stem, {**values, "steps": made_steps}, "\n\n".join(sections))
