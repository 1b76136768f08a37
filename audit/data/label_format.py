"""The record that registers a format of label files, and the raw labels that its reader makes."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, TypeAlias

import polars as pl

from audit.base.errors import InputError, SchemaError, first_cases
from audit.base.readings import Reading
from audit.base.schemas import schema
from audit.data.class_names import Classes, beyond_names, file_of, names_by_number
from audit.data.known_nodes import KnownNodes
from audit.data.mapping import REASONS
from audit.data.records import STRATUM
from audit.data.row_rules import EVERY, RowRules
from audit.data.sources import Source
from audit.hierarchies.coding import VERSIONS

ROWS = schema(("instance label", pl.String), ("position", pl.Int64), ("table refused", pl.String))
"""Columns of `RawLabels.rows`: one instance-label assertion per row, as read.

``label`` is null if the source has none; ``position`` is the position in the record, from 1, if
there is an order; ``table`` is the code set that the row was found in; ``refused`` is a reason of
the ledger if the loader already knows one.
"""

INSTANCES = schema(("instance group split", pl.String))
"""First columns of `RawLabels.instances`: every instance once, including those without labels.

The strata that the user names follow, in that order and under those names.
"""

PLACES = schema(("instance split", pl.String), ("labels", pl.List(pl.String)))
"""Columns of `RawLabels.places`: one row per place of an instance that occurs in several places.

