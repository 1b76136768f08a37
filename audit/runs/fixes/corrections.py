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
from audit.base.plurals import counted
from audit.data.dataset import LabelDataset
from audit.results.result import to_json_bytes
from audit.runs.fixes.changes import Change
from audit.runs.fixes.corrected import CorrectedTable, Ledger
from audit.runs.fixes.data_again import read_again
from audit.runs.fixes.table_files import OpenTable, open_tables
from audit.runs.manifest import MANIFEST, RESTRICTED
from audit.runs.settings import Settings

LOG_END = ".changes.json"
"""What the name of a log has behind that of what it is about."""
CORRECTIONS = ("id", "old", "new", "finding", "keep")
"""Columns of a list of corrections: a label that goes has no new one, one to add no old one;
``keep`` equal labels stay."""


def log_of(out: Path) -> Path:
    """Where the log of what was written is."""
    return out.with_name(f"{out.name}{LOG_END}")


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
    ledger, log = Ledger(changes), log_of(out)
    _refuse_occupied(out)
    before = _labels_of(labels)
    _refuse_absent(changes, before, labels)
    tables = open_tables(labels, settings)
    with working_beside(out) as folder, on_disk(out):
        if tables:
            begun, told = _copy(folder, settings, ledger, tables)
            _refuse_unmade(ledger.unmade)
            moved = read_again(replace(settings, dataset=str(begun)))
            _refuse_other_labels(before, _labels_of(moved), changes, begun)
        else:
            begun, told = _list(folder / out.name, run, changes)
        about = {
            "schema_version": "1.0",
            "run": sha256_of(run / "result.json"),
            "data": Path(settings.dataset).name,
            "findings": dict(sorted(Counter(one.finding for one in changes).items())),
            "changes": [asdict(one) for one in changes],
        }
        _placed(begun, out, log, to_json_bytes({**about, **told}))
    return Applied(out, log, tuple(changes), tuple(told["files"]))


def _copy(
    folder: Path,
    settings: Settings,
    ledger: Ledger,
    tables: Sequence[OpenTable],
) -> tuple[Path, dict[str, Any]]:
    dataset, files, start = Path(settings.dataset), dict[str, Any](), 0
    copy, not_kept = folder / dataset.name, dict[str, None]()
    (shutil.copytree if dataset.is_dir() else shutil.copyfile)(dataset, copy)
    for one in tables:
        table = CorrectedTable(one.frame, one.path, one.columns, ledger, start)
        start += len(one.frame)
        if table.after is table.frame:
            continue
        name = one.path.relative_to(dataset) if dataset.is_dir() else Path(one.path.name)
        into = copy / name if dataset.is_dir() else copy
        one.write(table.after, into)
        files[name.as_posix()] = {"before": sha256_of(one.path), "after": sha256_of(into)}
        not_kept[one.not_kept] = None
    return copy, {"files": files, "not_kept": [*not_kept]}


def _list(file: Path, run: Path, changes: Sequence[Change]) -> tuple[Path, dict[str, Any]]:
    rows = [
        (one.instance, one.label or None, one.new or None, one.finding, one.keep or None)
        for one in changes
    ]
    table = pl.DataFrame(rows, schema=list(CORRECTIONS), orient="row", infer_schema_length=None)
    table.write_csv(file)
    inputs = read_json(run / RESTRICTED / MANIFEST)["inputs"]
    before = {Path(one["path"]).name: one["sha256"] for one in inputs if one["role"] == "data"}
    return file, {"files": {}, "corrections": {"before": before, "after": sha256_of(file)}}


def _placed(begun: Path, out: Path, log: Path, told: bytes) -> None:
    """Give what was written its name; the same log without it is of a killed command."""
    if not (log.is_file() and log.read_bytes() == told):
        _refuse_occupied(log)
        with written_whole(log) as file:
            file.write_bytes(told)
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


def _refuse_absent(
    changes: Sequence[Change], before: set[tuple[str, str]], labels: LabelDataset
) -> None:
    known = {*labels.instances["instance"]}
    _refuse_unmade(
        [
            one
            for one in changes
            if one.instance not in known or (one.label and (one.instance, one.label) not in before)
        ]
    )


def _refuse_unmade(unmade: Sequence[Change]) -> None:
    if unmade:
        raise InputError(
            "a place in the data is required for each change",
            found=f"none for {counted(len(unmade), 'changes')}: "
            + first_cases(f"{one.label or 'add ' + one.new} of {one.instance}" for one in unmade),
            hint="a label is added only where a cell of the record is blank, or holds several",
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
    written = labels.written.with_columns(label=texts.gather(labels.written["line"]))
    ids = labels.instances["instance"].gather(written["instance"])
    pairs = zip(ids.to_list(), written["label"].to_list(), strict=True)
    return {(one, label) for one, label in pairs if label is not None}
