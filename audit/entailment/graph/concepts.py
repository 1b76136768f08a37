"""Concepts that stand for nearly anything, and how far edges agree with WordNet."""

from __future__ import annotations

import polars as pl

from audit.base.paths import leads_to
from audit.engine.statistics.intervals import wilson
from audit.entailment.dataset import VERB
from audit.entailment.graph.measurements import CONCEPTS, WORDNET
from audit.entailment.graph.text_graph import DENIED, TextGraph
from audit.hierarchies.catch_alls import read_title
from audit.hierarchies.formats.wordnet import WordNet

MOST = 50
"""Concepts listed for each relation: no more than these can have a `SHARE` of its edges."""
LEAST_EDGES = 30
"""Valid edges from which on a concept is judged."""
SHARE = 0.02
"""Share of a relation's valid edges above which, for sure, a concept may be a catch-all."""
EXCESS = 5.0
"""Times the edges of the other concepts of its instances from which on it is one."""

_GENERAL = frozenset(
    read_title(
        "action activity anything be being do doing entity event everything happening item matter "
        "object occurrence situation some something stuff thing"
    ).words
)
"""Words that distinguish no instance from another, besides those of catch-alls in titles."""


def concept_table(merged: TextGraph) -> pl.DataFrame:
    """Columns `CONCEPTS`: of each relation the concepts with the most valid edges."""
    largest = _siblings(merged.edges.filter(pl.col("valid") > 0))
    bounds = [wilson(k, n) for k, n in largest.select("edges", "of").iter_rows()]
    table = largest.with_columns(
        pl.Series("share_low", [low for low, _ in bounds], pl.Float64),
        pl.Series("share_high", [high for _, high in bounds], pl.Float64),
        pl.Series("says_nothing", list(map(says_nothing, largest["concept"])), pl.Boolean),
        share=pl.col("edges") / pl.col("of"),
        excess=pl.col("edges") / pl.col("typical"),
    )
    judged = (pl.col("edges") >= LEAST_EDGES) & (pl.col("share_low") > SHARE)
    catch_all = judged & (pl.col("excess") >= EXCESS).fill_null(False)
    return table.with_columns(catch_all=catch_all).select(
        pl.col(name).cast(kind) for name, kind in CONCEPTS.items()
    )


def says_nothing(text: str) -> bool:
    """Whether a text is made of words that name nothing in particular.

    >>> says_nothing("some thing"), says_nothing("other activities"), says_nothing("wild thing")
    (True, True, False)
    """
    return not read_title(text).words - _GENERAL


def _siblings(edges: pl.DataFrame) -> pl.DataFrame:
    """``relation, concept, edges, of, beside, typical`` of the `MOST` largest of each relation.

    Where no instance of a concept has another one, ``typical`` is the mean over the relation's
    edges to other concepts, null where there are none.
    """
    concept, instance = ("relation", "concept"), ("relation", "instance")
    edges = edges.select(
        "relation", "instance", "concept", edges=pl.len().over(concept).cast(pl.Float64)
    ).with_columns(
        beside=pl.len().over(instance).cast(pl.Int64) - 1,
        others=pl.col("edges").sum().over(instance) - pl.col("edges"),
        of=pl.len().over("relation"),
        squares=pl.col("edges").sum().over("relation"),
    )
    n = pl.col("edges").first()
    elsewhere = (pl.col("squares").first() - n * n) / (pl.col("of").first() - n)
    some = pl.col("beside") > 0
    near = (pl.col("others") / pl.col("beside")).filter(some).mean()
    return (
        edges.group_by(concept)
        .agg(
            n,
            pl.col("of").first(),
            beside=some.sum(),
            typical=pl.coalesce(near, elsewhere.fill_nan(None)),
        )
        .sort("relation", "edges", "concept", descending=[False, True, False])
        .group_by("relation", maintain_order=True)
        .head(MOST)
    )


NOT_COMPARED = (VERB,)
"""Relations between verbs: of WordNet the nouns are read."""


def agreement_table(merged: TextGraph, wordnet: WordNet) -> pl.DataFrame:
    """Columns `WORDNET`, by relation, valid edges before denied ones.

    A text is looked up as a synset's name, else as a noun, in lower case.
    """
    stated = pl.when(pl.col("valid") > 0).then(pl.lit("valid")).when(DENIED).then(pl.lit("denied"))
    compared = ~pl.col("relation").is_in(NOT_COMPARED)
    edges = merged.edges.filter(compared).with_columns(stated=stated).with_row_index("edge")
    known, agreeing = agreeing_edges(edges, wordnet)
    table = (
        edges.with_columns(
            in_wordnet=pl.col("edge").is_in(known.implode()),
            agreeing=pl.col("edge").is_in(agreeing.implode()),
        )
        .group_by("relation", "stated")
        .agg(pl.len().alias("edges"), pl.col("in_wordnet", "agreeing").sum())
        .sort("relation", "stated", descending=[False, True])
    )
    bounds = [wilson(k, n) for k, n in table.select("agreeing", "in_wordnet").iter_rows()]
    shares = {
        "share": table["agreeing"] / table["in_wordnet"],
        "share_low": pl.Series([low for low, _ in bounds], dtype=pl.Float64),
        "share_high": pl.Series([high for _, high in bounds], dtype=pl.Float64),
    }
    some = pl.col("in_wordnet") > 0
    return table.with_columns(
        pl.when(some).then(values).alias(name) for name, values in shares.items()
    ).select(pl.col(name).cast(kind) for name, kind in WORDNET.items())


def agreeing_edges(edges: pl.DataFrame, wordnet: WordNet) -> tuple[pl.Series, pl.Series]:
    """The numbers of the edges both of whose texts are known, and of those WordNet agrees with.

    WordNet agrees if a sense of the concept is one of the instance, or is above one.

    Args:
        edges: Columns ``edge`` (a number), ``instance`` and ``concept``.
    """
    hierarchy = wordnet.hierarchy()
    senses = _senses(edges, wordnet)
    above = (
        edges.select("edge", "instance", "concept")
        .join(senses.rename({"text": "instance", "synset": "low"}), on="instance")
        .join(senses.rename({"text": "concept", "synset": "high"}), on="concept")
    )
    place = {node: number for number, node in enumerate(hierarchy.nodes)}
    low, high = (above[end].replace_strict(place, return_dtype=pl.Int64) for end in ("low", "high"))
    met = leads_to(hierarchy.edges, low.to_numpy(), high.to_numpy())
    return above["edge"].unique(), above["edge"].filter(pl.Series(met)).unique()


def _senses(edges: pl.DataFrame, wordnet: WordNet) -> pl.DataFrame:
    """``text, synset``: the senses of each text of some edges that WordNet knows."""
    texts = pl.concat([edges["instance"], edges["concept"].alias("instance")]).unique()
    found = [
        (text, synset)
        for text in texts.to_list()
        for synset in ((text,) if text in wordnet.lemmas else wordnet.senses.get(text.lower(), ()))
    ]
    return pl.DataFrame(found, schema={"text": pl.String, "synset": pl.String}, orient="row")