A place is a record if the format has one record per instance, else a split. ``labels`` are the
labels found there as written, sorted, with repetitions.
"""


@dataclass(frozen=True)
class Columns:
    """The columns, or keys of a JSON line, that the user names; None: the format detects it.

    ``label`` may be a pattern of several columns, as ``DX#``, where the format has a row per
    instance. ``classes`` are the column names of a matrix, which has none of its own, or their
    file; ``strata`` are further columns of the instances, such as site, period or coder. ``nodes``
    are those of the hierarchy that labels are mapped to, by which columns are recognised; ``rules``
    say which rows count, ``codes`` what is stated of the code sets of columns.

    Raises:
        SchemaError: If a stratum is named twice, or has the name of a column of every dataset.
    """

    id: str | None = None
    label: str | None = None
    group: str | None = None
    split: str | None = None
    classes: Classes | None = None
    strata: tuple[str, ...] = ()
    nodes: KnownNodes | None = None
    rules: RowRules = EVERY
    codes: Mapping[str, str | None] = field(default_factory=dict)

    def __post_init__(self) -> None:
        taken = [*INSTANCES, *self.strata]
        repeated = sorted({name for name in self.strata if taken.count(name) > 1})
        if repeated:
            raise SchemaError(
                f"strata must have different names, none of them {', '.join(INSTANCES)}",
                found=first_cases(repeated),
                hint="the group and the split are named with --group and --split",
            )

    @property
    def further(self) -> dict[str, str]:
        """Names of the columns of the strata and of the rules of rows, by role."""
        return {f"{STRATUM}{name}": name for name in self.strata} | self.rules.roles

    @property
    def beside(self) -> dict[str, str]:
        """Names of the columns other than id and label, by role: group, split, strata and rules."""
        named = {"group": self.group, "split": self.split, **self.further}
        return {role: name for role, name in named.items() if name is not None}


@dataclass(frozen=True)
class Layout:
    """Where the labels of a table stand, so that they can be changed there.

    Args:
        id: The column, or key, of the ids; None: rows are numbered from 0.
        labels: The columns, or keys, of the labels.
        of_instances: Whether a row is an instance, with any number of labels; else it is an
            instance and one label.
        sign: What joins labels in a cell, as a regular expression; None: nothing does.
        flags: The label of each of ``labels``, where these are columns of 0 and 1.
        rules: Which rows count; others stay as they are.
    """

    id: str | None
    labels: tuple[str, ...]
    of_instances: bool = False
    sign: str | None = None
    flags: tuple[str, ...] = ()
    rules: RowRules = EVERY


@dataclass(frozen=True)
class RawLabels:
    """Labels as read, before they are mapped to a hierarchy.

    Args:
        rows: Columns `ROWS`.
        instances: Columns `INSTANCES`, then the strata, all text. An instance in several splits
            has the first in code-point order.
        places: Columns `PLACES`; empty if every instance occurs in one place only.
        sources: The files that were read, in a stable order.
        digest: Digest of the source if it is in no file, else empty.
        titles: Title dictionaries found next to the data.
        persons: Whether the format holds records of persons.
        format: Name of the format that it was read as.
        unnamed: ``instance`` and possible strata that the user did not name, one row per instance.
        readings: What the format took columns and cells to mean.
        numbered: Whether ids are row numbers from 0, since the source has none.
        named: Whether the names of classes that the caller gave are those of its numbers.
        classes: Names of class numbers in their order, where the data themselves say them.
        codes: What is stated, or was found, of the code sets of columns, as in `Columns`.
        id: What the column of the ids is called, where there is one.
        queried: As of the source.
        layout: Where ids and labels stand; None where they are no cells of a table.
    """

    rows: pl.DataFrame
    instances: pl.DataFrame
    sources: tuple[Path, ...]
    places: pl.DataFrame = field(default_factory=lambda: pl.DataFrame(schema=PLACES))
    titles: tuple[Path, ...] = ()
    persons: bool = False
    format: str = "rows"
    digest: str = ""
    unnamed: pl.DataFrame = field(
        default_factory=lambda: pl.DataFrame(schema={"instance": pl.String})
    )
    readings: tuple[Reading, ...] = ()
    numbered: bool = False
    named: bool = False
    classes: tuple[str, ...] = ()
    codes: Mapping[str, str | None] = field(default_factory=dict)
    id: str | None = None
    queried: Mapping[str, str] = field(default_factory=dict)
    layout: Layout | None = None


STATED, BEHIND = "labels_behind_their_sets", "\x1f"
"""Name of a column of labels that each stand behind a code set, and the sign between the two."""


@dataclass(frozen=True)
class Chosen:
    """Where the ids and labels of a source are, so that its rows are read whole or in batches.

    Args:
        id: The column, or key, of the instance's id; None: each row is an instance, and its number
            from 0 the id.
        labels: The column, or key, of the label or of the list of labels; or several columns.
        frames: Frames of two columns, the ids and the labels, of a source, about so many rows at a
            time.
        each: Whether a row has a label in each of ``labels``; else there is one column of them.
        joined: Whether a cell may hold several labels, and a blank one none.
        sign: What joins them; None: a cell holds one.
        readings: What columns and cells were taken to mean.
        rules: Which rows count; frames have a third column of their marks where these mark some.
        tables: The code set that is stated of each of ``labels``; empty: of none. Where some are,
            frames have `STATED` for a second column.
        persons: Whether its rows are records of persons.
    """

    id: str | None
    labels: tuple[str, ...]
    frames: Callable[[Source, Chosen, int], Iterator[pl.DataFrame]]
    each: bool = False
    joined: bool = False
    sign: str | None = None
    readings: tuple[Reading, ...] = ()
    rules: RowRules = EVERY
    tables: tuple[str | None, ...] = ()
    persons: bool = False


Choose: TypeAlias = Callable[[Source, Columns, Source], Chosen]
"""Chooses the columns of a source by what the user names. It asks the source for its columns and
first cells; for whole columns the third argument, the same rows where they are cheap to read."""


@dataclass(frozen=True)
class LabelFormat:
    """One format of labels.

    Args:
        name: What ``--format`` and ``audit list formats`` call it.
        title: What it looks like, in one line.
        matches: Whether a source is of this format.
        read: Reads the labels of a source.
        choose: Chooses its columns, so that it is read in batches; None if it is not.
        of_folders: Whether ``matches`` judges a folder as a whole; else a folder is of the format
            if each of its parts is.
        persons: Whether it holds records of persons.
    """

    name: str
    title: str
    matches: Callable[[Source], bool]
    read: Callable[[Source, Columns], RawLabels]
    choose: Choose | None = None
    of_folders: bool = False
    persons: bool = False


def exploded(listed: pl.DataFrame) -> pl.DataFrame:
    """Turn one row per instance, with its list of ``labels``, into one row per label.

    An instance without labels gives no row; a row without an instance gives at least one, so that
    it is counted.
    """
    filled = pl.when(pl.col("labels").list.len() > 0).then(pl.col("labels"))
    rows = listed.with_columns(labels=filled)
    counted = pl.col("labels").is_not_null() | pl.col("instance").is_null()
    return rows.filter(counted).explode("labels").rename({"labels": "label"})


def raw_labels(
    rows: pl.DataFrame,
    mentions: pl.DataFrame,
    source: Source,
    rules: RowRules,
    **known: Any,
) -> RawLabels:
    """Build the raw labels of a loader from tables that may lack columns.

    Args:
        rows: Columns of `ROWS`; a row without an instance is refused as ``bad_row``.
        mentions: Columns of `INSTANCES` and the strata by role, one row each time an instance
            occurs; with ``labels`` if each row is a record.
        source: The dataset.
        rules: Which rows count; the columns of their roles are in ``rows``.
        known: Further fields of `RawLabels`, such as other files than those of the source.

    Raises:
        InputError: If there is no instance at all.
        SchemaError: If an instance has two groups, or two values of a stratum.
    """
    if mentions.is_empty():
        raise InputError("a dataset with rows is required", found="none", where=source)
    if known.get("layout") is not None:
        known["layout"] = replace(known["layout"], rules=rules)
    return RawLabels(
        rows=_rows(rows, rules, source),
        instances=_instances(mentions, source),
        places=_places(rows, mentions),
        **{"sources": source.files, **known},
    )


_SAID = {"strata": "the policy's columns", "rules": "--where, or a version"}


def with_class_names(raw: RawLabels, classes: Classes, source: Source) -> RawLabels:
    """Raw labels that are numbers of classes, with the names of these; others as they are.

    -1 is no class, so that its row has no label.
    """
    labels = raw.rows["label"].drop_nulls()
    if raw.format == "npy":
        return replace(raw, named=True)
    if labels.is_empty() or not labels.str.contains(r"^(?:-1|[0-9]+)$").all():
        return raw
    names = names_by_number(classes)
    numbers = {"-1": None, **names}
    outside = labels.filter(~labels.is_in(list(numbers)))
    if not outside.is_empty():
        raise beyond_names(names, first_cases(outside.unique(maintain_order=True)), source)
    named = pl.col("label").replace_strict(numbers, return_dtype=pl.String)
    listed = pl.col("labels").list.eval(pl.element().replace_strict(numbers))
    places = raw.places.with_columns(listed.cast(pl.List(pl.String)))
    files = (*raw.sources, *file_of(classes))
    rows = raw.rows.with_columns(named)
    return replace(raw, rows=rows, places=places, sources=files, named=True, layout=None)


def refuse_named(columns: Columns, source: Source, *options: str) -> None:
    """Refuse options that name columns (``id``, ``strata`` ...) for a format without columns."""
    given = [
        _SAID.get(option, f"--{option}")
        for option in options
        if getattr(columns, option) not in (None, (), EVERY)
    ]
    if given:
        raise SchemaError(
            "columns can be named only where the format has them",
            found=", ".join(given),
            where=source,
        )


def _rows(rows: pl.DataFrame, rules: RowRules, source: Source) -> pl.DataFrame:
    homeless = pl.when(pl.col("instance").is_null()).then(pl.lit("bad_row"))
    found = _completed(rows, ROWS).with_columns(refused=pl.coalesce("refused", homeless))
    if rules == EVERY:
        return found
    mark, table = pl.lit(rules.marks(rows, source)), pl.col("table")
    reason = pl.when(mark.is_in(REASONS)).then(mark)
    return found.with_columns(refused=pl.coalesce("refused", reason), table=table_by(mark, table))


def table_by(mark: pl.Expr, table: pl.Expr) -> pl.Expr:
    """The table of rows that have a mark of their rules, and the stated table of their column."""
    tenth = (mark == VERSIONS["10"]) & table.is_not_null()
    own = pl.coalesce(table, pl.when(~mark.is_in(REASONS)).then(mark))
    return pl.when(tenth).then(table + "-10").otherwise(own)


def _instances(mentions: pl.DataFrame, source: Source) -> pl.DataFrame:
    further = [name for name in mentions.columns if name.startswith(STRATUM)]
    distinct = _completed(mentions, INSTANCES | dict.fromkeys(further, pl.String))
    distinct = distinct.drop_nulls("instance").unique(maintain_order=True)
    by_instance = distinct.group_by("instance", maintain_order=True)
    for role in ("group", *further):
        values = by_instance.agg(pl.col(role).drop_nulls().unique(maintain_order=True))
        torn = values.filter(pl.col(role).list.len() > 1)
        if not torn.is_empty():
            name = role.removeprefix(STRATUM)
            raise SchemaError(
                f"an instance must be in one {name}",
                found=f"in several: {_several_values(torn, role)}",
                where=source,
                hint="name the column that holds the group with --group, or the id with --id"
                if role == "group"
                else f"leave {name!r} out of the policy, or name the id with --id",
            )
    firsts = pl.col("group", *further).drop_nulls().first()
    instances = by_instance.agg(firsts, pl.col("split").min())
    names = {role: role.removeprefix(STRATUM) for role in further}
    return instances.select(*INSTANCES, *further).rename(names)


def _places(rows: pl.DataFrame, mentions: pl.DataFrame) -> pl.DataFrame:
    """Places of instances met in several records, or else in several splits."""
    if "labels" in mentions.columns:
        met = mentions.drop_nulls("instance").filter(pl.col("instance").is_duplicated())
        listed = met.with_columns(pl.col("labels").fill_null([]).list.drop_nulls().list.sort())
    elif {"split", "label"} <= set(rows.columns):
        named = rows.drop_nulls(["instance", "split"])
        several = pl.col("split").n_unique().over("instance") > 1
        labels = pl.col("label").drop_nulls().sort().alias("labels")
        listed = named.filter(several).group_by("instance", "split").agg(labels)
    else:
        return pl.DataFrame(schema=PLACES)
    places = _completed(listed, PLACES)
    return places.sort("instance", "split", pl.col("labels").list.join("\0"))


def _several_values(torn: pl.DataFrame, role: str) -> str:
    cases = torn.head(5).select(pl.format("{} in {}", "instance", pl.col(role).list.join(", ")))
    return first_cases(cases.to_series(), torn.height)


def _completed(frame: pl.DataFrame, schema: Mapping[str, Any]) -> pl.DataFrame:
    missing = [
        pl.lit(None, dtype).alias(name)
        for name, dtype in schema.items()
        if name not in frame.columns
    ]
    return frame.with_columns(missing).select(
        pl.col(name).cast(dtype) for name, dtype in schema.items()
    )
