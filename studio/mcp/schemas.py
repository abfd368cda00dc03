"""Schemas: makes of a tool's schema one that every provider takes (M-10).

The original stays what arguments are checked against, by us and by the server. The copy that a
model reads says less and refuses less: of a schema a provider refuses, it refuses the whole
request. One copy serves all, so that a chat keeps its tools when its model changes.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable
from dataclasses import field
from typing import cast
from urllib.parse import unquote

from studio.domain.jsonvalue import Json, JsonObject, as_object, as_objects, as_text, is_clean_json
from studio.domain.records import dataclass

LONGEST_KEY = 64
DEPTH = 20
"""Levels below which a value becomes anything."""
NODES = 3_000
"""Schemas in a schema after its references are put in; what is beyond becomes anything."""
NAMES = 1_000
"""Names of properties; with more a tool is hopeless."""
LONGEST_PATTERN = 1_000
MOST = 100_000
"""Characters of the copy; with more a tool is hopeless."""
_WORDS = ("description", "title", "default")
_KEPT = (*_WORDS, "enum", "format", "pattern")
_COUNTS = ("minLength", "maxLength", "minItems", "maxItems")
_BOUNDS = {
    "minimum": "minimum",
    "maximum": "maximum",
    "exclusiveMinimum": "minimum",
    "exclusiveMaximum": "maximum",
}
_KINDS = ("object", "array", "string", "number", "integer", "boolean", "null")
_OF_KIND = {
    **dict.fromkeys(("properties", "required", "additionalProperties"), "object"),
    **dict.fromkeys(("items", "minItems", "maxItems"), "array"),
    **dict.fromkeys(("minLength", "maxLength", "pattern", "format"), "string"),
}
"""Words that are refused beside another type."""
_UNTOLD = frozenset(
    ("not", "if", "then", "else", "dependentSchemas", "dependentRequired", "dependencies")
) | {"patternProperties", "propertyNames", "contains", "prefixItems", "unevaluatedProperties"}
"""Words that the copy leaves out; the check of the original knows them, or the server does."""
_WRONG = re.compile(r"[^A-Za-z0-9_.-]")
_INDEX = re.compile(r"[0-9]{1,6}")


class HopelessSchema(ValueError):
    """No provider can be told this schema; ``str()`` is the reason."""


@dataclass(frozen=True, slots=True)
class AdaptedSchema:
    """``schema`` is the copy for providers. ``renamed`` has each new name of a property with the
    server's own. ``hint`` is a sentence for the model about what the copy cannot say; ``notes``
    are sentences for the person about what was changed."""

    schema: JsonObject = field(hash=False)
    renamed: tuple[tuple[str, str], ...] = ()
    hint: str = ""
    notes: tuple[str, ...] = ()

    def original(self, arguments: JsonObject) -> JsonObject:
        """Arguments as a model wrote them, with the server's own names."""
        names = dict(self.renamed)
        return cast("JsonObject", _with_names(arguments, names)) if names else arguments


def adapt_schema(schema: Json) -> AdaptedSchema:
    """Adapt the schema of a tool; raises HopelessSchema, and then the tool is left out."""
    if not isinstance(schema, dict):
        raise HopelessSchema("its schema is no object")
    try:
        return _adapted(schema)
    except HopelessSchema:
        raise
    except Exception as error:  # one tool's schema may not take the other tools away
        raise HopelessSchema("its schema cannot be read") from error


def _adapted(schema: JsonObject) -> AdaptedSchema:
    if not is_clean_json(schema, depth=200):
        raise HopelessSchema("its schema is nested too deeply or is no proper text")
    names = set(_property_names(schema))
    if len(names) > NAMES:
        raise HopelessSchema(f"its schema has more than {NAMES:,} properties")
    adapter = _Adapter(schema, names)
    adapted = adapter.root()
    if len(json.dumps(adapted, ensure_ascii=False)) > MOST:
        raise HopelessSchema(f"its schema has more than {MOST:,} characters")
    notes = tuple(dict.fromkeys(adapter.notes))
    return AdaptedSchema(adapted, tuple(adapter.renamed.items()), adapter.hint, notes)


