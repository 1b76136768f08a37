"""Every measure of explanations by node: means over instances with a label at or below it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import NamedTuple

import numpy as np
import polars as pl
from scipy.sparse import csr_array

from audit.base.dag import IntArray
from audit.base.machine import cores
from audit.base.schemas import schema
from audit.engine.statistics.means import Clusters, clusters, instance_means
from audit.explanations.agreement.agreement import Agreement
from audit.explanations.agreement.plausibility import METRICS, Plausibility
from audit.explanations.faithful_rows import METRICS as FAITHFUL
from audit.explanations.importance.importance import ImportanceAlignment
from audit.hierarchies.hierarchy import Hierarchy

NODE_RESULTS = schema(
    ("node", pl.String),
    ("depth", pl.Int64),
    ("model method other measure", pl.String),
    ("value low high", pl.Float64),
    ("instances values", pl.Int64),
)
"""Columns of `node_results`."""
AGREEMENTS = {"dynamic": "agreement_dynamic", "fixed": "agreement_fixed"}
"""Names of agreement by its rule."""


def node_results(
    rows: pl.DataFrame,
    node_of: Mapping[str, str],
    hierarchy: Hierarchy,
    alignment: ImportanceAlignment | None,
    plausibility: Plausibility | None,
    faithful: pl.DataFrame | None,
    agreement: Agreement,
) -> pl.DataFrame:
    """Means of all measures below each node, by model and method, or pair of methods.

    Args:
        rows: The rows of attributions that count, with their place as ``row``.
        node_of: The node of each target; others are left out.
        hierarchy: The hierarchy of the nodes.
        alignment: Its ``difference`` is the measure ``alignment_`` and the name of the oracle.
        plausibility: Its measures, of the same names.
        faithful: Faithfulness of rows; comprehensiveness, sufficiency and area under deletion.
        agreement: Agreement by peaks and at k of each pair, and of all methods together.

    Returns:
        Columns `NODE_RESULTS`, a row for each node with a value: the mean over instances of the
        mean over an instance's values, its 95 % interval (null below two instances), the number of
        instances and of values. ``other`` is the second method of a pair, else null; ``method`` of
        all methods together is the name of their set.
    """
    own = rows.with_columns(
        node=pl.col("target").replace_strict(node_of, default=None, return_dtype=pl.String)
    ).drop_nulls("node")
    units = own.select("node", *_UNIT).unique(maintain_order=True)
    placed = agreement.units.select("unit", *_UNIT).join(units, on=_UNIT, maintain_order="left")
    table = pl.concat(
        [
            pl.DataFrame(schema=NODE_RESULTS),
            _by_node(own, _of_rows(own["row"], alignment, plausibility, faithful), hierarchy),
            _by_node(placed.drop("target", "seed"), _of_units(agreement, placed), hierarchy),
        ],
        how="diagonal_relaxed",
    )
    return table.select(pl.col(name).cast(kind) for name, kind in NODE_RESULTS.items())


_UNIT = ["id", "target", "model", "seed"]


def _of_rows(
    row: pl.Series,
    alignment: ImportanceAlignment | None,
    plausibility: Plausibility | None,
    faithful: pl.DataFrame | None,
) -> Iterator[_Column]:
    """Each measure of the rows."""
    sources: list[tuple[str, Sequence[str], pl.DataFrame]] = []
    if alignment is not None:
        for (oracle,), of_oracle in alignment.rows.group_by("oracle", maintain_order=True):
            sources.append((f"alignment_{oracle}", ["difference"], of_oracle))
    if plausibility is not None:
        sources.append(("", METRICS, plausibility.rows))
    if faithful is not None:
        sources.append(("", FAITHFUL, faithful))
    for name, measures, values in sources:
        placed = row.to_frame().join(
            values.select(pl.col("row").cast(pl.Int64), *measures),
            on="row",
            how="left",
            maintain_order="left",
        )
        for measure in measures:
            yield _Column({"measure": name or measure}, placed[measure])


def _of_units(agreement: Agreement, placed: pl.DataFrame) -> Iterator[_Column]:
    """Agreement of each two methods, and of each set of them, by each rule."""
    for one in agreement.of_units():
        values = placed.select("unit").join(one, on="unit", how="left", maintain_order="left")
        first, second, together = one.select("first", "second", "together").row(0)
        named = {"method": first or together, "other": second}
        for rule, measure in AGREEMENTS.items():
            yield _Column(named | {"measure": measure}, values[rule])


class _Column(NamedTuple):
    """Values of a measure, one per row of a frame; and what names them."""

    names: Mapping[str, str | None]
    values: pl.Series


def _by_node(frame: pl.DataFrame, columns: Iterator[_Column], hierarchy: Hierarchy) -> pl.DataFrame:
    """Means of columns by node, and by model and method where the frame has them."""
    names = [name for name in ("model", "method") if name in frame.columns]
    kinds = frame.select(names).unique(maintain_order=True).with_row_index("kind")
    kind = frame.join(kinds, on=names, nulls_equal=True, maintain_order="left")["kind"]
    place = {node: index for index, node in enumerate(hierarchy.nodes)}
    target = frame["node"].replace_strict(place, return_dtype=pl.Int64).to_numpy()
    above = csr_array(hierarchy.closure[target])
    row = np.repeat(np.arange(len(frame)), np.diff(above.indptr))
    part = above.indices * np.int64(len(kinds)) + kind.to_numpy().astype(np.int64)[row]
    keys, part = np.unique(part, return_inverse=True)
    instance = frame["id"].rank("dense").to_numpy().astype(np.int64)
    grouped = clusters(part, instance[row])
    parts = _names(keys, kinds, hierarchy)
    with ThreadPoolExecutor(cores()) as threads:
        tables = list(threads.map(lambda one: _means(parts, one, row, grouped), columns))
    return pl.concat(tables, how="diagonal_relaxed") if tables else parts.clear()


def _means(parts: pl.DataFrame, column: _Column, row: IntArray, grouped: Clusters) -> pl.DataFrame:
    values = column.values.cast(pl.Float64).fill_null(np.nan).to_numpy()[row]
    means = instance_means(values[:, None], grouped)
    return parts.with_columns(
        *(pl.lit(value, pl.String).alias(name) for name, value in column.names.items()),
        **means.interval("value", "low", "high"),
        **means.counts("instances", "values"),
    ).filter(pl.col("instances") > 0)


def _names(keys: IntArray, kinds: pl.DataFrame, hierarchy: Hierarchy) -> pl.DataFrame:
    """Node and depth of each part, and the model and method that name it."""
    node, kind = keys // max(len(kinds), 1), keys % max(len(kinds), 1)
    return kinds[kind].select(
        pl.Series("node", [hierarchy.nodes[one] for one in node.tolist()], pl.String),
        pl.Series("depth", hierarchy.depth[node]),
        pl.exclude("kind"),
    )
