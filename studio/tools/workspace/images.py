"""Images: rotates, scales and converts pictures for models, and removes their metadata."""

from __future__ import annotations

import io
import threading
import warnings
from typing import TYPE_CHECKING, Any

from studio.domain.errors import ToolFailed
from studio.domain.messages import Image
from studio.tools.sdk.result import size

if TYPE_CHECKING:
    from PIL.Image import Image as Canvas

SIDE = 2000
"""Pixels of the longer side. Anthropic refuses more than 2,000 in requests with
more than 20 pictures ("max allowed size for many-image requests: 2000 pixels")
and scales down what is larger than about 1,570; OpenAI scales down to 2,048."""
WEIGHT = 3_900_000
"""Bytes of a file. Anthropic's limit of 5 MB (5,242,880) counts base64, 4/3 of these."""
KEPT = {"PNG": "image/png", "JPEG": "image/jpeg", "WEBP": "image/webp", "GIF": "image/gif"}
"""Formats that may be sent as they are, as Pillow names them."""
OPENED = (*KEPT, "AVIF", "BMP", "TIFF", "ICO", "JPEG2000", "PPM")
"""Formats that are opened, as Pillow names them; MPO comes with JPEG. Others that it knows start
a program (Ghostscript for EPS) or have decoders that hardly anybody uses."""
PHOTOS = ("JPEG", "MPO", "HEIF", "AVIF")
"""Lossy formats, which become JPEG; others become PNG if that is small enough."""

_MAGIC = {
    "PNG": (b"\x89PNG\r\n\x1a\n",),
    "JPEG": (b"\xff\xd8\xff",),
    "GIF": (b"GIF87a", b"GIF89a"),
    "TIFF": (b"II*\0", b"MM\0*", b"II+\0", b"MM\0+"),
    "ICO": (b"\0\0\1\0",),
    "ICNS": (b"icns",),
    "PSD": (b"8BPS",),
    "JPEG XL": (b"\xff\x0a", b"\0\0\0\x0cJXL "),
    "JPEG 2000": (b"\0\0\0\x0cjP  ",),
}
_BRANDS = {
    **dict.fromkeys((b"avif", b"avis"), "AVIF"),
    **dict.fromkeys((b"heic", b"heix", b"heim", b"hevc", b"mif1", b"msf1"), "HEIC"),
}
_DECODING = threading.Lock()
"""One picture is opened at a time: a large one takes up to a gigabyte meanwhile."""
_NOTES = ("exif", "xmp", "XML:com.adobe.xmp", "Raw profile type exif", "comment", "photoshop")
"""Pillow's keys for metadata of a camera or an editor, such as a place or a name."""


class NotReadable(ToolFailed):
    """The file is no picture, or none that this program reads; the text says why."""


def format_of(start: bytes) -> str:
    """The format of a picture by the first 64 bytes of its file, “” if it is none."""
    for name, magics in _MAGIC.items():
        if start.startswith(magics):
            return name
    if start[:4] == b"RIFF" and start[8:12] == b"WEBP":
        return "WEBP"
    if start[:2] == b"BM" and start[6:10] == b"\0\0\0\0":
        return "BMP"
    return _BRANDS.get(start[8:12], "") if start[4:8] == b"ftyp" else ""


