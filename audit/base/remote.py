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
from pathlib import Path
from typing import Any, NoReturn
from urllib.parse import quote, unquote, urlsplit

from audit.base.errors import COPIES, InputError, without_secrets
from audit.base.machine import require_package

_ADDRESS = re.compile(r"(https?|s3|gs):/{1,2}(?!/)(\S.*)", re.DOTALL)
_AT_ONCE = 2**20
_SECONDS = 30
"""After which a server that says nothing is given up."""
_RETRIES: Any = {"max_retries": 2, "retry_timeout": timedelta(seconds=_SECONDS)}
_DIGESTS: dict[Path, str] = {}
"""Digest of each file that was copied, taken while it was."""
_ANSWERS = {
    401: "a server that wants to know who asks",
    403: "a server that does not allow it",
    404: "nothing there",
    410: "nothing there any more",
}
_OF_RIGHTS = (301, 400, 401, 403)
_RIGHTS = {
    "https": "~/.netrc, which nobody else may read, may hold the user and password of a server",
    "s3": "AWS_ACCESS_KEY_ID, AWS_SECRET_ACCESS_KEY and AWS_REGION state the rights; "
    "AWS_SKIP_SIGNATURE=true reads what is public",
    "gs": "GOOGLE_APPLICATION_CREDENTIALS names a file of the rights",
}


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
        _refuse(address, "an encrypted address, https://, is required", "http://")
    if parts.username or parts.password:
        _refuse(
            address, "an address without a user and password is required", "an address with them"
        )
    if not (parts.hostname and name) or "/" in name or name.startswith("."):
        _refuse(address, "the address of one file is required", "a folder, or a server alone")
    folder.mkdir()
    copy, digest = folder / name, hashlib.sha256()
    read = _from_google if parts.scheme == "gs" else _from_server
    with copy.open("wb") as into:
        for block in read(address):
            digest.update(block)
            into.write(block)
    COPIES[str(copy)], _DIGESTS[copy] = without_secrets(address), digest.hexdigest()
    return copy


def _refuse(address: str, required: str, found: str, hint: str = "") -> NoReturn:
    raise InputError(required, found=found, where=address, hint=hint) from None


def _from_server(address: str) -> Iterator[bytes]:
    """The blocks of a file on a server, which is asked again at the end whether it is the same.

    A store of S3 is one, at an address that is signed here.
    """
    place = _signed(address) if address.startswith("s3:") else address
    with _asked(address, place) as answer:
        state = _state(answer.headers)
        if not (state["content-length"] or "").isdecimal():
            _refuse(
                address,
                "a server that says how long the file is, is required",
                "a server that does not say it",
            )
        yield from _whole(address, int(state["content-length"] or 0), _blocks(answer))
    with _asked(address, place) as again:
        if _state(again.headers) != state:
            _refuse_changed(address)


def _asked(address: str, place: str) -> Any:
    """The answer of a server, which may not send elsewhere."""
    import ssl
    from urllib.request import HTTPRedirectHandler, HTTPSHandler, Request, build_opener

    class Stay(HTTPRedirectHandler):
        def redirect_request(self, *told: Any) -> NoReturn:
            _, answer, *_, elsewhere = told
            answer.close()
            _refuse(
                address,
                "the address of the file itself is required",
                f"a redirect to {elsewhere}",
                "give that address, if you trust it",
            )

    opener = build_opener(HTTPSHandler(context=ssl.create_default_context()), Stay)
    asked = Request(place, headers={"Accept-Encoding": "identity", **_authorised(address)})
    with _told(address):
        return opener.open(asked, timeout=_SECONDS)


def _authorised(address: str) -> Mapping[str, str]:
    from base64 import b64encode
    from netrc import NetrcParseError, netrc

    parts = urlsplit(address)
    with suppress(OSError, NetrcParseError):
        known = netrc().authenticators(parts.hostname or "") if parts.scheme == "https" else None
        if known:
            pair = f"{known[0]}:{known[2]}".encode()
            return {"Authorization": f"Basic {b64encode(pair).decode()}"}
    return {}


def _state(headers: Any) -> dict[str, str | None]:
    return {name: headers.get(name) for name in ("content-length", "etag", "last-modified")}


def _blocks(answer: Any) -> Iterator[bytes]:
    while block := answer.read(_AT_ONCE):
        yield block


