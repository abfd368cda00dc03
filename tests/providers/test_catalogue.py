"""Model lists: cache, debounce, stale answers, failures (P-3, P-5)."""

from __future__ import annotations

import asyncio
import json
import re
import runpy
from collections.abc import AsyncIterator, Callable
from datetime import UTC, datetime
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from studio.domain.errors import ConfigurationError, ProviderError
from studio.domain.models import EFFORTS, ModelInfo
from studio.providers.catalogue import Catalogue, Listing, key_digest
from studio.providers.http import Http
from studio.providers.model_facts import load_snapshot
from studio.providers.openai.adapter import OpenAIProvider
from studio.providers.openai_chat.adapter import CompatibleProvider
from studio.simulator import Simulator
from support.waiting import HANG, within

SNAPSHOT = {
    "cloud": (
        ModelInfo("big", "Big", context_window=1000, input_price=2.0),
        ModelInfo("small", "Small", context_window=100),
    )
}


class Clock:
    def __init__(self) -> None:
        self.now = 1_000_000.0

    def __call__(self) -> float:
        return self.now


class Source:
    """Stands for a provider of one key: answers when told to."""

    def __init__(self, *ids: str, error: Exception | None = None) -> None:
        self.infos = [ModelInfo(id) for id in ids]
        self.error = error
        self.asked = 0
        self.begun = asyncio.Event()
        self.go, self.preparing, self.prepared = asyncio.Event(), asyncio.Event(), asyncio.Event()
        self.go.set()
        self.prepared.set()

    async def prepare(self) -> None:
        self.preparing.set()
        await self.prepared.wait()

    async def models(self) -> list[ModelInfo]:
        self.asked += 1
        self.begun.set()
        await self.go.wait()
        if self.error is not None:
            raise self.error
        return self.infos

    def make(self) -> Source:
        return self


async def until(
    catalogue: Catalogue, holds: Callable[[Listing], object], name: str = "cloud"
) -> Listing:
    """Wait until the listing is such."""
    changed = asyncio.Event()
    unsubscribe = catalogue.subscribe(lambda _: changed.set())
    try:
        async with within():
            while not holds(catalogue.listing(name)):
                changed.clear()
                await changed.wait()
    finally:
        unsubscribe()
    return catalogue.listing(name)


async def settled(catalogue: Catalogue, name: str = "cloud") -> Listing:
    return await until(catalogue, lambda listing: listing.state in ("ready", "failed"), name)


def ids(listing: Listing) -> list[str]:
    return [model.id for model in listing.models]


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
async def catalogue(tmp_path: Path, clock: Clock) -> AsyncIterator[Catalogue]:
    catalogue = Catalogue(tmp_path / "cache" / "models.json", SNAPSHOT, clock, debounce=0.01)
    yield catalogue
    await catalogue.close()


def test_before_anything_is_known_the_built_in_list_shows(tmp_path: Path) -> None:
    catalogue = Catalogue(tmp_path / "models.json", SNAPSHOT)
    listing = catalogue.listing("cloud")
    assert (ids(listing), listing.state) == (["big", "small"], "idle")
    assert {model.source for model in listing.models} == {"built-in"}
    assert catalogue.listing("nobody") == Listing()


async def test_p3_fetched_first_then_built_in_ones_not_listed(
    catalogue: Catalogue, clock: Clock
) -> None:
    source = Source("new", "small", "new")
    catalogue.refresh("cloud", source.make, "key")
    listing = catalogue.listing("cloud")
    assert (listing.state, listing.started_at) == ("loading", clock.now)
    assert ids(listing) == ["big", "small"]
    listing = await settled(catalogue)
    assert ids(listing) == ["new", "small", "big"]
    assert [model.source for model in listing.models] == ["fetched", "fetched", "built-in"]
    assert (listing.state, listing.reason, listing.fetched_at) == ("ready", "", clock.now)


async def test_p5_facts_the_provider_does_not_give_come_from_the_snapshot(
    catalogue: Catalogue,
) -> None:
    source = Source("small", "big-2026-08-07", "bigger", "big-2")
    source.infos[0] = ModelInfo("small", context_window=7)
    catalogue.refresh("cloud", source.make, "key")
    small, dated, bigger, other, *_ = (await settled(catalogue)).models
    assert (small.name, small.context_window) == ("Small", 7)
    assert (dated.name, dated.context_window, dated.input_price) == ("", 1000, 2.0)
    assert bigger.context_window is None
    assert other.context_window is None


