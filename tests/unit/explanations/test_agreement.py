"""Agreement of methods: hand-made cases, loops from the definitions, and chance."""

from __future__ import annotations

from dataclasses import replace
from itertools import combinations
from typing import Any

import numpy as np
import polars as pl
import pytest
from polars.testing import assert_frame_equal
from scipy.stats import t

from audit.analyses.explanations.agreement import MAIN_K, agreed, agreement_tables
from audit.analyses.explanations.attributions import Attributions
from audit.analyses.explanations.top_tokens import expected_agreement, peaks
from audit.base.errors import InputError
from fixtures.attributed import attributed
from fixtures.brute_force_agreement import agreement_of, released_peaks, top_k

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


def test_every_value_is_that_of_loops_over_the_definition() -> None:
    scores = drawn(40)
    found = agreed(attributed(scores))
    lengths = [len(text) for text in scores["ig"]]
    order = found.units["text"].to_list()
    fixed, chance = found.fixed(MAIN_K), found.chance()

    for place, members in enumerate(found.sets["members"]):
        names = [found.methods[one] for one in members]
        for unit, text in enumerate(order):
            n = lengths[text]
            highest = [top_k(scores[m][text], MAIN_K) for m in names]
            top = [set(np.flatnonzero(peaks(np.array(scores[m][text])))) for m in names]
            assert fixed[unit, place] == pytest.approx(agreement_of(highest, n))
            assert found.dynamic[unit, place] == pytest.approx(agreement_of(top, n))
            sizes = np.array([[len(own) for own in top]])
            expected = expected_agreement(sizes, np.array([n]))[0]
            assert chance[unit, place] == pytest.approx(expected, nan_ok=True)


def test_means_and_curves_are_means_of_the_units() -> None:
    scores = drawn(50)
    found = tables(attributed(scores))

    for k in (1, 4, 10):
        for first, second in combinations(METHODS, 2):
            sets = [
                (top_k(a, k), top_k(b, k))
                for a, b in zip(scores[first], scores[second], strict=True)
            ]
            wanted = np.mean([agreement_of(both, 40) for both in sets])
            pair = {"first": first, "second": second, "rule": "fixed", "k": k}
            assert value(found["agreement"], "agreement", **pair) == pytest.approx(wanted)


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


def test_a_text_without_evidence_has_no_value_with_people() -> None:
    scores = {"a": [[1.0, 2.0], [2.0, 1.0]], "b": [[1.0, 2.0], [2.0, 1.0]]}
    found = tables(attributed(scores, [None, [1, 0]]))

    assert value(found["agreement"], "n", first="a", second="human", rule="dynamic") == 1
    assert value(found["agreement"], "n", first="a", second="b", rule="dynamic") == 2


def test_instances_count_once_however_many_targets_they_have() -> None:
    scores = {"a": [[2.0, 1.0]] * 4, "b": [[2.0, 1.0], [1.0, 2.0], [1.0, 2.0], [2.0, 1.0]]}
    found = tables(attributed(scores, ids=["x", "x", "x", "y"]))["agreement"].filter(
        rule="fixed", k=1
    )

    assert found["agreement"].item() == pytest.approx(((1 + 0.5 + 0.5) / 3 + 1) / 2)
    assert found["n"].item() == 2


def test_methods_with_other_tokens_are_other_units() -> None:
    made = attributed({"a": [[2.0, 1.0], [1.0, 2.0]], "b": [[2.0, 1.0], [1.0, 2.0]]})
    apart = made.of_rows(np.array([0, 3]))
    renamed = apart.rows.with_columns(id=pl.lit("x"))
    found = tables(replace(apart, rows=renamed))

    assert value(found["agreement"], "n", rule="dynamic") == 0
    assert found["agreement"].filter(rule="dynamic")["agreement"].item() is None


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
    units = (found.dynamic - found.chance()).T
    dynamic = agreement_tables(found)["agreement"].filter(rule="dynamic")

    for row, above in zip(dynamic.iter_rows(named=True), units, strict=True):
        gap = row["agreement"] - row["chance_sizes"]
        spread = t.ppf(0.975, 79) * above.std(ddof=1) / 80**0.5
        assert row["above_chance"] == pytest.approx(gap)
        assert row["above_low"] == pytest.approx(gap - spread)
        corrected = gap / (1 - row["chance_sizes"])
        assert row["corrected_sizes"] == pytest.approx(corrected)


def test_differences_and_gains_are_those_of_the_tables() -> None:
    found = tables(attributed(drawn(60)))
    pairs = (
        found["agreement"].drop_nulls("first").select("first", "second", "rule", "k", "agreement")
    )
    dynamic = pairs.filter(rule="dynamic").drop("rule", "k")

    for k in (1, 5):
        fixed = pairs.filter(rule="fixed", k=k).drop("rule", "k")
        both = dynamic.join(fixed, on=["first", "second"], suffix="_fixed")
        for method in METHODS:
            own = both.filter((pl.col("first") == method) | (pl.col("second") == method))
            gain = (own["agreement"] - own["agreement_fixed"]).sum()
            assert value(found["gains"], "gain", method=method, k=k) == pytest.approx(gain)
    assert found["gains"]["pairs"].unique().to_list() == [3]
    cells = found["differences"].join(dynamic, on=["first", "second"])
    assert cells["dynamic"].to_list() == pytest.approx(cells["agreement"].to_list())
    assert cells["difference"].to_list() == pytest.approx(
        (cells["dynamic"] - cells["fixed"]).to_list()
    )


def test_gains_leave_people_out() -> None:
    scores = drawn(5)
    marks = [[1.0, *[0.0] * (len(text) - 1)] for text in scores["ig"]]
    found = tables(attributed(scores, marks))

    assert found["gains"]["pairs"].unique().to_list() == [3]
    assert "human" not in found["gains"]["method"].to_list()


def test_groups_of_lengths_cover_all_units() -> None:
    found = tables(attributed(drawn(200)))
    groups = found["lengths"].filter(rule="dynamic").sort("tokens_from")

    assert groups["n"].sum() == 200
    assert len(groups) == 4
    assert groups["n"].is_between(35, 65).all()
    assert (groups["tokens_from"].to_numpy()[1:] > groups["tokens_to"].to_numpy()[:-1]).all()


def test_neither_order_nor_threads_nor_blocks_change_a_number(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    scores = {m: [[round(x) for x in text] for text in lists] for m, lists in drawn(30).items()}
    marks = [[float(x > 1) for x in text] for text in scores["ig"]]
    made = attributed(scores, marks)
    wanted = [*tables(made, seed=3).values()]
    order = np.random.default_rng(0).permutation(len(made.rows))
    monkeypatch.setattr("audit.analyses.explanations.lists.AT_ONCE", 50)
    monkeypatch.setenv("AUDIT_JOBS", "1")

    again = [*tables(made.of_rows(order), seed=3).values()]
    for found, before in zip(again, wanted, strict=True):
        assert_frame_equal(found, before, abs_tol=1e-12)
    other = tables(made, seed=4)
    assert not other["agreement"].equals(wanted[0])


def test_no_method_is_called_human() -> None:
    with pytest.raises(InputError, match="may be named 'human'"):
        tables(attributed({"human": [[1.0]]}))


def test_a_single_method_gives_empty_tables() -> None:
    one = tables(attributed({"a": [[1.0, 2.0]]}))

    assert [len(table) for table in one.values()] == [0, 0, 0, 0, 1]
