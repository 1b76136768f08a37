"""Whether the elements of a tuple fit each other, and what a dataset has twice."""

from __future__ import annotations

import re
from itertools import combinations

import polars as pl

from audit.analyses.entailment.dataset import (
    SPLITS,
    WHOLE,
    EntailmentDataset,
    in_report_order,
    plain,
    with_share,
)
from audit.analyses.entailment.declared import TABLES
from audit.base.declared import schema

FAULTS = (
    "instance_not_head",
    "tail_not_concept",
    "head_lacks_instance",
    "tail_repeats_head",
    "tail_differs",
)
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

_WHOLE_FAULTS = FAULTS[:2]


def consistency(dataset: EntailmentDataset) -> tuple[pl.DataFrame, pl.DataFrame]:
    """Faults by relation, ``quality_consistency``, and the tuples that have one, `MISMATCHES`.

    Texts are compared in lower case with single blanks, and "a" is as good as "an": a tail may
    have changed the article before the replaced words.
    """
    compared = dataset.tuples.with_columns(
        plain(name).alias(f"{name}_plain") for name in ("head", "tail", "instance", "concept")
    )
    whole = pl.col("relation").is_in(sorted(WHOLE))
    replaced = _first_replaced()
    cases = compared.with_columns(
        fault=pl.when(whole & (pl.col("instance_plain") != pl.col("head_plain")))
        .then(pl.lit("instance_not_head"))
        .when(whole & (pl.col("tail_plain") != pl.col("concept_plain")))
        .then(pl.lit("tail_not_concept"))
        .when(~whole & ~pl.col("head_plain").str.contains(pl.col("instance_plain"), literal=True))
        .then(pl.lit("head_lacks_instance"))
        .when(~whole & (_article_free(replaced) != _article_free(pl.col("tail_plain"))))
        .then(pl.lit("tail_differs"))
    ).drop_nulls("fault")
    mismatches = _explained(cases)
    return _counted(dataset, mismatches), mismatches


def _first_replaced() -> pl.Expr:
    """The head with the first mention of its instance replaced; the head if it holds none."""
    parts = pl.col("head_plain").str.splitn(pl.col("instance_plain"), 2).struct
    changed = parts.field("field_0") + pl.col("concept_plain") + parts.field("field_1")
    return pl.coalesce(changed, "head_plain")


def _article_free(text: pl.Expr) -> pl.Expr:
    return text.str.replace_all(r"\ban\b", "a")


def _explained(cases: pl.DataFrame) -> pl.DataFrame:
    """The mismatches among cases: other mentions of the instance may be the ones replaced."""
    found = []
    for row in cases.iter_rows(named=True):
        fault, column, proposed = row["fault"], "tail", None
        if fault == "instance_not_head":
            column, proposed = "instance", row["head"]
        elif fault == "tail_not_concept":
            proposed = row["concept"]
        elif fault == "tail_differs":
            choices = _replaced(row["head_plain"], row["instance_plain"], row["concept_plain"])
            tail = _WITHOUT_N.sub("a", row["tail_plain"])
            if any(tail == _WITHOUT_N.sub("a", choice) for choice in choices):
                continue
            proposed = _proposed(row["head"], row["instance"], row["concept"])
            if proposed is None:
                fault = "head_lacks_instance"
            elif row["tail_plain"] == row["head_plain"]:
                fault = "tail_repeats_head"
        if fault == "head_lacks_instance":
            column = "instance"
        found.append(
            {**row, "fault": fault, "column": column, "value": row[column], "proposed": proposed}
        )
    return pl.DataFrame(found, schema=MISMATCHES)


_WITHOUT_N = re.compile(r"\ban\b")


def _replaced(head: str, instance: str, concept: str) -> list[str]:
    """The head with each mention of the instance replaced in turn, and with all of them."""
    parts = head.split(instance)
    one = [
        instance.join(parts[:place]) + concept + instance.join(parts[place:])
        for place in range(1, len(parts))
    ]
    return [*one, concept.join(parts)] if one else []


def _proposed(head: str, instance: str, concept: str) -> str | None:
    """The head with the first mention of the instance replaced; None if no whole words are one.

    The article before it becomes "an" where the concept begins with a vowel, and else "a".
    """
    mention = r"\s+".join(re.escape(word) for word in instance.split())
    article = "an" if concept[:1].lower() in _VOWELS else "a"

    def changed(found: re.Match[str]) -> str:
        before = found["article"]
        return concept if before is None else before[0] + article[1:] + found["gap"] + concept

    pattern = rf"(?<!\w)(?:(?P<article>an?)(?P<gap>\s+))?(?<!\w){mention}(?!\w)"
    text, times = re.subn(pattern, changed, head, count=1, flags=re.IGNORECASE)
    return text if times else None


