"""Filling: fills a Word template in Jinja's sandbox (KZ-33).

A template is a stranger's file: it reaches nothing but its fields, and computes and repeats
nothing, so that filling one takes no longer than reading it. A field that is not known is an error
that names it, and values are text, never markup.
"""

from __future__ import annotations

import io
import sys
import zipfile
from collections.abc import Mapping
from importlib import import_module
from pathlib import Path
from typing import Any

from studio.packs import ToolFailed, dataclass

from .. import _german as german
from .._patterns import lazy_pattern
from ..office.texts import words_of

SHIPPED = Path(__file__).parents[2] / "data" / "muster"
MOST_BYTES = 20_000_000
MOST_XML = 5_000_000
"""Bytes of the text of a template with its markup."""
MOST_FIELDS = 2_000
"""Places of a template where a field stands."""
MOST_VALUE = 20_000
"""Characters of what is filled in."""
_NODES = {
    *("Template", "TemplateData", "Output", "Name", "Const", "Operand", "Compare"),
    *("If", "CondExpr", "Not", "And", "Or", "Filter", "Test"),
}
"""What a template is made of: fields, and what stands there on a condition alone."""
_FILTERS = {"upper", "lower", "capitalize", "title", "trim", "e", "escape"}
_TESTS = {"defined", "undefined"}
_MISSING_PACKAGE = (
    "Muster brauchen das Paket docxtpl, das dieses Programmpaket nicht haben kann. Installiere das "
    "Programm daneben mit: pipx install 'agent-studio[kanzlei]'."
    if getattr(sys, "frozen", False)
    else "Muster brauchen das Paket docxtpl. Installiere es mit: pip install docxtpl, oder mit dem "
    "Programm als agent-studio[kanzlei]."
)
_UNFIT = lazy_pattern(r"[\x00-\x08\x0b\x0c\x0e-\x1f\ufffe\uffff]")
"""Characters that XML does not have."""


@dataclass(frozen=True, slots=True)
class Muster:
    """One template; ``own`` is one of the office, which stands before one that ships."""

    name: str
    path: Path
    own: bool

    @property
    def address(self) -> str:
        return f"kanzlei:muster/{self.name}"


def all_muster(own: Path) -> list[Muster]:
    """The templates of the office, and those that ship."""
    found: dict[str, Muster] = {}
    for folder in (SHIPPED, own):
        for path in sorted(folder.glob("*.docx")) if folder.is_dir() else []:
            if not path.name.startswith((".", "~")):
                found[path.stem] = Muster(path.stem, path, folder == own)
    return sorted(found.values(), key=lambda one: one.name.casefold())


def fields_of(muster: Muster) -> list[str]:
    """The fields that a template has; raises ToolFailed for one that cannot be read. Slow."""
    template = _opened(muster)
    try:
        found = template.get_undeclared_template_variables(_sandbox())
    except Exception as error:  # of a stranger's template: what Jinja raises is no short list
        raise _broken(muster, error) from error
    return sorted(found)


def text_of(muster: Muster) -> str:
    """The words of a template as it is."""
    return "\n".join(words_of(f"{muster.name}.docx", _data(muster)).pages)


def filled(muster: Muster, values: Mapping[str, str]) -> bytes:
    """The document; raises ToolFailed where a field is not known, or is empty. Slow.

    The same values make the same bytes.
    """
    missing = [name for name in fields_of(muster) if not values.get(name, "").strip()]
    if missing:
        raise ToolFailed(
            f"Dem Muster {muster.name} fehlen Angaben: {', '.join(missing)}. Frage danach."
        )
    if long := next((name for name, one in values.items() if len(one) > MOST_VALUE), ""):
        raise ToolFailed(f"{long}: höchstens {german.count(MOST_VALUE)} Zeichen.")
    template = _opened(muster)
    plain = {name: _UNFIT.sub("", value) for name, value in values.items()}
    buffer = io.BytesIO()
    try:
        template.render(plain, jinja_env=_sandbox(), autoescape=True)
        template.save(buffer)
    except Exception as error:
        raise _broken(muster, error) from error
    return _without_time(buffer.getvalue())