class _Adapter:
    def __init__(self, schema: JsonObject, names: set[str]) -> None:
        self.renamed: dict[str, str] = {}
        self.notes: list[str] = []
        self.hint = ""
        self._whole = schema
        self._new_names: dict[str, str] = {}
        self._numbers: dict[str, int] = {}
        self._names = names
        self._nodes = 0

    def root(self) -> JsonObject:
        schema = self._merged(self._whole, ())
        kind = schema.get("type", "object")
        if kind != "object" and not (isinstance(kind, list) and "object" in kind):
            raise HopelessSchema("its schema describes no object")
        schema = {**schema, "type": "object"}
        for word in ("anyOf", "oneOf"):
            branches = schema.pop(word, None)
            if isinstance(branches, list):
                schema = self._flattened(schema, branches)
        adapted = self._adapted(schema, (), 0)
        adapted.setdefault("properties", {})
        return adapted

    def _flattened(self, schema: JsonObject, branches: list[Json]) -> JsonObject:
        """The root with the properties of all branches; required is what all of them require."""
        objects = [self._merged(branch, ()) for branch in as_objects(cast("Json", branches))]
        properties: JsonObject = {}
        for branch in objects:
            for name, one in as_object(branch.get("properties")).items():
                properties.setdefault(name, one)
        needed = [_texts(branch.get("required")) for branch in objects]
        always = (
            [name for name in needed[0] if all(name in one for one in needed)] if needed else []
        )
        own = as_object(schema.get("properties"))
        choices = [", ".join(one) for one in needed if one]
        if len(choices) > 1:
            self.hint = f"Give the arguments of one of these groups: {'; '.join(choices)}."
        self.notes.append("Alternatives at the root are one list of properties for the model.")
        return {
            **schema,
            "properties": {**properties, **own},
            "required": [*dict.fromkeys((*_texts(schema.get("required")), *always))],
        }

    def _adapted(self, schema: Json, seen: tuple[str, ...], depth: int) -> JsonObject:
        """The copy of a schema and of all in it."""
        self._nodes += 1
        if depth > DEPTH or self._nodes > NODES:
            self.notes.append("Parts of it that are nested deeply are anything for the model.")
            return {}
        if not isinstance(schema, dict):
            return {}
        reference = schema.get("$ref", schema.get("$dynamicRef"))
        merged = self._merged(schema, seen)
        if isinstance(reference, str):
            seen = (*seen, reference)
        found: JsonObject = {name: merged[name] for name in _KEPT if name in merged}
        self._keep_plain(found, merged)
        if "const" in merged and "enum" not in found:
            found["enum"] = [merged["const"]]
        if _UNTOLD & merged.keys():
            words = ", ".join(sorted(_UNTOLD & merged.keys()))
            self.notes.append(f"The model is not told: {words}.")
        if "properties" in merged or "required" in merged or merged.get("type") == "object":
            self._properties(found, merged, seen, depth)
        if "items" in merged or "prefixItems" in merged or merged.get("type") == "array":
            found["items"] = self._items(merged, seen, depth)
        branches = merged.get("anyOf", merged.get("oneOf"))
        if isinstance(branches, list) and depth:
            found["anyOf"] = [self._adapted(one, seen, depth + 1) for one in branches] or [{}]
        return self._with_type(found, merged.get("type"))

    def _keep_plain(self, found: JsonObject, merged: JsonObject) -> None:
        for name, kind in (("description", str), ("title", str), ("format", str), ("pattern", str)):
            if name in found and not isinstance(found[name], kind):
                del found[name]
        enum = found.get("enum")
        if "enum" in found and not (isinstance(enum, list) and enum):
            del found["enum"]
        if not _compiles(as_text(found.get("pattern"))):
            del found["pattern"]
        for name in _COUNTS:
            value = merged.get(name)
            if isinstance(value, int) and not isinstance(value, bool) and value >= 0:
                found[name] = value
        for word, plain in _BOUNDS.items():
            value = merged.get(word)
            if isinstance(value, int | float) and not isinstance(value, bool):
                found.setdefault(plain, value)

    def _properties(
        self, found: JsonObject, merged: JsonObject, seen: tuple[str, ...], depth: int
    ) -> None:
        properties: JsonObject = {}
        for name, one in as_object(merged.get("properties")).items():
            if one is not False:
                properties[self._name(name)] = self._adapted(one, seen, depth + 1)
        required = [self._name(name) for name in dict.fromkeys(_texts(merged.get("required")))]
        for name in required:
            properties.setdefault(name, {})
        found["properties"] = properties
        if required:
            found["required"] = [*required]
        more = merged.get("additionalProperties")
        if isinstance(more, bool):
            found["additionalProperties"] = more
        elif isinstance(more, dict) and more:
            found["additionalProperties"] = self._adapted(more, seen, depth + 1)

    def _items(self, merged: JsonObject, seen: tuple[str, ...], depth: int) -> JsonObject:
        items = merged.get("items")
        if isinstance(items, dict) and "prefixItems" not in merged:
            return self._adapted(items, seen, depth + 1)
        return {}

    def _with_type(self, found: JsonObject, kind: Json) -> JsonObject:
        """The copy with its type; of several types each becomes an alternative."""
        named = kind if isinstance(kind, list) else [kind]
        kinds = [one for one in named if isinstance(one, str) and one in _KINDS]
        if not kinds and "anyOf" not in found:
            kinds = [one for name, one in _OF_KIND.items() if name in found][:1]
        if len(kinds) == 1:
            return {**_fitting(found, kinds[0]), "type": kinds[0]}
        if len(kinds) > 1 and "anyOf" not in found:
            told = {name: one for name, one in found.items() if name in _WORDS}
            rest = {name: one for name, one in found.items() if name not in told}
            alternatives: list[Json] = [{**_fitting(rest, one), "type": one} for one in kinds]
            return {**told, "anyOf": alternatives}
        return found

    def _merged(self, schema: JsonObject, seen: tuple[str, ...]) -> JsonObject:
        """A schema with what it refers to, and with all that it must be as well."""
        self._nodes += 1
        if self._nodes > NODES:
            return {}
        for _ in range(DEPTH):
            reference = schema.get("$ref", schema.get("$dynamicRef"))
            if not isinstance(reference, str):
                break
            rest = {key: one for key, one in schema.items() if key not in ("$ref", "$dynamicRef")}
            target = self._target(reference, seen)
            seen = (*seen, reference)
            schema = {**as_object(target), **rest}
        every = schema.get("allOf")
        if isinstance(every, list):
            whole = {key: one for key, one in schema.items() if key != "allOf"}
            for branch in as_objects(every)[:50]:
                if len(seen) > DEPTH:
                    break
                whole = _both(self._merged(branch, (*seen, "allOf")), whole)
            return whole
        return schema

    def _target(self, reference: str, seen: tuple[str, ...]) -> Json:
        if reference in seen:
            self.notes.append("What refers to itself is anything for the model.")
            return {}
        if not reference.startswith("#"):
            self.notes.append(f"It refers to {reference[:100]}, which is not fetched.")
            return {}
        place = cast("Json", self._whole)
        for step in reference[1:].split("/")[1:]:
            key = unquote(step).replace("~1", "/").replace("~0", "~")
            place = _item(place, key) if isinstance(place, list) else as_object(place).get(key)
        if not isinstance(place, dict) or (reference != "#" and not reference.startswith("#/")):
            self.notes.append(f"It refers to {reference[:100]}, which is not there.")
            return {}
        return place

    def _name(self, name: str) -> str:
        """The name of a property that every provider takes."""
        if name in self._new_names:
            return self._new_names[name]
        new = _WRONG.sub("_", name)[:LONGEST_KEY] or "_"
        if new != name:
            base = new[: LONGEST_KEY - 8]
            while new in self._names or new in self.renamed:
                number = self._numbers[base] = self._numbers.get(base, 1) + 1
                new = f"{base}_{number}"
            self.renamed[new] = name
            self.notes.append(f"The model knows “{name[:80]}” as “{new}”.")
        self._new_names[name] = new
        return new


