"""Readers of labels and predictions, one format a file."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import replace
from pathlib import Path

from audit.base.errors import AuditError, FormatError, InputError
from audit.base.files import files_in, first_bytes, read_text, refuse_pickle
from audit.data.label_format import Columns, LabelFormat, RawLabels
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


def read_labels(path: Path, columns: Columns, format: str | None = None) -> RawLabels:
    """Read the raw labels of a file or folder, in the named format or the one that matches.

    Raises:
        FormatError: If not exactly one format matches; the message says how to choose one.
        InputError: If the path does not exist, cannot be read, or holds pickled objects.
    """
    if not path.exists():
        raise InputError("a dataset file or folder is required", found="nothing there", where=path)
    chosen = format_of(path, format)
    return replace(chosen.read(path, columns), format=chosen.name)


def read_predictions(
    path: Path, classes: Path | None = None, format: str | None = None
) -> RawPredictions:
    """Read the raw scores, or predicted sets, of a file, in the named or the matching format.

    Args:
        path: The file.
        classes: File with the column names of a matrix that has none, one per line.
        format: A name from `PREDICTION_FORMATS`; None: detected from the file.

    Raises:
        FormatError: If not exactly one format matches; the message says how to choose one.
        InputError: If the file does not exist, cannot be read, or holds pickled objects.
        SchemaError: If its shape, its names or its values are not as the format requires.
    """
    head = first_bytes(path)
    matching = [
        known
        for known in PREDICTION_FORMATS
        if (known.name == format if format else known.matches(path, head))
    ]
    if len(matching) == 1:
        return matching[0].read(path, classes)
    refuse_pickle(path)
    listed = "".join(f"\n  {known.name}: {known.title}" for known in matching or PREDICTION_FORMATS)
    nothing = f"none named {format!r}" if format else "none that matches"
    raise FormatError(
        "exactly one format must match the predictions",
        found=", ".join(known.name for known in matching) or nothing,
        where=path,
        hint=f"these are known:{listed}",
    )


def format_of(path: Path, name: str | None) -> LabelFormat:
    """The named format, or the one that matches a dataset.

    Raises:
        FormatError: If not exactly one format matches.
        InputError: If the dataset cannot be read, or holds pickled objects.
    """
    head = b"" if path.is_dir() else _head(path)
    matching = [
        known for known in FORMATS if (known.name == name if name else known.matches(path, head))
    ]
    others = [] if name or path.is_file() else _others_in(path, matching)
    if len(matching) == 1 and not others:
        return matching[0]
    if not matching and path.suffix.lower() == ".csv":
        read_text(path)  # what is not UTF-8 is told as that
    found = [known.name for known in matching] + others
    listed = "".join(f"\n  {known.name}: {known.title}" for known in matching or FORMATS)
    raise FormatError(
        "exactly one format must match the dataset",
        found=", ".join(found) or (f"none named {name!r}" if name else "none that matches"),
        where=path,
        hint="give one of these" if others and not matching else f"--format names one:{listed}",
    )


def _head(path: Path) -> bytes:
    refuse_pickle(path)
    head = first_bytes(path)
    if not head.strip():
        raise InputError("a dataset with content is required", found="an empty file", where=path)
    return head


def _others_in(folder: Path, own: list[LabelFormat]) -> list[str]:
    """Datasets in a folder that are no part of the dataset that the folder itself is."""
    found = []
    for entry in files_in(folder):
        with suppress(AuditError):
            head = b"" if entry.is_dir() else _head(entry)
            formats = [known for known in FORMATS if known.matches(entry, head)]
            if formats and not set(formats) & set(own):
                found.append(f"{entry.name} ({', '.join(known.name for known in formats)})")
    return found