def _opened(muster: Muster) -> Any:
    try:
        module: Any = import_module("docxtpl")
    except ImportError as error:
        raise ToolFailed(_MISSING_PACKAGE) from error
    data = _data(muster)
    try:
        with zipfile.ZipFile(io.BytesIO(data)) as archive:
            entries = archive.infolist()
            if sum(one.file_size for one in entries) > 5 * MOST_BYTES:
                raise ToolFailed(f"Das Muster {muster.name} entpackt sich zu mehr als 100 MB.")
            if sum(one.file_size for one in entries if _is_text(one.filename)) > MOST_XML:
                raise ToolFailed(f"Der Text des Musters {muster.name} ist größer als 5 MB.")
        template = module.DocxTemplate(io.BytesIO(data))
        template.init_docx()
    except ToolFailed:
        raise
    except Exception as error:
        raise _broken(muster, error) from error
    return template


def _data(muster: Muster) -> bytes:
    try:
        data = muster.path.read_bytes()
    except OSError as error:
        raise ToolFailed(f"{muster.path} kann nicht gelesen werden: {error.strerror}.") from error
    if len(data) > MOST_BYTES:
        raise ToolFailed(f"Das Muster {muster.name} ist größer als 20 MB.")
    return data


def _is_text(name: str) -> bool:
    """Whether a part of a Word file is read as XML; pictures are not."""
    return name.lower().endswith((".xml", ".rels"))


def _sandbox() -> Any:
    sandbox: Any = import_module("jinja2.sandbox")
    jinja: Any = import_module("jinja2")

    class Fields(sandbox.ImmutableSandboxedEnvironment):
        """Takes templates of fields and conditions alone."""

        def _parse(self, *source: Any) -> Any:
            parent: Any = super()
            tree = parent._parse(*source)
            _require_plain(tree, jinja.nodes.Node)
            return tree

    return Fields(undefined=jinja.StrictUndefined, autoescape=True)


class _NotPlain(Exception):
    """What a template may not have, in German."""


def _require_plain(tree: Any, any_node: type) -> None:
    """Raise _NotPlain for a template that computes or repeats something."""
    fields = 0
    for node in tree.find_all(any_node):
        what = type(node).__name__
        fields += what == "Name"
        unknown = what == "Filter" and (node.name not in _FILTERS or node.args or node.kwargs)
        unknown = unknown or (what == "Test" and node.name not in _TESTS)
        if what not in _NODES or unknown:
            raise _NotPlain(
                "Erlaubt sind Felder und Bedingungen (if), aber nichts, was rechnet, wiederholt "
                f"oder nachlädt ({what})"
            )
    if fields > MOST_FIELDS:
        raise _NotPlain(f"Es hat mehr als {MOST_FIELDS} Felder")


def _broken(muster: Muster, error: Exception) -> ToolFailed:
    if isinstance(error, _NotPlain):
        return ToolFailed(f"Das Muster {muster.name} ist fehlerhaft. {error}.")
    return ToolFailed(
        f"Das Muster {muster.name} ist fehlerhaft ({type(error).__name__}: {str(error)[:200]}). "
        "Öffne es in Word und prüfe die Felder in doppelten geschweiften Klammern."
    )


def _without_time(data: bytes) -> bytes:
    """The same archive without the times at which its parts were written."""
    buffer = io.BytesIO()
    with zipfile.ZipFile(io.BytesIO(data)) as old, zipfile.ZipFile(buffer, "w") as new:
        for entry in old.infolist():
            made = zipfile.ZipInfo(entry.filename, (1980, 1, 1, 0, 0, 0))
            made.compress_type = zipfile.ZIP_DEFLATED
            new.writestr(made, old.read(entry))
    return buffer.getvalue()
