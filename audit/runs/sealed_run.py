"""Sealed folders: files of a run or a comparison, verified against its two manifests."""

from __future__ import annotations

import json
import re
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from functools import cached_property
from pathlib import Path
from typing import Any

from pydantic import BaseModel

from audit.base.errors import InputError, PluginError, first_cases
from audit.base.files import sha256_of
from audit.base.plugins import record_of
from audit.base.remote import local
from audit.results.result import to_json_bytes
from audit.results.view import SCHEMA_VERSION
from audit.runs.folder import COMPARISON, COMPARISON_VERSION, RUN, FolderKind, no_run
from audit.runs.manifest import MANIFEST, RESTRICTED, RESULT, seal_of
from audit.runs.settings import Judging, Settings

VERSIONS = {RUN: SCHEMA_VERSION, COMPARISON: COMPARISON_VERSION}
"""Schema version of the content file of each kind of folder."""
LISTING = f"{RESTRICTED}/{MANIFEST}"
"""Path of the manifest of the restricted files."""
SHARED_ALONE = "`audit export --csv` and `audit history` work with a shared copy"
"""What can be done where only what may be shared is there."""
NO_RESTRICTED = f"the run has no {RESTRICTED}/: only what may be shared is here"


class Input(BaseModel):
    """An input file of a run, or a query of a database, with its digest."""

    role: str
    path: Path
    sha256: str | None = None
    version: str = ""
    query: str | None = None


class Manifest(BaseModel):
    """What either manifest of a folder says, as far as verification uses it."""

    outputs: dict[str, str]
    inputs: tuple[Input, ...]
    settings: Settings | None = None
    judging: Judging | None = None
    seal: str


