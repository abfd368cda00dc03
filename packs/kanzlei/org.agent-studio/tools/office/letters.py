"""Letters: a Word document of plain text, the same bytes for the same words (KZ-37)."""

from __future__ import annotations

import html
import io
import zipfile

from .._patterns import lazy_pattern

_UNFIT = lazy_pattern(r"[\x00-\x08\x0b\x0c\x0e-\x1f\ufffe\uffff]")
"""Characters that XML does not have."""
_W = "http://schemas.openxmlformats.org/wordprocessingml/2006/main"
_PACKAGE = "http://schemas.openxmlformats.org/package/2006"
_OFFICE = "http://schemas.openxmlformats.org/officeDocument/2006/relationships"
_HEAD = '<?xml version="1.0" encoding="UTF-8" standalone="yes"?>\n'
_TYPES = (
    f'{_HEAD}<Types xmlns="{_PACKAGE}/content-types">'
    '<Default Extension="rels" ContentType="application/vnd.openxmlformats-package.relationships'
    '+xml"/><Default Extension="xml" ContentType="application/xml"/>'
    '<Override PartName="/word/document.xml" ContentType="application/vnd.openxmlformats-'
    'officedocument.wordprocessingml.document.main+xml"/>'
    '<Override PartName="/word/styles.xml" ContentType="application/vnd.openxmlformats-'
    'officedocument.wordprocessingml.styles+xml"/></Types>'
)
_RELATIONS = (
    f'{_HEAD}<Relationships xmlns="{_PACKAGE}/relationships"><Relationship Id="rId1" '
    f'Type="{_OFFICE}/officeDocument" Target="word/document.xml"/></Relationships>'
)
_DOCUMENT_RELATIONS = (
    f'{_HEAD}<Relationships xmlns="{_PACKAGE}/relationships"><Relationship Id="rId1" '
    f'Type="{_OFFICE}/styles" Target="styles.xml"/></Relationships>'
)
_STYLES = (
    f'{_HEAD}<w:styles xmlns:w="{_W}"><w:docDefaults><w:rPrDefault><w:rPr>'
    '<w:rFonts w:ascii="Arial" w:hAnsi="Arial" w:cs="Arial"/><w:sz w:val="22"/>'
    '<w:lang w:val="de-DE"/></w:rPr></w:rPrDefault><w:pPrDefault><w:pPr>'
    '<w:spacing w:after="0" w:line="276" w:lineRule="auto"/></w:pPr></w:pPrDefault>'
    "</w:docDefaults></w:styles>"
)
_PAGE = (
    '<w:sectPr><w:pgSz w:w="11906" w:h="16838"/>'
    '<w:pgMar w:top="1417" w:right="1134" w:bottom="1134" w:left="1417" w:header="708" '
    'w:footer="708" w:gutter="0"/></w:sectPr>'
)


def docx_of(text: str) -> bytes:
    """A Word document on A4 with a paragraph for each line."""
    lines = _UNFIT.sub("", text.replace("\r\n", "\n")).strip("\n").split("\n")
    body = "".join(_paragraph(line) for line in lines)
    document = f'{_HEAD}<w:document xmlns:w="{_W}"><w:body>{body}{_PAGE}</w:body></w:document>'
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as archive:
        for name, content in (
            ("[Content_Types].xml", _TYPES),
            ("_rels/.rels", _RELATIONS),
            ("word/document.xml", document),
            ("word/_rels/document.xml.rels", _DOCUMENT_RELATIONS),
            ("word/styles.xml", _STYLES),
        ):
            entry = zipfile.ZipInfo(name, (1980, 1, 1, 0, 0, 0))  # no time, so that bytes agree
            archive.writestr(entry, content.encode())
    return buffer.getvalue()


def _paragraph(line: str) -> str:
    runs = "<w:tab/>".join(
        f'<w:t xml:space="preserve">{html.escape(part, quote=False)}</w:t>' if part else ""
        for part in line.split("\t")
    )
    return f"<w:p><w:r>{runs}</w:r></w:p>" if runs else "<w:p/>"
