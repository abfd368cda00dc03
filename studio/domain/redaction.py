"""Redaction: removes keys, tokens and passwords from texts that are kept, shown or sent (L-15).

All functions take time linear in the length of the text, because a model or a server may
write a very long one.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import cast

from .jsonvalue import Json, JsonObject
from .ledger import canonical_json
from .patterns import lazy_pattern
from .secret_names import IN_TEXT

SECRET = "[secret]"
"""Replaces a secret in the arguments of a call."""
LONG = 20_000
"""Characters of one argument that are kept; a file's whole text is in the transcript."""

_KEY = lazy_pattern(r"(?i)\b(?:sk|rk|pk|gsk|xai|pplx|AQ)([-_.])([^\s\"'`,;)}\]]{8,})")
"""How keys begin, and also ``sk_SK.UTF-8``, ``sk-learning`` and ``sk_buff_head_init``."""
_PARTLY = lazy_pattern(r"[\d*…]")
_RUN = lazy_pattern(r"(?i)(?:[a-z]{1,20}_){0,4}(?=[a-z]*\d)(?=\d*[a-z])[a-z\d]{16}")
_MIXED = lazy_pattern(r"(?=[\w-]*\d)(?=[\w-]*[A-Z])(?=[\w-]*[a-z])[\w-]{24}")
_LOGGED_IN = lazy_pattern(
    r"(?i)\b(authorization\\?\"?\s?[:=]\s?\\?\"?)?(?:bearer|basic)\s+([^\s\"'`,;)}\]]{4,})"
)
"""What follows is a token, or the sentence goes on: “basic usage”, “no bearer token”."""
_KEYS = (
    lazy_pattern(r"\bAIza[^\s\"'`,;)}\]]{4,}"),
    # https://host/?sig=x: the name decides, however short the value is
    lazy_pattern(
        r"(?i)([?&#](?:amp;)?(?:(?:(?:api|access|auth|client|id|private|refresh|session|shared"
        r"|subscription|x[-_](?:amz|goog)(?:[-_]security)?)[-_]?)?(?:key|token|secret|sig|signature)"
        r"|auth|jwt|passw(?:or)?d|passwd|pwd|assertion|ticket|sid|session(?:[-_]?id)?|sas|hmac"
        r"|pass|otp|pin)=)[^\s&\"'`]+"
    ),
    # A code of a log-in; a state or a country is shorter, or a number.
    lazy_pattern(r"(?i)([?&#](?:amp;)?code=)(?!\d+(?:[\s&\"'`]|$))[^\s&\"'`]{8,}"),
    lazy_pattern(
        r"(?i)(\b(?:x-)?(?:goog-)?api[-_ ]?key\"?(?: provided)?\s*[:=]\s*\"?)(?!\[key\])"
        r"[^\s\"'`,;)}]+"
    ),
)

_NAMED = lazy_pattern(rf"(?i){IN_TEXT}[\w-]{{0,20}}\s*$")
_WORD = r"(?:[^\s\"'`&;|,)}\]]+)"
_VALUE = (
    r"(?!\"?\$\{?\w+\}?\"?(?:[\s;&|)]|$)|\[(?:key|secret)\])"  # a variable's name is no secret
    rf"(?:\\\"(?:[^\"\\]|\\[^\"])*(?:\\\")?|\"(?:[^\"\\]|\\.)*\"?|'[^']*'?|{_WORD})"
)
_FORMS = (
    # Tokens with a recognisable form.
    lazy_pattern(
        r"(?<![\w-])(?:gh[pousr]_\w{8,}|github_pat_\w{8,}|glpat-[\w-]{8,}"
        r"|x(?:ox[a-z]|app)-[\w-]{8,}"
        r"|(?:AKIA|ASIA)[0-9A-Z]{12,}|ya29\.[\w-]{8,}|npm_[A-Za-z0-9]{16,}|hf_[A-Za-z0-9]{16,}|pypi-[\w-]{16,}"
        r"|SG\.[\w.-]{16,}|dop_v1_\w{16,}|eyJ[\w-]{8,4000}\.[\w-]{8,4000}(?:\.[\w-]*)?)"
    ),
    # Addresses that are secrets as a whole.
    lazy_pattern(
        r"(?i)(\bhttps://(?:hooks\.slack(?:-gov)?\.com/(?:services|workflows)"
        r"|discord(?:app)?\.com/api/webhooks|[\w-]{1,60}\.webhook\.office\.com/webhookb2)/)"
        r"[^\s\"'<>]+"
    ),
    lazy_pattern(
        r"-----BEGIN [A-Z ]{0,40}PRIVATE KEY-----.*?(?:-----END [A-Z ]{0,40}PRIVATE KEY-----|\Z)",
        re.S,
    ),
    # https://token@host; shorter ones, those without a digit and mail addresses are names
    lazy_pattern(
        r"(?i)(\bhttps?://)(?![^\s/@:]{0,200}%40)"
        r"(?:(?=\w{0,200}?\d)(?=\w{0,200}?[a-z])\w{20,}|[\w.~+=%-]{32,})(?=(?::(?:x-oauth-basic)?)?@)"
    ),
    # https://name:password@host; a quotation mark that cannot end the address is part of it
    lazy_pattern(
        r"(?i)([a-z][a-z0-9+.-]{1,20}://[^\s/:@\"']*:)(?!\d{1,5}[\"'])"
        r"(?:[^\s/@\"']|[\"']+(?=[\w@!#$%&*^~])|@(?=[^\s/@\"',;]*@))+(?=@)"
    ),
    lazy_pattern(r"(?i)\b((?:(?:set-)?cookie|(?:proxy-)?authorization):\s{0,4})[^\"'\n]+"),
    # PASSWORD=x, "api_key": "x", Authorization: Bearer x, --token x
    lazy_pattern(
        rf"(?i)((?:{IN_TEXT})[\w-]{{0,20}}\\?[\"']?\s{{0,4}}(?:=|:(?!//))\s{{0,4}}"
        rf"(?:(?:bearer|basic|token)\s+)?){_VALUE}"
    ),
    lazy_pattern(rf"(?i)(?<![\w-])(--?[\w-]{{0,30}}{IN_TEXT}\s+){_VALUE}"),
    # Programs whose option for a password has one letter.
    lazy_pattern(r"(\bcurl\b[^|;&\n]{0,400}?\s(?:-u|--user)\s*[\"']?[^\s:\"']{1,100}:)[^\s\"']+"),
    lazy_pattern(rf"(\bsshpass\s+-p\s*){_VALUE}"),
    lazy_pattern(rf"(\blogin\b[^|;&\n]{{0,200}}?\s-p\s+){_VALUE}"),
    lazy_pattern(rf"(\bredis-cli\b[^|;&\n]{{0,200}}?\s-a\s+){_VALUE}"),
    lazy_pattern(rf"(\b(?:mysql|mariadb)\w{{0,20}}\b[^|;&\n]{{0,200}}?\s-p)(?!\s){_VALUE}"),
)
_SERVICES = lazy_pattern(
    r"(?:^|[\s:=/@\"'])(?:sk-|AIza|gh[opsur]_|github_pat_|glpat-|xox[abeprs]-|hf_|gsk_|AKIA)[\w-]{8}"
)
"""How the keys of well-known services begin: with less doubt than in ``_KEYS``."""
_LOGIN = lazy_pattern(
    r"://[^/\s@:]{0,200}:(?!\d{1,5}(?:[/?#]|$))[^\s]{0,300}@"
    r"|\A[\w.%+-]{1,200}:[^\s@/]{1,200}@(?!sha\d|v?\d+(?:\.\d+){0,2}$)[\w.(-]"
)
"""``//name:password@host``, whatever the password is made of, and the same without the ``//``."""


