"""Files at addresses: each is copied once, where the network is allowed, and read from its copy."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import unquote, urlsplit

from audit.base.errors import COPIES, InputError, without_secrets
from audit.base.machine import require_package
from audit.base.servers import blocks_of, refuse

_ADDRESS = re.compile(r"(https?|s3|gs):/{1,2}(?!/)(\S.*)", re.DOTALL)
_DIGESTS: dict[Path, str] = {}
"""Digest of each file that was copied, taken while it was."""


@dataclass(frozen=True)
class _Session:
    """Where copies lie as long as they are needed, by address."""

    folder: Path
    copies: dict[str, Path]


_SESSION: ContextVar[_Session | None] = ContextVar("remote", default=None)


def address_of(given: object) -> str:
    """The address that a text or path is, with both of its slashes; empty if it is none."""
    found = _ADDRESS.fullmatch(str(given)) if isinstance(given, str | Path) else None
    return f"{found[1]}://{found[2]}" if found else ""


def stored_place(place: str | Path) -> str:
    """A path as a manifest keeps it: absolute, or an address without user, password and query."""
    address = address_of(place)
    return without_secrets(address) if address else str(Path(place).absolute())


@contextmanager
def allowing(allowed: bool) -> Iterator[None]:
    """Read files at addresses within the block, if allowed, or if a block around it allows it."""
    if not allowed or _SESSION.get() is not None:
        yield
        return
    from tempfile import TemporaryDirectory

    with TemporaryDirectory(prefix="audit-remote-") as folder:
        before = _SESSION.set(_Session(Path(folder), {}))
        try:
            yield
        finally:
            _SESSION.reset(before)


def local(given: str | Path) -> Path:
    """A path as it is; of an address, the copy of the file there.

    The copy is read once, over the network, for its digest too.
    """
    address, session = address_of(given), _SESSION.get()
    if not address:
        return Path(given)
    if session is None:
        raise InputError(
            "files are read over the network only where that is allowed",
            found=address,
            hint="add --allow-network, or allow_network=True in Python; the file is copied once",
        )
    require_package("obstore", "to read files at addresses")
    if address not in session.copies:
        session.copies[address] = _copied(address, session.folder / str(len(session.copies)))
    return session.copies[address]


def digest_of_copy(path: Path) -> tuple[str, str] | None:
    """The address and the digest of what a path is a copy of; None if it is no copy."""
    return (COPIES[str(path)], _DIGESTS[path]) if path in _DIGESTS else None


def _copied(address: str, folder: Path) -> Path:
    parts = urlsplit(address)
    name = unquote(parts.path.rpartition("/")[2])
    if parts.scheme == "http":
        refuse(address, "an encrypted address, https://, is required", "http://")
    if parts.username or parts.password:
        refuse(
            address, "an address without a user and password is required", "an address with them"
        )
    if not (parts.hostname and name) or "/" in name or name.startswith("."):
        refuse(address, "the address of one file is required", "a folder, or a server alone")
    folder.mkdir()
    copy, digest = folder / name, hashlib.sha256()
    with copy.open("wb") as into:
        for block in blocks_of(address):
            digest.update(block)
            into.write(block)
    COPIES[str(copy)], _DIGESTS[copy] = without_secrets(address), digest.hexdigest()
    return copy
