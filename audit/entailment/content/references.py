"""Valid tuples and references per instance (table 3 of AbsPyramid), and the generation set."""

from __future__ import annotations

import polars as pl

from audit.base.schemas import schema
from audit.entailment.content.diversity import numbers
from audit.entailment.dataset import ALL, EntailmentDataset, in_report_order

REFERENCES = schema(
    ("relation split", pl.String),
    ("valid instances", pl.Int64),
    ("references", pl.Float64),
    ("identified", pl.Int64),
)
"""One row per relation and split, with `ALL` for all. ``instances`` are the different (head,
instance) of a relation with a valid tuple, ``references`` is valid tuples per such instance;
``identified`` counts those without one too."""

GENERATION = schema(
    ("relation", pl.String),
    ("valid generation both only_detection only_generation not_valid", pl.Int64),
)
"""One row per relation, and one for `ALL`: different valid tuples of the detection set and tuples
of the generation set, those in both, those in one alone, and those that the generation set itself
calls invalid. The generation set should be the valid tuples of the detection set, and no more."""

ELEMENTS = ("relation", "head", "tail", "instance", "concept")
"""What makes a tuple, its label apart."""


def references(dataset: EntailmentDataset) -> pl.DataFrame:
    """Valid tuples, instances and references by relation and split, columns `REFERENCES`."""
    key = numbers(dataset.tuples.select("relation", "head", "instance"))
    marked = dataset.tuples.select("relation", "split", "valid", key=key)
    parts = [
        marked.group_by(relation=relation, split=split).agg(
            valid=pl.col("valid").sum().cast(pl.Int64),
            instances=pl.col("key").filter("valid").n_unique().cast(pl.Int64),
            identified=pl.col("key").n_unique().cast(pl.Int64),
        )
        for relation in (pl.col("relation"), pl.lit(ALL))
        for split in (pl.col("split"), pl.lit(ALL))
    ]
    counts = pl.concat(parts).drop_nulls("split")
    some = pl.when(pl.col("instances") > 0).then(pl.col("instances"))
    return in_report_order(
        counts.with_columns(references=pl.col("valid") / some).select(*REFERENCES)
    )


def generation_set(
    dataset: EntailmentDataset, generation: EntailmentDataset | None
) -> pl.DataFrame:
    """Compare a generation set with the valid tuples, columns `GENERATION`; empty without one."""
    if generation is None:
        return pl.DataFrame(schema=GENERATION)
    valid = dataset.tuples.filter("valid").select(ELEMENTS).unique()
    generated = generation.tuples.filter("valid").select(ELEMENTS).unique()
    wrong = generation.tuples.filter(~pl.col("valid")).select(ELEMENTS).unique()
    tables = {
        "valid": valid,
        "generation": generated,
        "both": valid.join(generated, on=ELEMENTS, how="semi"),
        "only_detection": valid.join(generated, on=ELEMENTS, how="anti"),
        "only_generation": generated.join(valid, on=ELEMENTS, how="anti"),
        "not_valid": wrong,
    }
    of = pl.concat(table.select("relation", of=pl.lit(name)) for name, table in tables.items())
    counts = pl.concat(
        [
            of.group_by(relation=relation).agg(
                (pl.col("of") == name).sum().cast(pl.Int64).alias(name) for name in tables
            )
            for relation in (pl.col("relation"), pl.lit(ALL))
        ]
    )
    return in_report_order(counts).select(*GENERATION)


def wrongly_left_out(
    dataset: EntailmentDataset, generation: EntailmentDataset | None
) -> pl.DataFrame:
    """The valid tuples that a generation set lacks; none without one."""
    valid = dataset.tuples.filter("valid")
    if generation is None:
        return valid.clear()
    return valid.join(_generated(generation), on=ELEMENTS, how="anti", maintain_order="left")


def wrongly_generated(
    dataset: EntailmentDataset, generation: EntailmentDataset | None
) -> pl.DataFrame:
    """The tuples that are denied, never held valid, and in a generation set; none without one."""
    valid, denied = (dataset.tuples.filter(pl.col("valid") == one) for one in (True, False))
    if generation is None:
        return denied.clear()
    alone = denied.join(valid, on=ELEMENTS, how="anti", maintain_order="left")
    return alone.join(_generated(generation), on=ELEMENTS, how="semi", maintain_order="left")


def beyond(dataset: EntailmentDataset, generation: EntailmentDataset | None) -> pl.DataFrame:
    """The tuples of a generation set that are not valid in a dataset; none without a set."""
    if generation is None:
        return dataset.tuples.clear()
    valid = dataset.tuples.filter("valid").select(ELEMENTS)
    return generation.tuples.filter("valid").join(
        valid, on=ELEMENTS, how="anti", maintain_order="left"
    )


def _generated(generation: EntailmentDataset) -> pl.DataFrame:
    return generation.tuples.filter("valid").select(ELEMENTS)
