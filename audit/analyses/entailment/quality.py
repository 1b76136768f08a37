"""What a dataset holds: tables 1 to 3 of AbsPyramid, what does not fit, and what stands twice."""

from __future__ import annotations

import re
from collections.abc import Mapping
from itertools import combinations
from pathlib import Path
from typing import Any

import polars as pl

from audit.analyses.entailment.dataset import (
    ELEMENTS,
    WHOLE,
    in_report_order,
    over_all,
    place_of_split,
    plain,
    with_share,
)
from audit.analyses.entailment.declared import TABLES
from audit.base.declared import schema

THRESHOLD = 0.5
"""A concept is unique if its BLEU-1 against the other concepts is at most this."""
_VALID = {"valid": pl.col("valid").sum()}


def totals(tuples: pl.DataFrame) -> pl.DataFrame:
    """Tuples by relation and split, and the share of valid ones: ``quality_totals``, table 1."""
    counts = over_all(tuples, "relation", "split", tuples=pl.len(), **_VALID)
    return TABLES["quality_totals"].cast(with_share(counts, "valid", "tuples"))


def references(tuples: pl.DataFrame) -> pl.DataFrame:
    """Valid tuples of an instance by relation and split: ``quality_references``, table 3."""
    key = pl.struct("head", "instance", own="relation")
    counts = over_all(
        tuples.with_columns(key=key),
        "relation",
        "split",
        instances=pl.col("key").filter("valid").n_unique(),
        identified=pl.col("key").n_unique(),
        **_VALID,
    )
    share = pl.when(pl.col("instances") > 0).then(pl.col("valid") / pl.col("instances"))
    return TABLES["quality_references"].cast(counts.with_columns(references=share))


def diversity(tuples: pl.DataFrame) -> pl.DataFrame:
    """Words, unique concepts and social heads of relations: ``quality_diversity``, table 2.

    Of all relations together, unique tuples and edges are those of the relations added up.
    """
    edge = ["relation", "instance", "concept"]
    social = pl.col("head").filter(social_heads(pl.col("head")))
    texts = pl.concat(tuples.select("relation", text=name) for name in ("head", "concept")).unique()
    words = texts.select("relation", word=_words("text")).explode("word")
    counts = over_all(
        with_uniqueness(tuples, ["relation", "head", "instance"]),
        "relation",
        tuples=pl.len(),
        unique=(pl.col("bleu") <= THRESHOLD).mean(),
        unique_without_penalty=(pl.col("precision") <= THRESHOLD).mean(),
        heads=pl.col("head").n_unique(),
        social_heads=social.n_unique(),
    )
    of_edges = over_all(
        with_uniqueness(tuples.select(edge).unique(), edge[:2]),
        "relation",
        edges=pl.len(),
        unique_edges=(pl.col("bleu") <= THRESHOLD).mean(),
        unique_edges_without_penalty=(pl.col("precision") <= THRESHOLD).mean(),
    )
    vocabulary = over_all(words, "relation", vocabulary=pl.col("word").drop_nulls().n_unique())
    counted = with_share(counts, "social_heads", "heads")
    for one in (of_edges, vocabulary):
        counted = counted.join(one, on="relation", how="left", maintain_order="left")
    named = {"share": "social", "low": "social_low", "high": "social_high"}
    return TABLES["quality_diversity"].cast(counted.rename(named))


def _words(name: str) -> pl.Expr:
    return pl.col(name).str.to_lowercase().str.extract_all(r"\w+")


