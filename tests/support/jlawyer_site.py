"""A server on this computer with one office, which answers as j-lawyer.org does (KZ-51)."""

from __future__ import annotations

import base64
import json
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, ClassVar

REST = "/j-lawyer-io/rest"
SIGN_IN = "Basic " + base64.b64encode(b"anna:zq8-fuchs").decode()
EVENTS = [
    {"id": "e1", "type": "EVENT", "summary": "Güteverhandlung", "location": "LG München I",
     "beginDate": 1770197400000, "endDate": 1770201000000, "done": False},
    {"id": "e2", "type": "RESPITE", "summary": "Berufung", "beginDate": "2026-07-31T22:00:00Z[UTC]",
     "done": False},
    {"id": "e3", "type": "FOLLOWUP", "summary": "Nachfragen", "beginDate": 1775080800000},
    {"id": "e4", "type": "EVENT", "summary": "Vorbei", "beginDate": 1770197400000, "done": True},
    {"id": "e5", "type": "EVENT", "summary": "Wann?", "beginDate": "gestern"},
    {"id": "e6", "type": "EVENT", "summary": "Tagung", "beginDate": 1770197400000,
     "endDate": 1770287400000, "done": False},
]  # fmt: skip
CONTACTS: dict[str, dict[str, Any]] = {
    "k1": {"firstName": "Eva", "name": "Wagner", "title": "Frau", "degreePrefix": "Dr.",
           "street": "Am Weg", "streetNumber": "1a", "zipCode": "80331", "city": "München",
           "phone": "089 1", "mobile": "0171 2", "birthDate": "04.02.1980", "birthName": "Huber",
           "bankAccount": "123456"},
    "k2": {"company": "Holzbau Reiter GmbH", "name": "Reiter", "firstName": "Max"},
    "k3": {"name": "Kranz", "firstName": "Karl"},
    "k4": {"name": "Allein", "firstName": "Ada", "zipCode": "10115"},
    "k5": {"firstName": "", "name": "", "company": ""},
}  # fmt: skip
PAGES: dict[str, object] = {
    "/v1/cases/list": [
        {"id": "a/1", "fileNumber": "0007/19", "name": "Wagner ./. Reiter", "reason": "Kauf"},
        {"id": "a2", "fileNumber": "0008/19", "name": "Schon hier"},
        {"id": "a3", "fileNumber": "0009/19", "name": "Gesperrt"},
        "keine Zeile",
    ],
    "/v2/cases/a%2F1": {
        "id": "a/1", "fileNumber": "0007/19", "name": "Wagner ./. Reiter", "reason": "Kauf",
        "claimValue": 3100.5, "archived": 1, "subjectField": "Kaufrecht", "lawyer": "niemand",
        "dateCreated": 1550000000000,
    },
    "/v1/cases/a%2F1/parties": [
        {"addressId": "k1", "involvementType": "Mandant", "reference": "S-1"},
        {"addressId": "k2", "involvementType": "Gegner"},
        {"contactId": "k3", "involvementType": "Gegnervertreter"},
        {"addressId": "k4x", "involvementType": "Nachbar"},
        {"involvementType": "Dritte"},
    ],
    "/v1/cases/a%2F1/documents": [
        {"id": "d1", "name": "Klage.txt", "folderId": "f2", "size": 9,
         "creationDate": "2019-03-01T10:00:00Z[UTC]"},
        {"id": "d2", "name": "Kopie.txt", "folderId": "weg", "size": 9},
        {"id": "d3", "name": "groß.bin", "size": 60_000_000},
        {"id": "d4", "name": "verloren.txt", "size": 1},
    ],
    "/v3/cases/a%2F1/folders": {"id": "f0", "name": "Akte", "children": [
        {"id": "f1", "name": "Gericht", "children": [{"id": "f2", "name": "LG/OLG"}]}]},
    "/v4/cases/a%2F1/duedates": EVENTS,
    "/v1/cases/document/d1/content": {"base64content": base64.b64encode(b"Die Klage").decode()},
    "/v1/cases/document/d2/content": {"base64content": base64.b64encode(b"Die Klage").decode()},
    "/v1/contacts/list": [{"id": one} for one in CONTACTS],
    **{f"/v2/contacts/{key}": {"id": key, **row} for key, row in CONTACTS.items()},
}  # fmt: skip


class JLawyer(BaseHTTPRequestHandler):
    """Answers as the REST interface of j-lawyer.org does, to who signs in."""

    asked: ClassVar[list[str]] = []
    """The paths that it was asked for."""

    def do_GET(self) -> None:
        self.asked.append(self.path)
        path = self.path.removeprefix(REST)
        status, data = 200, b""
        if self.headers["Authorization"] != SIGN_IN:
            status = 401
        elif "a3" in path:
            status = 403
        elif path in PAGES:
            data = json.dumps(PAGES[path]).encode()
        else:
            status = 500
        self.send_response(status)
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)

    def log_message(self, *_: object) -> None:
        pass


@contextmanager
def jlawyer_site() -> Iterator[str]:
    """The address of the server; Anna's password there is zq8-fuchs."""
    JLawyer.asked.clear()
    with ThreadingHTTPServer(("127.0.0.1", 0), JLawyer) as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        try:
            yield f"http://127.0.0.1:{server.server_port}"
        finally:
            server.shutdown()
            thread.join()
