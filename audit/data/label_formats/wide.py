"""Wide tables: one row per instance, and one column of 0 and 1 per node."""

from __future__ import annotations

import csv
import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence

import polars as pl

from audit.base.errors import SchemaError, first_cases
from audit.base.files import REPEATED, called
from audit.base.readings import Reading
from audit.base.spreadsheets import stream_of
from audit.data.column_names import OTHER, kind_of
from audit.data.known_nodes import LEAST_SHARE, KnownNodes
from audit.data.label_format import (
    Columns,
    LabelFormat,
    Layout,
    RawLabels,
    exploded,
    raw_labels,
    refuse_named,
)
from audit.data.label_formats import tables
from audit.data.records import INDEX, id_of_rows, pick, tidy
from audit.data.sources import Source
from audit.data.sources.source import ID_NAMES

_REPEATED = re.compile(rf"{REPEATED}\d+$")
_CARRIED = {"row": pl.UInt32, "label": pl.String}
_YES, _NO = ("1", "1.0", "true"), ("0", "0.0", "false")
_UNCERTAIN = ["-1", "-1.0", "u", "U"]
"""What radiologists' labels have for what is uncertain."""
_WORDS = {
    **dict.fromkeys(("yes", "y", "x", "checked", "ja", "oui", "present", "positive"), "1"),
    **dict.fromkeys(("no", "n", "unchecked", "nein", "non", "absent", "negative"), "0"),
}
"""What stands for either in columns that are named as nodes and hold nothing else."""
_OTHER_SHAPES = {"label", "labels", "parent", "icd9_code", "icd_code"}


def read(source: Source, columns: Columns) -> RawLabels:
    """Read a table in which every column is a node, except the id, group, split and strata.

    Values are 0, 1, true, false or blank, which is 0; columns that hold others and are not named as
    nodes are left out, which is told. The id is the column that the user named, else one with a
    usual name, else the first, or the only other that is named as ids are.
    """
    refuse_named(columns, source, "label")
    frame = source.table()
    refuse_repeated(frame.columns, source)
    inside = nodes_inside(frame.columns, source.nodes)
    frame = frame.rename(inside)
    others = {*tables.roles_of(columns, frame.columns, source).values()}
    instance, readings = _id_column(frame, columns.id, others, source)
    if instance is None:
        frame, instance = tables.numbered_rows(frame), tables.ROW
    nodes = [name for name in frame.columns if name not in {instance, *others}]
    nodes = [n for n in nodes if n.lower() != INDEX or _are_flags(frame, n, source)]
    known = source.nodes
    unlike = [name for name in nodes if known and not known.means(name)]
    left = [name for name in unlike if inside or not _are_flags(frame, name, source)]
    if left and (nodes := [name for name in nodes if name not in left]):
        said = f"columns that are not named as nodes are left out: {first_cases(left)}"
        why = "they hold other values than 0, 1, true and false"
        why = f"{why}, or begin otherwise than those that are" if inside else why
        readings += (Reading(said, why, len(frame), f"--strata {left[0]}"),)
    if not nodes:
        raise SchemaError(
            "a column of 0 and 1 for each node is required", found="none", where=source
        )
    source.refuse_numbers(instance)
    mentions = pick(frame, source, instance=instance, **columns.beside)
    flags = pl.DataFrame({node: frame[node] for node in nodes})  # a name may be empty
    listed = mentions.with_columns(labels=_labels(flags, source))
    readings += tuple(_told_of_names(inside, len(frame)))
    numbered = instance == tables.ROW
    written = {node: name for name, node in inside.items()}
    place = None if numbered else written.get(instance, instance)
    flagged = tuple(written.get(node, node) for node in nodes)
    layout = Layout(place, flagged, flags=tuple(node.strip() for node in nodes))
    told = {"readings": readings, "numbered": numbered, "id": None if numbered else instance}
    told |= {"layout": layout}
    return raw_labels(exploded(listed), listed, source, columns.rules, **told)


def state_of(value: object) -> bool:
    """Whether a cell says that the instance carries the node of its column.

    >>> [state_of(one) for one in ("1", 1.0, True, " X ", "0", "no", "", None)]
    [True, True, True, True, False, False, False, False]
    """
    text = str(value).strip().lower()
    return _WORDS.get(text, text) in _YES


