"""retired_code: codes that the list of an edition lacks, told by no other check."""

from __future__ import annotations

from dataclasses import replace
from datetime import date

import polars as pl

from audit.hierarchies.icd.icd9 import ICD9Coding
from audit.measure.measure import measure
from audit.policy.policy import Policy
from audit.policy.statements import CodeDates, Spell
from fixtures.checked import CHECK_OF
from fixtures.coded import SPELLS, icd9cm, in_tables, on_days

CHECK = CHECK_OF["retired_code"]


# --- with code dates ----------------------------------------------------------------------------


def test_a_code_is_judged_on_its_day() -> None:
    """585 was valid to September 2005, 585.6 from then to September 2015; 718.60 has no dates.

    i1 to i3: 585.6 too early, in time, too late. i4, i5: 585 in time, and late with nothing left
    below. i6: 585 as a heading, which is told by another check. i7: no day. i8: no dates.
    """
    found = CHECK.run(
        on_days(
            ("i1", "5856", "2004-03-01"), ("i2", "585.6", "2005-10-01"),
            ("i3", "5856", "2015-10-01"), ("i4", "585", "2005-09-30"), ("i5", "585", "2016-01-01"),
            ("i6", "585", "2005-10-01"), ("i7", "5856", None), ("i8", "71860", "2004-03-01"),
            spells=SPELLS,
        )
    )  # fmt: skip
    on_day, unlisted = found.findings

    assert (on_day.id, on_day.severity) == ("retired_code:on%20their%20day", "warning")
    assert on_day.evidence == {
        "rows": 3, "of": 6, "share": 0.5, "labels": 2, "column": "day", "not_dated": 2,
    }  # fmt: skip
    assert [(part.nodes, part.evidence["instances"]) for part in on_day.parts] == [
        (("585.6",), 2),
        (("585",), 1),
    ]
    assert on_day.parts[0].evidence["valid"] == "2005-10-01 to 2015-09-30"
    assert (unlisted.id, unlisted.severity) == ("retired_code:unlisted", "note")
    assert {**unlisted.evidence, "share": None} == {
        "rows": 1, "of": 8, "share": None, "labels": 1, "not_dated": 2,
    }  # fmt: skip
    assert (found.denominator, found.status) == (8, "warn")


def test_a_code_of_the_wrong_table_is_not_told_as_retired() -> None:
    spells = (Spell("389.3", None, date(2005, 9, 30)),)
    without_years = replace(icd9cm(), coding=ICD9Coding())
    dataset = in_tables(without_years, {"diagnoses": {"a": ["3893"]}})
    days = dataset.instances.with_columns(day=pl.lit("2010-01-01"))
    dates = CodeDates(column="day", file="d.csv", spells=spells)
    measured = measure(replace(dataset, instances=days), Policy(code_dates=dates))

    assert measured.validity["on_day"].to_list() == ["invalid"]
    assert CHECK.run(measured).findings == ()
    assert [finding.nodes for finding in CHECK_OF["wrong_table"].run(measured).findings] == [
        ("3893",)
    ]
