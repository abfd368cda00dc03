"""Tries the wheel, or the source archive, in the environment that it was installed into:
``try_wheel.py ENVIRONMENT PROVIDER``.

The command and the module start, know where they are, and find what ships with them. The provider
is asked: ``builtin`` where the built-in model is installed, else ``simulator``.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path

from definition import definition


def main(environment: Path, provider: str) -> None:
    about = definition()
    folder = environment / ("Scripts" if sys.platform == "win32" else "bin")
    with tempfile.TemporaryDirectory() as home:
        clean = {
            name: value for name, value in os.environ.items() if not name.startswith("PYTHON")
        } | {"AGENT_STUDIO_HOME": home}

        def said(*command: str | Path) -> str:
            done = subprocess.run(
                command, cwd=home, env=clean, capture_output=True, text=True, check=False
            )
            if done.returncode:
                raise SystemExit(f"{command} ended with {done.returncode}:\n{done.stderr}")
            return done.stdout

        for command in ((folder / about.command,), (folder / "python", "-m", "studio")):
            version = said(*command, "--version").strip()
            if version != f"{about.title} {about.version}":
                raise SystemExit(f"{command} says that it is {version}")
        told = json.loads(said(folder / about.command, "doctor", "--offline", "--json"))
        found = {one["name"]: one["text"] for one in told}
        if not found["Installation"].startswith("pip, in "):
            raise SystemExit(f"The doctor says: {found['Installation']}")
        if "kanzlei" not in (packs := said(folder / about.command, "packs", "list")):
            raise SystemExit(f"The packs that ship are: {packs}")
        asked = ("run", "--provider", provider, "--agent", "Plain", "Hello")
        answer = said(folder / about.command, *asked)
        if not answer.strip():
            raise SystemExit(f"{provider} says nothing.")
    print(f"It works: {about.command} and python -m studio, with {provider}")


if __name__ == "__main__":
    main(Path(sys.argv[1]).resolve(), sys.argv[2])