_VOWELS = tuple("aeiou")


def _counted(dataset: EntailmentDataset, mismatches: pl.DataFrame) -> pl.DataFrame:
    relations = dataset.tuples.group_by("relation").agg(tuples=pl.len().cast(pl.Int64))
    faults = pl.DataFrame({"fault": FAULTS})
    whole = pl.col("relation").is_in(sorted(WHOLE))
    possible = relations.join(faults, how="cross").filter(
        whole == pl.col("fault").is_in(_WHOLE_FAULTS)
    )
    counts = mismatches.group_by("relation", "fault").agg(faulty=pl.len().cast(pl.Int64))
    joined = possible.join(counts, on=["relation", "fault"], how="left", maintain_order="left")
    filled = with_share(joined.with_columns(pl.col("faulty").fill_null(0)), "faulty", "tuples")
    order = pl.col("fault").replace_strict(FAULTS, range(len(FAULTS)), return_dtype=pl.Int64)
    return in_report_order(filled.sort(order)).select(*TABLES["quality_consistency"].columns)


KEY = ("head", "instance")
"""What may not be in two splits."""
SAME_KEY = tuple(map(plain, KEY))
"""What is one key: texts that differ in case or blanks alone are the same."""


MISPLACED = schema(("id", pl.String), ("row", pl.Int64), ("head instance split home", pl.String))
"""One row per tuple whose (head, instance) is in several splits: its own, and its ``home``, the
one with most of its tuples, of several the first in report order."""

REPEATS = schema(
    ("id", pl.String),
    ("row", pl.Int64),
    ("relation split first first_split", pl.String),
)
"""One row per tuple that repeats all elements and the label of an earlier one, ``first``."""


def pairs_of_splits(dataset: EntailmentDataset) -> list[tuple[str, str]]:
    """All pairs of the dataset's splits, each in report order."""
    names = dataset.tuples["split"].drop_nulls().unique().to_list()
    order = {name: place for place, name in enumerate(SPLITS)}
    return list(combinations(sorted(names, key=lambda one: (order.get(one, len(order)), one)), 2))


def shared_keys(dataset: EntailmentDataset) -> tuple[pl.DataFrame, pl.DataFrame]:
    """Keys in two splits by pair, and their tuples, columns `MISPLACED`."""
    known = dataset.tuples.drop_nulls("split").with_columns(key=pl.struct(SAME_KEY))
    pairs = pairs_of_splits(dataset)
    places = known.select("key", "split").unique()
    several = places.filter(pl.len().over("key") > 1)
    counts = [
        {
            "split": split,
            "other": other,
            "keys": places.filter(split=other).height,
            "shared": several.filter(pl.col("split").is_in([split, other]))
            .filter(pl.len().over("key") > 1)
            .height
            // 2,
        }
        for split, other in pairs
    ]
    schema = {
        name: TABLES["quality_shared_keys"].columns.types[name]
        for name in ("split", "other", "keys", "shared")
    }
    table = with_share(pl.DataFrame(counts, schema=schema), "shared", "keys")
    return table.select(*TABLES["quality_shared_keys"].columns), _misplaced(known, several)


def _misplaced(known: pl.DataFrame, several: pl.DataFrame) -> pl.DataFrame:
    among = known.join(several, on="key", how="semi", maintain_order="left")
    order = pl.col("split").replace_strict(
        SPLITS, range(len(SPLITS)), default=len(SPLITS), return_dtype=pl.Int64
    )
    counts = (
        among.group_by("key", "split")
        .agg(fewest=-pl.len().cast(pl.Int64))
        .sort("fewest", order, "split")
    )
    homes = counts.unique("key", keep="first", maintain_order=True).select("key", home="split")
    return among.join(homes, on="key", how="left", maintain_order="left").select(*MISPLACED)


def repeats(dataset: EntailmentDataset) -> pl.DataFrame:
    """Tuples that repeat an earlier one but for case and blanks, columns `REPEATS`."""
    texts = map(plain, ("head", "tail", "instance", "concept"))
    same = [pl.col("relation"), pl.col("valid"), *texts]
    doubled = dataset.tuples.filter(pl.struct(same).is_duplicated())
    firsts = doubled.with_columns(
        first=pl.col("id").first().over(same), first_split=pl.col("split").first().over(same)
    )
    return firsts.filter(pl.col("id") != pl.col("first")).select(*REPEATS)