def _whole(address: str, size: int, blocks: Iterator[bytes]) -> Iterator[bytes]:
    """The blocks of a file; InputError if they are cut, or there is no room for them."""
    from shutil import disk_usage

    if size > (free := disk_usage(_folder()).free):
        _refuse(address, f"room for a copy of {size:,} bytes is required", f"{free:,} bytes",
                "TMPDIR names a folder on a larger disk")  # fmt: skip
    read = 0
    with _told(address):
        for block in blocks:
            read += len(block)
            yield block
    if read != size:
        _refuse(address, f"a whole file of {size:,} bytes is required",
                f"a connection that was cut after {read:,}", "run it again")  # fmt: skip


def _folder() -> Path:
    session = _SESSION.get()
    return session.folder if session else Path()


def _refuse_changed(address: str) -> NoReturn:
    _refuse(address, "a file that stays as it is while it is read is required",
            "one that was replaced or written to meanwhile", "run it again")  # fmt: skip


@contextmanager
def _told(address: str) -> Iterator[None]:
    """One error for what servers and connections do."""
    from http.client import HTTPException
    from ssl import SSLCertVerificationError
    from urllib.error import HTTPError

    from obstore import exceptions as of_stores

    required, scheme = "a file that can be read is required", urlsplit(address).scheme
    try:
        yield
    except HTTPError as error:
        error.close()
        found = _ANSWERS.get(error.code, f"an answer of the server: {error.code} {error.reason}")
        _refuse(address, required, found, _RIGHTS[scheme] if error.code in _OF_RIGHTS else "")
    except (of_stores.NotFoundError, FileNotFoundError):
        _refuse(address, required, _ANSWERS[404])
    except (of_stores.PermissionDeniedError, of_stores.UnauthenticatedError):
        _refuse(address, required, _ANSWERS[403], _RIGHTS[scheme])
    except of_stores.BaseError as error:
        text = str(error).split("\n")[0].rpartition(" - ")[2]
        _refuse(address, required, f"no answer, or one that was cut: {text}", _RIGHTS[scheme])
    except (OSError, HTTPException) as error:
        reason = getattr(error, "reason", error)
        if isinstance(error if isinstance(reason, str) else reason, SSLCertVerificationError):
            _refuse(
                address,
                "a certificate that this machine trusts is required",
                str(getattr(reason, "verify_message", reason)),
                "SSL_CERT_FILE names a file of further certificates",
            )
        found = f"no connection, or one that was cut: {reason or type(error).__name__}"
        _refuse(address, required, found, "run it again, or copy the file and name the copy")


def _signed(address: str) -> str:
    """The https address of a file in S3, signed for an hour, or as it is if that is stated."""
    import obstore
    from obstore.store import S3Store

    parts, endpoint = urlsplit(address), os.environ.get("AWS_ENDPOINT_URL", "")
    key = unquote(parts.path).lstrip("/")
    insecure = os.environ.get("AWS_ALLOW_HTTP") == "true"
    if endpoint.startswith("http:") and not insecure:
        _refuse(address, "an encrypted endpoint, https://, is required", "AWS_ENDPOINT_URL=http://",
                "AWS_ALLOW_HTTP=true allows it")  # fmt: skip
    if os.environ.get("AWS_SKIP_SIGNATURE") == "true":
        region = os.environ.get("AWS_REGION", "us-east-1")
        server = endpoint.rstrip("/") or f"https://s3.{region}.amazonaws.com"
        return f"{server}/{parts.netloc}/{quote(key)}"
    with _told(address):
        store = S3Store(parts.netloc, client_options=_options(), retry_config=_RETRIES)
        return str(obstore.sign(store, "GET", key, timedelta(hours=1)))


def _from_google(address: str) -> Iterator[bytes]:
    import obstore
    from obstore.store import GCSStore

    parts = urlsplit(address)
    key = unquote(parts.path).lstrip("/")
    with _told(address):
        store = GCSStore(parts.netloc, client_options=_options(), retry_config=_RETRIES)
        answer = obstore.get(store, key)
        state = _stated(answer.meta)
    yield from _whole(address, answer.meta["size"], map(bytes, answer.stream(_AT_ONCE)))
    with _told(address):
        if _stated(obstore.head(store, key)) != state:
            _refuse_changed(address)


def _stated(meta: Mapping[str, Any]) -> tuple[Any, ...]:
    return tuple(meta.get(name) for name in ("size", "e_tag", "last_modified", "version"))


def _options() -> Any:
    """How a store is asked."""
    trusted = os.environ.get("SSL_CERT_FILE")
    own = {"root_certificate": Path(trusted).read_bytes()} if trusted else {}
    allowed = os.environ.get("AWS_ALLOW_HTTP") == "true"
    times = {"connect_timeout": f"{_SECONDS}s", "read_timeout": f"{_SECONDS}s", "timeout": "1h"}
    return {"allow_http": allowed, **times, **own}
