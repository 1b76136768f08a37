"""LabelDataset: labels mapped to a hierarchy, with a ledger of every row read."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
from scipy.sparse import csr_array

from audit.base.arrays import at_once
from audit.base.csv_tables import TextShape
from audit.base.dag import BoolArray, IntArray, Sparse
from audit.base.databases import one_snapshot
from audit.base.errors import SchemaError
from audit.base.plugins import opening
from audit.base.plurals import counted
from audit.base.progress import Progress, silent
from audit.base.readings import Reading
from audit.base.settings import Unlisted
from audit.base.table import name_among
from audit.data.class_lists import GivenClasses, class_names, file_of
from audit.data.columns import AS_WRITTEN, ROW, Columns
from audit.data.labels import Nodes
from audit.data.loading import Read, is_list, read_tables, tables_of, titles_beside
from audit.data.mapping import INSTANCES, Ledger, mapped
from audit.data.numbered import NumberedRows
from audit.data.published.wanted import Wanted
from audit.data.records import as_ids, tidy
from audit.data.rows import STRATUM, completed, is_numbered
from audit.data.unnamed import unnamed_columns
from audit.data.weighted_dag import WeightedDag
from audit.engine.pairs.rows import GrowingRows
from audit.hierarchies.hierarchy import Hierarchy
from audit.hierarchies.reading import HierarchyName, beside_data, load_hierarchy
from audit.hierarchies.titles import read_own_titles, read_titles, with_titles

_OF_ROWS = ("position", "table", "group", "split")


@dataclass(frozen=True, eq=False, repr=False)
class LabelDataset:
    """Labels of instances as nodes of a hierarchy; instances in code-point order of their ids.

    >>> import audit
    >>> labels = audit.load_labels([["cat", "dog"], ["cat"]], {"pet": {"cat": {}, "dog": {}}})
    >>> labels.direct.toarray()
    array([[1, 1, 0],
           [1, 0, 0]])
    """

    hierarchy: Hierarchy
    """The hierarchy, with a node for every label that was kept, including nodes that were added."""
    instances: pl.DataFrame
    """``instance, group, split``, then the strata; sorted by instance."""
    assertions: pl.DataFrame
    """``instance, node`` (indices), ``position``: one row per mapped row, duplicates included."""
    refusals: pl.DataFrame
    """``reason, label, table, rows, instances``: the refused labels, one row per label."""
    mappings: pl.DataFrame
    """``label, table, node, added, rows, instances``: the mapped labels, one row per label;
    ``added`` is whether the node was missing in the original hierarchy."""
    written: pl.DataFrame
    """``instance`` (index) and ``line``: each distinct label, as written, of each instance;
    ``line`` is its row in `mappings`, or ``len(mappings)`` plus its row in `refusals`."""
    places: pl.DataFrame
    """``instance`` (index), ``split, labels`` (as written): one row per place (a record or split),
    for instances that occur in several places."""
    ledger: Ledger
    """Numbers of rows that were mapped, and refused by reason, and of instances."""
    order: IntArray
    """Index of each instance, in the order in which the data mention them first."""
    unnamed: pl.DataFrame
    """Possible strata that the user did not name; same rows as `instances`."""
    format: str = "rows"
    """Name of the published layout of the data, else ``table``; ``rows`` of `from_rows`."""
    sources: tuple[Path, ...] = ()
    """The files that the labels were read from."""
    digest: str = ""
    """Digest of the frame that they were read from; empty if they were read from files."""
    queried: Mapping[str, str] = field(default_factory=dict)
    """Of a query of a database, what is kept of it, as in `audit.base.table.Table`."""
    titles: tuple[Path, ...] = ()
    """The title dictionaries that were read."""
    persons: bool = False
    """Whether instances are persons' records, so that counts are told in bins."""
    called: str = "instances"
    """What an instance is, in the plural."""
    numbered: bool = False
    """Whether ids are row numbers from 0, since the data have none."""
    classes: tuple[str, ...] = ()
    """Names of class numbers, in their order, where the data themselves say them."""
    readings: tuple[Reading, ...] = ()
    """What columns, cells and labels were taken to mean."""
    id: str | None = None
    """What the column of the ids is called, where there is one."""
    words: Columns = AS_WRITTEN
    """How labels are read that are no nodes as they are written."""
    columns: Mapping[str, Columns] = field(default_factory=dict)
    """Where ids and labels stand in each table, by its name."""

    @classmethod
    def from_rows(
        cls, rows: pl.DataFrame, hierarchy: Hierarchy | str, *, strata: Iterable[str] = ()
    ) -> LabelDataset:
        """Build a dataset from a frame of columns ``instance, label`` and maybe ``group, split``.

        It may also have ``position`` and ``table``, as `audit.data.rows.ROWS`, and ``strata`` names
        further columns of the instances. An instance all of whose rows have a null label has no
        labels; if the instance has other labels, such a row is refused as ``missing_code``. Raises
        SchemaError where a column is missing.
        """
        strata, there = [*strata], [name for name in _OF_ROWS if name in rows.columns]
        for name in ("instance", "label", *strata):
            name_among(rows.columns, name, "rows")
        said = tidy(rows.select([*dict.fromkeys(("instance", "label", *there, *strata))]), "rows")
        homeless, missing = pl.col("instance").is_null(), pl.col("label").is_null()
        made = said.with_columns(
            instance=as_ids(said["instance"]),
            refused=pl.when(homeless).then(pl.lit("bad_row")),
            counted=homeless | ~missing.all().over("instance"),
            row=pl.int_range(pl.len()),
        )
        named = made.rename({name: STRATUM + name for name in strata})
        return cls(**mapped(NumberedRows.of(completed(named)), _loaded(hierarchy)))

    @property
    def strata(self) -> tuple[str, ...]:
        """Names of the further columns of the instances."""
        return tuple(self.instances.columns[len(INSTANCES) :])

    @cached_property
    def refused(self) -> pl.DataFrame:
        """``instance`` (index) and ``reason``: one row per instance and reason of refused rows."""
        reasons = self.refusals.select("reason").with_row_index("line", len(self.mappings))
        met = self.written.join(reasons, on="line").select("instance", "reason")
        return met.unique().sort("instance", "reason")

    @cached_property
    def splits(self) -> pl.DataFrame:
        """``instance`` (index) and ``split``, sorted: every split in which an instance occurs."""
        first = self.instances.with_row_index("instance_index").select(
            pl.col("instance_index").alias("instance"), "split"
        )
        both = pl.concat([first, self.places.select("instance", "split")])
        return both.drop_nulls("split").unique().sort("instance", "split")

    @cached_property
    def direct(self) -> Sparse:
        """Direct labels, shape (n_instances, n_nodes), 0 or 1, int64 canonical CSR.

        A repeated label counts once; an instance without labels is an empty row.
        """
        n_nodes = len(self.hierarchy)
        found = GrowingRows(n_nodes, np.int64)
        for first, last, some in self.stretches():
            instance, node = (self.assertions[end][some].to_numpy() for end in ("instance", "node"))
            keys = np.unique((instance.astype(np.int64) - first) * n_nodes + node)
            at = np.divmod(keys, n_nodes)
            ones = np.ones(len(keys), np.int64)
            found.add(csr_array((ones, at), shape=(last - first, n_nodes)))
        return found.whole()

    def stretches(self) -> Iterator[tuple[int, int, slice]]:
        """Stretches of whole instances: the first one, the one behind the last, and which rows of
        `assertions` are theirs, some `at_once` each."""
        rows, first, begin, some = self.assertions["instance"], 0, 0, at_once()
        while first < len(self):
            last = int(rows[begin + some]) if begin + some < len(rows) else len(self)
            last = max(last, first + 1)
            end = int(rows.search_sorted(last))
            yield first, last, slice(begin, end)
            first, begin = last, end

    def within(self, hierarchy: Hierarchy) -> LabelDataset:
        """The same labels in another hierarchy; SchemaError where it lacks a node of this one."""
        if hierarchy is self.hierarchy:
            return self
        places = pl.Series(
            [hierarchy.index(node) for node in self.hierarchy.nodes], dtype=pl.UInt32
        )
        nodes = places.gather(self.assertions["node"])
        return replace(
            self, hierarchy=hierarchy, assertions=self.assertions.with_columns(node=nodes)
        )

    def values_of(self, column: str) -> tuple[list[str], IntArray]:
        """Values of a column in order, and the place of each instance's among them; -1 for none."""
        found = self.instances[column]
        values = found.drop_nulls().unique().sort()
        place = found.cast(pl.Enum(values)).to_physical().cast(pl.Int64).fill_null(-1)
        return values.to_list(), place.to_numpy()

    def having(self, column: str, value: str) -> tuple[BoolArray, BoolArray]:
        """Masks of instances with a value of a column, and with another; a null is in neither."""
        inside = self.instances[column] == value
        return inside.fill_null(False).to_numpy(), (~inside).fill_null(False).to_numpy()

    def weighted(self, instance: str) -> WeightedDag:
        """The weighted DAG of an instance's labels; SchemaError without such an instance."""
        position = self.instances["instance"].index_of(instance)
        if position is None:
            raise SchemaError("an instance of the dataset is required", found=repr(instance))
        return WeightedDag.of_row(self.hierarchy, self.direct, position)

    def __len__(self) -> int:
        return len(self.instances)

    def __repr__(self) -> str:
        return (
            f"LabelDataset({counted(len(self), 'instances')}, {self.ledger.rows_mapped:,} of "
            f"{counted(self.ledger.rows_read, 'rows')} mapped to {self.hierarchy.name})"
        )