def _both(one: JsonObject, other: JsonObject) -> JsonObject:
    """A schema of what is both; where they differ the second one holds."""
    properties = {**as_object(one.get("properties")), **as_object(other.get("properties"))}
    required = [*_texts(one.get("required")), *_texts(other.get("required"))]
    both = {**one, **other}
    if properties:
        both["properties"] = properties
    if required:
        both["required"] = [*dict.fromkeys(required)]
    return both


def _fitting(found: JsonObject, kind: str) -> JsonObject:
    return {name: one for name, one in found.items() if _OF_KIND.get(name, kind) == kind}


def _texts(value: Json) -> list[str]:
    return [one for one in value if isinstance(one, str)] if isinstance(value, list) else []


def _item(place: list[Json], key: str) -> Json:
    return place[int(key)] if _INDEX.fullmatch(key) and int(key) < len(place) else None


def _compiles(pattern: str) -> bool:
    """Whether it is a pattern; providers refuse what is none."""
    if len(pattern) > LONGEST_PATTERN:
        return False
    try:
        re.compile(pattern)
    except (re.error, OverflowError, RecursionError):
        return False
    return True


def _property_names(schema: Json) -> Iterable[str]:
    """The names of all properties, wherever they are, also of those that are only required."""
    ahead: list[Json] = [schema]
    while ahead:
        one = ahead.pop()
        if isinstance(one, dict):
            yield from as_object(one.get("properties"))
            yield from _texts(one.get("required"))
            ahead += one.values()
        elif isinstance(one, list):
            ahead += one


def _with_names(value: Json, names: dict[str, str]) -> Json:
    if isinstance(value, dict):
        return {names.get(name, name): _with_names(one, names) for name, one in value.items()}
    if isinstance(value, list):
        return [_with_names(one, names) for one in value]
    return value
