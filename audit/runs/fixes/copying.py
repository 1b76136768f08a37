"""Corrected copies of the data of a run, a log of what changed, and the way back."""

from __future__ import annotations

import gzip
import hashlib
import shutil
from base64 import b64encode
from collections import Counter
from collections.abc import Mapping, Sequence
from contextlib import closing
from dataclasses import asdict, dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any

import polars as pl

from audit.base.disk import on_disk, working_beside, written_whole
from audit.base.errors import InputError, OutputError, first_cases
from audit.base.files import is_gzip, open_bytes, sha256_of
from audit.base.plurals import counted
from audit.data.dataset import LabelDataset
from audit.data.label_formats.mimic import kind_of
from audit.data.records import is_json
from audit.data.sources import File, Source, source_of
from audit.data.sources.file import CopiedFile
from audit.hierarchies.formats.omop_tables import Tables
from audit.results.result import to_json_bytes
from audit.runs.fixes.changes import (
    Change,
    Edit,
    Ledger,
    LoggedFile,
    edited,
    encoded,
    other_log,
    read_log,
    taken_back,
)
from audit.runs.fixes.events import Codings, Occurrences, became
from audit.runs.fixes.plan import Cells, Planner
from audit.runs.fixes.statements import statements
from audit.runs.fixes.text_files import JsonText, TextTable
from audit.runs.fixes.typed_files import array_edits, changed_archive, changed_parquet
from audit.runs.fixes.workbook import ENDINGS, changed_workbook
from audit.runs.fixes.written_back import OF_FOLDERS, files_of, queried_of, read_again
from audit.runs.settings import Settings

LOG_END = ".changes.json"
"""What the name of a log has behind that of the copy."""


@dataclass(frozen=True)
class Applied:
    """A corrected copy that was written, and the log of its changes beside it."""

    copy: Path
    log: Path
    changes: tuple[Change, ...]
    files: tuple[str, ...]


def log_of(out: Path) -> Path:
    """Where the log of a copy is."""
    return out.with_name(f"{out.name}{LOG_END}")


def write_copy(
    run: Path, settings: Settings, labels: LabelDataset, changes: Sequence[Change], out: Path
) -> Applied:
    """Write a corrected copy of the data of a run, and a log beside it; both whole or not at all.

    Only cells of changed labels differ, and rows that hold nothing but a label that goes. The copy
    is read again before it takes its name, and must have the labels that the changes say.

    Raises:
        InputError: If a change is of a label that is not there, or two are of the same.
        OutputError: If something is at ``out``, or it cannot be written.
    """
    dataset, ledger, log = Path(settings.dataset), Ledger(changes), log_of(out)
    _refuse_occupied(out)
    with working_beside(out) as folder, on_disk(out):
        copy = folder / (dataset.name if dataset.is_file() else out.name)
        change = _Changing(dataset, labels, ledger)
        _copied(dataset, copy)
        undo = {
            _name(path, dataset): _change_file(path, copy, dataset, change)
            for path in files_of(labels, settings.dataset)
        }
        _refuse_unmade(ledger)
        _refuse_other_labels(labels, changes, replace(settings, dataset=str(copy)))
        made = {name: one for name, one in undo.items() if one is not None}
        _placed(copy, out, to_json_bytes(_log(run, dataset, copy, changes, made)))
    return Applied(out, log, tuple(changes), tuple(made))


def _placed(begun: Path, out: Path, told: bytes) -> None:
    """Give a copy its name, with a log; the same log without a copy is of a killed command."""
    log = log_of(out)
    if not (log.is_file() and log.read_bytes() == told):
        _refuse_occupied(log)
        with written_whole(log) as file:
            file.write_bytes(told)
    try:
        begun.rename(out)
    except OSError:
        log.unlink()
        raise