@opening
@one_snapshot()
def load_labels(
    data: object,
    hierarchy: Hierarchy | HierarchyName,
    *,
    query: str | None = None,
    table: str | None = None,
    encoding: str | None = None,
    skip_rows: int = 0,
    header: bool = True,
    id: str | Iterable[str] | None = None,
    label: str | Iterable[str] | None = None,
    sep: str | None = None,
    take: str | None = None,
    flags: bool = False,
    group: str | None = None,
    split: str | None = None,
    strata: Iterable[str] = (),
    codes: str | Iterable[str] = (),
    where: Iterable[str] = (),
    strip: Iterable[str] = (),
    missing: Iterable[str] = (),
    by_title: bool = False,
    titles: Iterable[str | Path] = (),
    unlisted: Unlisted | None = None,
    classes: GivenClasses = None,
    vocabulary: str | None = None,
    system: str | None = None,
    plugins: Iterable[str] = (),
    allow_network: bool = False,
    progress: Progress = silent,
) -> LabelDataset:
    """Read a dataset and map its labels to a hierarchy.

    What columns mean is published, in one of ``LAYOUTS`` of `audit.data.layouts`, or stated here;
    else it is asked for, with what states it.

    Args:
        data: A file, a folder of the parts of one table or of the tables of one layout, the address
            of a database, a frame of Polars, pandas or Arrow, a dictionary of lists, a list or
            series of labels or of lists of them, or an array of NumPy.
        hierarchy: A hierarchy, or what `load_hierarchy` takes: a name, a file, a dictionary.
        query, table: A query, or the name of a table, of the database whose rows are read.
        encoding, skip_rows, header: Of a text file: its encoding, how many lines stand before the
            table, and whether the first of it names the columns.
        id, label, sep, take, flags, group, split, strata, codes, where, strip, missing, by_title:
            As in `Columns`; ``row`` as id: rows are numbered from 0.
        titles: Title dictionaries beside those found with the data, over which they win.
        unlisted: As in `load_hierarchy`; ``refuse`` also reads data half of whose labels are none.
        classes: Names of class numbers, or of the columns of a matrix, or a file of them.
        vocabulary, system: The vocabulary of OMOP, or code system of FHIR, of the labels.
        plugins, allow_network: As in `load_hierarchy`, of layouts and of the data.
        progress: Called with how many rows are read.

    Raises:
        AskedError: If it must be stated what columns, cells or labels mean.
        InputError: If the data cannot be read, have no instance or no label, or ``classes`` are
            given and labels have names; SchemaError if columns are missing, labels are numbers, or
            an instance has two values of a stratum.

    A row takes some 20 bytes, which stand in files of ``TMPDIR`` where there are many; 54,000 rows
    take a second.

    >>> import audit
    >>> table = {"id": ["a", "a", "b"], "label": ["cat", "cow", "dog"]}
    >>> labels = audit.load_labels(table, {"pet": {"cat": {}, "dog": {}}})
    >>> labels
    LabelDataset(2 instances, 2 of 3 rows mapped to given)
    >>> labels.ledger.refused
    {'unknown_code': 1}
    """
    known = _loaded(hierarchy, unlisted, vocabulary)
    stated = Columns(
        id=tuple(id.split(",")) if isinstance(id, str) else tuple(id or ()),
        label=_as_texts(label),
        sep=sep or "",
        take=take or "",
        flags=flags,
        group=group or "",
        split=split or "",
        strata=_as_texts(strata),
        codes=_as_texts(codes),
        where=_as_texts(where),
        missing=_as_texts(missing),
        strip=_as_texts(strip),
        by_title=by_title,
        unlisted=unlisted,
    )
    names = class_names(classes, Nodes(known).is_node)
    wanted = Wanted(stated, Nodes(known), system or "", vocabulary or "")
    shape = TextShape(encoding=encoding or "", skip_rows=skip_rows, header=header)
    tables = tables_of(data, wanted, query, table, shape)
    if is_list(data, tables[0]):
        stated = replace(stated, id=stated.id or (ROW,))
    every = [*read_tables(tables, stated, known, classes, names, progress)]
    own = {path: read_own_titles(path, known) for path in map(Path, titles)}
    found = {path: read_titles(path) for one in tables for path in titles_beside(one)}
    fields = _mapped(every, with_titles(known, [*own.values(), *found.values()]), classes)
    return LabelDataset(**fields, titles=(*own, *found))


