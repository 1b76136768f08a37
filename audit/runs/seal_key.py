"""The key of whoever seals a run: digests that only its holders can make or check."""

from __future__ import annotations

import hmac
from dataclasses import dataclass, field, replace
from pathlib import Path

from audit.base.errors import InputError
from audit.results.result import AuditResult

LEAST = 16
"""Bytes that a key has at least, so that it cannot be found by trying."""


@dataclass(frozen=True, slots=True)
class SealKey:
    """A secret; a digest made with it tells nothing to whoever lacks it.

    Args:
        secret: All bytes of the key's file.
    """

    secret: bytes = field(repr=False)

    def digest(self, of: str, content: bytes) -> str:
        """HMAC-SHA-256 in hexadecimal, of what the bytes are and the bytes."""
        return hmac.new(self.secret, of.encode() + b"\0" + content, "sha256").hexdigest()


def read_key(path: Path) -> SealKey:
    """The key that a file holds.

    Raises:
        InputError: If the file is not there, or holds fewer bytes than `LEAST`.
    """
    secret = path.read_bytes() if path.is_file() else b""
    if len(secret) < LEAST:
        raise InputError(
            f"a file with a key of at least {LEAST} bytes is required",
            found=f"{len(secret)} bytes" if path.is_file() else "no file",
            where=path,
            hint="head -c 32 /dev/urandom > FILE makes one; keep it where reports do not go",
        )
    return SealKey(secret)


def with_keyed_data(result: AuditResult, key: SealKey | None) -> AuditResult:
    """A result whose identity tells the data by a keyed digest; without a key by none."""
    digest = key.digest("data", bytes.fromhex(result.data_sha256)) if key else None
    data = {**result.identity["data"], "hmac_sha256": digest}
    return replace(result, identity={**result.identity, "data": data})
