"""Fetching: every address checked, every size and time bounded (T-4, T-8)."""

from __future__ import annotations

import asyncio
import gzip
import zlib
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from studio.agent.permission.policy import Policy
from studio.agent.permission.rule_suggestions import suggest_rules
from studio.domain.errors import NothingRead, ToolFailed
from studio.domain.events import ToolFinished
from studio.domain.permissions import Rule
from studio.simulator import Call, Text, Turn
from studio.tools.builtin.web import fetch
from studio.tools.web import Client, NetworkGuard, Web, WebLimits
from studio.tools.web.client import WebResponse
from studio.tools.web.fetcher import NoWeb, freshness
from studio.tools.web.web_address import is_public, parse
from support.engine_home import engine_home, say
from support.local_site import Site, SiteRequest, site
from support.waiting import FOREVER

END = Turn(Text("Done."), stop="end")
PUBLIC = "93.184.216.34"
OPEN = NoWeb(fetch_private=True)
CLOSED = NoWeb()


def to(where: Site, *answers: list[str], proxy: str = "") -> NetworkGuard:
    """Names lead to these addresses, one list a look-up; a public one is really ``where``."""
    left = list(answers) or [[PUBLIC]]

    async def look_up(host: str, port: int) -> list[str]:
        return left.pop(0) if len(left) > 1 else left[0]

    def dial(ip: str, port: int) -> tuple[str, int]:
        return ("127.0.0.1", where.port) if ip == PUBLIC else (ip, port)

    return NetworkGuard(look_up, dial, proxy=lambda address: proxy)


def web(network: NetworkGuard | None = None, choices: NoWeb = CLOSED, **limits: float) -> Web:
    client = Client(
        network or NetworkGuard(proxy=lambda address: ""), replace(WebLimits(), **limits)
    )
    return Web(lambda: choices, client=client)


PRIVATE = [
    "127.0.0.1", "10.1.2.3", "172.16.0.1", "192.168.1.1", "169.254.169.254", "100.64.0.1",
    "100.100.100.200", "0.0.0.0", "224.0.0.1", "255.255.255.255", "168.63.129.16", "192.0.0.192",
    "::1", "::", "fe80::1", "fc00::1", "fd00:ec2::254", "ff02::1", "::ffff:127.0.0.1",
    "::ffff:10.0.0.1", "::127.0.0.1", "2002:7f00:1::", "64:ff9b::7f00:1", "64:ff9b:1::1",
    "2001:0:4136:e378:8000:63bf:3fff:fdd2", "2001:db8::1", "5f00::1",
]  # fmt: skip


@pytest.mark.parametrize("ip", PRIVATE)
async def test_a_name_that_leads_to_a_private_place_is_refused(ip: str) -> None:
    """T-8: after the name is looked up, whatever it is called."""
    async with site() as here:
        with pytest.raises(ToolFailed, match="own network"):
            await web(to(here, [ip])).page("http://example.com/")
        assert not here.asked


@pytest.mark.parametrize("ip", ["8.8.8.8", "2606:4700::1111", "64:ff9b::808:808", "::ffff:8.8.8.8"])
def test_public_places_are_public(ip: str) -> None:
    import ipaddress

    assert is_public(ipaddress.ip_address(ip))


@given(st.ip_addresses(v=4))
def test_an_ipv4_address_is_as_public_in_every_disguise(ip) -> None:
    import ipaddress

    for prefix in ("::ffff:0:0", "64:ff9b::"):
        hidden = ipaddress.IPv6Address(int(ipaddress.IPv6Address(prefix)) + int(ip))
        assert is_public(hidden) == is_public(ip)
    assert not ip.is_private or not is_public(ip)


@pytest.mark.parametrize(
    "url",
    [
        "http://2130706433/", "http://0x7f000001/", "http://0177.0.0.1/", "http://127.1/",
        "http://0x7f.1/", "http://127.0.0.1.nip%2eio\\@x/", "http://user:pw@example.com/",
        "http://a@127.0.0.1/", "file:///etc/passwd", "ftp://example.com/", "gopher://x/",
        "http:///x", "http://[::1%25eth0]/", "http://exa mple.com/", "http://a\tb/", "//x/",
        "http://example.com:0/", "http://-a-.com/", "http://a..b/", "javascript:alert(1)",
        "http://１２７.１/", "http://example.com:99999/", "http://" + "a" * 9000,
    ],
)  # fmt: skip
def test_odd_addresses_are_refused(url: str) -> None:
    """T-8: in what two programs read differently, a way in would open."""
    with pytest.raises(ToolFailed):
        parse(url)


