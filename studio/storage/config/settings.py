"""Settings: reads and writes one JSON file that may also be edited by hand."""

from __future__ import annotations

import asyncio
import json
import shutil
from collections.abc import Callable, Mapping
from copy import deepcopy
from dataclasses import field, fields
from functools import cache
from pathlib import Path
from types import UnionType
from typing import Any, Literal, TypeAlias, Union, cast, get_args, get_origin, get_type_hints

from studio.domain.agents import PermissionMode
from studio.domain.aio import ended
from studio.domain.errors import StorageError
from studio.domain.jsonvalue import Json, JsonObject
from studio.domain.models import ModelInfo
from studio.domain.records import dataclass
from studio.files.atomic_write import write_atomically
from studio.files.file_lock import exclusive_access
from studio.files.folders import unused_name

from .model_overrides import read_overrides

ThemeName: TypeAlias = Literal["system", "light", "dark"]
LanguageName: TypeAlias = Literal["system", "en", "de"]
Accent: TypeAlias = Literal[
    "system", "blue", "plum", "rose", "rust", "ochre", "green", "teal", "slate"
]
Contrast: TypeAlias = Literal["system", "normal", "high"]
Motion: TypeAlias = Literal["system", "normal", "reduced"]
RECENT = 10  # folders that are remembered
_OLD_WINDOWS, _OLD_MOTION = "context_windows", "reduced_motion"
"""Settings of older versions, which are read and no longer written."""


