"""Which model a name stands for, at every door: the one that was asked for, or none."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from studio.agent.models import names as model_names_module
from studio.agent.models.names import ModelNames, UnknownModel
from studio.agent.models.provider_factory import ProviderFactory
from studio.domain.models import ModelInfo
from studio.providers.catalogue import Catalogue, Listing
from studio.providers.http import Http
from studio.providers.registry import EMBEDDED, KEYED, PROVIDERS
from studio.server.contract import BadRequest
from studio.server.model_names import resolve_model
from studio.simulator import Text, Turn
from studio.storage.config.keychain import Keychain
from studio.storage.config.settings import SettingsFile
from support.engine_home import KEY, engine_home, reply_requests

BUILT_IN = {
    "anthropic": ["claude-sonnet-5", "claude-haiku-4-5"],
    "openai": ["gpt-5.5", "gpt-5-mini"],
    "gemini": ["gemini-2.5-pro"],
    "builtin": ["smollm2"],
    "simulator": ["demo-fast"],
}
"""What is known without asking."""
LISTED = {
    "openai-compatible": ["org/model", "openai/gpt-5.5", "gpt-5.5", "local"],
    "ollama": ["llama3:latest", "local"],
    "builtin": ["smollm2", "fetched-model"],
    "simulator": ["demo-fast"],
}
"""What providers tell when they are asked; the others cannot be reached."""
IDS = sorted({id_ for ids in (*BUILT_IN.values(), *LISTED.values()) for id_ in ids})
STRANGE = ["claude-sonnet-4", "gtp-5.5", "llama3", "", "/", "openai/", "nobody/gpt-5.5", "x" * 400]
DATES = ["", "-20260101", "-2026-01-01", "-latest"]
ALWAYS = {"builtin", "simulator"}


class _Lister:
    def __init__(self, ids: Sequence[str]) -> None:
        self._ids = ids

    async def prepare(self) -> None: ...

    async def models(self) -> list[ModelInfo]:
        return [ModelInfo(id_) for id_ in self._ids]


def model_names(connected: set[str], default: str = "", lists: Mapping[str, list[str]] = LISTED):
    """The names with these providers connected; the catalogue is real, its answers are given."""
    settings = SettingsFile(Path("/dev/null/settings.json"))
    settings.values.default_provider = default
    keychain = Keychain()
    for name in connected & set(KEYED):
        keychain.keep_for_session(name, KEY)
    settings.values.ollama_connected = "ollama" in connected
    if "openai-compatible" in connected:
        settings.values.base_urls["openai-compatible"] = "http://127.0.0.1:9/v1"
    snapshot = {name: [ModelInfo(id_) for id_ in ids] for name, ids in BUILT_IN.items()}
    catalogue = Catalogue(Path("/dev/null/models.json"), snapshot)

    async def ask(name: str, *, refresh: bool) -> Listing:
        if name in lists:
            settled = asyncio.Event()

            def on_change(_: str) -> None:
                if catalogue.listing(name).state != "loading":
                    settled.set()

            drop = catalogue.subscribe(on_change)
            catalogue.refresh(name, lambda: _Lister(lists[name]), "", refresh)
            await settled.wait()
            drop()
        return catalogue.listing(name)

    return ModelNames(settings, catalogue, ProviderFactory(settings, keychain, Http(), {}), ask)


def lists(provider: str, model: str) -> bool:
    return model in BUILT_IN.get(provider, ()) or model in LISTED.get(provider, ())


NAMES = st.one_of(
    st.sampled_from([*IDS, *STRANGE]),
    st.builds(lambda one, date: one + date, st.sampled_from(IDS), st.sampled_from(DATES)),
    st.builds("{}/{}".format, st.sampled_from(sorted(PROVIDERS)), st.sampled_from(IDS)),
    st.text(max_size=20),
)


@given(
    connected=st.sets(st.sampled_from(sorted(set(PROVIDERS) - ALWAYS))),
    name=NAMES,
    provider=st.sampled_from(["", *PROVIDERS]),
    default=st.sampled_from(["", *PROVIDERS]),
)
def test_the_answering_model_is_the_one_asked_for_or_an_error(
    connected: set[str], name: str, provider: str, default: str
) -> None:
    """P-3: for any providers and any name."""
    connected |= ALWAYS
    asked, head, rest = name.strip(), *name.strip().partition("/")[::2]
    named = provider or (head if head in PROVIDERS and rest else "")
    try:
        found = asyncio.run(model_names(connected, default).find(name, provider))
    except UnknownModel:
        if not provider and head not in PROVIDERS:
            assert not any(lists(one, asked) for one in connected)
        elif named == head and rest:
            assert named in EMBEDDED and not lists(named, rest)
        return
    same = {asked, *([rest] if head == found.provider else [])}
    assert found.model in same or (found.provider, found.model) == ("ollama", f"{asked}:latest")
    if provider:
        assert found.provider == provider
    elif named and (named in connected or not any(lists(one, asked) for one in connected)):
        assert (found.provider, found.model) == (head, rest)
    else:
        assert found.provider in connected
        tops = [default, *PROVIDERS]
        exact = [one for one in tops if one in connected and lists(one, asked)]
        assert not exact or found.provider in exact
        assert not exact or default not in exact or found.provider == default
    if found.provider in EMBEDDED:
        assert lists(found.provider, found.model) or not provider


@pytest.mark.parametrize(
    ("name", "provider", "words"),
    [
        ("gtp-5.5", "", "nearest name.* openai/gpt-5.5"),
        ("claude-sonnet-5", "", "no API key for Anthropic.* needed for claude-sonnet-5"),
        ("claude-sonnet-5-20260101", "", "no API key for Anthropic"),
        ("claude-sonnet-5", "builtin", "Built-in model has no model claude-sonnet-5"),
        ("smolm", "builtin", "nearest names? .*builtin/smollm2"),
        ("simulator/demo-fats", "", "nearest name is simulator/demo-fast"),
        ("anthropic/claude-sonnet-5", "openai", "Name one provider"),
        ("x", "nobody", "no provider nobody"),
        ("claude-sonet-5", "", r"nearest name.* anthropic/claude-sonnet-5.* \(not connected\)"),
        ("zzz\n", "", "no model zzz here.* with its provider: openai/MODEL"),
        ("a\nb", "", "no name of a model"),
    ],
)
async def test_what_nothing_has_is_an_error_with_the_nearest_names(
    name: str, provider: str, words: str
) -> None:
    with pytest.raises(UnknownModel, match=words):
        await model_names({"openai", *ALWAYS}).find(name, provider)


async def test_a_name_that_nothing_has_asks_each_provider_once(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    names = model_names({"openai", "ollama", *ALWAYS}, lists={})
    asked: list[str] = []
    plain = names._ask  # pyright: ignore[reportPrivateUsage]

    async def count(name: str, *, refresh: bool) -> Listing:
        asked.append(name)
        return await plain(name, refresh=refresh)

    monkeypatch.setattr(names, "_ask", count)
    for _ in range(3):
        with pytest.raises(UnknownModel):
            await names.find("nothing")
    assert sorted(asked) == ["builtin", "ollama", "openai", "simulator"]


async def test_who_comes_while_a_list_is_fetched_waits_for_it(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Also if the one who asked first has gone."""
    names = model_names({"ollama", *ALWAYS})
    plain = names._ask  # pyright: ignore[reportPrivateUsage]
    asked, answers = asyncio.Event(), asyncio.Event()

    async def slowly(name: str, *, refresh: bool) -> Listing:
        if name == "ollama":
            asked.set()
            await answers.wait()
        return await plain(name, refresh=refresh)

    monkeypatch.setattr(names, "_ask", slowly)
    first, second = (asyncio.ensure_future(names.find("llama3")) for _ in range(2))
    await asked.wait()
    first.cancel()
    await asyncio.wait([first])
    for _ in range(100):  # for whoever would not wait
        await asyncio.sleep(0)
    answers.set()
    assert (await second).model == "llama3:latest"


