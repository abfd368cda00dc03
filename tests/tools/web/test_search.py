"""Searching: each engine in its own shape, over real HTTP (T-4, T-8)."""

from __future__ import annotations

import json
import threading
from collections.abc import Awaitable, Callable
from urllib.parse import SplitResult, parse_qs, urlsplit

import pytest

from studio.domain.errors import NothingRead, ToolFailed
from studio.tools import Context, Workspace
from studio.tools.builtin.web import web_search
from studio.tools.web import Client, NetworkGuard, Web, web_address
from studio.tools.web.fetcher import NoWeb
from studio.tools.web.search import Endpoints
from support.local_site import Site, site

RESULTS = """
<div class="result results_links result--ad"><a class="result__a" href="https://ad.example/">Ad</a>
<a class="result__snippet">Buy</a></div>
<div class="result results_links results_links_deep web-result">
 <h2 class="result__title"><a rel="nofollow" class="result__a"
 href="//duckduckgo.com/l/?uddg=https%3A%2F%2Fexample.org%2Fa%3Fb%3Dc&amp;rut=1">One &amp; <b>only</b></a></h2>
 <a class="result__snippet" href="//x">Some <b>words</b> of it.</a></div>
<div class="result"><a class="result__a" href="https://example.com/two">Two</a>
<div class="result__snippet">More</div></div>
<div class="result"><a class="result__a" href="javascript:alert(1)">Three</a></div>
"""
JSON = "application/json"


async def no_key(name: str) -> str | None:
    return None


async def some_key(name: str) -> str | None:
    return f"key-of-{name}"


def web(
    here: Site,
    engine: str,
    key: Callable[[str], Awaitable[str | None]] = some_key,
    private: bool = True,
    searxng: str = "",
) -> Web:
    ends = Endpoints(f"{here.url}/ddg", f"{here.url}/brave", f"{here.url}/tavily")
    choices = NoWeb(private, engine, searxng)
    return Web(lambda: choices, key, Client(NetworkGuard(proxy=lambda address: "")), ends)


async def test_duckduckgo_without_a_key() -> None:
    async with site() as here:
        here.page("/ddg", RESULTS)
        hits = await web(here, "ddgs", no_key).search("a  b&c")
        assert [(hit.title, hit.url, hit.snippet) for hit in hits] == [
            ("One & only", "https://example.org/a?b=c", "Some words of it."),
            ("Two", "https://example.com/two", "More"),
        ]
        asked = here.asked[0]
        assert asked.method == "POST" and parse_qs(asked.body.decode())["q"] == ["a b&c"]