def write_statements(
    run: Path, settings: Settings, labels: LabelDataset, changes: Sequence[Change], out: Path
) -> Applied:
    """Write statements of SQL that change the tables of a run, and a log that holds those that take
    them back; nothing is executed. Parameters as of `write_copy`.

    Raises:
        InputError: As `write_copy` and `statements` do.
        OutputError: If something is at ``out``, or it cannot be written.
    """
    ledger, log = Ledger(changes), log_of(out)
    assert labels.layout is not None, "without a layout nothing is written"
    _refuse_occupied(out)
    with closing(queried_of(settings)) as source:
        name, scripts = Path(source.name), statements(source, labels.layout, ledger)
    _refuse_unmade(ledger)
    forward, back = (one.encode() for one in scripts)
    undo = {"before": _sha256(back), "after": _sha256(forward), "whole": _as_text(back)}
    told = to_json_bytes(_log(run, name, out, changes, {out.name: undo}))
    with working_beside(out) as folder, on_disk(out):
        script = folder / out.name
        script.write_bytes(forward)
        _placed(script, out, told)
    return Applied(out, log, tuple(changes), (out.name,))


def _sha256(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()


def _refuse_occupied(place: Path) -> None:
    if place.exists():
        raise OutputError(
            "a corrected copy is written to a new place", found="something is there", where=place
        )


def _copied(dataset: Path, copy: Path) -> None:
    if dataset.is_dir():
        shutil.copytree(dataset, copy)
    else:
        shutil.copyfile(dataset, copy)


def _name(path: Path, dataset: Path) -> str:
    return path.relative_to(dataset).as_posix() if dataset.is_dir() else path.name


def _change_file(path: Path, copy: Path, dataset: Path, change: _Changing) -> dict[str, Any] | None:
    """Change one file of a copy; what takes it back, or None where nothing changed."""
    into = copy / path.relative_to(dataset) if dataset.is_dir() else copy
    before = sha256_of(path)
    if path.suffix.lower() in (".parquet", ".npz", *ENDINGS):
        if not change.written(path, into):
            return None
        back: dict[str, Any] = {"whole": _as_text(path.read_bytes())}
    else:
        with open_bytes(path) as stream:
            data = stream.read()
        edits = change.edits(path, data)
        if not edits:
            return None
        new = edited(data, edits)
        if is_gzip(path):
            into.write_bytes(gzip.compress(new, mtime=0))
            back = {"whole": _as_text(path.read_bytes())}
        else:
            into.write_bytes(new)
            back = {"edits": [[e.start, e.end, _as_text(e.new)] for e in taken_back(data, edits)]}
    return {"before": before, "after": sha256_of(into), **back}


def _as_text(data: bytes) -> str:
    return b64encode(data).decode()


class _Changing:
    """What the changes of a ledger make of the files of a dataset, one after the other."""

    def __init__(self, dataset: Path, labels: LabelDataset, ledger: Ledger) -> None:
        assert labels.layout is not None, "without a layout nothing is written"
        self._dataset, self._layout, self._ledger = dataset, labels.layout, ledger
        self._format = labels.format
        if self._layout.events is not None:
            self._rows = self._layout.events(source_of(str(dataset)))
            self._became = became(self._rows, ledger)
            self._codings = Codings(self._rows, self._became) if labels.format == "fhir" else None

    def written(self, path: Path, into: Path) -> bool:
        """Write a file that is no text with its changes; False, without any, and nothing."""
        if path.suffix.lower() == ".parquet":
            return changed_parquet(path, into, partial(self._planner, path))
        writes = changed_archive if path.suffix.lower() == ".npz" else changed_workbook
        return writes(path, into, self._layout, self._ledger)

    def edits(self, path: Path, data: bytes) -> list[Edit]:
        """What changes of the bytes of a file, maybe read from a copy in another encoding."""
        if self._format == "fhir" and self._codings is not None:
            return self._codings.edits(path, data)
        source = File(path) if self._dataset.is_dir() else source_of(path)
        if isinstance(source, CopiedFile) and (encoding := source.encoding):
            edits = self._of_text(File(source.path), data.decode(encoding).encode())
            return [*encoded(data.decode(encoding).encode(), edits, encoding)]
        return self._of_text(source, data)

    def _of_text(self, source: Source, data: bytes) -> list[Edit]:
        layout = self._layout
        if self._format == "npy":
            return array_edits(data, layout, self._ledger)
        if is_json(source):
            return JsonText(data, layout).edits(self._ledger)
        separator, notes, header = source.separator, source.preamble.lines, layout.header
        if header is not None:
            separator = "\t" if "\t" in source.head_lines[0] else "|"
        elif source.preamble.header is not None:
            header = tuple(source.schema)
        table = TextTable(data, separator, notes, header, plain=layout.header is not None)
        return table.edits(self._planner(source.files[0], table))

    def _planner(self, path: Path, table: Cells) -> Planner:
        if self._layout.events is None:
            kind = kind_of(File(path)) if self._format in OF_FOLDERS else None
            return Planner(table, self._layout, self._ledger, kind or "")
        kind = path.name.lower().partition("_")[0]
        return Occurrences(table, self._rows, self._became, kind, Tables(self._dataset))


def _refuse_unmade(ledger: Ledger) -> None:
    unmade = ledger.unmade
    if unmade:
        raise InputError(
            "a place in the data is required for each change",
            found=f"none for {counted(len(unmade), 'changes')}: "
            + first_cases(f"{one.label or 'add ' + one.new} of {one.instance}" for one in unmade),
            hint="a label is added only where a cell of the record is blank, or holds several",
        )


def _refuse_other_labels(
    before: LabelDataset, changes: Sequence[Change], settings: Settings
) -> None:
    """Refuse a copy whose labels are not those of the data after the changes."""
    gone = {(one.instance, one.label) for one in changes if one.kind != "add" and not one.keep}
    new = {(one.instance, one.new) for one in changes if one.new}
    expected = _labels_of(before) - gone | new
    found = _labels_of(read_again(settings))
    if differing := sorted(expected ^ found):
        raise InputError(
            "a copy is required that reads as the data with the changes",
            found=f"other labels of {first_cases(f'{one}: {label}' for one, label in differing)}",
            where=settings.dataset,
        )


def _labels_of(labels: LabelDataset) -> set[tuple[str, str]]:
    """Each instance and label as written, those of refused rows too unless they do not count."""
    refused = pl.when(pl.col("reason") != "left_out").then("label")
    texts = pl.concat([labels.mappings["label"], labels.refusals.select(refused)["label"]])
    written = labels.written.with_columns(label=texts.gather(labels.written["line"]))
    ids = labels.instances["instance"].gather(written["instance"])
    pairs = zip(ids.to_list(), written["label"].to_list(), strict=True)
    return {(one, label) for one, label in pairs if label is not None}


def _log(
    run: Path,
    dataset: Path,
    copy: Path,
    changes: Sequence[Change],
    undo: Mapping[str, Mapping[str, Any]],
) -> dict[str, Any]:
    by_finding = Counter(one.finding for one in changes)
    return {
        "schema_version": "1.0",
        "run": sha256_of(run / "result.json"),
        "data": dataset.name,
        "folder": dataset.is_dir(),
        "findings": dict(sorted(by_finding.items())),
        "changes": [asdict(one) for one in changes],
        "files": dict(undo),
    }


def undone(log: Path, out: Path) -> Path:
    """Write the data as they were before a copy was corrected, from the copy and its log.

    Raises:
        InputError: If the log cannot be read, or the copy is not as it was written.
        OutputError: If something is at ``out``.
    """
    told, copy = read_log(log), log.with_name(log.name.removesuffix(LOG_END))
    _refuse_occupied(out)
    if not copy.exists():
        raise InputError("the corrected copy beside its log is required", found="none", where=copy)
    with working_beside(out) as folder, on_disk(out):
        begun = folder / "data"
        _copied(copy, begun)
        for name, file in told.files.items():
            place, into = (one / name if told.folder else one for one in (copy, begun))
            _refuse_changed(file, place, copy)
            try:
                into.write_bytes(file.content(place.read_bytes()))
            except ValueError:
                raise other_log(log) from None
            if sha256_of(into) != file.before:
                raise other_log(log)
        begun.rename(out)
    return out


def _refuse_changed(file: LoggedFile, place: Path, copy: Path) -> None:
    inside = place.resolve().is_relative_to(copy.resolve())
    if not inside or not place.is_file() or sha256_of(place) != file.after:
        raise InputError(
            "the corrected copy as it was written is required",
            found="another content" if inside and place.is_file() else "no such file in it",
            where=place,
        )
