"""Every call of a tool, who allowed it, what it came to, without secrets (L-15)."""

from __future__ import annotations

import asyncio
import json
import re
import sqlite3
import stat
import sys
import time
from collections.abc import AsyncIterator
from contextlib import closing
from pathlib import Path

import pytest
from hypothesis import assume, example, given, settings
from hypothesis import strategies as st

from studio.agent.audit_export import export, pages
from studio.domain import events as ev
from studio.domain.drafts import FileDraft
from studio.domain.errors import ConfigurationError
from studio.domain.permissions import Question, Rule
from studio.domain.redaction import (
    LONG,
    SECRET,
    arguments_without_secrets,
    redact,
    without_secrets,
)
from studio.domain.sessions import SessionInfo
from studio.simulator import Call, Text, Turn
from studio.storage.database import Database
from studio.storage.migrations import MIGRATIONS
from studio.storage.sessions.audit_log import AuditEntry, AuditFilter
from studio.storage.sessions.store import SessionStore
from support.command import Command
from support.cpu_cost import TRIES, grows_linearly
from support.engine_home import EngineHome, engine_home, say

PASSWORD = "hunter2hunter2"
HIDDEN = (
    "curl -H 'Authorization: Bearer {}' https://x",
    "curl -H 'Authorization: Digest a {}' https://x",
    "curl -H 'Cookie: a=b; session={}' https://x",
    "curl -u me:{} https://x",
    "curl --user 'me:{}' https://x",
    "curl https://x/?token={}",
    "PGPASSWORD={} psql -h db",
    'export GITHUB_TOKEN="{} x" && ls',
    'X_API_KEY="a\\" {}" ./x',
    "AWS_SECRET_ACCESS_KEY='a {}' ./x",
    "mysql -u root -p{} db",
    "git clone https://me:{}@example.org/x",
    "git clone https://me:{}a'b\"c''@example.org/x",
    "git clone 'https://me:a\"{}@example.org/x'",
    "git clone https://me:a@b@{}@example.org/x",
    "git clone https://{0}{0}@example.org/x",
    "git clone https://{0}{0}:x-oauth-basic@example.org/x",
    "git clone https://a-b.{0}-{0}-@example.org/x",
    "gh auth login --with-token {}",
    "docker login -u me -p {} registry",
    "sshpass -p {} ssh x",
    "redis-cli -h x -a {} ping",
    "tool --password {} --max-tokens 5",
    "tool --client-secret={}",
    "tool --password '${}' x",
    'tool --password "a {}',
    'echo \'{{"api_key": "{}"}}\'',
    'echo {{\\"password\\": \\"{}\\"}}',
    "password: {}",
    "authToken = '{}'",
    "echo ghp_{0}{0}",
    "echo github_pat_{}",
    "echo sk-proj-{}",
    "echo sk_live_9{0}{0}",
    "echo gsk_aB3{0}",
    "echo AQ.Ab8-_{0}{0}",
    "Proxy: basic bWU6{0}=",
    "sent Authorization: Basic {}",
    "echo eyJ{0}.{0}.{0}",
    "-----BEGIN RSA PRIVATE KEY-----\n{}\n-----END RSA PRIVATE KEY-----",
    "-----BEGIN OPENSSH PRIVATE KEY-----\n{}",
)
PLAIN = (
    "pytest -q tests/test_tokens.py",
    "git log --author me",
    "python -m tokenize file.py",
    "tool --max-tokens 500 --password=$PASSWORD x",
    'curl -H "Authorization: $HEADER" https://example.org:8080/a@b',
    "docker ps -a && mysql -p",
    "grep -rn 'the secretary' .",
    "ssh me@host",
    "git clone git@example.org:me/a.git ssh://git@example.org:22/a@b",
    "git clone https://my-organisation@example.org/x https://maximilian.mustermann2@example.org/x",
    "git clone https://maximilian.mustermann%40post.example.org@example.org/x",
    '{{"at": "http://example.org:8080","mail":"me@example.org"}}',
    "<a href='http://example.org:8080'>me@example.org</a> <https://example.org> me@example.org",
    "LANG=sk_SK.UTF-8 LC_ALL=sk_SK.UTF-8@euro sort",
    "pip install sk-learning && grep -rn sk_buff_head_init_and_more net",
    "create index pk_2024_users_by_name_and_number",
    "echo basic usage, basic authentication; echo no bearer token",
    "npm_config_user_agent_and_more=1 env",
    "import hf_hub_download_and_more",
)


