"""A program that is killed while a person approves: all of it, or nothing (KZ-37, acceptance 4)."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

import studio

PACK = Path(studio.__file__).parents[1] / "packs" / "kanzlei"
KILLS = 500
CHILD = """
import json, os, signal, sys
from dataclasses import replace
from pathlib import Path

from studio.agent.packs import LoadedPack, PackHome
from studio.extensions.packs.loading import load_code
from studio.storage.pack_records import PackRecords
from studio.storage.pack_steps import read_steps
from studio.tools.packs.kinds import LocalKind
from studio.tools.packs.persons_act import ActBook

root, place, wanted = Path(sys.argv[1]), Path(sys.argv[2]), int(sys.argv[3])
code = load_code("kanzlei", root)
steps = read_steps(sorted((root / "schema").glob("*.sql")))
(place / "settings.json").write_text(json.dumps({"ordner": str(place / "Akten")}))
letters = sys.modules["studio_pack_kanzlei.tools.office.letters"]
dokumente = sys.modules["studio_pack_kanzlei.tools.office.dokumente"].Dokumente
TABLES = {"dokument": "version", "frist": "frist", "zeit": "zeit", "notiz": "notiz", "alert": "alert"}

def open_home():
    records = lambda: PackRecords(place / "records.db", steps, "kanzlei")
    return PackHome(LoadedPack("kanzlei", root, code.pack, code.tools, records, place))

def decide(home, kind, draft, what):
    book = ActBook()
    act = book.desk("command line").decided(what, [draft])[draft.id]
    with book.carrying_out(act, what, draft, home.person) as carried:
        getattr(LocalKind(kind, home), what)(draft, carried)

def count(home, sql, *values):
    return home.records.read(f"SELECT count(*) AS n FROM {sql}", *values)[0]["n"]

def die_at(home, step):
    seen, began = 0, True
    def passed(*_):
        nonlocal seen
        seen += 1
        if seen == step:
            os.kill(os.getpid(), signal.SIGKILL)
    def audited(event, arguments):
        if event in ("open", "os.rename", "os.remove", "os.mkdir", "os.chmod", "os.link"):
            passed()
    home.records._db.set_trace_callback(passed)
    sys.addaudithook(audited)

home = open_home()
akten = sys.modules["studio_pack_kanzlei.tools.office.akten"].Akten
akte = home.service(akten).open(home.person, "Wagner ./. Reiter", gericht_ort="BE")
folder = home.service(dokumente).folder_of(akte)
kinds = {one.name: one for one in code.pack.kinds}

def fields(case, number):
    if case == "ersetzt":
        path = place / f"Alt {number}.docx"
        path.write_bytes(letters.docx_of(f"Alt {number}"))
        old = home.service(dokumente).add(home.person, akte, path)
        return "dokument", {"akte": akte.id, "name": old.name, "text": "Neu", "replaces": old.digest}
    return case, {
        "dokument": {"akte": akte.id, "name": f"Brief {number}.docx", "text": "Sehr geehrte"},
        "frist": {"akte": akte.id, "kind": "Berufung", "place": "BE",
                  "event": f"2026-{number % 12 + 1:02}-{number % 27 + 1:02}"},
        "zeit": {"akte": akte.id, "minutes": 30, "text": f"Gelesen {number}", "day": "2026-02-04"},
        "notiz": {"akte": akte.id, "text": f"Notiz {number}"},
        "alert": {"akte": akte.id, "text": f"Frage {number}", "due": "2026-02-20",
                  "person": home.person.name,
                  "level": "Hinweis"},
    }[case]

kills, number, finished = 0, 0, 0
step = dict.fromkeys(("dokument", "ersetzt", "frist", "zeit", "notiz", "alert"), 1)
while kills < wanted:
    for case in step:
        number += 1
        name, given = fields(case, number)
        kind = kinds[name]
        local = LocalKind(kind, home)
        draft = local.make(given)
        local.settled(draft, "")
        table, path = TABLES[name], folder / str(given.get("name", "-"))
        before = path.read_bytes() if path.is_file() else None
        home.close()
        if not (child := os.fork()):
            home = open_home()
            home.open()
            die_at(home, step[case])
            decide(home, kind, draft, "approve")
            os._exit(0)
        _, status = os.waitpid(child, 0)
        home = open_home()
        home.open()
        local = LocalKind(kind, home)
        killed = os.WIFSIGNALED(status)
        assert killed or os.WEXITSTATUS(status) == 0, (case, step[case], status)
        kills += killed
        finished += not killed
        step[case] = step[case] + 1 if killed else 1

        def made():
            return count(home, f"{table} WHERE entwurf = ?", draft.id)

        state = home.records.read("SELECT zustand FROM entwurf WHERE id = ?", draft.id)[0]["zustand"]
        where = (case, step[case], state)
        assert state == "APPROVED" if made() else state == "PENDING", where
        noted = count(home, "verlauf WHERE entwurf = ?", draft.id)
        assert bool(noted) == (state == "APPROVED"), where
        if name == "dokument" and state == "APPROVED":
            assert path.read_bytes() not in (None, before), where
        if number % 2 and state == "PENDING":  # the person thinks better of it
            local.settled(replace(draft, status="discarded"), "Doch nicht.")
            assert not made(), where
            assert (path.read_bytes() if path.is_file() else None) == before, where
        else:  # or says it again
            assert not local.conflict(draft), (where, local.conflict(draft))
            decide(home, kind, draft, "approve")
            assert made() == 1, where
            assert home.records.read("SELECT zustand FROM entwurf WHERE id = ?", draft.id)[0][
                "zustand"] == "APPROVED", where
            if name == "dokument":
                assert path.read_bytes() != before, where
        if name == "frist":
            home.records.write("UPDATE frist SET zustand = 'storniert' WHERE akte = ?", akte.id)
names = {row["name"] for row in home.records.read("SELECT name FROM dokument")}
left = {one.name for one in folder.iterdir() if not one.name.startswith(".")} ^ names
print(kills, finished, len(left), home.records.check() or "whole")
"""


@pytest.mark.skipif(sys.platform == "win32", reason="it forks, and sends SIGKILL")
def test_kz37_a_kill_at_each_step_of_approving_leaves_all_or_nothing(tmp_path: Path) -> None:
    """Five hundred kills, at each file that is opened and each statement of SQL: the record, its
    history, the draft's state and the file agree, and saying it again or thinking better of it both
    end as without the kill."""
    root = PACK / "org.agent-studio"
    done = subprocess.run(
        [sys.executable, "-c", CHILD, str(root), str(tmp_path), str(KILLS)],
        capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr[-2000:]
    kills, finished, left, state = done.stdout.split()
    assert int(kills) >= KILLS and int(finished) >= 6 and state == "whole"
    assert int(left) == 0, "files and records name the same documents"
