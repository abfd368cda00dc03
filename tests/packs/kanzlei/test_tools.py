"""The tools of the office: their names, what their schemas weigh, and who may use which."""

from __future__ import annotations

import json
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from studio.agent.packs import PackHome
from studio.domain.errors import ToolFailed
from studio.domain.events import ToolFinished
from studio.simulator import Call, Text, Turn
from support.engine_home import engine_home, say
from support.office_home import service, switch_on

READS = {
    *("read_akte", "read_akte_detail", "read_dokumente", "read_dokumente_detail"),
    *("read_fristen", "read_fristen_detail", "read_zeiterfassung", "read_zeiterfassung_detail"),
    *("search_gesetze", "search_gesetze_detail", "search_urteile", "search_urteile_detail"),
    *("search_muster", "search_muster_detail", "get_kosten_rules"),
    *("search_alle_akten", "compute_frist", "check_zitate"),
}
DRAFTS = {
    *("create_draft_dokument", "create_draft_frist", "create_draft_zeiterfassung"),
    *("create_notiz", "create_alert"),
}
ALL = READS | DRAFTS | {"update_akte_rag"}
MAY = {
    "ADMIN": ALL,
    "ANWALT": ALL,
    "SACHBEARBEITER": READS | DRAFTS,
    "SEKRETARIAT": READS | {"create_notiz"},
    "PRAKTIKANT": READS,
}
AGENTS = Path(__file__).parents[3] / "packs" / "kanzlei" / "org.agent-studio" / "agents"


def weight(tools: list[Any]) -> int:
    """Tokens of schemas as they are sent, by four characters each."""
    sent = [
        {"name": one.spec.name, "description": one.spec.description, "parameters": one.spec.schema}
        for one in tools
    ]
    return len(json.dumps(sent, ensure_ascii=False, separators=(",", ":"))) // 4


def test_names_and_weight(kanzlei: SimpleNamespace) -> None:
    """KZ-35: the names given, at most 5,000 tokens for all; KZ-40: 1,200 for Helena kurz."""
    known = set(kanzlei.tools)
    assert known == ALL
    assert weight([*kanzlei.tools.values()]) <= 5_000
    for file in AGENTS.glob("*.md"):
        line = next(line for line in file.read_text("utf-8").splitlines() if "tools:" in line)
        names = [one.strip() for one in line.partition("[")[2].rstrip("]").split(",")]
        own = [kanzlei.tools[one] for one in names if one in known]
        if file.stem == "helena-kurz":
            assert len(own) == len(names) == 8
            assert weight(own) <= 1_200
        if file.stem == "recherche":
            assert not [one for one in names if one.startswith(("read_", "create_"))]


@pytest.mark.parametrize("role", [*MAY, "GAST"])
def test_each_role_has_its_tools_and_no_other(kanzlei: SimpleNamespace, role: str) -> None:
    """KZ-36: role by role and tool by tool."""
    roles = kanzlei.persons.ROLES
    for name in ALL:
        allowed = roles.get(role, ())
        assert ("*" in allowed or name in allowed) == (name in MAY.get(role, ())), (role, name)


ARGUMENTS: dict[str, dict[str, object]] = {
    "read_dokumente_detail": {"dokument": 1},
    "read_fristen_detail": {"frist": 1},
    "read_zeiterfassung_detail": {"zeit": 1},
    "create_draft_dokument": {"title": "Brief", "text": "Sehr geehrte"},
    "create_draft_frist": {"kind": "Berufung", "event": "2026-02-04", "place": "BE"},
    "create_draft_zeiterfassung": {"minutes": 5, "text": "x"},
    "create_notiz": {"text": "x"},
    "create_alert": {"text": "x", "due": "2026-02-20"},
    "search_alle_akten": {"query": "erborg"},
}


@pytest.mark.parametrize("role", [*MAY])
@pytest.mark.parametrize("how", ["foreign", "locked"])
async def test_no_fact_of_an_akte_that_a_person_may_not_see(
    tmp_path: Path, role: str, how: str
) -> None:
    """KZ-13, KZ-36: no tool tells one, in answers, counts and errors, whatever the role."""
    if role == "ADMIN":
        pytest.skip("who sees all")
    names = sorted(ALL & {*ARGUMENTS, "read_akte", "read_dokumente", "read_fristen"})
    calls = [Turn(Call(name, ARGUMENTS.get(name, {}))) for name in names]
    async with engine_home(tmp_path, "openai-compatible", [*calls, Turn(Text("Gut."))]) as home:
        pack: PackHome = switch_on(home)
        pack.settings_file.parent.mkdir(parents=True, exist_ok=True)
        pack.settings_file.write_text(json.dumps({"ordner": str(tmp_path / "Akten")}))
        akte = service(pack, "Akten").open(pack.person, "Geheimnis ./. Verborgen")
        (tmp_path / "Geheimnis.txt").write_text("Geheimnis")
        service(pack, "Dokumente").add(pack.person, akte, tmp_path / "Geheimnis.txt")
        service(pack, "Zeiten").add(
            pack.person, akte.id, day="2026-02-04", minutes=7, text="Geheimnis", billable=True
        )
        session = await home.session()
        await session.change(subject=akte.address)
        pack.records.write("UPDATE person SET rolle = ?", role)
        other = pack.records.write(
            "INSERT INTO person (login, name, rolle) VALUES ('eva', 'Eva', 'ANWALT')"
        )
        pack.records.write("UPDATE akte SET anwalt = ?", other)
        if how == "locked":
            pack.records.write("INSERT INTO zugriff VALUES (?, ?)", akte.id, int(pack.person.id))
            pack.records.write("UPDATE akte SET gesperrt = 1")
        said = [one for one in await say(session) if isinstance(one, ToolFinished)]
        told = "\n".join(one.text for one in said)
        for fact in ("Geheimnis", "Verborgen", akte.az, "7 min"):
            assert fact not in told
        assert not session.drafts.waiting()
        with pytest.raises(ToolFailed):
            service(pack, "Akten").get(pack.person, akte.id)
