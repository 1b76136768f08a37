"""Manifests: the inputs and outputs of a run, with their digests."""

from __future__ import annotations

import hashlib
import platform
import socket
import sys
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from functools import cache
from pathlib import Path
from typing import Any

import polars as pl

from audit.base.files import sha256_as_read, sha256_of
from audit.base.remote import digest_of_copy
from audit.results.result import AuditResult, to_json_bytes
from audit.results.view import SCHEMA_VERSION

RESULT, MANIFEST, RESTRICTED = "result.json", "manifest.json", "restricted"
OF_DATA = ("data", "predictions", "changes")
"""Roles of inputs that hold records; their digests are written to ``restricted/`` only."""


def seal(
    folder: Path,
    result: AuditResult,
    *,
    command: Sequence[str],
    started: datetime,
    settings: Mapping[str, Any] | None = None,
) -> None:
    """Write both manifests: digests of inputs and outputs, versions, command, settings, times."""
    write_manifest(folder, listing_of(result), restricted=True)
    manifest = {
        "schema_version": SCHEMA_VERSION,
        "identity": dict(result.identity),
        "inputs": public_inputs(result.inputs),
        "settings": settings,
        **made_by(command, started),
    }
    write_manifest(folder, manifest)


def made_by(command: Sequence[str], started: datetime) -> dict[str, Any]:
    """What a manifest says under ``command``, ``host`` (this machine) and ``started`` (in text)."""
    moment = started.isoformat(timespec="seconds")
    return {"command": list(command), "host": socket.gethostname(), "started": moment}


def public_inputs(inputs: Iterable[Mapping[str, str]]) -> list[dict[str, str]]:
    """Inputs as the shared manifest lists them: without the digests of data."""
    return [
        {name: one for name, one in source.items() if name != "sha256" or of not in OF_DATA}
        for source in inputs
        for of in [source["role"]]
    ]


def listing_of(result: AuditResult) -> dict[str, Any]:
    """What the manifest of a run's restricted files says beside their digests.

    Of a run that has tables of analyses, it also says which they are, and how each is shared.

    Somebody who knows all but a few counts of a file could guess these until the digest matches, so
    digests of such files are never part of the shared files.
    """
    listed: dict[str, Any] = {
        "data_sha256": result.data_sha256,
        "inputs": [dict(source) for source in result.inputs],
    }
    if result.analyses:
        listed["analyses"] = {part.name: part.layout() for part in result.analyses}
    return listed


def write_manifest(folder: Path, told: Mapping[str, Any], *, restricted: bool = False) -> None:
    """Write the manifest of a folder's restricted files, or of all others: what it says, digests
    of these files, a seal; the shared one has versions and the time too."""
    inside = folder / RESTRICTED
    place = inside if restricted else folder
    outputs = {
        path.relative_to(folder).as_posix(): sha256_of(path)
        for path in sorted(place.rglob("*"))
        if path.is_file()
        and path != place / MANIFEST
        and (restricted or inside not in path.parents)
    }
    sealed = {**told, "outputs": outputs}
    if not restricted:
        sealed["finished"] = datetime.now(UTC).isoformat(timespec="seconds")
        sealed["versions"] = versions()
    sealed["seal"] = seal_of(sealed)
    (place / MANIFEST).write_bytes(to_json_bytes(sealed))


def seal_of(manifest: Mapping[str, Any]) -> str:
    """Digest of a manifest without its own ``seal``."""
    rest = {key: value for key, value in manifest.items() if key != "seal"}
    return hashlib.sha256(to_json_bytes(rest)).hexdigest()


def versions() -> dict[str, str]:
    """Versions of what makes the bytes of a run, and a digest of the fonts of this machine."""
    packages = (
        *("hierarchy-audit", "polars", "numpy", "scipy", "jinja2"),
        *("weasyprint", "pydyf", "fonttools"),
    )
    return {
        "python": platform.python_version(),
        "platform": sys.platform,
        "fonts": _fonts_digest(),
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
    """Digest of a digest ``before``, of the digests of inputs that are data, and of tables."""
    digest = hashlib.sha256(bytes.fromhex(before))
    for file in inputs:
        if file["role"] == "data":
            digest.update(bytes.fromhex(file["sha256"]))
    for table in tables:
        digest.update(table.write_csv().encode())
    return digest.hexdigest()


_FONTS = (
    *("/usr/share/fonts", "/usr/local/share/fonts", "~/.fonts", "~/.local/share/fonts"),
    *("/Library/Fonts", "/System/Library/Fonts", "~/Library/Fonts", "C:/Windows/Fonts"),
)
"""Folders where systems keep fonts."""


def _fonts_digest() -> str:
    """Digest of the names and sizes of the fonts of this machine; equal where they are the same."""
    folders = (Path(folder).expanduser() for folder in _FONTS)
    files = (path for folder in folders for path in folder.rglob("*") if path.is_file())
    told = sorted({(path.name, path.stat().st_size) for path in files})
    return hashlib.sha256(repr(told).encode()).hexdigest()
