"""Settings and paths."""

from __future__ import annotations

import asyncio
import errno
import gc
import json
import stat
import sys
from asyncio.subprocess import PIPE
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from studio.domain.errors import StorageError
from studio.files.atomic_write import write_atomically
from studio.files.file_lock import exclusive_access
from studio.files.folders import private_folder
from studio.storage.config.settings import Settings, SettingsFile
from studio.storage.paths import HOME_VARIABLE, Paths

LEFT = {"settings.json", ".settings.json.lock"}
_SAVES = """
import asyncio, sys
from pathlib import Path
from studio.storage.config.settings import SettingsFile

async def main():
    file = SettingsFile(Path(sys.argv[1]))
    await file.load()
    print("ready", flush=True)
    sys.stdin.readline()
    for number in range(6):
        file.values.default_model[f"{sys.argv[2]}{number}"] = "m"
        await file.save()

asyncio.run(main())
"""


async def test_settings_come_back_and_unknown_keys_stay(tmp_path: Path) -> None:
    path = tmp_path / "c" / "settings.json"
    file = SettingsFile(path)
    assert await file.load() == Settings() and file.notice == "" and not path.exists()
    file.values.theme = "dark"
    file.values.default_model["anthropic"] = "m"
    file.values.enabled_models["openai"] = ["a", "b"]
    file.values.use_folder("/x")
    file.values.use_folder("/ÿ \ud800")
    file.values.use_folder("/x")
    await file.save()
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert {p.name for p in path.parent.iterdir()} == LEFT

    data = json.loads(path.read_text())
    assert data["recent_folders"] == ["/x", "/ÿ \ud800"]
    path.write_text(json.dumps({"hologram": {"b": 1, "a": [2]}, **data}), "utf-8-sig")
    again = SettingsFile(path)
    values = await again.load()
    assert values.theme == "dark" and values.last_folder == "/x"
    await again.save()
    assert json.loads(path.read_text())["hologram"] == {"b": 1, "a": [2]}
    assert values.to_json() == again.values.to_json()


async def test_what_another_program_saves_is_taken(tmp_path: Path) -> None:
    here, there = SettingsFile(tmp_path / "s.json"), SettingsFile(tmp_path / "s.json")
    await here.load()
    await there.load()
    assert not await here.refresh()  # there is no file yet
    there.values.day_dollars, there.values.theme = 1.0, "dark"
    await there.save()
    here.values.theme = "light"  # not saved yet
    assert await here.refresh() and not await here.refresh()
    assert (here.values.day_dollars, here.values.theme) == (1.0, "light")
    await here.save()
    assert json.loads(here.path.read_text())["theme"] == "light"
    here.path.write_text("{broken")
    assert not await here.refresh() and here.values.day_dollars == 1.0
    here.path.unlink()
    here.path.mkdir()
    assert not await here.refresh() and here.values.day_dollars == 1.0


async def test_two_programs_change_different_entries_and_none_is_lost(tmp_path: Path) -> None:
    here, there = SettingsFile(tmp_path / "s.json"), SettingsFile(tmp_path / "s.json")
    told: list[dict[str, str]] = []
    here.subscribe(lambda: told.append(dict(here.values.default_model)))
    here.values.default_model = {"a": "1", "b": "1", "c": "1"}
    await here.save()
    await there.load()
    there.values.default_model |= {"b": "theirs", "d": "theirs", "e": "theirs"}
    there.values.models = {"x/y": {"context_window": 9}}
    del there.values.default_model["c"]
    await there.save()
    here.values.default_model |= {"a": "mine", "e": "mine"}  # not saved yet
    merged = {"a": "mine", "b": "theirs", "d": "theirs", "e": "mine"}
    assert await here.refresh()
    assert here.values.default_model == merged and told == [merged]
    here.values.default_model["d"] = "mine"  # what was taken is ours to change
    await here.save()
    await there.save()
    assert there.values.default_model == {**merged, "d": "mine"}
    assert json.loads(here.path.read_text())["default_model"] == {**merged, "d": "mine"}
    assert json.loads(here.path.read_text())["models"] == {"x/y": {"context_window": 9}}
    assert len(told) == 1


