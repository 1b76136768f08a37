"""Tuples whose elements do not fit each other, and heads with an instance in two splits."""

from __future__ import annotations

import re
from collections.abc import Mapping
from itertools import combinations
from typing import Any

import polars as pl

from audit.analyses.entailment.dataset import WHOLE, in_report_order, place_of_split, with_share
from audit.analyses.entailment.declared import TABLES
from audit.base.declared import schema

FAULTS = ("head_lacks_instance", "tail_repeats_head", "tail_differs")
WHOLE_FAULTS = ("instance_not_head", "tail_not_concept")
"""What may not fit, the first that applies. Of relations about whole events: the instance is not
the head, or the tail not the concept. Of others: the head does not hold its instance as whole
words; or the tail is not the head with one mention of the instance replaced by the concept, but the
head itself, or something else. Where the instance is a part of a word only, as “take” in “takes”, a
tail with that part replaced is right, and with any other one the head lacks the instance."""
MISMATCHES = schema(
    ("id", pl.String), ("row", pl.Int64), ("relation fault column value proposed", pl.String)
)
"""One row per tuple that does not fit, in the order of the tuples. ``proposed`` would make the
``column`` fit; it is null where the head lacks the instance, and nothing can be proposed."""
_TEXTS = ("head", "tail", "instance", "concept")


def plain(name: str) -> pl.Expr:
    """A column of text in lower case with single blanks, to compare texts by."""
    return pl.col(name).str.to_lowercase().str.replace_all(r"\s+", " ")


def mismatched(tuples: pl.DataFrame) -> pl.DataFrame:
    """The tuples whose elements do not fit each other, columns `MISMATCHES`.

    Texts are compared in lower case with single blanks, and "a" is as good as "an": a tail may
    have changed the article before the replaced words.
    """
    compared = tuples.with_columns(plain(name).alias(f"{name}_plain") for name in _TEXTS)
    head, tail, instance, concept = (pl.col(f"{name}_plain") for name in _TEXTS)
    parts = head.str.splitn(instance, 2).struct
    replaced = parts.field("field_0") + concept + parts.field("field_1")
    same = (text.str.replace_all(r"\ban\b", "a") for text in (replaced, tail))
    unfit = pl.when(pl.col("relation").is_in(WHOLE)).then((instance != head) | (tail != concept))
    possible = compared.filter(unfit.otherwise((next(same) != next(same)).fill_null(True)))
    found = filter(None, map(_mismatch, possible.iter_rows(named=True)))
    return pl.DataFrame([*found], schema=MISMATCHES)


def _mismatch(row: Mapping[str, Any]) -> Mapping[str, Any] | None:
    """A row of `MISMATCHES`; None if another mention of the instance was replaced."""
    head, tail, instance, concept = (row[f"{name}_plain"] for name in _TEXTS)
    if row["relation"] in WHOLE:
        differs = instance != head
        fault, column = WHOLE_FAULTS[not differs], "instance" if differs else "tail"
        proposed = row["head"] if differs else row["concept"]
    else:
        parts = head.split(instance)
        mentions = [
            instance.join(parts[:place]) + concept + instance.join(parts[place:])
            for place in range(1, len(parts))
        ]
        fitting = [*mentions, concept.join(parts)] if mentions else []
        if re.sub(r"\ban\b", "a", tail) in (re.sub(r"\ban\b", "a", one) for one in fitting):
            return None
        proposed = _proposed(row["head"], row["instance"], row["concept"])
        fault = FAULTS[0] if proposed is None else FAULTS[1] if tail == head else FAULTS[2]
        column = "instance" if proposed is None else "tail"
    return {**row, "fault": fault, "column": column, "value": row[column], "proposed": proposed}


def _proposed(head: str, instance: str, concept: str) -> str | None:
    """The head with the first whole-word instance in it, and its article, replaced; or None."""
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
    held = {name: keys.filter(split=name)["key"] for name in names}
    counts = [
        (one, other, len(held[other]), int(held[other].is_in(held[one].implode()).sum()))
        for one, other in combinations(held, 2)
    ]
    columns = schema(("split other", pl.String), ("keys shared", pl.Int64))
    table = pl.DataFrame(counts, schema=columns, orient="row")
    return TABLES["quality_shared_keys"].cast(with_share(table, "shared", "keys"))
