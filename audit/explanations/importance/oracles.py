"""What tokens ought to matter: importance that people give them, or a model that read people's
explanations.

The oracles of *Importance Alignment* (Prasad et al., section 3.2): *hard*, words of a free-text
explanation; *expert*, the share of annotators who marked a token; *soft*, the absolute scores of an
explanation-informed model.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
import polars as pl

from audit.base.dag import BoolArray, IntArray
from audit.base.errors import InputError, first_cases
from audit.explanations.attributions import Attributions, Evidence
from audit.explanations.lists import Lists, sums

Subset = Literal["all", "right", "wrong", "common"]

SUBSETS: tuple[Subset, ...] = ("all", "right", "wrong", "common")
"""All examples, those that a model gets right, those it gets wrong, those that all get wrong."""


@dataclass(frozen=True, eq=False)
class Examples:
    """Examples, which are pairs of an instance and a target label, in code-point order.

    Args:
        cluster: The cluster of each example: its group, or its instance if it has no group, since
            the targets of one instance share its text.
    """

    of_row: IntArray
    cluster: IntArray


def examples_of(rows: pl.DataFrame) -> Examples:
    """The examples that rows of attributions are about."""
    of_row = codes(rows, ("id", "target"))
    alone = pl.col("group").is_null()
    clusters = codes(
        rows.select(alone=alone, cluster=pl.when(alone).then("id").otherwise("group")),
        ("alone", "cluster"),
    )
    _, first = np.unique(of_row, return_index=True)
    return Examples(of_row, clusters[first])


def codes(frame: pl.DataFrame, columns: Sequence[str]) -> IntArray:
    """Number rows from 0 by the values of columns, in the order of these values."""
    keys = frame.select(columns).unique().sort(columns).with_row_index("code")
    joined = frame.join(keys, on=columns, how="left", nulls_equal=True, maintain_order="left")
    return joined["code"].to_numpy().astype(np.int64)


@dataclass(frozen=True, eq=False)
class Pairs:
    """The different pairs of two columns of numbers from 0, sorted, and the pair of each row."""

    left: IntArray
    right: IntArray
    of_row: IntArray


def pairs_of(left: IntArray, right: IntArray) -> Pairs:
    """The different pairs that rows of two columns make."""
    base = int(right.max(initial=0)) + 1
    keys, of_row = np.unique(left * base + right, return_inverse=True)
    return Pairs(keys // base, keys % base, of_row)


def members(rows: pl.DataFrame, example: IntArray) -> dict[Subset, BoolArray]:
    """Which rows of judged models belong to each subset, shape (n_rows,) each.

    A row is right where the model gives the target as it is given in truth, and wrong where it does
    not; if either is unknown, it is neither. An example is common if every model, with every seed,
    has a row for it that is wrong.
    """
    right = rows.select((pl.col("gold") == pl.col("predicted")).fill_null(False))
    wrong = rows.select((pl.col("gold") != pl.col("predicted")).fill_null(False))
    wrong_rows = wrong.to_series().to_numpy()
    run = codes(rows, ("model", "seed"))
    missed = pairs_of(example[wrong_rows], run[wrong_rows])
    runs_missing = np.bincount(missed.left, minlength=int(example.max(initial=-1)) + 1)
    return {
        "all": np.ones(len(rows), np.bool_),
        "right": right.to_series().to_numpy(),
        "wrong": wrong_rows,
        "common": wrong_rows & (runs_missing[example] == int(run.max(initial=-1)) + 1),
    }


OracleName = Literal["hard", "soft", "expert"]

Informed = Mapping[str, Sequence[str]]
"""Per model the names of the explanation-informed models that are its soft oracle."""


@dataclass(frozen=True, eq=False)
class HumanOracle:
    """Importance that people give the tokens of rows.

    Args:
        item: Per row of the attributions the place of its evidence; -1 if there is none.
    """

    name: OracleName
    evidence: Evidence
    item: IntArray


@dataclass(frozen=True, eq=False)
class SoftOracle:
    """Pairs of a row and a row of an explanation-informed model for the same example and method.

    Args:
        row: The row that is judged, shape (n_pairs,), ascending.
        informed: The row of the informed model, whose words begin with those of ``row``, shape
            (n_pairs,).
        borrowed: Whether the informed model read the explanation of another example, shape
            (n_pairs,).
        other_tokens: Rows with informed rows, none of which begins with the words of the row.
    """

    row: IntArray
    informed: IntArray
    borrowed: BoolArray
    other_tokens: IntArray

    def only(self, pairs: BoolArray | IntArray | slice) -> SoftOracle:
        """Some of the pairs."""
        return SoftOracle(
            self.row[pairs], self.informed[pairs], self.borrowed[pairs], self.other_tokens
        )


def judged_rows(attributions: Attributions, informed: Informed) -> IntArray:
    """Rows of the models that are judged: none of an informed model, none borrowed. Ascending."""
    rows = attributions.rows
    known = set(rows["model"].unique())
    names = {*informed, *(name for names in informed.values() for name in names)}
    if missing := sorted(names - known):
        raise InputError(
            "each model of the soft oracle must have rows",
            found=f"no rows of {first_cases(missing)}",
            hint=f"the models are {first_cases(sorted(known))}",
        )
    oracles = sorted({name for names in informed.values() for name in names})
    judged = ~pl.col("borrowed").fill_null(False) & ~pl.col("model").is_in(oracles)
    return np.flatnonzero(rows.select(judged).to_series().to_numpy())


def human_oracle(attributions: Attributions, evidence: Evidence | None = None) -> HumanOracle:
    """The oracle that evidence makes, else that of the attributions; InputError without any."""
    given = evidence if evidence is not None else attributions.evidence
    if given is None:
        raise InputError(
            "an oracle of people needs human evidence",
            found="attributions without evidence",
            hint="give marks, spans or explanations with --evidence",
        )
    if given is attributions.evidence:
        item = attributions.rows["item"]
    else:
        places = given.items.select("text", "target").with_row_index("place")
        item = attributions.rows.join(
            places, on=["text", "target"], how="left", maintain_order="left"
        )["place"].cast(pl.Int64)
    name: OracleName = "hard" if given.kind == "text" else "expert"
    return HumanOracle(name, given, item.fill_null(-1).to_numpy())


def soft_oracle(attributions: Attributions, informed: Informed) -> SoftOracle:
    """The oracle that explanation-informed models make."""
    judged = judged_rows(attributions, informed)
    rows = attributions.rows.with_row_index("row").with_columns(
        pl.col("row").cast(pl.Int64), pl.col("borrowed").fill_null(False)
    )
    links = pl.DataFrame(
        [(model, name) for model, names in informed.items() for name in names],
        schema={"model": pl.String, "oracle": pl.String},
        orient="row",
    )
    key = ["id", "target", "method"]
    pairs = (
        rows[judged]
        .select("row", "text", "model", *key)
        .join(links, on="model")
        .join(rows, left_on=[*key, "oracle"], right_on=[*key, "model"], suffix="_informed")
        .sort("row", "row_informed")
    )
    row, other = (pairs[name].to_numpy() for name in ("row", "row_informed"))
    begins = _begins(
        attributions.words, pairs["text"].to_numpy(), pairs["text_informed"].to_numpy()
    )
    return SoftOracle(
        row=row[begins],
        informed=other[begins],
        borrowed=pairs["borrowed"].to_numpy()[begins],
        other_tokens=np.setdiff1d(row, row[begins]),
    )


def soft_scores(attributions: Attributions, oracle: SoftOracle) -> Lists[np.float64]:
    """Absolute scores of the informed row of each pair, cut to the tokens of the judged row."""
    lengths = attributions.scores.lengths[oracle.row]
    cut = attributions.scores.take(oracle.informed, lengths)
    return Lists(np.abs(cut.values), cut.starts)


def _begins(words: Lists[np.int64], short: IntArray, long: IntArray) -> BoolArray:
    """Whether the words of one text are those that the other begins with, shape (n_pairs,)."""
    texts, lengths = pairs_of(short, long), words.lengths
    begins = lengths[texts.left] <= lengths[texts.right]
    mine = words.take(texts.left[begins])
    theirs = words.take(texts.right[begins], mine.lengths)
    begins[begins] = sums(Lists(mine.values != theirs.values, mine.starts)) == 0
    return np.asarray(begins[texts.of_row])
