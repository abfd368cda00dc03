"""The way to providers: any HTTP is read as it was meant or refused, and connections are kept."""

from __future__ import annotations

import asyncio
import ssl
import threading
import time
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import AsyncExitStack, asynccontextmanager
from datetime import datetime, timedelta
from pathlib import Path

import httpx2
import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID

from studio.providers import http_answer
from studio.providers.errors import ErrorFactory
from studio.providers.http import Http
from studio.providers.http_answer import AnswerParser
from studio.providers.sse import Endpoint
from studio.providers.transport import MAX_REQUESTS, Transport
from support.waiting import FOREVER, HANG, until, within

WHOLE: dict[str, tuple[bytes, bytes, bool]] = {
    "a length": (b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello", b"hello", True),
    "the same length twice": (
        b"HTTP/1.1 200 OK\r\ncontent-length: 5\r\ncontent-length: 5, 5\r\n\r\nhello",
        b"hello",
        True,
    ),
    "chunks": (
        b"HTTP/1.1 200 OK\r\nTransfer-Encoding: Chunked\r\n\r\n"
        b"3;name=1\r\nhel\r\n02 \r\nlo\r\n0\r\nTrailer: x\r\n\r\n",
        b"hello",
        True,
    ),
    "chunks and a length": (
        b"HTTP/1.1 200 OK\r\ncontent-length: 9\r\ntransfer-encoding: chunked\r\n\r\n"
        b"5\r\nhello\r\n0\r\n\r\n",
        b"hello",
        True,
    ),
    "no carriage returns": (b"HTTP/1.1 200\ncontent-length: 5\n\nhello", b"hello", True),
    "a folded header": (
        b"HTTP/1.1 200 OK\r\nx: a\r\n  b\r\ncontent-length: 5\r\n\r\nhello",
        b"hello",
        True,
    ),
    "an interim answer": (
        b"HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 103 Early Hints\r\nlink: </>\r\n\r\n"
        b"HTTP/1.1 200 OK\r\ncontent-length: 5\r\n\r\nhello",
        b"hello",
        True,
    ),
    "nothing": (b"HTTP/1.1 204 No Content\r\n\r\n", b"", True),
    "an empty body": (b"HTTP/1.1 200 OK\r\ncontent-length: 0\r\n\r\n", b"", True),
    "the end of the connection": (b"HTTP/1.1 200 OK\r\n\r\nhello", b"hello", False),
    "a server that hangs up": (
        b"HTTP/1.1 200 OK\r\nConnection: foo, Close\r\ncontent-length: 5\r\n\r\nhello",
        b"hello",
        False,
    ),
    "an old server": (b"HTTP/1.0 200 OK\r\ncontent-length: 5\r\n\r\nhello", b"hello", False),
    "more than was asked for": (
        b"HTTP/1.1 200 OK\r\ncontent-length: 5\r\n\r\nhelloHTTP/1.1 200 OK\r\n\r\n",
        b"hello",
        False,
    ),
}
"""An answer, its body, and whether the connection may be used again."""
BROKEN: dict[str, bytes] = {
    "nothing": b"",
    "no HTTP": b"<html>\r\n\r\n",
    "blank lines": b"\r\n" * 9,
    "another version": b"HTTP/x 200 OK\r\n\r\n",
    "a half head": b"HTTP/1.1 200 OK\r\ncontent-len",
    "a header without a name": b"HTTP/1.1 200 OK\r\n: x\r\n\r\n",
    "a name with a blank": b"HTTP/1.1 200 OK\r\ncontent-length : 5\r\n\r\nhello",
    "a control character": b"HTTP/1.1 200 OK\r\nx: a\0b\r\n\r\n",
    "two lengths": b"HTTP/1.1 200 OK\r\ncontent-length: 5\r\ncontent-length: 6\r\n\r\nhello!",
    "no number": b"HTTP/1.1 200 OK\r\ncontent-length: +5\r\n\r\nhello",
    "a huge number": b"HTTP/1.1 200 OK\r\ncontent-length: %b\r\n\r\n" % (b"9" * 5_000),
    "an unknown coding": b"HTTP/1.1 200 OK\r\ntransfer-encoding: gzip, chunked\r\n\r\n",
    "a coding twice": b"HTTP/1.1 200 OK\r\n" + b"transfer-encoding: chunked\r\n" * 2 + b"\r\n",
    "another protocol": b"HTTP/1.1 101 Switching Protocols\r\n\r\n",
    "cut in the body": b"HTTP/1.1 200 OK\r\ncontent-length: 6\r\n\r\nhello",
    "cut between chunks": b"HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n5\r\nhello\r\n",
    "cut in the trailers": (
        b"HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n5\r\nhello\r\n0\r\nx: y\r\n"
    ),
    "a size that is none": b"HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\nx\r\nhello",
    "a size that is negative": b"HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n-5\r\nhello",
    "a chunk that is longer": (
        b"HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n5\r\nhello!\r\n0\r\n\r\n"
    ),
    "an endless head": b"HTTP/1.1 200 OK\r\n" + b"x: y\r\n" * 20_000,
    "an endless size": b"HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n5;" + b"x" * 200_000,
    "endless trailers": (
        b"HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n0\r\n" + b"x: y\r\n" * 20_000
    ),
}


def parsed(pieces: list[bytes], method: str = "GET") -> tuple[AnswerParser, bytes]:
    """The answer whose bytes come in these pieces, and then the connection ends."""
    answer = AnswerParser(method)
    body = b"".join([answer.feed(piece) for piece in pieces if piece])
    if not (answer.complete and answer.keeps):
        answer.end()
    return answer, body


@pytest.mark.parametrize("name", WHOLE)
def test_an_answer_is_the_same_wherever_its_packets_are_cut(name: str) -> None:
    """L-12: the body, its end, and whether another request may follow."""
    data, body, keeps = WHOLE[name]
    for first in range(len(data) + 1):
        answer, found = parsed([data[:first], data[first:]])
        assert (found, answer.complete, answer.keeps) == (body, True, keeps), first
    answer, found = parsed([data[place : place + 1] for place in range(len(data))])
    assert (found, answer.complete, answer.keeps) == (body, True, keeps)


def test_a_head_is_read_with_its_words_and_headers() -> None:
    """The names as they were sent; an answer to HEAD has no body, whatever it says."""
    data = b"HTTP/1.1 404 Not \xe4 Found\r\nX-A:  b c\t\r\nx-a:\r\nContent-Length: 9\r\n\r\n"
    answer, _ = parsed([data], "HEAD")
    assert (answer.status, answer.reason, answer.keeps) == (404, b"Not \xe4 Found", True)
    assert answer.headers == [(b"X-A", b"b c"), (b"x-a", b""), (b"Content-Length", b"9")]


@pytest.mark.parametrize("name", BROKEN)
def test_what_is_no_whole_answer_is_refused(name: str) -> None:
    """H-5: nothing is guessed, and nothing is held without end."""
    for pieces in ([BROKEN[name]], [BROKEN[name][:1], BROKEN[name][1:]]):
        with pytest.raises(httpx2.RemoteProtocolError):
            parsed(pieces)


def test_blanks_without_end_take_no_time() -> None:
    """H-5: reading a head takes time by its length, not by the square of that."""
    blanks = b" " * (http_answer.MAX_HEAD_BYTES - 100)
    began = time.process_time()
    for head in (b"x:" + blanks + b"y", b"x: y" + blanks, b"connection:" + blanks + b","):
        answer = AnswerParser("GET")
        answer.feed(b"HTTP/1.1 200 OK\r\n" + head + b"\r\n\r\n")
        assert answer.status == 200
    assert time.process_time() - began < 5  # a square takes minutes


# A server that does as a test says

Act = Callable[[asyncio.StreamReader, asyncio.StreamWriter], Awaitable[None]]
FINE = b"HTTP/1.1 200 OK\r\ncontent-length: 4\r\n\r\nfine"


@asynccontextmanager
async def server(act: Act, secure: ssl.SSLContext | None = None) -> AsyncIterator[str]:
    """The address of a server that does this with each connection, and then hangs up."""

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            await act(reader, writer)
        except (asyncio.IncompleteReadError, ConnectionError):
            pass
        finally:
            writer.close()

    listening = await asyncio.start_server(serve, "127.0.0.1", 0, ssl=secure)
    port = listening.sockets[0].getsockname()[1]
    try:
        yield f"https://localhost:{port}/" if secure else f"http://127.0.0.1:{port}/"
    finally:
        listening.close()


@asynccontextmanager
async def client(verify: ssl.SSLContext | None = None) -> AsyncIterator[httpx2.AsyncClient]:
    transport = Transport(None if verify is None else lambda: verify)
    async with httpx2.AsyncClient(transport=transport, timeout=HANG) as made:
        yield made


async def request(reader: asyncio.StreamReader) -> bytes:
    """The next request, its body with its head."""
    head = await reader.readuntil(b"\r\n\r\n")
    length = head.lower().partition(b"content-length:")[2].partition(b"\r\n")[0]
    return head + await reader.readexactly(int(length or 0))


async def test_a_connection_is_kept_as_long_as_that_is_safe() -> None:
    """L-12: not after an answer that was left, nor where the server hung up or said more."""
    connections = 0
    hung_up = asyncio.Event()

    async def act(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        nonlocal connections
        connections += 1
        while True:
            asked = await request(reader)
            path = asked.split()[1]
            if path == b"/more":
                writer.write(FINE + b"HTTP/1.1 200 OK\r\n\r\n")
            elif path == b"/leave":
                writer.write(FINE.replace(b"4", b"5"))
            else:
                writer.write(FINE)
            await writer.drain()
            if path == b"/end":
                break
        writer.close()
        await writer.wait_closed()
        hung_up.set()

    async with within(), server(act) as url, client() as http:
        for _ in range(3):
            assert (await http.post(url, content=b"x" * 300_000)).text == "fine"
        assert connections == 1
        transport = http._transport
        assert isinstance(transport, Transport)
        assert [one._timer for one in transport._idle] == [None]  # at rest nothing wakes it
        await http.get(url + "end")
        await hung_up.wait()
        await until(lambda: all(one.closed for one in transport._idle))
        assert (await http.get(url + "more")).text == "fine"
        assert connections == 2
        assert (await http.get(url)).text == "fine"
        async with http.stream("GET", url + "leave") as left:
            assert left.status_code == 200
        assert (await http.get(url)).text == "fine"
        assert connections == 4


async def test_a_stream_is_read_as_it_comes_and_no_further() -> None:
    """P-2: each piece when it is there; the server waits for a reader that does not read."""
    goes_on = asyncio.Event()
    sent = 0

    async def act(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        nonlocal sent
        await request(reader)
        writer.write(b"HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n5\r\nfirst\r\n")
        await goes_on.wait()
        while sent < 2_000:
            writer.write(b"10000\r\n" + b"x" * 65_536 + b"\r\n")
            await writer.drain()
            sent += 1

    async with within(), server(act) as url, client() as http, http.stream("GET", url) as answer:
        pieces = answer.aiter_raw()
        assert await anext(pieces) == b"first"
        goes_on.set()
        before = -1
        while sent != before:  # until the sockets between are full
            before = sent
            await asyncio.sleep(0.1)
        assert sent < 2_000
        with pytest.raises(httpx2.RemoteProtocolError):
            async for _ in pieces:
                pass
        assert sent == 2_000


async def test_a_request_that_is_made_piece_by_piece_arrives_whole() -> None:
    """With its length, and without; also where the server is slow to read."""
    came: list[bytes] = []

    async def act(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        head = await reader.readuntil(b"\r\n\r\n")
        body = b""
        if b"chunked" in head:
            while size := int(await reader.readline(), 16):
                body += await reader.readexactly(size)
                await reader.readline()
            await reader.readline()
        else:
            body = await reader.readexactly(3_000_000)
        came.append(body)
        writer.write(FINE.replace(b"\r\n\r\n", b"\r\nconnection: close\r\n\r\n"))

    async def pieces() -> AsyncIterator[bytes]:
        for _ in range(3):
            yield b""
            yield b"x" * 1_000_000

    async with within(), server(act) as url, client() as http:
        for headers in ({}, {"content-length": "3000000"}):
            answer = await http.post(url, content=pieces(), headers=headers)
            assert answer.text == "fine"
    assert came == [b"x" * 3_000_000] * 2


async def test_an_answer_counts_that_comes_before_all_is_sent() -> None:
    """L-12: a server may refuse a request by its head, and hang up."""

    async def act(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readuntil(b"\r\n\r\n")
        writer.write(FINE.replace(b"200 OK", b"413 Too Large"))
        await writer.drain()
        writer.write_eof()
        await reader.read(-1)

    async def pieces() -> AsyncIterator[bytes]:
        for _ in range(50):
            yield b"x" * 100_000

    async with within(), server(act) as url, client() as http:
        assert (await http.post(url, content=pieces())).status_code == 413


async def test_waiting_ends_and_makes_room() -> None:
    """L-11, L-12: by the time limit and by a caller who gives up; at most so many at once."""
    waiting = most = 0
    goes_on = asyncio.Event()

    async def act(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        nonlocal waiting, most
        if b"/silent" in await request(reader):
            await reader.read()
            return
        waiting += 1
        most = max(most, waiting)
        await goes_on.wait()
        waiting -= 1
        writer.write(FINE)

    async with within(), server(act) as url, client() as http:
        for _ in range(2):
            with pytest.raises(httpx2.ReadTimeout):
                await http.get(url + "silent", timeout=httpx2.Timeout(HANG, read=0.01))
        left = [asyncio.create_task(http.get(url + "silent")) for _ in range(MAX_REQUESTS)]
        transport = http._transport
        assert isinstance(transport, Transport)
        await until(transport._room.locked)
        with pytest.raises(httpx2.PoolTimeout):
            await http.get(url, timeout=httpx2.Timeout(HANG, pool=0.01))
        for one in left:
            one.cancel()
        await asyncio.wait(left)
        asked = [asyncio.create_task(http.get(url)) for _ in range(MAX_REQUESTS + 50)]
        await until(lambda: waiting == MAX_REQUESTS)
        goes_on.set()
        assert {answer.text for answer in await asyncio.gather(*asked)} == {"fine"}
        assert most == MAX_REQUESTS


async def test_each_request_on_a_kept_connection_has_its_own_limit() -> None:
    """L-11: what it may wait, or without end, is not what the one before might."""
    connections = 0

    async def act(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        nonlocal connections
        connections += 1
        for _ in range(2):
            await request(reader)
            writer.write(FINE)
        await request(reader)
        asked.set()
        await goes_on.wait()
        for _ in range(2):
            writer.write(FINE)
            await request(reader)
        await reader.read()

    asked, goes_on = asyncio.Event(), asyncio.Event()
    async with within(), server(act) as url, client() as http:
        patient, hasty = (httpx2.Timeout(HANG, read=read) for read in (FOREVER, 0.01))
        for _ in range(2):
            assert (await http.get(url, timeout=patient)).text == "fine"
        endless = asyncio.create_task(http.get(url, timeout=None))
        await asked.wait()
        transport = http._transport
        assert isinstance(transport, Transport)
        [connection] = transport._busy
        assert connection._timer is None
        goes_on.set()
        assert (await endless).text == "fine"
        assert (await http.get(url, timeout=patient)).text == "fine"
        with pytest.raises(httpx2.ReadTimeout):
            await http.get(url, timeout=hasty)
    assert connections == 1


async def test_a_key_that_no_header_can_have_is_refused_and_not_told() -> None:
    """S-4: nothing is sent that begins another header."""
    async with client() as http:
        for value in (b"secret\r\nx: y", b"secret\0", b"secret\n"):
            with pytest.raises(httpx2.LocalProtocolError) as refused:
                await http.get("http://127.0.0.1:9/", headers={b"authorization": value})
            assert "secret" not in str(refused.value)
        for url in ("https://127.0.0.1:9/", "ftp://127.0.0.1:9/"):  # it was told of no TLS
            with pytest.raises(httpx2.UnsupportedProtocol):
                await http.get(url)


def certificate(folder: Path) -> Path:
    """A certificate of localhost with its key, as nobody else's."""
    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "localhost")])
    now = datetime(2026, 1, 1)
    made = (
        x509.CertificateBuilder()
        .subject_name(name)
        .issuer_name(name)
        .public_key(key.public_key())
        .serial_number(1)
        .not_valid_before(now)
        .not_valid_after(now + timedelta(days=36_500))
        .add_extension(x509.SubjectAlternativeName([x509.DNSName("localhost")]), critical=False)
        .sign(key, hashes.SHA256())
    )
    path = folder / "localhost.pem"
    private = key.private_bytes(
        serialization.Encoding.PEM,
        serialization.PrivateFormat.PKCS8,
        serialization.NoEncryption(),
    )
    path.write_bytes(private + made.public_bytes(serialization.Encoding.PEM))
    return path


async def test_a_server_is_asked_over_tls_if_it_is_trusted(tmp_path: Path) -> None:
    """S-4: a stranger gets no request and no key."""
    came: list[bytes] = []

    async def act(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        while True:
            came.append(await request(reader))
            writer.write(FINE)

    secure = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    pem = certificate(tmp_path)
    secure.load_cert_chain(pem)
    async with within(), server(act, secure) as url:
        async with client(ssl.create_default_context()) as http:
            with pytest.raises(httpx2.ConnectError):
                await http.get(url)
        assert came == []
        async with client(ssl.create_default_context(cafile=pem)) as http:
            for _ in range(3):
                assert (await http.post(url, content=b"x" * 300_000)).text == "fine"
            with pytest.raises(httpx2.ConnectError):  # it is localhost's
                await http.get(url.replace("localhost", "127.0.0.1"))
    assert len(came) == 3


async def test_certificates_are_read_once_and_only_for_tls(tmp_path: Path) -> None:
    """S-5: `run` with a server on this computer sends its request before they would be read."""
    read: list[threading.Thread] = []

    async def act(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await request(reader)
        writer.write(FINE)

    def verify() -> ssl.SSLContext:
        read.append(threading.current_thread())
        return ssl.create_default_context(cafile=pem)

    secure = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    pem = certificate(tmp_path)
    secure.load_cert_chain(pem)
    async with (
        within(),
        server(act) as plain,
        server(act, secure) as url,
        httpx2.AsyncClient(transport=Transport(verify, keeps=False), timeout=HANG) as http,
    ):
        assert (await http.get(plain)).text == "fine"
        assert read == []
        answers = await asyncio.gather(http.get(url), http.get(url))
        assert [one.text for one in answers] == ["fine", "fine"]
    (thread,) = read
    assert thread is not threading.main_thread()


async def test_a_proxy_of_the_environment_is_asked_except_for_this_computer(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """P-1: a company's proxy gets what goes out, and nothing of local servers."""
    came: list[bytes] = []

    async def act(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        came.append(await request(reader))
        writer.write(FINE)

    async with within(), server(act) as url:
        monkeypatch.setenv("HTTP_PROXY", url)
        monkeypatch.delenv("NO_PROXY", raising=False)
        http = Http()
        try:
            made = await http.client()
            assert (await made.get("http://far.example/a")).text == "fine"
            assert (await made.get(url + "b")).text == "fine"
        finally:
            await http.aclose()
    assert [one.split()[1] for one in came] == [b"http://far.example/a", b"/b"]


async def test_l12_each_request_is_as_the_first_was_but_for_its_length_and_cookies() -> None:
    heads: list[list[bytes]] = []

    async def act(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        while True:
            head, _, body = (await request(reader)).partition(b"\r\n\r\n")
            heads.append([*head.split(b"\r\n"), body])
            cookie = b"set-cookie: stays=here\r\n" if b"third" in body else b""
            writer.write(FINE.replace(b"content", cookie + b"content"))

    async with within(), server(act) as url:
        http = Http()
        endpoint = Endpoint(ErrorFactory("one", "One", url, "a-long-key"), http, lambda _: None)
        for words in ("one", "another", "the third", "the last of them", "and more"):
            async with AsyncExitStack() as stack:
                answer = await endpoint.stream(stack, "/chat", {"words": words})
                assert b"".join([piece async for piece in answer]) == b"fine"
        await http.aclose()

    def but(head: list[bytes], *names: bytes) -> list[bytes]:
        return [line for line in head[:-1] if not line.startswith(names)]

    first = heads[0]
    assert b"authorization: Bearer a-long-key" in first
    for head in heads:
        assert but(head, b"Content-Length", b"Cookie") == but(first, b"Content-Length")
        assert b"Content-Length: %d" % len(head[-1]) in head
    assert [b"Cookie: stays=here" in head for head in heads] == [False] * 3 + [True] * 2
