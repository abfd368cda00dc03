"""An MCP server of raw bytes that does what no server should. Run as a script, with ``-I -S``.

The arguments name faults: see ``FAULTS`` for those of calls, ``main`` for those of a start.
"""

import json
import os
import signal
import socket
import subprocess
import sys
import time

HANDSHAKE = "2025-11-25"
MODERN = "2026-07-28"
modes = sys.argv[1:]
tools = ["echo", "more", "noted"]
notes = []
roots = []
asking = []
late_calls = []


def write(data: bytes) -> None:
    sys.stdout.buffer.write(data)
    sys.stdout.buffer.flush()


def send(**message: object) -> None:
    write(json.dumps({"jsonrpc": "2.0", **message}).encode() + b"\n")


def answer(number: object, text: str) -> None:
    send(id=number, result=complete({"content": [{"type": "text", "text": text}]}))


def complete(result: dict) -> dict:
    return {**result, "resultType": "complete"} if "modern" in modes else result


def junk(number: object) -> None:
    write(b"npm notice: there is a new version\n" * 20_000)
    answer(number, "after junk")


def odd_bytes(number: object) -> None:
    write(
        b'{"jsonrpc":"2.0","id":%d,"result":{"content":[{"type":"text","text":"caf\xe9"}]}}\n'
        % number
    )


def half_letter(number: object) -> None:
    write(
        b'{"jsonrpc":"2.0","id":%d,"result":{"content":[{"type":"text","text":"\\ud83d x"}]}}\n'
        % number
    )


def big(number: object) -> None:
    write(b'{"jsonrpc":"2.0","id":%d,"result":{"content":[{"type":"text","text":"' % number)
    for _ in range(50):
        write(b"x" * 1_000_000)
    write(b'"}]}}\n')


def big_id_last(number: object) -> None:
    write(b'{"result":{"content":[{"type":"text","text":"\\"id\\":77' + b"y" * 9_000_000)
    write(b'"}]},"id":%d,"jsonrpc":"2.0"}\n' % number)


def leave(number: object) -> None:
    print("The disk is full.", file=sys.stderr, flush=True)
    os._exit(7)


def close_output(number: object) -> None:
    os.close(1)
    time.sleep(3600)


def silent(number: object) -> None:
    """The answer never comes."""


def late(number: object) -> None:
    """The answer comes after the call was cancelled."""
    late_calls.append(number)


def wrong_result(number: object) -> None:
    send(id=number, result="forty")


def odd_part(number: object) -> None:
    parts = [{"type": "text", "text": "good"}, {"type": "smell", "data": "rose"}, {"text": 3}]
    send(id=number, result=complete({"content": parts}))


def fails(number: object) -> None:
    parts = [{"type": "text", "text": "No such table."}]
    send(id=number, result=complete({"content": parts, "isError": True}))


def refuses(number: object) -> None:
    send(id=number, error={"code": -32602, "message": "Unknown unit."})


def more_tools(number: object) -> None:
    tools.append(f"new_{len(tools)}")
    send(method="notifications/tools/list_changed")
    answer(number, "changed")


def noted(number: object) -> None:
    answer(number, json.dumps(notes))


def mark(number: object) -> None:
    """Count the calls in a file, and answer none of them."""
    with open("calls", "a") as file:  # noqa: PTH123
        file.write(f"{number}\n")


def folder(number: object) -> None:
    if roots:
        answer(number, json.dumps(roots[0]))
    else:
        asking.append(number)


def reach(number: object, wanted: dict) -> None:
    """What this process can read, write and connect to."""
    found = {name: os.path.exists(name) for name in wanted["read"]}  # noqa: PTH110
    for name in wanted["write"]:
        try:
            with open(os.path.expandvars(name), "w") as file:  # noqa: PTH123
                file.write("written")
            found[name] = True
        except OSError:
            found[name] = False
    with socket.socket() as one:
        one.settimeout(5)
        found["network"] = one.connect_ex(("127.0.0.1", wanted["port"])) == 0
    answer(number, json.dumps(found))


def environment(number: object) -> None:
    answer(number, json.dumps(dict(os.environ)))


def tell_key(number: object) -> None:
    print("My key is", os.environ["KEY"], file=sys.stderr, flush=True)
    send(id=number, error={"code": -32603, "message": f"Wrong key: {os.environ['KEY']}"})


