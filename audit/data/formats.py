"""All formats of labels and predictions, and which of them a source is of."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from contextlib import suppress
from dataclasses import replace
from functools import partial
from typing import TypeVar

from audit.base.errors import AuditError, FormatError, InputError, SchemaError, first_cases
from audit.base.files import called, whole_characters
from audit.base.other_files import refuse_other
from audit.base.plugins import added
from audit.base.readings import Reading, asked
from audit.data.arrays import NPY_MAGIC, ZIP_MAGIC
from audit.data.class_names import Classes
from audit.data.found_columns import clear_columns, nearest_command
from audit.data.json_lines import is_array, is_document
from audit.data.known_nodes import KnownNodes
from audit.data.label_format import Chosen, Columns, LabelFormat, RawLabels, with_class_names
from audit.data.label_formats import (
    events,
    id_lines,
    jsonl,
    long,
    mimic,
    npy,
    published,
    several,
    wide,
)
from audit.data.label_formats.several import is_pattern
from audit.data.label_formats.tables import stated_tables
from audit.data.prediction_format import PredictionFormat, RawPredictions, with_names
from audit.data.prediction_formats import (
    listed,
    scores_arrays,
    scores_jsonl,
    scores_wide,
)
from audit.data.records import UnclearColumnsError, column_for
from audit.data.sources import File, Folder, Frame, Source, source_of
from audit.data.unnamed_columns import refuse_totals, with_rules, with_unread

FORMATS: tuple[LabelFormat, ...] = (
    mimic.MIMIC_III,
    mimic.MIMIC_IV,
    long.CAML,
    long.FORMAT,
    long.JOINED,
    several.FORMAT,
    *published.FORMATS,
    published.OPEN_IMAGES,
    published.FSD50K,
    jsonl.FORMAT,
    wide.FORMAT,
    id_lines.GROUPED,
    id_lines.PSV,
    npy.FORMAT,
    events.FHIR,
    events.MEDS,
    events.OMOP,
)
"""All formats of label files."""

PREDICTION_FORMATS: tuple[PredictionFormat, ...] = (
    *scores_arrays.NUMPY,
    listed.SCORES,
    scores_wide.FORMAT,
    scores_jsonl.FORMAT,
    *scores_arrays.TENSORS,
    *listed.FORMATS,
)
"""All formats of prediction files."""


def label_formats() -> tuple[LabelFormat, ...]:
    """All formats of label files, those of plugins in use last."""
    return (*FORMATS, *added("formats", LabelFormat, PredictionFormat))


def prediction_formats() -> tuple[PredictionFormat, ...]:
    """All formats of prediction files, likewise."""
    return (*PREDICTION_FORMATS, *added("formats", PredictionFormat, LabelFormat))


_Format = TypeVar("_Format", LabelFormat, PredictionFormat)
_Given = TypeVar("_Given")


class UnclearFormatError(FormatError):
    """No format knows the columns of a table."""


_ARRAYS = (NPY_MAGIC, ZIP_MAGIC)
_OF_COLUMNS = ("long", "several", "joined")


def read_labels(data: object, columns: Columns, format: str | None = None) -> RawLabels:
    """Read the raw labels of what `source_of` takes, in the named format or the one that matches.

    Columns that nobody named and no format knows are found by their cells where these are clear.
    """
    source = source_of(data)
    source.load()
    source.know(columns.nodes, named_classes=columns.classes is not None)
    raw, told = _with_found(source, columns, lambda every: _read(source, every, format))
    told = (*source.readings, *told, *raw.readings)
    if raw.format in _OF_COLUMNS and raw.layout is not None:
        told = with_unread(source.schema, [raw.layout.id, *raw.layout.labels], columns, told)
    return replace(raw, readings=told)


def _read(source: Source, columns: Columns, format: str | None) -> RawLabels:
    chosen = format_of(source, format, columns)
    if not chosen.of_folders:
        source.require_parts()
    _refuse_stated(columns, chosen, source)
    told: tuple[Reading, ...] = ()
    if chosen.name in _OF_COLUMNS:
        columns, told = several.named_procedures(source, columns)
    with whole_characters(source):
        table = _as_read(source, chosen)
        raw = chosen.read(table, columns)
        raw = raw if table is source else replace(raw, sources=source.files, layout=None)
    _refuse_last(raw, columns, source)
    numbered, codes = raw.numbered or source.numbered, columns.codes
    raw = replace(raw, format=chosen.name, digest=source.digest, numbered=numbered, codes=codes)
    raw = replace(raw, queried=source.queried, persons=chosen.persons)
    raw = replace(raw, readings=(*told, *raw.readings))
    if columns.classes:
        return with_class_names(raw, columns.classes, source)
    labels = {*raw.rows["label"].drop_nulls()} if source.class_names else ()
    read = {label for label in labels if not label.isdecimal()}
    own = {names for names in source.class_names.values() if read <= {*names}}
    return replace(raw, classes=own.pop()) if len(own) == 1 else raw


def _refuse_last(raw: RawLabels, columns: Columns, source: Source) -> None:
    for last in raw.instances["instance"].tail(1):
        labels = partial(raw.rows["label"].filter, raw.rows["instance"] == last)
        refuse_totals(raw.id, last, labels, columns.rules, source)


def _refuse_stated(columns: Columns, chosen: LabelFormat, source: Source) -> None:
    """Refuse what is stated of labels and says nothing of those of a format, or the hierarchy."""
    nodes = columns.nodes
    stated = (nodes.words.vocabulary if nodes else None) or ""
    if stated and not source.vocabularies and nodes and nodes.name.lower() != stated.lower():
        required = "a vocabulary is stated of FHIR and OMOP alone"
        raise InputError(required, found=f"--vocabulary {stated} for {chosen.name}", where=source)
    if set(columns.codes) - {"*"} and chosen.name not in _OF_COLUMNS:
        raise InputError(
            f"a format of columns, {' or '.join(_OF_COLUMNS)}, is required where codes of some are "
            "stated",
            found=chosen.name,
            where=source,
            hint="state them for all labels: --codes procedures",
        )


def chosen_of(source: Source, columns: Columns, format: str | None = None) -> Chosen:
    """The columns of a source that is read in batches, as `read_labels` finds them.

    What no format recognises is a table, as `long` reads it.
    """
    source.refuse_pickle()
    source.know(columns.nodes)

    def choose(every: Columns) -> Chosen:
        known = _giving(source, every.label, format)
        _refuse_stated(every, known, source)
        for told in several.named_procedures(source, every)[1]:
            stated = replace(told, option=told.option.replace("as-written", "procedures"))
            plain = replace(told, decision="each label is read as it stands")
            raise asked("it must be stated which codes the labels are", [stated, plain], source)
        chosen = (known.choose or long.choose)(source, every, source)
        chosen = with_rules(source, chosen, every)
        if chosen.id is not None:
            row = source.last_row([chosen.id, *chosen.labels])
            labels = partial(map, row.get, chosen.labels)
            refuse_totals(chosen.id, row.get(chosen.id), labels, every.rules, source)
        some = set(every.codes) - {"*"}
        tables = stated_tables(chosen, every.codes, source) if some else ()
        return replace(chosen, tables=tables, persons=known.persons)

    chosen, told = _with_found(source, columns, choose, groups=False)
    told = (*source.readings, *told, *chosen.readings)
    used = [chosen.id, *chosen.labels]
    return replace(chosen, readings=with_unread(source.schema, used, columns, told))


def _giving(source: Source, label: str | None, format: str | None) -> LabelFormat:
    """The format whose columns a source is read by in batches."""
    named = [known for known in label_formats() if known.choose and known.name == format]
    if is_pattern(label, source.schema) and not named:
        return several.FORMAT
    giving = named or [known for known in label_formats() if known.choose and is_of(known, source)]
    return giving[0] if giving else _of_column(source, label)


def _of_column(source: Source, label: str | None) -> LabelFormat:
    """The format of a table of which the column of labels alone is known."""
    column = next(iter(called(source.schema, [label])), None) if label else None
    return long.JOINED if column and long.holds_several(source, column) else long.FORMAT


def _tried(source: Source, columns: Columns) -> RawLabels:
    chosen = format_of(source, None, columns)
    return chosen.read(_as_read(source, chosen), columns)


def _as_read(source: Source, chosen: LabelFormat) -> Source:
    """JSON as a table where several of its keys hold labels; another source as it is."""
    return jsonl.as_table(source) if chosen is several.FORMAT else source


def _with_found(
    source: Source, columns: Columns, read: Callable[[Columns], _Given], *, groups: bool = True
) -> tuple[_Given, tuple[Reading, ...]]:
    """What is read by the columns named, or by those that are clear, with what is told of these.

    It is an error with a hint where they are not.
    """
    try:
        return read(columns), ()
    except (UnclearColumnsError, UnclearFormatError) as error:
        unclear: UnclearColumnsError | UnclearFormatError = error
    table = unclear.table if isinstance(unclear, UnclearColumnsError) else None
    columns = columns if table is None else replace(columns, label=None)

    def tried(some: Source, every: Columns) -> RawLabels:
        return _tried(source if table and is_pattern(every.label, some.schema) else some, every)

    clear = clear_columns(table or source, columns, tried, groups=groups)
    if clear is not None:
        return read(clear[0]), clear[1]
    hint = nearest_command(table or source, columns, tried, groups=groups) or unclear.hint
    kind = SchemaError if isinstance(unclear, SchemaError) else FormatError
    raise kind(unclear.required, found=unclear.found, where=source, hint=hint) from None


def read_predictions(
    data: object,
    classes: Classes | None = None,
    format: str | None = None,
    *,
    nodes: KnownNodes | None = None,
    id: str | None = None,
    instances: Collection[str] = (),
) -> RawPredictions:
    """Read the raw scores, or predicted sets, of what `source_of` takes, in the named format or the
    one that matches.

    Args:
        data: The predictions.
        classes: Column names of a matrix that has none, or a file of them, one per line.
        format: A name from `PREDICTION_FORMATS`; None: detected from the source.
        nodes: Those of the hierarchy, by which columns are recognised.
        id: What the column of the labels' ids is called, as that of the predictions may be.
        instances: These ids, by which their column is recognised too.
    """
    given = source_of(data)
    given.know(nodes, named_classes=classes is not None, id=id)
    given.instances = instances
    source = scores_wide.unpacked(given, classes)
    matching = _matching(prediction_formats(), source, format)
    if len(matching) == 1:
        source.require_parts()
        with whole_characters(source):
            raw = matching[0].read(source, classes)
        told = (*source.readings, *raw.readings)
        raw = replace(raw, numbered=raw.numbered or source.numbered, readings=told)
        raw = raw if source is given else replace(raw, sources=given.files, name=given.name)
        return raw if raw.named else with_names(raw, classes)
    source.refuse_pickle()
    if not matching and not format and isinstance(source, File):
        refuse_other(source.path, source.head, unmatched=True)
    hint = f"--predictions-format names one:{_listed(matching or prediction_formats())}"
    raise _none_or_several("predictions", [known.name for known in matching], source, format, hint)


def format_of(source: Source, name: str | None, columns: Columns) -> LabelFormat:
    """The named format, or the one that matches a dataset; a table that none recognises is one of
    labels in the column of labels that the user names."""
    if not isinstance(source, Folder):
        _refuse_unreadable(source)
    label, names = columns.label, list(source.schema) if isinstance(source, (File, Frame)) else []
    matching = _matching(label_formats(), source, name)
    if not name and label and called(names, [label]):
        matching = [known for known in matching if known not in (id_lines.GROUPED, id_lines.PSV)]
    others = [] if name or not isinstance(source, Folder) else _others_in(source, matching)
    if name is None and is_pattern(label, names):
        return several.FORMAT
    if len(matching) == 1 and not others:
        return matching[0]
    if not (matching or name) and label and called(source.schema, [label]):
        return _of_column(source, label)
    if not (matching or name) and label and (is_array(source) or is_document(source)):
        return jsonl.FORMAT
    if not (matching or name) and label and names:
        column_for("label", label, names, source)
    if not matching and source.suffix in _TEXTS:
        for part in source.parts:
            part.text()  # what is not UTF-8 is reported as that
        if isinstance(source, Folder) and not (name or others):
            source.schema  # noqa: B018 - a part with other columns is reported as that
    if not matching and not name and isinstance(source, File):
        refuse_other(source.path, source.head, unmatched=True)
    found = [known.name for known in matching] + others
    hint = f"--format names one:{_listed(matching or label_formats())}"
    if others and not matching:
        hint = "give one of these; a folder is read as one table if all its files are of one format"
        found += _unlike(source)
    elif isinstance(source, File) and not (found or name) and source.head.startswith(_ARRAYS):
        hint = npy.HINT
    error = _none_or_several("dataset", found, source, name, hint)
    table = isinstance(source, (File, Frame)) and len(source.schema) > 1
    if table and not (found or name or hint == npy.HINT):
        raise UnclearFormatError(error.required, found=error.found, where=source, hint=hint)
    raise error


_TEXTS = (".csv", ".tsv", ".txt", ".psv", ".tab")


def is_of(known: LabelFormat | PredictionFormat, source: Source) -> bool:
    """Whether a source is of a format: a folder as a whole, or each of its parts."""
    if isinstance(known, LabelFormat) and known.of_folders:
        return known.matches(source)
    return bool(source.parts) and all(map(known.matches, source.parts))


def _matching(formats: Sequence[_Format], source: Source, name: str | None) -> list[_Format]:
    return [known for known in formats if (known.name == name if name else is_of(known, source))]


def _listed(formats: Sequence[_Format]) -> str:
    return "".join(f"\n  {known.name}: {known.title}" for known in formats)


def _none_or_several(
    data: str, found: Sequence[str], source: Source, named: str | None, hint: str
) -> FormatError:
    instead = f"none named {named!r}" if named else "none that matches"
    if isinstance(source, Folder) and not source.entries:
        instead = "an empty folder"
    elif not named and isinstance(source, (File, Frame)) and source.schema:
        instead += f"; the columns {first_cases(source.schema)}"
    required = f"exactly one format must match the {data}"
    return FormatError(required, found=", ".join(found) or instead, where=source, hint=hint)


def _refuse_unreadable(source: Source) -> None:
    source.refuse_pickle()
    nothing = {b"": "an empty file", b"[]": "an empty list", b"{}": "an empty object"}
    if source.files and source.head.strip() in nothing:
        found = nothing[source.head.strip()]
        raise InputError("a dataset with content is required", found=found, where=source)


def _unlike(source: Source) -> list[str]:
    """The first part of a folder with other columns than the one before all."""
    for part in getattr(source, "unlike", ()):
        first = source.parts[0]
        return [f"{part} has other columns than {first}: {first_cases(part.schema)}"]
    return []


def _others_in(folder: Folder, own: list[LabelFormat]) -> list[str]:
    """Datasets in a folder that are no part of the dataset that the folder itself is."""
    found = []
    for entry in folder.entries:
        with suppress(AuditError):
            if isinstance(entry, File):
                _refuse_unreadable(entry)
            formats = [known for known in label_formats() if is_of(known, entry)]
            if formats and not set(formats) & set(own):
                found.append(f"{entry.path.name} ({', '.join(known.name for known in formats)})")
    return found
