"""Pages as markdown: readable, bounded, without what nobody sees (T-8)."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from studio.tools.web.html_to_markdown import html_to_markdown
from support.cpu_cost import is_at_most

HERE = "https://example.org/x/y"


def text(html: str) -> str:
    return html_to_markdown(html, HERE).text


def test_a_page_reads_well() -> None:
    page = """<title>The &amp; title</title><nav><a href="/">Home</a></nav><main>
    <h1>Head <small>small</small></h1><p>One <b>bold <i>it</i></b>, <a href="a b.html">a link</a>.
    <p>Two<br>lines<ul><li>first<li>second<ul><li>inner <code>x=1</code></ul></ul>
    <ol start=3><li>three<li>four</ol><blockquote>said</blockquote>
    <pre><code class="language-py">def f():
    return 1
</code></pre><table><tr><th>A<th>B<tr><td>1<td>2 | 3</table><a href="/card"><h3>Card</h3><p>words</p></a>
    <img alt="A boat" src="x.png"></main><footer>All rights</footer>"""
    found = html_to_markdown(page + "<!-- " + "x" * 300 + " -->", HERE)
    assert found.title == "The & title"
    assert found.text == (
        "# Head small\n\nOne **bold *it***, [a link](https://example.org/x/a%20b.html).\n\n"
        "Two\nlines\n\n- first\n- second\n  - inner `x=1`\n\n3. three\n4. four\n\n> said\n\n"
        "```py\ndef f():\n    return 1\n```\n\n| A | B |\n| --- | --- |\n| 1 | 2 \\| 3 |\n\n"
        "[Card words](https://example.org/card) [image: A boat]"
    )


@pytest.mark.parametrize(
    "hidden",
    [
        "<p hidden>secret</p>", '<div style="display: none">secret</div>', "<!-- secret -->",
        '<p aria-hidden="true">secret</p>', "<script>secret</script>", "<style>secret</style>",
        '<p style="font-size:0px">secret</p>', '<p style="color:red;visibility:hidden">secret</p>',
        "<template>secret</template>", "<noscript>secret</noscript>", "<svg><text>secret</text></svg>",
        '<div hidden><div>a</div>secret</div>', '<a href="data:secret">ok</a>', '<p style="opacity:0">secret',
    ],
)  # fmt: skip
def test_what_a_person_would_not_see_is_left_out(hidden: str) -> None:
    assert "secret" not in text(f"<p>before</p>{hidden}")
    assert "before" in text(f"<p>before</p>{hidden}")


def test_menus_are_left_out_where_there_is_more() -> None:
    words = "<p>" + "matter " * 60 + "</p>"
    assert "menu" not in text(f"<nav>menu</nav><main>{words}</main><footer>menu</footer>")
    assert "menu" not in text(f"<nav>menu</nav>{words}<aside>menu</aside>")
    assert text("<nav>menu</nav>") == "menu"


def test_layout_tables_keep_their_lines() -> None:
    page = (
        "<table><tr><td><table><tr><td>a</td><td>b</td></tr></table></td></tr><tr><td>foot</table>"
    )
    assert text(page).split() == ["a", "b", "foot"]


WEIGHT = 40_000
PLAIN = "<p>word</p>" * (WEIGHT // 11)


@pytest.mark.parametrize(
    "bomb",
    [
        "<div>", "<b id=1>x", "<ul><li>", "<blockquote>x", "<", "<a |x='", "<!--", "&", "<?",
        "<table><tr><td>x", "<a href=x>", "</", "</p>", "<!", "<![CDATA[", "<title>", "<textarea>",
        "<base href='" + "x" * 8_000 + "'>|<a href=y>z</a>",
    ],
)  # fmt: skip
def test_bombs_cost_what_they_weigh(bomb: str) -> None:
    """A few times as much as a plain page of their size, never its square."""
    *start, again = bomb.split("|")
    page = "".join(start) + again * (WEIGHT // len(again))
    assert len(html_to_markdown(page, HERE).text) < 40 * len(page)
    assert is_at_most(
        20, lambda: html_to_markdown(page, HERE), lambda: html_to_markdown(PLAIN, HERE)
    )


@given(st.text(alphabet="<>/abpliutdr \n\"'=&;!-", max_size=300))
def test_no_page_is_a_fault(page: str) -> None:
    html_to_markdown(page, HERE)


def test_it_stops_when_told() -> None:
    found = html_to_markdown("<p>word</p>" * 100_000, HERE, lambda: True)
    assert not found.whole
