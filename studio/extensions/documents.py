"""Documents: reads a markdown file, whose frontmatter may be YAML that no parser takes (K-4).

People write ``description: Use this when: …``, which is no YAML. A line that begins with a key is
read as one then, and the rest of it as its text.
"""

from __future__ import annotations

import re
import stat
from pathlib import Path
from typing import Any, cast

from studio.agent.yaml_text import YamlError, compose_plain_yaml, construct_yaml
from studio.domain.patterns import lazy_pattern
from studio.domain.records import dataclass

MOST_BYTES = 200_000
MOST_HEAD = 20_000
"""Characters of a frontmatter; to parse more takes long."""
_KEY = lazy_pattern(r"([A-Za-z][\w-]*):(?:[ \t]+(.*))?$")
_PLAIN = lazy_pattern(
    r"""(?![\s"'>|&*!%@`\[\]{}#?-]|(?:true|false|yes|no|on|off|null|~)$)"""
    r"""(?!.*(?::\s|\s#|:$)).*""",
    re.I,
)
"""A value that YAML reads as the text that it is."""
_NAME = lazy_pattern(r"[^\s,()]+(?:\s*(?:\((?:[^()]|\([^()]*\))*\)|\(.*))?", re.S)
"""One of several names, with what stands in parentheses behind it; all that follows an open one."""
Key = str | bool | int | float | list[Any] | dict[str, Any] | None


@dataclass(frozen=True, slots=True)
class Document:
    """The keys of a frontmatter, and the text below it. ``lenient``: it was no YAML."""

    keys: dict[str, Any]
    body: str
    lenient: bool = False

    def text(self, key: str) -> str:
        """The value of a key in one line; empty where there is none."""
        value = self.keys.get(key)
        return " ".join(str(value).split()) if isinstance(value, str | int | float) else ""

    def on(self, key: str, usual: bool) -> bool:
        value = self.keys.get(key)
        if isinstance(value, str) and value.strip().lower() in ("true", "yes", "false", "no"):
            return value.strip().lower() in ("true", "yes")
        return value if isinstance(value, bool) else usual

    def names(self, key: str) -> tuple[str, ...]:
        """The names of a list, which may be a line with commas or blanks between them."""
        value = self.keys.get(key)
        if isinstance(value, list):
            return tuple(
                str(one).strip() for one in cast("list[object]", value) if str(one).strip()
            )
        return tuple(one[0].strip() for one in _NAME.finditer(self.text(key)))


def read_document(path: Path) -> Document:
    """Raises OSError, or ValueError for what is no text or too long."""
    found = path.stat()
    if not stat.S_ISREG(found.st_mode):
        raise ValueError("this is not an ordinary file")
    if found.st_size > MOST_BYTES:
        raise ValueError(f"the file is larger than {MOST_BYTES:,} bytes")
    with path.open("rb") as file:
        data = file.read(MOST_BYTES + 1)
    if b"\0" in data:
        raise ValueError("this is not text")
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError:
        raise ValueError("this is not UTF-8 text") from None
    return parse_document(text)


def parse_document(text: str) -> Document:
    """Never raises: what cannot be read is left out."""
    lines = text.replace("\r\n", "\n").replace("\r", "\n").lstrip("\ufeff").split("\n")
    if lines[0].strip() != "---":
        return Document({}, "\n".join(lines).strip())
    ends = (number for number, line in enumerate(lines[1:], 1) if line.strip() in ("---", "..."))
    if (end := next(ends, None)) is None:
        return Document({}, "\n".join(lines).strip(), lenient=True)
    head, body = lines[1:end], "\n".join(lines[end + 1 :]).strip()
    if (plain := _plain(head)) is not None:
        return Document(plain, body)
    try:
        source = "\n".join(head)
        if len(source) > MOST_HEAD:
            raise YamlError("too long")
        node = compose_plain_yaml(source)
        value: object = None if node is None else construct_yaml(node)
    except YamlError:
        return Document(_lenient(head), body, lenient=True)
    if not isinstance(value, dict):
        return Document(_lenient(head), body, lenient=value is not None)
    keys = cast("dict[object, Any]", value)
    return Document({str(key): one for key, one in keys.items()}, body)


def _plain(lines: list[str]) -> dict[str, Any] | None:
    """The keys where each line is a key with a plain text: most files, and much sooner."""
    keys: dict[str, Any] = {}
    for line in lines:
        found = _KEY.match(line)
        if found is None or not found[2] or not _PLAIN.fullmatch(found[2].strip()):
            return None
        keys[found[1]] = found[2].strip()
    return keys


def _lenient(lines: list[str]) -> dict[str, Any]:
    """The keys at the beginnings of lines, with what follows as their text."""
    keys: dict[str, Any] = {}
    key = ""
    for line in lines:
        if found := _KEY.match(line):
            key, value = found[1], (found[2] or "").strip()
            if len(value) > 1 and value[0] == value[-1] and value[0] in "\"'":
                value = value[1:-1]
            keys[key] = "" if value in (">", "|", ">-", "|-") else value
        elif key and line.strip():
            item = line.strip()
            if item.startswith("- ") and isinstance(keys[key], list):
                keys[key].append(item[2:].strip())
            elif item.startswith("- ") and not keys[key]:
                keys[key] = [item[2:].strip()]
            elif isinstance(keys[key], str):
                keys[key] = f"{keys[key]} {item}".strip()
    return keys
