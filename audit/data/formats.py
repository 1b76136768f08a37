"""Readers of labels and predictions, one format a file."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import replace
from pathlib import Path

from audit.base.errors import AuditError, FormatError, InputError
from audit.data.label_format import Batches, Columns, LabelFormat, RawLabels
from audit.data.label_formats import caml, grouped, jsonl, long, mimic3, mimic4, npy, psv, wide
from audit.data.prediction_format import PredictionFormat, RawPredictions
from audit.data.prediction_formats import (
    scores_jsonl,
    scores_long,
    scores_npy,
    scores_npz,
    scores_pt,
    scores_safetensors,
    scores_sets,
)
from audit.data.sources import File, Folder, Source, source_of

FORMATS: tuple[LabelFormat, ...] = (
    mimic3.FORMAT,
    mimic4.FORMAT,
    caml.FORMAT,
    long.FORMAT,
    jsonl.FORMAT,
    wide.FORMAT,
    grouped.FORMAT,
    psv.FORMAT,
    npy.FORMAT,
)
"""All formats of label files."""

PREDICTION_FORMATS: tuple[PredictionFormat, ...] = (
    scores_npy.FORMAT,
    scores_npz.FORMAT,
    scores_long.FORMAT,
    scores_jsonl.FORMAT,
    scores_pt.FORMAT,
    scores_safetensors.FORMAT,
    *scores_sets.FORMATS,
)
"""All formats of prediction files."""


def read_labels(data: object, columns: Columns, format: str | None = None) -> RawLabels:
    """Read the raw labels of a source, in the named format or the one that matches.

    Args:
        data: What `audit.data.sources.source_of` takes: a path or a frame.
        columns: The columns that the user names.
        format: A name from `FORMATS`; None: detected from the source.

    Raises:
        FormatError: If not exactly one format matches; the message says how to choose one.
        InputError: If the path does not exist, cannot be read, or holds pickled objects.
        SchemaError: If a column is missing or of another type, or differs between parts.
    """
    source = source_of(data)
    chosen = format_of(source, format)
    if not chosen.of_folders:
        source.require_parts()
    digest = "" if source.files else source.digest
    return replace(chosen.read(source, columns), format=chosen.name, digest=digest)


def read_predictions(
    data: object, classes: Path | None = None, format: str | None = None
) -> RawPredictions:
    """Read the raw scores, or predicted sets, of a source, in the named or the matching format.

    Args:
        data: What `audit.data.sources.source_of` takes: a path or a frame.
        classes: File with the column names of a matrix that has none, one per line.
        format: A name from `PREDICTION_FORMATS`; None: detected from the source.

    Raises:
        FormatError: If not exactly one format matches; the message says how to choose one.
        InputError: If the file does not exist, cannot be read, or holds pickled objects.
        SchemaError: If its shape, its names or its values are not as the format requires.
    """
    source = source_of(data)
    matching = [
        known
        for known in PREDICTION_FORMATS
        if (known.name == format if format else of_each_part(known, source))
    ]
    if len(matching) == 1:
        source.require_parts()
        return matching[0].read(source, classes)
    source.refuse_pickle()
    listed = "".join(f"\n  {known.name}: {known.title}" for known in matching or PREDICTION_FORMATS)
    raise FormatError(
        "exactly one format must match the predictions",
        found=", ".join(known.name for known in matching) or _nothing(source, format),
        where=source,
        hint=f"these are known:{listed}",
    )


def format_of(source: Source, name: str | None) -> LabelFormat:
    """The named format, or the one that matches a dataset.

    Raises:
        FormatError: If not exactly one format matches.
        InputError: If the dataset cannot be read, or holds pickled objects.
    """
    if not isinstance(source, Folder):
        _refuse_unreadable(source)
    matching = [
        known for known in FORMATS if (known.name == name if name else is_of(known, source))
    ]
    others = [] if name or not isinstance(source, Folder) else _others_in(source, matching)
    if len(matching) == 1 and not others:
        return matching[0]
    if not matching and source.suffix == ".csv":
        for part in source.parts:
            part.text()  # what is not UTF-8 is told as that
    found = [known.name for known in matching] + others
    listed = "".join(f"\n  {known.name}: {known.title}" for known in matching or FORMATS)
    raise FormatError(
        "exactly one format must match the dataset",
        found=", ".join(found) or _nothing(source, name),
        where=source,
        hint="give one of these; a folder is read as one table if all its files are of one format"
        if others and not matching
        else f"--format names one:{listed}",
    )


def batches_of(source: Source) -> Batches:
    """How a source is counted in batches; what no format recognises is a table, as `long` reads it.

    Raises:
        InputError: If it holds pickled objects.
    """
    source.refuse_pickle()
    giving = (known.batches for known in FORMATS if known.batches and is_of(known, source))
    return next(giving, long.BATCHES)


def is_of(known: LabelFormat, source: Source) -> bool:
    """Whether a source is of a format: a folder as a whole, or each of its parts."""
    return known.matches(source) if known.of_folders else of_each_part(known, source)


def of_each_part(known: LabelFormat | PredictionFormat, source: Source) -> bool:
    """Whether each part of a source is of a format; false of a folder that has no parts."""
    return bool(source.parts) and all(map(known.matches, source.parts))


def _nothing(source: Source, named: str | None) -> str:
    if isinstance(source, Folder) and not source.entries:
        return "an empty folder"
    return f"none named {named!r}" if named else "none that matches"


def _refuse_unreadable(source: Source) -> None:
    source.refuse_pickle()
    if source.files and not source.head.strip():
        raise InputError("a dataset with content is required", found="an empty file", where=source)


def _others_in(folder: Folder, own: list[LabelFormat]) -> list[str]:
    """Datasets in a folder that are no part of the dataset that the folder itself is."""
    found = []
    for entry in folder.entries:
        with suppress(AuditError):
            if isinstance(entry, File):
                _refuse_unreadable(entry)
            formats = [known for known in FORMATS if is_of(known, entry)]
            if formats and not set(formats) & set(own):
                found.append(f"{entry.path.name} ({', '.join(known.name for known in formats)})")
    return found