def nodes_inside(names: Sequence[str], nodes: KnownNodes | None) -> dict[str, str]:
    """The nodes in names of columns that begin alike; none where names are nodes as they stand.

    ``Comorbidity (choice=I10 Hypertension)`` has one before its title.
    """
    if nodes is None or sum(map(nodes.means, names)) > 1:
        return {}
    groups = dict[str, dict[str, str]]()
    for name in names:
        for sign in re.finditer(r"[=:_.(\[-]\s*", name):
            rest = name[sign.end() :].rstrip(" )]")
            word = rest if nodes.means(rest) else rest.split(" ")[0]
            if word and nodes.means(word):
                groups.setdefault(name[: sign.end()], {})[name] = word
    best = max(groups, key=lambda one: len(groups[one]), default="")
    found, alike = groups.get(best, {}), sum(name.startswith(best) for name in names)
    distinct = len({*found.values()} | {*names} - found.keys()) == len(names)
    return found if len(found) > 2 and 2 * len(found) > alike and distinct else {}


def _told_of_names(inside: Mapping[str, str], rows: int) -> Iterator[Reading]:
    if inside:
        said = f"columns go by the nodes in their names: {first_cases(inside.values())}"
        yield Reading(said, "they begin alike, and end in nodes", rows, "name them otherwise")


def matches(source: Source) -> bool:
    """Whether most values after the first column are 0 or 1, and no other format's column is."""
    kinds = list(source.columns.values())[1:]
    if not kinds or _OTHER_SHAPES & source.columns.keys() or _has_labels(source):
        return False
    if 2 * sum(kind == pl.Boolean or kind.is_numeric() for kind in kinds) > len(kinds):
        return True
    names, *rows = source.head_rows or [[]]
    inside = nodes_inside(names, source.nodes)
    held = [name in inside or (source.nodes and source.nodes.means(name)) for name in names]
    of_nodes = [n for n, one in enumerate(held) if one]
    own = of_nodes if len(of_nodes) > 1 else range(1, len(names))
    values = [row[n].strip().lower() for row in rows for n in own if row[n:] and row[n].strip()]
    flags = (*_YES, *_NO, *(_WORDS if len(of_nodes) > 2 else ()))
    numbers = len(of_nodes) > 2 and values and all(map(str.isdecimal, values))
    return bool(numbers) or 2 * sum(value in flags for value in values) > len(values)


def _has_labels(source: Source) -> bool:
    """Whether no column is named as a node, and the cells of one are nodes."""
    if source.nodes is None or any(map(source.nodes.means, source.schema)):
        return False
    return any((source.share_of_nodes(name) or 0) >= LEAST_SHARE for name in source.schema)


def refuse_repeated(names: list[str], source: Source) -> None:
    """Raise SchemaError where a table has two columns of one name."""
    own = (_REPEATED.sub("", name) for name in names)
    written = [bare if bare in names else name for bare, name in zip(own, names, strict=True)]
    repeated = [name for name, times in Counter(written).items() if times > 1]
    if repeated:
        raise SchemaError(
            "every column must have its own name",
            found=f"repeated: {first_cases(repeated)}",
            where=source,
        )


def _id_column(
    frame: pl.DataFrame, named: str | None, others: set[str], source: Source
) -> tuple[str | None, tuple[Reading, ...]]:
    """The column that the user named, or a usual one, or the first; None: rows are numbered."""
    free = [name for name in frame.columns if name not in others]
    besides = [name for name in free if name.strip().lower() != INDEX][:1]
    first = free[:1] if any(_are_flags(frame, name, source) for name in besides) else besides
    kinds = {n: kind_of(n) for n in free if not _are_flags(frame, n, source)}
    best = [n for n in kinds if kinds[n] == min(kinds.values()) < OTHER]
    first = best if len(best) == 1 and kind_of(first[0]) == OTHER else first
    names = called(free, ID_NAMES) or first if named is None else frame.columns
    return id_of_rows(names, named, others, source, lambda name: iter([frame[name]]))


