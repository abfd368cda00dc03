"""Grammars: finds symbols in languages other than Python, with tree-sitter's grammars (C-18).

They are the packages of the extra ``outline``; a language whose package is missing cannot be
read. The kinds of nodes below are those of all these grammars together. Everything blocks.
"""

from __future__ import annotations

import importlib
from collections.abc import Iterator
from typing import TYPE_CHECKING

from studio.domain.extras import how_to_install

from .symbols import LONGEST, WIDTH, Kind, Symbol, Symbols

if TYPE_CHECKING:
    from tree_sitter import Node

EXTRA = how_to_install("outline")
"""What brings the grammars."""

_C = ("tree_sitter_c", "language")
_CPP = ("tree_sitter_cpp", "language")
_JAVASCRIPT = ("tree_sitter_javascript", "language")
_TYPESCRIPT = ("tree_sitter_typescript", "language_typescript")
_LANGUAGES = {
    **dict.fromkeys((".js", ".jsx", ".mjs", ".cjs"), _JAVASCRIPT),
    **dict.fromkeys((".ts", ".mts", ".cts"), _TYPESCRIPT),
    ".tsx": ("tree_sitter_typescript", "language_tsx"),
    ".go": ("tree_sitter_go", "language"),
    ".rs": ("tree_sitter_rust", "language"),
    ".java": ("tree_sitter_java", "language"),
    ".c": _C,
    **dict.fromkeys((".h", ".cc", ".cpp", ".cxx", ".hh", ".hpp", ".hxx"), _CPP),
    ".cs": ("tree_sitter_c_sharp", "language"),
    ".rb": ("tree_sitter_ruby", "language"),
    ".php": ("tree_sitter_php", "language_php"),
    **dict.fromkeys((".sh", ".bash"), ("tree_sitter_bash", "language")),
}
"""The package of a language and its function, by the ends of files' names."""
SUFFIXES = frozenset(_LANGUAGES)

_FUNCTIONS = frozenset(
    [
        "function_declaration", "generator_function_declaration", "function_definition",
        "function_item", "function_signature", "function_signature_item", "method_declaration",
        "method_definition", "method_signature", "abstract_method_signature", "method",
        "singleton_method", "constructor_declaration", "compact_constructor_declaration",
        "destructor_declaration", "operator_declaration", "local_function_statement",
        "macro_definition",
    ]
)  # fmt: skip
_CLASSES = frozenset(
    [
        "class_declaration", "abstract_class_declaration", "interface_declaration",
        "enum_declaration", "struct_declaration", "record_declaration",
        "record_struct_declaration", "annotation_type_declaration", "delegate_declaration",
        "trait_declaration", "type_alias_declaration", "internal_module", "type_spec",
        "type_alias", "struct_item", "enum_item", "union_item", "trait_item", "impl_item",
        "type_item", "mod_item", "type_definition", "namespace_definition",
        "namespace_declaration", "file_scoped_namespace_declaration", "class", "module",
    ]
)  # fmt: skip
_WITH_BODY = frozenset(["struct_specifier", "class_specifier", "union_specifier", "enum_specifier"])
"""Definitions only where they have a body; elsewhere they name a type."""
_HEADERS = frozenset(["declaration", "field_declaration"])
"""Definitions where they declare a function."""
_ASSIGNED = frozenset(["variable_declarator", "public_field_definition", "field_definition"])
"""Definitions where the value is a function or a class."""
_VALUES: dict[str, Kind] = {
    "arrow_function": "function",
    "function_expression": "function",
    "generator_function": "function",
    "class": "class",
}
_IMPORTS = (
    "import", "use_declaration", "using_directive", "namespace_use", "preproc_include", "package"
)  # fmt: skip
_BEFORE = frozenset(["decorator", "attribute_list", "attribute_item", "annotation"])
"""What may come before the words of a signature."""
_WORDS = frozenset(["constant", "name", "word", "variable_name"])
"""Names in some languages; in others their kind ends in “identifier”."""


