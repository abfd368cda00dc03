"""Small pictures and documents, made as they are needed."""

from __future__ import annotations

import io
from typing import Any

from PIL import Image


def picture(
    form: str = "PNG", size: tuple[int, int] = (64, 48), color: Any = (30, 90, 200), **options: Any
) -> bytes:
    """The file of a picture in one colour; its left half is darker."""
    image = Image.new(options.pop("mode", "RGB"), size, color)
    if image.mode == "RGB":
        image.paste((10, 30, 60), (0, 0, size[0] // 2, size[1]))
    out = io.BytesIO()
    image.save(out, form, **options)
    return out.getvalue()


def noise(form: str, size: tuple[int, int], **options: Any) -> bytes:
    """A picture that hardly gets smaller."""
    out = io.BytesIO()
    Image.merge("RGB", [Image.effect_noise(size, 90) for _ in "rgb"]).save(out, form, **options)
    return out.getvalue()


def moving() -> bytes:
    """A GIF of two frames."""
    frames = [Image.new("RGB", (20, 20), ink) for ink in ("red", "blue")]
    out = io.BytesIO()
    frames[0].save(out, "GIF", save_all=True, append_images=frames[1:])
    return out.getvalue()


def pdf(*pages: str) -> bytes:
    """A document with a line of words on each page."""
    count = len(pages)
    objects = [
        "<< /Type /Catalog /Pages 2 0 R >>",
        f"<< /Type /Pages /Count {count} /Kids [{' '.join(f'{4 + 2 * n} 0 R' for n in range(count))}] >>",
        "<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica >>",
    ]
    for number, words in enumerate(pages):
        stream = f"BT /F1 18 Tf 40 700 Td ({words}) Tj ET" if words else ""
        objects += [
            "<< /Type /Page /Parent 2 0 R /MediaBox [0 0 595 842] "
            f"/Resources << /Font << /F1 3 0 R >> >> /Contents {5 + 2 * number} 0 R >>",
            f"<< /Length {len(stream)} >>\nstream\n{stream}\nendstream",
        ]
    out, places = "%PDF-1.4\n", []
    for number, body in enumerate(objects, 1):
        places.append(len(out))
        out += f"{number} 0 obj\n{body}\nendobj\n"
    table = "".join(f"{place:010d} 00000 n \n" for place in places)
    size = len(objects) + 1
    return (
        f"{out}xref\n0 {size}\n0000000000 65535 f \n{table}"
        f"trailer\n<< /Size {size} /Root 1 0 R >>\nstartxref\n{len(out)}\n%%EOF\n"
    ).encode("latin-1")


def locked(*pages: str) -> bytes:
    """The same behind a password."""
    from pypdf import PdfReader, PdfWriter

    writer = PdfWriter(PdfReader(io.BytesIO(pdf(*pages))))
    writer.encrypt("secret", algorithm="RC4-128")
    out = io.BytesIO()
    writer.write(out)
    return out.getvalue()