class SealedRun:
    """A run or a comparison in its folder; InputError if that is neither."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.found = frozenset(
            path.relative_to(folder).as_posix()
            for path in folder.rglob("*")
            if path.is_symlink() or not path.is_dir()
        )
        if self.found.isdisjoint((MANIFEST, *(kind.content for kind in VERSIONS))):
            raise no_run(folder)
        self.kind: FolderKind = next((one for one in VERSIONS if one.content in self.found), RUN)
        self.stated = self.json_of(MANIFEST)
        version, known = self.stated.get("schema_version"), VERSIONS[self.kind]
        if version != known and re.fullmatch(r"[0-9]+\.[0-9]+", str(version)):
            raise InputError(
                f"schema version {known} is required",
                found=repr(version),
                where=self.folder / MANIFEST,
                hint="verify it with the version of hierarchy-audit that wrote it",
            )

    @property
    def has_restricted(self) -> bool:
        """Whether any restricted file is there."""
        return any(map(is_restricted, self.found))

    def json_of(self, name: str) -> Mapping[str, Any]:
        """What a file says, whatever it is; nothing where it is not a JSON object."""
        try:
            content = json.loads(self.content(name))
        except (OSError, ValueError, RecursionError):
            return {}
        return content if isinstance(content, dict) else {}

    @cached_property
    def manifest(self) -> Manifest | None:
        """The manifest; None if it has changed since it was sealed."""
        return self._sealed(MANIFEST)

    @cached_property
    def listing(self) -> Manifest | None:
        """The manifest of the restricted files; None if it has changed since it was sealed."""
        return self._sealed(LISTING)

    def _sealed(self, name: str) -> Manifest | None:
        """A manifest by the name of its file; None if it is not as it was sealed."""
        stated = self.json_of(name)
        try:
            whole = to_json_bytes(stated) == self.content(name)
            manifest = Manifest.model_validate(stated)
        except (OSError, ValueError):
            return None
        return manifest if whole and manifest.seal == seal_of(stated) else None

    @cached_property
    def outputs(self) -> Mapping[str, str]:
        """Digests of the files listed by the manifests; a changed manifest contributes none."""
        both = (one.outputs for one in (self.manifest, self.listing) if one is not None)
        return {name: digest for outputs in both for name, digest in outputs.items()}

    @cached_property
    def inputs(self) -> tuple[Input, ...]:
        """The input files, with those digests that a manifest of this folder holds."""
        listed = self.listing or self.manifest
        return listed.inputs if listed else ()

    def changed_inputs(self, old: Path, new: Path) -> Iterator[str]:
        """Describe inputs that changed or are missing; a dataset that moved is looked up there."""
        for recorded in self.inputs:
            path = recorded.path
            if recorded.role == "plugin":
                name, was, now = str(recorded.path), recorded.version, {}
                with suppress(PluginError):
                    now = record_of(name)
                if now.get("sha256") != recorded.sha256:
                    found = now.get("version", "none")
                    yield f"plugin changed: {name}, of which {was} was used, {found} is installed"
                continue
            if recorded.query is not None:
                continue
            if path.is_relative_to(old):
                path = new / path.relative_to(old)
            path = local(path)
            if not path.is_file():
                yield f"{recorded.role} is not there: {path}"
            elif recorded.sha256 not in (None, sha256_of(path)):
                yield f"{recorded.role} changed: {path}"

    def faults(self, *, restricted: bool, remade: Collection[str] = ()) -> tuple[str, ...]:
        """Faults of the shared files, or of the restricted ones; empty if there are none.

        Files in ``remade`` are about to be replaced and may be missing.
        """
        name, sealed = (LISTING, self.listing) if restricted else (MANIFEST, self.manifest)
        if sealed is None:
            if name in self.found:
                return (f"{name} is not as it was sealed",)
            shared_alone = restricted and not self.has_restricted
            return (NO_RESTRICTED if shared_alone else f"there is no {name}",)
        found = {one for one in self.found - {name} if is_restricted(one) == restricted}
        listed = {one for one in sealed.outputs if is_restricted(one) == restricted}
        content = {*()} if restricted else {self.kind.content}
        of_kind = listed if restricted else listed & {*content, *self.kind.reports}
        wrong = {
            "missing": ({*sealed.outputs} | content) - found - {*remade},
            "changed": {one for one in found & listed if not self.intact(one)},
            "not of the run": found - of_kind,
        }
        return tuple(
            f"{word}: {first_cases(sorted(names))}" for word, names in wrong.items() if names
        )

    def intact(self, name: str) -> bool:
        """Whether a file is listed, is there, no link, and as it was sealed."""
        path = self.folder / name
        try:
            whole = name in self.outputs and path.is_file() and not path.is_symlink()
            return whole and sha256_of(path) == self.outputs[name]
        except OSError:
            return False

    def content(self, name: str) -> bytes:
        """The bytes of a file; OSError for what is none, such as a pipe, which never ends."""
        path = self.folder / name
        if not path.is_file():
            raise FileNotFoundError(path)
        return path.read_bytes()

    @cached_property
    def schema_errors(self) -> tuple[str, ...]:
        """Violations of the schema in ``result.json``; empty if there are none."""
        return schema_errors(self.shared)

    @cached_property
    def blocked(self) -> str:
        """Why ``result.json`` cannot be compared with other files; empty if it can."""
        if not self.intact(RESULT):
            return f"{RESULT} is not as it was sealed"
        return f"{RESULT} does not validate" if self.schema_errors else ""

    @cached_property
    def shared(self) -> Mapping[str, Any]:
        """The content of ``result.json``; nothing where it is not a JSON object."""
        return self.json_of(RESULT)


def schema_errors(shared: object) -> tuple[str, ...]:
    """What of a shared view does not hold to its schema; empty if all does."""
    from jsonschema import Draft202012Validator

    from audit.runs.schema import result_schema

    errors = Draft202012Validator(result_schema()).iter_errors(shared)
    return tuple(f"{error.json_path}: {error.message[:120]}" for error in errors)


def is_restricted(name: str) -> bool:
    """Whether a file of a folder, by its name in it, is not for sharing."""
    return name.startswith(f"{RESTRICTED}/")


def refuse_broken(runs: Iterable[Path], remade: Collection[str] = ()) -> None:
    """Raise InputError if a folder is no run, or is not as it was sealed.

    Files in ``remade`` are about to be replaced and may be missing.
    """
    for run in runs:
        sealed = SealedRun(run)
        sides = (sealed.faults(restricted=of, remade=remade) for of in (False, True))
        refuse_faults(run, [one for faults in sides for one in faults])


def refuse_faults(run: Path, faults: Sequence[str]) -> None:
    """Raise InputError if a run has faults."""
    if faults:
        hint = "`audit verify` shows which parts hold"
        raise InputError(
            "a run as it was sealed is required",
            found="; ".join(faults),
            where=run,
            hint=SHARED_ALONE if [*faults] == [NO_RESTRICTED] else hint,
        )