async def test_programs_that_save_at_the_same_time_wait_for_each_other(tmp_path: Path) -> None:
    path = tmp_path / "settings.json"
    saving = [
        await asyncio.create_subprocess_exec(
            sys.executable, "-c", _SAVES, path, name, stdin=PIPE, stdout=PIPE
        )
        for name in ("a", "b")
    ]
    for process in saving:
        assert process.stdout and await process.stdout.readline() == b"ready\n"
    await asyncio.gather(*(process.communicate(b"go\n") for process in saving))
    assert [process.returncode for process in saving] == [0, 0]
    values = await SettingsFile(path).load()
    assert values.default_model.keys() == {f"{name}{n}" for name in "ab" for n in range(6)}


async def test_what_is_changed_back_during_a_save_stays_so(tmp_path: Path) -> None:
    file = SettingsFile(tmp_path / "s.json")
    await file.load()
    await file.save()
    file.values.summarise = False
    first = asyncio.ensure_future(file.save())
    await asyncio.sleep(0)  # it has begun
    file.values.summarise = True
    second = asyncio.ensure_future(file.save())
    await asyncio.gather(first, second)
    assert file.values.summarise is True
    assert json.loads(file.path.read_text())["summarise"] is True


@pytest.mark.skipif(sys.platform == "win32", reason="flock")
def test_where_files_cannot_be_locked_nothing_waits(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    import fcntl

    tries: list[int] = []

    def flock(file: int, _: int) -> None:
        tries.append(file)
        raise OSError(errno.ENOLCK, "no locks")

    monkeypatch.setattr(fcntl, "flock", flock)
    with exclusive_access(tmp_path / "s.json"):
        assert len(tries) == 1


async def test_a_file_that_is_broken_while_the_program_runs_is_kept(tmp_path: Path) -> None:
    file = SettingsFile(tmp_path / "settings.json")
    file.values.theme = "dark"
    await file.save()
    file.path.write_text('{"theme": "light", "mask": [')
    await file.save()
    assert json.loads(file.path.read_text())["theme"] == "dark"
    kept = [path for path in tmp_path.iterdir() if ".broken-" in path.name]
    assert [path.read_text() for path in kept] == ['{"theme": "light", "mask": [']


async def test_values_of_the_wrong_kind_count_as_not_given(tmp_path: Path) -> None:
    path = tmp_path / "settings.json"
    path.write_text(
        json.dumps(
            {
                "theme": "pink", "text_size": True, "sidebar_width": "wide", "recent_folders": [1],
                "default_model": {"a": 1}, "enabled_models": {"a": ["ok"], "b": "no"},
                "base_urls": {"ollama": "http://h"}, "inspector_open": 1, "unknown": {"x": 1},
            }
        )
    )  # fmt: skip
    file = SettingsFile(path)
    values = await file.load()
    assert values.base_urls == {"ollama": "http://h"} and file.notice == ""
    values.base_urls = {}
    values.unknown = {}
    assert values == Settings()


async def test_p5_what_the_person_says_of_a_model(tmp_path: Path) -> None:
    path = tmp_path / "settings.json"
    whole = {
        "name": "Mine", "context_window": 64_000, "output_limit": 4_000, "input_price": 1,
        "output_price": 2.5, "cache_read_price": 0, "cache_write_price": 0.1, "images": True,
        "documents": False, "tools": True, "reasoning": True, "sampling": False,
        "efforts": ["high", "none", "low"],
    }  # fmt: skip
    models = {"anthropic/claude-x": whole, "openai-compatible/a/b": {"context_window": 5}}
    path.write_text(json.dumps({"models": models}))
    file = SettingsFile(path)
    values = await file.load()
    assert file.notice == ""
    assert values.model_facts("openai") == {}
    assert values.model_facts("openai-compatible")["a/b"].context_window == 5
    said = values.model_facts("anthropic")["claude-x"]
    assert (said.name, said.source, said.context_window, said.output_limit) == (
        "Mine", "yours", 64_000, 4_000,
    )  # fmt: skip
    assert (said.input_price, said.output_price, said.cache_read_price, said.cache_write_price) == (
        1, 2.5, 0, 0.1,
    )  # fmt: skip
    assert (said.images, said.documents, said.tools, said.reasoning, said.sampling) == (
        True, False, True, True, False,
    )  # fmt: skip
    assert said.efforts == ("none", "low", "high")


@pytest.mark.parametrize(
    ("name", "entry", "words"),
    [
        ("claude-x", {}, "provider/model"),
        ("/x", {}, "provider/model"),
        ("openai/", {}, "provider/model"),
        ("openai/x", 5, "no group of fields"),
        ("openai/x", {"window": 5}, "no field window"),
        ("openai/x", {"context_window": "big"}, "context_window is a whole number of tokens"),
        ("openai/x", {"context_window": True}, "context_window is"),
        ("openai/x", {"output_limit": 0}, "output_limit is"),
        ("openai/x", {"input_price": -1}, "input_price is a number of US dollars"),
        ("openai/x", {"output_price": float("nan")}, "output_price is"),
        ("openai/x", {"cache_read_price": 10**400}, "cache_read_price is"),
        ("openai/x", {"images": "yes"}, "images is true or false"),
        ("openai/x", {"efforts": ["low", "huge"]}, "efforts is a list with any of none, minimal"),
        ("openai/x", {"efforts": "low"}, "efforts is a list"),
        ("openai/x", {"name": 5}, "name is a text"),
    ],
)
async def test_p5_an_entry_with_a_mistake_is_said_left_out_and_kept_in_the_file(
    tmp_path: Path, name: str, entry: object, words: str
) -> None:
    path = tmp_path / "settings.json"
    models = {"openai/good": {"tools": False}, name: entry}
    path.write_text(json.dumps({"models": models}))
    file = SettingsFile(path)
    values = await file.load()
    assert words in file.notice and f"“{name}”" in file.notice and str(path) in file.notice
    assert list(values.model_facts("openai")) == ["good"]
    await file.save()
    assert json.dumps(json.loads(path.read_text())["models"]) == json.dumps(models)


async def test_p5_windows_of_an_older_version_are_taken_over(tmp_path: Path) -> None:
    path = tmp_path / "settings.json"
    windows = {"ollama/a": 8192, "ollama/b": 4096, "ollama/c": "no"}
    path.write_text(
        json.dumps({"context_windows": windows, "models": {"ollama/b": {"tools": True}}})
    )
    file = SettingsFile(path)
    values = await file.load()
    assert file.notice == ""
    facts = values.model_facts("ollama")
    assert sorted(facts) == ["a", "b"]
    assert facts["a"].context_window == 8192
    assert (facts["b"].context_window, facts["b"].tools) == (4096, True)
    await file.save()
    assert "context_windows" not in path.read_text()


async def test_the_wish_for_less_motion_of_an_older_version_is_taken_over(tmp_path: Path) -> None:
    """Its switch said yes, or left it to the system; later choices win over it."""
    path = tmp_path / "settings.json"
    for stored, motion in (
        ({"reduced_motion": True}, "reduced"),
        ({"reduced_motion": False}, "system"),
        ({"reduced_motion": True, "motion": "normal"}, "normal"),
    ):
        path.write_text(json.dumps(stored))
        file = SettingsFile(path)
        assert (await file.load()).motion == motion
        await file.save()
        assert "reduced_motion" not in path.read_text()


@pytest.mark.parametrize("broken", [b"", b"{", b"[1]", b"\xff\xfe{}", b"[" * 100_000])
async def test_a_broken_file_is_kept_aside(tmp_path: Path, broken: bytes) -> None:
    path = tmp_path / "settings.json"
    for count in (1, 2):
        path.write_bytes(broken)
        file = SettingsFile(path)
        assert await file.load() == Settings()
        kept = [p for p in tmp_path.iterdir() if ".broken-" in p.name]
        assert len(kept) == count and {p.read_bytes() for p in kept} == {broken}
        assert "The file is kept as" in file.notice
        await file.save()


async def test_what_cannot_be_read_or_written_is_an_error_and_stays(tmp_path: Path) -> None:
    (tmp_path / "settings.json").mkdir()
    file = SettingsFile(tmp_path / "settings.json")
    with pytest.raises(StorageError, match="cannot be read"):
        await file.load()
    with pytest.raises(StorageError, match="cannot be written"):
        await file.save()
    assert {p.name for p in tmp_path.iterdir()} == LEFT


async def test_a_cancelled_save_that_fails_is_no_error_of_nobody(tmp_path: Path) -> None:
    """Whoever closes the program meanwhile is told of the settings' end alone."""
    wrong: list[dict[str, object]] = []
    asyncio.get_running_loop().set_exception_handler(lambda _, context: wrong.append(context))
    (tmp_path / "settings.json").mkdir()
    file = SettingsFile(tmp_path / "settings.json")
    saving = asyncio.ensure_future(file.save())
    await asyncio.sleep(0)
    saving.cancel()
    with pytest.raises(asyncio.CancelledError):
        await saving
    with pytest.raises(StorageError):  # after the first, which is over then
        await file.save()
    del saving
    gc.collect()
    assert not wrong


async def test_many_saves_at_once_end_with_the_last(tmp_path: Path) -> None:
    file = SettingsFile(tmp_path / "settings.json")

    async def save(width: int) -> None:
        file.values.sidebar_width = width
        await file.save()

    await asyncio.gather(*(save(width) for width in range(200, 230)))
    assert (await SettingsFile(file.path).load()).sidebar_width == 229
    assert {p.name for p in tmp_path.iterdir()} == LEFT


def test_a_link_stays_a_link(tmp_path: Path) -> None:
    real, link = tmp_path / "real.json", tmp_path / "link.json"
    real.write_text("old")
    link.symlink_to(real)
    write_atomically(link, b"new")
    assert link.is_symlink() and real.read_bytes() == b"new"


@given(
    st.dictionaries(
        st.text(max_size=8) | st.sampled_from(["theme", "text_size", "base_urls", "unknown"]),
        st.recursive(st.none() | st.integers() | st.text(max_size=5), lambda i: st.lists(i, max_size=3) | st.dictionaries(st.text(max_size=5), i, max_size=3), max_leaves=6),
        max_size=6,
    )
)  # fmt: skip
def test_any_object_can_be_read_and_what_is_written_reads_the_same(data: dict[str, object]) -> None:
    values = Settings.from_json(data)  # type: ignore[arg-type]
    assert Settings.from_json(values.to_json()) == values
    own = set(Settings().to_json())
    assert {k: v for k, v in values.to_json().items() if k not in own} == {
        k: v for k, v in data.items() if k not in own
    }


def test_one_variable_moves_everything(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    home = tmp_path / "home"
    monkeypatch.setenv(HOME_VARIABLE, str(home))
    paths = Paths.default()
    for path in (
        paths.data, paths.config, paths.cache, paths.logs, paths.database, paths.settings,
        paths.models, paths.agents, paths.tools,
    ):  # fmt: skip
        assert path.is_relative_to(home)
    assert not home.exists()
    paths.create()
    for folder in (home, paths.cache, paths.logs):
        assert stat.S_IMODE(folder.stat().st_mode) == 0o700
    assert (paths.resources / "icons").is_dir()

    monkeypatch.delenv(HOME_VARIABLE)
    usual = Paths.default()
    assert "agent-studio" in str(usual.database) and not usual.data.is_relative_to(home)


def test_folders_are_made_private_and_existing_ones_left_alone(tmp_path: Path) -> None:
    tmp_path.chmod(0o755)
    made = private_folder(tmp_path / "a" / "b")
    assert stat.S_IMODE(made.stat().st_mode) == stat.S_IMODE(made.parent.stat().st_mode) == 0o700
    assert stat.S_IMODE(tmp_path.stat().st_mode) == 0o755
