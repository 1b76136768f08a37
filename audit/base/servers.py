"""What servers and stores answer that are asked for a file: its blocks, or why there are none."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from datetime import timedelta
from pathlib import Path
from typing import Any, NoReturn
from urllib.parse import quote, unquote, urlsplit

from audit.base.errors import InputError

_AT_ONCE = 2**20
_SECONDS = 30
"""After which a server that says nothing is given up."""
_RETRIES: Any = {"max_retries": 2, "retry_timeout": timedelta(seconds=_SECONDS)}
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


def refuse(address: str, required: str, found: str, hint: str = "") -> NoReturn:
    """Raise InputError of an address."""
    raise InputError(required, found=found, where=address, hint=hint) from None


def blocks_of(address: str) -> Iterator[bytes]:
    """The blocks of the file at an address; InputError if it is not there, or changes meanwhile."""
    return (_from_google if address.startswith("gs:") else _from_server)(address)


def _from_server(address: str) -> Iterator[bytes]:
    """The blocks of a file on a server, which is asked again at the end whether it is the same.

    A store of S3 is one, at an address that is signed here.
    """
    place = _signed(address) if address.startswith("s3:") else address
    with _asked(address, place) as answer:
        state = _state(answer.headers)
        if not (state["content-length"] or "").isdecimal():
            refuse(
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
            refuse(
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
    from tempfile import gettempdir

    if size > (free := disk_usage(gettempdir()).free):
        refuse(address, f"room for a copy of {size:,} bytes is required", f"{free:,} bytes",
                "TMPDIR names a folder on a larger disk")  # fmt: skip
    read = 0
    with _told(address):
        for block in blocks:
            read += len(block)
            yield block
    if read != size:
        refuse(address, f"a whole file of {size:,} bytes is required",
                f"a connection that was cut after {read:,}", "run it again")  # fmt: skip


def _refuse_changed(address: str) -> NoReturn:
    refuse(address, "a file that stays as it is while it is read is required",
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
        refuse(address, required, found, _RIGHTS[scheme] if error.code in _OF_RIGHTS else "")
    except (of_stores.NotFoundError, FileNotFoundError):
        refuse(address, required, _ANSWERS[404])
    except (of_stores.PermissionDeniedError, of_stores.UnauthenticatedError):
        refuse(address, required, _ANSWERS[403], _RIGHTS[scheme])
    except of_stores.BaseError as error:
        text = str(error).split("\n")[0].rpartition(" - ")[2]
        refuse(address, required, f"no answer, or one that was cut: {text}", _RIGHTS[scheme])
    except (OSError, HTTPException) as error:
        reason = getattr(error, "reason", error)
        if isinstance(error if isinstance(reason, str) else reason, SSLCertVerificationError):
            refuse(
                address,
                "a certificate that this machine trusts is required",
                str(getattr(reason, "verify_message", reason)),
                "SSL_CERT_FILE names a file of further certificates",
            )
        found = f"no connection, or one that was cut: {reason or type(error).__name__}"
        refuse(address, required, found, "run it again, or copy the file and name the copy")


def _signed(address: str) -> str:
    """The https address of a file in S3, signed for an hour, or as it is if that is stated."""
    import obstore
    from obstore.store import S3Store

    parts, endpoint = urlsplit(address), os.environ.get("AWS_ENDPOINT_URL", "")
    key = unquote(parts.path).lstrip("/")
    insecure = os.environ.get("AWS_ALLOW_HTTP") == "true"
    if endpoint.startswith("http:") and not insecure:
        refuse(address, "an encrypted endpoint, https://, is required", "AWS_ENDPOINT_URL=http://",
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