@pytest.mark.parametrize("form", HIDDEN)
def test_a_secret_is_taken_out(form: str) -> None:
    """L-15: known by its form or by the name before it."""
    told = without_secrets(form.format(PASSWORD))
    assert PASSWORD not in told and (SECRET in told or "[key]" in told), told


@pytest.mark.parametrize("command", [one for one in PLAIN if "Authorization" not in one])
def test_what_is_no_secret_stays(command: str) -> None:
    assert without_secrets(command) == command


def test_arguments_keep_their_shape_without_secrets() -> None:
    """L-15: a name hides its value however deep; counts, flags and nothing are no secrets."""
    given_ = {
        "url": f"https://x/?api_key={PASSWORD}",
        "headers": {"X-Api-Key": PASSWORD, "Accept": "text/html"},
        "accounts": [{"password": PASSWORD, "name": "me", "pin_token": 4711}],
        "credentials": {"user": "me", "any": [PASSWORD]},
        "max_tokens": 100,
        "use_token": True,
        "token": None,
        f"--password {PASSWORD}": 1,
    }
    told = arguments_without_secrets(given_)
    assert PASSWORD not in json.dumps(told) and "4711" not in json.dumps(told)
    assert told["headers"] == {"X-Api-Key": SECRET, "Accept": "text/html"}
    assert told["max_tokens"] == 100 and told["use_token"] is True and told["token"] is None
    assert told["accounts"] == [{"password": SECRET, "name": "me", "pin_token": SECRET}]


