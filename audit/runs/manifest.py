"""Manifests: the inputs and outputs of a run, with their digests, and keys that seal them."""

from __future__ import annotations

import hashlib
import hmac
import platform
import socket
import sys
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from functools import cache
from pathlib import Path
from typing import Any

import polars as pl

from audit.base.errors import InputError
from audit.base.files import read_json, sha256_as_read, sha256_of
from audit.base.machine import fonts_digest
from audit.base.remote import digest_of_copy
from audit.results.result import AuditResult, to_json_bytes
from audit.results.shared_view import SCHEMA_VERSION

LEAST = 16
"""Least length of a key in bytes, so that it cannot be guessed."""


@dataclass(frozen=True, slots=True)
class SealKey:
    """A secret key; a digest made with it discloses nothing to others."""

    secret: bytes = field(repr=False)

    def digest(self, of: str, content: bytes) -> str:
        """HMAC-SHA-256, in hexadecimal, of the purpose ``of`` and the content."""
        return hmac.new(self.secret, of.encode() + b"\0" + content, "sha256").hexdigest()


def read_key(path: Path) -> SealKey:
    """Read a key from a file."""
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


RESULT, MANIFEST, RESTRICTED = "result.json", "manifest.json", "restricted"


OF_DATA = ("data", "predictions", "changes")
"""Roles of inputs that hold records; their digests are written to ``restricted/`` only."""


def with_forced(manifest: Mapping[str, Any], broken: Sequence[str]) -> dict[str, Any]:
    """Manifest entry on overridden broken seals, earlier ones first."""
    return {"forced": [*manifest.get("forced", ()), *broken]}


def seal(
    folder: Path,
    result: AuditResult,
    *,
    command: Sequence[str],
    started: datetime,
    settings: Mapping[str, Any] | None = None,
    key: SealKey | None = None,
    forced: Sequence[str] = (),
    timings: Sequence[Mapping[str, str | float]] = (),
) -> None:
    """Write both manifests: digests of inputs and outputs, versions, the command, settings, times.

    Args:
        key: Key of the digest of the restricted files; without a key, the shared manifest has no
            such digest.
        forced: Broken seals of runs that were read in spite of them.
        timings: How long each step took, from `audit.base.progress.Clock`.
    """
    write_restricted_manifest(folder, result)
    manifest = {
        "schema_version": SCHEMA_VERSION,
        "identity": dict(result.identity),
        **of_restricted(folder, result.inputs, key),
        "command": list(command),
        "settings": settings,
        "host": socket.gethostname(),
        "started": started.isoformat(timespec="seconds"),
        "timings": list(timings),
        **with_forced({}, forced),
    }
    write_manifest(folder, manifest, key)


def of_restricted(
    folder: Path, inputs: Sequence[Mapping[str, str]], key: SealKey | None
) -> dict[str, Any]:
    """Manifest entry on data and restricted files, which discloses nothing without the key."""
    listed = (folder / RESTRICTED / MANIFEST).read_bytes()
    keyed = {"hmac_sha256": key.digest(RESTRICTED, listed)} if key else None
    return {"inputs": public_inputs(inputs), "restricted": keyed}


def public_inputs(inputs: Iterable[Mapping[str, str]]) -> list[dict[str, str]]:
    """Inputs as the shared manifest lists them: without the digests of data."""
    return [
        {name: value for name, value in source.items() if name != "sha256"}
        if source["role"] in OF_DATA
        else dict(source)
        for source in inputs
    ]


def write_restricted_manifest(folder: Path, result: AuditResult | None = None) -> None:
    """Write the manifest of the restricted files: digests of these files and of the inputs.

    Of a run that has tables of analyses, it also says which they are, and how each is shared; of
    one with small counts, what was decided of them.

    Somebody who knows all but a few counts of a file could guess these until the digest matches, so
    digests of such files are never part of the shared files.
    """
    restricted = folder / RESTRICTED
    within = (path for path in restricted.rglob("*") if path != restricted / MANIFEST)
    listed: dict[str, Any] = {
        "data_sha256": None if result is None else result.data_sha256,
        "inputs": [dict(source) for source in (() if result is None else result.inputs)],
        "outputs": _digests(folder, within),
    }
    if result is not None and result.analyses:
        listed["analyses"] = {part.name: part.layout() for part in result.analyses}
    if result is not None and result.view.tree is not None:
        listed["decided"] = result.view.tree.decided()
    listed["seal"] = seal_of(listed)
    (restricted / MANIFEST).write_bytes(to_json_bytes(listed))


