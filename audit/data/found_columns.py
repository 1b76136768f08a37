"""Columns of ids and labels that nobody named: taken and told where clear, else tried as hints."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from shlex import quote

import polars as pl

from audit.base.errors import AuditError
from audit.base.readings import AskedError, Reading
from audit.data.column_kinds import OTHER, is_admitting, kind_of
from audit.data.column_roles import TableColumns
from audit.data.known_nodes import LEAST_SHARE
from audit.data.label_format import Columns, RawLabels
from audit.data.label_formats.jsonl import as_table
from audit.data.label_formats.several import stating
from audit.data.label_formats.tables import values_of
from audit.data.records import repeats
from audit.data.sources import Frame, Source

_TRIED = 12
"""Number of commands that are tried."""
_WHOLE = 2**26
"""Number of bytes of a source that is tried as a whole; of a larger one the first rows are."""
_NEARLY = 0.9
"""Share of nodes that is nearly all."""

Tried = Callable[[Source, Columns], RawLabels]


def clear_columns(
    source: Source, named: Columns, tried: Tried, *, groups: bool = True
) -> tuple[Columns, tuple[Reading, ...]] | None:
    """The columns with those of ids and labels, and what is told of them; None if they are unclear.

    They are clear where the cells of one column, or of the columns of families, are nodes, few of
    any other column's are, and one column alone can be the id. What is clear has been read.

    Args:
        source: The dataset, which may know the nodes.
        named: What the user names already.
        tried: Reads a source by the columns named.
        groups: Whether the column of the group may be found too.
    """
    source = source if source.size >= _WHOLE else as_table(source)
    if source.nodes is None or len(source.schema) < 2:
        return None
    found = TableColumns(_some_of(source), named)
    label = found.label() if named.label is None else named.label
    id_ = None if label is None else named.id if named.id is not None else found.id_beside(label)
    if label is None or id_ is None:
        return None
    codes = {} if named.codes else found.codes_of(label)
    if None in codes.values() or (codes and not groups):
        return None
    persons = found.persons_of(label, id_) if groups and not named.group else []
    for group in dict.fromkeys([*(persons if len(persons) == 1 else ()), named.group]):
        columns = replace(named, id=id_, label=label, group=group, codes=codes or named.codes)
        if _reads(found.source, columns, tried, named.label is not None) and not (
            found.each(label) and named.id is None and repeats(values_of(source)(id_))
        ):
            return columns, tuple(_told(source, named, columns, found))
    return None


def nearest_command(source: Source, named: Columns, tried: Tried, *, groups: bool = True) -> str:
    """Options that name the columns of ids and labels, which read the source when they are tried.

    Args:
        source, named, tried, groups: As in `clear_columns`.

    Returns:
        A hint; empty where no nodes are known, or the source is not a table with two columns.
    """
    source = source if source.size >= _WHOLE else as_table(source)
    if source.nodes is None or len(source.schema) < 2:
        return ""
    some = TableColumns(_some_of(source), named)
    for columns in (one for _, one in zip(range(_TRIED), some.commands(groups), strict=False)):
        if _reads(some.source, columns, tried):
            return (
                f"name the columns of ids and labels, perhaps: {_options(source, columns)}"
                "; audit list formats lists what is read without that"
            )
    return (
        "no columns that were tried hold ids and labels that are nodes of this hierarchy"
        "; --id and --label name them"
    )


def _some_of(source: Source) -> Source:
    """The source, or its first rows where it is large or reached in a session alone."""
    if source.size < _WHOLE and (source.files or isinstance(source, Frame)):
        return source
    names, *rows = source.head_rows
    first = Frame(pl.DataFrame(rows, schema=names, orient="row"))
    first.know(source.nodes)
    return first


def _reads(source: Source, columns: Columns, tried: Tried, said: bool = False) -> bool:
    """Whether columns give instances with labels, most of them nodes unless the user said which."""
    try:
        rows = tried(source, columns).rows
        labels = rows.filter(rows["refused"].is_null())["label"].drop_nulls()
    except AskedError:
        return True
    except AuditError:
        return False
    known, some = source.nodes, labels.head(10_000)
    shares = [known.share(some) or 0.0, known.share_of_titles(some)] if known else [0.0]
    return said or max(shares) >= LEAST_SHARE


def _options(source: Source, columns: Columns) -> str:
    roles = {"--id": columns.id, "--group": columns.group, "--label": columns.label}
    options = {one: f"{one} {quote(name)}" for one, name in roles.items() if name is not None}
    if columns.label and "," in columns.label and not columns.codes:
        options["--label"] = stating(source, [columns.label])
    return " ".join(options.values())


def _told(
    source: Source, named: Columns, columns: Columns, found: TableColumns
) -> Iterator[Reading]:
    """What is told of each column that the user did not name."""
    id_, label, group = columns.id or "", columns.label or "", columns.group
    rows = sum(map(len, values_of(source)(id_)))
    nodes = source.nodes.name if source.nodes else ""
    if named.label is None:
        said = f"{label!r} holds the labels"
        some = "nearly all" if found.share(label) >= _NEARLY else "most"
        why = f"{some} of its cells are nodes of {nodes}, few of any other column's"
        yield Reading(said, why, rows, "--label COLUMN")
        for one in found.within(label):
            said, why = f"{one!r} is left out", "each of its cells is one of its row's labels too"
            why = "its name says that it was thought at first" if is_admitting(one) else why
            yield Reading(said, why, rows, f"--label '{label},{one}'")
    for pattern, own in {} if columns.codes is named.codes else columns.codes.items():
        sort = str(own).split("-")[0]
        why = "any other way to read them is less likely"
        yield Reading(f"{pattern!r} holds {sort}", why, rows, f"--codes '{pattern}=as-written'")
    if named.id is None:
        why = "its name says so" if kind_of(id_) < OTHER else "no other column can be one"
        why = "it is the index of a frame, which somebody wrote" if found.is_index(id_) else why
        why += ", and each row has another value" if found.differs(id_) else ""
        yield Reading(f"{id_!r} is the id of an instance", why, rows, "--id COLUMN")
    if group is not None and named.group is None:
        why = "each id lies within one of its values, and it is named as persons are"
        yield Reading(f"{group!r} is the group of instances", why, rows, "--group COLUMN")
