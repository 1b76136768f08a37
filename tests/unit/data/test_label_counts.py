"""Labels counted as they are read are those counted after every row was made tidy."""

from __future__ import annotations

import datetime

import polars as pl
import pytest
from polars.testing import assert_frame_equal

from audit.base.errors import SchemaError
from audit.data.batches import counts_of, labels_of
from audit.data.mapping import label_counts, summed_counts
from audit.data.sources import Source

ROWS = Source("rows")


@pytest.mark.parametrize(
    ("instance", "label"),
    [
        (["a", " ", None, "a", "\u2003"], [" dog", "dog ", "dog", "", None]),
        ([1, None, 2, 2, 2], [401, 401, None, 402, 402]),
        ([1.0, float("nan"), None, 2.5, 2.5], [1.0, 1.5, float("nan"), None, -0.0]),
        ([True, None, False, True, True], [True, False, None, True, True]),
        ([datetime.date(2020, 1, 1), None, None, None, None], ["a", "a", "b", None, "b"]),
        ([None] * 5, [None] * 5),
        (["a", "b", None, "c", "c"], [["dog", " dog"], [], ["cow"], None, [None]]),
    ],
    ids=["text", "integers", "floats", "truths", "days", "nothing", "lists"],
)
def test_equal_to_those_of_tidy_rows(instance: list[object], label: list[object]) -> None:
    frame = pl.DataFrame({"homeless": instance, "rows": label}, strict=False)
    found = summed_counts([counts_of(frame, ROWS)])

    assert_frame_equal(found, summed_counts([label_counts(labels_of(frame, ROWS))]))


def test_categories_are_counted_as_their_text() -> None:
    labels = pl.Series([" dog", "dog", None, "cow", "cow"], dtype=pl.Categorical)
    frame = pl.DataFrame({"instance": list("aabbc"), "label": labels})

    assert summed_counts([counts_of(frame, ROWS)]).rows() == [
        ("cow", None, False, 2),
        ("dog", None, False, 2),
        (None, None, False, 1),
    ]


def test_columns_of_records_are_refused() -> None:
    frame = pl.DataFrame({"instance": [{"a": 1}], "label": ["dog"]})
    with pytest.raises(SchemaError, match="plain values"):
        counts_of(frame, ROWS)