@dataclass(slots=True)
class Settings:
    """Everything the program remembers between starts, except keys and sessions.

    Dictionaries are by provider's name.
    """

    theme: ThemeName = "system"
    text_size: int = 100
    """Per cent."""
    motion: Motion = "system"
    language: LanguageName = "system"
    """Of the window."""
    accent: Accent = "blue"
    contrast: Contrast = "system"
    density: Literal["comfortable", "compact"] = "comfortable"
    font: str = ""
    code_font: str = ""
    """Families; empty for the system's, or one that ships where that has no medium weight."""
    wide_text: bool = False
    """A wider column of text in chats."""
    show_keys: bool = True
    """Show the keys of buttons on them."""
    menu_bar: bool = True
    """Show the menu bar; where it is hidden, Alt shows it."""
    shortcuts: dict[str, str] = field(default_factory=dict[str, str])
    """Keys that the person gave to actions, by the action's name; empty for no key."""

    quick_ask_key: str = ""
    """The key of the whole desktop for a quick question; empty for none."""

    default_provider: str = ""
    keys_found: list[str] = field(default_factory=list[str])
    """Providers whose keys were found so far; see ``Engine.use_new_key``."""
    default_model: dict[str, str] = field(default_factory=dict[str, str])
    default_agent: str = ""
    default_permission_mode: PermissionMode = "ask"
    base_urls: dict[str, str] = field(default_factory=dict[str, str])
    key_command: dict[str, list[str]] = field(default_factory=dict[str, list[str]])
    """Commands that print a key, word by word, by the key's name; see ``key_command``."""
    enabled_models: dict[str, list[str]] = field(default_factory=dict[str, list[str]])
    """Models offered in menus; all models of a provider that is not here."""
    own_models: dict[str, list[str]] = field(default_factory=dict[str, list[str]])
    """Models the person typed, listed or not."""
    favourite_models: list[str] = field(default_factory=list[str])
    """``provider/model`` of those that are offered first."""
    models: dict[str, object] = field(default_factory=dict[str, object])
    """The person's own facts by ``provider/model``, as they wrote them (P-5);
    see ``model_facts``."""
    ollama_connected: bool = False
    builtin_model: str = ""
    """Path of a GGUF file for the built-in model; empty for the one that ships."""
    models_folder: str = ""
    """Where fetched model files are kept; empty for the program's own folder."""

    inline_steps: int = 5
    inline_seconds: float = 30.0
    background_steps: int = 20
    background_seconds: float = 180.0
    long_steps: int = 200
    long_seconds: float = 3600.0
    """Limits of a turn in the three modes (L-1, L-11, C-1)."""
    parallel_tools: int = 5
    """Calls of one reply that run at a time (L-3)."""
    turn_tokens: int = 0
    turn_dollars: float = 5.0
    long_dollars: float = 5.0
    """Of a turn in the mode ``long``, in place of ``turn_dollars``."""
    session_tokens: int = 0
    session_dollars: float = 0.0
    day_tokens: int = 0
    day_dollars: float = 25.0
    month_tokens: int = 0
    month_dollars: float = 0.0
    requests_per_hour: int = 0
    """Caps (L-14); 0 is no cap."""
    summarise: bool = True
    """Summarise a conversation that outgrows the model's context (L-10)."""
    line_numbers: Literal["model", "always", "never"] = "model"
    """Number the lines of files that a model reads; by default as its family is used to (C-20)."""

    keep_notes_of: list[str] = field(default_factory=list[str])
    """Agents whose notes are kept without asking, but never those with strangers' words (W-44)."""

    skills_off: list[str] = field(default_factory=list[str])
    """Skills that agents are not told of; the person can call them all the same (K-5)."""

    sandbox: bool = True
    """Run commands in a sandbox where the system has one."""
    throwaway: bool = False
    """This computer is a container that is thrown away, with nothing private in it: no call is held
    back for what it could send out (T-7). Counts only without ``sandbox``."""
    language_servers: bool = True
    """Have installed language servers look at what is edited in trusted folders (C-11)."""
    language_server_commands: dict[str, list[str]] = field(default_factory=dict[str, list[str]])
    """The person's own, word by word, by a pattern of files; no words for no server."""
    fetch_private: bool = False
    """Let pages be fetched from this computer and its network (T-8)."""
    web_search: Literal["ddgs", "brave", "tavily", "searxng", "provider", "off"] = "ddgs"
    searxng_url: str = ""
    mask: list[str] = field(default_factory=list[str])
    """Kinds of personal data that are masked in what models get from outside (T-9)."""
    mask_own: bool = False
    """Mask them also in what the person says, and in what files, notes and commands say."""

    routing: bool = False
    """Choose mode and model by how hard a message looks (L-13)."""
    routing_model: str = ""
    """``provider/model`` that rates the message; empty for rules alone."""
    tiers: dict[str, str] = field(default_factory=dict[str, str])
    """``provider/model`` for ``small``, ``large`` and ``cloud``."""

    notify: bool = True
    """Show a desktop notification when a hidden chat is done or needs an answer."""
    sounds: bool = False
    """Play a short sound with what ``notify`` tells of, and also without it (W-68)."""
    trace_endpoint: str = ""
    """Where OpenTelemetry spans go, over OTLP; empty for nowhere (L-15)."""
    trace_content: bool = False

    server_on: bool = False
    """Run the server as long as the window is open (S-3)."""
    server_host: str = "127.0.0.1"
    server_port: int = 8765
    server_token: bool = True
    """Clients must send the token; those on other computers must in any case (S-4)."""
    server_body_limit: int = 20_000_000
    """Bytes of one request at most."""
    server_at_once: int = 64
    """Requests that are answered at once."""
    server_folder: str = ""
    """The folder in which agents work for clients; empty for an empty one of the program's."""
    server_rules: dict[str, list[str]] = field(default_factory=dict[str, list[str]])
    """Permission rules for clients, by ``allow``, ``ask`` and ``deny`` (S-4)."""
    server_steps: bool = False
    """Send clients what agents' tools do, apart from the answer."""
    server_words: bool = True
    """Send clients also the words of an agent before its last tool calls, as they are written."""
    server_keep: bool = True
    """Save requests as chats."""
    server_chats: int = 1000
    """Chats of the server that are kept; the oldest go to the bin. 0 for all."""
    server_hosts: list[str] = field(default_factory=list[str])
    """Host names, besides its own address, under which the server answers."""
    server_origins: list[str] = field(default_factory=list[str])
    """Origins of web pages, as ``https://host``, that may call the server."""

    spelling: str = "automatic"
    """The language in which misspelt words are marked, as in ``de_DE``; also ``off``."""
    write_titles: bool = True
    """Have a cheap model of the chat's provider write the title of a chat."""
    bin_days: int = 30
    """Days that a deleted chat can be brought back; 0 is until the window closes."""

    record_exchanges: bool = True
    """Keep what goes to models and comes back, so that a chat can be replayed (W-27)."""
    exchange_days: int = 30
    exchange_megabytes: int = 1000
    """How long that is kept, and how much of it in all chats; 0 keeps nothing."""

    last_folder: str = ""
    recent_folders: list[str] = field(default_factory=list[str])

    look_for_updates: bool = True
    """Ask once a day for the newest version."""
    updates_asked: str = ""
    """When that was last done, as ISO 8601 has it."""
    updates_refused: str = ""
    """Why what came then was not believed; empty where it was, or nothing came."""
    update_told: str = ""
    """The newest version that the person was told of."""
    version_seen: str = ""
    """The version that last ran: the first start of another shows what is new."""

    window_geometry: str = ""
    """Qt's own bytes, in base64."""
    other_windows: list[str] = field(default_factory=list[str])
    """The same for the second window and those after it."""
    sidebar_width: int = 0
    """Pixels as the person dragged it; 0 for the default."""
    sidebar_open: bool = True
    closed_sections: list[str] = field(default_factory=lambda: ["archived"])
    """Sections of the list of chats of which only the heading is shown."""
    inspector_width: int = 320
    inspector_open: bool = False
    chat_beside_width: int = 420
    """Of the chat beside a page, in pixels at normal text."""
    chat_beside_open: bool = True
    first_run_done: bool = False

    unknown: JsonObject = field(default_factory=dict[str, Json])
    """Keys of other versions; written back as they were."""

    @property
    def records_exchanges(self) -> bool:
        return self.record_exchanges and self.exchange_days > 0 and self.exchange_megabytes > 0

    def use_folder(self, folder: str) -> None:
        """Remember a folder as the last one used."""
        self.last_folder = folder
        others = [known for known in self.recent_folders if known != folder]
        self.recent_folders = [folder, *others][:RECENT]

    def forget_folders(self, forgotten: Callable[[str], bool]) -> None:
        """Drop folders from those that new chats are offered."""
        if forgotten(self.last_folder):
            self.last_folder = ""
        self.recent_folders = [one for one in self.recent_folders if not forgotten(one)]

    def model_facts(self, provider: str) -> Mapping[str, ModelInfo]:
        """The person's facts about a provider's models, by id; without entries with mistakes."""
        return read_overrides(self.models)[0].get(provider, {})

    @classmethod
    def from_json(cls, data: JsonObject) -> Settings:
        """Settings of a JSON object; a value of the wrong type counts as not given."""
        hints = field_types()
        known = {
            name: value
            for name, value in data.items()
            if name in hints and matches_type(value, hints[name])
        }
        settings = cls(**cast("dict[str, Any]", known))
        settings.unknown = {
            name: value
            for name, value in data.items()
            if name not in hints and name not in (_OLD_WINDOWS, _OLD_MOTION)
        }
        if "long_dollars" not in data:  # an older version's one cap was for all turns
            settings.long_dollars = settings.turn_dollars
        if data.get(_OLD_MOTION) is True and "motion" not in known:
            settings.motion = "reduced"
        settings.models = _with_windows(settings.models, data.get(_OLD_WINDOWS))
        return settings

    def to_json(self) -> JsonObject:
        """The content of the file; shares nothing with this object."""
        own = {f.name: getattr(self, f.name) for f in fields(self) if f.name != "unknown"}
        return cast("JsonObject", json.loads(json.dumps({**own, **self.unknown})))


