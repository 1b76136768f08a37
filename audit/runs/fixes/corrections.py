"""A corrected copy of the tables of a run, or a list of corrections, and the log beside it."""

from __future__ import annotations

import shutil
from collections import Counter
from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

import polars as pl

from audit.base.disk import on_disk, working_beside, written_whole
from audit.base.errors import InputError, OutputError, first_cases
from audit.base.files import read_json, sha256_of
from audit.base.plugins import using
from audit.base.remote import allowing
from audit.data.dataset import LabelDataset
from audit.results.result import to_json_bytes
from audit.runs.fixes.changes import Change
from audit.runs.fixes.corrected import corrected, refuse_unmade
from audit.runs.fixes.table_files import OpenTable, open_tables
from audit.runs.inputs import read_data, stated_policy
from audit.runs.manifest import MANIFEST, RESTRICTED
from audit.runs.sealed_run import SealedRun
from audit.runs.settings import Settings

LOG_END = ".changes.json"
"""What the name of a log has behind that of what it is about."""
CORRECTIONS = ("id", "old", "new", "finding", "keep")
"""Columns of a list of corrections: a label that goes has no new one, one to add no old one;
``keep`` equal labels stay."""


def log_of(out: Path) -> Path:
    """The path of the log of what is written to ``out``, beside it."""
    return out.with_name(f"{out.name}{LOG_END}")


def read_again(settings: Settings) -> LabelDataset:
    """The data that settings name, with the plugins and network that they were read with."""
    with using(settings.plugins), allowing(settings.allow_network):
        return read_data(replace(settings, predictions=None), stated_policy(settings))[0]


def data_of(run: Path, data: str | None = None) -> tuple[Settings, LabelDataset]:
    """The settings and the data of a run; refused where an input is not as it was.

    Args:
        data: Where the data are now, if they moved.
    """
    sealed = SealedRun(run)
    made = None if sealed.manifest is None else sealed.manifest.settings
    if made is None:
        raise InputError(
            "a run that records how it was made is required",
            found="a changed manifest" if sealed.manifest is None else "one made from Python",
            where=run,
        )
    settings = replace(made, dataset=data or made.dataset)
    with using(settings.plugins), allowing(settings.allow_network):
        faults = list(sealed.changed_inputs(Path(made.dataset), Path(settings.dataset)))
    labels = None if faults else read_again(settings)
    queried = {one.sha256 for one in sealed.inputs if one.query is not None}
    if labels is None or (queried and labels.digest not in queried):
        raise InputError(
            "the data as they were when the run was made are required",
            found=first_cases(faults) if faults else "a query that gives other rows",
            where=run,
            hint="audit the data as they are now, and decide on that run",
        )
    return settings, labels


@dataclass(frozen=True)
class Applied:
    """What was written, and the log of its changes beside it.

    Args:
        files: The files that differ in a copy; empty of a list of corrections.
    """

    out: Path
    log: Path
    changes: tuple[Change, ...]
    files: tuple[str, ...]


def write_corrected(
    run: Path, settings: Settings, labels: LabelDataset, changes: Sequence[Change], out: Path
) -> Applied:
    """Write a corrected copy of the tables of a run, or else a list of corrections, and a log; all
    whole or not at all.

    A copy is read again before it takes its name, and must have the labels that the changes say.

    Raises:
        InputError: If a change is of a label that is not there, or two are of the same.
        OutputError: If something is at ``out``, or it cannot be written.
    """
    log = log_of(out)
    _refuse_occupied(out)
    before, known = _labels_of(labels), {*labels.instances["instance"]}
    refuse_unmade(
        one
        for one in changes
        if one.instance not in known or (one.label and (one.instance, one.label) not in before)
    )
    tables = open_tables(labels, settings)
    frames = corrected(tables, changes)
    with working_beside(out) as folder, on_disk(out):
        if tables:
            begun, told = _copy(folder, Path(settings.dataset), tables, frames)
            found = _labels_of(read_again(replace(settings, dataset=str(begun))))
            _refuse_other_labels(before, found, changes, begun)
        else:
            begun, told = _list(folder / out.name, run, changes)
        about = {
            "schema_version": "1.0",
            "run": sha256_of(run / "result.json"),
            "data": Path(settings.dataset).name,
            "findings": dict(sorted(Counter(one.finding for one in changes).items())),
            "changes": [asdict(one) for one in changes],
        }
        _finish(begun, out, log, to_json_bytes({**about, **told}))
    return Applied(out, log, tuple(changes), tuple(told["files"]))


