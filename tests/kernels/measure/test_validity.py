"""Validity: each row judged on its day, against a reading that asks day by day."""

from __future__ import annotations

from datetime import date

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from audit.base.errors import PolicyError, SchemaError
from audit.data.dataset import LabelDataset
from audit.hierarchies.hierarchy import Hierarchy
from audit.measure.validity import VALIDITY, days_of, validity
from audit.policy.statements import CodeDates, Spell
from fixtures.coded import icd9cm
from fixtures.labelled import tree

TREE = tree("b c < a", "d e < b", "a f < top", labelled_ancestors="allowed")
ABOVE = {"a": "", "b": "a", "c": "a", "d": "ba", "e": "ba", "f": ""}
"""What lies above each label of the tree, root left out."""
DAYS = [date(2000, 1, day) for day in range(1, 7)]


def dated(
    rows: list[tuple[str, str, date | str | None]], hierarchy: Hierarchy = TREE
) -> LabelDataset:
    """A dataset of ``instance, label, day``."""
    text = [(instance, label, None if day is None else str(day)) for instance, label, day in rows]
    frame = pl.DataFrame(text, ["instance", "label", "day"], orient="row")
    table = pl.lit("diagnoses" if hierarchy.coding else None, pl.String)
    return LabelDataset.from_rows(frame.with_columns(table=table), hierarchy, strata=["day"])


def dates(*spells: tuple[str, date | None, date | None]) -> CodeDates:
    return CodeDates(column="day", file="d.csv", spells=tuple(Spell(*spell) for spell in spells))


def found(dataset: LabelDataset, stated: CodeDates | None) -> dict[tuple[str, str | None], int]:
    rows = validity(dataset, stated).select("node", "on_day", "rows").iter_rows()
    return {(node, on_day): count for node, on_day, count in rows}


ends = st.none() | st.sampled_from(DAYS)
spells_of = st.lists(st.tuples(st.sampled_from("abcdef"), ends, ends), min_size=1, max_size=6)
rows_of = st.lists(
    st.tuples(st.sampled_from("abcdef"), st.none() | st.sampled_from(DAYS)), min_size=1, max_size=8
)


@given(spells=spells_of, rows=rows_of)
def test_each_row_is_judged_as_asking_every_spell_would(
    spells: list[tuple[str, date | None, date | None]], rows: list[tuple[str, date | None]]
) -> None:
    def covers(code: str, day: date) -> bool:
        return any(
            code == one and not (first and day < first) and not (last and last < day)
            for one, first, last in spells
        )

    def judged(label: str, day: date | None) -> str | None:
        if day is None or label not in {code for code, _, _ in spells}:
            return None
        if covers(label, day):
            return "valid"
        below = [code for code, above in ABOVE.items() if label in above]
        return "heading" if any(covers(code, day) for code in below) else "invalid"

    numbered = [(f"i{n}", label, day) for n, (label, day) in enumerate(rows)]
    told = [(label, judged(label, day)) for label, day in (*rows, ("a", DAYS[0]))]
    dataset = dated([*numbered, ("last", "a", DAYS[0])])

    assert found(dataset, dates(*spells)) == {one: told.count(one) for one in told}


def test_without_dates_no_row_is_dated() -> None:
    dataset = dated([("i", "a", None), ("i", "b", None), ("j", "b", None), ("k", "x", None)])

    assert found(dataset, None) == {("a", None): 1, ("b", None): 2}
    assert validity(dataset, None).schema == VALIDITY


def test_instances_are_counted_once_and_rows_as_they_stand() -> None:
    dataset = dated([("i", "f", DAYS[0]), ("i", "f", DAYS[0]), ("j", "f", DAYS[1])])
    (row,) = validity(dataset, dates(("f", DAYS[2], None))).to_dicts()

    assert row == {
        "node": "f", "on_day": "invalid", "rows": 3, "instances": 2, "valid": "from 2000-01-03",
    }  # fmt: skip


def test_spells_are_told_in_words_the_earliest_first() -> None:
    stated = dates(
        ("a", DAYS[4], None), ("a", None, DAYS[0]), ("a", DAYS[2], DAYS[3]), ("b", None, None)
    )
    rows = validity(dated([("i", "a", DAYS[0]), ("i", "b", DAYS[0])]), stated)

    assert rows["valid"].to_list() == [
        "until 2000-01-01; 2000-01-03 to 2000-01-04; from 2000-01-05",
        "always",
    ]


def test_codes_are_placed_as_labels_are() -> None:
    """With or without the dot; a retired code that the list lacks counts below its category."""
    stated = dates(
        ("4019", None, None), ("25094", None, date(2005, 9, 30)), ("250.9", None, date(1990, 1, 1)),
        ("019.9", None, None),
    )  # fmt: skip
    dataset = dated(
        [("i", "401.9", "2004-01-01"), ("i", "2509", "2004-01-01"), ("j", "2509", "2006-01-01")],
        icd9cm(),
    )

    assert found(dataset, stated) == {
        ("401.9", "valid"): 1, ("250.9", "heading"): 1, ("250.9", "invalid"): 1,
    }  # fmt: skip


def test_a_table_of_other_codes_is_refused() -> None:
    for stated in (dates(("I50.9", None, None)), dates()):
        with pytest.raises(PolicyError, match="must have codes of the hierarchy"):
            validity(dated([("i", "a", DAYS[0])]), stated)


def test_what_is_no_day_is_refused_with_its_instance() -> None:
    with pytest.raises(SchemaError, match="'03/12/2008 of the instance j'"):
        days_of(dated([("i", "a", DAYS[0]), ("j", "a", "03/12/2008")]), "day")


def test_a_column_without_days_is_refused() -> None:
    with pytest.raises(PolicyError, match="none in 'day'"):
        days_of(dated([("i", "a", None)]), "day")