async def test_no_list_is_asked_for_after_the_end(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with engine_home(tmp_path, "ollama", []) as home:
        asked = asyncio.Event()

        async def never(name: str, *, refresh: bool) -> Listing:
            asked.set()
            await asyncio.Event().wait()
            raise AssertionError

        monkeypatch.setattr(home.engine.model_names, "_ask", never)
        finding = asyncio.ensure_future(home.engine.model_names.find("nothing"))
        await asked.wait()
        finding.cancel()
        await asyncio.wait([finding])
        asking = set(home.engine.model_names._asking.values())  # pyright: ignore[reportPrivateUsage]
        assert asking
    assert all(task.done() for task in asking)


async def test_a_model_that_is_newer_than_its_list_is_found(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """P-3: as after ``ollama pull``; a wrong name asks for new lists only now and then."""
    lists = {"ollama": ["local"], "builtin": [], "simulator": []}
    names = model_names({"ollama", *ALWAYS}, lists=lists)
    assert (await names.find("local")).provider == "ollama"
    lists["ollama"] = ["local", "pulled"]
    with pytest.raises(UnknownModel):
        await names.find("pulled")
    monkeypatch.setattr(model_names_module, "PAUSE", 0.0)
    assert (await names.find("pulled")).provider == "ollama"


async def test_the_same_name_is_the_same_model_at_every_door(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """With two keys set, what is asked of one never goes to the other."""
    async with engine_home(tmp_path, "anthropic", lambda _: Turn(Text("Hello."))) as home:
        engine = home.engine
        engine.settings.values.base_urls["openai"] = home.simulator.url("responses")
        engine.keychain.keep_for_session("openai", KEY)
        for name, provider, model in (
            ("gpt-5.5", "openai", "gpt-5.5"),
            ("openai/gpt-5.5", "openai", "gpt-5.5"),
            ("gpt-5.5-2026-01-01", "openai", "gpt-5.5-2026-01-01"),
            ("claude-sonnet-5", "anthropic", "claude-sonnet-5"),
            ("claude-sonnet-5-20260101", "anthropic", "claude-sonnet-5-20260101"),
        ):
            assert (
                await home.command("run", "--model", name, "--folder", str(home.folder), "Go") == 0
            )
            (asked,) = reply_requests(home.simulator)[-1:]
            assert asked.json["model"] == model
            assert ("/responses" in asked.path) == (provider == "openai"), asked.path
            target = await resolve_model(engine, name, home.folder)
            assert (target.provider, target.model) == (provider, model)
            agent = engine.paths.agents / "mine.md"
            agent.parent.mkdir(parents=True, exist_ok=True)
            agent.write_text(f"---\nname: Mine\nmodel: {name}\n---\nHelp.\n")
            choice = await engine.choose(agent="Mine", folder=home.folder)
            assert (choice.provider, choice.model, choice.model_named) == (provider, model, True)
            engine.settings.values.default_model[provider] = name
            assert await engine.default_model(provider) == model
            engine.settings.values.default_model.clear()
        known = len(home.asked)
        shown = capsys.readouterr().err
        assert "answers" not in shown
        for words in (("--model", "gtp-5.5"), ("--provider", "builtin", "--model", "gpt-5.5")):
            assert await home.command("run", *words, "Go") == 1
            assert "nearest" in capsys.readouterr().err
        with pytest.raises(BadRequest, match=r"nearest names? .*openai/gpt-5\.5"):
            await resolve_model(engine, "gtp-5.5", home.folder)
        assert len(home.asked) == known
        assert len(await engine.sessions.list()) == 5  # nothing was begun for an error
        assert await home.command("run", "--model", "openai/missing-gpt-5.5", "Go") == 2
        assert "The nearest name is openai/gpt-5.5." in capsys.readouterr().err

        assert await home.command("run", "--folder", str(home.folder), "Go") == 0
        assert " of Anthropic answers. --model names another." in capsys.readouterr().err
        assert await home.command("run", "--quiet", "--folder", str(home.folder), "Go") == 0
        assert not capsys.readouterr().err


async def test_w1_fallback_models_begin_chats_where_the_first_cannot_be_reached(
    tmp_path: Path,
) -> None:
    """In their order; where none can be reached the person's own choice answers. PRE-8."""
    async with engine_home(tmp_path, "anthropic", []) as home:
        engine = home.engine
        mine = engine.paths.agents / "mine.md"
        mine.parent.mkdir(parents=True, exist_ok=True)

        async def chosen(head: str) -> tuple[str, str, bool]:
            mine.write_text(f"---\nname: Mine\n{head}\n---\nHelp.\n")
            choice = await engine.choose(agent="Mine", folder=home.folder)
            return choice.provider, choice.model, choice.model_named

        first = "model: openai/gpt-5.5\nfallback: "
        assert await chosen(first + "[gemini-9, claude-sonnet-5]") == (
            *("anthropic", "claude-sonnet-5"),
            True,
        )
        assert (await chosen('fallback: ["claude-opus-*"]'))[1].startswith("claude-opus-")
        usual = await chosen("fallback: [gpt-5.5, gemini-9]")
        assert usual == await chosen("") and not usual[2]
        assert await chosen("model: claude-sonnet-5\nfallback: [claude-opus-5-5]") == (
            *("anthropic", "claude-sonnet-5"),
            True,
        )


async def test_who_named_nothing_is_told_that_the_small_model_is_often_wrong(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    async with engine_home(tmp_path, "ollama", []) as home:
        home.engine.settings.values.base_urls.clear()
        assert await home.command("run", "--folder", str(home.folder), "Hello") == 0
        shown = capsys.readouterr().err
        assert "smollm2 of Built-in model answers. It is small and often wrong" in shown
