"""LabelDataset: labels mapped to a hierarchy, with a ledger of every row read."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import Any, Literal

import numpy as np
import polars as pl
from scipy.sparse import csr_array, get_index_dtype

from audit.base.dag import BoolArray, IntArray, Sparse
from audit.base.databases import one_snapshot
from audit.base.errors import InputError, SchemaError
from audit.base.limits import LABELS, refuse_many_pairs
from audit.base.plugins import opening
from audit.base.plurals import counted
from audit.base.readings import Reading
from audit.data.class_names import GivenClasses, classes_of, refuse_unused
from audit.data.code_sets import table_stated, with_codes, with_versions
from audit.data.formats import read_labels
from audit.data.known_nodes import KnownNodes
from audit.data.label_format import INSTANCES, Columns, Layout, RawLabels, raw_labels
from audit.data.mapping import Ledger, mappings_of, placed_labels, refusals_of, refused_rows
from audit.data.records import pick
from audit.data.row_rules import EVERY, RowRules
from audit.data.sources import Source, source_of
from audit.data.weighted_dag import WeightedDag
from audit.hierarchies.hierarchy import Hierarchy
from audit.hierarchies.label_words import FOUND, Words
from audit.hierarchies.reading import HierarchyName, beside_data, load_hierarchy
from audit.hierarchies.titles import read_own_titles, read_titles, with_titles


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
    """Name of the format that the labels were read in; ``rows`` for a frame in that shape."""
    sources: tuple[Path, ...] = ()
    """The files that the labels were read from."""
    digest: str = ""
    """Digest of the frame that they were read from; empty if they were read from files."""
    queried: Mapping[str, str] = field(default_factory=dict)
    """Of a query of a database, what is kept of it, as in `audit.data.sources.source.Source`."""
    titles: tuple[Path, ...] = ()
    """The title dictionaries that were read."""
    persons: bool = False
    """Whether instances are persons' records, so that small counts are suppressed."""
    numbered: bool = False
    """Whether ids are row numbers from 0, since the data have none."""
    classes: tuple[str, ...] = ()
    """Names of class numbers, in their order, where the data themselves say them."""
    readings: tuple[Reading, ...] = ()
    """What columns, cells and labels were taken to mean."""
    id: str | None = None
    """What the column of the ids is called, where there is one."""
    layout: Layout | None = None
    """Where ids and labels stand in the data; None where labels cannot be changed one by one."""

    @classmethod
    def from_rows(
        cls, rows: pl.DataFrame, hierarchy: Hierarchy | str, *, strata: Iterable[str] = ()
    ) -> LabelDataset:
        """Build a dataset from a frame of columns ``instance, label`` and maybe ``group, split``.

        ``strata`` names further columns of the instances. An instance all of whose rows have a null
        label has no labels; if the instance has other labels, such a row is refused as
        ``missing_code``. Raises SchemaError where a column is missing.
        """
        present = [role for role in ("group", "split") if role in rows.columns]
        roles = {role: role for role in ("instance", "label", *present)}
        further = Columns(strata=tuple(strata)).further
        source = Source("rows")
        mentions = pick(rows, source, **roles, **further)
        unlabelled = pl.col("label").is_null().all().over("instance")
        without = unlabelled & pl.col("instance").is_not_null()
        raw = raw_labels(mentions.filter(~without), mentions, source, EVERY)
        return map_labels(raw, _loaded(hierarchy))

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
        shape = (len(self.instances), len(self.hierarchy))
        instance, node = (
            self.assertions[end].to_numpy().astype(np.int64) for end in ("instance", "node")
        )
        pairs = np.sort(instance * shape[1] + node, kind="stable")  # nearly in order already
        instance, node = np.divmod(pairs[np.diff(pairs, prepend=-1) > 0], shape[1])
        kind = get_index_dtype(maxval=max(len(node), shape[1]))
        indptr = np.zeros(shape[0] + 1, kind)
        np.cumsum(np.bincount(instance, minlength=shape[0]), out=indptr[1:])
        return csr_array((np.ones(len(node), np.int64), node.astype(kind), indptr), shape=shape)

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
        place = np.searchsorted(values.to_numpy(), found.fill_null("").to_numpy())
        return values.to_list(), np.where(found.is_null().to_numpy(), -1, place).astype(np.int64)

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

    def _repr_markdown_(self) -> str:
        refused = "".join(
            f"| refused: {reason} | {n:,} |\n" for reason, n in self.ledger.refused.items()
        )
        return (
            f"**{self!r}**\n\n| ledger | rows |\n|---|---:|\n| read | {self.ledger.rows_read:,} |\n"
            f"| mapped | {self.ledger.rows_mapped:,} |\n{refused}"
        )