def normalise(data: bytes, name: str = "The picture") -> Image:
    """The picture of a file as PNG, JPEG, WebP or GIF that providers take.

    It is rotated as its EXIF data say, scaled down to ``SIDE`` and ``WEIGHT``, and its
    metadata (a place, an owner) are removed. A file that needs none of this keeps its bytes,
    a small animated GIF too. Takes a while: call it in a thread. Raises NotReadable.
    """
    from PIL import Image as pillow
    from PIL import UnidentifiedImageError

    warnings.filterwarnings("ignore", module=r"PIL\.")  # of odd metadata: nobody's terminal
    # Pillow's own limit, about 90 million pixels: it only warns above that.
    warnings.simplefilter("error", pillow.DecompressionBombWarning)
    form = format_of(data[:64])
    damaged = f"{name} is damaged or cut short; its picture cannot be read."
    try:
        with _DECODING, pillow.open(io.BytesIO(data), formats=OPENED) as opened:
            return _fit(opened, data)
    except (pillow.DecompressionBombError, pillow.DecompressionBombWarning):
        raise NotReadable(
            f"{name} has too many pixels to be opened. Make it smaller first."
        ) from None
    except UnidentifiedImageError:
        if form in KEPT:
            raise NotReadable(damaged) from None
        kind = f"a {form} picture that cannot" if form else "no picture that can"
        raise NotReadable(
            f"{name} is {kind} be opened here. Save it as PNG or JPEG first."
        ) from None
    except Exception as error:  # a parser of foreign files: anything may come of a damaged one
        raise NotReadable(damaged) from error


def dimensions(image: Image) -> tuple[int, int]:
    """Width and height in pixels of a picture that ``normalise`` made."""
    from PIL import Image as pillow

    with pillow.open(io.BytesIO(image.data), formats=tuple(KEPT)) as opened:
        return opened.size


def describe_image(image: Image) -> str:
    """A picture in a few words: ``1,200 × 800, 31 kB``."""
    width, height = dimensions(image)
    return f"{width:,} × {height:,}, {size(len(image.data))}"


def _fit(opened: Any, data: bytes) -> Image:
    from PIL import ImageOps

    form = str(opened.format)
    animated = bool(getattr(opened, "is_animated", False))
    has_metadata = any(opened.info.get(key) for key in _NOTES) or bool(opened.getexif())
    small = max(opened.size) <= SIDE and len(data) <= WEIGHT
    # A still GIF becomes PNG, which more providers read; an animated one stays.
    keep = form in KEPT and small and not has_metadata and animated == (form == "GIF")
    if form == "JPEG" and not keep:
        opened.draft(None, (SIDE, SIDE))  # decodes a huge photo at a fraction of its size
    opened.load()  # also if it is kept: raises for a file that is cut short
    if keep:
        return Image(KEPT[form], data)
    opened.thumbnail((SIDE, SIDE))  # before it is turned: a copy of it whole is too large
    return _encode(_plain(ImageOps.exif_transpose(opened)), form in PHOTOS)


def _plain(picture: Canvas) -> Canvas:
    """The picture in grey or colours of 8 bits."""
    if picture.mode in ("L", "LA", "RGB", "RGBA"):
        return picture
    if picture.mode[0] in "IF":  # a scan or measurement: its range becomes 0 to 255
        low, high = (float(end) for end in picture.getextrema())  # type: ignore[arg-type]
        scale = 255 / (high - low) if high > low else 1.0
        stretched: Canvas = picture.convert("F").point(lambda v: v * scale + -low * scale)  # type: ignore[reportUnknownMemberType]  # half typed in Pillow
        return stretched.convert("L")
    if picture.mode in ("PA", "La", "RGBa") or "transparency" in picture.info:
        return picture.convert("RGBA")
    return picture.convert("RGB")


def _encode(picture: Canvas, photo: bool) -> Image:
    from PIL import Image as pillow

    if not photo:
        data = _saved(picture, "PNG", optimize=False)
        if len(data) <= WEIGHT:
            return Image("image/png", data)
    if picture.mode in ("LA", "RGBA"):  # JPEG has no transparency
        page = pillow.new("RGBA", picture.size, "white")
        picture = pillow.alpha_composite(page, picture.convert("RGBA")).convert("RGB")
    data = b""
    for quality in (90, 75, 50):
        data = _saved(picture, "JPEG", quality=quality)
        if len(data) <= WEIGHT:
            break
    return Image("image/jpeg", data)


def _saved(picture: Canvas, form: str, **options: Any) -> bytes:
    clean = picture.copy()
    clean.info = {}  # Pillow would write the metadata in it
    out = io.BytesIO()
    clean.save(out, form, **options)
    return out.getvalue()