async def test_p5_the_person_s_entry_comes_before_every_list(tmp_path: Path, clock: Clock) -> None:
    own = {
        "cloud": {
            "big": ModelInfo("big", context_window=9, efforts=("low",), images=False),
            "small": ModelInfo("small", "Mine", input_price=0.0, reasoning=False),
            "big-2026-08-07": ModelInfo("big-2026-08-07", tools=True),
            "elsewhere": ModelInfo("elsewhere", output_limit=5),
        }
    }
    catalogue = Catalogue(
        tmp_path / "models.json", SNAPSHOT, clock, own=lambda name: own.get(name, {})
    )
    source = Source("big")
    source.infos[0] = ModelInfo("big", context_window=7, output_limit=3, images=True)
    catalogue.refresh("cloud", source.make, "key")
    big, small, dated, elsewhere = (await settled(catalogue)).models
    assert (big.context_window, big.output_limit, big.input_price) == (9, 3, 2.0)
    assert (big.efforts, big.images, big.name, big.source) == (("low",), False, "Big", "fetched")
    assert (small.name, small.input_price, small.source) == ("Mine", 0.0, "built-in")
    assert small.efforts == ()  # a model that does not think has no effort to choose
    assert (dated.context_window, dated.tools, dated.source) == (1000, True, "yours")
    assert elsewhere == ModelInfo("elsewhere", output_limit=5, source="yours")
    for model in (big, small, dated, elsewhere):
        assert catalogue.model("cloud", model.id) == model
    assert catalogue.chosen("cloud", "elsewhere") == (big, small, dated, elsewhere)
    own.clear()  # the settings changed: nothing of it was kept
    assert ids(catalogue.listing("cloud")) == ["big", "small"]
    assert catalogue.model("cloud", "big").context_window == 7
    await catalogue.close()
    assert "elsewhere" not in (tmp_path / "models.json").read_text(encoding="utf-8")


async def test_p5_retired_models_are_not_offered_and_unknown_ones_work(
    tmp_path: Path, clock: Clock
) -> None:
    day = 24 * 3600
    clock.now = 1_795_305_600.0  # 2026-11-22
    built_in = [
        ModelInfo("gone", retires="2026-11-21"),
        ModelInfo("going", lifecycle="deprecated", retires="2026-11-24", context_window=5),
        ModelInfo("kept", retires="2026-01-01"),
    ]
    own = {"kept": ModelInfo("kept", tools=True)}
    catalogue = Catalogue(
        tmp_path / "models.json", {"cloud": built_in}, clock, own=lambda name: own
    )
    assert ids(catalogue.listing("cloud")) == ["going", "kept"]
    clock.now += day
    assert ids(catalogue.listing("cloud")) == ["going", "kept"]
    clock.now += day
    assert ids(catalogue.listing("cloud")) == ["kept"]
    assert catalogue.chosen("cloud", "going")[0].context_window == 5
    source = Source("old", "new")
    source.infos[0] = ModelInfo("old", lifecycle="retired")
    catalogue.refresh("cloud", source.make, "key")
    assert ids(await settled(catalogue)) == ["new", "kept"]
    assert catalogue.model("cloud", "never-heard-of") == ModelInfo("never-heard-of", source="yours")
    assert catalogue.model("nobody", "x").title == "x"
    await catalogue.close()


async def test_p3_five_minutes(catalogue: Catalogue, clock: Clock) -> None:
    source = Source("a")
    catalogue.refresh("cloud", source.make, "key")
    await settled(catalogue)
    clock.now += 299
    catalogue.refresh("cloud", source.make, "key")
    await settled(catalogue)
    assert source.asked == 1
    catalogue.refresh("cloud", source.make, "other key")
    await settled(catalogue)
    assert source.asked == 2
    clock.now += 2
    catalogue.refresh("cloud", source.make, "key")
    await settled(catalogue)
    assert source.asked == 3
    catalogue.refresh("cloud", source.make, "key", force=True)
    await settled(catalogue)
    assert source.asked == 4


async def test_a_running_request_is_not_doubled(catalogue: Catalogue) -> None:
    source = Source("a")
    source.go.clear()
    for _ in range(3):
        catalogue.refresh("cloud", source.make, "key")
        await asyncio.sleep(0)
    source.go.set()
    await settled(catalogue)
    assert source.asked == 1


async def test_p3_debounce_while_a_key_is_typed(tmp_path: Path) -> None:
    catalogue = Catalogue(tmp_path / "models.json", SNAPSHOT, debounce=0.2)
    sources = [Source(f"m{n}") for n in range(5)]
    for n, source in enumerate(sources):
        catalogue.key_typed("cloud", source.make, "k" * n)
        await asyncio.sleep(0)
    assert catalogue.listing("cloud").state == "loading"
    assert ids(await settled(catalogue))[0] == "m4"
    assert [source.asked for source in sources] == [0, 0, 0, 0, 1]
    await catalogue.close()