def decided_in(run: Path) -> dict[str, Any] | None:
    """What was decided of the small counts of a run, whose seals hold; None if it does not say."""
    decided: dict[str, Any] | None = read_json(run / RESTRICTED / MANIFEST).get("decided")
    return decided


def write_manifest(folder: Path, manifest: Mapping[str, Any], key: SealKey | None = None) -> None:
    """Seal a folder: complete the manifest with outputs, versions, time and seals, and write it."""
    restricted = folder / RESTRICTED
    within = (path for path in folder.rglob("*") if restricted not in path.parents)
    sealed = {
        **manifest,
        "finished": datetime.now(UTC).isoformat(timespec="seconds"),
        "versions": versions(),
        "outputs": _digests(folder, (path for path in within if path != folder / MANIFEST)),
    }
    sealed["hmac_sha256"] = keyed_seal(sealed, key) if key else None
    sealed["seal"] = seal_of(sealed)
    (folder / MANIFEST).write_bytes(to_json_bytes(sealed))


def _digests(folder: Path, paths: Iterable[Path]) -> dict[str, str]:
    """Digest of each file by its name in the folder."""
    files = sorted(path for path in paths if path.is_file())
    return {path.relative_to(folder).as_posix(): sha256_of(path) for path in files}


def seal_of(manifest: Mapping[str, Any]) -> str:
    """Digest of a manifest without its own ``seal``."""
    rest = {key: value for key, value in manifest.items() if key != "seal"}
    return hashlib.sha256(to_json_bytes(rest)).hexdigest()


def keyed_seal(manifest: Mapping[str, Any], key: SealKey) -> str:
    """Keyed digest of all of a manifest but its own two digests."""
    own = ("seal", "hmac_sha256")
    rest = {name: value for name, value in manifest.items() if name not in own}
    return key.digest(MANIFEST, to_json_bytes(rest))


def versions() -> dict[str, str]:
    """Versions of what makes the bytes of a run, and a digest of the fonts of this machine."""
    packages = (
        *("hierarchy-audit", "polars", "numpy", "scipy", "jinja2"),
        *("vl-convert-python", "weasyprint", "pydyf", "fonttools"),
    )
    return {
        "python": platform.python_version(),
        "platform": sys.platform,
        "fonts": fonts_digest(),
        **{name: found for name in packages if (found := _version_of(name))},
    }


@cache
def _version_of(package: str) -> str:
    """The version of a package; empty where it is not installed."""
    from importlib.metadata import PackageNotFoundError, version

    try:
        return version(package)
    except PackageNotFoundError:
        return ""


def input_record(role: str, path: Path) -> dict[str, str]:
    """Manifest entry of an input file: its role, path and digest."""
    place, digest = digest_of_copy(path) or (str(path.absolute()), "")
    return {"role": role, "path": place, "sha256": digest or sha256_as_read(path)}


def with_inputs(result: AuditResult, files: Iterable[tuple[str, Path | None]]) -> AuditResult:
    """Add input files with their roles to a result; paths that are not files are skipped."""
    read = [input_record(role, path) for role, path in files if path and path.is_file()]
    return replace(result, inputs=(*result.inputs, *read))


def digest_of_data(
    inputs: Iterable[Mapping[str, str]], tables: Iterable[pl.DataFrame] = (), before: str = ""
) -> str:
    """Digest of what is known by a digest, the data's files in order, and tables."""
    digest = hashlib.sha256(bytes.fromhex(before))
    for file in inputs:
        if file["role"] == "data":
            digest.update(bytes.fromhex(file["sha256"]))
    for table in tables:
        digest.update(table.write_csv().encode())
    return digest.hexdigest()