FAULTS = {
    "mark": mark,
    "folder": folder,
    "environment": environment,
    "tell_key": tell_key,
    "junk": junk,
    "odd_bytes": odd_bytes,
    "half_letter": half_letter,
    "big": big,
    "big_id_last": big_id_last,
    "leave": leave,
    "close_output": close_output,
    "silent": silent,
    "late": late,
    "wrong_result": wrong_result,
    "odd_part": odd_part,
    "fails": fails,
    "refuses": refuses,
    "more": more_tools,
    "noted": noted,
}


def listed() -> list:
    found = [{"name": name, "inputSchema": {"type": "object"}} for name in tools]
    if "wrong_tools" in modes:
        found += [{"name": 3}, {"name": "texts", "inputSchema": {"type": "string"}}, "tool"]
        found.append({"name": "vague", "description": 3, "annotations": []})
    if "tasks" in modes:
        found[0]["execution"] = {"taskSupport": "required"}
    return found


def handle(message: dict) -> None:
    method, number, params = message.get("method"), message.get("id"), message.get("params") or {}
    notes.append(method)
    if method == "server/discover" and "modern" in modes:
        about = {"supportedVersions": [MODERN], "capabilities": {"tools": {}}, "ttlMs": 0}
        send(id=number, result=complete({**about, "cacheScope": "private"}))
    elif method == "server/discover" and "dies_if_unknown" in modes:
        sys.exit(1)
    elif method == "server/discover" and "deaf_to_unknown" in modes:
        pass
    elif method == "initialize":
        result = {"protocolVersion": HANDSHAKE, "capabilities": {"tools": {"listChanged": True}}}
        send(id=number, result={**result, "serverInfo": {"name": "raw", "version": "1"}})
    elif method == "tools/list" and "pages" in modes:
        page = int(params.get("cursor") or 0)
        names = [f"tool_{page}_{one}" for one in range(1 if "small" in modes else 30)]
        found = [{"name": name, "inputSchema": {"type": "object"}} for name in names]
        send(id=number, result={"tools": found, "nextCursor": str(page + 1)})
    elif method == "tools/list":
        old = 1 if "soon_old" in modes else 0
        lists = {"tools": listed(), "ttlMs": old, "cacheScope": "private"}
        send(id=number, result=complete(lists))
    elif method == "tools/call":
        name = params["name"]
        if name == "reach":
            reach(number, params["arguments"])
        elif name in FAULTS:
            FAULTS[name](number)
        else:
            answer(number, json.dumps(params.get("arguments")))
    elif method == "notifications/initialized" and "roots" in modes:
        send(id="roots", method="roots/list")
    elif number == "roots":
        roots.append(message.get("result") or message.get("error"))
        while asking:
            folder(asking.pop())
    elif method == "notifications/cancelled":
        notes.append(f"cancelled {params['requestId']}")
        while late_calls:
            answer(late_calls.pop(), "too late")
    elif number is not None and method:
        send(id=number, error={"code": -32601, "message": "Method not found"})


def stay() -> None:
    """Ignore SIGTERM and the end of the input, with a grandchild that left the group."""
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
    code = "import os,signal,time;os.setsid();signal.signal(15,signal.SIG_IGN);time.sleep(3600)"
    child = subprocess.Popen([sys.executable, "-I", "-S", "-c", code])
    with open("pids", "a") as file:  # noqa: PTH123 - pathlib takes long to import
        file.write(f"{os.getpid()} {child.pid}\n")


def main() -> None:
    if "reason" in modes:
        print("TOKEN is not set", file=sys.stderr)
        sys.exit(3)
    if "chatty" in modes:
        write(b"Welcome to this server!\n")
        sys.exit(2)
    if "late" in modes:
        while not os.path.exists("go"):  # noqa: PTH110
            time.sleep(0.02)
    if "deaf" in modes:
        stay()
    if "no_answer" in modes:
        print("Downloading", file=sys.stderr, flush=True)
        time.sleep(3600)
    for line in sys.stdin.buffer:
        handle(json.loads(line))
    while "deaf" in modes:
        time.sleep(1)


if __name__ == "__main__":
    main()
