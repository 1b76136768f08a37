"""Files at addresses: each is copied once, where the network is allowed, and read from its copy."""

from __future__ import annotations

import hashlib
import os
import re
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from contextvars import ContextVar
from dataclasses import dataclass
from datetime import timedelta
from functools import partial
from pathlib import Path
from typing import Any, NoReturn
from urllib.parse import unquote, urlsplit

from audit.base.errors import COPIES, InputError, without_secrets
from audit.base.machine import require_package

_ADDRESS = re.compile(r"(https?|s3|gs):/{1,2}(?!/)(\S.*)", re.DOTALL)
_BLOCK = 2**20
_SECONDS = 30
"""After which a server that says nothing is given up."""
_ANSWERS = {
    401: "a server that wants to know who asks",
    403: "a server that does not allow it",
    404: "nothing there",
    410: "nothing there any more",
}
_RIGHTS = {
    "https": "~/.netrc, which nobody else may read, may hold the user and password of a server",
    "s3": "AWS_ACCESS_KEY_ID, AWS_SECRET_ACCESS_KEY and AWS_REGION state the rights; "
    "AWS_SKIP_SIGNATURE=true reads what is public",
    "gs": "GOOGLE_APPLICATION_CREDENTIALS names a file of the rights",
}
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
        raise _refused(address, "an encrypted address, https://, is required", "http://")
    if parts.username or parts.password:
        required, found = "an address without a user and password is required", "one with them"
        raise _refused(address, required, found)
    if not (parts.hostname and name) or "/" in name or name.startswith("."):
        found = "a folder, or a server alone"
        raise _refused(address, "the address of one file is required", found)
    folder.mkdir()
    copy, digest, length = folder / name, hashlib.sha256(), 0
    opened = _of_server if parts.scheme == "https" else _of_store
    with _telling(address), opened(address) as (state, blocks), copy.open("wb") as into:
        for block in blocks:
            digest.update(block)
            into.write(block)
            length += len(block)
    if length != state[0]:
        required, found = f"a whole file of {state[0]:,} bytes is required", f"{length:,}, cut"
        raise _refused(address, required, found, "run it again")
    with _telling(address), opened(address) as (then, _):
        if then != state:
            required = "a file that stays as it is while it is read is required"
            raise _refused(address, required, "one that was replaced meanwhile", "run it again")
    with copy.open("rb") as stream:
        if re.match(rb"(?i)\s*<(!doctype\s+html|html)\b", stream.read(200)):
            hint = "open it in a browser: it may ask you to sign in"
            raise _refused(address, "the file itself is required", "a page of HTML", hint)
    COPIES[str(copy)], _DIGESTS[copy] = without_secrets(address), digest.hexdigest()
    return copy


def _refused(address: str, required: str, found: str, hint: str = "") -> InputError:
    return InputError(required, found=found, where=address, hint=hint)


@contextmanager
def _of_server(address: str) -> Iterator[tuple[tuple[Any, ...], Iterator[bytes]]]:
    """The length and state of a file on a server, which may not send elsewhere, and its blocks."""
    import ssl
    from urllib.request import HTTPRedirectHandler, HTTPSHandler, Request, build_opener

    class Stay(HTTPRedirectHandler):
        def redirect_request(self, *told: Any) -> NoReturn:
            told[1].close()
            hint = "give that address, if you trust it"
            required = "the address of the file itself is required"
            raise _refused(address, required, f"a redirect to {told[-1]}", hint) from None

    opener = build_opener(HTTPSHandler(context=ssl.create_default_context()), Stay)
    asked = Request(address, headers={"Accept-Encoding": "identity", **_authorised(address)})
    with opener.open(asked, timeout=_SECONDS) as answer:
        length = answer.headers.get("content-length") or ""
        if not length.isdecimal():
            required = "a server that says how long the file is, is required"
            raise _refused(address, required, "a server that does not say it")
        marks = (answer.headers.get(name) for name in ("etag", "last-modified"))
        yield (int(length), *marks), iter(partial(answer.read, _BLOCK), b"")


def _authorised(address: str) -> Mapping[str, str]:
    from base64 import b64encode
    from netrc import NetrcParseError, netrc

    with suppress(OSError, NetrcParseError):
        if known := netrc().authenticators(urlsplit(address).hostname or ""):
            pair = b64encode(f"{known[0]}:{known[2]}".encode()).decode()
            return {"Authorization": f"Basic {pair}"}
    return {}


@contextmanager
def _of_store(address: str) -> Iterator[tuple[tuple[Any, ...], Iterator[bytes]]]:
    """The same of a file in a store of S3 or Google, by the rights that the environment states."""
    import obstore
    from obstore.store import GCSStore, S3Store

    parts, allowed = urlsplit(address), os.environ.get("AWS_ALLOW_HTTP") == "true"
    if os.environ.get("AWS_ENDPOINT_URL", "").startswith("http:") and not allowed:
        required, hint = "an encrypted endpoint, https://, is required", "AWS_ALLOW_HTTP=true"
        raise _refused(address, required, "AWS_ENDPOINT_URL=http://", f"{hint} allows it")
    options: Any = {"allow_http": allowed, "connect_timeout": f"{_SECONDS}s", "timeout": "1h"}
    if trusted := os.environ.get("SSL_CERT_FILE"):
        options["root_certificate"] = Path(trusted).read_bytes()
    retries: Any = {"max_retries": 2, "retry_timeout": timedelta(seconds=_SECONDS)}
    kind: Any = S3Store if parts.scheme == "s3" else GCSStore
    store = kind(parts.netloc, client_options=options, retry_config=retries)
    answer = obstore.get(store, unquote(parts.path).lstrip("/"))
    told: Any = answer.meta
    state = (told["size"], *map(told.get, ("e_tag", "last_modified", "version")))
    yield state, map(bytes, answer.stream(_BLOCK))


@contextmanager
def _telling(address: str) -> Iterator[None]:
    """One error for what servers, stores and connections do."""
    from http.client import HTTPException
    from urllib.error import HTTPError

    from obstore.exceptions import BaseError, PermissionDeniedError

    required, hint = "a file that can be read is required", _RIGHTS[urlsplit(address).scheme]
    try:
        yield
    except HTTPError as error:
        error.close()
        found = _ANSWERS.get(error.code, f"an answer of the server: {error.code} {error.reason}")
        own = hint if error.code in (400, 401, 403) else ""
        raise _refused(address, required, found, own) from None
    except (BaseError, FileNotFoundError, OSError, HTTPException) as error:
        reason = getattr(error, "reason", error)
        said = str(reason).split("\n")[0].rpartition(" - ")[2] or type(error).__name__
        found = f"no connection, or one that was cut: {said}"
        if isinstance(error, FileNotFoundError):  # as those of stores are
            found, hint = _ANSWERS[404], ""
        elif isinstance(error, PermissionDeniedError):
            found = _ANSWERS[403]
        elif "certificate" in str(reason).lower():
            required = "a certificate that this machine trusts is required"
            hint = "SSL_CERT_FILE names a file of further certificates"
        raise _refused(address, required, found, hint) from None
