"""Cluster certificates: make the authority, and what both sides prove with who they are.

The authority's key stays in the folder of the coordinator, with a list of who was invited, by the
numbers of their certificates: an invitation can be taken back. A certificate of a worker is good
for a client alone, so a worker cannot pass for the coordinator.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterable
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import ExtendedKeyUsageOID, NameOID

from studio.domain.errors import ConfigurationError
from studio.domain.records import dataclass
from studio.files.atomic_write import write_atomically
from studio.files.file_lock import exclusive_access
from studio.files.folders import private_folder

from .lines import COORDINATOR, WORKER, Identity

AUTHORITY_DAYS, DAYS = 3650, 365
_EARLIER = timedelta(days=1)
"""Clocks of other machines may be behind."""


@dataclass(frozen=True, slots=True)
class Invitation:
    """What a worker joins with."""

    name: str
    address: str
    identity: Identity


@dataclass(frozen=True, slots=True)
class _Invited:
    """A certificate of a worker, by its number."""

    name: str
    number: str
    taken_back: bool = False


def coordinator_identity(folder: Path) -> Identity:
    """A new identity of the coordinator, which is never on the disk.

    Makes the authority the first time; raises ConfigurationError where it cannot be used.
    """
    return _issued(folder, COORDINATOR, ExtendedKeyUsageOID.SERVER_AUTH)


def invite(folder: Path, name: str, address: str, file: Path) -> None:
    """Write an invitation for a worker, which only the person may read."""
    if not name.strip() or not name.isprintable() or len(name) > 50:
        raise ConfigurationError("A worker needs a name of 1 to 50 characters.")
    made = _issued(folder, f"{WORKER}{name}")
    with exclusive_access(_list_of(folder)):
        _note(folder, [*_noted(folder), _Invited(name, _number(made))])
    told = {
        "name": name,
        "address": address,
        "authority": made.authority,
        "certificate": made.certificate,
        "key": made.key,
    }
    _write_private(file, json.dumps(told, indent=2).encode())


def take_back(folder: Path, name: str) -> None:
    """Let nobody join any more with the invitations that were written for a worker.

    Raises ConfigurationError where there is none, or none that counts.
    """
    with exclusive_access(_list_of(folder)):
        known = _noted(folder)
        if not any(one.name == name and not one.taken_back for one in known):
            names = dict.fromkeys(one.name for one in known if not one.taken_back)
            listed = f" Invited are {', '.join(names)}." if names else ""
            raise ConfigurationError(f"There is no invitation for {name}.{listed}")
        _note(folder, [replace(one, taken_back=True) if one.name == name else one for one in known])


def taken_back(folder: Path) -> frozenset[str]:
    """The numbers of certificates that nobody joins with any more; blocks."""
    return frozenset(one.number for one in _noted(folder) if one.taken_back)


def _noted(folder: Path) -> list[_Invited]:
    """Who was invited; raises ConfigurationError where that cannot be read."""
    file = _list_of(folder)
    try:
        return [_Invited(**one) for one in json.loads(file.read_text("utf-8"))]
    except FileNotFoundError:
        return []
    except (OSError, ValueError, TypeError) as error:
        raise ConfigurationError(
            f"The list of invitations {file} is damaged. Remove it and {folder / 'authority.pem'}, "
            "and invite every worker anew."
        ) from error


def _note(folder: Path, known: Iterable[_Invited]) -> None:
    data = [{"name": one.name, "number": one.number, "taken_back": one.taken_back} for one in known]
    # In one step: while the list is gone, every invitation would count.
    write_atomically(_list_of(folder), json.dumps(data, indent=2).encode())


def _list_of(folder: Path) -> Path:
    return folder / "invited.json"


def _number(made: Identity) -> str:
    certificate = x509.load_pem_x509_certificate(made.certificate.encode())
    return f"{certificate.serial_number:X}"


def read_invitation(file: Path) -> Invitation:
    """Raises ConfigurationError for a file that is none, or that others can read."""
    try:
        _require_private(file)
        told = json.loads(file.read_text("utf-8"))
        made = Identity(*(str(told[name]) for name in ("authority", "certificate", "key")))
        return Invitation(str(told["name"]), str(told["address"]), made)
    except FileNotFoundError as error:
        raise ConfigurationError(f"There is no file {file}.") from error
    except (KeyError, TypeError, ValueError) as error:
        raise ConfigurationError(
            f"{file} is no invitation. Make one on the coordinator: agent-studio cluster invite"
        ) from error


def _issued(folder: Path, name: str, *more: x509.ObjectIdentifier) -> Identity:
    """A new key with a certificate of the authority, for a client and for what else is told."""
    authority, authority_key = _authority(folder)
    key = ec.generate_private_key(ec.SECP256R1())
    uses = x509.ExtendedKeyUsage([ExtendedKeyUsageOID.CLIENT_AUTH, *more])
    until = min(datetime.now(UTC) + timedelta(days=DAYS), authority.not_valid_after_utc)
    made = (
        _builder(name, authority.subject, key, until)
        .add_extension(x509.BasicConstraints(ca=False, path_length=None), critical=True)
        .add_extension(uses, critical=False)
        .sign(authority_key, hashes.SHA256())
    )
    return Identity(_pem(authority), _pem(made), _key_pem(key))


def _authority(folder: Path) -> tuple[x509.Certificate, ec.EllipticCurvePrivateKey]:
    """The authority in the folder, made the first time; raises ConfigurationError."""
    file = folder / "authority.pem"
    if not file.exists():
        private_folder(folder)
        key = ec.generate_private_key(ec.SECP256R1())
        name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "Agent Studio cluster")])
        until = datetime.now(UTC) + timedelta(days=AUTHORITY_DAYS)
        usage = x509.KeyUsage(False, False, False, False, False, True, True, False, False)
        made = (
            _builder("Agent Studio cluster", name, key, until)
            .add_extension(x509.BasicConstraints(ca=True, path_length=0), critical=True)
            .add_extension(usage, critical=True)
            .sign(key, hashes.SHA256())
        )
        _write_private(file, f"{_pem(made)}{_key_pem(key)}".encode())
    _require_private(file)
    try:
        data = file.read_bytes()
        found = x509.load_pem_x509_certificate(data)
        key = serialization.load_pem_private_key(data[data.index(b"-----BEGIN PRIVATE") :], None)
    except ValueError as error:
        raise ConfigurationError(_broken(file, "is damaged")) from error
    if not isinstance(key, ec.EllipticCurvePrivateKey) or key.public_key() != found.public_key():
        raise ConfigurationError(_broken(file, "has a key of another certificate"))
    if found.not_valid_after_utc <= datetime.now(UTC):
        raise ConfigurationError(_broken(file, "is no longer valid"))
    return found, key


def _broken(file: Path, why: str) -> str:
    return (
        f"The cluster does not start: its authority {file} {why}. Remove the file and invite "
        "every worker anew."
    )


def _builder(
    name: str, issuer: x509.Name, key: ec.EllipticCurvePrivateKey, until: datetime
) -> x509.CertificateBuilder:
    return (
        x509.CertificateBuilder()
        .subject_name(x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, name)]))
        .issuer_name(issuer)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(datetime.now(UTC) - _EARLIER)
        .not_valid_after(until)
    )


def _pem(certificate: x509.Certificate) -> str:
    return certificate.public_bytes(serialization.Encoding.PEM).decode()


def _key_pem(key: ec.EllipticCurvePrivateKey) -> str:
    return key.private_bytes(
        serialization.Encoding.PEM,
        serialization.PrivateFormat.PKCS8,
        serialization.NoEncryption(),
    ).decode()


def _write_private(file: Path, data: bytes) -> None:
    file.unlink(missing_ok=True)  # its permissions would stay
    write_atomically(file, data)
    file.chmod(0o600)


def _require_private(file: Path) -> None:
    if os.name == "posix" and file.stat().st_mode & 0o077:
        raise ConfigurationError(f"Others can read {file}. Run: chmod 600 {file}")
