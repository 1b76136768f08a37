"""Files at addresses: each is copied once, where the network is allowed, and read from its copy."""

from __future__ import annotations

import hashlib
import os
import re
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from datetime import timedelta
from pathlib import Path
from typing import Any
from urllib.parse import unquote, urlsplit, urlunsplit

from audit.base.errors import COPIES, InputError, without_secrets
from audit.base.machine import require_package

_ADDRESS = re.compile(r"(https?|s3):/{1,2}(?!/)(\S.*)", re.DOTALL)
_SECONDS = 30
"""After which a server that says nothing is given up."""
_RIGHTS = {
    "https": "a signed address gives its own rights; else download the file before",
    "s3": "AWS_ACCESS_KEY_ID, AWS_SECRET_ACCESS_KEY and AWS_REGION state the rights; "
    "AWS_SKIP_SIGNATURE=true reads what is public",
}
_DIGESTS: dict[Path, str] = {}
"""Digest of each file that was copied."""


_SESSION: ContextVar[tuple[Path, dict[str, Path]] | None] = ContextVar("remote", default=None)
"""Where copies lie as long as they are needed, and these by address."""


def address_of(given: object) -> str:
    """The address that a text or path is, with both of its slashes; empty if it is none."""
    found = _ADDRESS.fullmatch(str(given)) if isinstance(given, str | Path) else None
    return f"{found[1]}://{found[2]}" if found else ""


@contextmanager
def allowing(allowed: bool) -> Iterator[None]:
    """Read files at addresses within the block, if allowed, or if a block around it allows it."""
    if not allowed or _SESSION.get() is not None:
        yield
        return
    from tempfile import TemporaryDirectory

    with TemporaryDirectory(prefix="audit-remote-") as folder:
        before = _SESSION.set((Path(folder), {}))
        try:
            yield
        finally:
            _SESSION.reset(before)


def local(given: str | Path) -> Path:
    """A path as it is; of an address, the copy of the file there.

    Each file is copied once; InputError unless `allowing` allows it, or if it cannot be read.
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
    folder, copies = session
    if address not in copies:
        copies[address] = _copied(address, folder / str(len(copies)))
    return copies[address]


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
    copy = folder / name
    with _telling(address), copy.open("wb") as into:
        answer = _answer_of(address)
        for block in answer.stream():
            into.write(block)
        if into.tell() != answer.meta["size"] or _answer_of(address).meta != answer.meta:
            required = "a file that stays as it is while it is read is required"
            raise _refused(address, required, "one that was replaced meanwhile", "run it again")
    with copy.open("rb") as stream:
        _DIGESTS[copy] = hashlib.file_digest(stream, "sha256").hexdigest()
        stream.seek(0)
        if re.match(rb"(?i)\s*<(!doctype\s+html|html)\b", stream.read(200)):
            hint = "open it in a browser: it may ask you to sign in"
            raise _refused(address, "the file itself is required", "a page of HTML", hint)
    COPIES[str(copy)] = without_secrets(address)
    return copy


def _refused(address: str, required: str, found: str, hint: str = "") -> InputError:
    return InputError(required, found=found, where=address, hint=hint)


def _answer_of(address: str) -> Any:
    """The answer of a server or a store, by the rights that the environment states."""
    import obstore
    from obstore.store import HTTPStore, S3Store

    parts, allowed = urlsplit(address), os.environ.get("AWS_ALLOW_HTTP") == "true"
    options: Any = {"connect_timeout": f"{_SECONDS}s", "timeout": "1h"}
    if trusted := os.environ.get("SSL_CERT_FILE"):
        options["root_certificate"] = Path(trusted).read_bytes()
    insecure = parts.scheme == "s3" and os.environ.get("AWS_ENDPOINT_URL", "").startswith("http:")
    if insecure and not allowed:
        required, hint = "an encrypted endpoint, https://, is required", "AWS_ALLOW_HTTP=true"
        raise _refused(address, required, "AWS_ENDPOINT_URL=http://", f"{hint} allows it")
    options["allow_http"] = allowed and parts.scheme == "s3"
    kind: Any = S3Store if parts.scheme == "s3" else HTTPStore
    retries = {"max_retries": 2, "retry_timeout": timedelta(seconds=_SECONDS)}
    base = urlunsplit((parts.scheme, parts.netloc, "/", parts.query, ""))
    store = kind.from_url(base, client_options=options, retry_config=retries)
    return obstore.get(store, unquote(parts.path).lstrip("/"))


@contextmanager
def _telling(address: str) -> Iterator[None]:
    """One error for what servers, stores and connections do."""
    from obstore.exceptions import BaseError

    try:
        yield
    except (BaseError, OSError) as error:
        text, required, hint = str(error), "a file that can be read is required", ""
        said = text.split("\n")[0].rpartition(" - ")[2]
        found = f"no connection, or one that was cut: {said}"
        if answer := re.search(r"status code: (\d+)[\w ]*", text):
            found = f"an answer of the server, {answer[0]}"
            hint = _RIGHTS[urlsplit(address).scheme] * (answer[1] in ("400", "401", "403"))
        if "certificate" in text.lower():
            required = "a certificate that this machine trusts is required"
            hint = "SSL_CERT_FILE names a file of further certificates"
        raise _refused(address, required, found, hint) from None
