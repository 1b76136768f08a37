"""Splits in which every (head, instance) lies in one set."""

from __future__ import annotations

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from audit.base.errors import InputError
from audit.entailment.copies import SHARES, split_of

WORDS = st.sampled_from(["a", "b", "a b", "", "a\0", "\0b", "cat"])
ROWS = st.lists(st.tuples(WORDS, WORDS))


def frame(rows: list[tuple[str, str]]) -> pl.DataFrame:
    return pl.DataFrame(rows, schema={"head": pl.String, "instance": pl.String}, orient="row")


@given(rows=ROWS, more=ROWS, seed=st.integers(0, 9), shares=st.sampled_from(sorted(SHARES)))
def test_a_key_is_in_one_set_and_stays_there_when_rows_are_added(
    rows: list[tuple[str, str]], more: list[tuple[str, str]], seed: int, shares: str
) -> None:
    alone = split_of(frame(rows), shares, seed)
    among = split_of(frame([*more, *rows]), shares, seed)

    assert len(alone) == len(rows)
    assert among[len(more) :].to_list() == alone.to_list()
    assert len(set(zip(rows, alone, strict=True))) == len(set(rows))


def test_case_and_blanks_move_no_key_to_another_set() -> None:
    rows = [(f"the  Dog {n} barks", f"Dog {n}") for n in range(40)]
    lower = [(f"the dog {n} barks", f"dog {n}") for n in range(40)]

    assert split_of(frame(rows)).to_list() == split_of(frame(lower)).to_list()


@pytest.mark.parametrize("shares", SHARES)
def test_shares_are_kept_within_what_chance_allows(shares: str) -> None:
    keys = 40_000
    rows = pl.DataFrame({"head": [f"h{n}" for n in range(keys)], "instance": "i"})
    counts = split_of(rows, shares).value_counts()
    realised = dict(counts.iter_rows())
    for name, share in zip(("train", "valid", "test"), SHARES[shares], strict=True):
        deviation = (share * (1 - share) / keys) ** 0.5
        assert abs(realised[name] / keys - share) < 5 * deviation


def test_the_splits_of_a_seed_never_change() -> None:
    rows = frame([(f"head {n}", "instance") for n in range(12)])
    assert "".join(split[1] for split in split_of(rows)) == "rreararrrerr"


def test_unknown_shares_are_refused() -> None:
    with pytest.raises(InputError, match="80:10:10, 90:5:5"):
        split_of(frame([]), "50:50")