def _with_windows(models: dict[str, object], windows: Json) -> dict[str, object]:
    """``models`` with the context windows that an older version stored apart."""
    whole = dict(models)
    for name, size in (windows if isinstance(windows, dict) else {}).items():
        entry = whole.get(name, {})
        if matches_type(size, int) and isinstance(entry, dict):
            whole[name] = {"context_window": size, **cast("JsonObject", entry)}
    return whole


@cache  # to evaluate them takes milliseconds
def field_types() -> Mapping[str, Any]:
    """The type of each setting, by its name."""
    hints = get_type_hints(Settings)
    del hints["unknown"]
    return hints


def matches_type(value: object, hint: Any) -> bool:
    """Whether a JSON value fits a field's type."""
    origin, parts = get_origin(hint), get_args(hint)
    if origin is Literal:
        return value in parts
    if origin in (Union, UnionType):
        return any(matches_type(value, part) for part in parts)
    if origin is list:
        return isinstance(value, list) and all(
            matches_type(item, parts[0]) for item in cast("list[object]", value)
        )
    if origin is dict:
        return isinstance(value, dict) and all(
            matches_type(item, parts[1]) for item in cast("dict[str, object]", value).values()
        )
    if hint in (int, float):
        kinds = (int, float) if hint is float else (int,)
        return isinstance(value, kinds) and not isinstance(value, bool)
    return isinstance(value, hint)


_GONE = ...


def _looked_at(writing: asyncio.Task[None]) -> None:
    """Its error is told to whoever waits; a caller that was cancelled does not hear it."""
    if not writing.cancelled():
        writing.exception()


def _merged(mine: object, theirs: object, before: object) -> object:
    """A three-way merge of a JSON value: objects by entry; mine where both sides changed it.

    Shares nothing with ``theirs``.
    """
    if mine == before:
        return deepcopy(theirs)
    if theirs == before or not (isinstance(mine, dict) and isinstance(theirs, dict)):
        return cast("object", mine)
    ours, others = cast("JsonObject", mine), cast("JsonObject", theirs)
    old = cast("JsonObject", before) if isinstance(before, dict) else {}
    found = {
        name: _merged(ours.get(name, _GONE), others.get(name, _GONE), old.get(name, _GONE))
        for name in {**others, **ours}
    }
    return {name: value for name, value in found.items() if value is not _GONE}


