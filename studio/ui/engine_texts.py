"""Translates texts that the engine composed: errors, permission questions, notices.

The engine writes English, with values inside, and stores it so. Here stand its templates as it
writes them. A text is matched against them; its values are put into the translation. So stored
texts are translated too, those of older versions among them, and the engine knows no languages.
``tests/ui/test_engine_texts.py`` finds a template that the engine does not write any more.
"""

from __future__ import annotations

import re
from functools import lru_cache

from .translation import language, tr

TEMPLATES: tuple[str, ...] = ()
"""Values stand in braces. Of two that match, the first counts."""
_VALUE = re.compile(r"\{(\w+)\}")


def tr_engine(text: str) -> str:
    """A text of the engine in the person's language; as it is where no template matches."""
    return _translated(language(), text) if text else ""


@lru_cache(maxsize=2000)
def _translated(_language: str, text: str) -> str:
    if (whole := tr(text)) != text:
        return whole
    for template, pattern in _patterns():
        if match := pattern.fullmatch(text):
            return tr(template).format(**match.groupdict())
    return text


@lru_cache(maxsize=1)
def _patterns() -> list[tuple[str, re.Pattern[str]]]:
    return [(template, _pattern(template)) for template in TEMPLATES]


def _pattern(template: str) -> re.Pattern[str]:
    parts = _VALUE.split(template)
    words = [f"(?P<{part}>.+?)" if n % 2 else re.escape(part) for n, part in enumerate(parts)]
    return re.compile("".join(words), re.DOTALL)
