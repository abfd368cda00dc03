"""Files that nobody reads or changes without their key (KZ-44)."""

from __future__ import annotations

import io

import pytest

from studio.files.sealed_file import PIECE, SealedReader, SealedWriter, Unsealable

KEY, HEAD = b"k" * 32, 59
"""What is before the first piece."""
SIZES = (0, 1, PIECE - 1, PIECE, PIECE + 1, 3 * PIECE, 3 * PIECE + 7)


def sealed(data: bytes, key: bytes = KEY) -> bytes:
    file = io.BytesIO()
    with SealedWriter(file, key) as writer:
        for at in range(0, len(data), 10_007):
            writer.write(data[at : at + 10_007])
    return file.getvalue()


def opened(data: bytes, key: bytes = KEY) -> bytes:
    reader = SealedReader(io.BytesIO(data), key)
    found = b"".join(iter(lambda: reader.read(4_099), b""))
    reader.finish()
    return found


@pytest.mark.parametrize("size", SIZES)
def test_kz44_what_was_sealed_is_opened_as_it_was(size: int) -> None:
    """With pieces that end in any place; two of the same differ, and none shows a word."""
    data = (b"Wagner ./. Holzbau " * (size // 19 + 1))[:size]
    first, second = sealed(data), sealed(data)
    assert opened(first) == opened(second) == data
    assert first[HEAD:] != second[HEAD:] and b"Holzbau" not in first


def test_kz44_a_sealed_file_that_was_changed_is_refused() -> None:
    """Cut off in any place, pieces doubled, swapped, left out, or from another; with another key."""
    data = bytes(range(256)) * 800
    whole, other = sealed(data), sealed(data)
    size = PIECE + 16
    pieces = [whole[at : at + size] for at in range(HEAD, len(whole), size)]
    assert len(pieces) == 4
    head = whole[:HEAD]
    changed = {
        "cut": whole[:-1],
        "cut between": head + b"".join(pieces[:3]),
        "nothing": head,
        "less": head[:40],
        "doubled": head + b"".join([pieces[0], *pieces]),
        "swapped": head + b"".join([pieces[1], pieces[0], *pieces[2:]]),
        "left out": head + b"".join([pieces[0], *pieces[2:]]),
        "more": whole + b"\0",
        "of another": head + other[HEAD:],
        "one bit": whole[:-30] + bytes([whole[-30] ^ 1]) + whole[-29:],
        "another head": b"x" + whole[1:],
    }
    for name, one in changed.items():
        with pytest.raises(Unsealable):
            opened(one)
            pytest.fail(name)
    with pytest.raises(Unsealable):
        opened(whole, b"x" * 32)


def test_kz44_what_was_not_written_to_its_end_is_refused() -> None:
    """A writer that raised left no last piece."""
    file = io.BytesIO()
    with pytest.raises(ZeroDivisionError), SealedWriter(file, KEY) as writer:
        writer.write(b"x" * 3 * PIECE)
        raise ZeroDivisionError
    with pytest.raises(Unsealable):
        opened(file.getvalue())
