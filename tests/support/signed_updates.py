"""The file with the newest version, signed by keys of the tests."""

from __future__ import annotations

import base64
import json

from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from studio.agent.updates import Release

KEY, NEXT = Ed25519PrivateKey.generate(), Ed25519PrivateKey.generate()
PAGE = "https://studio.example/releases/9.1"


def text_of(content: bytes) -> str:
    return base64.b64encode(content).decode()


def signed(*keys: Ed25519PrivateKey, **told: str) -> str:
    told = {"product": "agent-studio", "version": "9.1", "page": PAGE} | told
    words = json.dumps(told)
    signatures = [text_of(one.sign(words.encode())) for one in keys or (KEY,)]
    return json.dumps({"signed": words, "signatures": signatures})


def release(url: str) -> Release:
    """What a build has that is about to change its key: both are believed."""
    keys = (text_of(one.public_key().public_bytes_raw()) for one in (NEXT, KEY))
    return Release(f"{url}/updates.json", ("no key", *keys))