def _mapped(every: Sequence[Read], hierarchy: Hierarchy, classes: GivenClasses) -> dict[str, Any]:
    """The fields of a dataset of tables as read."""
    table, columns = every[0].table, every[0].columns
    files = dict.fromkeys(file for one in every for file in one.table.files)
    named = file_of(classes) if any(one.named for one in every) else ()
    fields = mapped(
        every[0].rows,
        hierarchy,
        columns,
        records=[one.own for one in every if one.of_records],
        where=table,
    )
    told = (reading for one in every for reading in one.told)
    numbered = is_numbered(columns, table.schema)
    return fields | {
        "readings": (*told, *fields["readings"]),
        "unnamed": unnamed_columns((one.unnamed for one in every), fields["order"]),
        "format": columns.layout or "table",
        "sources": (*files, *named),
        "digest": table.digest,
        "queried": table.queried,
        "persons": columns.persons or fields["persons"],
        "called": columns.called,
        "numbered": numbered,
        "classes": table.class_names.get(columns.label[0], ()),
        "id": None if numbered else ",".join(columns.id),
        "words": columns.spelling,
        "columns": {one.table.name: one.columns for one in every},
    }


def _loaded(
    given: Any, unlisted: Unlisted | None = None, vocabulary: str | None = None
) -> Hierarchy:
    if isinstance(given, Hierarchy):
        return given
    return load_hierarchy(given, unlisted=unlisted, **beside_data(given, vocabulary))


def _as_texts(stated: str | Iterable[str] | None) -> tuple[str, ...]:
    return (stated,) if isinstance(stated, str) else tuple(stated or ())
