"""The files of a run or a comparison, each trusted only as far as the manifest seals it."""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Mapping
from functools import cached_property
from importlib.resources import files
from pathlib import Path
from typing import Any

from pydantic import BaseModel

from audit.base.errors import InputError
from audit.base.files import sha256_of
from audit.results.result import SCHEMA_VERSION, to_json_bytes
from audit.runs.compare import COMPARISON
from audit.runs.compare.result import SCHEMA_VERSION as COMPARISON_VERSION
from audit.runs.folder import MANIFEST, RESULT, seal_of
from audit.runs.settings import Judging, Settings

VERSIONS = {RESULT: SCHEMA_VERSION, COMPARISON.content: COMPARISON_VERSION}
"""Schema version of what a folder is known by: a run, or a comparison of two."""


class Input(BaseModel):
    """A file that was read for a run, with its digest."""

    role: str
    path: Path
    sha256: str


class Manifest(BaseModel):
    """What a manifest says that verification goes by."""

    outputs: dict[str, str]
    inputs: tuple[Input, ...]
    settings: Settings | None = None
    judging: Judging | None = None
    seal: str


class SealedRun:
    """A run, or a comparison, as it lies in its folder.

    Args:
        folder: Of the run.

    Raises:
        InputError: If the folder is neither, or is one of another schema version.
    """

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.found = frozenset(
            path.relative_to(folder).as_posix()
            for path in folder.rglob("*")
            if path.is_symlink() or not path.is_dir()
        )
        if self.found.isdisjoint((MANIFEST, *VERSIONS)):
            raise InputError(
                "the folder of a run is required",
                found=f"no {MANIFEST} and {RESULT} in it" if folder.exists() else "nothing there",
                where=folder,
                hint="a run is what `audit run` leaves",
            )
        self._refuse_other_version()

    def _refuse_other_version(self) -> None:
        """Refuse a version that can be one; what cannot is a fault of the manifest."""
        version = self._told.get("schema_version")
        known = VERSIONS[COMPARISON.content if self.is_comparison else RESULT]
        numbered = isinstance(version, str) and re.fullmatch(r"[0-9]+\.[0-9]+", version)
        if numbered and version != known:
            raise InputError(
                f"schema version {known} is required",
                found=repr(version),
                where=self.folder / MANIFEST,
                hint="verify it with the version of hierarchy-audit that wrote it",
            )

    @property
    def is_comparison(self) -> bool:
        """Whether the folder is that of a comparison of two runs."""
        return COMPARISON.content in self.found and RESULT not in self.found

    @cached_property
    def _told(self) -> Mapping[str, Any]:
        """What the manifest says, whatever it is; nothing where it is no JSON object."""
        try:
            told = json.loads(self.content(MANIFEST))
        except (OSError, ValueError, RecursionError):
            return {}
        return told if isinstance(told, dict) else {}

    @cached_property
    def manifest(self) -> Manifest | None:
        """The manifest; None where its bytes are not those that were sealed."""
        try:
            whole = to_json_bytes(self._told) == self.content(MANIFEST)
            manifest = Manifest.model_validate(self._told)
        except (OSError, ValueError):
            return None
        return manifest if whole and manifest.seal == seal_of(self._told) else None

    @property
    def outputs(self) -> Mapping[str, str]:
        """Digests of the files that the manifest lists; none where it is not as it was sealed."""
        return self.manifest.outputs if self.manifest else {}

    @cached_property
    def changed(self) -> frozenset[str]:
        """Listed files that are there, and have other bytes or cannot be read."""
        listed = self.found & self.outputs.keys()
        return frozenset(name for name in listed if not self._as_sealed(name))

    def _as_sealed(self, name: str) -> bool:
        path = self.folder / name
        try:
            return path.is_file() and sha256_of(path) == self.outputs[name]
        except OSError:
            return False

    def intact(self, name: str) -> bool:
        """Whether a file is there as it was sealed."""
        return name in self.outputs and name in self.found and name not in self.changed

    def content(self, name: str) -> bytes:
        """The bytes of a file."""
        return (self.folder / name).read_bytes()

    @cached_property
    def schema_errors(self) -> tuple[str, ...]:
        """Where ``result.json`` departs from its schema; empty: nowhere."""
        from jsonschema import Draft202012Validator

        try:
            shared = json.loads(self.content(RESULT))
        except (ValueError, RecursionError) as error:
            return (f"no JSON: {error}",)
        errors = Draft202012Validator(schema()).iter_errors(shared)
        return tuple(f"{error.json_path}: {error.message[:120]}" for error in errors)

    @property
    def blocked(self) -> str:
        """Why ``result.json`` cannot be compared with anything; empty: it can."""
        if not self.intact(RESULT):
            return f"{RESULT} is not as it was sealed"
        return f"{RESULT} does not validate" if self.schema_errors else ""

    @cached_property
    def statements(self) -> Mapping[str, str]:
        """The statement of each finding in ``result.json``, by the finding's id."""
        checks = json.loads(self.content(RESULT))["checks"]
        return {one["id"]: one["statement"] for check in checks for one in check["findings"]}

    @cached_property
    def digest(self) -> str:
        """Of ``result.json``, as the reports print it."""
        return hashlib.sha256(self.content(RESULT)).hexdigest()


def schema() -> dict[str, Any]:
    """The JSON schema of ``result.json``."""
    text = files("audit.results").joinpath("result.schema.json").read_text("utf-8")
    loaded: dict[str, Any] = json.loads(text)
    return loaded