async def test_p3_a_stale_answer_is_dropped(catalogue: Catalogue) -> None:
    old, new = Source("old"), Source("new")
    old.go.clear()
    catalogue.refresh("cloud", old.make, "old key")
    await _asked(old)
    catalogue.key_typed("cloud", new.make, "new key")
    await settled(catalogue)
    old.go.set()
    await asyncio.sleep(0)
    assert ids(catalogue.listing("cloud"))[0] == "new"


async def _asked(source: Source) -> None:
    await asyncio.wait_for(source.begun.wait(), HANG)


@settings(max_examples=40, deadline=None)
@given(
    st.lists(
        st.tuples(
            st.sampled_from(["type", "refresh", "force", "cancel", "answer", "fail", "wait"]),
            st.integers(0, 3),
        ),
        max_size=14,
    )
)
def test_p3_whatever_happens_the_list_is_of_the_last_key(steps: list[tuple[str, int]]) -> None:
    async def play(folder: Path) -> None:
        catalogue = Catalogue(folder / "models.json", {}, debounce=0.0)
        sources = [Source(f"model of key {n}") for n in range(4)]
        for source in sources:
            source.go.clear()
        last: int | None = None
        cancelled = False
        for step, n in steps:
            source = sources[n]
            if step in ("type", "refresh", "force"):
                last, cancelled = n, False
            match step:
                case "type":
                    catalogue.key_typed("cloud", source.make, f"key {n}")
                case "refresh" | "force":
                    catalogue.refresh("cloud", source.make, f"key {n}", force=step == "force")
                case "cancel":
                    catalogue.cancel("cloud")
                    cancelled = True
                case "answer":
                    source.go.set()
                case "fail":
                    source.error = ProviderError("bad_key", f"key {n} is wrong")
                case _:
                    for _ in range(20):
                        await asyncio.sleep(0)
            shown = catalogue.listing("cloud")
            assert all(model.id == f"model of key {last}" for model in shown.models)
        for source in sources:
            source.go.set()
        if last is not None and not cancelled:
            listing = await settled(catalogue)
            if listing.state == "ready":
                assert ids(listing) == [f"model of key {last}"]
            else:
                assert listing.reason == f"key {last} is wrong"
        await catalogue.close()

    with TemporaryDirectory() as folder:
        asyncio.run(play(Path(folder)))


async def test_p3_what_a_provider_needs_is_no_wait_for_its_answer(
    tmp_path: Path, clock: Clock
) -> None:
    """An SDK takes longer to import on a busy computer than an answer may take."""
    catalogue = Catalogue(tmp_path / "models.json", SNAPSHOT, clock, patience=0.05)
    source = Source("a")
    source.prepared.clear()
    catalogue.refresh("cloud", source.make, "key")
    await asyncio.wait_for(source.preparing.wait(), HANG)
    await asyncio.sleep(0.1)  # longer than the patience, however long it takes
    source.prepared.set()
    assert (await settled(catalogue)).state == "ready"
    await catalogue.close()


async def test_p3_what_nobody_could_name_is_not_listed(tmp_path: Path, clock: Clock) -> None:
    catalogue = Catalogue(tmp_path / "models.json", SNAPSHOT, clock)
    catalogue.refresh("cloud", Source("a", "", "b\x1b[2J", "c" * 100_000).make, "key")
    assert ids(await settled(catalogue)) == ["a", "big", "small"]
    await catalogue.close()


async def test_p3_no_answer(tmp_path: Path, clock: Clock) -> None:
    catalogue = Catalogue(tmp_path / "models.json", SNAPSHOT, clock, patience=0.05)
    source = Source("a")
    catalogue.refresh("cloud", source.make, "key")
    await settled(catalogue)
    clock.now += 400
    source.go.clear()
    catalogue.refresh("cloud", source.make, "key")
    assert ids(catalogue.listing("cloud")) == ["a", "big", "small"]  # shown while it loads
    listing = await settled(catalogue)
    assert (listing.state, listing.reason) == ("failed", "No answer in 0.05 s")
    assert ids(listing) == ["a", "big", "small"]
    assert catalogue.failed_lately("cloud") and not catalogue.failed_lately("another")
    clock.now += 31
    assert not catalogue.failed_lately("cloud")
    catalogue.refresh("cloud", source.make, "another")
    assert ids(await settled(catalogue)) == ["big", "small"]
    await catalogue.close()


