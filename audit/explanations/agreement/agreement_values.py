"""Agreement of each unit: as observed, and of random sets.

A unit is an instance, target, model, seed and text: rows of attributions side by side.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import polars as pl
from numpy.typing import NDArray

from audit.base.dag import BoolArray, FloatArray, IntArray, UIntArray
from audit.base.machine import cores
from audit.explanations.agreement.top_tokens import (
    Compat,
    agreement,
    expected_agreement,
    packed,
    peaks,
    ranking,
    row_keys,
    sizes,
    union_sizes,
)
from audit.explanations.attributions import Attributions, Evidence
from audit.explanations.lists import equal_lengths, matrix

NAMES = ["id", "target", "model", "seed", "text"]
"""What distinguishes units; other tokens are another text, and so another unit."""


@dataclass(frozen=True, eq=False)
class Units:
    """What several methods say of one prediction.

    Args:
        frame: One row per unit, in the order of `NAMES`: ``unit`` (from 0), ``id, target, model,
            seed, text``, ``item`` (place of the evidence, null if there is none), ``tokens``.
        methods: Methods, ascending.
        rows: Row of the attributions of each unit and method, -1 where there is none, shape
            (n_units, n_methods).
        ledger: ``rows``; those left out, by reason: ``borrowed`` and ``repeated``; ``units``;
            ``one_method``, the units of a single method.
    """

    frame: pl.DataFrame
    methods: tuple[str, ...]
    rows: IntArray
    ledger: Mapping[str, int]


def units_of(attributions: Attributions) -> Units:
    """Put the rows that share a text side by side.

    Rows whose model also read the explanation of another instance are left out. Of two rows of one
    unit and method the first is kept.
    """
    every = attributions.rows.select(*NAMES, "method", "item", "borrowed").with_row_index("row")
    own = every.filter(~pl.col("borrowed").fill_null(False))
    kept = own.unique([*NAMES, "method"], keep="first", maintain_order=True)
    frame = kept.group_by(NAMES).agg(pl.col("item").max()).sort(NAMES).with_row_index("unit")
    methods = kept["method"].unique().sort()
    numbers = pl.DataFrame({"method": methods}).with_row_index("column")
    placed = kept.join(frame, on=NAMES, how="left", nulls_equal=True).join(numbers, on="method")
    rows = np.full((len(frame), len(methods)), -1, np.int64)
    rows[placed["unit"].to_numpy(), placed["column"].to_numpy()] = placed["row"].to_numpy()
    lengths = attributions.words.lengths[frame["text"].to_numpy()]
    ledger = {
        "rows": len(every),
        "borrowed": len(every) - len(own),
        "repeated": len(own) - len(kept),
        "units": len(frame),
        "one_method": int(((rows >= 0).sum(axis=1) == 1).sum()),
    }
    return Units(frame.with_columns(tokens=lengths), tuple(methods.to_list()), rows, ledger)


HUMAN = "human"
"""Name of the people's marks among the methods."""

Members = tuple[int, ...]


@dataclass(frozen=True, eq=False)
class Values:
    """Agreement of each unit, for several sets of methods.

    Args:
        sets: Places of the members of each set; the human's place is after the last method.
        tokens: Number of tokens of each unit, shape (n_units,).
        present: Whether each method, and the human last, has scores, (n_units, n_methods + 1).
        dynamic: Agreement of the peaks, shape (n_units, n_sets); NaN where undefined.
        sizes: Number of peaks, shape (n_units, n_methods + 1); 0 where absent.
        unions: Number of tokens that any member has among its k highest, for k = 1, 2, ...,
            shape (n_ks, n_units, n_sets).
        tied: Whether hashed keys decided which tokens are the k highest for the main k, shape
            (n_units, n_methods + 1).
        constant: Whether all scores are equal, same shape.
    """

    sets: tuple[Members, ...]
    tokens: IntArray
    present: BoolArray
    dynamic: FloatArray
    sizes: IntArray
    unions: NDArray[np.unsignedinteger]
    tied: BoolArray
    constant: BoolArray

    def complete(self) -> BoolArray:
        """Whether all members are present, shape (n_units, n_sets)."""
        complete = np.zeros(self.dynamic.shape, np.bool_)
        for column, members in enumerate(self.sets):
            complete[:, column] = self.present[:, members].all(axis=1)
        return complete

    def fixed(self, k: int) -> FloatArray:
        """Agreement at k, shape (n_units, n_sets); NaN where a member is absent."""
        chosen = np.minimum(self.tokens, k)[:, None]
        union = self.unions[k - 1]
        value: FloatArray = np.full(union.shape, np.nan)
        np.divide(chosen, union, out=value, where=self.complete() & (union > 0))
        return value

    def chance_of_fixed(self, k: int) -> FloatArray:
        """Expected agreement of random sets of k tokens, shape (n_units, n_sets)."""
        n, of_unit = np.unique(self.tokens, return_inverse=True)
        chosen = np.minimum(n, k)[:, None]
        chance = np.full(self.dynamic.shape, np.nan)
        for width in {len(members) for members in self.sets}:
            columns = [place for place, one in enumerate(self.sets) if len(one) == width]
            expected = expected_agreement(np.repeat(chosen, width, axis=1), n)
            chance[:, columns] = expected[of_unit, None]
        return np.where(self.complete(), chance, np.nan)

    @cached_property
    def chance_of_sizes(self) -> FloatArray:
        """Expected agreement of random sets with as many tokens as peaks, (n_units, n_sets)."""
        chance = np.full(self.dynamic.shape, np.nan)
        for column, members in enumerate(self.sets):
            chance[:, column] = expected_agreement(self.sizes[:, members], self.tokens)
        return np.where(self.complete(), chance, np.nan)


