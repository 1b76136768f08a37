"""BLEU soft uniqueness: how unlike the other concepts of its instance a concept is."""

from __future__ import annotations

import polars as pl

THRESHOLD = 0.5
"""A concept is unique if its BLEU-1 against the other concepts is at most this."""
WORD = r"\w+"
"""Words are runs of letters, digits and underscores, in lower case."""


def words(text: pl.Expr) -> pl.Expr:
    """The words of a text, as a list."""
    return text.str.to_lowercase().str.extract_all(WORD)


def bleu_1(group: pl.Series, concept: pl.Series) -> pl.DataFrame:
    """BLEU-1 of each concept against the other concepts of its group, leave-one-out.

    Clipped unigram precision, times the brevity penalty ``exp(1 - r / c)`` where the concept has
    c words, fewer than the r of the closest reference, the shorter of two that are as close
    (*BLEU: a Method for Automatic Evaluation of Machine Translation*; the measure of a set by
    itself is that of *Texygen: A Benchmarking Platform for Text Generation Models*). Concepts that
    are the same string are one, which is not a reference of itself.

    Args:
        group: Number of the group of each row, shape (n,).
        concept: Text of each row, shape (n,).

    Returns:
        ``precision`` and ``bleu`` of each row: 0 without another concept in the group, and where
        the concept has no word.
    """
    text = concept.alias("text")
    rows = pl.DataFrame({"group": group, "text": text, "concept": numbers(text.to_frame())})
    items = rows.select("group", "concept").unique(maintain_order=True).with_row_index("item")
    texts = rows.select("concept", words=words(pl.col("text"))).unique("concept")
    sized = items.join(
        texts.select("concept", length=pl.col("words").list.len().cast(pl.Int64)),
        on="concept",
        how="left",
        maintain_order="left",
    )
    matched = _matched_words(items, texts.explode("words").drop_nulls("words"))
    scored = _closest_lengths(sized).join(matched, on="item", how="left")
    precision = pl.col("matched").fill_null(0) / pl.col("length").clip(1)
    penalty = pl.min_horizontal(1 - pl.col("closest") / pl.col("length").clip(1), 0.0).exp()
    scores = scored.select(
        "group", "concept", precision=precision, bleu=precision * penalty.fill_null(0.0)
    )
    both = rows.join(scores, on=["group", "concept"], how="left", maintain_order="left")
    return both.select("precision", "bleu")


def numbers(rows: pl.DataFrame) -> pl.Series:
    """A number for each row, the same where all columns are: the place of the first such row."""
    numbered = rows.with_row_index("row index")
    first = pl.col("row index").first().over(rows.columns)
    return numbered.select(first.cast(pl.Int64)).to_series()


def _matched_words(items: pl.DataFrame, tokens: pl.DataFrame) -> pl.DataFrame:
    """Words of each item that others of its group have, each at most as often as one of these."""
    counts = tokens.group_by("concept", word="words").agg(n=pl.len())
    token = ("group", "word")
    most = pl.col("n").max().over(token)
    ranked = (
        items.join(counts, on="concept")
        .with_columns(most=most)
        .with_columns(
            at_most=(pl.col("n") == pl.col("most")).sum().over(token),
            second=pl.col("n").filter(pl.col("n") < pl.col("most")).max().over(token).fill_null(0),
        )
    )
    alone = (pl.col("n") == pl.col("most")) & (pl.col("at_most") == 1)
    of_others = pl.when(alone).then("second").otherwise("most")
    return ranked.group_by("item").agg(matched=pl.min_horizontal("n", of_others).sum())


def _closest_lengths(sized: pl.DataFrame) -> pl.DataFrame:
    """Items with ``closest``: the length closest to theirs of another item of their group.

    It is the same length if another item has it, else the next shorter or longer one, and null if
    there is no other item.
    """
    each = sized.group_by("group", "length").agg(items=pl.len()).sort("group", "length")
    shorter = pl.col("length").shift(1).over("group")
    longer = pl.col("length").shift(-1).over("group")
    below, beyond = pl.col("length") - shorter, longer - pl.col("length")
    nearest = (
        pl.when(pl.col("items") > 1)
        .then("length")
        .when(longer.is_null() | (below <= beyond))
        .then(shorter)
        .otherwise(longer)
    )
    closest = each.select("group", "length", closest=nearest)
    return sized.join(closest, on=["group", "length"], how="left", maintain_order="left")
