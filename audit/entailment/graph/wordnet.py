"""How far an entailment dataset agrees with WordNet on what is a kind of what."""

from __future__ import annotations

import polars as pl

from audit.base.paths import leads_to
from audit.engine.statistics.intervals import wilson
from audit.entailment.dataset import VERB
from audit.entailment.graph.measurements import WORDNET
from audit.entailment.graph.text_graph import DENIED, TextGraph
from audit.hierarchies.formats.wordnet import WordNet

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
        wordnet: The nouns of a WordNet.
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