def redact(text: str, *keys: str) -> str:
    """The text without the given keys and without anything that looks like one."""
    for key in keys:
        if len(key) >= 4:
            text = text.replace(key, "[key]")
    text = _KEY.sub(lambda m: "[key]" if _is_key(m[1], m[2]) else m[0], text)
    text = _LOGGED_IN.sub(lambda m: f"{m[1] or ''}[key]" if m[1] or _is_token(m[2]) else m[0], text)
    for pattern in _KEYS:
        text = pattern.sub(lambda m: (m.group(1) if m.re.groups else "") + "[key]", text)
    return text


def _is_key(sign: str, rest: str) -> bool:
    """Whether what follows ``sk-`` is long or mixed enough; in a key shown in part are stars."""
    if sign == "-":
        return len(rest) >= 16 or _PARTLY.search(rest) is not None
    return _RUN.match(rest) is not None or (len(rest) >= 24 and _MIXED.match(rest) is not None)


def _is_token(word: str) -> bool:
    return len(word) >= 16 or re.search(r"\d|[a-z][A-Z]|[=/+]", word) is not None


def without_secrets(text: str) -> str:
    """A command line, a file's text or an address without its secrets.

    A secret is recognised by its form (a token, a private key, a password in an address)
    or by the name before it (``--password``, ``API_KEY=``, ``"token":``). A secret with
    neither cannot be recognised.
    """
    text = redact(text)
    for pattern in _FORMS:
        text = pattern.sub(lambda m: (m.group(1) if m.re.groups else "") + SECRET, text)
    return text


def holds_secret(text: str) -> bool:
    """Whether a text, the value of a variable for instance, surely holds a secret."""
    return any(pattern.search(text) for pattern in (_SERVICES, _LOGIN, *_FORMS))


def without_keys(value: Json, keys: Sequence[str]) -> Json:
    """The value with these keys left out of all texts."""
    match value:
        case str():
            for key in keys:
                value = value.replace(key, "[key]")
            return value
        case list():
            return [without_keys(one, keys) for one in value]
        case Mapping():
            return {name: without_keys(one, keys) for name, one in value.items()}
        case _:
            return value


def arguments_without_secrets(arguments: JsonObject) -> JsonObject:
    """A call's arguments without secrets, in the same shape, as far as they can be read."""
    try:
        return cast("JsonObject", _value(arguments))
    except RecursionError:  # nested too deeply
        return {"arguments": without_secrets(canonical_json(arguments)[:LONG])}


def _value(value: Json) -> Json:
    if isinstance(value, str):
        more = len(value) - LONG
        omission = f" [… {more:,} more characters …]" if more > 0 else ""
        return without_secrets(value[:LONG]) + omission
    if isinstance(value, list):
        return [_value(item) for item in value]
    if isinstance(value, dict):
        return {
            without_secrets(name): SECRET if _hides(name, inner) else _value(inner)
            for name, inner in value.items()
        }
    return value


def _hides(name: str, value: Json) -> bool:
    """Whether the name says that the value is secret; booleans, null and empty texts never are."""
    return not isinstance(value, bool | None) and value != "" and bool(_NAMED.search(name))