@opening
@one_snapshot()
def load_labels(
    data: object,
    hierarchy: Hierarchy | HierarchyName,
    *,
    query: str | None = None,
    table: str | None = None,
    format: str | None = None,
    id: str | None = None,
    label: str | None = None,
    group: str | None = None,
    split: str | None = None,
    titles: Iterable[str | Path] = (),
    classes: GivenClasses = None,
    strata: Iterable[str] = (),
    where: Iterable[str] = (),
    version_column: str | None = None,
    missing: Iterable[str] = (),
    strip: Iterable[str] = (),
    codes: str | Iterable[str] = (),
    plugins: Iterable[str] = (),
    vocabulary: str | None = None,
    allow_network: bool = False,
) -> LabelDataset:
    """Read a dataset and map its labels to a hierarchy.

    Args:
        data: A file, a folder of the parts of one table, or a folder in one of ``FORMATS`` of
            `audit.data.formats`. A frame of Polars, pandas or Arrow, or a dictionary of lists, in
            the columns of one of these; labels are text there, as numbers have lost zeros. A list
            or series of labels or of lists of them, or an array of NumPy: ids are row numbers from
            0. Or the address of a database, a connection to one, or a relation of DuckDB.
        hierarchy: A hierarchy, or what `load_hierarchy` takes: a name, a file, a dictionary.
        query, table: A query, or the name of a table, of the database whose rows are read.
        format: Name of the format; None: detected from folder, suffix and first bytes, or columns.
        id: Column of the instances' ids; None: found, as are those of label, group and split.
        label: Column of the labels.
        group: Column of what instances are repeated in, such as a patient.
        split: Column of the part of the data that an instance is in, such as train or test.
        titles: Title dictionaries beside those found with the data, over which they win.
        classes: Column names of a matrix of labels, in its order, or a file of them, one a line.
        strata: Further columns of the instances, such as site, period or coder.
        where, version_column: As in `RowRules`.
        missing, strip, vocabulary: As in `Words`.
        codes: The code set of the labels, such as ``procedures``; none: found.
        plugins, allow_network: As in `load_hierarchy`, of formats and of the data.

    Raises:
        InputError: If the data cannot be read, have not one format or code set, or no instance, or
            ``classes`` are given and labels have names; SchemaError if columns are missing or
            differ between files, labels are numbers, or an instance has two values of a stratum.

    The data are held in memory, some 600 bytes a row; 54,000 rows take a second.

    >>> import audit
    >>> table = {"id": ["a", "a", "b"], "label": ["cat", "cow", "dog"]}
    >>> labels = audit.load_labels(table, {"pet": {"cat": {}, "dog": {}}})
    >>> labels
    LabelDataset(2 instances, 2 of 3 rows mapped to given)
    >>> labels.ledger.refused
    {'unknown_code': 1}
    """
    known = _loaded(hierarchy, Words(tuple(missing), tuple(strip), (), vocabulary), codes, data)
    named = (id, label, group, split, classes_of(classes), tuple(strata), KnownNodes(known))
    source, rules = source_of(data, query, table), (tuple(where), version_column)
    raw = read_labels(source, Columns(*named, RowRules(*rules), known.codes), format)
    if raw.instances.is_empty():
        raise InputError("a dataset with an instance is required", found="none", where=source)
    if not raw.named and classes is not None:
        refuse_unused(classes, raw.rows["label"].drop_nulls().unique().sort().to_list(), source)
    own = tuple(map(Path, titles))
    stated = [read_own_titles(one, known) for one in own]
    known = with_titles(known, [*stated, *map(read_titles, raw.titles)])
    return replace(map_labels(raw, known), titles=(*own, *raw.titles))


def _loaded(given: Any, words: Words = FOUND, codes: Any = (), data: Any = None) -> Hierarchy:
    if not isinstance(given, Hierarchy):
        given = load_hierarchy(given, **beside_data(given, data, words.vocabulary))
    return with_codes(given if words == FOUND else replace(given, words=words), codes)