def test_long_and_deep_arguments_are_bounded() -> None:
    deep: dict[str, object] = {"password": PASSWORD}
    for _ in range(sys.getrecursionlimit() * 2 // 3):
        deep = {"a": deep}
    told = arguments_without_secrets({"content": "x" * (LONG + 5), "n": 1})
    assert str(told["content"]).endswith("x [… 5 more characters …]") and told["n"] == 1
    assert PASSWORD not in str(arguments_without_secrets(deep))  # type: ignore[arg-type]


LETTERS = st.text("abcXYZ019", min_size=1, max_size=9)


@settings(max_examples=200, deadline=None)
@given(LETTERS, st.text("abcXYZ019\"'!%:.,-_~", max_size=300), st.sampled_from("abcXYZ!%_~"))
@example("me", "x" * 5_000, "x")
def test_a_password_in_an_address_is_taken_out_whatever_is_in_it(
    name: str, before: str, last: str
) -> None:
    """L-15: however long it is, and with quotation marks unless these end the address."""
    marks = re.search(r"[\"'](?![\w@!%~\"'])|^\d{1,5}[\"']", before + last)
    assume(marks is None)
    told = without_secrets(f"clone https://{name}:{before}{last}@example.org/x.git")
    assert told == f"clone https://{name}:{SECRET}@example.org/x.git"


@settings(max_examples=200, deadline=None)
@given(LETTERS, LETTERS, st.sampled_from(("{}@{}.org", "git@{}.org:{}/x.git", "<{}@{}.org>")))
def test_mail_addresses_and_those_of_git_over_ssh_are_no_secrets(
    one: str, other: str, form: str
) -> None:
    text = f"see https://example.org:8080/a and {form.format(one, other)}, ssh://git@{other}:22/x"
    assert without_secrets(text) == text


@settings(max_examples=60, deadline=None)
@given(st.text("eyJ-token=:/ '\"\\@.", max_size=40))
@example("eyJ-")
@example('token="\\')
@example("curl ")
@example("://a")
@example('a://b:"')
@example("a://b:c@")
@example("a://b:'x@")
@example("https://a1")
@example("-----BEGIN PRIVATE KEY-----")
def test_redaction_takes_time_linear_in_the_text(piece: str) -> None:
    """What a model wrote must not hold up the thread that saves chats."""

    def text(size: int) -> str:
        return (piece or "x") * (size // max(1, len(piece)))

    assert grows_linearly(text, without_secrets, LONG)


def test_keys_that_are_known_are_taken_out_as_they_are() -> None:
    assert redact("no such key abcd1234", "abcd1234") == "no such key [key]"


# The table


def question(call_id: str, number: str = "q1") -> ev.AwaitingPermission:
    return ev.AwaitingPermission(Question(number, call_id, "run", "May it?", "ls"))


@pytest.fixture
async def store(tmp_path: Path) -> AsyncIterator[SessionStore]:
    database = Database(tmp_path / "s.db", MIGRATIONS)
    await database.open()
    sessions = SessionStore(database)
    yield sessions
    await sessions.close()
    await database.close()


async def tell(
    store: SessionStore, session_id: str, *events: ev.Event, agent: str = "Coder"
) -> None:
    if await store.get(session_id) is None:
        await store.create(
            SessionInfo(session_id, f"Chat {session_id}", "/x", agent, "p", "m", "ask", 1.0, 2.0)
        )
    journal = store.journal(session_id)
    journal.append(ev.TurnStarted(session_id, "t", (), agent, "p", "m", "inline"))
    for event in events:
        journal.append(event)
    await journal.flush()


RUN = ev.ToolQueued(
    "c1", "run", {"command": f"x --token {PASSWORD}"}, f"x --token {PASSWORD}", "act"
)
STORIES: dict[str, tuple[list[ev.Event], tuple[str, str]]] = {
    "allowed by the person": (
        [
            RUN,
            question("c1"),
            ev.PermissionResolved("q1", "once"),
            ev.ToolStarted("c1", "you, once"),
            ev.ToolFinished("c1", "out", False, 1.5, f"ok, PASSWORD={PASSWORD}"),
        ],
        ("done", "you, once"),
    ),
    "allowed by a rule": (
        [
            RUN,
            ev.ToolStarted("c1", "your rule run(x *)"),
            ev.ToolFinished("c1", "out", True, 1.5, "exit 1"),
        ],
        ("error", "your rule run(x *)"),
    ),
    "denied by the person": (
        [
            RUN,
            question("c1"),
            ev.PermissionResolved("q1", "deny"),
            ev.ToolFinished("c1", "The person did not allow this.", True, 0.1, "not allowed"),
        ],
        ("denied", "you"),
    ),
    "refused before it began": (
        [RUN, ev.ToolFinished("c1", "There is no such tool.", True, 0.0, "no tool")],
        ("refused", ""),
    ),
    "stopped at the question": (
        [RUN, question("c1"), ev.PermissionResolved("q1", "deny"), ev.TurnComplete("cancelled")],
        ("cancelled", ""),
    ),
    "stopped while it ran": (
        [RUN, ev.ToolStarted("c1", "you, once"), ev.TurnComplete("cancelled")],
        ("cancelled", "you, once"),
    ),
    "waiting": ([RUN, question("c1")], ("waiting", "")),
    "running": (
        [RUN, ev.ToolStarted("c1", "reads in the folder")],
        ("running", "reads in the folder"),
    ),
}


@pytest.mark.parametrize("story", STORIES)
async def test_the_audit_says_what_a_call_came_to_and_who_decided(
    store: SessionStore, story: str
) -> None:
    """L-15."""
    events, expected = STORIES[story]
    began = time.time()
    await tell(store, "s", *events)
    [entry] = await store.audit()
    assert (entry.state, entry.decided_by) == expected
    assert (entry.session_id, entry.title, entry.agent, entry.tool) == (
        "s",
        "Chat s",
        "Coder",
        "run",
    )
    assert entry.effect == "act" and began <= entry.at <= time.time()
    assert PASSWORD not in json.dumps(entry.to_json()), "a secret is in the audit"
    assert entry.arguments == {"command": f"x --token {SECRET}"}
    if story.startswith("allowed"):
        assert entry.seconds == 1.5 and entry.decided_at is not None and entry.decided_at >= began


async def test_a_draft_says_whether_it_was_approved(store: SessionStore) -> None:
    write = ev.ToolQueued("c1", "write", {"path": "a"}, "a", "draft")
    await tell(
        store,
        "s",
        write,
        ev.ToolStarted("c1"),
        ev.DraftCreated("c1", FileDraft("d", "a", None, "x", "")),
    )
    [entry] = await store.audit()
    assert (entry.draft, entry.draft_at) == ("waiting", None)
    await tell(store, "s", ev.DraftResolved("d", "approved"))
    [entry] = await store.audit()
    assert entry.draft == "approved" and entry.draft_at is not None


async def test_the_audit_outlives_its_session(store: SessionStore) -> None:
    """L-15: one that vanishes with a chat is none."""
    await tell(store, "s", *STORIES["allowed by a rule"][0])
    await store.update("s", title="Renamed")
    assert (await store.audit())[0].title == "Renamed"
    await store.delete("s")
    [entry] = await store.audit(AuditFilter(session_id="s", text="renamed"))
    assert entry.title == "Renamed" and entry.state == "error"


async def test_a_branch_does_not_call_again(store: SessionStore) -> None:
    await tell(store, "s", *STORIES["allowed by a rule"][0], ev.TurnComplete("done"))
    info = await store.get("s")
    assert info is not None
    from dataclasses import replace

    await store.branch("s", replace(info, id="b"))
    assert [entry.session_id for entry in await store.audit()] == ["s"]


async def test_filters_and_pages(store: SessionStore) -> None:
    for number in range(5):
        name = "read" if number % 2 else "run"
        call = ev.ToolQueued(
            f"c{number}", name, {"path": f"file_{number}%"}, f"file_{number}%", "read"
        )
        done = ev.ToolFinished(f"c{number}", "", number == 4, 0.1, "")
        await tell(store, f"s{number % 2}", call, ev.ToolStarted(call.call_id, "reads"), done)
    await tell(store, "w", RUN, agent="Writer")

    async def targets(**wanted: object) -> list[str]:
        found = await store.audit(AuditFilter(**wanted))  # type: ignore[arg-type]
        assert await store.audit_count(AuditFilter(**wanted)) == len(found)  # type: ignore[arg-type]
        return [entry.target[5:6] for entry in found]

    assert await targets() == ["o", "4", "3", "2", "1", "0"]
    assert await targets(tool="read") == ["3", "1"]
    assert await targets(session_id="s0", tool="run") == ["4", "2", "0"]
    assert await targets(agent="Writer") == ["o"]
    assert await targets(states=("error", "queued")) == ["o", "4"]
    assert await targets(text="FILE_3%") == ["3"] and await targets(text="file 3") == ["3"]
    assert await targets(text="file_ run") == ["4", "2", "0"]
    assert await targets(text="file%3") == [] and await targets(text="file-3") == []
    at = [entry.at for entry in await store.audit(newest_first=False)]
    assert await targets(since=at[4]) == ["o", "4"] and await targets(until=at[1]) == ["0"]
    page = await store.audit(limit=4)
    rest = await store.audit(beyond=page[-1].id, limit=4)
    assert [e.id for e in [*page, *rest]] == [6, 5, 4, 3, 2, 1]
    both = [entry async for page in pages(store, AuditFilter()) for entry in page]
    assert [e.id for e in both] == [1, 2, 3, 4, 5, 6]


async def test_a_damaged_row_does_not_hide_the_others(store: SessionStore, tmp_path: Path) -> None:
    await tell(store, "s", RUN, ev.ToolQueued("c2", "read", {}, "", "read"))
    with closing(sqlite3.connect(tmp_path / "s.db")) as db, db:
        db.execute("UPDATE audit SET arguments = '{not json' WHERE call_id = 'c1'")
    assert [entry.tool for entry in await store.audit()] == ["read", "run"]


async def test_a_hundred_thousand_calls_are_found_quickly(tmp_path: Path) -> None:
    """L-15: the first page of any filter, well below what a person notices."""
    path = tmp_path / "s.db"
    database = Database(path, MIGRATIONS)
    await database.open()
    await database.write(
        lambda db: db.executemany(
            """INSERT INTO audit (session_id, turn_id, call_id, agent, tool, effect, target,
            arguments, at, state) VALUES (?, 't', ?, ?, ?, 'act', ?, ?, ?, ?)""",
            (
                (f"s{n % 300}", f"c{n}", f"a{n % 7}", f"tool{n % 40}", f"file{n}", '{"a": "b"}', n,
                 "done" if n % 1000 else "denied")
                for n in range(100_000)
            ),
        )
        and None
    )  # fmt: skip
    store = SessionStore(database)
    wanted = (
        AuditFilter(),
        AuditFilter(tool="tool3"),
        AuditFilter(session_id="s5"),
        AuditFilter(states=("denied",)),
        AuditFilter(agent="a3", since=99_000, until=99_500),
        AuditFilter(until=500),
        AuditFilter(text="file99"),
    )
    everything = "SELECT sum(length(arguments)) FROM audit"
    for one in wanted:
        assert await store.audit(one, limit=100)
        best = whole = float("inf")
        for _ in range(TRIES):  # against reading everything once
            began = time.process_time()
            await store.audit(one, limit=100)
            took = time.process_time() - began
            began = time.process_time()
            await database.read(lambda db: db.execute(everything).fetchone())
            best, whole = min(best, took), min(whole, time.process_time() - began)
            if best < 20 * whole:
                break
        assert best < 20 * whole, one
    await database.close()


def test_calls_of_before_are_taken_over_without_secrets(tmp_path: Path) -> None:
    """The step to this version's shape."""
    with closing(sqlite3.connect(tmp_path / "s.db")) as db:
        for step in MIGRATIONS[:2]:
            step(db)
        db.execute(
            "INSERT INTO sessions (id, title, folder, agent, provider, model, permission_mode, created,"
            " updated, state, unread) VALUES ('s', 'T', '', '', '', '', '', 1, 1, '', 0)"
        )
        db.execute(
            "INSERT INTO turns (session_id, turn_id, agent, provider, model, mode, owner, started)"
            " VALUES ('s', 't', 'Coder', '', '', '', '', 1)"
        )
        for call_id, arguments, finished, failed in (
            ("c1", json.dumps({"password": PASSWORD}), 3.0, 0),
            ("c2", "{damaged" + f" password={PASSWORD}", 3.0, 1),
            ("c3", "[]", None, None),
        ):
            db.execute(
                "INSERT INTO tool_calls (session_id, turn_id, call_id, name, arguments, target, effect,"
                " queued, finished, is_error, seconds, summary)"
                " VALUES ('s', 't', ?, 'run', ?, '', 'act', 2, ?, ?, 1.0, NULL)",
                (call_id, arguments, finished, failed),
            )
        db.execute(
            "INSERT INTO approvals (session_id, turn_id, question_id, call_id, tool, title, detail,"
            " asked, resolved, answer) VALUES ('s', 't', 'q', 'c2', 'run', '', '', 1, 2, 'deny')"
        )
        MIGRATIONS[2](db)
        rows = db.execute("SELECT agent, tool, arguments, state, decided_by FROM audit").fetchall()
    assert [(row[0], row[1], row[3], row[4]) for row in rows] == [
        ("Coder", "run", "done", ""),
        ("Coder", "run", "denied", "you"),
        ("Coder", "run", "cancelled", ""),
    ]
    assert PASSWORD not in str(rows)


# Whole turns


async def turn_with(home: EngineHome, answer: str, *rules: Rule) -> AuditEntry:
    session = await home.session()
    await say(session, rules=rules, answer=answer)
    return (await home.engine.store.audit(AuditFilter(session_id=session.info.id)))[0]


async def test_a_real_turn_leaves_its_trail(tmp_path: Path) -> None:
    """L-15: who approved it, and when, from the engine to the table; no secret on the way."""
    calls = Turn(Call("run", {"command": f"echo hi --token {PASSWORD}"}))
    read = Turn(Call("read", {"path": "a.txt"}))
    end = Turn(Text("Done."))
    script = [calls, end, calls, end, calls, end, read, end]
    async with engine_home(tmp_path, "anthropic", script) as home:
        (home.folder / "a.txt").write_text("a")
        once = await turn_with(home, "once")
        assert (once.state, once.decided_by) == ("done", "you, once")
        assert (
            once.seconds is not None and once.decided_at is not None and once.at <= once.decided_at
        )
        denied = await turn_with(home, "deny")
        assert (denied.state, denied.decided_by) == ("denied", "you")
        forbidden = await turn_with(home, "", Rule("deny", "run"))
        assert forbidden.state == "refused"
        reading = await turn_with(home, "")
        assert (reading.state, reading.tool) == ("done", "read") and reading.decided_by
        everything = await home.engine.store.audit()
        assert len(everything) == 4 and PASSWORD not in str(everything)
        await home.engine.sessions.delete(once.session_id)
        assert len(await home.engine.store.audit()) == 4

        path = tmp_path / "audit.jsonl"
        assert await export(home.engine.store, AuditFilter(), path) == 4
        lines = [json.loads(line) for line in path.read_text().splitlines()]
        assert [line["id"] for line in lines] == [1, 2, 3, 4] and PASSWORD not in path.read_text()
        if sys.platform != "win32":
            assert stat.S_IMODE(path.stat().st_mode) == 0o600
        with pytest.raises(ConfigurationError, match="cannot be written"):
            await export(home.engine.store, AuditFilter(), tmp_path / "none" / "x")


async def test_the_command_lists_filters_and_exports(tmp_path: Path) -> None:
    """L-15: ``agent-studio audit``."""
    terminal = Command(tmp_path)
    (tmp_path / "home").mkdir(parents=True)
    empty = await terminal("audit")
    assert (empty.code, empty.out, empty.err) == (0, "", "No tool was called.\n")
    [database] = (tmp_path / "home").rglob("studio.db")
    store_db = Database(database, MIGRATIONS)
    await store_db.open()
    store = SessionStore(store_db)
    await tell(store, "abcdefghij", *STORIES["allowed by the person"][0])
    await tell(store, "abxxxxxxxx", *STORIES["refused before it began"][0], agent="Writer")
    await store.delete("abcdefghij")
    await store.close()
    await store_db.close()

    shown, found, lines, written, two, wrong = await asyncio.gather(
        terminal("audit"),
        terminal("audit", "--json", "--session", "abc", "--tool", "run", "--since", "2020-01-01"),
        terminal("audit", "--jsonl", "--state", "refused", "--agent", "Writer"),
        terminal("audit", "--output", str(tmp_path / "x.jsonl"), "--text", "once"),
        terminal("audit", "--session", "ab"),
        terminal("audit", "--state", "happy"),
    )
    first, second = shown.out.splitlines()
    assert (
        first.endswith(f"Coder: run x --token {SECRET} — you, once") and "abcdefgh  done" in first
    )
    assert "refused" in second and "Writer: run" in second
    [entry] = json.loads(found.out)
    assert entry["title"] == "Chat abcdefghij" and entry["decided_by"] == "you, once"
    assert [json.loads(line)["state"] for line in lines.out.splitlines()] == ["refused"]
    assert (
        written.err.startswith("1 call in ")
        and len((tmp_path / "x.jsonl").read_text().splitlines()) == 1
    )
    assert two.code == 1 and "more than one session" in two.err
    assert wrong.code == 1 and "refused" in wrong.err
    for ended in (shown, found, lines, written):
        assert ended.code == 0 and PASSWORD not in ended.out
