"""Signing in to servers at an address (M-22), with a real authorization server."""

from __future__ import annotations

import asyncio
import json
import logging
import sys
import time
from dataclasses import replace
from pathlib import Path
from typing import Any
from urllib.parse import parse_qsl, urlsplit

import pytest

import studio
from studio.cli.doctor import Finding
from studio.cli.doctor.network_checks import NetworkChecks
from studio.domain.errors import ConfigurationError, ToolFailed
from studio.mcp.entries import EntriesFile, ServerEntry, described, parse_entry
from studio.mcp.faults import ServerFailed
from studio.mcp.servers import Servers
from studio.mcp.sign_ins import SignIn, SignIns, place_of
from studio.storage.config.keychain import Keychain
from studio.storage.config.settings import Settings
from studio.storage.paths import Paths
from support.authorization_server import CANARY, Browser, Guarded, guarded
from support.mcp_servers import approved, running_servers
from support.vault import Vault
from support.waiting import HANG, until


def entry(web: Guarded, **oauth: str) -> ServerEntry:
    return approved(ServerEntry("web", url=web.url, transport="http", oauth=oauth))


async def signed_in(servers: Servers) -> Browser:
    browser = Browser()
    await servers.sign_in("web", browser)
    return browser


async def change(vault: Vault, folder: Path, web: Guarded, **values: Any) -> None:
    """Change what is kept of the sign-in, as if that had happened."""
    keychain = Keychain(backend=vault)
    sign_ins = SignIns(keychain, folder / "sign-ins")
    place = place_of("web", web.url)
    known = await sign_ins.read(place)
    assert known is not None
    await sign_ins.keep(place, replace(known, **values))
    keychain.close()


def no_secret_in(folder: Path, text: str) -> None:
    """No token, code or secret is in a file or in what was said."""
    assert CANARY not in text
    for path in folder.rglob("*"):
        assert not path.is_file() or CANARY.encode() not in path.read_bytes(), path


