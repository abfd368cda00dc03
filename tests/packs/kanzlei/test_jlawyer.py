"""Taking over an office from a server of j-lawyer.org, which a test stands in for (KZ-51)."""

from __future__ import annotations

import asyncio
import io
import json
import sys
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from importlib import import_module
from pathlib import Path

import pytest

from studio.domain.errors import ToolFailed
from studio.extensions.packs.loading import load_class
from support.engine_home import engine_home
from support.jlawyer_site import REST, JLawyer, jlawyer_site
from support.office_home import service, switch_on


@pytest.fixture
def address() -> Iterator[str]:
    """A server that has one office."""
    with jlawyer_site() as address:
        yield address


async def test_kz51_an_office_is_taken_over_from_j_lawyer_org(
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
    address: str,
) -> None:
    """Told first, with no document fetched; Akten with their Aktenzeichen, participants checked for
    conflicts, documents in their folders, dates in local time and no Frist; what is there is not
    doubled, what is wrong is told, and all is taken back. The password is in no file and no output."""
    async with engine_home(tmp_path, "openai-compatible", []) as home:
        pack = switch_on(home)
        pack.settings_file.parent.mkdir(parents=True, exist_ok=True)
        pack.settings_file.write_text(json.dumps({"ordner": str(tmp_path / "Akten")}))
        akten, documents = service(pack, "Akten"), service(pack, "Dokumente")
        kontakte = pack.service(load_class("kanzlei", "tools.contacts.kontakte:Kontakte"))
        here = akten.open(pack.person, "Schon hier", az="0008/19")
        kontakte.take_part(
            pack.person, here, kontakte.add(pack.person, name="Kranz", vorname="Karl"), "Mandant"
        )

        async def told(*words: str, password: str = "zq8-fuchs") -> tuple[int, str]:
            monkeypatch.setattr(sys, "stdin", io.StringIO(f"{password}\n"))
            code = await home.command("packs", "run", "kanzlei", *words)
            out = capsys.readouterr()
            return code, out.out + out.err

        code, said = await told("jlawyer-einlesen", address, "anna", password="falsch")
        assert code != 0 and "Benutzername oder Passwort" in said
        code, said = await told("jlawyer-einlesen", address, "anna", "--probe")
        assert code == 0 and said.startswith("2 neu, 1 schon da\n")
        assert "0007/19 Wagner ./. Reiter wegen Kauf: 3 Beteiligte, 3 Dokumente, 4 Termine" in said
        assert "neu: Kontakt Ada Allein" in said and "0009/19: " in said and "(403)" in said
        assert (
            "groß.bin ist größer als 50 MB" in said and "Fristen, die Aufgaben werden: 1." in said
        )
        assert "Erledigtes, das dort bleibt: 1." in said and "Wann?: ohne Tag" in said
        assert not [one for one in JLawyer.asked if one.endswith("/content")]
        assert len(akten.find(pack.person)) == 1

        code, said = await told("jlawyer-einlesen", address, "anna")
        assert said.startswith("2 übernommen, 2 schon da"), "one document is there twice"
        assert "Eva Wagner: ohne iban übernommen" in said and "verloren.txt" in said
        assert "Widerstreit möglich: Karl Kranz, Mandant in 0008/19" in said
        akte = akten.get(pack.person, "0007/19")
        assert (akte.rubrum, akte.area) == ("Wagner ./. Reiter wegen Kauf", "Kaufrecht")
        assert (akte.value, akte.state, akte.mandate) == (310050, "abgelegt", "2019-02-12")
        parts = {
            one.contact.shown: (one.role, one.side, one.sign) for one in kontakte.of_akte(akte)
        }
        assert parts == {
            "Dr. Eva Wagner": ("Mandant", "Mandant", "S-1"),
            "Holzbau Reiter GmbH": ("Gegner", "Gegner", ""),
            "Karl Kranz": ("Anwalt", "Gegner", ""),
        }
        eva = next(one for one in kontakte.find(pack.person) if one.name.name == "Wagner")
        assert (eva.street, eva.phone, eva.salutation) == ("Am Weg 1a", "089 1; 0171 2", "Frau")
        assert (eva.name.born, eva.iban) == ("1980-02-04", "")
        assert len(kontakte.find(pack.person, "Kranz")) == 1, "who is there takes part"
        (paper,) = documents.find(akte)
        assert (paper.folder, paper.name, paper.date) == (
            "Gericht/LG_OLG",
            "Klage.txt",
            "2019-03-01",
        )
        termin, days = sorted(service(pack, "Termine").find(pack.person), key=lambda one: one.title)
        assert days.title == "Tagung (bis 05.02.2026 11:30)" and days.end is None
        assert (termin.begin.isoformat(), f"{termin.end:%H:%M}") == ("2026-02-04T10:30:00", "11:30")
        todo = {
            one.text: one.due.isoformat() for one in service(pack, "Aufgaben").find(pack.person)
        }
        assert todo == {
            "Frist laut j-lawyer.org: Berufung": "2026-08-01",
            "Nachfragen": "2026-04-02",
        }
        assert not service(pack, "Fristen").find(pack.person)

        code, said = await told("jlawyer-einlesen", address, "anna", "--probe")
        assert said.startswith("0 neu, 2 schon da")
        code, said = await told("einlesung-zurueck", "1")
        assert said.startswith("1 Akte, 3 Kontakte, 1 Dokument, 4 Einträge zurückgenommen.")
        assert [one.az for one in akten.find(pack.person)] == ["0008/19"]
        assert [one.shown for one in kontakte.find(pack.person)] == ["Karl Kranz"]
        kept = [one for one in tmp_path.rglob("*") if one.is_file()]
        assert not [one for one in kept if b"zq8-fuchs" in one.read_bytes()]


