"""Individual instances of a run: the table of their values, and access to one of them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import asdict
from pathlib import Path
from typing import Any

import polars as pl

from audit.base.errors import InputError
from audit.data.dataset import LabelDataset
from audit.data.predictions import Predictions
from audit.data.weighted_dag import InstanceTree, WeightedDag
from audit.hierarchies.hierarchy import Hierarchy
from audit.results.result import AuditResult
from audit.runs.folder import INSTANCES, REFUSED
from audit.runs.manifest import RESTRICTED
from audit.runs.read import read_run


def instance_frame(dataset: LabelDataset, predictions: Predictions | None = None) -> pl.DataFrame:
    """``instance, node, label, score, group``: the values of each node before aggregation.

    ``label`` is 1 if the node is a direct label, else 0. ``score`` is 0 if the predictions hold the
    instance but not the node, null if they do not hold the instance. ``group`` is null without
    groups. An instance with neither labels nor scores has no row.
    """
    ids, nodes = dataset.instances["instance"], pl.Series(dataset.hierarchy.nodes, dtype=pl.String)
    direct = dataset.direct.tocoo()
    labels = pl.DataFrame(
        {"instance": ids.gather(direct.row), "node": nodes.gather(direct.col), "label": direct.data}
    )
    groups = dataset.instances.select("instance", "group")
    if predictions is None:
        values = labels.with_columns(pl.lit(None, pl.Float64).alias("score"))
        return values.join(groups, on="instance", how="left", maintain_order="left")
    coo = predictions.scores.tocoo()
    scores = pl.DataFrame(
        {
            "instance": ids.gather(predictions.rows).gather(coo.row),
            "node": nodes.gather(coo.col),
            "score": coo.data,
        }
    )
    held = pl.col("instance").is_in(ids.gather(predictions.rows).implode())
    none = pl.when(held).then(pl.lit(0.0))
    return (
        labels.join(scores, on=["instance", "node"], how="full", coalesce=True)
        .with_columns(pl.col("label").fill_null(0), pl.col("score").fill_null(none))
        .join(groups, on="instance", how="left")
        .sort("instance", "node")
    )


def write_instances(
    folder: Path, dataset: LabelDataset, predictions: Predictions | None = None
) -> None:
    """Write the table to the restricted tables, and beside it the labels that were refused."""
    instance_frame(dataset, predictions).write_parquet(folder / RESTRICTED / INSTANCES.file)
    lines = dataset.refusals.select("label").with_row_index("line", len(dataset.mappings))
    written = dataset.written.join(lines.drop_nulls(), on="line")
    ids = dataset.instances["instance"].gather(written["instance"])
    refused = pl.DataFrame({"instance": ids, "node": written["label"]}).unique()
    refused.sort("instance", "node").write_parquet(folder / RESTRICTED / REFUSED.file)


def in_id_order(rows: pl.DataFrame | pl.LazyFrame) -> pl.LazyFrame:
    """Rows sorted by ``instance``: ids that are whole numbers as these, before all others."""
    number = pl.col("instance").cast(pl.Int64, strict=False)
    return rows.lazy().sort(number, "instance", nulls_last=True, maintain_order=True)


def kept_labels(run: AuditResult, instances: pl.Series) -> pl.DataFrame:
    """Rows of `instance_frame` of some instances, with a row for each label that was refused."""
    tables = [] if run.instances is None else [run.instances]
    if run.refused is not None:
        tables.append(run.refused.with_columns(pl.lit(1, pl.Int64).alias("label")))
    chosen = pl.col("instance").is_in(instances.unique().implode())
    return pl.concat([table.filter(chosen) for table in tables], how="diagonal").collect()


def kept_instance(run: str | Path, instance: str) -> pl.DataFrame:
    """The rows of `instance_frame` of an instance, maybe none; InputError if a run keeps none."""
    path = Path(run) / RESTRICTED / INSTANCES.file
    if not path.is_file():
        raise InputError(
            "a run that keeps its instances is required",
            found=f"no {RESTRICTED}/{INSTANCES.file}",
            where=run,
            hint="make it with: audit run ... --keep-instances",
        )
    return pl.scan_parquet(path).filter(pl.col("instance") == instance).collect()


def read_instance(run: str | Path, instance: str) -> InstanceTree:
    """The labels and predictions of one instance of a run, in one tree.

    Values are added up as the policy says that the run was counted with.

    Args:
        run: Folder of the run.
        instance: Id of the instance.

    Raises:
        InputError: If the run kept no instances, or not this one; also as `audit.read_run`.
    """
    result = read_run(run)
    rows = kept_instance(run, instance)
    if rows.is_empty():
        raise InputError(
            "an instance with labels or predictions is required", found=repr(instance), where=run
        )
    return instance_tree(rows, result.hierarchy, result)


def instance_tree(rows: pl.DataFrame, hierarchy: Hierarchy, result: AuditResult) -> InstanceTree:
    """The labels and predictions of one instance in one tree."""
    predictions = result.ledger["predictions"]
    aggregation = result.counted_with.get("aggregation", "descendants")
    labels = rows.filter(pl.col("label") > 0).select("node", "label")
    scores = rows.filter(pl.col("score") > 0).select("node", "score")
    decided = predictions or {"decision_threshold": 0, "single_label": False}
    return InstanceTree(
        WeightedDag(hierarchy, dict(labels.iter_rows()), aggregation),
        WeightedDag(hierarchy, dict(scores.iter_rows()), aggregation) if len(scores) else None,
        threshold=float(decided["decision_threshold"]),
        single_label=bool(decided["single_label"]),
    )


def at_or_below(nodes: Iterable[str], hierarchy: Hierarchy) -> frozenset[str]:
    """Nodes of a hierarchy at or below some; those that it lacks have none."""
    known = (node for node in nodes if node in hierarchy)
    return frozenset(one for node in known for one in hierarchy.descendants(node, with_self=True))


def answered(predictions: Mapping[str, Any]) -> pl.Expr:
    """Whether the nodes of one instance, in their order, are what a model answers."""
    score = pl.col("score").fill_null(0)
    top = pl.int_range(pl.len()) == score.arg_max()
    least = predictions["decision_threshold"]
    return (score > 0) & (top if predictions["single_label"] else score >= least)


def records(
    ids: pl.Series, rows: pl.DataFrame, nodes: Iterable[str], hierarchy: Hierarchy, run: AuditResult
) -> pl.DataFrame:
    """A row an instance: the labels that lie at or below some nodes, and its others, with titles.

    Args:
        rows: From `kept_labels`, of these instances at least.
        nodes: What a finding names: nodes, or labels that were refused.
        hierarchy: Of the run.

    Returns:
        ``instance, labels, others`` in the order of the ids, and the same of predictions,
        ``answers, other_answers``, where the run has some: of one answer an instance, the first
        node of the highest score.
    """
    below = {*nodes, *at_or_below(nodes, hierarchy)}
    own = rows.filter(pl.col("instance").is_in(ids.implode())).sort("instance", "node")
    met = own["node"].unique()
    called = {node: hierarchy.describe(hierarchy.index(node)) for node in met if node in hierarchy}
    labelled, inside = pl.col("label") > 0, pl.col("node").is_in(list(below))
    columns = {"labels": labelled & inside, "others": labelled & ~inside}
    if (predictions := run.ledger["predictions"]) is not None:
        answer = answered(predictions)
        columns |= {"answers": answer & inside, "other_answers": answer & ~inside}
    named = pl.col("node").replace(called)
    told = own.group_by("instance", maintain_order=True).agg(
        named.filter(chosen).str.join("; ").alias(name) for name, chosen in columns.items()
    )
    return (
        pl.DataFrame({"instance": ids})
        .join(told, on="instance", how="left", maintain_order="left")
        .with_columns(pl.col(*columns).fill_null(""))
    )


def instance_view(tree: InstanceTree, instance: str, least: float) -> dict[str, Any]:
    """The tree of an instance as plain values for its page, of nodes with a share of ``least``."""
    return {
        "instance": instance,
        "hierarchy": tree.labels.hierarchy.name,
        "predicted": tree.predictions is not None,
        "threshold": tree.threshold,
        "single_label": tree.single_label,
        "sums": tree.sums,
        "lines": [asdict(line) for line in tree.lines(least)],
    }
