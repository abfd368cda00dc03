"""Eval file: reads an eval from the text of its file, and finds these files (W-58)."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any, cast, get_args

import regex

from studio.agent.folder_files import MAX_FILE_BYTES, agent_paths, read_agent_file
from studio.agent.frontmatter import (
    Problem,
    ProblemFound,
    ValueProblem,
    read_frontmatter,
)
from studio.agent.yaml_text import compose_plain_yaml
from studio.domain.agents import Caps
from studio.domain.errors import ConfigurationError
from studio.domain.evals import Case, Eval, Grader, GraderKind, Variant
from studio.domain.jsonvalue import Json
from studio.domain.workflows import NO_BUDGET, Budget
from studio.storage.paths import Paths
from studio.workflows.value_readers import (
    CONDITION,
    JSON,
    JSON_SCHEMA,
    SECONDS,
    TEMPLATE,
    TEXT,
    Keys,
    Node,
    Places,
    Reader,
    Reading,
    items,
    nested,
    note_template,
    number,
    read_value,
)
from studio.workflows.workflow_keys import BUDGET, ID

from .graders import JUDGES

LONGEST = 4_000_000
"""Characters of the frontmatter: cases stand in it."""
MOST_CASES, MOST_VARIANTS, MOST_REPEATS = 10_000, 26, 100
KINDS: tuple[GraderKind, ...] = get_args(GraderKind)
FOLDERS = (Path(".agents") / "evals", Path("evals"))
"""Where a project has its evals; of the same name the first one counts."""


def _read_expected(reading: Reading, node: Node) -> Json:
    value = cast("Json", JSON.read(reading, node))
    if isinstance(value, str):
        note_template(reading, value, node)
    return value


def _read_pattern(reading: Reading, node: Node) -> str:
    text = cast("str", TEXT.read(reading, node))
    try:
        regex.compile(text)
    except regex.error as error:
        raise ValueProblem("this is no pattern: {reason}", {"reason": str(error)}) from error
    return text


GRADER = Keys(
    {
        "title": TEXT,
        "equals": Reader(_read_expected, {}),
        "contains": TEMPLATE,
        "pattern": Reader(_read_pattern, {"type": "string", "format": "regex"}),
        "schema": JSON_SCHEMA,
        "expression": CONDITION,
        "command": TEMPLATE,
        "cost": number(1e9),
        "time": SECONDS,
        "grader": TEXT,
        "pairwise": TEXT,
        "prompt": TEXT,
        "timeout": SECONDS,
    },
    "a grader",
)


def _read_graders(reading: Reading, node: Node) -> tuple[Grader, ...]:
    found: list[Grader] = []
    for one in items(node, "graders"):
        before = len(reading.problems)
        try:
            values, own = GRADER.read(reading, one)
        except ValueProblem as error:
            reading.note(error, *reading.matter.span(one))
            continue
        kinds: list[GraderKind] = [kind for kind in KINDS if kind in own.keys]
        if len(kinds) != 1:
            if len(reading.problems) > before:  # it says already what is wrong
                continue
            words = "a grader has one of {known}, and no second one"
            reading.note(ValueProblem(words, {"known": ", ".join(KINDS)}), *own.span)
        elif (kind := kinds[0]) in values:
            if kind in JUDGES and not str(values.get("prompt", "")).strip():
                words = "an agent that judges needs a “prompt” that says what is good"
                reading.note(ValueProblem(words), *own.span)
            more = values.get("title", ""), values.get("prompt", ""), values.get("timeout", 0.0)
            found.append(Grader(kind, values[kind], *more))
    return tuple(found)


GRADERS = Reader(_read_graders, {"type": "array", "items": GRADER.schema})
VARIANT = Keys(
    {"id": ID, "title": TEXT, "agent": TEXT, "model": TEXT, "prompt": TEMPLATE},
    "a variant",
    required=["id", "agent"],
)
_CASE = ("id", "title", "graders")
EVAL = Keys(
    {
        "name": TEXT,
        "description": TEXT,
        "prompt": TEMPLATE,
        "repeats": number(MOST_REPEATS, whole=True),
        "budget": nested(BUDGET),
        "variants": Reader(
            lambda reading, node: items(node, "variants"),
            {"type": "array", "items": VARIANT.schema},
        ),
        "cases": Reader(
            lambda reading, node: items(node, "cases"),
            {"type": "array", "items": {"type": "object"}},
        ),
        "graders": GRADERS,
    },
    "an eval",
    required=["variants", "cases"],
)


def read_eval_text(text: str, name: str = "") -> tuple[Eval | None, tuple[Problem, ...]]:
    """The eval that a text describes as far as it can be read, and all that is wrong in it."""
    opening = "an eval’s file begins with a line of three dashes"
    try:
        matter = read_frontmatter(text, opening, LONGEST, compose_plain_yaml)
    except ProblemFound as error:
        return None, (error.problem,)
    reading = Reading(matter)
    if matter.root is None:
        nothing = ValueProblem("an eval has “variants” and “cases”")
        reading.note(nothing, matter.start, matter.end)
        return None, tuple(reading.problems)
    values, top = EVAL.read(reading, matter.root)
    prompt = values.get("prompt", "") or text[matter.body :].strip()
    variants = [
        Variant(
            own["id"],
            own["agent"],
            own.get("title", ""),
            own.get("model", ""),
            own.get("prompt", "") or prompt,
        )
        for own, places in _parts(reading, values.get("variants", []), VARIANT)
        if "id" in own and "agent" in own and _prompted(reading, own, prompt, places)
    ]
    shared = values.get("graders", ())
    cases = list(_cases(reading, values.get("cases", []), shared))
    for what, found, most in (
        ("variants", variants, MOST_VARIANTS),
        ("cases", cases, MOST_CASES),
    ):
        start, end = top.value(what)
        seen = [one.id for one in found]
        if what in top.keys and not found and not reading.problems:
            reading.note(ValueProblem("an eval has at least one of these"), start, end)
        if len(found) > most:
            words = "an eval has at most {most} of these"
            reading.note(ValueProblem(words, {"most": f"{most:,}"}), start, end)
        for twice in dict.fromkeys(one for one in seen if seen.count(one) > 1):
            words = "the id “{name}” is there more than once"
            reading.note(ValueProblem(words, {"name": twice}), start, end)
    made = Eval(
        values.get("name", "") or name,
        tuple(cases),
        tuple(variants),
        values.get("repeats", 1),
        values.get("description", ""),
        _budget(values.get("budget")),
    )
    return made, tuple(sorted(reading.problems, key=lambda one: one.start))


def _parts(
    reading: Reading, nodes: list[Node], keys: Keys
) -> Iterator[tuple[dict[str, Any], Places]]:
    for node in nodes:
        try:
            yield keys.read(reading, node)
        except ValueProblem as error:
            reading.note(error, *reading.matter.span(node))


def _prompted(reading: Reading, own: dict[str, Any], prompt: str, places: Places) -> bool:
    if not (own.get("prompt") or prompt):
        words = "a variant needs a “prompt”, its own or the one of the eval"
        reading.note(ValueProblem(words), *places.span)
        return False
    return True


def _cases(reading: Reading, nodes: list[Node], shared: tuple[Grader, ...]) -> Iterator[Case]:
    for node in nodes:
        if node.id != "mapping":
            error = ValueProblem("a case has “key: value” lines")
            reading.note(error, *reading.matter.span(node))
            continue
        values: dict[str, Any] = {}
        for entry in reading.matter.children(node):
            reader = {"id": TEXT, "title": TEXT, "graders": GRADERS}.get(entry.key, JSON)
            try:
                values[entry.key] = read_value(reading, reader, entry.node)
            except ValueProblem as error:
                reading.note(error, entry.value_start, entry.value_end)
        name = str(values.get("id", "")).strip()
        graders = (*values.get("graders", ()), *shared)
        if not name or not graders:
            words = "a case needs “{name}”"
            missing = ValueProblem(words, {"name": "graders" if name else "id"})
            reading.note(missing, *reading.matter.span(node))
            continue
        more = {key: one for key, one in values.items() if key not in _CASE}
        yield Case(name, values.get("title", ""), more, graders)


def _budget(values: dict[str, Any] | None) -> Budget:
    if not values:
        return NO_BUDGET
    caps = Caps(values.get("tokens", 0), values.get("dollars", 0.0))
    return Budget(caps, values.get("minutes", 0.0))


def eval_places(paths: Paths, folder: Path) -> list[Path]:
    """The folders that have evals, the one that counts most first."""
    return [*(folder / one for one in FOLDERS), paths.config / "evals"]


def find_evals(paths: Paths, folder: Path) -> dict[str, Path]:
    """The files of evals by their names. Blocks."""
    found: dict[str, Path] = {}
    for place in eval_places(paths, folder):
        for path in sorted(agent_paths(place)):
            inside = path.resolve().is_relative_to(place.parent.resolve())
            if inside and path.suffix == ".md":
                found.setdefault(path.stem, path)
    return found


def locate_eval(paths: Paths, folder: Path, name: str) -> Path:
    """The file of an eval, by its path or its name; raises ConfigurationError. Blocks."""
    if (given := folder / name).is_file():
        return given
    known = find_evals(paths, folder)
    if name in known:
        return known[name]
    listed = f" Known are {', '.join(sorted(known))}." if known else ""
    raise ConfigurationError(f"There is no eval {name}.{listed}")


def read_eval(path: Path) -> Eval:
    """The eval of a file; raises ConfigurationError that says where it is wrong. Blocks."""
    try:
        data = read_agent_file(path)
        text = data.decode("utf-8-sig")
    except (OSError, ValueError) as error:
        raise ConfigurationError(f"{path} cannot be read: {error}.") from error
    if len(data) > MAX_FILE_BYTES:
        raise ConfigurationError(f"{path} is larger than {MAX_FILE_BYTES:,} bytes.")
    found, problems = read_eval_text(text, path.stem)
    wrong = next((one for one in problems if not one.warning), None)
    if wrong is not None or found is None:
        told = f":{wrong.line}: {wrong.message}" if wrong is not None else " is no eval."
        raise ConfigurationError(f"{path}{told}")
    return found
