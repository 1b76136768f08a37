"""Keys for sealing runs: digests that only holders of the key can compute or verify."""

from __future__ import annotations

import hmac
from dataclasses import dataclass, field, replace
from pathlib import Path

from audit.base.errors import InputError
from audit.results.result import AuditResult

LEAST = 16
"""Least length of a key in bytes, so that it cannot be guessed."""


@dataclass(frozen=True, slots=True)
class SealKey:
    """A secret key; a digest made with it discloses nothing to others.

    Args:
        secret: All bytes of the key's file.
    """

    secret: bytes = field(repr=False)

    def digest(self, of: str, content: bytes) -> str:
        """HMAC-SHA-256, in hexadecimal, of the purpose ``of`` and the content."""
        return hmac.new(self.secret, of.encode() + b"\0" + content, "sha256").hexdigest()


def read_key(path: Path) -> SealKey:
    """Read a key from a file.

    Raises:
        InputError: If the file does not exist, or has fewer than `LEAST` bytes.
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
    """Put a keyed digest of the data into a result's identity; without a key, none."""
    digest = key.digest("data", bytes.fromhex(result.data_sha256)) if key else None
    data = {**result.identity["data"], "hmac_sha256": digest}
    return replace(result, identity={**result.identity, "data": data})
