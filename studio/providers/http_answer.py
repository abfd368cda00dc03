"""HTTP answer: parses an HTTP/1.1 answer as its bytes come (RFC 9112).

What it accepts is what h11 accepts: lines of a head may end without a carriage return, chunks may
not. Where the length is told twice, or in a way that is not known, nothing is guessed. Imports the
HTTP library: import this in a thread.
"""

from __future__ import annotations

import re

import httpx2

MAX_HEAD_BYTES = 102_400
"""Bytes of a head, of the trailers, or of the line before a chunk."""

_HEAD_END = re.compile(rb"\n\r?\n")
_STATUS = re.compile(rb"HTTP/([0-9])\.([0-9]) ([0-9]{3})(?: ([^\x00-\x08\x0a-\x1f\x7f]*))?")
_FIELD = re.compile(rb"([-!#$%&'*+.^_`|~0-9A-Za-z]+):([^\x00-\x08\x0a-\x1f\x7f]*)")
_CHUNK = re.compile(rb"([0-9A-Fa-f]{1,16})[ \t]*(?:;[^\x00-\x08\x0a-\x1f\x7f]*)?\r")
_NO_BODY = (204, 304)


class AnswerParser:
    """Takes the bytes of one answer, and gives its head and the pieces of its body."""

    def __init__(self, method: str) -> None:
        self.status = 0
        """0 until the head is there."""
        self.reason = b""
        self.headers: list[tuple[bytes, bytes]] = []
        self.complete = False
        self.keeps = False
        """Whether another request may follow on the same connection."""
        self._bare = method == "HEAD"
        self._waiting = b""
        """What is not understood yet: a part of a head or of the line before a chunk."""
        self._left: int | None = 0
        """Bytes until the end of the body or of the chunk; None until the connection closes."""
        self._chunked = False
        self._after_chunk = self._trailers = False
        self._trailed = 0
        """Bytes of trailers so far."""

    def feed(self, data: bytes) -> bytes:
        """The next of the body; raises RemoteProtocolError for what is no HTTP."""
        if not self.status:
            data = self._waiting + data
            if not self._take_head(data):
                return b""
            data, self._waiting = self._waiting, b""
        if self.complete or not data:
            self.keeps = self.keeps and not (self.complete and data)  # nobody asked for it
            return b""
        if self._chunked:
            return self._unchunked(data)
        if self._left is None:
            return data
        piece, rest = data[: self._left], len(data) - self._left
        self._left -= len(piece)
        self._end_if(self._left == 0, rest > 0)
        return piece

    def end(self) -> None:
        """Note that the server closed the connection; RemoteProtocolError if more was to come."""
        if not self.status:
            words = "Server disconnected without sending a response."
            raise httpx2.RemoteProtocolError(words)
        if not self.complete and (self._chunked or self._left is not None):
            words = "peer closed connection without sending complete message body"
            raise httpx2.RemoteProtocolError(words)
        self.complete, self.keeps = True, False

    def _end_if(self, ended: bool, more: bool = False) -> None:
        if ended:
            self.complete = True
            self.keeps = self.keeps and not more

    def _take_head(self, data: bytes) -> bool:
        """Whether the head is there; what follows it waits then."""
        while True:
            found = _HEAD_END.search(data)
            if (found.start() if found else len(data)) > MAX_HEAD_BYTES:
                raise httpx2.RemoteProtocolError("The head of the answer is too long.")
            if found is None:
                self._waiting = data
                return False
            status = self._read_head(data[: found.start()])
            data = data[found.end() :]
            if status >= 200:
                self.status, self._waiting = status, data
                return True
            if status == 101:
                raise httpx2.RemoteProtocolError("The server changed the protocol.")

    def _read_head(self, head: bytes) -> int:
        first, *lines = head.split(b"\n")
        status = _STATUS.fullmatch(first.removesuffix(b"\r"))
        if status is None:
            raise httpx2.RemoteProtocolError("The answer does not begin like HTTP.")
        headers: list[tuple[bytes, bytes]] = []
        lengths: set[bytes] = set()
        codings: list[bytes] = []
        closes = status[1] != b"1" or status[2] == b"0"
        for line in _unfolded(lines):
            field = _FIELD.fullmatch(line)
            if field is None:
                raise httpx2.RemoteProtocolError("A header of the answer is not valid.")
            name, value = field[1], field[2].strip(b" \t")
            headers.append((name, value))
            match name.lower():
                case b"content-length":
                    lengths |= {one.strip() for one in value.split(b",")}
                case b"transfer-encoding":
                    codings.append(value.lower())
                case b"connection":
                    closes = closes or b"close" in [v.strip() for v in value.lower().split(b",")]
                case _:
                    pass
        number = int(status[3])
        self.reason, self.headers, self.keeps = status[4] or b"", headers, not closes
        if number < 200:
            return number
        if self._bare or number in _NO_BODY:
            self.complete = True
        elif codings:
            if codings != [b"chunked"]:
                raise httpx2.RemoteProtocolError("The transfer coding is not known.")
            self._chunked = True
        elif lengths:
            length = lengths.pop()
            if lengths or not length.isdigit() or len(length) > 16:
                raise httpx2.RemoteProtocolError("The length of the answer is not valid.")
            self._left = int(length)
            self._end_if(self._left == 0)
        else:
            self._left, self.keeps = None, False
        return number

    def _unchunked(self, data: bytes) -> bytes:
        pieces: list[bytes] = []
        data, self._waiting = self._waiting + data, b""
        place = 0
        while not self.complete and place < len(data):
            if self._left:
                piece = data[place : place + self._left]
                pieces.append(piece)
                place += len(piece)
                self._left -= len(piece)
                self._after_chunk = not self._left
                if self._after_chunk and data.startswith(b"\r\n", place):
                    place += 2
                    self._after_chunk = False
                continue
            end = data.find(b"\n", place)
            if end < 0:
                if len(data) - place > MAX_HEAD_BYTES:
                    raise httpx2.RemoteProtocolError("A line between chunks is too long.")
                self._waiting = data[place:]
                break
            line, place = data[place:end], end + 1
            size = None if self._trailers or self._after_chunk else _CHUNK.fullmatch(line)
            if size is not None:
                self._left = int(size[1], 16)
                self._trailers = not self._left
            else:
                self._end_chunk(line)
        self._end_if(self.complete, place < len(data))
        return b"".join(pieces)

    def _end_chunk(self, line: bytes) -> None:
        """A line that is no contents nor the size of a chunk: the end of one, or a trailer."""
        if self._trailers:
            self.complete = line in (b"", b"\r")
            self._trailed += len(line) + 1
            if self._trailed > MAX_HEAD_BYTES:
                raise httpx2.RemoteProtocolError("The trailers of the answer are too long.")
        elif self._after_chunk:
            if line != b"\r":
                raise httpx2.RemoteProtocolError("A chunk has another length than was told.")
            self._after_chunk = False
        else:
            raise httpx2.RemoteProtocolError("The size of a chunk is not valid.")


def _unfolded(lines: list[bytes]) -> list[bytes]:
    """Header lines; one that begins with a blank goes on with the one before (RFC 9112, 5.2)."""
    whole: list[bytes] = []
    for line in lines:
        line = line.removesuffix(b"\r")
        if whole and line[:1] in (b" ", b"\t"):
            whole[-1] = whole[-1].rstrip() + b" " + line.strip()
        else:
            whole.append(line)
    return whole