def test_addresses_are_read_one_way() -> None:
    assert (
        str(parse("HTTPS://Example.COM.:443/a b".replace(" ", "%20")))
        == "https://example.com/a%20b"
    )
    assert parse("http://раураl.com/").host.startswith("xn--")
    assert str(parse("http://１２７.0.0.1/")) == "http://127.0.0.1/"
    assert parse("http://[::ffff:7f00:1]:80/x?y#z").target == "/x?y"
    assert str(parse("https://a.org//b?c=ü")) == "https://a.org//b?c=%C3%BC"


@given(st.text(max_size=60))
def test_no_text_makes_an_odd_address(text: str) -> None:
    """Whatever is read as an address reads the same again."""
    for url in (text, f"http://{text}", f"http://example.com/{text}"):
        try:
            address = parse(url)
        except ToolFailed:
            continue
        assert parse(str(address)) == address
        assert str(address).isascii()


async def test_a_page_comes_as_markdown_with_its_source(tmp_path) -> None:
    async with site() as here:
        here.page("/a", "<title>Hi</title><h1>Head</h1><p>Some <b>words</b></p>")
        page = await web(to(here)).page("http://example.com/a")
        assert page.title == "Hi" and page.text == "# Head\n\nSome **words**"
        assert page.url == "http://example.com/a" and page.ok
        asked = here.asked[0]
        assert asked.headers["host"] == "example.com"
        assert "cookie" not in asked.headers and "authorization" not in asked.headers


async def test_the_address_that_was_checked_is_the_one_connected_to() -> None:
    """T-8: a name server that gives another answer the second time changes nothing."""
    async with site() as good, site() as evil:
        good.page("/", "good")
        network = to(good, [PUBLIC], ["127.0.0.1"])
        page = await web(network).page(f"http://rebind.example:{evil.port}/")
        assert page.text == "good" and not evil.asked


async def test_each_redirect_is_checked() -> None:
    """T-8: a public page cannot send the program home."""
    async with site() as here, site() as home:
        home.page("/", "secret")
        here.redirect("/a", "/b")
        here.redirect("/b", f"http://127.0.0.1:{home.port}/")
        with pytest.raises(ToolFailed, match="own network"):
            await web(to(here)).page("http://example.com/a")
        for to_ in ("file:///etc/passwd", "http://u:p@example.com/", "http://2130706433/"):
            here.redirect("/c", to_)
            with pytest.raises(ToolFailed):
                await web(to(here)).page("http://example.com/c")
        here.redirect("/d", "http://rebind.example/")
        with pytest.raises(ToolFailed, match="own network"):
            await web(to(here, [PUBLIC], ["10.0.0.1"])).page("http://example.com/d")
        assert not home.asked
        page = await web(choices=OPEN).page(f"{here.url}/b")
        assert page.text == "secret" and page.url == f"{home.url}/"


async def test_t7_a_refusal_says_whether_a_server_was_asked() -> None:
    """A stranger's words may be in what follows its answer, in a refused redirect too."""
    async with site() as here:
        dead = NetworkGuard(dial=lambda ip, port: ("127.0.0.1", 1), proxy=lambda address: "")
        by_proxy = to(here, ["10.0.0.1"], proxy="http://127.0.0.1:1")
        for network in (to(here, ["10.0.0.1"]), to(here, []), by_proxy, to(here, proxy="odd://x")):
            with pytest.raises(NothingRead):
                await web(network).page("http://example.com/a")
        with pytest.raises(NothingRead):
            await web(dead).page("http://93.184.216.34/")
        assert not here.asked
        for leads_to in ("http://127.0.0.1/", "file:///etc/passwd", "http://[::1"):
            here.redirect("/a", leads_to)
            with pytest.raises(ToolFailed) as failed:
                await web(to(here)).page("http://example.com/a")
            assert not isinstance(failed.value, NothingRead)


async def test_redirects_end_and_carry_no_cookie() -> None:
    async with site() as here:
        here.redirect("/loop", "/loop")
        with pytest.raises(ToolFailed, match="10 redirects"):
            await web(to(here)).page("http://example.com/loop")
        assert len(here.asked) == 11
        assert not any("cookie" in asked.headers for asked in here.asked)


async def test_all_addresses_of_a_host_must_be_public_and_the_next_is_tried() -> None:
    async with site() as here:
        here.page("/", "good")
        with pytest.raises(ToolFailed, match="own network"):
            await web(to(here, [PUBLIC, "10.0.0.1"])).page("http://example.com/")
        closed = NetworkGuard(
            look_up=to(here, ["127.0.0.2", "127.0.0.1"]).look_up, proxy=lambda address: ""
        )
        page = await web(closed, OPEN).page(f"http://example.com:{here.port}/")
        assert page.text == "good"