class NoGrammar(Exception):
    """The package that reads a language is not installed."""


def grammar_symbols(suffix: str, text: str, wanted: str = "") -> Symbols:
    """What a text of one of ``SUFFIXES`` defines, and the lines that use the name ``wanted``.

    Raises NoGrammar.
    """
    module, function = _LANGUAGES[suffix]
    try:
        from tree_sitter import Language, Parser

        pointer: object = getattr(importlib.import_module(module), function)()
        language = Language(pointer)
    except ImportError as error:
        raise NoGrammar(suffix) from error
    if len(text) > LONGEST:
        return Symbols(problem="it is too long to be parsed")
    tree = Parser(language).parse(text.encode("utf-8", "replace"))
    return _read(tree.root_node, wanted)


def _read(root: Node, wanted: str) -> Symbols:
    symbols = Symbols()
    defined: set[int] = set()
    """Where the names of definitions begin."""
    uses: set[int] = set()
    left: list[tuple[Node, tuple[str, ...]]] = [(root, ())]
    while left:
        node, above = left.pop()
        if node.type == "ERROR" and not symbols.problem:
            symbols.problem = f"line {node.start_point.row + 1} is one of those with mistakes"
        if (kind := _kind(node)) and (name := _name(node)) is not None:
            defined.add(name.start_byte)
            above = (*above, _text(name))
            lines = node.start_point.row + 1, node.end_point.row + 1
            symbols.found.append(
                Symbol(".".join(above), kind, _signature(node), *lines, len(above) - 1)
            )
        if wanted and node.type.startswith(_IMPORTS):
            continue
        if wanted and _is_word(node) and node.start_byte not in defined and _text(node) == wanted:
            uses.add(node.start_point.row + 1)
        left += [(child, above) for child in reversed(node.named_children)]
    symbols.uses = sorted(uses)
    return symbols


def _kind(node: Node) -> Kind | None:
    kind = node.type
    if kind in _FUNCTIONS:
        return "function"
    if kind in _CLASSES:
        return "class"
    if kind in _WITH_BODY:
        return "class" if node.child_by_field_name("body") is not None else None
    if kind in _HEADERS:
        declares = any(one.type == "function_declarator" for one in _declarators(node))
        return "function" if declares else None
    if kind in _ASSIGNED and (value := node.child_by_field_name("value")) is not None:
        return _VALUES.get(value.type)
    return None


def _declarators(node: Node) -> Iterator[Node]:
    inner = node.child_by_field_name("declarator")
    while inner is not None:
        yield inner
        inner = inner.child_by_field_name("declarator")


def _name(node: Node) -> Node | None:
    """The node with the name that a definition gives."""
    if node.type == "impl_item":
        return node.child_by_field_name("type")
    for field in ("name", "property"):
        if (found := node.child_by_field_name(field)) is not None:
            return found
    return next(reversed(list(_declarators(node))), None)


def _text(node: Node) -> str:
    return (node.text or b"").decode("utf-8", "replace")


def _is_word(node: Node) -> bool:
    kind = node.type
    return not node.child_count and (kind.endswith("identifier") or kind in _WORDS)


def _signature(node: Node) -> str:
    """The words of a definition up to its body, on one line."""
    value = node.child_by_field_name("value") if node.type in _ASSIGNED else None
    body = (value or node).child_by_field_name("body")
    begin = next((c.start_byte for c in node.children if c.type not in _BEFORE), node.start_byte)
    whole = (node.text or b"")[begin - node.start_byte :]
    head = whole[: body.start_byte - begin] if body is not None else whole.partition(b"\n")[0]
    line = " ".join(head.decode("utf-8", "replace").split())
    line = line.rstrip("{; ").removesuffix("=>").rstrip("= ")
    return line if len(line) <= WIDTH else f"{line[:WIDTH]} …"
