"""Charset detection: decodes a page by its byte order mark, header, declaration or a guess."""

from __future__ import annotations

import codecs
import re

_MARKS = (
    (codecs.BOM_UTF8, "utf-8"),
    (codecs.BOM_UTF16_LE, "utf-16-le"),
    (codecs.BOM_UTF16_BE, "utf-16-be"),
)
_META = re.compile(rb"""<meta[^>]{0,500}?charset\s*+=\s*+["']?\s*+([a-zA-Z0-9_:.-]{1,40})""", re.I)
_XML = re.compile(rb"""^\s*<\?xml[^>]{0,200}?encoding\s*+=\s*+["']([a-zA-Z0-9_:.-]{1,40})""", re.I)
_HEADER = re.compile(r"""charset\s*+=\s*+["']?\s*+([a-zA-Z0-9_:.-]{1,40})""", re.I)

_WIDER = {
    "ascii": "cp1252",
    "iso8859-1": "cp1252",
    "iso8859-9": "cp1254",
    "iso8859-11": "cp874",
    "tis-620": "cp874",
    "gb2312": "gb18030",
    "gbk": "gb18030",
    "shift_jis": "cp932",
    "euc_kr": "cp949",
    "utf-16": "utf-16-le",
}
"""The encoding that browsers use for the declared one (WHATWG, Encoding Standard)."""
_KNOWN = frozenset(
    [
        *("utf-8", "utf-16-le", "utf-16-be", "gb18030", "big5", "big5hkscs", "euc_jp"),
        *("iso2022_jp", "cp932", "cp949", "koi8-r", "koi8-u", "mac-roman", "mac-cyrillic"),
        *("cp866", "cp874", *(f"cp125{n}" for n in range(9))),
        *(f"iso8859-{n}" for n in (2, 3, 4, 5, 6, 7, 8, 10, 13, 14, 15, 16)),
    ]
)
"""Encodings that are used; of Python's others some are no encodings of text, or too slow."""
_ONE_BYTE = re.compile(r"cp125\d|cp866|cp874|iso8859-\d+|koi8-.|mac-.*")


def decode(data: bytes, content_type: str = "") -> str:
    """The text of a body; never fails. What cannot be read becomes ``\\ufffd``.

    Slow where nothing says which letters these are: call it in a thread.
    """
    for mark, name in _MARKS:
        if data.startswith(mark):
            return data[len(mark) :].decode(name, "replace")
    declared = _declared(data, content_type)
    if not declared or _ONE_BYTE.fullmatch(declared):
        # In these encodings any bytes are valid; bytes that are valid UTF-8 are UTF-8.
        try:
            return data.decode("utf-8")
        except UnicodeDecodeError:
            declared = declared or _guess(data)
    text = data.decode(declared, "replace")
    if declared == "utf-8" and text.count("\ufffd") > max(3, len(text) // 200):
        return data.decode(_guess(data), "replace")
    return text


def _declared(data: bytes, content_type: str) -> str:
    found = _HEADER.search(content_type)
    if found and (name := _canonical(found[1])):
        return name
    for pattern in (_XML, _META):
        inside = pattern.search(data[:4096])
        if inside and (name := _canonical(inside[1].decode("ascii"))):
            # A declaration that can be read as ASCII is not in UTF-16.
            return "utf-8" if name.startswith("utf-16") else name
    return ""


def _canonical(name: str) -> str:
    try:
        found = codecs.lookup(name).name
    except (LookupError, ValueError):
        return ""
    found = _WIDER.get(found, found)
    return found if found in _KNOWN else ""


def _guess(data: bytes) -> str:
    from charset_normalizer import from_bytes

    best = from_bytes(data[:50_000]).best()
    return (best and _canonical(best.encoding)) or "cp1252"