def _copy(
    folder: Path, dataset: Path, tables: Sequence[OpenTable], frames: Sequence[pl.DataFrame]
) -> tuple[Path, dict[str, Any]]:
    """A copy of the dataset with the changed tables, and digests of these files for the log."""
    files, copy = dict[str, Any](), folder / dataset.name
    (shutil.copytree if dataset.is_dir() else shutil.copyfile)(dataset, copy)
    for one, frame in zip(tables, frames, strict=True):
        if frame is one.frame:
            continue
        name = one.path.relative_to(dataset) if dataset.is_dir() else Path(one.path.name)
        into = copy / name if dataset.is_dir() else copy
        one.write(frame, into)
        files[name.as_posix()] = {"before": sha256_of(one.path), "after": sha256_of(into)}
    return copy, {"files": files}


def _list(file: Path, run: Path, changes: Sequence[Change]) -> tuple[Path, dict[str, Any]]:
    """Write changes as a list of corrections; its path, and digests for the log."""
    rows = [
        (one.instance, one.label or None, one.new or None, one.finding, one.keep or None)
        for one in changes
    ]
    table = pl.DataFrame(rows, schema=list(CORRECTIONS), orient="row", infer_schema_length=None)
    table.write_csv(file)
    inputs = read_json(run / RESTRICTED / MANIFEST)["inputs"]
    before = {Path(one["path"]).name: one["sha256"] for one in inputs if one["role"] == "data"}
    return file, {"files": {}, "corrections": {"before": before, "after": sha256_of(file)}}


def _finish(begun: Path, out: Path, log: Path, log_content: bytes) -> None:
    """Write the log, unless a killed command left the same one, and rename ``begun`` to ``out``."""
    if not (log.is_file() and log.read_bytes() == log_content):
        _refuse_occupied(log)
        with written_whole(log) as file:
            file.write_bytes(log_content)
    try:
        begun.rename(out)
    except OSError:
        log.unlink()
        raise


def _refuse_occupied(place: Path) -> None:
    if place.exists():
        raise OutputError(
            "what is corrected is written to a new place", found="something is there", where=place
        )


def _refuse_other_labels(
    before: set[tuple[str, str]],
    found: set[tuple[str, str]],
    changes: Sequence[Change],
    copy: Path,
) -> None:
    """Refuse a copy whose labels are not those of the data after the changes."""
    gone = {(one.instance, one.label) for one in changes if one.kind != "add" and not one.keep}
    new = {(one.instance, one.new) for one in changes if one.new}
    if differing := sorted((before - gone | new) ^ found):
        raise InputError(
            "a copy is required that reads as the data with the changes",
            found=f"other labels of {first_cases(f'{one}: {label}' for one, label in differing)}",
            where=copy,
        )


def _labels_of(labels: LabelDataset) -> set[tuple[str, str]]:
    """Each instance and label as written, those of refused rows too unless they do not count."""
    refused = pl.when(pl.col("reason") != "left_out").then("label")
    texts = pl.concat([labels.mappings["label"], labels.refusals.select(refused)["label"]])
    written = labels.written.select(
        labels.instances["instance"].gather(labels.written["instance"]).alias("instance"),
        label=texts.gather(labels.written["line"]),
    )
    return {*written.drop_nulls().iter_rows()}