def with_uniqueness(rows: pl.DataFrame, group: list[str]) -> pl.DataFrame:
    """Rows with the BLEU-1 of their concept against the other concepts of its group.

    Clipped unigram precision, times the brevity penalty ``exp(1 - r / c)`` where the concept has
    c words, fewer than the r of the closest reference, the shorter of two that are as close.
    Concepts that are the same string are one, which is not a reference of itself.

    Args:
        rows: ``concept`` and the columns of the group.

    Returns:
        The rows with ``precision`` and ``bleu``: 0 without another concept in the group, and where
        the concept has no word.
    """
    items = rows.select(*group, "concept").unique().with_row_index("item")
    items = items.with_columns(
        group=pl.col("item").first().over(group), words=_words("concept")
    ).with_columns(length=pl.col("words").list.len().cast(pl.Int64))
    ordered = items.sort("group", "length")
    shorter, longer = (pl.col("length").shift(step).over("group") for step in (1, -1))
    nearer = longer.is_null() | (pl.col("length") - shorter <= longer - pl.col("length"))
    scored = ordered.with_columns(
        closest=pl.when(nearer & shorter.is_not_null()).then(shorter).otherwise(longer)
    ).join(_matched(items), on="item", how="left")
    length = pl.col("length").clip(1)
    precision = pl.col("matched").fill_null(0) / length
    penalty = pl.min_horizontal(1 - pl.col("closest") / length, 0.0).exp().fill_null(0.0)
    scores = scored.select(*group, "concept", precision=precision, bleu=precision * penalty)
    return rows.join(scores, on=[*group, "concept"], how="left", maintain_order="left")


def _matched(items: pl.DataFrame) -> pl.DataFrame:
    """Words of each item that others of its group have, each at most as often as one of these."""
    words = items.select("item", "group", word="words").explode("word").drop_nulls("word")
    counts = words.group_by("item", "group", "word").agg(n=pl.len())
    ranked = counts.sort("n", descending=True).with_columns(
        place=pl.int_range(pl.len()).over("group", "word"),
        most=pl.col("n").first().over("group", "word"),
        second=pl.col("n").get(1, null_on_oob=True).over("group", "word").fill_null(0),
    )
    others = pl.when(pl.col("place") == 0).then("second").otherwise("most")
    return ranked.group_by("item").agg(matched=pl.min_horizontal("n", others).sum())


PERSON = r"\b[Pp]erson[XYZxyz]\b"
"""A Person variable."""
_PERSONS = Path(__file__).parent / "data" / "persons.csv"


def social_heads(head: pl.Expr) -> pl.Expr:
    """Whether a head holds a Person variable or, if it is "subject, predicate, object" as those of
    Levy and Holt, has a person as subject or object: one whose last word, or the last one before
    an "of", is one of ``persons.csv`` or its plural in -s.
    """
    parts = head.str.to_lowercase().str.split(",")
    listed = pl.read_csv(_PERSONS)["word"].to_list()
    people = [*listed, *(f"{word}s" for word in listed)]
    last = pl.element().str.replace(r"\sof\s.*", "").str.extract(r"(\p{L}+)\P{L}*$")
    persons = parts.list.gather([0, 2], null_on_oob=True).list.eval(last.is_in(people)).list.any()
    return head.str.contains(PERSON) | ((parts.list.len() == 3) & persons.fill_null(False))


def generation_set(tuples: pl.DataFrame, positives: pl.DataFrame | None) -> pl.DataFrame:
    """A generation set beside the valid tuples, ``quality_generation_set``; empty without one."""
    table = TABLES["quality_generation_set"]
    if positives is None:
        return table.frame()
    valid, generated = (of.filter("valid").select(ELEMENTS).unique() for of in (tuples, positives))
    sets = {
        "valid": valid,
        "generation": generated,
        "both": valid.join(generated, on=ELEMENTS, how="semi"),
        "only_detection": valid.join(generated, on=ELEMENTS, how="anti"),
        "only_generation": generated.join(valid, on=ELEMENTS, how="anti"),
        "not_valid": positives.filter(~pl.col("valid")).select(ELEMENTS).unique(),
    }
    of = pl.concat(one.select("relation", of=pl.lit(name)) for name, one in sets.items())
    counted = {name: (pl.col("of") == name).sum() for name in sets}
    return table.cast(over_all(of, "relation", **counted))


