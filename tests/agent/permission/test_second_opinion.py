"""Tree-sitter's grammar of bash as a second opinion on what a line runs (T-7)."""

from __future__ import annotations

import shlex
from collections.abc import Iterator

import pytest
import tree_sitter_bash
from hypothesis import HealthCheck, example, given, settings
from tree_sitter import Language, Node, Parser

from studio.agent.permission.command_parts import analyze_command
from studio.agent.permission.shell_parser import KEYWORDS
from support.command_families import CALM, FAMILIES, SED, listed, pairs
from support.shell_pieces import LINES

PARSER = Parser(Language(tree_sitter_bash.language()))


def _names(node: Node) -> Iterator[str]:
    """The words in the place of a program, of those that are known before the line runs."""
    if node.type == "command_name":
        text = (node.text or b"").decode()
        if not set(text) & set("$`*?[{~<>"):
            yield "".join(shlex.split(text)) if set(text) & set("\\'\"") else text
    for child in node.children:
        yield from _names(child)


def missed(line: str) -> set[str]:
    """The programs that the grammar finds in a line and we do not, unless we ask."""
    tree = PARSER.parse(line.encode())
    if tree.root_node.has_error:
        return set()
    ours = analyze_command(line, windows=False)
    if ours.unclear:
        return set()
    found = set(_names(tree.root_node)) - KEYWORDS  # a shell refuses these there
    return found - {part.text.split(" ")[0] for part in ours.parts}


@settings(max_examples=1_500, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@example("alpha \\\n beta; gamma")
@given(LINES)
def test_t7_every_program_of_a_made_up_line_is_found(line: str) -> None:
    assert missed(line) == set()


@pytest.mark.parametrize("family", [*FAMILIES, "the rest"])
def test_t7_every_program_of_a_listed_line_is_found(family: str) -> None:
    rest = [*listed(CALM), *listed(SED), *(line for pair in pairs() for line in pair)]
    wrong = {line: found for line in FAMILIES.get(family, rest) if (found := missed(line))}
    assert wrong == {}


def test_the_second_opinion_sees_programs() -> None:
    tree = PARSER.parse(b"a $(b) | c && (d; 'e' f); if g; then h; fi <<E\n$(i)\nE\n")
    assert set(_names(tree.root_node)) == set("abcdeghi")