@pytest.mark.parametrize(
    ("error", "reason"),
    [
        (ProviderError("bad_key", "Cloud rejected the API key."), "Cloud rejected the API key."),
        (ConfigurationError("The provider has no address."), "The provider has no address."),
        (RuntimeError("secret"), "The list could not be read."),
    ],
)
async def test_p3_any_error_gives_the_built_in_list_and_says_so(
    catalogue: Catalogue, clock: Clock, error: Exception, reason: str
) -> None:
    source = Source("a")
    catalogue.refresh("cloud", source.make, "key")
    await settled(catalogue)
    source.error = error
    catalogue.refresh("cloud", source.make, "key", force=True)
    listing = await settled(catalogue)
    assert (listing.state, listing.reason) == ("failed", reason)
    assert ids(listing) == ["big", "small"]


async def test_a_provider_that_cannot_be_made(catalogue: Catalogue) -> None:
    def make() -> Source:
        raise ConfigurationError("No address.")

    catalogue.refresh("cloud", make, "")
    assert (await settled(catalogue)).reason == "No address."


async def test_p3_the_cache_survives_a_restart(tmp_path: Path, clock: Clock) -> None:
    file = tmp_path / "models.json"
    first = Catalogue(file, SNAPSHOT, clock)
    source = Source("a")
    key = "sk-live-0123456789"
    first.refresh("cloud", source.make, key)
    await settled(first)
    await first.close()
    text = file.read_text(encoding="utf-8")
    assert key not in text
    assert key_digest("cloud", key) in text
    assert key_digest("cloud", key) != key_digest("other", key)

    second = Catalogue(file, SNAPSHOT, clock)
    second.refresh("cloud", source.make, key)
    assert ids(await settled(second)) == ["a", "big", "small"]
    assert source.asked == 1  # young enough
    await second.close()

    clock.now += 301
    source.go.clear()
    third = Catalogue(file, SNAPSHOT, clock)
    third.refresh("cloud", source.make, key)
    shown = await until(third, lambda listing: "a" in ids(listing))
    assert shown.state == "loading"  # shown at once, while the refresh runs
    source.infos = [ModelInfo("b")]
    source.go.set()
    assert ids(await settled(third))[0] == "b"
    await third.close()


@pytest.mark.parametrize(
    "damage",
    ["", "{", "[]", '{"lists": 1}', '{"lists": {"cloud": {"x": {"models": [1]}}}}', "\x00"],
)
async def test_a_damaged_cache_is_no_cache(tmp_path: Path, damage: str) -> None:
    file = tmp_path / "models.json"
    file.write_text(damage, encoding="utf-8")
    catalogue = Catalogue(file, SNAPSHOT)
    catalogue.refresh("cloud", Source("a").make, "key")
    assert ids(await settled(catalogue))[0] == "a"
    await catalogue.close()
    assert json.loads(file.read_text(encoding="utf-8"))["lists"]["cloud"]