FAULTS = ("head_lacks_instance", "tail_repeats_head", "tail_differs")
WHOLE_FAULTS = ("instance_not_head", "tail_not_concept")
"""What may not fit, the first that applies. Of relations about whole events: the instance is not
the head, or the tail not the concept. Of others: the head does not hold its instance as whole
words; or the tail is not the head with one mention of the instance replaced by the concept, but the
head itself, or something else. Where the instance is a part of a word only, as “take” in “takes”, a
tail with that part replaced is right, and with any other one the head lacks the instance."""
MISMATCHES = schema(
    ("id", pl.String),
    ("row", pl.Int64),
    ("relation fault column value proposed", pl.String),
)
"""One row per tuple that does not fit, in the order of the tuples. ``proposed`` would make the
``column`` fit; it is null where the head lacks the instance, and nothing can be proposed."""


def mismatched(tuples: pl.DataFrame) -> pl.DataFrame:
    """The tuples whose elements do not fit each other, columns `MISMATCHES`.

    Texts are compared in lower case with single blanks, and "a" is as good as "an": a tail may
    have changed the article before the replaced words.
    """
    names = ("head", "tail", "instance", "concept")
    compared = tuples.with_columns(plain(name).alias(f"{name}_plain") for name in names)
    head, tail, instance, concept = (pl.col(f"{name}_plain") for name in names)
    whole = pl.col("relation").is_in(WHOLE)
    parts = head.str.splitn(instance, 2).struct
    replaced = pl.coalesce(parts.field("field_0") + concept + parts.field("field_1"), head)
    same = (text.str.replace_all(r"\ban\b", "a") for text in (replaced, tail))
    unfit = pl.when(whole).then((instance != head) | (tail != concept))
    lacking = ~head.str.contains(instance, literal=True)
    cases = compared.filter(unfit.otherwise(lacking | (next(same) != next(same))))
    found = map(_mismatch, cases.iter_rows(named=True))
    return pl.DataFrame([row for row in found if row is not None], schema=MISMATCHES)


def _mismatch(row: Mapping[str, Any]) -> Mapping[str, Any] | None:
    """A row of `MISMATCHES`; None if another mention of the instance was replaced."""
    head, tail, instance, concept = (
        row[f"{name}_plain"] for name in ("head", "tail", "instance", "concept")
    )
    if row["relation"] in WHOLE:
        differs = instance != head
        fault, column = WHOLE_FAULTS[not differs], "instance" if differs else "tail"
        proposed = row["head"] if differs else row["concept"]
    else:
        parts = head.split(instance)
        choices = [
            instance.join(parts[:place]) + concept + instance.join(parts[place:])
            for place in range(1, len(parts))
        ]
        bare = {_article_free(choice) for choice in [*choices, concept.join(parts)]}
        if parts[1:] and _article_free(tail) in bare:
            return None
        proposed = _proposed(row["head"], row["instance"], row["concept"])
        fault = FAULTS[0] if proposed is None else FAULTS[1] if tail == head else FAULTS[2]
        column = "instance" if proposed is None else "tail"
    return {**row, "fault": fault, "column": column, "value": row[column], "proposed": proposed}


def _article_free(text: str) -> str:
    return re.sub(r"\ban\b", "a", text)


def _proposed(head: str, instance: str, concept: str) -> str | None:
    """The head with the first mention of the instance replaced; None if no whole words are one.

    The article before it becomes "an" where the concept begins with a vowel, and else "a".
    """
    mention = r"\s+".join(re.escape(word) for word in instance.split())
    article = "an" if concept[:1].lower() in tuple("aeiou") else "a"

    def changed(found: re.Match[str]) -> str:
        before = found["article"]
        return concept if before is None else before[0] + article[1:] + found["gap"] + concept

    pattern = rf"(?<!\w)(?:(?P<article>an?)(?P<gap>\s+))?(?<!\w){mention}(?!\w)"
    text, times = re.subn(pattern, changed, head, count=1, flags=re.IGNORECASE)
    return text if times else None