@pytest.mark.parametrize("engine", ["ddgs", "brave", "tavily", "searxng"])
async def test_an_answer_is_read_beside_the_loop(
    engine: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It has up to 10 MB: nobody waits for it."""
    here, threads = threading.get_ident(), list[int]()

    def noted(url: str, *more: object) -> SplitResult:
        threads.append(threading.get_ident())
        return urlsplit(url)

    async with site() as its:
        one = {"title": "T", "url": "https://example.org/", "content": "S", "description": "S"}
        for path in ("/ddg", "/brave", "/tavily", "/search"):
            many = [one] * 100
            page = json.dumps({"results": many, "web": {"results": many}})
            its.page(path, RESULTS if path == "/ddg" else page, "" if path == "/ddg" else JSON)
        asked = web(its, engine, searxng=its.url)
        monkeypatch.setattr(web_address, "urlsplit", noted)
        hits = await asked.search("q", 20)
        assert len(hits) == (2 if engine == "ddgs" else 20)
        assert len(threads) - threads.count(here) >= len(hits)


async def test_a_title_without_an_end_is_cut() -> None:
    """A hundred thousand pieces of it are not joined one by one."""
    title = "<a class='result__a' href='https://example.org/'>" + "a<b>b</b>" * 100_000
    async with site() as here:
        here.page("/ddg", f'<div class="result">{title}</a></div>{RESULTS}')
        hits = await web(here, "ddgs").search("x")
        assert [len(hit.title) for hit in hits] == [300, 10, 3]


async def test_duckduckgo_that_wants_a_person_says_so() -> None:
    async with site() as here:
        here.page("/ddg", '<div class="anomaly-modal__title">Are you human?</div>', status=202)
        with pytest.raises(ToolFailed, match="whether a person"):
            await web(here, "ddgs").search("x")
        here.page("/ddg", "<p>No results.</p>")
        assert await web(here, "ddgs").search("x") == []


async def test_brave_and_tavily_get_their_key_and_nobody_else_does() -> None:
    async with site() as here:
        one = {"title": "T", "url": "https://example.org/", "description": "<strong>S</strong>"}
        here.page("/brave", json.dumps({"web": {"results": [one, {"url": 7}, "x"]}}), JSON)
        here.page("/tavily", json.dumps({"results": [{**one, "content": "S"}]}), JSON)
        for engine in ("brave", "tavily"):
            hits = await web(here, engine).search("q", 3)
            assert [(h.title, h.url, h.snippet) for h in hits] == [
                ("T", "https://example.org/", "S")
            ]
            with pytest.raises(NothingRead, match="no API key"):
                await web(here, engine, no_key).search("q")
        brave, tavily = here.asked
        assert brave.headers["x-subscription-token"] == "key-of-brave"
        assert tavily.headers["authorization"] == "Bearer key-of-tavily"
        assert json.loads(tavily.body) == {"query": "q", "max_results": 3}
        here.redirect("/brave", f"{here.url}/thief")
        with pytest.raises(ToolFailed, match="302"):
            await web(here, "brave").search("q")
        assert all(asked.target != "/thief" for asked in here.asked)


@pytest.mark.parametrize(
    ("status", "words"), [(401, "not accept"), (429, "no more searches"), (500, "answered 500")]
)
async def test_what_an_engine_refuses_is_said(status: int, words: str) -> None:
    async with site() as here:
        here.page("/tavily", "{}", JSON, status)
        with pytest.raises(ToolFailed, match=words) as failed:
            await web(here, "tavily").search("q")
        assert "key-of" not in str(failed.value)


@pytest.mark.parametrize("body", ["", "<html>", "[" * 100_000, "[]", '{"web": 1}', "null"])
async def test_broken_answers_are_no_fault_of_the_program(body: str) -> None:
    async with site() as here:
        here.page("/brave", body, JSON)
        try:
            assert await web(here, "brave").search("q") == []
        except ToolFailed as error:
            assert "cannot be read" in str(error)


async def test_searxng_is_the_persons_own_wherever_it_is() -> None:
    async with site() as here:
        found = {"results": [{"title": "T", "url": "https://example.org/", "content": "S"}]}
        here.page("/search", json.dumps(found), JSON)
        own = web(here, "searxng", private=False, searxng=f"{here.url}/")
        assert (await own.search("a b"))[0].url == "https://example.org/"
        assert here.asked[0].target == "/search?q=a+b&format=json"
        here.page("/search", "no", status=403)
        with pytest.raises(ToolFailed, match="formats"):
            await own.search("x")
        with pytest.raises(NothingRead, match="missing"):
            await web(here, "searxng").search("x")


async def test_no_engine() -> None:
    async with site() as here:
        for engine, words in (("off", "turned off"), ("provider", "no search of its own")):
            with pytest.raises(NothingRead, match=words):
                await web(here, engine).search("x")
        with pytest.raises(NothingRead, match="empty"):
            await web(here, "ddgs").search("  ")
        assert not here.asked


async def test_each_result_is_a_source(tmp_path) -> None:
    """T-4"""
    async with site() as here:
        here.page("/ddg", RESULTS)
        context = Context(Workspace(tmp_path), web=web(here, "ddgs"))
        result = await web_search.call(context, {"query": "x", "count": 1})
        assert result.sources == ("https://example.org/a?b=c",) and result.summary == "1 result"
        assert result.text == "1. One & only\n   https://example.org/a?b=c\n   Some words of it."
        assert web_search.spec.untrusted and web_search.spec.sends
