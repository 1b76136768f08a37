"""Agreement of methods: hand-made cases, loops from the definitions, and chance."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import polars as pl
import pytest
from scipy.stats import t

from audit.analyses.explanations.agreement import agreed, agreement_tables
from audit.analyses.explanations.attributions import Attributions
from audit.base.errors import InputError
from fixtures.attributed import attributed
from fixtures.brute_force_agreement import released_peaks

METHODS = ("grad", "ig", "lime", "shap")


def tables(made: Attributions, **of: Any) -> dict[str, pl.DataFrame]:
    return agreement_tables(agreed(made, **of))


def drawn(units: int, seed: int = 0, low: int = 1, high: int = 30) -> dict[str, list[list[float]]]:
    """Scores that partly agree, without ties."""
    draw = np.random.default_rng(seed)
    lengths = draw.integers(low, high, units)
    common = [draw.normal(size=n) for n in lengths]
    return {
        method: [(one + draw.normal(size=len(one))).tolist() for one in common]
        for method in METHODS
    }


def value(table: pl.DataFrame, column: str, **where: object) -> float:
    rows = table.filter(*(pl.col(name).eq_missing(pl.lit(of)) for name, of in where.items()))
    assert len(rows) == 1, rows
    return float(rows[column].item())


def test_the_released_rule_leaves_units_undefined_and_counts_them() -> None:
    texts = [[5.0], [0.0, 0.0], [0.0, 1.0, 0.0, 2.0]]
    found = tables(attributed({"a": texts, "b": texts}), compat="kamp")
    dynamic = {"first": "a", "second": "b", "rule": "dynamic"}

    assert [released_peaks(text) for text in texts] == [set(), set(), {1, 3}]
    assert value(found["agreement"], "n", **dynamic) == 1
    assert value(found["agreement"], "agreement", **dynamic) == 1


def test_people_choose_by_their_marks() -> None:
    scores = {"a": [[9.0, 1.0, 2.0, 8.0, 0.0]]}
    found = tables(attributed(scores, [[1, 0, 0, 2 / 3, 0]]))
    pair = {"first": "a", "second": "human"}

    assert value(found["agreement"], "agreement", **pair, rule="fixed", k=2) == 1
    assert value(found["agreement"], "agreement", **pair, rule="dynamic") == 1
    assert value(found["chosen"], "peaks", method="human") == 2
    assert value(found["chosen"], "tied", method="human") == 1


def test_marks_of_none_choose_no_peak() -> None:
    scores = {"a": [[9.0, 1.0, 2.0]]}
    found = tables(attributed(scores, [[0, 0, 0]]))

    assert value(found["chosen"], "peaks", method="human") == 0
    assert value(found["chosen"], "constant", method="human") == 1
    pair = {"first": "a", "second": "human", "rule": "dynamic"}
    assert value(found["agreement"], "agreement", **pair) == 0.5


def test_of_two_rows_of_one_method_the_first_is_kept() -> None:
    scores = {"a": [[2.0, 1.0]], "b": [[2.0, 1.0]], "c": [[1.0, 2.0]], "d": [[2.0, 1.0]]}
    made = attributed(scores)
    named = made.rows.with_columns(
        method=pl.Series(["a", "b", "b", "a"]), borrowed=pl.Series([False, False, False, True])
    )
    found = tables(replace(made, rows=named))

    assert value(found["agreement"], "agreement", rule="fixed", k=1) == 1


def test_what_is_above_chance_is_above_random_sets_of_the_same_sizes() -> None:
    found = agreed(attributed(drawn(80)))
    units = (found.value - found.chance)[:, 0].T
    dynamic = agreement_tables(found)["agreement"].filter(rule="dynamic")

    for row, above in zip(dynamic.iter_rows(named=True), units, strict=True):
        gap = row["agreement"] - row["chance_sizes"]
        spread = t.ppf(0.975, 79) * above.std(ddof=1) / 80**0.5
        assert row["above_chance"] == pytest.approx(gap)
        assert row["above_low"] == pytest.approx(gap - spread)
        corrected = gap / (1 - row["chance_sizes"])
        assert row["corrected_sizes"] == pytest.approx(corrected)


def test_no_method_is_called_human() -> None:
    with pytest.raises(InputError, match="may be named 'human'"):
        tables(attributed({"human": [[1.0]]}))