def consistency(tuples: pl.DataFrame, mismatches: pl.DataFrame) -> pl.DataFrame:
    """The faults of `mismatched` by relation, ``quality_consistency``."""
    whole = pl.col("relation").is_in(WHOLE)
    faults = pl.when(whole).then(pl.lit([*WHOLE_FAULTS])).otherwise(pl.lit([*FAULTS]))
    relations = tuples.group_by("relation").agg(tuples=pl.len())
    possible = in_report_order(relations).with_columns(fault=faults).explode("fault")
    counts = mismatches.group_by("relation", "fault").agg(faulty=pl.len())
    joined = possible.join(counts, on=["relation", "fault"], how="left", maintain_order="left")
    filled = joined.with_columns(pl.col("faulty").fill_null(0))
    return TABLES["quality_consistency"].cast(with_share(filled, "faulty", "tuples"))


SAME_KEY = tuple(map(plain, ("head", "instance")))
"""What may not be in two splits: texts that differ in case or blanks alone are the same."""
MISPLACED = schema(("id", pl.String), ("row", pl.Int64), ("head instance split home", pl.String))
"""One row per tuple whose (head, instance) is in several splits: its own, and its ``home``, the
one with most of its tuples, of several the first in report order."""
REPEATS = schema(
    ("id", pl.String), ("row", pl.Int64), ("relation split first first_split", pl.String)
)
"""One row per tuple that repeats all elements and the label of an earlier one, ``first``."""


def misplaced(tuples: pl.DataFrame) -> pl.DataFrame:
    """The tuples whose head and instance are in several splits, columns `MISPLACED`."""
    known = tuples.drop_nulls("split").with_columns(key=pl.struct(SAME_KEY))
    among = known.filter(pl.col("split").n_unique().over("key") > 1)
    homes = among.group_by("key", "split").agg(n=pl.len())
    homes = homes.sort("n", place_of_split(), "split", descending=[True, False, False])
    first = homes.unique("key", keep="first", maintain_order=True).select("key", home="split")
    return among.join(first, on="key", how="left", maintain_order="left").select(*MISPLACED)


def shared_keys(tuples: pl.DataFrame) -> pl.DataFrame:
    """Heads with an instance that each two splits share, ``quality_shared_keys``."""
    keys = tuples.drop_nulls("split").select("split", key=pl.struct(SAME_KEY)).unique()
    names = keys.select("split").unique().sort(place_of_split(), "split")["split"]
    ends = dict.fromkeys(("split", "other"), pl.String)
    pairs = pl.DataFrame(list(combinations(names, 2)), ends, orient="row")
    sizes = keys.group_by(other="split").agg(keys=pl.len())
    met = keys.join(keys.rename({"split": "other"}), on="key")
    shared = met.group_by(*ends).agg(shared=pl.len())
    counts = pairs.join(sizes, on="other", how="left", maintain_order="left")
    counts = counts.join(shared, on=[*ends], how="left", maintain_order="left")
    filled = counts.with_columns(pl.col("shared").fill_null(0))
    return TABLES["quality_shared_keys"].cast(with_share(filled, "shared", "keys"))


def repeats(tuples: pl.DataFrame) -> pl.DataFrame:
    """Tuples that repeat an earlier one but for case and blanks, columns `REPEATS`."""
    texts = map(plain, ("head", "tail", "instance", "concept"))
    same = [pl.col("relation"), pl.col("valid"), *texts]
    first = {"first": pl.col("id").first(), "first_split": pl.col("split").first()}
    doubled = tuples.filter(pl.struct(same).is_duplicated())
    firsts = doubled.with_columns(**{name: one.over(same) for name, one in first.items()})
    return firsts.filter(pl.col("id") != pl.col("first")).select(*REPEATS)
