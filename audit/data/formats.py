"""All formats of labels and predictions, and which of them a source is of."""

from __future__ import annotations

import re
from contextlib import suppress
from dataclasses import replace

from audit.base.errors import AuditError, FormatError, InputError, first_cases
from audit.base.files import called, whole_characters
from audit.data import interface_folder
from audit.data.class_names import Classes
from audit.data.label_format import Batches, Columns, LabelFormat, RawLabels
from audit.data.label_formats import (
    caml,
    id_lines,
    joined,
    jsonl,
    long,
    mimic,
    npy,
    several,
    wide,
)
from audit.data.label_formats.joined import cells_of, hold_several
from audit.data.label_formats.several import families, is_pattern
from audit.data.prediction_format import PredictionFormat, RawPredictions
from audit.data.prediction_formats import (
    scores_arrays,
    scores_jsonl,
    scores_long,
    scores_sets,
    scores_wide,
)
from audit.data.records import ID_NAMES, column_for
from audit.data.sources import File, Folder, Frame, Source, source_of

_ID = re.compile(r"(^|_|\b)(id|key|no|nr)$|^(patient|subject|record|case|stay|admission|instance)")
_PERSON = re.compile(r"patient|subject|person")
_LABEL = re.compile(r"label|code|diag|dx|icd|class|term|concept|tag|categor")


def nearest_command(source: Source) -> str:
    """Options that name the columns of ids and labels, as the names and cells suggest them.

    Returns:
        A hint; empty where the source is not a table with two columns.
    """
    names = [name for name in source.schema if name.strip()]
    if len(names) < 2:
        return ""
    pattern, numbered = next(iter(families(names).items()), (None, []))
    id_ = _best(names, _ID, but=numbered) or names[0]
    others = [name for name in names if name != id_]
    label = pattern or _best(others, _LABEL) or _coded(source, others) or others[0]
    free = [name for name in others if name != label and name not in numbered]
    finer = _finer(source, id_, free, label) if _PERSON.search(id_.strip().lower()) else None
    ids = f"{_quoted(finer)} --group {_quoted(id_)}" if finer else _quoted(id_)
    return (
        f"name the columns of ids and labels, perhaps: --id {ids} --label {_quoted(label)}"
        "; audit list formats lists what is read without that"
    )


def _finer(source: Source, person: str, names: list[str], label: str) -> str | None:
    """The first column with more values than that of the persons, as of their stays.

    Where labels stand one a row, a column with another value in each row numbers the rows.
    """
    persons, rows = set(cells_of(source, person)), len(cells_of(source, person))
    most = rows if hold_several(cells_of(source, label)) else rows - 1
    return next(
        (name for name in names if len(persons) < len(set(cells_of(source, name))) <= most), None
    )


def _best(names: list[str], pattern: re.Pattern[str], but: list[str] | None = None) -> str | None:
    free = [name for name in names if name not in (but or [])]
    usual = called(free, ID_NAMES) if pattern is _ID else []
    fitting = [name for name in free if pattern.search(name.strip().lower())]
    return next(iter(usual or fitting), None)


def _coded(source: Source, names: list[str]) -> str | None:
    """The first column most of whose first cells have a digit and a letter or a dot."""
    for name in names:
        cells = [cell for cell in cells_of(source, name) if cell.strip()]
        coded = [cell for cell in cells if re.search(r"\d", cell) and re.search(r"[A-Za-z.]", cell)]
        if 2 * len(coded) > len(cells):
            return name
    return None


def _quoted(name: str) -> str:
    return name if re.fullmatch(r"[\w.-]+", name) else "'" + name.replace("'", "'\\''") + "'"


FORMATS: tuple[LabelFormat, ...] = (
    mimic.MIMIC_III,
    mimic.MIMIC_IV,
    caml.FORMAT,
    long.FORMAT,
    joined.FORMAT,
    several.FORMAT,
    jsonl.FORMAT,
    wide.FORMAT,
    id_lines.GROUPED,
    id_lines.PSV,
    npy.FORMAT,
    interface_folder.FORMAT,
)
"""All formats of label files."""

