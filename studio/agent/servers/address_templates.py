"""Address templates: addresses of resources with variables in braces (RFC 6570)."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import NamedTuple
from urllib.parse import quote

from studio.domain.jsonvalue import Json, JsonObject

_EXPRESSION = re.compile(r"\{([+#./;?&]?)([^{}]*)\}")
_RESERVED = ":/?#[]@!$&'()*+,;="


class Variable(NamedTuple):
    """A template's variable that is being typed, what stands before it, and what follows it."""

    name: str
    value: str
    before: str
    after: str
    given: tuple[tuple[str, str], ...]
    safe: str


def before_variables(template: str) -> str:
    """What stands before the first variable."""
    found = _EXPRESSION.search(template)
    return template[: found.start()] if found else template


def variables_form(template: str) -> JsonObject:
    """A schema of texts for the variables of a template; those with a sign may be left out."""
    properties: JsonObject = {}
    needed: list[Json] = []
    for found in _EXPRESSION.finditer(template):
        for name in _variables(found):
            properties[name] = {"type": "string"}
            if found[1] in ("", "+"):
                needed.append(name)
    return {"type": "object", "properties": properties, "required": needed}


def expanded(template: str, values: Mapping[str, str]) -> str:
    """The address that a template stands for with these values (RFC 6570)."""

    def put(found: re.Match[str]) -> str:
        sign = found[1]
        safe = _RESERVED if sign in ("+", "#") else ""
        given = [name for name in _variables(found) if values.get(name)]
        plain = [quote(values[name], safe=safe) for name in given]
        named = [f"{name}={value}" for name, value in zip(given, plain, strict=True)]
        if not given:
            return ""
        match sign:
            case "" | "+":
                return ",".join(plain)
            case "#":
                return "#" + ",".join(plain)
            case "." | "/":
                return sign + sign.join(plain)
            case _:
                return sign + ("&" if sign != ";" else ";").join(named)

    return _EXPRESSION.sub(put, template)


def _variables(expression: re.Match[str]) -> list[str]:
    names = expression[2].split(",")
    return [name for one in names if (name := one.partition(":")[0].rstrip("*").strip())]


def open_variable(template: str, typed: str) -> Variable | None:
    """The last variable of a template that ``typed`` reaches; None if it reaches none, or if it is
    no address of the template."""
    rest, given, found, after = typed, list[tuple[str, str]](), None, ""
    for literal, operator, name, after in _parts(template):
        if not rest.startswith(literal):
            return None
        rest = rest[len(literal) :]
        if operator and operator in ";?&./":  # what begins with its own sign may be left out
            return found
        safe = _RESERVED if operator else ""
        end = rest.find(after) if after else -1
        value = rest[:end] if end >= 0 else rest
        if "/" in value and not safe:
            return None
        before = typed[: len(typed) - len(rest)]
        found = Variable(name, value, before, after if end < 0 else "", tuple(given), safe)
        if end < 0:
            return found
        given.append((name, value))
        rest = rest[end:]
    return found if rest == after else None


def _parts(template: str) -> Iterator[tuple[str, str, str, str]]:
    """Each variable of a template: the literal before it, its sign, its name, what follows it."""
    variables, at = list(_EXPRESSION.finditer(template)), 0
    ends = [*(one.start() for one in variables[1:]), len(template)]
    for one, end in zip(variables, ends, strict=False):
        name = next(iter(_variables(one)), "")
        yield template[at : one.start()], one[1], name, template[one.end() : end]
        at = one.end()