class SettingsFile:
    """Loads and saves settings, in a thread."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.values = Settings()
        """The settings in force: defaults until ``load``. Change them, then ``save``."""
        self.notice = ""
        """After ``load``: a notice for the person, about a broken file for example."""
        self._filed: JsonObject = {}
        """The content of the file when it was last read or written here."""
        self._lock = asyncio.Lock()
        self._listeners: list[Callable[[], None]] = []

    def subscribe(self, listener: Callable[[], None]) -> None:
        """Call ``listener`` after ``values`` got a change of another program."""
        self._listeners.append(listener)

    async def load(self) -> Settings:
        """Read the file into ``values``, and return them; defaults if there is none yet.

        A file that is no JSON object is renamed, see ``notice``. Raises StorageError if the
        file exists and cannot be read.
        """
        async with self._lock:
            try:
                self.values, self.notice = await asyncio.to_thread(self._load)
                self._filed = self.values.to_json()
            except OSError as error:
                raise StorageError(
                    f"{self.path} cannot be read ({error.strerror or error})."
                ) from error
        return self.values

    async def save(self) -> None:
        """Write ``values``; raises StorageError, and then the old file stays.

        Changes that another program made in the file meanwhile are kept and taken over,
        unless this program changed the same. A broken file is copied under another name. Saves
        happen in the order of the calls. A save that has begun is finished even if the
        caller is cancelled.
        """
        writing = asyncio.ensure_future(self._save())
        writing.add_done_callback(_looked_at)
        await ended(writing)
        writing.result()

    async def refresh(self) -> bool:
        """After ``load``: take over changes of other programs; whether there were any.

        Changes made here that are not saved yet stay. A file that is missing or cannot be
        read changes nothing.
        """
        async with self._lock:
            try:
                theirs = await asyncio.to_thread(self._read)
            except OSError:
                return False
            if theirs is None:
                return False
            before, self._filed = self._filed, Settings.from_json(theirs).to_json()
            self._take(self._filed, before)
            return self._filed != before

    async def _save(self) -> None:
        async with self._lock:  # ``_filed`` is set by the save before this one
            mine = self.values.to_json()
            try:
                merged = await asyncio.to_thread(self._write, mine, self._filed)
            except OSError as error:
                raise StorageError(
                    f"{self.path} cannot be written ({error.strerror or error}). "
                    "The settings hold until the program ends."
                ) from error
            self._filed = merged
            self._take(merged, mine)

    def _write(self, mine: JsonObject, before: JsonObject) -> JsonObject:
        """Merge ``mine`` with the file and write it; returns the merged settings."""
        with exclusive_access(self.path):
            merged, theirs = mine, self._read()
            if theirs is not None:
                theirs = Settings.from_json(theirs).to_json()
                merged = cast("JsonObject", _merged(mine, theirs, before))
            elif self.path.exists():
                shutil.copy2(self.path, unused_name(self.path, "broken"))
            write_atomically(self.path, json.dumps(merged, indent=2).encode() + b"\n")
        return merged

    def _take(self, theirs: JsonObject, before: JsonObject) -> None:
        """Take ``theirs`` over into ``values``, except what was changed here since ``before``."""
        mine = self.values.to_json()
        merged = cast("JsonObject", _merged(mine, theirs, before))
        if merged == mine:
            return
        for name in field_types():
            if merged[name] != mine[name]:
                setattr(self.values, name, merged[name])
        self.values.unknown = {name: merged[name] for name in merged if name not in field_types()}
        for listener in self._listeners:
            listener()

    def _read(self) -> JsonObject | None:
        """The file as it is now; None if there is none, or it is no JSON object."""
        try:
            data = json.loads(self.path.read_bytes().decode("utf-8-sig"))
        except (FileNotFoundError, ValueError, RecursionError):
            return None
        return cast("JsonObject", data) if isinstance(data, dict) else None

    def _load(self) -> tuple[Settings, str]:
        if not self.path.exists():
            return Settings(), ""
        if (data := self._read()) is not None:
            settings = Settings.from_json(data)
            problems = read_overrides(settings.models)[1]
            return settings, " ".join([f"{self.path}:", *problems] if problems else [])
        kept = unused_name(self.path, "broken")
        try:
            self.path.rename(kept)
        except PermissionError:
            kept = self.path  # nobody writes to it
        return Settings(), (
            f"The settings could not be read, so the defaults are used. The file is kept as {kept}."
        )