@dataclass(frozen=True, eq=False)
class _Task:
    """What is measured of every block; results are written into the values."""

    attributions: Attributions
    units: Units
    evidence: Evidence | None
    keys: UIntArray
    values: Values
    k: int
    compat: Compat


def agreement_values(
    attributions: Attributions,
    units: Units,
    sets: Sequence[Members],
    *,
    k: int,
    most: int,
    seed: int,
    compat: Compat,
) -> Values:
    """Measure agreement of every unit and set.

    Args:
        seed: Seed of ties, which depend only on it and on what names a row.
        compat: The rule of peaks.
    """
    tokens = units.frame["tokens"].to_numpy().astype(np.int64)
    values = _empty(units, tuple(sets), tokens, most)
    task = _Task(
        attributions,
        units,
        attributions.evidence,
        _keys(attributions, units, seed),
        values,
        k,
        compat,
    )
    blocks = list(equal_lengths(tokens, width=len(units.methods) + 1))
    with ThreadPoolExecutor(cores()) as threads:
        list(threads.map(lambda places: _measure(task, places), blocks))
    return values


def _empty(units: Units, sets: tuple[Members, ...], tokens: IntArray, most: int) -> Values:
    n, columns = len(tokens), len(units.methods) + 1
    item = units.frame["item"].is_not_null().to_numpy()
    small = np.min_scalar_type(int(tokens.max(initial=0)))
    return Values(
        sets=sets,
        tokens=tokens,
        present=np.column_stack([units.rows >= 0, item]),
        dynamic=np.full((n, len(sets)), np.nan),
        sizes=np.zeros((n, columns), np.int64),
        unions=np.zeros((most, n, len(sets)), small),
        tied=np.zeros((n, columns), np.bool_),
        constant=np.zeros((n, columns), np.bool_),
    )


def _keys(attributions: Attributions, units: Units, seed: int) -> UIntArray:
    """A key of each unit and method, and of the human last, shape (n_units, n_methods + 1)."""
    of_rows = row_keys(attributions.rows, seed)
    people = row_keys(units.frame.with_columns(method=pl.lit(HUMAN)), seed)
    return np.column_stack([of_rows[np.maximum(units.rows, 0)], people])


def _measure(task: _Task, places: IntArray) -> None:
    """Measure units of one length."""
    values, n = task.values, int(task.values.tokens[places[0]])
    scores = _scores(task, places, n)
    flat = scores.reshape(-1, n)
    order = ranking(flat, task.keys[places].reshape(-1))
    shape, present = scores.shape[:2], values.present[places]
    ranks = order.ranks.reshape(scores.shape)
    for k in range(1, len(values.unions) + 1):
        chosen = packed(ranks < k)
        for column, members in enumerate(values.sets):
            values.unions[k - 1, places, column] = union_sizes(chosen, members)
    values.tied[places] = order.tied_at(task.k).reshape(shape) & present
    values.constant[places] = (order.levels[:, -1] == 0).reshape(shape) & present
    picked = peaks(scores, task.compat) & present[..., None]
    picked[:, -1] &= scores[:, -1] > 0
    bits = packed(picked)
    values.sizes[places] = sizes(bits)
    values.dynamic[places] = _agreements(values.sets, bits, present)


def _scores(task: _Task, places: IntArray, n: int) -> FloatArray:
    """Scores of all methods and the marks last; zeros where absent, (n_places, n_columns, n)."""
    rows = task.units.rows[places]
    scores = np.zeros((*rows.shape[:1], rows.shape[1] + 1, n))
    some_row = np.where(rows < 0, rows.max(axis=1, keepdims=True), rows)
    scores[:, :-1] = matrix(task.attributions.scores, some_row, n)
    scores[:, :-1][rows < 0] = 0.0
    marked = np.flatnonzero(task.values.present[places, -1])
    if task.evidence is not None and len(marked):
        items = task.units.frame["item"].gather(places[marked]).to_numpy().astype(np.int64)
        scores[marked, -1] = matrix(task.evidence.marks, items, n)
    return scores


def _agreements(sets: Sequence[Members], bits: UIntArray, present: BoolArray) -> FloatArray:
    """Agreement of every set, shape (..., n_places, n_sets); NaN where a member is absent."""
    counts = sizes(bits)
    values = np.full((*counts.shape[:-1], len(sets)), np.nan)
    for column, members in enumerate(sets):
        value = agreement(counts[..., list(members)], union_sizes(bits, members))
        values[..., column] = np.where(present[:, members].all(axis=1), value, np.nan)
    return values