async def test_a_body_that_never_ends_is_left() -> None:
    """T-8: slow bodies, silent ones and bombs cost a bounded time and memory."""
    dripping = False
    async with site() as here:

        async def drip(asked: SiteRequest, writer: asyncio.StreamWriter) -> None:
            nonlocal dripping
            writer.write(b"HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\n\r\n")
            while True:
                dripping = True
                writer.write(b"x")
                await writer.drain()
                await asyncio.sleep(0.02)

        async def silent(asked: SiteRequest, writer: asyncio.StreamWriter) -> None:
            await asyncio.sleep(FOREVER)

        here.pages["/drip"], here.pages["/silent"] = drip, silent
        for seconds in (0.5, 5.0, 50.0):  # to connect may take a busy computer as long
            with pytest.raises(ToolFailed, match=f"longer than {seconds:g} s"):
                await web(to(here), seconds=seconds).page("http://example.com/drip")
            if dripping:
                break
        assert dripping
        with pytest.raises(ToolFailed, match=r"nothing for 0\.3 s"):
            await web(to(here), idle=0.3).page("http://example.com/silent")


async def test_bombs_are_not_unpacked() -> None:
    async with site() as here:
        zeros = b"\0" * 30_000_000
        here.page("/gzip", gzip.compress(zeros), content_encoding="gzip")
        here.page("/deflate", zlib.compress(zeros), content_encoding="deflate")
        here.page("/twice", gzip.compress(gzip.compress(zeros)), content_encoding="gzip, gzip")
        here.page("/br", b"x", content_encoding="br")
        here.page("/big", b"x" * 10_000_001, "text/plain")
        for path in ("/gzip", "/deflate", "/big"):
            with pytest.raises(ToolFailed, match="larger than 10 MB"):
                await web(to(here)).page(f"http://example.com{path}")
        for path in ("/twice", "/br"):
            with pytest.raises(ToolFailed, match="not asked for"):
                await web(to(here)).page(f"http://example.com{path}")
        squeezed = zlib.compressobj(wbits=-15)
        here.page("/raw", squeezed.compress(b"raw") + squeezed.flush(), content_encoding="deflate")
        here.page("/ok", gzip.compress(b"fine"), "text/plain", content_encoding="gzip")
        assert (await web(to(here)).page("http://example.com/raw")).text == "raw"
        assert (await web(to(here)).page("http://example.com/ok")).text == "fine"


@pytest.mark.parametrize(
    ("body", "kind"),
    [
        ("Grüße €".encode("cp1252"), "text/plain; charset=iso-8859-1"),
        ("Grüße €".encode(), "text/plain; charset=iso-8859-1"),
        ("Grüße €".encode(), "text/plain"),
        ("Grüße €".encode("utf-16"), "text/plain; charset=utf-8"),
        (b"\xef\xbb\xbf" + "Grüße €".encode(), "text/plain; charset=koi8-r"),
        ("Grüße €".encode(), "text/plain; charset=zlib"),
        ('<meta charset="windows-1252">Grüße €'.encode("cp1252"), "text/html"),
    ],
)
async def test_letters_are_read_whatever_the_server_says(body: bytes, kind: str) -> None:
    async with site() as here:
        here.page("/", body, kind)
        assert (await web(to(here)).page("http://example.com/")).text == "Grüße €"


async def test_what_is_no_page_is_named() -> None:
    async with site() as here:
        here.page("/zip", b"PK\3\4\0\0" * 50, "application/zip")
        here.page("/json", b'{"a": 1}', "application/json")
        here.page("/404", "<h1>Gone</h1>", status=404)
        one = web(to(here))
        assert "binary file, application/zip" in (await one.page("http://example.com/zip")).text
        assert (await one.page("http://example.com/json")).text == '{"a": 1}'
        gone = await one.page("http://example.com/404")
        assert not gone.ok and gone.status == "404 Not Found"


async def test_fresh_answers_are_kept_as_the_server_says() -> None:
    async with site() as here:
        here.page("/kept", "x", cache_control="max-age=60")
        here.page("/never", "x", cache_control="no-store")
        one = web(to(here))
        for _ in range(3):
            await one.page("http://example.com/kept")
            await one.page("http://example.com/never")
        paths = [asked.target for asked in here.asked]
        assert paths.count("/kept") == 1 and paths.count("/never") == 3


