"""The signed file that installed programs ask for the newest version: see studio/agent/updates.py.

    updates.py key FILE    makes a key pair: FILE gets the private one, pyproject.toml the other
    updates.py sign FILE   writes the file about this version, signed by UPDATE_KEY, a variable

The private key is 32 bytes in base64. It never enters the repository. A second public key may
stand beside the first: programs believe either, so that keys can be changed.
"""

from __future__ import annotations

import base64
import json
import os
import re
import sys
from pathlib import Path

from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from definition import ROOT, Definition, definition


def text_of(content: bytes) -> str:
    return base64.b64encode(content).decode()


def public_of(private: str) -> str:
    key = Ed25519PrivateKey.from_private_bytes(base64.b64decode(private, validate=True))
    return text_of(key.public_key().public_bytes_raw())


def make_key(file: Path, root: Path = ROOT) -> str:
    """Write a new private key where nothing is yet; returns the public one, which is now known."""
    if file.resolve().is_relative_to(root.resolve()):
        raise SystemExit(f"{file} is in the repository, where no private key may be.")
    private = text_of(Ed25519PrivateKey.generate().private_bytes_raw())
    with os.fdopen(os.open(file, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "w") as opened:
        opened.write(private + "\n")
    public = public_of(private)
    keys = [*definition(root).updates.keys, public]
    place = root / "pyproject.toml"
    line = f"keys = {json.dumps(keys)}"
    text, found = re.subn(r"^keys = \[.*\]", line, place.read_text("utf-8"), flags=re.MULTILINE)
    if found != 1:
        raise SystemExit(f"{place} has {found} lines of keys. Add this to the right one: {public}")
    place.write_text(text, "utf-8")
    return public


def signed(about: Definition, private: str) -> str:
    """What the file has; refuses a key that no installed program would believe."""
    if public_of(private) not in about.updates.keys:
        raise SystemExit("UPDATE_KEY is not the private part of a key in pyproject.toml.")
    told = json.dumps(
        {
            "product": about.command,
            "version": about.version,
            "page": about.updates.page.format(version=about.version),
        }
    )
    key = Ed25519PrivateKey.from_private_bytes(base64.b64decode(private))
    return json.dumps({"signed": told, "signature": text_of(key.sign(told.encode()))}, indent=1)


def main(step: str, file: Path) -> None:
    if step == "key":
        print(f"The public key is in pyproject.toml: {make_key(file)}")
        print(f"Keep {file} where nobody else reads it, and nowhere else: it signs for all.")
    elif step == "sign":
        file.write_text(signed(definition(), os.environ["UPDATE_KEY"].strip()) + "\n", "utf-8")
    else:
        raise SystemExit(__doc__)


if __name__ == "__main__":
    if len(sys.argv) != 3:
        raise SystemExit(__doc__)
    main(sys.argv[1], Path(sys.argv[2]))
