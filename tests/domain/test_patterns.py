"""Patterns that are compiled late are those of ``re`` in all that they are used for."""

from __future__ import annotations

import copy
import re

import pytest

from studio.domain.patterns import lazy_pattern


def test_a_lazy_pattern_does_what_a_compiled_one_does() -> None:
    ours, theirs = (
        lazy_pattern(r"(?P<word>[a-z]+)-(\d)", re.I),
        re.compile(r"(?P<word>[a-z]+)-(\d)", re.I),
    )
    text = "Ab-1 and cd-2"
    for _ in range(2):  # the first call compiles it
        assert ours.findall(text) == theirs.findall(text)
        assert ours.sub(r"\2", text) == theirs.sub(r"\2", text)
        found, wanted = ours.match(text), theirs.match(text)
        assert found and wanted and found.groupdict() == wanted.groupdict()
        assert [one.span() for one in ours.finditer(text)] == [(0, 4), (9, 13)]
    assert (ours.pattern, ours.flags, ours.groups) == (theirs.pattern, theirs.flags, theirs.groups)
    assert copy.deepcopy(ours).search(text)


def test_a_lazy_pattern_is_compiled_with_its_first_use() -> None:
    broken = lazy_pattern("(")
    with pytest.raises(re.error):
        broken.search("")
