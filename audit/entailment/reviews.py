"""Tuples that people should judge again, with the answer that the others speak for."""

from __future__ import annotations

from collections.abc import Iterator

import polars as pl

from audit.entailment.content.references import wrongly_generated, wrongly_left_out
from audit.entailment.dataset import EntailmentDataset
from audit.entailment.measure import EntailmentMeasurements

_ENDS = ("instance", "concept")
_LABEL = pl.col("valid").cast(pl.String)
_OTHER = pl.col("valid").not_().cast(pl.String)
_NOTHING = pl.lit(None, pl.String)
_VALID_EDGE = pl.col("valid") & (pl.col("instance") != pl.col("concept"))


def reviews(entailed: EntailmentMeasurements, rate: float) -> Iterator[pl.DataFrame]:
    """Tuples to judge again: ``id, row, check, column, value, proposed``, a table a question.

    * Of a cycle, and of two valid edges with a denied one along them: the answers with the least
      majority of votes, a tuple without known votes being one vote. The opposite answer is
      proposed where one edge alone has the least. Of synonyms: both edges of a pair.
    * Of an edge with opposite answers: those of the minority, or all without one, and those that
      deny an edge within a cycle.
    * Valid edges that follow from others, and those to concepts that fit nearly anything.
    * Votes of annotators who differ from all others against a majority, which is proposed.
    * Valid tuples that the generation set lacks, and denied ones that it has.
    * Tuples whose head lacks the instance, and those of heads that another split nearly has.

    Args:
        entailed: What is measured.
        rate: False discovery rate of annotators who differ from all others.
    """
    dataset, graph, quality = entailed.dataset, entailed.graph, entailed.quality
    catching = graph.concepts.filter("catch_all").select("relation", "concept")
    outliers = quality.annotators.filter(pl.col("q_value") <= rate)
    near = quality.near_heads.select("head", split="other").unique()
    yield _questions("cycle", _weakest(dataset, _cycles(graph.components)))
    yield _questions("transitivity", _weakest(dataset, _triples(graph.violations)))
    yield _questions("contradiction", _minorities(dataset, graph.contradictions))
    yield _questions("redundant_edge", _among(dataset, graph.redundant, "relation", *_ENDS))
    yield _questions("catch_all", _among(dataset, catching, "relation", "concept"), "concept")
    yield _votes(dataset, quality.dissents.join(outliers, on="annotator", how="semi"))
    yield _generated(entailed)
    unclear = quality.mismatches.filter(pl.col("proposed").is_null())
    yield unclear.select("id", "row", "column", "value", "proposed", check=pl.lit("tail_mismatch"))
    nearly = dataset.tuples.join(near, on=["head", "split"], how="semi", maintain_order="left")
    yield _questions("near_duplicate", nearly, "split")


def _questions(check: str, tuples: pl.DataFrame, column: str = "label") -> pl.DataFrame:
    proposed = pl.col("proposed") if "proposed" in tuples.columns else _NOTHING
    value = _LABEL if column == "label" else pl.col(column)
    return tuples.select(
        "id", "row", check=pl.lit(check), column=pl.lit(column), value=value,
        proposed=proposed.alias("proposed"),
    )  # fmt: skip


def _cycles(components: pl.DataFrame) -> pl.DataFrame:
    """The edges of the cycle named for each component, as ``case, relation, head, ...``."""
    cycles = components.with_row_index("case")
    closed = cycles.with_columns(
        instance=pl.col("cycle").list.head(pl.col("cycle").list.len() - 1),
        concept=pl.col("cycle").list.tail(pl.col("cycle").list.len() - 1),
        answer=True,
        decides=~pl.col("synonyms"),
    )
    columns = ("case", "relation", "head", "instance", "concept", "answer", "decides")
    return closed.select(columns).explode(*_ENDS)