async def test_kz51_a_password_goes_to_the_named_server_alone(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, address: str
) -> None:
    """KZ-7: no proxy, no redirect, no plain HTTP beyond the office's own network; an answer that is
    not j-lawyer.org's is told."""
    async with engine_home(tmp_path, "openai-compatible", []) as home:
        switch_on(home)
        server_of = load_class("kanzlei", "tools.intake.jlawyer_server:JLawyerServer")
        monkeypatch.setenv("http_proxy", "http://127.0.0.1:1")
        assert server_of(address, "anna", "zq8-fuchs").rows("/v1/contacts/list")
        for wrong in (
            "http://kanzlei.example", "http://93.184.216.34:8080", "ftp://server", "", "http://",
            "http://anna:zq8@server", "http://server:port",
        ):  # fmt: skip
            with pytest.raises(ToolFailed, match=r"keine Adresse|nicht im eigenen Netz"):
                server_of(wrong, "anna", "zq8-fuchs")
        for right, base in (
            ("server:8080", "http://server:8080"),
            ("http://192.168.1.5", "http://192.168.1.5"),
            ("http://[::1]:8080/j-lawyer-io/", "http://[::1]:8080"),
            ("https://kanzlei.example/", "https://kanzlei.example"),
        ):
            assert server_of(right, "anna", "zq8-fuchs").base == f"{base}{REST}"
        with pytest.raises(ToolFailed, match="Nenne Benutzername"):
            server_of(address, "anna", "")

        asked = list(JLawyer.asked)

        class Elsewhere(BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                self.send_response(200 if "broken" in self.path else 302)
                self.send_header("Location", f"{address}{REST}/v1/cases/list")
                self.end_headers()
                self.wfile.write(b"[" * 100_000)

            def log_message(self, *_: object) -> None:
                pass

        with ThreadingHTTPServer(("127.0.0.1", 0), Elsewhere) as other:
            thread = threading.Thread(target=other.serve_forever)
            thread.start()
            try:
                server = server_of(f"http://127.0.0.1:{other.server_port}", "anna", "zq8-fuchs")
                with pytest.raises(ToolFailed, match="andere Adresse"):
                    server.rows("/v1/cases/list")
                with pytest.raises(ToolFailed, match=r"nicht so, wie j-lawyer\.org"):
                    server.rows("/broken")
            finally:
                other.shutdown()
                thread.join()
        assert asked == JLawyer.asked
        with pytest.raises(ToolFailed, match="nicht zu erreichen"):
            server.rows("/v1/cases/list")


async def test_kz51_a_server_that_goes_away_ends_the_import(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What came is told apart from what did not, no further document is waited for, and all of it
    is taken back. More Akten than are read are told."""
    async with engine_home(tmp_path, "openai-compatible", []) as home:
        pack = switch_on(home)
        pack.settings_file.parent.mkdir(parents=True, exist_ok=True)
        pack.settings_file.write_text(json.dumps({"ordner": str(tmp_path / "Akten")}))
        server_of = load_class("kanzlei", "tools.intake.jlawyer_server:JLawyerServer")
        plan_of = import_module("studio_pack_kanzlei.tools.intake.jlawyer").plan_jlawyer
        intake = pack.service(load_class("kanzlei", "tools.intake.cases:CaseIntake"))
        with jlawyer_site() as address:
            server = server_of(address, "anna", "zq8-fuchs")
            monkeypatch.setattr(sys.modules[plan_of.__module__], "MOST", 1)
            assert "3 Akten, gelesen wurden 1" in plan_of(pack, pack.person, server).problems[0]
            monkeypatch.undo()
            plan = plan_of(pack, pack.person, server)
        plan.new.append(plan.new[0])
        done = intake.apply(pack.person, plan)
        assert len(done.new) == 1 and "Ab 0007/19 fehlt alles" in done.problems[0]
        akte = service(pack, "Akten").get(pack.person, "0007/19")
        assert service(pack, "Dokumente").find(akte) == []
        folders = pack.service(load_class("kanzlei", "tools.intake.folders:Intake"))
        told = await asyncio.to_thread(folders.undo, pack.person, done.number)
        assert "1 Akte" in told[0]
        assert service(pack, "Akten").find(pack.person) == []
