"""Examples to look at: the texts where explanations agree most and least with people."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import polars as pl

from audit.base.schemas import schema
from audit.engine.statistics.instance_means import group_means

if TYPE_CHECKING:
    from audit.explanations.measure import ExplanationMeasurements

MOST_SHOWN = 3
"""Examples shown of each model that are most aligned, and as many that are least."""

EXAMPLES = schema(
    ("model aligned id target node", pl.String),
    ("value", pl.Float64),
    ("tokens", pl.List(pl.String)),
    ("marks", pl.List(pl.Float64)),
    ("methods", pl.List(pl.String)),
    ("scores", pl.List(pl.List(pl.Float64))),
)


def shown_examples(explained: ExplanationMeasurements) -> pl.DataFrame:
    """The most and least aligned examples of each model, with marks and scores of each token.

    Returns:
        Columns `EXAMPLES`: ``aligned`` is ``most`` or ``least``; ``value`` the mean C - C_R over
        methods and seeds; ``scores`` those of each method, the first seed where there are several.
        Empty without human evidence.
    """
    attributions = explained.attributions
    if explained.alignment is None or attributions.evidence is None:
        return pl.DataFrame(schema=EXAMPLES)
    judged = explained.alignment.rows.filter(
        (pl.col("oracle") != "soft") & pl.col("difference").is_not_null()
    )
    rows = attributions.rows.with_row_index("row").with_columns(pl.col("row").cast(pl.Int64))
    known = rows.join(judged.select(pl.col("row").cast(pl.Int64), "difference"), on="row")
    means = group_means(known, ["model", "id", "target", "text", "item"], "difference")
    means = means.rename({"difference": "value"}).sort("model", "value", "id", "target", "text")
    lines = [
        _line(explained, rows, example, aligned)
        for _, own in means.group_by("model", maintain_order=True)
        for aligned, chosen in (
            ("most", own.tail(MOST_SHOWN).reverse()),
            ("least", own.head(min(MOST_SHOWN, max(0, len(own) - MOST_SHOWN)))),
        )
        for example in chosen.iter_rows(named=True)
    ]
    return pl.DataFrame(lines, schema=EXAMPLES, orient="row")


def _line(
    explained: ExplanationMeasurements, rows: pl.DataFrame, example: dict[str, Any], aligned: str
) -> tuple[Any, ...]:
    attributions = explained.attributions
    evidence = attributions.evidence
    assert evidence is not None
    keys = ("model", "id", "target", "text")
    own = rows.filter(*(pl.col(key) == example[key] for key in keys)).sort("method", "seed")
    first = own.unique("method", keep="first", maintain_order=True)
    start, end = attributions.words.starts[example["text"] : example["text"] + 2].tolist()
    return (
        example["model"],
        aligned,
        example["id"],
        example["target"],
        explained.node_of.get(example["target"]),
        example["value"],
        attributions.tokens[start:end].to_list(),
        evidence.marks[example["item"]].tolist(),
        first["method"].to_list(),
        [attributions.scores[row].tolist() for row in first["row"].to_list()],
    )
