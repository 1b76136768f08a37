"""Columns of ids and labels that nobody named: taken and told where clear, else tried as hints."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from itertools import islice
from shlex import quote

import polars as pl

from audit.base.errors import AuditError, first_cases
from audit.base.readings import AskedError, Reading
from audit.data.column_names import (
    ADMITTING,
    CODED,
    OTHER,
    kind_of,
    says,
)
from audit.data.instance_columns import InstanceColumns
from audit.data.known_nodes import LEAST_SHARE
from audit.data.label_format import Columns, RawLabels
from audit.data.label_formats.jsonl import as_table
from audit.data.label_formats.several import stating
from audit.data.label_formats.tables import values_of
from audit.data.records import NUMBERED, made_with_key, repeats, written_anew
from audit.data.sources import Frame, Source
from audit.data.sources.file import is_large

_TRIED = 12
"""Number of commands that are tried."""
_NEARLY = 0.9
"""Share of nodes that is nearly all."""

Tried = Callable[[Source, Columns], RawLabels]


def clear_columns(
    source: Source, named: Columns, tried: Tried, *, groups: bool = True
) -> tuple[Columns, tuple[Reading, ...]] | None:
    """The columns with those of ids and labels, and what is told of them; None if they are unclear.

    They are clear where the cells of one column, or of the columns of families, are nodes, most
    rows hold some, few of any other column's are, and one column alone can be the id. What is clear
    has been read by ``tried``. With ``groups`` the column of the group may be found too.
    """
    source = source if is_large(source) else as_table(source)
    if source.nodes is None or len(source.schema) < 2:
        return None
    found = InstanceColumns(_some_of(source), named)
    label = found.label() if named.label is None else named.label
    id_ = None if label is None else named.id if named.id is not None else found.id_of(label)
    if label is None or id_ is None or (named.label is None and found.is_rare(label)):
        return None
    if named.id is None and (found.merged() or found.begins_anew(id_)):
        return None
    codes = {} if named.codes else found.codes_of(label)
    if None in codes.values() or (codes and not groups):
        return None
    persons = found.persons_of(label, id_) if groups and not named.group else []
    for group in dict.fromkeys([*(persons if len(persons) == 1 else ()), named.group]):
        columns = replace(named, id=id_, label=label, group=group, codes=codes or named.codes)
        torn = found.each(label) and named.id is None and id_ != NUMBERED and found.differs(id_)
        if _reads(found, columns, tried, named.label is not None) and not (
            torn and repeats(values_of(source)(id_))
        ):
            return columns, tuple(_told(source, named, columns, found))
    return None


def nearest_command(source: Source, named: Columns, tried: Tried, *, groups: bool = True) -> str:
    """A hint: options that name columns of ids and labels by which the source was read when tried.

    It is empty where no nodes are known, or the source is not a table with two columns.
    """
    source = source if is_large(source) else as_table(source)
    if source.nodes is None or len(source.schema) < 2:
        return ""
    some = InstanceColumns(_some_of(source), named)
    if named.id is None and source.files and (merged := some.merged()):
        return _filling(source, merged)
    reading = (one for one in islice(some.commands(groups), _TRIED) if _reads(some, one, tried))
    if (first := next(reading, None)) is not None:
        other = next((one for one in reading if some.differ(first, one)), None)
        id_, place = first.id or "", some.begins_anew(first.id or "")
        if named.id is None and place:
            made = made_with_key(source, [place, id_]) if source.files else "--id a column of both"
            labels = _options(source, replace(first, id=None))
            return f"{id_!r} begins anew in each {place!r}: {made} {labels}"
        said = " or: ".join(_options(source, one) for one in (first, other) if one is not None)
        said += _further(some.source, first, tried)
        return (
            f"name the columns of ids and labels, perhaps: {said}"
            "; audit list formats lists what is read without that"
        )
    some.source.table()  # what cannot be read, as rows that were cut, is told as that
    return (
        "no columns that were tried hold ids and labels that are nodes of this hierarchy"
        "; --id and --label name them"
    )


def _further(source: Source, columns: Columns, tried: Tried) -> str:
    """What must be stated beside columns: the options of what is asked when they are read."""
    try:
        tried(source, columns)
    except AskedError as error:
        return f", with {error.hint}"
    return ""


def _filling(source: Source, names: Sequence[str]) -> str:
    """A hint: what fills columns of cells that were merged."""
    column = f"p.col({str([*names])[1:-1]}).forward_fill()"
    told = f"{first_cases(names)} stand in the first row of each instance alone, as merged cells do"
    made = written_anew(source, column, "filled.csv")
    return f"{told}: {made} makes filled.csv, in which each row has them"


def _some_of(source: Source) -> Source:
    """The source, or its first rows where it is large or reached in a session alone."""
    if not is_large(source) and (source.files or isinstance(source, Frame)):
        return source
    names, *rows = source.head_rows
    first = Frame(pl.DataFrame(rows, schema=names, orient="row"))
    first.know(source.nodes)
    return first


def _reads(table: InstanceColumns, columns: Columns, tried: Tried, said: bool = False) -> bool:
    """Whether columns give instances with labels, most of them nodes unless the user said which."""
    try:
        rows = tried(table.source, columns).rows
        labels = rows.filter(rows["refused"].is_null())["label"].drop_nulls()
    except AskedError:
        return True
    except AuditError:
        return False
    known, some, label = table.source.nodes, labels.head(10_000), columns.label or ""
    numbers = columns.classes is not None and label in table.names and table.are_numbers(label)
    shares = [known.share(some) or 0.0, known.share_of_titles(some)] if known else [0.0]
    shares += [table.headed(some)] * says(label, CODED)
    return said or numbers or max(shares) >= LEAST_SHARE


def _options(source: Source, columns: Columns) -> str:
    roles = {"--id": columns.id, "--group": columns.group, "--label": columns.label}
    options = {one: f"{one} {quote(name)}" for one, name in roles.items() if name is not None}
    if columns.label and "," in columns.label and not columns.codes:
        options["--label"] = stating(source, [columns.label])
    return " ".join(options.values())


def _told(
    source: Source, named: Columns, columns: Columns, found: InstanceColumns
) -> Iterator[Reading]:
    """What is told of each column that the user did not name."""
    id_, label, group = columns.id or "", columns.label or "", columns.group
    numbered = id_ == NUMBERED and id_ not in source.schema
    rows = sum(map(len, values_of(source)(next(iter(source.schema)) if numbered else id_)))
    if named.label is None:
        why = "nearly all" if found.share(label) >= _NEARLY else "most"
        nodes = source.nodes.name if source.nodes else ""
        why += f" of its cells are nodes of {nodes}, few of any other column's"
        alone = found.members(label)
        shown = alone[0] if len(alone) == 1 else label
        yield Reading(f"{shown!r} holds the labels", why, rows, "--label COLUMN")
        for one in (name for name in found.within(label) if name not in (id_, group)):
            said, why = f"{one!r} is left out", "each of its cells is one of its row's labels too"
            why = "its name says that it was a first guess" if says(one, ADMITTING) else why
            other = f"{label},{one}" if found.each(label) and label not in source.schema else one
            yield Reading(said, why, rows, f"--label {quote(other)}")
        if above := found.above(label, found.names):
            why, every = "each of their cells is its row's label, or above it", [*above, label]
            option = f"--label {quote(','.join(every))}"
            yield Reading(f"{first_cases(above)} are left out", why, rows, option)
    for pattern, own in {} if columns.codes is named.codes else columns.codes.items():
        said, why = str(own).split("-")[0], "any other way to read them is less likely"
        option = f"--codes '{pattern}=as-written'"
        yield Reading(f"{pattern!r} holds {said}", why, rows, option)
    if named.id is None and numbered:
        why = "no column but of texts is named as ids are, or has another value in each row"
        yield Reading("rows are instances, numbered from 0", why, rows, "--id COLUMN")
    elif named.id is None:
        why = "its name says so" if kind_of(id_) < OTHER else "no other column can be one"
        why = "it is the index of a frame, which somebody wrote" if found.is_index(id_) else why
        why += ", and each row has another value" if found.differs(id_) else ""
        if found.each(label) and not found.differs(id_):
            why += ", and rows that share a value are one instance"
        yield Reading(f"{id_!r} is the id of an instance", why, rows, "--id COLUMN")
    if group is not None and named.group is None:
        why = "each id lies within one of its values, and it is named as persons are"
        yield Reading(f"{group!r} is the group of instances", why, rows, "--group COLUMN")