async def test_a_person_signs_in_once(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    """M-22: PKCE, state, iss and resource; a restart with a good sign-in opens no browser."""
    caplog.set_level(logging.DEBUG)
    vault = Vault()
    async with guarded() as web:
        async with running_servers(tmp_path, entry(web), vault=vault) as servers:
            with pytest.raises(ServerFailed, match="wants you to sign in: Settings") as told:
                await servers.call("web", "look", {})
            assert told.value.kind == "sign_in" and servers.state("web").kind == "sign_in"
            assert not web.asked("authorize")  # a call never opens a browser

            browser = await signed_in(servers)
            assert (await servers.call("web", "look", {})).text == "as look"
            assert servers.state("web").kind == "running"
            form = dict(parse_qsl(urlsplit(browser.opened[0]).query))
            assert form["resource"] == web.url and form["scope"] == "look"
            assert form["redirect_uri"].startswith("http://127.0.0.1:")
            assert form["code_challenge_method"] == "S256" and len(form["state"]) > 30
            assert "You can close this page" in browser.pages[0]
            (registered,) = [one.json for one in web.heard if one.path == "/as/register"]
            assert registered["redirect_uris"] == [form["redirect_uri"]]
            assert registered["token_endpoint_auth_method"] == "none"
            known = await servers.signed_in(servers.entries["web"])
            assert known is not None and known.issuer == web.issuer and CANARY not in repr(known)
            assert known.lives == 3600 and known.expires > time.time() + 1800
        for _ in range(2):
            async with running_servers(tmp_path, entry(web), vault=vault) as servers:
                assert (await servers.call("web", "look", {})).text == "as look"
        assert len(web.asked("authorize")) == 1 and web.refreshes() == 0
        no_secret_in(tmp_path, caplog.text)
        # An entry cannot have the tokens of a server, its own neither.
        place = place_of("web", web.url)
        headers = {"X-Key": f"${{keychain:{place}}}"}
        thief = approved(ServerEntry("web", url=web.url, headers=headers, transport="http"))
        async with running_servers(tmp_path, thief, secrets={place: "x"}) as servers:
            with pytest.raises(ServerFailed, match="may not have the secret"):
                await servers.call("web", "look", {})


@pytest.mark.parametrize("rotates", [True, False])
async def test_tokens_are_refreshed_before_they_end_and_when_refused(
    tmp_path: Path, rotates: bool
) -> None:
    """M-22: an answer without a new refresh token keeps the old one."""
    vault = Vault()
    async with guarded(rotates=rotates) as web:
        async with running_servers(tmp_path, entry(web), vault=vault) as servers:
            await signed_in(servers)
            await servers.call("web", "look", {})
            web.expire()
            calls = [servers.call("web", "look", {}) for _ in range(5)]
            found = await asyncio.gather(*calls)
            assert {one.text for one in found} == {"as look"}
            assert web.refreshes() == 1
        # Its end is known over a restart: no request is made with a token that ends.
        await change(vault, tmp_path, web, expires=1.0)
        refused = sum(
            one.path == "/mcp" and "authorization" not in one.headers for one in web.heard
        )
        web.expire()
        async with running_servers(tmp_path, entry(web), vault=vault) as servers:
            assert (await servers.call("web", "look", {})).text == "as look"
        assert web.refreshes() == 2 and len(web.asked("authorize")) == 1
        sent = [one for one in web.heard if one.path == "/mcp"]
        assert all("authorization" in one.headers for one in sent[refused:])


async def test_two_studios_refresh_once(tmp_path: Path) -> None:
    """M-22: each refresh token is used once, and one sign-in is enough for both."""
    vault = Vault()
    async with (
        guarded() as web,
        running_servers(tmp_path, entry(web), vault=vault) as first,
        running_servers(tmp_path, entry(web), vault=vault) as second,
    ):
        with pytest.raises(ServerFailed):
            await second.start("web")
        one, other = Browser(), Browser()
        await asyncio.gather(first.sign_in("web", one), second.sign_in("web", other))
        assert len(one.opened + other.opened) == 1
        for studio in (first, second):
            await studio.call("web", "look", {})
        for count in range(1, 4):
            web.expire()
            both = (studio.call("web", "look", {}) for studio in (first, second, first, second))
            assert {found.text for found in await asyncio.gather(*both)} == {"as look"}
            assert web.refreshes() == count
        assert first.state("web").kind == second.state("web").kind == "running"


async def test_a_server_that_is_stopped_loses_no_token(tmp_path: Path) -> None:
    """M-22: the old refresh token is out of use already when the connection is closed."""
    async with guarded() as web, running_servers(tmp_path, entry(web)) as servers:
        await signed_in(servers)
        await servers.call("web", "look", {})
        web.expire()
        web.hold = asyncio.Event()
        call = asyncio.ensure_future(servers.call("web", "look", {}))
        await until(web.refreshes)
        stopping = asyncio.ensure_future(servers.stop("web"))
        await asyncio.wait([call])
        web.hold.set()
        await stopping
        web.hold = None
        web.expire()
        assert (await servers.call("web", "look", {})).text == "as look"
        assert len(web.asked("authorize")) == 1


@pytest.mark.parametrize(
    "wrong", [{"outage": 503}, {"outage": 429}, {"token_error": "invalid_client"}]
)
async def test_an_outage_keeps_the_sign_in(tmp_path: Path, wrong: dict[str, Any]) -> None:
    """M-22: only ``invalid_grant`` ends a sign-in."""
    vault = Vault()
    async with guarded() as web:
        async with running_servers(tmp_path, entry(web), vault=vault) as servers:
            await signed_in(servers)
            await servers.call("web", "look", {})
            web.expire()
            for name, value in wrong.items():
                setattr(web, name, value)
            with pytest.raises(ServerFailed, match=r"cannot be renewed now.*It is kept") as told:
                await servers.call("web", "look", {})
            assert told.value.kind == "network" and servers.state("web").kind == "running"
        web.outage, web.token_error = 0, ""
        async with running_servers(tmp_path, entry(web), vault=vault) as servers:
            assert (await servers.call("web", "look", {})).text == "as look"
        assert len(web.asked("authorize")) == 1


async def test_a_token_that_still_holds_is_used_in_an_outage(tmp_path: Path) -> None:
    vault = Vault()
    async with guarded() as web:
        async with running_servers(tmp_path, entry(web), vault=vault) as servers:
            await signed_in(servers)
        await change(vault, tmp_path, web, expires=1.0)
        web.outage = 500
        async with running_servers(tmp_path, entry(web), vault=vault) as servers:
            assert (await servers.call("web", "look", {})).text == "as look"
            assert web.refreshes() == 1  # it is not tried with each request


async def test_invalid_grant_asks_for_a_sign_in(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    """M-22: a call says so in one sentence, the server has a state, and no browser opens."""
    caplog.set_level(logging.DEBUG)
    async with guarded() as web, running_servers(tmp_path, entry(web)) as servers:
        await signed_in(servers)
        await servers.call("web", "look", {})
        web.expire()
        web.refresh.clear()
        for _ in range(2):
            with pytest.raises(ServerFailed, match=r"agent-studio mcp login web”\.$") as told:
                await servers.call("web", "look", {})
            assert told.value.kind == "sign_in" and servers.state("web").kind == "sign_in"
        assert web.refreshes() == 1  # it is over: nobody asks again
        assert len(web.asked("authorize")) == 1
        await signed_in(servers)
        assert (await servers.call("web", "look", {})).text == "as look"
        assert servers.state("web").kind == "running"
        no_secret_in(tmp_path, caplog.text + str(told.value))


async def test_more_rights_are_asked_for_with_those_there_were(tmp_path: Path) -> None:
    """M-22: step-up; the other tools work on meanwhile."""
    async with (
        guarded(needs={"sell": "sell"}) as web,
        running_servers(tmp_path, entry(web)) as servers,
    ):
        await signed_in(servers)
        with pytest.raises(ServerFailed, match=r"more rights for this \(sell\)") as told:
            await servers.call("web", "sell", {})
        assert told.value.kind == "rights"
        assert (await servers.call("web", "look", {})).text == "as look"
        assert servers.state("web").kind == "sign_in"
        browser = await signed_in(servers)
        assert dict(parse_qsl(urlsplit(browser.opened[0]).query))["scope"] == "look sell"
        assert (await servers.call("web", "sell", {})).text == "as look sell"
        assert servers.state("web").kind == "running"


@pytest.mark.parametrize(
    ("wrong", "words"),
    [
        ({"iss": "https://evil.example"}, r"is not of 127\.0\.0\.1:\d+ \(wrong iss\)"),
        ({"iss": ""}, r"wrong iss"),
        ({"metadata": {"issuer": "https://evil.example/"}}, r"says that it is https://evil"),
        ({"metadata": {"code_challenge_methods_supported": None}}, r"no PKCE"),
        ({"metadata": {"token_endpoint": "http://evil.example/t"}}, r"is not at https://"),
        ({"metadata": {"revocation_endpoint": "http://evil.example/r"}}, r"is not at https://"),
        ({"token_error": "invalid_request"}, r"gives no token \(invalid_request\)"),
    ],
)
async def test_a_sign_in_that_is_not_right_is_refused(
    tmp_path: Path, wrong: dict[str, Any], words: str
) -> None:
    """M-22: a wrong ``iss``, a mixed-up server, no PKCE, nothing that others could read."""
    async with guarded(**wrong) as web, running_servers(tmp_path, entry(web)) as servers:
        with pytest.raises(ServerFailed, match=words) as told:
            await signed_in(servers)
        assert CANARY not in str(told.value)
        assert await servers.signed_in(servers.entries["web"]) is None
        if "iss" in wrong or "metadata" in wrong:
            assert not web.asked("token")


async def test_another_answer_than_the_browsers_is_waited_out(tmp_path: Path) -> None:
    """M-22: a wrong ``state`` neither signs in nor ends what is under way; it can be given up."""
    async with guarded() as web, running_servers(tmp_path, entry(web)) as servers:
        forged = Browser()

        async def browse(url: str) -> None:
            form = dict(parse_qsl(urlsplit(url).query))
            await forged(f"{web.origin}/as/authorize?{urlsplit(url).query}&state=forged")
            assert "400" in forged.pages[0].splitlines()[0], form

        work = asyncio.ensure_future(servers.sign_in("web", browse))
        await until(lambda: forged.pages)
        assert servers.state("web").kind == "signing_in" and not web.asked("token")
        servers.give_up_sign_in("web")
        with pytest.raises(ServerFailed, match="given up"):
            await work
        assert servers.state("web").kind != "signing_in"


async def test_who_we_are_there(tmp_path: Path) -> None:
    """M-22: registered before, else by a document, else now, else the person is asked."""
    document = "https://studio.example/client.json"

    async def client_of(web: Guarded, *given: ServerEntry, client: SignIn | None = None) -> str:
        browser = Browser()
        async with running_servers(tmp_path, *given, vault=vault) as servers:
            await servers.sign_in("web", browser, client)
        return dict(parse_qsl(urlsplit(browser.opened[0]).query))["client_id"]

    vault = Vault()
    async with guarded(documents=True) as web:
        assert await client_of(web, entry(web, clientId="known")) == "known"
        assert await client_of(web, entry(web, clientId=document)) == document
        assert not web.clients
        web.documents = False
        assert await client_of(web, entry(web, clientId=document)) == "client-0"
    vault = Vault()
    async with guarded(registers=False) as web:
        with pytest.raises(ServerFailed, match="Register Agent Studio there with the redi") as told:
            await client_of(web, entry(web))
        assert told.value.kind == "client"
        person = SignIn(client_id="mine", client_secret=f"{CANARY}-own", client_source="person")
        assert await client_of(web, entry(web), client=person) == "mine"
        assert web.heard[-1].headers["authorization"].startswith("Basic ")
        assert await client_of(web, entry(web)) == "mine"  # the next time it is known
        redirects = {one["redirect_uri"] for one in web.asked("authorize")}
        assert redirects == {str(told.value).partition("address ")[2].partition(",")[0]}
    no_secret_in(tmp_path, "")


async def test_signing_out(tmp_path: Path) -> None:
    """M-22: the tokens are gone here and there; a server with a key of its own has no sign-in."""
    vault = Vault()
    async with guarded() as web:
        async with running_servers(tmp_path, entry(web), vault=vault) as servers:
            await signed_in(servers)
            assert vault.kept and await servers.sign_out("web")
            assert not vault.kept and not web.refresh
            assert not await servers.sign_out("web")
            with pytest.raises(ServerFailed, match="wants you to sign in"):
                await servers.call("web", "look", {})
        keyed = replace(entry(web), headers={"authorization": "Bearer wrong"})
        async with running_servers(tmp_path, approved(keyed), vault=vault) as servers:
            with pytest.raises(ServerFailed, match="does not take the key in its headers") as told:
                await servers.start("web")
            assert told.value.kind == "key" and servers.state("web").kind == "failed"
            with pytest.raises(ConfigurationError, match="key in its headers"):
                await signed_in(servers)


async def test_no_header_goes_where_a_sign_in_is(tmp_path: Path) -> None:
    """M-22: the server's own headers and token stay with the server."""
    async with guarded() as web:
        own = replace(entry(web), headers={"x-tenant": "tenant-4711"})
        async with running_servers(tmp_path, approved(own)) as servers:
            await signed_in(servers)
            await servers.call("web", "look", {})
            web.expire()
            await servers.call("web", "look", {})
        for one in web.heard:
            if one.path != "/mcp":
                assert "x-tenant" not in one.headers and "authorization" not in one.headers


async def test_an_answer_that_redirects_gets_no_token(tmp_path: Path) -> None:
    """M-22: no header follows a redirect to another origin, and no form does."""
    async with guarded() as other, guarded() as web:
        async with running_servers(tmp_path, entry(web)) as servers:
            await signed_in(servers)
            await servers.call("web", "look", {})
            answer = web.answer

            def away(heard: Any) -> Any:
                if heard.path in ("/mcp", "/as/token"):
                    return 307, {"location": f"{other.origin}{heard.path}"}, None
                return answer(heard)

            web.answer = away  # type: ignore[method-assign]
            with pytest.raises(ToolFailed):
                await servers.call("web", "look", {})
            with pytest.raises(ServerFailed):
                await signed_in(servers)
        assert not other.heard


def test_the_entry_says_who_we_are() -> None:
    given = {"type": "http", "url": "https://x.example/mcp", "oauth": {"clientId": "a", "no": "b"}}
    found = parse_entry("x", json.loads(json.dumps(given)))
    assert found.oauth == {"clientId": "a"}
    assert described(found)["oauth"] == {"clientId": "a"}
    assert found.digest != replace(found, oauth={}).digest
    with pytest.raises(ValueError, match="callbackPort"):
        parse_entry("x", {"url": "https://x.example/mcp", "oauth": {"callbackPort": "99999"}})


async def test_another_program_holds_the_lock(tmp_path: Path) -> None:
    """M-22: a real process that refreshes keeps all others from it, however it ends."""
    script = (
        "import asyncio, sys\n"
        "from pathlib import Path\n"
        "from studio.mcp.sign_ins import SignIns\n"
        "async def hold():\n"
        "    async with SignIns(None, Path(sys.argv[1])).alone('place', 60):\n"
        "        print('held', flush=True)\n"
        "        sys.stdin.read()\n"
        "asyncio.run(hold())\n"
    )
    other = await asyncio.create_subprocess_exec(
        *(sys.executable, "-c", script, str(tmp_path)),
        stdin=asyncio.subprocess.PIPE,
        stdout=asyncio.subprocess.PIPE,
        cwd=Path(studio.__file__).parents[1],
    )
    assert other.stdout is not None
    assert await other.stdout.readline() == b"held\n"
    sign_ins = SignIns(Keychain(backend=Vault()), tmp_path)
    with pytest.raises(TimeoutError):
        async with sign_ins.alone("place", 0.1):
            raise AssertionError
    async with sign_ins.alone("another place", 60):
        pass
    other.kill()
    await other.wait()
    async with sign_ins.alone("place", HANG):
        pass


async def test_the_doctor_names_a_sign_in_that_is_over(tmp_path: Path) -> None:
    """M-22"""
    paths, vault = Paths.below(tmp_path), Vault()
    file = EntriesFile(paths.servers, paths.data / "servers.json")
    checks = NetworkChecks(paths, Settings(), None, offline=True)
    checks._keychain = Keychain(backend=vault)

    async def found() -> str:
        finding = await checks.servers(lambda: Finding("MCP servers", "ok", "1, 1 on"))
        return f"{finding.state}: {finding.text} {finding.advice}"

    async with guarded() as web:
        file.put(entry(web))
        async with running_servers(paths.data, entry(web), vault=vault) as servers:
            assert await found() == "ok: 1, 1 on "
            await signed_in(servers)
            assert await found() == "ok: 1, 1 on "
            web.expire()
            web.refresh.clear()
            with pytest.raises(ServerFailed):
                await servers.call("web", "look", {})
            assert await found() == (
                "warning: 1, 1 on; web: its sign-in is over Sign in: agent-studio mcp login web"
            )
    checks._keychain.close()
    await checks.close()