def _triples(violations: pl.DataFrame) -> pl.DataFrame:
    """The denied edge and the two valid ones along it, as ``case, relation, head, ...``."""
    cases = violations.with_row_index("case").with_columns(decides=True)
    ends = {
        ("instance", "concept"): False,
        ("instance", "through"): True,
        ("through", "concept"): True,
    }
    return pl.concat(
        cases.select(
            "case", "relation", "head", pl.col(child).alias("instance"),
            pl.col(parent).alias("concept"), answer=pl.lit(answer), decides="decides",
        )
        for (child, parent), answer in ends.items()
    )  # fmt: skip


def _weakest(dataset: EntailmentDataset, edges: pl.DataFrame) -> pl.DataFrame:
    """Of each case the tuples of the answers with the least majority of votes.

    A case that does not decide keeps all.
    """
    under_head = pl.col("head").is_null() | (pl.col("head") == pl.col("judged_under"))
    tuples = dataset.tuples.rename({"head": "judged_under"})
    of_cases = edges.join(tuples, on=["relation", *_ENDS]).filter(under_head)
    against = pl.when("answer").then(_majority()).otherwise(-_majority())
    weighed = of_cases.with_columns(least=against.sum().over("case", *_ENDS))
    weakest = weighed.filter(
        (pl.col("least") == pl.col("least").min().over("case")) | ~pl.col("decides"),
        pl.col("valid") == pl.col("answer"),
    )
    alone = pl.struct(_ENDS).n_unique().over("case") == 1
    proposed = weakest.with_columns(proposed=pl.when("decides", alone).then(_OTHER))
    return proposed.sort("row", "proposed", nulls_last=True).unique(
        "id", keep="first", maintain_order=True
    )


def _majority() -> pl.Expr:
    """Votes for valid less those against; of a tuple without known votes, one for its label."""
    stated = pl.when("valid").then(1).otherwise(-1)
    return (2 * pl.col("votes_valid") - pl.col("votes")).fill_null(stated)


def _minorities(dataset: EntailmentDataset, contradictions: pl.DataFrame) -> pl.DataFrame:
    """Answers against the majority of an edge's; all where there is none; denials in a cycle."""
    edges = contradictions.select("relation", *_ENDS, "kind").unique()
    tuples = dataset.tuples.join(edges, on=["relation", *_ENDS])
    balance = _majority().sum().over("relation", *_ENDS, "kind")
    against = pl.when("valid").then(balance <= 0).otherwise(balance >= 0)
    minority = tuples.filter(against | (pl.col("kind") == "cycle"))
    decided = (pl.col("kind") == "edge") & (balance != 0)
    return minority.with_columns(proposed=pl.when(decided).then(_OTHER))


def _among(dataset: EntailmentDataset, edges: pl.DataFrame, *keys: str) -> pl.DataFrame:
    """The tuples that state some edges as valid."""
    valid = dataset.tuples.filter(_VALID_EDGE)
    return valid.join(edges, on=keys, how="semi", maintain_order="left")


def _votes(dataset: EntailmentDataset, dissents: pl.DataFrame) -> pl.DataFrame:
    votes = dissents.select("id", "annotator", vote="valid")
    tuples = dataset.tuples.join(votes, on="id", maintain_order="left")
    return tuples.select(
        "id", "row", check=pl.lit("annotator_outlier"), column=pl.lit("votes"),
        value=pl.format("{}: {}", "annotator", pl.col("vote").cast(pl.String)),
        proposed=pl.format("{}: {}", "annotator", pl.col("vote").not_().cast(pl.String)),
    )  # fmt: skip


def _generated(entailed: EntailmentMeasurements) -> pl.DataFrame:
    """Tuples that the generation set should have and lacks, or has and should not."""
    left_out = wrongly_left_out(entailed.dataset, entailed.positives)
    more = wrongly_generated(entailed.dataset, entailed.positives)
    there = (more, "in it", "left out"), (left_out, "left out", "in it")
    return pl.concat(
        tuples.select(
            "id", "row", check=pl.lit("generation_mismatch"), column=pl.lit("generation set"),
            value=pl.lit(value), proposed=pl.lit(proposed),
        )
        for tuples, value, proposed in there
    )  # fmt: skip
