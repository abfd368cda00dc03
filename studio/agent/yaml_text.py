"""YAML text: loads what people and strangers write, and never more than is written.

PyYAML raises errors of many kinds for values that it cannot make, and its merge keys
(``<<``) multiply: nine lines can fill the memory. A file has no need of them.
"""

from __future__ import annotations

import re
from collections.abc import Generator
from contextlib import contextmanager, suppress
from typing import Any, cast

DEEPEST = 50
"""Lists and mappings in each other that ``compose_plain_yaml`` reads."""
_MERGE = "tag:yaml.org,2002:merge"
_DISPUTED = re.compile(r"[\t?!\ufeff]|:\s+[],}]|[|>]#")
"""What PyYAML's two parsers do not read alike in every place."""


class YamlError(ValueError):
    """What is wrong with a text, and at which of its characters."""

    def __init__(self, words: str, index: int = 0) -> None:
        super().__init__(words)
        self.words, self.index = words, index


def load_yaml(text: str, first_line: int = 1) -> Any:
    """The value of a text; ValueError names the line, ``line 2: …``, from ``first_line``."""
    try:
        node = compose_yaml(text)
        return None if node is None else construct_yaml(node)
    except YamlError as error:
        line = text.count("\n", 0, error.index) + first_line
        raise ValueError(f"line {line}: {error.words}") from error


def compose_yaml(text: str) -> Any:
    """The tree of nodes of a text, with their marks, or None; raises YamlError.

    The C parser reads most texts; PyYAML's own reads aliases and says what is wrong.
    """
    import yaml

    if not _DISPUTED.search(text):
        with suppress(YamlError):
            return compose_plain_yaml(text)
    with _yaml_errors():
        node = cast("Any", yaml).compose(text, yaml.SafeLoader)
        if node is not None:
            _refuse_merges(node)
        return node


def compose_plain_yaml(text: str) -> Any:
    """As ``compose_yaml``, ten times as fast where PyYAML has its C parser.

    That one composes by recursion and ends the program where a text is nested too deeply, so it
    is looked through before. Aliases are not read: a value that contains itself has no end.
    """
    import yaml

    loader = cast("Any", getattr(yaml, "CSafeLoader", yaml.SafeLoader))
    with _yaml_errors():
        depth = 0
        for event in cast("Any", yaml).parse(text, loader):
            if isinstance(event, yaml.AliasEvent):
                why = "aliases (*name) are not read"
                raise yaml.MarkedYAMLError(problem=why, problem_mark=event.start_mark)
            depth += isinstance(event, yaml.CollectionStartEvent)
            depth -= isinstance(event, yaml.CollectionEndEvent)
            if depth > DEEPEST:
                why = "nested too deeply"
                raise yaml.MarkedYAMLError(problem=why, problem_mark=event.start_mark)
        node = cast("Any", yaml).compose(text, loader)
        if node is not None:
            _refuse_merges(node)
        return node


def construct_yaml(node: Any) -> Any:
    """The value of a node; raises YamlError."""
    import yaml

    with _yaml_errors():
        return cast("Any", yaml.constructor.SafeConstructor()).construct_document(node)


@contextmanager
def _yaml_errors() -> Generator[None, None, None]:
    import yaml

    try:
        yield
    except yaml.MarkedYAMLError as error:
        index = error.problem_mark.index if error.problem_mark else 0
        raise YamlError(error.problem or "not valid YAML", index) from error
    except yaml.YAMLError as error:
        index = getattr(error, "position", 0)
        raise YamlError("a character that YAML does not allow", index) from error
    except RecursionError as error:
        raise YamlError("nested too deeply") from error
    except (ValueError, LookupError, AttributeError, TypeError, OverflowError) as error:
        raise YamlError("a value that YAML does not allow") from error


def _refuse_merges(root: Any) -> None:
    """Raises MarkedYAMLError for a merge key anywhere below a node."""
    import yaml

    seen: set[int] = set()
    ahead = [root]
    while ahead:
        node = ahead.pop()
        if id(node) in seen or isinstance(node, yaml.ScalarNode):
            continue
        seen.add(id(node))
        for one in node.value:
            if isinstance(node, yaml.MappingNode):
                key, value = one
                if key.tag == _MERGE:
                    why = "merge keys (<<) are not read"
                    raise yaml.MarkedYAMLError(problem=why, problem_mark=key.start_mark)
                ahead += [key, value]
            else:
                ahead.append(one)
