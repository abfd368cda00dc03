"""Secret names: tells by a variable's name whether its value is a secret (P-4).

All that counts as a secret's name, in texts and in the environment, is listed here.
"""

from __future__ import annotations

import re

from .patterns import lazy_pattern

IN_TEXT = (
    r"(?:passw(?:or)?d|passphrase|passwd|pwd|secret(?!ary)|token(?!s|i[sz])|api[-_]?key"
    r"|(?:access|account|private|shared|signing|encryption|auth)[-_]?key"
    r"|credentials?|authorization|cookie(?!cutter))"
)
"""A pattern for what stands before a secret in a text: ``PASSWORD=``, ``"api_key":``."""

_ENDINGS_ANYWHERE = (
    *("PASSWORDS?", "PASSWD", "PASSPHRASE", "PASSCODE", "PASSFILE", "SECRETS?", "CREDENTIALS?"),
    *("CREDS", "TOKEN", "APIKEYS?"),
)
_WORDS_ANYWHERE = (
    *("CONN_?STRS?", "CONNECTION_?STRINGS?", "SEED_PHRASE", "MNEMONIC", "AUTH_CONFIG"),
    "OP_SESSION",
)
"""In any place of the name: PGPASSWORD, SECRET_KEY_BASE, TF_TOKEN_example_com."""
_ENDINGS = ("KEYS?", "TOKENS", "PWD", "(?<!ASK)(?<!BY)(?<!COM)PASS", "COOKIES?", "SESSID")
_WORDS = (
    *("PW", "PAT", "SAS", "AUTH", "OAUTH", "AUTHORIZATION", "BEARER", "JWTS?", "SESSION", "DSN"),
    *("WEBHOOKS?", "SIGNING", "SIGNATURE", "PRIVATE", "SALT", "PEPPER", "HMAC", "OTP", "TOTP"),
    *("PFX", "P12", "NETRC"),
)
"""At its end, or before what says of which kind it is: STRIPE_KEY_LIVE, SLACK_WEBHOOK_URL."""
_KINDS = (
    *("IDS?", "BASE", "FILE", "PATH", "JAR", "URLS?", "URI", "HEADERS?", "VALUE", "DATA", "TEXT"),
    *("HEX", "PEM", "DER", "JSON", "YAML", "RAW", "BASE64", "B64", "OLD", "NEW", "PREVIOUS"),
    *("CURRENT", "NEXT", "PRIMARY", "SECONDARY", "LIVE", "TEST", "TESTING", "PROD", "PRODUCTION"),
    *("DEV", "DEVELOPMENT", "STAGING", "LOCAL", "MAIN", "READ", "WRITE", "RO", "RW", r"V?\d+"),
)
_HARMLESS = (
    *("PWD", "OLDPWD", "LESSKEY", "PASSWORD_STORE_DIR", "DESKTOP_SESSION", "WT_SESSION"),
    *(r"XDG_SESSION_(?!COOKIE)\w+", r"(?:I?TERM|SHELL|SECURITY)_?SESSION_?ID"),
)
"""Those of shells, terminals and desktops that only sound like secrets."""
_NEEDED = (
    *("PATH", "HOME", "PWD", "OLDPWD", "USER", "LOGNAME", "SHELL", "TERM", "TZ", "LANG"),
    *("LANGUAGE", r"LC_\w+", "TMPDIR", "TEMP", "TMP", "SYSTEMROOT", "WINDIR", "COMSPEC"),
    *("PATHEXT", "USERPROFILE", "APPDATA", "LOCALAPPDATA", "PROGRAMDATA"),
)


def _either(*words: str) -> str:
    return f"(?:{'|'.join(words)})"


_SECRET = lazy_pattern(
    rf"(?:^|_)(?:{_either(rf'[A-Z0-9]*{_either(*_ENDINGS_ANYWHERE)}', *_WORDS_ANYWHERE)}"
    rf"(?:_?\d+)?(?=_|$)|{_either(rf'[A-Z0-9]*{_either(*_ENDINGS)}', *_WORDS)}"
    rf"(?:_?\d+)?(?:_{_either(*_KINDS)})*$)"
)
_SPARED = lazy_pattern(_either(*_HARMLESS))
_NEVER = lazy_pattern(_either(*_NEEDED))
_LONGEST = 256
"""Characters of a name that are looked at."""
_HUMP = lazy_pattern(r"(?<=[a-z0-9])(?=[A-Z])")


def names_secret(name: str) -> bool:
    """Whether a variable of this name holds a secret: ``DB_PASSWORD``, ``apiKey``, ``X-Token``."""
    words = re.sub(r"\W+|_+", "_", _HUMP.sub("_", name[:_LONGEST])).strip("_").upper()
    return _SPARED.fullmatch(words) is None and _SECRET.search(words) is not None


def names_need(name: str) -> bool:
    """Whether no program works without the variable, so that it is never taken for a secret."""
    return _NEVER.fullmatch(name.upper()) is not None
