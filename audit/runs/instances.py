"""Individual instances of a run: the table of their values, and access to one of them."""

from __future__ import annotations

from pathlib import Path

import polars as pl

from audit.base.errors import InputError
from audit.data.dataset import LabelDataset
from audit.data.predictions import Predictions
from audit.data.weighted_dag import WeightedDag
from audit.hierarchies.hierarchy import Hierarchy
from audit.runs.manifest import RESTRICTED
from audit.runs.read import read_run

INSTANCES = "instances.parquet"


def instance_frame(dataset: LabelDataset, predictions: Predictions | None = None) -> pl.DataFrame:
    """``instance, node, label, score``: the values of each node before aggregation.

    ``label`` is 1 if the node is a direct label, else 0; ``score`` is null if there is none. An
    instance
    with neither labels nor scores has no row.
    """
    ids, nodes = dataset.instances["instance"], pl.Series(dataset.hierarchy.nodes, dtype=pl.String)
    direct = dataset.direct.tocoo()
    labels = pl.DataFrame(
        {"instance": ids.gather(direct.row), "node": nodes.gather(direct.col), "label": direct.data}
    )
    if predictions is None:
        return labels.with_columns(pl.lit(None, pl.Float64).alias("score"))
    coo = predictions.scores.tocoo()
    scores = pl.DataFrame(
        {
            "instance": ids.gather(predictions.rows).gather(coo.row),
            "node": nodes.gather(coo.col),
            "score": coo.data,
        }
    )
    return (
        labels.join(scores, on=["instance", "node"], how="full", coalesce=True)
        .with_columns(pl.col("label").fill_null(0))
        .sort("instance", "node")
    )


def write_instances(instances: pl.DataFrame, folder: Path) -> None:
    """Write the table to the restricted tables."""
    instances.write_parquet(folder / RESTRICTED / INSTANCES)


def read_instance(
    run: str | Path, instance: str, *, unsealed: bool = False
) -> dict[str, WeightedDag]:
    """The weighted DAGs of one instance of a run: ``Labels`` and, if any, ``Predictions``.

    Args:
        run: Folder of the run.
        instance: Id of the instance.
        unsealed: As in `audit.read_run`.

    Raises:
        InputError: If the run kept no instances, or not this one; also as `audit.read_run`.
    """
    path = Path(run) / RESTRICTED / INSTANCES
    result = read_run(run, unsealed=unsealed)
    if not path.is_file():
        raise InputError(
            "a run that keeps its instances is required",
            found=f"no {RESTRICTED}/{INSTANCES}",
            where=run,
            hint="make it with: audit run ... --keep-instances",
        )
    rows = pl.scan_parquet(path).filter(pl.col("instance") == instance).collect()
    if rows.is_empty():
        raise InputError(
            "an instance with labels or predictions is required", found=repr(instance), where=run
        )
    hierarchy = Hierarchy.build(
        result.edges,
        result.nodes.select("node", "title", "assignable"),
        name=str(result.identity["hierarchy"]["name"]),
    )
    values = {"Labels": rows.filter(pl.col("label") > 0).select("node", "label")}
    predicted = rows.filter(pl.col("score") > 0).select("node", "score")
    if len(predicted):
        values["Predictions"] = predicted
    return {
        title: WeightedDag(hierarchy, dict(frame.iter_rows())) for title, frame in values.items()
    }
