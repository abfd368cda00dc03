"""Finds the secrets in a server's values and puts references to the keychain there (P-4, M-18).

``--token abc`` becomes ``--token ${keychain:mcp/name/token}``. A secret is recognised by the name
before it or by its form. What merely asks for one, as ``<YOUR_TOKEN>`` does, becomes such a
reference too: its value is missing until the person gives it.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from urllib.parse import unquote

from studio.domain.redaction import holds_secret, redact
from studio.domain.secret_names import names_secret
from studio.mcp.entries import key_prefix

REFERENCE = re.compile(r"\$\{([^{}]*)\}")
"""``${VAR}``, ``${VAR:-default}`` or ``${keychain:NAME}``."""
KEYCHAIN = "keychain:"
_SCHEME = re.compile(r"(?i)((?:bearer|basic|token)\s+)(?=\S)")
_PLACEHOLDER = re.compile(
    r"(?i)<[^<>]+>|\{\{.*\}\}|\[[^\[\]]+\]|(?:x{3,}|\*{3,}|\.{3,}|…|changeme|todo|secret)"
    r"|(?:your|enter|insert|replace|paste|add)[-_ ].*|.*[-_ ]here"
    r"|[a-z]{2,8}[-_](?:x{3,}|\*{3,}|\.{3,}|…)"
)
_NAMED_ARGUMENT = re.compile(r"(-{0,2}[A-Za-z][\w.-]*)(=|:\s*)(.+)", re.S)
_LOGIN = re.compile(r"([a-z][a-z0-9+.-]*://[^\s/:@]*:)([^\s@]+)(@.+)", re.I | re.S)
_QUERY = re.compile(r"(?<=[?&])([^=&#]+)=([^&#]*)")
_LONG_PART = re.compile(r"(?<=/)(?=[\w~-]*\d)(?=[\w~-]*[A-Za-z])[\w~-]{24,}(?=[/?#]|\Z)")
"""A part of an address's path that nobody can remember: who knows it, may use the server."""


class Hiding:
    """Hides the secrets of one server; ``secrets`` has their values by their names.

    ``used`` are names in the keychain whose values stay as they are.
    """

    def __init__(
        self, server: str, environment: Mapping[str, str], used: Iterable[str] = ()
    ) -> None:
        self._prefix, self._environment = key_prefix(server), environment
        self.secrets: dict[str, str] = {}
        self._names = set(used)

    def reference(self, name: str, value: str = "") -> str:
        """A reference to the keychain; without a value it is missing there."""
        key = self._prefix + (re.sub(r"[^\w.-]+", "-", name).strip("-") or "secret")
        number, unused = 2, key
        while unused in self._names and self.secrets.get(unused, "") != value:
            unused, number = f"{key}-{number}", number + 1
        self._names.add(unused)
        if value:
            self.secrets[unused] = value
        return f"${{{KEYCHAIN}{unused}}}"

    def variable(self, name: str, value: str) -> str:
        """The value of a variable or header."""
        if not value.strip() and names_secret(name):
            return self.reference(name)
        return self._text(name, value)

    def arguments(self, given: Sequence[str]) -> tuple[str, ...]:
        hidden: list[str] = []
        before = ""
        for one in given:
            named = _NAMED_ARGUMENT.fullmatch(one)
            if before and not one.startswith("-"):
                hidden.append(self._text(before, one))
            elif named is not None and "://" not in named[1] + named[2]:
                word = named[1].lstrip("-")
                if named[3].startswith("//"):  # an address
                    hidden.append(self.address(one, "address"))
                else:
                    hidden.append(named[1] + named[2] + self._text(word, named[3]))
            else:
                hidden.append(self._text("argument", one))
            word = one.lstrip("-")
            before = word if one.startswith("-") and names_secret(word) else ""
        return tuple(hidden)

    def address(self, url: str, name: str = "url") -> str:
        """An address whose password, keys and unguessable parts are in the keychain."""
        if login := _LOGIN.fullmatch(url):
            url = login[1] + self._text("password", login[2]) + login[3]
        url = _QUERY.sub(lambda m: f"{m[1]}={self._text(unquote(m[1]), m[2])}", url)
        return _LONG_PART.sub(lambda m: self.reference(name, m[0]), url)

    def _text(self, name: str, value: str) -> str:
        """A value with each piece that is secret hidden; references in it stay."""
        if not REFERENCE.search(value):
            if "://" in value and not names_secret(name):
                return self.address(value, name)
            return self._piece(name, value)
        pieces: list[str] = []
        at = 0
        for found in REFERENCE.finditer(value):
            pieces.append(self._piece(name, value[at : found.start()]))
            pieces.append(self._default(name, found))
            at = found.end()
        pieces.append(self._piece(name, value[at:]))
        return "".join(pieces)

    def _piece(self, name: str, value: str) -> str:
        """A piece without references; ``Bearer`` before a token stays."""
        scheme = _SCHEME.match(value)
        head = scheme[1] if scheme else ""
        secret = value[len(head) :]
        if not secret.strip() or re.fullmatch(r"(?i)\s*(?:bearer|basic|token)?\s*", value):
            return value
        if _PLACEHOLDER.fullmatch(secret.strip()) and (names_secret(name) or secret[0] in "<{"):
            return head + self.reference(name)
        if names_secret(name) or looks_secret(value):
            return head + self.reference(name, secret)
        return value

    def _default(self, name: str, found: re.Match[str]) -> str:
        """A reference; where its default is a secret, one to the keychain takes its place."""
        variable, sign, default = found[1].partition(":-")
        secret = names_secret(variable) or names_secret(name) or looks_secret(default)
        if not sign or not default or not secret or variable.startswith(KEYCHAIN):
            return found[0]
        if self._environment.get(variable):
            return f"${{{variable}}}"
        return self._piece(variable if names_secret(variable) else name, default)


def looks_secret(value: str) -> bool:
    """Whether a value is a secret by its form."""
    return holds_secret(value) or redact(value) != value
