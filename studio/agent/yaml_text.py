"""YAML text: loads what people and strangers write, and never more than is written.

PyYAML raises errors of many kinds for values that it cannot make, and its merge keys
(``<<``) multiply: nine lines can fill the memory. A file has no need of them.
"""

from __future__ import annotations

from typing import Any, cast

_MERGE = "tag:yaml.org,2002:merge"


def load_yaml(text: str, first_line: int = 1) -> Any:
    """The value of a text; ValueError names the line, ``line 2: …``, from ``first_line``."""
    import yaml

    try:
        node = cast("Any", yaml).compose(text, yaml.SafeLoader)
        if node is None:
            return None
        _refuse_merges(node)
        return cast("Any", yaml.constructor.SafeConstructor()).construct_document(node)
    except yaml.MarkedYAMLError as error:
        line = error.problem_mark.line if error.problem_mark else 0
        raise ValueError(
            f"line {line + first_line}: {error.problem or 'not valid YAML'}"
        ) from error
    except yaml.YAMLError as error:
        line = text.count("\n", 0, getattr(error, "position", 0)) + first_line
        raise ValueError(f"line {line}: a character that YAML does not allow") from error
    except RecursionError as error:
        raise ValueError(f"line {first_line}: nested too deeply") from error
    except (ValueError, LookupError, AttributeError, TypeError, OverflowError) as error:
        raise ValueError(f"line {first_line}: a value that YAML does not allow") from error


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