async def test_a_cache_that_cannot_be_written(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("", encoding="utf-8")
    catalogue = Catalogue(tmp_path / "file" / "models.json", SNAPSHOT)
    catalogue.refresh("cloud", Source("a").make, "key")
    assert (await settled(catalogue)).state == "ready"
    await catalogue.close()


async def test_p3_a_chosen_model_stays_chosen(catalogue: Catalogue) -> None:
    assert [model.id for model in catalogue.chosen("cloud", "small")] == ["big", "small"]
    assert [model.id for model in catalogue.chosen("cloud", "gone")] == ["gone", "big", "small"]
    assert [model.id for model in catalogue.chosen("cloud", "")] == ["big", "small"]


async def test_cancel_and_unsubscribe(catalogue: Catalogue) -> None:
    told: list[str] = []
    unsubscribe = catalogue.subscribe(told.append)
    source = Source("a")
    source.go.clear()
    catalogue.refresh("cloud", source.make, "key")
    await _asked(source)
    catalogue.cancel("cloud")
    assert catalogue.listing("cloud").state == "idle"
    assert set(told) == {"cloud"}
    unsubscribe()
    unsubscribe()
    told.clear()
    source.go.set()
    catalogue.refresh("cloud", source.make, "key")
    await settled(catalogue)
    assert told == []


async def test_real_providers_and_real_connections(tmp_path: Path) -> None:
    http = Http(connect_seconds=HANG)
    _, snapshot = load_snapshot(SHIPPED)
    catalogue = Catalogue(tmp_path / "models.json", snapshot)
    async with Simulator([]) as sim:
        url = sim.url("responses")
        for key, state, words in [
            ("", "failed", "no API key"),
            ("bad-key", "failed", "rejected"),
            ("good-key", "ready", ""),
        ]:
            catalogue.refresh("openai", lambda key=key: OpenAIProvider(key, url, http), key)
            listing = await until(catalogue, lambda one, state=state: one.state == state, "openai")
            assert words in listing.reason
            assert "gpt-6.1-sol" in ids(listing)
        assert ids(listing)[0] != "gpt-6.1-sol"
        name = "openai-compatible"
        catalogue.refresh(name, lambda: CompatibleProvider("k", url, http), "k", address=url)
        assert "demo-fast" in ids(await settled(catalogue, name))
    catalogue.refresh("openai", lambda: OpenAIProvider("k", url, http), "k")
    listing = await until(catalogue, lambda one: one.state == "failed", "openai")
    assert listing.reason.startswith("Can't reach OpenAI")
    await catalogue.close()
    await http.aclose()


SHIPPED = Path(__file__).parents[2] / "resources" / "models.json"


def test_p5_the_bundled_list() -> None:
    date, snapshot = load_snapshot(SHIPPED)
    assert re.fullmatch(r"20\d\d-\d\d", date)
    assert {"anthropic", "openai", "gemini", "ollama", "builtin", "simulator"} <= set(snapshot)
    for name, models in snapshot.items():
        assert len({model.id for model in models}) == len(models)
        for model in models:
            assert model.source == "built-in"
            assert re.fullmatch(r"[a-z0-9][a-z0-9.-]+", model.id) and model.name
            assert model.context_window and 1_000 <= model.context_window <= 10_000_000
            assert model.lifecycle in ("", "deprecated")
            assert re.fullmatch(r"|20\d\d-[01]\d-[0-3]\d", model.retires)
            assert not model.retires or model.lifecycle == "deprecated"
        if name in ("anthropic", "openai", "gemini"):
            assert len(models) >= 6
            for model in models:
                _check_hosted(model)


def _check_hosted(model: ModelInfo) -> None:
    """Every fact is there, and the figures agree with each other."""
    assert model.output_limit and model.context_window
    assert 4_000 <= model.output_limit < model.context_window
    assert None not in (model.images, model.documents, model.tools, model.reasoning)
    assert model.efforts is not None and bool(model.efforts) == model.reasoning
    assert list(model.efforts) == [effort for effort in EFFORTS if effort in model.efforts]
    assert model.input_price and model.output_price and model.cache_read_price
    assert 0.01 <= model.input_price < model.output_price <= 500
    assert model.cache_read_price < model.input_price
    written = model.cache_write_price
    assert written is None or model.input_price < written <= 2 * model.input_price


def test_p5_the_bundled_list_can_be_brought_up_to_date(tmp_path: Path) -> None:
    """The script fills in what the tables know and leaves the rest alone."""
    script = runpy.run_path(str(SHIPPED.parent.parent / "packaging" / "models.py"))
    text = SHIPPED.read_text(encoding="utf-8")
    data = json.loads(text)
    assert script["written"](data) == text
    old = {
        "date": "2020-01",
        "providers": {
            "anthropic": [
                {"id": "claude-opus-5-5", "input_price": 99.0, "efforts": ["low"]},
                {"id": "claude-nobody-knows", "input_price": 1.0},
            ],
            "ollama": [],
            "builtin": [{"id": "smollm2", "tools": False}],
        },
    }
    new = script["refreshed"](old, datetime(2026, 11, 22, tzinfo=UTC))
    known, unknown = new["providers"]["anthropic"]
    assert (new["date"], known["input_price"], known["efforts"]) == ("2026-11", 4.0, ["low"])
    assert known["context_window"] == 1_000_000 and known["output_limit"] is None
    assert (unknown["input_price"], unknown["output_price"]) == (1.0, None)
    assert new["providers"]["builtin"] == [{"id": "smollm2", "tools": False}]
    file = tmp_path / "models.json"
    file.write_text(script["written"](new), encoding="utf-8")
    assert load_snapshot(file)[1]["anthropic"][0].efforts == ("low",)


@pytest.mark.parametrize(
    "damage", ["", "[]", '{"date": "2026-11"}', '{"date": "", "providers": {"x": [1]}}']
)
def test_a_damaged_bundled_list(tmp_path: Path, damage: str) -> None:
    file = tmp_path / "models.json"
    file.write_text(damage, encoding="utf-8")
    with pytest.raises(ConfigurationError):
        load_snapshot(file)
    with pytest.raises(ConfigurationError):
        load_snapshot(tmp_path / "none.json")