def map_labels(raw: RawLabels, hierarchy: Hierarchy) -> LabelDataset:
    """Map labels as read to nodes; every row is either mapped or refused with a reason."""
    hierarchy = replace(hierarchy, codes=raw.codes) if raw.codes else hierarchy
    found, of_versions = with_versions(raw.rows, hierarchy)
    found = found.with_columns(table_stated(hierarchy))
    asked = found.lazy().filter(pl.col("label").is_not_null() & pl.col("refused").is_null())
    counts = asked.group_by("label", "table").agg(pl.len().alias("rows")).collect()
    where = raw.sources[0] if raw.sources else ""
    hierarchy, placed, readings = placed_labels(counts, hierarchy, where)
    numbers = raw.instances.with_row_index("place").sort("instance")
    order, instances = numbers["place"].arg_sort().to_numpy(), numbers.drop("place")
    nodes = pl.DataFrame({"node": hierarchy.nodes}).with_row_index("index")
    rows = (
        _numbered(found, instances, "left")
        .join(
            placed.join(nodes, on="node", how="left"),
            on=["label", "table"],
            how="left",
            nulls_equal=True,
        )
        .with_columns(
            pl.when(pl.col("refused").is_not_null())
            .then("refused")
            .when(pl.col("label").is_null())
            .then(pl.lit("missing_code"))
            .otherwise("reason")
            .alias("reason")
        )
        .drop("refused")
    )
    mapped = rows.filter(pl.col("reason").is_null())
    assertions = mapped.select("instance", pl.col("index").alias("node"), "position").sort(
        "instance", "position", "node", nulls_last=True
    )
    _refuse_many_labels(assertions, instances, len(hierarchy), raw.sources)
    mappings, refusals = mappings_of(mapped), refusals_of(rows)
    return LabelDataset(
        hierarchy=hierarchy,
        instances=instances,
        assertions=assertions,
        refusals=refusals,
        mappings=mappings,
        written=_written(rows, mappings, refusals),
        places=_numbered(raw.places, instances),
        ledger=_ledger(len(rows), refusals, instances, assertions),
        order=order.astype(np.int64),
        unnamed=instances.select("instance")
        .join(raw.unnamed, on="instance", how="left", maintain_order="left")
        .drop("instance"),
        format=raw.format,
        sources=raw.sources,
        digest=raw.digest,
        queried=raw.queried,
        numbered=raw.numbered,
        classes=raw.classes,
        id=raw.id,
        layout=raw.layout,
        readings=(*raw.readings, *of_versions, *readings),
        persons=raw.persons or (hierarchy.coding is not None and hierarchy.coding.persons),
    )


def _refuse_many_labels(
    assertions: pl.DataFrame, instances: pl.DataFrame, nodes: int, sources: Sequence[Path]
) -> None:
    if assertions.is_empty():
        return
    numbers = (
        assertions.group_by("instance")
        .agg(pl.col("node").n_unique())
        .sort("node", "instance", descending=[True, False])
    )
    instance, most = numbers.row(0)
    name = instances["instance"][int(instance)]
    LABELS.refuse_beyond(most, f"{sources[0]}: instance {name!r}" if sources else repr(name))
    refuse_many_pairs(numbers["node"], nodes, sources[0] if sources else repr(name))


def _numbered(
    frame: pl.DataFrame, instances: pl.DataFrame, how: Literal["inner", "left"] = "inner"
) -> pl.DataFrame:
    """The frame with each instance's id replaced by its index; left: rows without one have null."""
    rank = instances.select("instance").with_row_index("index")
    joined = frame.join(rank, on="instance", how=how, maintain_order="left")
    return joined.with_columns(instance="index").drop("index")


def _written(rows: pl.DataFrame, mappings: pl.DataFrame, refusals: pl.DataFrame) -> pl.DataFrame:
    as_written = ("reason", "label", "table")
    mapped = mappings.with_columns(reason=pl.lit(None, pl.String))
    lines = pl.concat([mapped.select(as_written), refusals.select(as_written)])
    numbered = rows.join(lines.with_row_index("line"), on=as_written, nulls_equal=True)
    of_instances = numbered.select("instance", "line").drop_nulls("instance")
    # one number for both sorts several times as fast as two columns
    many = max(len(lines), 1)
    pair = pl.col("instance").cast(pl.UInt64) * many + pl.col("line")
    pairs = of_instances.select(pair.sort().unique(maintain_order=True)).to_series()
    ends = {"instance": pairs // many, "line": pairs % many}
    return pl.DataFrame(ends, schema=of_instances.schema)


def _ledger(
    read: int, refusals: pl.DataFrame, instances: pl.DataFrame, assertions: pl.DataFrame
) -> Ledger:
    refused, groups = refused_rows(refusals), instances["group"].drop_nulls()
    return Ledger(
        rows_read=read,
        rows_mapped=len(assertions),
        refused=refused,
        instances=len(instances),
        instances_without_labels=len(instances) - assertions["instance"].n_unique(),
        groups=groups.n_unique() if len(groups) else None,
    )