def _are_flags(frame: pl.DataFrame, name: str, source: Source) -> bool:
    values = tidy(frame.select(name), source).to_series().str.to_lowercase()
    return bool(values.is_in(_YES + _NO).all())


def _labels(flags: pl.DataFrame, source: Source) -> pl.Series:
    flags = tidy(flags, source).select(pl.all().str.to_lowercase())
    named = [name for name in flags.columns if source.nodes and source.nodes.means(name)]
    words = [name for name in named if flags[name].drop_nulls().is_in([*_WORDS]).all()]
    flags = flags.with_columns(pl.col(words).replace(_WORDS))
    _require_flags(flags, source)
    carried = [
        pl.DataFrame({"row": rows, "label": [node.strip()] * len(rows)}, schema=_CARRIED)
        for node in flags.columns
        if len(rows := flags[node].is_in(_YES).arg_true())
    ]
    empty = pl.DataFrame(schema=_CARRIED)
    by_row = pl.concat([empty, *carried]).group_by("row").agg("label")
    every = pl.DataFrame({"row": range(flags.height)}, schema={"row": pl.UInt32})
    return every.join(by_row, on="row", how="left", maintain_order="left")["label"]


def _require_flags(flags: pl.DataFrame, source: Source) -> None:
    wrong = flags.select((~pl.all().is_in(_YES + _NO)).any()).row(0)
    for node, is_wrong in zip(flags.columns, wrong, strict=True):
        if is_wrong:
            others = flags[node].filter(~flags[node].is_in(_YES + _NO)).drop_nulls()
            hint = "a column that is not a node is named with --id, --group or --split, or as one "
            hint = _coded(flags, source) or hint + "of the policy's strata"
            if {*others.unique()} <= {*_UNCERTAIN}:
                made = f"{_flags_of(flags, source)}.replace({_UNCERTAIN}, '1')"
                meant = "what is uncertain is a label, or none with '0' in place of '1'"
                hint = _remade(source, made, meant)
            raise SchemaError(
                f"the column {node!r} must hold 0, 1, true, false or nothing",
                found=first_cases(str(other)[:60] for other in others.unique(maintain_order=True)),
                where=_place(source, node),
                hint=hint,
            )


def _coded(flags: pl.DataFrame, source: Source) -> str:
    """What makes flags of columns that hold numbers, by whether these are counts or codes of yes
    and no; empty where some hold others, or are no nodes."""
    values = {one for name in flags.columns for one in flags[name].drop_nulls().unique()}
    named = source.nodes and all(map(source.nodes.means, flags.columns))
    if not named or not all(map(str.isdecimal, values)):
        return ""
    counts = "0" in values
    sign, meant = (">= 1", "every count from 1 on") if counts else ("== 1", "1, which may be yes,")
    made = f"({_flags_of(flags, source)}.cast(p.Int64) {sign}).cast(p.Int8)"
    return _remade(source, made, f"{meant} is a label")


def _flags_of(flags: pl.DataFrame, source: Source) -> str:
    beside = [name for name in source.schema if name.strip() not in flags.columns]
    return f"p.exclude({str(beside)[1:-1]})"


def _remade(source: Source, made: str, meant: str) -> str:
    """The command that makes a table of flags, and what it means."""
    read = f"p.read_csv('{source}', infer_schema=False).with_columns({made})"
    code = f"import polars as p; {read}.write_csv('flags.csv')"
    return f'python -c "{code}" makes flags.csv, in which {meant}'


def _place(source: Source, node: str) -> str:
    """The first line of a text whose value in a column is no flag; else only the source."""
    for part in source.parts if source.is_text else ():
        text = part.text()
        blank = len(text) - len(text.lstrip("\n"))
        rows = csv.DictReader(stream_of(text[blank:]), delimiter=part.separator)
        for row in rows:
            if str(row.get(node) or "0").strip().lower() not in {*_YES, *_NO, ""}:
                return f"{part}:{blank + rows.line_num}"
    return str(source)


FORMAT = LabelFormat(
    name="wide",
    title="CSV, TSV or Parquet with a column for the id, then a column of 0 and 1 for each node",
    matches=matches,
    read=read,
)