PREDICTION_FORMATS: tuple[PredictionFormat, ...] = (
    *scores_arrays.NUMPY,
    scores_long.FORMAT,
    scores_wide.FORMAT,
    scores_jsonl.FORMAT,
    *scores_arrays.TENSORS,
    interface_folder.OF_SCORES,
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
    chosen = format_of(source, format, columns.label)
    if not chosen.of_folders:
        source.require_parts()
    digest = "" if source.files else source.digest
    with whole_characters(source):
        return replace(chosen.read(source, columns), format=chosen.name, digest=digest)


def read_predictions(
    data: object, classes: Classes | None = None, format: str | None = None
) -> RawPredictions:
    """Read the raw scores, or predicted sets, of a source, in the named or the matching format.

    Args:
        data: What `audit.data.sources.source_of` takes: a path or a frame.
        classes: Column names of a matrix that has none, or a file of them, one per line.
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
        if (known.name == format if format else is_of(known, source))
    ]
    if len(matching) == 1:
        if not matching[0].of_folders:
            source.require_parts()
        with whole_characters(source):
            return matching[0].read(source, classes)
    source.refuse_pickle()
    listed = "".join(f"\n  {known.name}: {known.title}" for known in matching or PREDICTION_FORMATS)
    raise FormatError(
        "exactly one format must match the predictions",
        found=", ".join(known.name for known in matching) or _nothing(source, format),
        where=source,
        hint=f"these are known:{listed}",
    )


def format_of(source: Source, name: str | None, label: str | None = None) -> LabelFormat:
    """The named format, or the one that matches a dataset.

    Args:
        source: The dataset.
        name: A name from `FORMATS`; None: detected.
        label: The column of labels that the user names, or a pattern of several. A table that no
            format recognises is one of labels in that column.

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
    if name is None and is_pattern(label):
        return several.FORMAT
    if len(matching) == 1 and not others:
        return matching[0]
    if not matching and not name and (column := _column_of(source, label)):
        return joined.FORMAT if hold_several(cells_of(source, column)) else long.FORMAT
    if not matching and not name and label and isinstance(source, (File, Frame)) and source.schema:
        column_for("label", label, list(source.schema), source)
    if not matching and source.suffix == ".csv":
        for part in source.parts:
            part.text()  # what is not UTF-8 is reported as that
    found = [known.name for known in matching] + others
    table = not found and not name and isinstance(source, (File, Frame))
    listed = "".join(f"\n  {known.name}: {known.title}" for known in matching or FORMATS)
    raise FormatError(
        "exactly one format must match the dataset",
        found=", ".join(found) or _nothing(source, name),
        where=source,
        hint="give one of these; a folder is read as one table if all its files are of one format"
        if others and not matching
        else (nearest_command(source) if table else "") or f"--format names one:{listed}",
    )


def _column_of(source: Source, label: str | None) -> str | None:
    """The column of that name, case ignored; None where there is none, or no name."""
    return next(iter(called(source.schema, [label])), None) if label else None


def batches_of(source: Source, label: str | None = None) -> Batches:
    """How a source is counted in batches; what no format recognises is a table, as `long` reads it.

    Args:
        source: The dataset.
        label: The column of labels that the user names, or a pattern of several.

    Raises:
        InputError: If it holds pickled objects.
    """
    source.refuse_pickle()
    if is_pattern(label):
        return several.BATCHES
    giving = [known.batches for known in FORMATS if known.batches and is_of(known, source)]
    if not giving and (column := _column_of(source, label)):
        return joined.BATCHES if hold_several(cells_of(source, column)) else long.BATCHES
    return giving[0] if giving else long.BATCHES


def is_of(known: LabelFormat | PredictionFormat, source: Source) -> bool:
    """Whether a source is of a format: a folder as a whole, or each of its parts."""
    return known.matches(source) if known.of_folders else of_each_part(known, source)


def of_each_part(known: LabelFormat | PredictionFormat, source: Source) -> bool:
    """Whether each part of a source is of a format; false of a folder that has no parts."""
    return bool(source.parts) and all(map(known.matches, source.parts))


def _nothing(source: Source, named: str | None) -> str:
    if isinstance(source, Folder) and not source.entries:
        return "an empty folder"
    if named:
        return f"none named {named!r}"
    names = list(source.schema) if isinstance(source, (File, Frame)) else []
    return f"none that matches; the columns {first_cases(names)}" if names else "none that matches"


def _refuse_unreadable(source: Source) -> None:
    source.refuse_pickle()
    if source.files and not source.head.strip():
        raise InputError("a dataset with content is required", found="an empty file", where=source)


def _others_in(folder: Folder, own: list[LabelFormat]) -> list[str]:
    """Datasets in a folder that are no part of the dataset that the folder itself is."""
    found = []
    mine = {name for known in own for name in known.own_files}
    for entry in folder.entries:
        if entry.path.name in mine:
            continue
        with suppress(AuditError):
            if isinstance(entry, File):
                _refuse_unreadable(entry)
            formats = [known for known in FORMATS if is_of(known, entry)]
            if formats and not set(formats) & set(own):
                found.append(f"{entry.path.name} ({', '.join(known.name for known in formats)})")
    return found
