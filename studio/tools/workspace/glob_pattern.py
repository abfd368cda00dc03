"""Glob patterns: translates patterns over relative paths into regular expressions."""

from __future__ import annotations

import re
from functools import lru_cache

from studio.domain.errors import ToolFailed


@lru_cache(maxsize=256)
def glob_regex(pattern: str) -> re.Pattern[str]:
    """``*`` and ``?`` stay inside one name, ``**`` crosses folders, ``{a,b}`` is either.

    A pattern without a slash matches names at any depth; one with a slash matches
    the whole path. Raises ToolFailed for a pattern that cannot be parsed.
    """
    text = pattern.strip().replace("\\", "/").removeprefix("./")
    if not text:
        raise ToolFailed("The glob pattern is empty.")
    anywhere = "/" not in text
    try:
        body = _translate(text.lstrip("/"))
        return re.compile(rf"(?:.*/)?(?:{body})" if anywhere else body, re.S)
    except re.error as error:
        raise ToolFailed(f"“{pattern}” is not a glob pattern: {error}.") from error


def _translate(text: str) -> str:
    out: list[str] = []
    index = depth = 0
    while index < len(text):
        char = text[index]
        index += 1
        if char == "*":
            stars = 1
            while index < len(text) and text[index] == "*":
                stars += 1
                index += 1
            if stars == 1:
                out.append("[^/]*")
            elif text[index : index + 1] == "/":
                index += 1
                out.append("(?:.*/)?")
            else:
                out.append(".*")
        elif char == "?":
            out.append("[^/]")
        elif char == "[" and (end := text.find("]", index + 1)) > 0:
            inside = text[index:end].replace("\\", "\\\\").replace("[", "\\[")
            out.append(f"[^/{inside[1:]}]" if inside[0] in "!^" else f"[{inside}]")
            index = end + 1
        elif char == "{" and "}" in text[index:]:
            depth += 1
            out.append("(?:")
        elif char == "}" and depth:
            depth -= 1
            out.append(")")
        elif char == "," and depth:
            out.append("|")
        else:
            out.append(re.escape(char))
    return "".join(out)
