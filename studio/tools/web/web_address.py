"""Web addresses: parses them strictly, and tells public ones from private networks (T-8).

Programs disagree on odd addresses, and such a difference could open a way to the person's
own network. So an address is parsed once, here, and odd ones are refused.
"""

from __future__ import annotations

import ipaddress
from urllib.parse import quote, urljoin, urlsplit

from studio.domain.errors import NothingRead
from studio.domain.patterns import lazy_pattern
from studio.domain.records import dataclass

LONGEST = 8_000
"""Characters of an address."""
PORTS = {"http": 80, "https": 443}

IPAddress = ipaddress.IPv4Address | ipaddress.IPv6Address

_LABEL = r"[a-z0-9_](?:[a-z0-9_-]{0,61}[a-z0-9_])?"
_HOST = lazy_pattern(rf"(?:{_LABEL}\.)*{_LABEL}")
_NUMBER = lazy_pattern(r"[0-9]+|0[xX][0-9a-fA-F]*")
_LOCAL = ("localhost", "local", "internal", "intranet", "lan", "home", "corp", "home.arpa")
"""Top-level names that are never public."""

# IANA's registries of special-purpose addresses, as of 2026. Added: 168.63.129.16, a public
# address that leads to the inside of a cloud (Azure's "WireServer").
_PRIVATE4 = tuple(
    map(
        ipaddress.IPv4Network,
        (
            *("0.0.0.0/8", "10.0.0.0/8", "100.64.0.0/10", "127.0.0.0/8", "168.63.129.16/32"),
            *("169.254.0.0/16", "172.16.0.0/12", "192.0.0.0/24", "192.0.2.0/24"),
            *("192.88.99.0/24", "192.168.0.0/16", "198.18.0.0/15", "198.51.100.0/24"),
            *("203.0.113.0/24", "224.0.0.0/4", "240.0.0.0/4"),
        ),
    )
)
_PUBLIC6 = ipaddress.IPv6Network("2000::/3")
_PRIVATE6 = tuple(
    ipaddress.IPv6Network(net)
    for net in (
        "2001::/23",  # protocols, Teredo among them
        "2001:db8::/32",
        "2002::/16",  # 6to4: an IPv4 address in disguise
        "3fff::/20",
    )
)
_MAPPED = ipaddress.IPv6Network("::ffff:0:0/96")
_NAT64 = ipaddress.IPv6Network("64:ff9b::/96")
"""How a network without IPv4 reaches the public one: the last four bytes count."""


@dataclass(frozen=True, slots=True)
class Address:
    """A parsed address. ``host`` is lower case, in ASCII, without a dot at its end;
    an IPv6 address has no brackets. ``target`` is path and query."""

    scheme: str
    host: str
    port: int
    target: str

    @property
    def authority(self) -> str:
        """Host and port as the ``Host`` header has them."""
        host = f"[{self.host}]" if ":" in self.host else self.host
        return host if self.port == PORTS[self.scheme] else f"{host}:{self.port}"

    def __str__(self) -> str:
        return f"{self.scheme}://{self.authority}{self.target}"

    @property
    def ip(self) -> IPAddress | None:
        """The host as an IP address; None if it is a name."""
        try:
            return ipaddress.ip_address(self.host)
        except ValueError:
            return None

    @property
    def is_local_name(self) -> bool:
        """Whether the name itself says that the host is in the local network."""
        if self.ip is not None:
            return False
        return "." not in self.host or any(self.host.endswith(f".{name}") for name in _LOCAL)

    def stays_at(self, other: Address) -> bool:
        """Whether another address has the same host, and the same port or HTTPS instead."""
        upgraded = (self.scheme, self.port) == ("http", 80) and other.port == PORTS[other.scheme]
        same = (self.scheme, self.port) == (other.scheme, other.port)
        return self.host == other.host and (same or upgraded)

    def join(self, reference: str) -> Address:
        """Where a redirect or a link on this page leads; raises NothingRead."""
        reference = reference.strip()
        try:
            joined = urljoin(str(self), reference)
        except ValueError as error:
            raise NothingRead(f"“{reference[:200]}” is not an address: {error}.") from None
        return parse(joined)


def parse(text: str) -> Address:
    """Parse an address; raises NothingRead that says what is wrong with it.

    International names become punycode, so that a look-alike is seen.
    """
    text = text.strip()
    if len(text) > LONGEST:
        raise NothingRead(f"The address is longer than {LONGEST:,} characters.")
    if any(ord(c) <= 32 or ord(c) == 127 or c == "\\" for c in text):
        raise NothingRead("The address holds spaces, control characters or backslashes.")
    try:
        parts = urlsplit(text)
        host, port = parts.hostname or "", parts.port
    except ValueError as error:
        raise NothingRead(f"“{text[:200]}” is not an address: {error}.") from None
    if parts.scheme not in PORTS or not parts.netloc:
        raise NothingRead(f"“{text[:200]}” is no web address. It begins with https:// or http://.")
    if "@" in parts.netloc:
        raise NothingRead("The address holds a user name or password. Use one without.")
    if port == 0:
        raise NothingRead("Port 0 cannot be used.")
    bracketed = parts.netloc.startswith("[")
    host = _ipv6(host) if bracketed else _name(host)
    query = f"?{_quoted(parts.query)}" if parts.query else ""
    target = f"{_quoted(parts.path) or '/'}{query}"
    return Address(parts.scheme, host, port or PORTS[parts.scheme], target)


def _quoted(text: str) -> str:
    return quote(text, safe="/%:@!$&'()*+,;=~?-._", errors="replace")


def _ipv6(host: str) -> str:
    try:
        found = ipaddress.IPv6Address(host)
    except ValueError:
        raise NothingRead(f"“[{host}]” is not an IPv6 address.") from None
    if found.scope_id is not None:
        raise NothingRead(f"“[{host}]” names a network card. Use an address without “%”.")
    return found.compressed


def _name(host: str) -> str:
    if not host.isascii():
        import idna

        try:
            host = idna.encode(host, uts46=True).decode("ascii")
        except idna.IDNAError:
            raise NothingRead(f"“{host}” is not a name of a host.") from None
    host = host.lower().removesuffix(".")
    if len(host) > 253 or not _HOST.fullmatch(host):
        raise NothingRead(f"“{host[:200]}” is not a name of a host.")
    if _NUMBER.fullmatch(host.rpartition(".")[2]):
        # 127.1, 0x7f.0.0.1, 2130706433 and 0177.0.0.1 all mean 127.0.0.1 to some programs.
        try:
            return str(ipaddress.IPv4Address(host))
        except ValueError:
            raise NothingRead(
                f"“{host}” is an odd way to write an address. Use four decimal numbers."
            ) from None
    return host


def plain(ip: IPAddress) -> IPAddress:
    """The IPv4 address that an IPv6 one stands for (``::ffff:1.2.3.4``), else the same."""
    if isinstance(ip, ipaddress.IPv6Address) and ip in _MAPPED:
        return ipaddress.IPv4Address(ip.packed[12:])
    return ip


def is_public(ip: IPAddress) -> bool:
    """Whether the address is in the public internet; of IPv4 within IPv6 too."""
    ip = plain(ip)
    if isinstance(ip, ipaddress.IPv6Address):
        if ip in _NAT64:
            return is_public(ipaddress.IPv4Address(ip.packed[12:]))
        return ip in _PUBLIC6 and not any(ip in net for net in _PRIVATE6)
    return not any(ip in net for net in _PRIVATE4)
