"""What tables 2 and 3 of AbsPyramid count of a dataset, and its generation set."""

from __future__ import annotations

from pathlib import Path

import polars as pl

from audit.analyses.entailment.dataset import EntailmentDataset, in_report_order, with_share
from audit.analyses.entailment.declared import ALL, TABLES

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


PERSON = r"\b[Pp]erson[XYZxyz]\b"
"""A Person variable."""
_PERSONS = Path(__file__).parent / "data" / "persons.csv"


def social_heads(head: pl.Expr) -> pl.Expr:
    """Whether a head holds a Person variable or, if it is "subject, predicate, object" as those of
    Levy and Holt, has a person as subject or object.

    A person is a subject or object whose last word, or the last one before an "of", is one of
    ``persons.csv`` or its plural in -s; names of people are not on that list.
    """
    parts = head.str.to_lowercase().str.split(",")
    listed = pl.read_csv(_PERSONS)["word"].to_list()
    people = [*listed, *(f"{word}s" for word in listed)]
    ends = (
        parts.list.get(place, null_on_oob=True)
        .str.replace(r"\sof\s.*", "")
        .str.extract(r"(\p{L}+)\P{L}*$")
        .is_in(people)
        for place in (0, 2)
    )
    triple = (parts.list.len() == 3) & pl.any_horizontal(*ends).fill_null(False)
    return head.str.contains(PERSON) | triple


def diversity(dataset: EntailmentDataset) -> pl.DataFrame:
    """Words, unique concepts and social heads of each relation, ``quality_diversity``.

    Of all relations together, unique tuples and edges are those of the relations added up.
    """
    tuples = dataset.tuples.select("relation", "head", "instance", "concept")
    edge = ["relation", "instance", "concept"]
    edges = tuples.select(edge).unique(maintain_order=True)
    of_tuples = _unique(tuples, ["relation", "head", "instance"], "unique")
    of_edges = _unique(edges, ["relation", "instance"], "unique_edges")
    parts = []
    for relation in (pl.col("relation"), pl.lit(ALL)):
        counts = [
            _shares(of_tuples, relation, "tuples"),
            _shares(of_edges, relation, "edges"),
            _vocabulary(tuples, relation),
            _social(tuples, relation),
        ]
        joined = counts[0]
        for more in counts[1:]:
            joined = joined.join(more, on="relation", how="left")
        parts.append(joined)
    return (
        in_report_order(pl.concat(parts))
        .select(*TABLES["quality_diversity"].columns)
        .pipe(TABLES["quality_diversity"].cast)
    )


def _unique(rows: pl.DataFrame, group: list[str], name: str) -> pl.DataFrame:
    """Each row's relation, and whether its concept is unique with and without penalty."""
    scores = bleu_1(numbers(rows.select(group)), rows["concept"])
    return pl.DataFrame(
        {
            "relation": rows["relation"],
            name: scores["bleu"] <= THRESHOLD,
            f"{name}_without_penalty": scores["precision"] <= THRESHOLD,
        }
    )


def _shares(marks: pl.DataFrame, relation: pl.Expr, counted: str) -> pl.DataFrame:
    return marks.group_by(relation=relation).agg(
        pl.len().alias(counted), pl.exclude("relation").mean()
    )


def _vocabulary(tuples: pl.DataFrame, relation: pl.Expr) -> pl.DataFrame:
    texts = pl.concat(
        [
            tuples.select(relation=relation, text=pl.col(name)).unique()
            for name in ("head", "concept")
        ]
    )
    found = texts.unique().select("relation", word=words(pl.col("text"))).explode("word")
    return found.group_by("relation").agg(vocabulary=pl.col("word").drop_nulls().n_unique())


def _social(tuples: pl.DataFrame, relation: pl.Expr) -> pl.DataFrame:
    heads = tuples.select("head", relation=relation).unique()
    counts = heads.group_by("relation").agg(
        heads=pl.len().cast(pl.Int64),
        social_heads=social_heads(pl.col("head")).sum().cast(pl.Int64),
    )
    shares = with_share(counts, "social_heads", "heads")
    return shares.rename({"share": "social", "low": "social_low", "high": "social_high"})


ELEMENTS = ("relation", "head", "tail", "instance", "concept")
"""What makes a tuple, its label apart."""


def references(dataset: EntailmentDataset) -> pl.DataFrame:
    """Valid tuples, instances and references by relation and split, ``quality_references``."""
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
        counts.with_columns(references=pl.col("valid") / some).select(
            *TABLES["quality_references"].columns
        )
    )


def generation_set(
    dataset: EntailmentDataset, generation: EntailmentDataset | None
) -> pl.DataFrame:
    """Compare a generation set with the valid tuples; empty without one."""
    if generation is None:
        return TABLES["quality_generation_set"].frame()
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
    return in_report_order(counts).select(*TABLES["quality_generation_set"].columns)


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
