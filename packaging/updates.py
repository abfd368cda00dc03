"""The signed file that installed programs ask for the newest version: see studio/agent/updates.py.

    updates.py key FILE    makes a key pair: FILE gets the private one, pyproject.toml the other
    updates.py sign FILE   writes the file about this version, signed by UPDATE_KEY, a variable

A private key is 32 bytes in base64. It never enters the repository. UPDATE_KEY may have several, by
white space: the file is then signed by each, and programs believe it if they know one. So keys are
changed: the next one signs beside the first for as long as programs are about that know it alone.

OpenSSL signs, and no library of Python's: nothing foreign runs where the key is.
"""

from __future__ import annotations

import base64
import json
import os
import re
import secrets
import subprocess
import sys
from datetime import UTC, datetime
from pathlib import Path
from tempfile import TemporaryDirectory

from definition import ROOT, Definition, definition

PKCS8 = bytes.fromhex("302e020100300506032b657004220420")
"""What stands before the 32 bytes of an Ed25519 key in the form that OpenSSL reads (RFC 8410)."""


def text_of(content: bytes) -> str:
    return base64.b64encode(content).decode()


def public_of(private: str) -> str:
    return text_of(_openssl(private, "pkey", "-inform", "DER", "-pubout", "-outform", "DER")[-32:])


def signature(private: str, text: str) -> str:
    with TemporaryDirectory() as place:
        file = Path(place) / "signed"  # OpenSSL 3 reads what it signs from a file alone
        file.write_text(text, "utf-8")
        command = ("pkeyutl", "-sign", "-rawin", "-in", str(file))
        return text_of(_openssl(private, *command, "-keyform", "DER", "-inkey", "/dev/stdin"))


def _openssl(private: str, *command: str) -> bytes:
    """Run OpenSSL with a key on its standard input: it comes on no disk, and into no list."""
    try:
        key = base64.b64decode(private, validate=True)
    except ValueError:
        key = b""
    if len(key) != 32:
        raise SystemExit("UPDATE_KEY has something that is no key: a key is 32 bytes in base64.")
    clean = {name: value for name, value in os.environ.items() if name != "UPDATE_KEY"}
    done = subprocess.run(
        ("openssl", *command), input=PKCS8 + key, env=clean, capture_output=True, check=False
    )
    if done.returncode:
        raise SystemExit(f"OpenSSL 3 is needed: {done.stderr.decode(errors='replace')}")
    return done.stdout


def make_key(file: Path, root: Path = ROOT) -> str:
    """Write a new private key where nothing is yet; returns the public one, which is now known."""
    if file.resolve().is_relative_to(root.resolve()):
        raise SystemExit(f"{file} is in the repository, where no private key may be.")
    private = text_of(secrets.token_bytes(32))
    public = public_of(private)
    with os.fdopen(os.open(file, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "w") as opened:
        opened.write(private + "\n")
    keys = [*definition(root).updates.keys, public]
    place = root / "pyproject.toml"
    line = f"keys = {json.dumps(keys)}"
    text, found = re.subn(r"^keys = \[.*\]", line, place.read_text("utf-8"), flags=re.MULTILINE)
    if found != 1:
        raise SystemExit(f"{place} has {found} lines of keys. Add this to the right one: {public}")
    place.write_text(text, "utf-8")
    return public


def signed(about: Definition, private: list[str]) -> str:
    """What the file has; refuses a key that no installed program would believe."""
    if re.search("[a-z]", about.version):
        raise SystemExit(f"{about.version} is no version that everybody should have.")
    for key in private:
        if public_of(key) not in about.updates.keys:
            raise SystemExit("UPDATE_KEY is not the private part of a key in pyproject.toml.")
    told = json.dumps(
        {
            "product": about.command,
            "version": about.version,
            "page": about.updates.page.format(version=about.version),
            "date": datetime.now(UTC).date().isoformat(),
        }
    )
    signatures = [signature(key, told) for key in private]
    return json.dumps({"signed": told, "signatures": signatures}, indent=1)


def write_signed(about: Definition, file: Path, private: list[str]) -> str:
    """Write the file where there is something to tell; returns what to say of it."""
    if not about.updates.keys:
        if private:
            raise SystemExit("There is an UPDATE_KEY, and pyproject.toml names no public one.")
        return "pyproject.toml names no key: installed programs ask nobody for updates."
    if re.search("[a-z]", about.version):
        return f"{about.version} is a pre-release: installed programs do not hear of it."
    if not private:
        raise SystemExit("There is no UPDATE_KEY: programs would not hear of this release.")
    file.write_text(signed(about, private) + "\n", "utf-8")
    return f"{file} tells of {about.version}, signed by {len(private)} of the keys."


def main(step: str, file: Path) -> None:
    if step == "key":
        print(f"The public key is in pyproject.toml: {make_key(file)}")
        print(f"Keep {file} where nobody else reads it, and nowhere else: it signs for all.")
    elif step == "sign":
        print(write_signed(definition(), file, os.environ.get("UPDATE_KEY", "").split()))
    else:
        raise SystemExit(__doc__)


if __name__ == "__main__":
    if len(sys.argv) != 3:
        raise SystemExit(__doc__)
    main(sys.argv[1], Path(sys.argv[2]))
