"""A language server of a few lines: words in capitals are wrong, and some do worse.

Run as a script. ``push`` in its arguments: it tells by itself. What it heard is in the file that is
its last argument.
"""

import json
import os
import sys
import time
from pathlib import Path
from typing import TextIO

push = "push" in sys.argv
texts: dict[str, str] = {}


def send(message: dict) -> None:
    body = json.dumps({"jsonrpc": "2.0", **message}).encode()
    sys.stdout.buffer.write(b"Content-Length: %d\r\n\r\n%s" % (len(body), body))
    sys.stdout.buffer.flush()


def items(uri: str) -> list:
    found = []
    for number, line in enumerate(texts[uri].split("\n")):
        if "DIE" in line:
            os._exit(1)
        while "HANG" in line:
            time.sleep(0.1)
        if "GARBAGE" in line:
            sys.stdout.buffer.write(b"x" * 10_000)
            sys.stdout.buffer.flush()
        for word in line.split():
            if word.isupper():
                span = {
                    "start": {"line": number, "character": 0},
                    "end": {"line": number, "character": 1},
                }
                severity = {"WARNING": 2, "HINT": 4}.get(word, 1)
                found.append(
                    {
                        "range": span,
                        "severity": severity,
                        "message": f"{word} is\nloud",
                        "code": "caps",
                    }
                )
    return found


def tell(uri: str, version: int) -> None:
    if push:
        send(
            {
                "method": "textDocument/publishDiagnostics",
                "params": {"uri": uri, "version": version, "diagnostics": items(uri)},
            }
        )


def main() -> None:
    with Path(sys.argv[-1]).open("a", buffering=1) as log:
        print("begin", os.getpid(), file=log)
        serve(log)


def serve(log: TextIO) -> None:
    if "deaf" in sys.argv:
        time.sleep(3600)
    while True:
        length = 0
        while line := sys.stdin.buffer.readline().strip():
            length = int(line.split(b":")[1])
        if not length:
            return
        message = json.loads(sys.stdin.buffer.read(length))
        method, params = message.get("method"), message.get("params") or {}
        print(method or "answer", json.dumps(params), file=log)
        if method == "initialize":
            if "late" in sys.argv:
                while not Path("go").exists():
                    time.sleep(0.02)
            send({"id": 1000, "method": "workspace/configuration", "params": {"items": [{}, {}]}})
            capabilities = {} if push else {"diagnosticProvider": {}}
            send({"id": message["id"], "result": {"capabilities": capabilities}})
        elif method == "textDocument/didOpen":
            document = params["textDocument"]
            texts[document["uri"]] = document["text"]
            tell(document["uri"], document["version"])
        elif method == "textDocument/didChange":
            document = params["textDocument"]
            texts[document["uri"]] = params["contentChanges"][0]["text"]
            tell(document["uri"], document["version"])
        elif method == "textDocument/diagnostic":
            send(
                {
                    "id": message["id"],
                    "result": {"kind": "full", "items": items(params["textDocument"]["uri"])},
                }
            )
        elif method == "shutdown":
            send({"id": message["id"], "result": None})
        elif method == "exit":
            return


if __name__ == "__main__":
    main()