def test_freshness() -> None:
    def seconds(status: int = 200, **headers: str) -> float:
        named = {name.replace("_", "-"): value for name, value in headers.items()}
        return freshness(WebResponse(parse("http://a.org/"), status, named, b""))

    assert seconds() == 900 and seconds(500) == 0
    assert seconds(cache_control="max-age=99999") == 900
    assert seconds(cache_control="public, max-age=60", age="50") == 10
    assert seconds(cache_control="no-cache") == 0


async def test_what_was_private_is_not_served_when_that_is_forbidden_again() -> None:
    async with site() as here:
        here.page("/", "secret")
        choices = [OPEN]
        one = Web(lambda: choices[0], client=Client(NetworkGuard(proxy=lambda address: "")))
        assert (await one.page(here.url)).text == "secret"
        choices[0] = NoWeb()
        with pytest.raises(ToolFailed, match="own network"):
            await one.page(here.url)


async def test_a_proxy_is_asked_by_name_and_not_for_places_nearby() -> None:
    """T-8: a proxy looks names up itself; what is known to be private here is refused."""
    async with site() as proxy:
        proxy.pages["http://example.com/"] = proxy.pages["/"] = answer_words
        page = await web(to(proxy, [], proxy=proxy.url)).page("http://example.com/")
        assert page.proxy and page.text == "by proxy"
        for url in ("http://localhost/", "http://127.0.0.1/", "http://x.internal/"):
            with pytest.raises(ToolFailed, match="own network"):
                await web(to(proxy, ["127.0.0.1"], proxy=proxy.url)).page(url)
        assert len(proxy.asked) == 1


async def answer_words(asked: SiteRequest, writer: asyncio.StreamWriter) -> None:
    writer.write(
        b"HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\nContent-Length: 8\r\n\r\nby proxy"
    )
    await writer.drain()


async def test_a_redirect_to_another_host_is_not_covered_by_the_first_ones_permission(
    tmp_path: Path,
) -> None:
    """T-7: told to the model, whose next call asks; followed with a rule, refused by one."""
    async with site() as here, site() as there:
        there.page("/b", "theirs")
        here.page("/c", "ours")
        here.redirect("/a", f"{there.url}/b")
        here.redirect("/home", "/c")
        calls = [
            Call("fetch", {"url": f"{here.url}{path}"}) for path in ("/a", "/home", "/a", "/a")
        ]
        script = [turn for call in calls for turn in (Turn(call, stop="tool_use"), END)]
        async with engine_home(tmp_path, "anthropic", script) as home:
            home.engine.settings.values.fetch_private = True
            session = await home.session("Assistant")

            async def fetched(*rules: Rule) -> ToolFinished:
                events = await say(session, rules=rules, answer="once")
                return next(e for e in events if isinstance(e, ToolFinished))

            told = await fetched()
            assert f"redirects to another host: {there.url}/b" in told.text and not there.asked
            assert "ours" in (await fetched()).text
            known = Rule.parse(f"fetch({there.url}/*)")
            refused = await fetched(known, Rule.parse(f"fetch({there.url}/b)", "deny"))
            assert refused.is_error and not there.asked
            assert "theirs" in (await fetched(known)).text


@pytest.mark.parametrize(
    "url",
    ["HTTPS://Evil.Example/a", "https://evil.example:443/a", "https://evil.example./a",
     " https://evil.example/a", "https://evil.example", "https://evil.example/x/../a",
     "https://evil.example/%61"],
)  # fmt: skip
def test_a_rule_knows_an_address_however_it_is_written(url: str) -> None:
    """T-7: as the request will be sent, not as the model wrote it."""
    pattern = "https://evil.example/" if url.endswith("example") else "https://evil.example/a"
    rules = [Rule.parse("fetch"), Rule.parse(f"fetch({pattern})", "deny")]
    assert Policy("ask", {"person": rules}).explain(fetch.spec, url).verdict == "deny"
    allowed = Policy("ask", {"person": [Rule.parse("fetch(https://good.example/docs/*)")]})
    assert allowed.explain(fetch.spec, "https://good.example/docs/a").verdict == "allow"
    assert allowed.explain(fetch.spec, "https://good.example/docs/../key").verdict == "ask"
    assert allowed.explain(fetch.spec, "https://good.example/docs/%2e%2e/key").verdict == "ask"


def test_always_never_means_every_address() -> None:
    policy = Policy("ask")
    asked = {"url": "https://good.example"}
    [rule] = suggest_rules(policy, fetch.spec, asked, policy.decide(fetch.spec, asked))
    assert str(rule) == "fetch(https://good.example/*)"
    asked = {"url": "https://a@good.example/"}
    assert suggest_rules(policy, fetch.spec, asked, policy.decide(fetch.spec, asked)) == ()
