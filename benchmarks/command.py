"""The command: help, version and Tab beside bare Python; a turn up to its first request.

    python benchmarks/command.py [pairs]

Real child processes in interleaved pairs. A turn is held against the import of the
vendor's SDK, which it does without, measured in the same run. The first request is
seen on the wire, by a server that listens for it.
"""

from __future__ import annotations

import os
import resource
import socket
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from measure import Row, middle, quick, show

HELP_GOAL = "< 80 ms"
TURN_GOALS = {"ollama": "< 350 ms"}
SDK_GOAL = "<= 1.1 x"
"""Of the CPU of importing the vendor's SDK."""
PYTHON = ["-c", "pass"]
LIGHT = {
    "--help": ["-m", "studio", "--help"],
    "--version": ["-m", "studio", "--version"],
    "Tab": ["-m", "studio", "completion", "bash", "--", "run", "--agent", ""],
}
TURNS = {
    "ollama": ("OLLAMA_HOST", "import httpx2"),
    "openai": ("OPENAI_BASE_URL", "import openai"),
    "anthropic": ("ANTHROPIC_BASE_URL", "import anthropic"),
    "gemini": ("GOOGLE_GEMINI_BASE_URL", "import google.genai"),
}


def plain() -> dict[str, str]:
    """The environment, in which byte code is kept and no proxy stands between."""
    left_out = ("PYTHONDONTWRITEBYTECODE", "HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY")
    return {name: value for name, value in os.environ.items() if name.upper() not in left_out}


def spent(arguments: list[str], home: Path) -> tuple[float, float]:
    """Seconds of a process, by the clock and of the CPU."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    began = time.perf_counter()
    subprocess.run(
        [sys.executable, *arguments],
        env={**plain(), "AGENT_STUDIO_HOME": str(home)},
        stdout=subprocess.DEVNULL,
        stdin=subprocess.DEVNULL,
        check=True,
    )
    clock = time.perf_counter() - began
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return clock, after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def first_request(provider: str, home: Path) -> tuple[float, float]:
    """Seconds from the start of ``run`` to its request on the wire, by the clock and of its CPU."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        address = f"http://127.0.0.1:{server.getsockname()[1]}"
        name = provider.upper()
        environment = {
            **plain(),
            "AGENT_STUDIO_HOME": str(home),
            TURNS[provider][0]: address,
            f"{name}_API_KEY": "a-key-for-nobody",
        }
        began = time.perf_counter()
        process = subprocess.Popen(
            [sys.executable, "-m", "studio", "run", "--provider", provider, "--model", "m", "Hi"],
            env=environment,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            stdin=subprocess.DEVNULL,
            cwd=home,
        )
        try:
            server.settimeout(60)
            while True:
                connection, _ = server.accept()
                with connection:
                    if connection.recv(4096).startswith(b"POST"):
                        return time.perf_counter() - began, _cpu(process.pid)
        finally:
            process.kill()
            process.wait()


def _cpu(process: int) -> float:
    """Of all its threads until now, where the system tells (Linux); else 0."""
    stat = Path(f"/proc/{process}/stat")
    if not stat.exists():
        return 0.0
    fields = stat.read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def rows(pairs: int) -> list[Row]:
    out: list[Row] = []
    with tempfile.TemporaryDirectory() as folder:
        home = Path(folder)
        for what, arguments in LIGHT.items():
            spent(arguments, home)  # byte code is warm from here on
            found = [(spent(PYTHON, home), spent(arguments, home)) for _ in range(pairs)]
            for index, kind in enumerate(("clock", "CPU")):
                base, value = (middle(one[n][index] for one in found) * 1000 for n in (0, 1))
                goal = HELP_GOAL if what == "--help" and kind == "clock" else ""
                out.append(Row(f"{what}, {kind}", value, base, "ms", goal, "python -c pass"))
        for provider, (_, bare) in TURNS.items():
            first_request(provider, home)
            pair = [
                (spent(["-c", bare], home), first_request(provider, home)) for _ in range(pairs)
            ]
            for index, kind in enumerate(("clock", "CPU")):
                base, value = (middle(one[n][index] for one in pair) * 1000 for n in (0, 1))
                goal = TURN_GOALS.get(provider, SDK_GOAL) if kind == "CPU" else ""
                what = f"run to the first request, {provider}, {kind}"
                out.append(Row(what, value, base, "ms", goal, bare))
    return out


def main() -> None:
    counts = [int(x) for x in sys.argv[1:] if x.isdigit()]
    show(rows(counts[0] if counts else 3 if quick() else 9))


if __name__ == "__main__":
    main()
